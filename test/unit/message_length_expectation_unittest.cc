// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// If messages have been long, the next one begins with a size field of four
// bytes. An open message shows that field, a sealed one never does.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/config.h"
#include "protozero/contiguous_memory_range.h"
#include "protozero/internal/bit_deposit.h"
#include "protozero/message.h"
#include "protozero/message_arena.h"
#include "protozero/root_message.h"
#include "protozero/static_buffer.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/hex.h"
#include "test/testing/message_tree.h"

namespace protozero {
namespace {

using test::BytesField;
using test::ChunkedStream;
using test::EncodeTree;
using test::Hex;
using test::MessageTree;
using test::NestedField;
using test::NumberField;
using Kind = test::Field::Kind;

constexpr size_t kShort = 100;
constexpr size_t kLong = 200;
// The length of an open message's size field.
constexpr size_t kNarrow = 1;
constexpr size_t kWide = 4;

// Returns a message that has |size| bytes in front of |inner|.
MessageTree MessageAround(size_t size, MessageTree inner) {
  MessageTree fields{NumberField(Kind::kTiny, 2, 2),
                     BytesField(3, std::string(size, 'x'))};
  std::move(inner.begin(), inner.end(), std::back_inserter(fields));
  MessageTree tree;
  tree.push_back(NestedField(1, std::move(fields)));
  return tree;
}

class LengthExpectationTest : public testing::Test {
 protected:
  void SetUp() override {
    if (internal::kInlineEncodingMask == 0)
      GTEST_SKIP() << "on this processor all are begun wide";
  }
};

class MessageLengthExpectationTest : public LengthExpectationTest {
 protected:
  void SetUp() override {
    LengthExpectationTest::SetUp();
    if (PROTOZERO_DCHECK_IS_ON)
      GTEST_SKIP() << "debug builds expect nothing once a message was deleted";
  }

  // Writes nested messages of at least |sizes| bytes, the outermost first.
  // Returns the lengths of their size fields when they began.
  std::vector<size_t> Write(const std::vector<size_t>& sizes) {
    ChunkedStream stream(size_t{100000});
    root_.Reset(&stream.writer);
    // The first write asks for a chunk, so the message begins wide.
    root_.AppendTinyVarInt(1, 1);
    std::vector<size_t> widths;
    Message* message = &root_;
    for (const size_t size : sizes) {
      message = message->BeginNestedMessage<Message>(1);
      message->AppendTinyVarInt(2, 2);
      widths.push_back(WidthBefore(stream.writer.cur_range(), "\x10\x02"));
      message->AppendString(3, std::string(size, 'x'));
    }
    EXPECT_NE(root_.Finalize(), 0u);
    EXPECT_EQ(stream.Bytes(), Hex(EncodeTree(TreeOf(sizes), {100000})));
    return widths;
  }

  // Returns the number of zeros in front of the last |bytes| in the chunk.
  static size_t WidthBefore(ContiguousMemoryRange chunk,
                            std::string_view bytes) {
    const std::string_view all(reinterpret_cast<const char*>(chunk.begin),
                               chunk.size());
    const size_t end = all.rfind(bytes);
    EXPECT_NE(end, std::string_view::npos);
    return end - 1 - all.substr(0, end).find_last_not_of('\0');
  }

  static MessageTree TreeOf(const std::vector<size_t>& sizes) {
    MessageTree tree;
    for (size_t i = sizes.size(); i > 0; --i)
      tree = MessageAround(sizes[i - 1], std::move(tree));
    tree.insert(tree.begin(), NumberField(Kind::kTiny, 1, 1));
    return tree;
  }

  RootMessage<> root_;
};

using Widths = std::vector<size_t>;

TEST_F(MessageLengthExpectationTest, AfterTwoLongOnes) {
  EXPECT_EQ(Write({kLong}), Widths{kNarrow});
  EXPECT_EQ(Write({kLong}), Widths{kNarrow});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(Write({kLong}), Widths{kWide}) << i;
}

TEST_F(MessageLengthExpectationTest, ShortOnesInBetweenDoNotMatter) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Write({kLong}), Widths{kNarrow}) << i;
    EXPECT_EQ(Write({kShort}), Widths{i == 0 ? kNarrow : kWide}) << i;
  }
}

