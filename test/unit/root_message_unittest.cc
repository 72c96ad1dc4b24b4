// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/root_message.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>

#include <gtest/gtest.h>

#include "test/testing/chunked_delegate.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using test::ChunkedDelegate;
using test::ChunkedStream;
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
  EXPECT_MISTAKE(message.AppendBorrowedBytes(1, nullptr, 0), kAdvice);
  EXPECT_MISTAKE(message.BeginNestedMessage<Message>(1)->AppendVarInt(1, 1),
                 kAdvice);
}

TEST(RootMessageTest, IsReusableManyTimesOnOneWriter) {
  ChunkedStream stream(16);
  RootMessage<> message;
  std::string expected;
  for (uint32_t i = 0; i < 70000; ++i) {  // A counter of 16 bits would wrap.
    message.Reset(&stream.writer);
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
  EXPECT_EQ(stream.Bytes(), expected);
}

TEST(RootMessageTest, ResetCutsAnOpenMessageShort) {
  ChunkedStream stream(64);
  RootMessage<> message;
  message.Reset(&stream.writer);
  Message* stale = message.BeginNestedMessage<Message>(1);
  stale->AppendVarInt(2, 2);
  message.Reset(&stream.writer);
  EXPECT_MISTAKE(stale->AppendVarInt(3, 3), "sealed");
  message.AppendVarInt(4, 4);
  EXPECT_EQ(message.Finalize(), 2u);
  EXPECT_EQ(stream.Bytes(), "0a 00 00 00 00 10 02 20 04");
}

TEST(RootMessageTest, FinalizeIsIdempotent) {
  ChunkedStream stream(64);
  RootMessage<> message;
  message.Reset(&stream.writer);
  message.AppendVarInt(1, 1);
  EXPECT_EQ(message.Finalize(), 2u);
  stream.writer.WriteByte(0);
  EXPECT_EQ(message.Finalize(), 2u);
  EXPECT_EQ(message.Finalize(), 2u);
  EXPECT_EQ(stream.writer.written(), 3u);
}

TEST(RootMessageTest, AWriterInTheErrorStateTakesMessagesAndDropsThem) {
  ChunkedStream stream(4, 0);
  stream.writer.WriteByte(0);
  RootMessage<> message;
  message.Reset(&stream.writer);
  message.AppendVarInt(1, 1);
  message.BeginNestedMessage<Message>(2)->AppendVarInt(1, 1);
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_EQ(stream.writer.status(), WriteStatus::kOutOfBuffer);
  EXPECT_EQ(stream.delegate.num_refusals(), 1u);
}

// A message and a writer that continue in another buffer in one step. It is
// their first buffer, or they have had one before.
class ResetInRangeTest : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr size_t kSize = 64;

  void SetUp() override {
    if (GetParam()) {
      Reset(0);
      message_.Finalize();
    }
  }

  void Reset(size_t buffer, size_t size = kSize) {
    message_.Reset(&stream_.writer,
                   {buffers_[buffer], buffers_[buffer] + size});
  }

  std::string Written(size_t buffer, size_t size) const {
    return Hex(buffers_[buffer], size);
  }

  // The stream's own chunks are for messages that do not fit into a buffer.
  ChunkedStream stream_{16, 2};
  RootMessage<> message_;
  uint8_t buffers_[2][kSize] = {};
};

TEST_P(ResetInRangeTest, WritesToTheRange) {
  for (size_t buffer = 0; buffer < 2; ++buffer) {
    Reset(buffer);
    EXPECT_FALSE(message_.is_finalized());
    message_.AppendVarInt(1, 1 + buffer);
    message_.BeginNestedMessage<Message>(2)->AppendVarInt(1, 3);
    EXPECT_EQ(message_.Finalize(), 6u);
    EXPECT_EQ(stream_.writer.cur_range().begin, buffers_[buffer]);
    EXPECT_EQ(stream_.writer.cur_range().end, buffers_[buffer] + kSize);
    EXPECT_EQ(stream_.writer.written(), 6 * (buffer + 1));
  }
  EXPECT_EQ(Written(0, 7), "08 01 12 02 08 03 00");
  EXPECT_EQ(Written(1, 7), "08 02 12 02 08 03 00");
  EXPECT_EQ(stream_.delegate.num_chunks(), 0u);
}

TEST_P(ResetInRangeTest, CutsItsOpenMessageShort) {
  Reset(0);
  message_.AppendVarInt(1, 1);
  Message* stale = message_.BeginNestedMessage<Message>(2);
  stale->AppendVarInt(3, 3);
  Reset(1);
  EXPECT_MISTAKE(stale->AppendVarInt(3, 4), "sealed");
  message_.AppendVarInt(4, 4);
  EXPECT_EQ(message_.Finalize(), 2u);
  EXPECT_EQ(Written(1, 3), "20 04 00");
  EXPECT_EQ(Written(0, 3), "08 01 12");
}

