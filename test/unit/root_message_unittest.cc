// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/root_message.h"

#include <memory>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "test/testing/chunked_delegate.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using test::ChunkedDelegate;
using test::Hex;

static_assert(!std::is_copy_constructible<RootMessage<>>::value);
static_assert(!std::is_move_constructible<RootMessage<>>::value);

TEST(RootMessageTest, BeforeTheFirstResetItTakesNoFields) {
  RootMessage<> message;
  EXPECT_TRUE(message.is_finalized());
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_EQ(message.stream_writer(), nullptr);
  EXPECT_EQ(message.size_field(), nullptr);
  EXPECT_EQ(message.nested_message(), nullptr);
  constexpr char kAdvice[] = "Reset\\(\\) was never called";
  EXPECT_MISTAKE(message.AppendVarInt(1, 1), kAdvice);
  EXPECT_MISTAKE(message.AppendTinyVarInt(1, 1), kAdvice);
  EXPECT_MISTAKE(message.AppendFixed(1, 1.0), kAdvice);
  EXPECT_MISTAKE(message.AppendString(1, "abc"), kAdvice);
  EXPECT_MISTAKE(message.AppendBytes(1, nullptr, 0), kAdvice);
  EXPECT_MISTAKE(message.AppendRawProtoBytes("abc", 3), kAdvice);
  EXPECT_MISTAKE(message.AppendScatteredBytes(1, nullptr, 0), kAdvice);
  EXPECT_MISTAKE(message.BeginNestedMessage<Message>(1)->AppendVarInt(1, 1),
                 kAdvice);
}

TEST(RootMessageTest, IsReusableManyTimesOnOneWriter) {
  ChunkedDelegate delegate(16);
  ScatteredStreamWriter writer(&delegate);
  delegate.set_writer(&writer);
  RootMessage<> message;
  std::string expected;
  for (uint32_t i = 0; i < 70000; ++i) {  // More often than 16 bits count.
    message.Reset(&writer);
    EXPECT_FALSE(message.is_finalized());
    if (i % 1000 == 0) {
      message.AppendVarInt(1, i % 128);
      expected += (expected.empty() ? "" : " ") + std::string("08 ");
      const uint8_t value = static_cast<uint8_t>(i % 128);
      expected += Hex(&value, 1);
      EXPECT_EQ(message.Finalize(), 2u);
    } else {
      EXPECT_EQ(message.Finalize(), 0u);
    }
  }
  EXPECT_EQ(Hex(delegate.Bytes()), expected);
}

TEST(RootMessageTest, ResetCutsAnOpenMessageShort) {
  ChunkedDelegate delegate(64);
  ScatteredStreamWriter writer(&delegate);
  delegate.set_writer(&writer);
  RootMessage<> message;
  message.Reset(&writer);
  Message* stale = message.BeginNestedMessage<Message>(1);
  stale->AppendVarInt(2, 2);
  message.Reset(&writer);
  EXPECT_MISTAKE(stale->AppendVarInt(3, 3), "sealed");
  message.AppendVarInt(4, 4);
  EXPECT_EQ(message.Finalize(), 2u);
  EXPECT_EQ(Hex(delegate.Bytes()), "0a 00 00 00 00 10 02 20 04");
}

TEST(RootMessageTest, FinalizeIsIdempotent) {
  ChunkedDelegate delegate(64);
  ScatteredStreamWriter writer(&delegate);
  delegate.set_writer(&writer);
  RootMessage<> message;
  message.Reset(&writer);
  message.AppendVarInt(1, 1);
  EXPECT_EQ(message.Finalize(), 2u);
  writer.WriteByte(0);
  EXPECT_EQ(message.Finalize(), 2u);
  EXPECT_EQ(message.Finalize(), 2u);
  EXPECT_EQ(writer.written(), 3u);
}

TEST(RootMessageTest, AWriterInTheErrorStateTakesMessagesAndDropsThem) {
  ChunkedDelegate delegate({4}, ChunkedDelegate::Patches::kInPlace, 0);
  ScatteredStreamWriter writer(&delegate);
  delegate.set_writer(&writer);
  writer.WriteByte(0);
  RootMessage<> message;
  message.Reset(&writer);
  message.AppendVarInt(1, 1);
  message.BeginNestedMessage<Message>(2)->AppendVarInt(1, 1);
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_EQ(writer.status(), WriteStatus::kOutOfBuffer);
  EXPECT_EQ(delegate.num_refusals(), 1u);
}

// A plain Message, as foreign code with an arena of its own uses it.
TEST(PlainMessageTest, IsFinalizedBeforeItsMemoryGoesAway) {
  ChunkedDelegate delegate(64);
  ScatteredStreamWriter writer(&delegate);
  delegate.set_writer(&writer);
  MessageArena arena;
  {
    const auto message = std::make_unique<Message>();
    message->Reset(&writer, &arena);
    message->BeginNestedMessage<Message>(1)->AppendVarInt(1, 1);
    EXPECT_EQ(message->Finalize(), 4u);
  }
  writer.WriteByte(0xaa);
  EXPECT_EQ(Hex(delegate.Bytes()), "0a 02 08 01 aa");
}

TEST(PlainMessageTest, ResetOnTheSameWriterCutsItShort) {
  ChunkedDelegate delegate(64);
  ScatteredStreamWriter writer(&delegate);
  delegate.set_writer(&writer);
  MessageArena arena;
  Message message;
  message.Reset(&writer, &arena);
  message.AppendVarInt(1, 1);
  message.Reset(&writer, &arena);
  message.AppendVarInt(2, 2);
  EXPECT_EQ(message.Finalize(), 2u);
  EXPECT_EQ(Hex(delegate.Bytes()), "08 01 10 02");
}

TEST(PlainMessageTest, NeedsAWriterAndAnArena) {
#if PROTOZERO_DCHECK_IS_ON
  ChunkedDelegate delegate(64);
  ScatteredStreamWriter writer(&delegate);
  MessageArena arena;
  Message message;
  EXPECT_DEATH(message.Reset(nullptr, &arena), "needs a stream");
  EXPECT_DEATH(message.Reset(&writer, nullptr), "needs a stream");
#else
  GTEST_SKIP() << "not checked in release builds";
#endif
}

}  // namespace
}  // namespace protozero