TEST_F(MessageLengthExpectationTest, OneThatIsShortEndsIt) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(Write({kLong}), Widths{kNarrow}) << round;
    EXPECT_EQ(Write({kLong}), Widths{kWide}) << round;
    EXPECT_EQ(Write({kShort}), Widths{kWide}) << round;
    EXPECT_EQ(Write({kShort}), Widths{kNarrow}) << round;
  }
}

TEST_F(MessageLengthExpectationTest, OneDepthAfterTheOther) {
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(Write({kLong, kLong, kShort}),
              (Widths{kNarrow, kNarrow, kNarrow}));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(Write({kLong, kLong, kShort}), (Widths{kWide, kNarrow, kNarrow}));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(Write({kLong, kLong, kShort}), (Widths{kWide, kWide, kNarrow}));
  // The outer messages are long because of the inner ones.
  EXPECT_EQ(Write({kShort, kShort, kShort}), (Widths{kWide, kWide, kNarrow}));
  EXPECT_EQ(Write({kLong, kLong, kShort}), (Widths{kWide, kWide, kNarrow}));
  EXPECT_EQ(Write({kShort, kShort}), (Widths{kWide, kWide}));
  EXPECT_EQ(Write({kShort, kShort}), (Widths{kWide, kNarrow}));
}

TEST_F(MessageLengthExpectationTest, OfSiblingsAsWell) {
  ChunkedStream stream(size_t{100000});
  root_.Reset(&stream.writer);
  root_.AppendTinyVarInt(1, 1);
  Widths widths;
  for (int i = 0; i < 4; ++i) {
    Message* const child = root_.BeginNestedMessage<Message>(1);
    child->AppendTinyVarInt(2, 2);
    widths.push_back(WidthBefore(stream.writer.cur_range(), "\x10\x02"));
    child->AppendString(3, std::string(kLong, 'x'));
  }
  EXPECT_EQ(widths, (Widths{kNarrow, kNarrow, kWide, kWide}));
  EXPECT_EQ(root_.Finalize(), 2 + 4 * (1 + 4 + 2 + 3 + kLong));
}

// An event that widens a message also widens the messages around it. So no
// narrow message may be around a wide one.
TEST_F(MessageLengthExpectationTest, NoneThatIsWideInOneThatIsNarrow) {
  for (int i = 0; i < 4; ++i)
    Write({kLong, kLong});
  ASSERT_EQ(Write({kLong, kLong}), (Widths{kWide, kWide}));
  ASSERT_EQ(Write({kShort}), Widths{kWide});
  ASSERT_EQ(Write({kShort, kLong}), (Widths{kNarrow, kNarrow}));
}

TEST_F(MessageLengthExpectationTest, AMessageTakenBackWasNeitherLongNorShort) {
  for (int i = 0; i < 2; ++i)
    Write({kLong});
  ChunkedStream stream(size_t{100000});
  root_.Reset(&stream.writer);
  root_.AppendTinyVarInt(1, 1);
  root_.BeginNestedMessage<Message>(1)->AppendTinyVarInt(2, 2);
  EXPECT_TRUE(root_.RollBackNestedMessage());
  EXPECT_EQ(root_.Finalize(), 2u);
  EXPECT_EQ(stream.Bytes(), "08 01");
  EXPECT_EQ(Write({kLong}), Widths{kWide});
}

TEST_F(MessageLengthExpectationTest, OnesThatAreAbandonedNeither) {
  for (int i = 0; i < 2; ++i)
    Write({kLong});
  {
    ChunkedStream stream(size_t{100000});
    root_.Reset(&stream.writer);
    root_.AppendTinyVarInt(1, 1);
    root_.BeginNestedMessage<Message>(1)->AppendTinyVarInt(2, 2);
  }
  EXPECT_EQ(Write({kLong}), Widths{kWide});
}