TEST_P(ResetInRangeTest, CutsOtherMessagesShort) {
  RootMessage<> other_message(&stream_.writer);
  other_message.AppendVarInt(1, 1);
  ChunkedStream other_stream(kSize);
  message_.Reset(&other_stream.writer);
  message_.AppendVarInt(1, 2);
  Reset(0);
  EXPECT_TRUE(other_message.is_finalized());
  EXPECT_MISTAKE(other_message.AppendVarInt(2, 2), "sealed");
  message_.AppendVarInt(3, 3);
  EXPECT_EQ(message_.Finalize(), 2u);
  EXPECT_EQ(Written(0, 3), "18 03 00");
  // No message is open on the other stream any more.
  other_stream.writer.WriteByte(0);
  EXPECT_EQ(other_stream.Bytes(), "08 02 00");
}

TEST_P(ResetInRangeTest, GoesOnInTheNextChunk) {
  Reset(0, 4);
  message_.AppendVarInt(1, 1);
  message_.AppendString(2, "abcd");
  EXPECT_EQ(message_.Finalize(), 8u);
  EXPECT_EQ(Written(0, 5), "08 01 12 04 00");
  EXPECT_EQ(stream_.delegate.num_chunks(), 1u);
}

TEST_P(ResetInRangeTest, EndsAnErrorState) {
  Reset(0, 4);
  message_.AppendString(2, std::string(100, 'a'));
  EXPECT_EQ(message_.Finalize(), 0u);
  EXPECT_FALSE(stream_.writer.ok());
  Reset(1);
  EXPECT_TRUE(stream_.writer.ok());
  message_.AppendVarInt(1, 1);
  EXPECT_EQ(message_.Finalize(), 2u);
  EXPECT_EQ(Written(1, 3), "08 01 00");
}

TEST_P(ResetInRangeTest, TakesNoRangeForNoneYet) {
  message_.Reset(&stream_.writer, {});
  message_.AppendVarInt(1, 1);
  EXPECT_EQ(message_.Finalize(), 2u);
  EXPECT_EQ(stream_.delegate.num_chunks(), 1u);
}

INSTANTIATE_TEST_SUITE_P(AfterAnother,
                         ResetInRangeTest,
                         ::testing::Bool(),
                         ::testing::PrintToStringParamName());

// Messages and writers that meet each other more than once: each knows the
// other, or an earlier object in its place.
class MeetAgainTest : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr size_t kChunkSize = 4096;

  struct Stream : ChunkedStream {
    Stream() : ChunkedStream(kChunkSize, 1) {}
    uint8_t buffer[64];
  };

  static void Reset(RootMessage<>* message, Stream* stream) {
    if (GetParam()) {
      message->Reset(&stream->writer,
                     {stream->buffer, stream->buffer + sizeof(stream->buffer)});
    } else {
      message->Reset(&stream->writer);
    }
  }

  static void ExpectWrites(RootMessage<>* message,
                           Stream* stream,
                           uint8_t value) {
    Reset(message, stream);
    message->AppendVarInt(1, value);
    message->BeginNestedMessage<Message>(2)->AppendVarInt(3, value);
    message->AppendVarInt(4, value);
    EXPECT_EQ(message->Finalize(), 8u);
    const std::string digits = Hex(&value, 1);
    EXPECT_EQ(Hex(stream->writer.write_ptr() - 8, 8),
              "08 " + digits + " 12 02 18 " + digits + " 20 " + digits);
  }

  Stream stream_;
  Stream other_stream_;
};

TEST_P(MeetAgainTest, TwoMessagesTakeTurns) {
  RootMessage<> a;
  RootMessage<> b;
  for (uint8_t i = 0; i < 8; ++i) {
    ExpectWrites(&a, &stream_, i);
    ExpectWrites(&b, &stream_, i);
    if (i % 3 == 0)
      ExpectWrites(&b, &stream_, i);
  }
}

TEST_P(MeetAgainTest, AMessageGoesFromWriterToWriter) {
  RootMessage<> message;
  for (uint8_t i = 0; i < 8; ++i) {
    ExpectWrites(&message, &stream_, i);
    ExpectWrites(&message, &other_stream_, i);
    if (i % 3 == 0)
      ExpectWrites(&message, &other_stream_, i);
  }
}

TEST_P(MeetAgainTest, AMessageWhereAnotherWas) {
  std::optional<RootMessage<>> message;
  for (uint8_t i = 0; i < 4; ++i) {
    message.emplace();
    EXPECT_TRUE(message->is_finalized());
    ExpectWrites(&*message, &stream_, i);
    // The writer remembers the message that was in the same place.
    message.emplace();
    EXPECT_TRUE(message->is_finalized());
    ExpectWrites(&*message, &other_stream_, i);
    ExpectWrites(&*message, &stream_, i);
  }
}

TEST_P(MeetAgainTest, AMessageWhereAnOpenOneWas) {
  std::optional<RootMessage<>> message;
  message.emplace();
  ExpectWrites(&*message, &stream_, 1);
  Reset(&*message, &stream_);
  message->AppendVarInt(1, 1);
  message.emplace();
  ExpectWrites(&*message, &stream_, 2);
}

