// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/message_arena.h"

#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/message.h"

namespace protozero {
namespace {

// Returns true if |message| is in the memory of |arena| itself.
bool IsInline(const MessageArena& arena, const Message* message) {
  const auto begin = reinterpret_cast<uintptr_t>(&arena);
  const auto address = reinterpret_cast<uintptr_t>(message);
  return begin <= address && address + sizeof(Message) <= begin + sizeof(arena);
}

std::vector<Message*> NewMessages(MessageArena& arena, size_t count) {
  std::vector<Message*> messages;
  for (size_t i = 0; i < count; ++i)
    messages.push_back(arena.NewMessage());
  return messages;
}

void DeleteMessages(MessageArena& arena,
                    const std::vector<Message*>& messages) {
  for (auto it = messages.rbegin(); it != messages.rend(); ++it)
    arena.DeleteMessagesFrom(*it);
}

static_assert(MessageArena::kInlineMessages >= 100,
              "nesting up to protobuf's own limit must not allocate");

TEST(MessageArenaTest, TheFirstMessagesLieInTheArena) {
  MessageArena arena;
  const auto messages = NewMessages(arena, MessageArena::kInlineMessages);
  for (const Message* message : messages) {
    EXPECT_TRUE(IsInline(arena, message));
  }
  EXPECT_FALSE(IsInline(arena, arena.NewMessage()));
}

TEST(MessageArenaTest, MessagesAreDistinctAlignedAndWritable) {
  MessageArena arena;
  const auto messages = NewMessages(arena, 1000);
  for (size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(messages[i]) % alignof(Message), 0u);
    memset(static_cast<void*>(messages[i]), static_cast<int>(i),
           sizeof(Message));
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(messages[i]);
    for (size_t j = 0; j < sizeof(Message); ++j) {
      ASSERT_EQ(bytes[j], static_cast<uint8_t>(i));
    }
  }
}

TEST(MessageArenaTest, TheLastOneDeletedIsTheFirstOneReused) {
  MessageArena arena;
  for (size_t depth : {size_t{1}, MessageArena::kInlineMessages,
                       MessageArena::kInlineMessages + 1, size_t{1000}}) {
    const auto messages = NewMessages(arena, depth);
    arena.DeleteMessagesFrom(messages.back());
    EXPECT_EQ(arena.NewMessage(), messages.back());
    DeleteMessages(arena, messages);
    EXPECT_EQ(NewMessages(arena, depth), messages);
    DeleteMessages(arena, messages);
  }
}

TEST(MessageArenaTest, DeletesTheLastMessage) {
  MessageArena arena;
  const auto messages = NewMessages(arena, 300);
  for (size_t depth = messages.size(); depth > 1; --depth) {
    arena.DeleteLastMessage(messages[depth - 1]);
    ASSERT_EQ(arena.LastMessage(), messages[depth - 2]);
  }
  EXPECT_EQ(arena.NewMessage(), messages[1]);
}

TEST(MessageArenaTest, CrossingEveryLevelBackAndForthReusesTheSameMemory) {
  MessageArena arena;
  const auto messages = NewMessages(arena, 400);
  DeleteMessages(arena, messages);
  for (size_t depth = 1; depth <= messages.size(); ++depth) {
    ASSERT_EQ(arena.NewMessage(), messages[depth - 1]);
    // Deletes up to three messages and makes them again.
    for (size_t down = 1; down <= std::min<size_t>(3, depth); ++down) {
      for (size_t i = 1; i <= down; ++i)
        arena.DeleteMessagesFrom(messages[depth - i]);
      for (size_t i = down; i >= 1; --i) {
        ASSERT_EQ(arena.NewMessage(), messages[depth - i]);
      }
    }
  }
}

TEST(MessageArenaTest, TheLastMessageIsTheLatestThatIsLeft) {
  MessageArena arena;
  const auto messages = NewMessages(arena, 1000);
  for (size_t depth = messages.size(); depth > 1; --depth) {
    ASSERT_EQ(arena.LastMessage(), messages[depth - 1]);
    arena.DeleteMessagesFrom(messages[depth - 1]);
  }
  ASSERT_FALSE(arena.IsScattered());
  EXPECT_EQ(arena.LastMessage(), messages[0]);
  EXPECT_EQ(arena.LastInlineMessage(), messages[0]);
}

TEST(MessageArenaTest, ResetForgetsAllAndKeepsTheBlocks) {
  MessageArena arena;
  const auto messages = NewMessages(arena, 500);
  arena.Reset();
  EXPECT_EQ(NewMessages(arena, 500), messages);
  EXPECT_EQ(std::set<Message*>(messages.begin(), messages.end()).size(), 500u);
  arena.Reset();
  arena.Reset();
  EXPECT_EQ(arena.NewMessage(), messages[0]);
}

}  // namespace
}  // namespace protozero