// A root changes no expectation, even if its size field is right in front of
// it, where it may shrink.
TEST_F(MessageLengthExpectationTest, AfterTwoThatWereWidenedBeforeTheyEnded) {
  for (const size_t width : {kNarrow, kNarrow, kWide, kWide})
    EXPECT_EQ(Write({1000}), Widths{width});
}

TEST_F(MessageLengthExpectationTest, ARootSaysNothingOfItsChildren) {
  for (int i = 0; i < 2; ++i)
    Write({kLong});
  for (const size_t size : {kLong, kShort}) {
    ChunkedStream stream(size_t{100000});
    uint8_t* const size_field = stream.writer.ReserveBytes(4);
    ASSERT_NE(size_field, nullptr);
    memset(size_field, 0, 4);
    root_.Reset(&stream.writer);
    root_.set_size_field(size_field);
    root_.AppendString(3, std::string(size, 'x'));
    root_.Finalize();
    EXPECT_EQ(size_field[0] >= 0x80, size == kLong);
    EXPECT_EQ(Write({kLong}), Widths{kWide}) << size;
  }
}

// Messages deeper than the arena's own memory are on the heap. No length is
// expected of them, and they change no expectation.
TEST_F(MessageLengthExpectationTest, BlocksOnTheHeapChangeNothing) {
  for (int i = 0; i < 4; ++i)
    Write({kLong, kLong});
  Widths expected{kWide, kWide, kNarrow};
  EXPECT_EQ(Write({kLong, kLong, kShort}), expected);
  const size_t depth = MessageArena::kInlineMessages + 30;
  expected.resize(depth, kNarrow);
  // A message beyond the arena's current block begins wide.
  expected[MessageArena::kInlineMessages] = kWide;
  const std::vector<size_t> sizes(depth, kShort);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(Write(sizes), expected) << i;
  EXPECT_EQ(Write({kLong, kLong, kShort}), (Widths{kWide, kWide, kNarrow}));
}

// Later messages of the same type on a writer begin with the expectations of a
// message that has ended.
template <int>
class TypedMessage : public Message {};

// Writes |depth| nested messages to a new one of type T, each with |size| bytes
// in front of the next. Returns the lengths of their size fields when they
// began.
template <typename T>
Widths WriteNew(size_t depth, size_t size) {
  std::string buffer(100000, 'u');
  StaticBuffered<T> root(&buffer[0], buffer.size());
  Widths widths;
  Message* message = root.get();
  MessageTree tree;
  size_t written = 0;
  for (size_t i = 0; i < depth; ++i) {
    message = message->template BeginNestedMessage<Message>(1);
    message->AppendTinyVarInt(2, 2);
    written += 4 * (depth + 4);
    const size_t end = buffer.rfind("\x10\x02", written);
    EXPECT_NE(end, std::string::npos);
    widths.push_back(end - 1 - buffer.find_last_not_of('\0', end - 1));
    message->AppendString(3, std::string(size, 'x'));
    written = end + 2 + size;
    tree = MessageAround(size, std::move(tree));
  }
  buffer.resize(root.Finalize());
  EXPECT_EQ(Hex(buffer), Hex(EncodeTree(tree, {100000})));
  return widths;
}

class MessageMemoryTest : public LengthExpectationTest {};

TEST_F(MessageMemoryTest, NewMessagesKnowWhatTheLastOnesWere) {
  using T = TypedMessage<0>;
  EXPECT_EQ(WriteNew<T>(1, kLong), Widths{kNarrow});
  EXPECT_EQ(WriteNew<T>(1, kLong), Widths{kNarrow});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(WriteNew<T>(1, kLong), Widths{kWide}) << i;
  EXPECT_EQ(WriteNew<T>(1, kShort), Widths{kWide});
  EXPECT_EQ(WriteNew<T>(1, kLong), Widths{kNarrow});
}

