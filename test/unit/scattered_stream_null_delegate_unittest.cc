// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/scattered_stream_null_delegate.h"

#include <random>

#include <gtest/gtest.h>

#include "protozero/root_message.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/message_tree.h"

namespace protozero {
namespace {

TEST(ScatteredStreamWriterNullDelegateTest, HandsOutTheSameChunkForEver) {
  ScatteredStreamWriterNullDelegate delegate(16);
  const ContiguousMemoryRange first = delegate.GetNewBuffer();
  EXPECT_EQ(first.size(), 16u);
  const ContiguousMemoryRange second = delegate.GetNewBuffer();
  EXPECT_EQ(first.begin, second.begin);
  EXPECT_EQ(first.end, second.end);
}

TEST(ScatteredStreamWriterNullDelegateTest, WantsNoSizes) {
  ScatteredStreamWriterNullDelegate delegate(16);
  EXPECT_EQ(delegate.AnnotatePatch(delegate.GetNewBuffer().begin), nullptr);
}

TEST(ScatteredStreamWriterNullDelegateTest, TakesMessagesAndCountsThem) {
  std::mt19937_64 random(1);
  for (size_t chunk_size : {4u, 5u, 16u, 100u}) {
    ScatteredStreamWriterNullDelegate delegate(chunk_size);
    ScatteredStreamWriter writer(&delegate);
    RootMessage<> message;
    for (int i = 0; i < 100; ++i) {
      const test::MessageTree tree = test::RandomTree(random, 5, 4);
      const uint64_t before = writer.written();
      writer.Reset(ContiguousMemoryRange{});
      message.Reset(&writer);
      test::WriteTree(tree, &message);
      const size_t size = test::EncodeTree(tree, {chunk_size}).size();
      EXPECT_EQ(message.Finalize(), size);
      EXPECT_EQ(writer.written() - before, size);
      EXPECT_TRUE(writer.ok());
    }
  }
}

TEST(ScatteredStreamWriterNullDelegateTest, AChunkHasToHoldASizeField) {
#if PROTOZERO_DCHECK_IS_ON
  EXPECT_DEATH(ScatteredStreamWriterNullDelegate(3), "size of a nested");
#else
  for (size_t chunk_size = 0; chunk_size < 4; ++chunk_size) {
    ScatteredStreamWriterNullDelegate delegate(chunk_size);
    ScatteredStreamWriter writer(&delegate);
    RootMessage<> message;
    message.Reset(&writer);
    message.BeginNestedMessage<Message>(1)->AppendString(1, "abcdef");
    EXPECT_EQ(message.Finalize(), 0u);
    EXPECT_EQ(writer.status(), WriteStatus::kOutOfBuffer);
  }
#endif
}

}  // namespace
}  // namespace protozero