TEST_P(MeetAgainTest, AWriterWhereAnotherWas) {
  std::optional<Stream> stream;
  RootMessage<> message;
  for (uint8_t i = 0; i < 4; ++i) {
    stream.emplace();
    ExpectWrites(&message, &*stream, i);
    ExpectWrites(&message, &*stream, i);
    if (i % 2 == 0) {
      Reset(&message, &*stream);
      message.AppendVarInt(1, 1);
    }
  }
}

TEST_P(MeetAgainTest, AMessageThatIsOpen) {
  RootMessage<> message;
  ExpectWrites(&message, &stream_, 1);
  Reset(&message, &stream_);
  Message* const stale = message.BeginNestedMessage<Message>(1);
  ExpectWrites(&message, &stream_, 2);
  EXPECT_TRUE(stale->is_finalized());
  EXPECT_MISTAKE(stale->AppendVarInt(1, 1), "sealed");
  ExpectWrites(&message, &stream_, 3);
}

TEST_P(MeetAgainTest, AMessageWhoseWriterHasTakenTheCursor) {
  RootMessage<> message;
  ExpectWrites(&message, &stream_, 1);
  Reset(&message, &stream_);
  Message* const stale = message.BeginNestedMessage<Message>(1);
  stale->AppendVarInt(1, 1);
  stream_.writer.WriteByte(0);
  ExpectWrites(&message, &stream_, 2);
  EXPECT_TRUE(stale->is_finalized());
  // No open child takes this byte.
  stream_.writer.WriteByte(0);
  ExpectWrites(&message, &stream_, 3);
}

TEST_P(MeetAgainTest, AMessageThatHasUsedTheMemoryOfOthers) {
  RootMessage<> message;
  ExpectWrites(&message, &stream_, 1);
  {
    const auto arena = std::make_unique<MessageArena>();
    Message* const as_plain = &message;
    as_plain->Reset(&stream_.writer, arena.get());
    as_plain->BeginNestedMessage<Message>(1)->AppendVarInt(1, 1);
    as_plain->Finalize();
  }
  ExpectWrites(&message, &stream_, 2);
}

TEST_P(MeetAgainTest, AfterAnError) {
  RootMessage<> message;
  ExpectWrites(&message, &stream_, 1);
  Reset(&message, &stream_);
  message.AppendString(1, std::string(2 * kChunkSize, 'a'));
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_FALSE(stream_.writer.ok());
  if (GetParam()) {
    ExpectWrites(&message, &stream_, 2);
    EXPECT_TRUE(stream_.writer.ok());
  } else {
    Reset(&message, &stream_);
    message.AppendVarInt(1, 1);
    EXPECT_EQ(message.Finalize(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(InARange,
                         MeetAgainTest,
                         ::testing::Bool(),
                         ::testing::PrintToStringParamName());

// Two threads use one message and one writer each. Anything that the library
// shares between them must be safe: ThreadSanitizer checks it.
TEST(RootMessageTest, ThreadsWithMessagesOfTheirOwnDoNotDisturbEachOther) {
  std::string results[2];
  const auto write_messages = [](std::string* result) {
    ChunkedStream stream(64);
    RootMessage<> message;
    for (int i = 0; i < 1000; ++i) {
      message.Reset(&stream.writer);
      Message* nested = &message;
      for (int depth = 0; depth < i % 5; ++depth)
        nested = nested->BeginNestedMessage<Message>(1);
      nested->AppendString(2, "abcdefgh");
      message.AppendVarInt(3, i);
#if !PROTOZERO_DCHECK_IS_ON
      if (i % 5 != 0)  // The sealed message begins one that all threads share.
        nested->BeginNestedMessage<Message>(1)->AppendVarInt(1, 1);
#endif
      message.Finalize();
    }
    *result = stream.Bytes();
  };
  std::thread thread(write_messages, &results[0]);
  write_messages(&results[1]);
  thread.join();
  EXPECT_FALSE(results[0].empty());
  EXPECT_TRUE(results[0] == results[1]);
}

// A plain Message, as other code with an arena of its own uses it.
TEST(PlainMessageTest, IsFinalizedBeforeItsMemoryGoesAway) {
  ChunkedStream stream(64);
  MessageArena arena;
  {
    const auto message = std::make_unique<Message>();
    message->Reset(&stream.writer, &arena);
    message->BeginNestedMessage<Message>(1)->AppendVarInt(1, 1);
    EXPECT_EQ(message->Finalize(), 4u);
  }
  stream.writer.WriteByte(0xaa);
  EXPECT_EQ(stream.Bytes(), "0a 02 08 01 aa");
}

TEST(PlainMessageTest, ResetOnTheSameWriterCutsItShort) {
  ChunkedStream stream(64);
  MessageArena arena;
  Message message;
  message.Reset(&stream.writer, &arena);
  message.AppendVarInt(1, 1);
  message.Reset(&stream.writer, &arena);
  message.AppendVarInt(2, 2);
  EXPECT_EQ(message.Finalize(), 2u);
  EXPECT_EQ(stream.Bytes(), "08 01 10 02");
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