TEST_F(MessageMemoryTest, AtAnyDepthThereIsMemoryFor) {
  using T = TypedMessage<1>;
  constexpr size_t kDepth = MessageArena::kInlineMessages;
  for (size_t i = 0; i < kDepth; ++i) {
    Widths expected(i, kWide);
    expected.resize(kDepth, kNarrow);
    for (int j = 0; j < 2; ++j)
      ASSERT_EQ(WriteNew<T>(kDepth, kLong), expected) << i;
  }
  EXPECT_EQ(WriteNew<T>(kDepth, kLong), Widths(kDepth, kWide));
}

TEST_F(MessageMemoryTest, OtherTypesHaveTheirOwn) {
  using T = TypedMessage<2>;
  for (int i = 0; i < 2; ++i)
    WriteNew<T>(1, kLong);
  EXPECT_EQ(WriteNew<TypedMessage<3>>(1, kLong), Widths{kNarrow});
  EXPECT_EQ(WriteNew<T>(1, kLong), Widths{kWide});
}

TEST_F(MessageMemoryTest, IsLeftAloneByMessagesWithoutChildren) {
  using T = TypedMessage<7>;
  {
    uint8_t buffer[10];
    const StaticBuffered<T> without_children(buffer, sizeof(buffer));
    for (int i = 0; i < 2; ++i)
      WriteNew<T>(1, kLong);
  }
  EXPECT_EQ(WriteNew<T>(1, kLong), Widths{kWide});
}

// Writes |count| messages like those of WriteNew<T>(1, size).
template <typename T>
void WriteMany(int count, size_t size) {
  const std::string bytes(size, 'x');
  uint8_t buffer[1000];
  for (int i = 0; i < count; ++i) {
    StaticBuffered<T> root(buffer, sizeof(buffer));
    root->template BeginNestedMessage<Message>(1)->AppendString(3, bytes);
    root.Finalize();
  }
}

// Writes |count| messages of a type that differ, as they may from thread to
// thread. Returns the number of times that the expectation changed.
template <typename T>
int ChangesOfMind(int count) {
  Widths last;
  int changes = 0;
  for (int i = 0; i < count; ++i) {
    const Widths widths = WriteNew<T>(1, i % 3 == 2 ? kShort : kLong);
    changes += widths != last ? 1 : 0;
    last = widths;
  }
  return changes;
}

// All threads read this word, so no thread may write it all the time.
TEST_F(MessageMemoryTest, IsSeldomWrittenToWhereMessagesDiffer) {
  using T = TypedMessage<4>;
  EXPECT_GT(ChangesOfMind<T>(300), 100);
  EXPECT_LE(ChangesOfMind<T>(2000), 20);
}

TEST_F(MessageMemoryTest, IsWrittenToAfterManyChangesWhereMessagesAgree) {
  using T = TypedMessage<6>;
  ChangesOfMind<T>(300);
  for (int i = 0; i < 3; ++i) {
    WriteMany<T>(1000, kLong);
    EXPECT_EQ(WriteNew<T>(1, kLong), Widths{kWide}) << i;
    EXPECT_EQ(WriteNew<T>(1, kShort), Widths{kWide}) << i;
    WriteMany<T>(1000, kShort);
    EXPECT_EQ(WriteNew<T>(1, kShort), Widths{kNarrow}) << i;
    EXPECT_EQ(WriteNew<T>(1, kLong), Widths{kNarrow}) << i;
  }
}

TEST_F(MessageMemoryTest, ThreadsShareIt) {
  using T = TypedMessage<5>;
  std::vector<std::thread> threads;
  for (const size_t size : {kLong, kShort, kLong}) {
    threads.emplace_back([size] {
      // The bytes are right, whatever the other threads do.
      for (int i = 0; i < 500; ++i)
        WriteNew<T>(3, size);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

}  // namespace
}  // namespace protozero
