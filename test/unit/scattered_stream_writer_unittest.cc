// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/scattered_stream_writer.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/internal/bit_deposit.h"
#include "protozero/root_message.h"
#include "test/testing/chunked_delegate.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using test::ChunkedDelegate;
using test::ChunkedStream;
using test::FromHex;
using test::Hex;
using testing::ElementsAre;

static_assert(!std::is_copy_constructible<ScatteredStreamWriter>::value);
static_assert(!std::is_move_constructible<ScatteredStreamWriter>::value);
static_assert(ScatteredStreamWriter::Delegate::kPatchSize == 4);

TEST(ScatteredStreamWriterTest, AsksForNothingBeforeTheFirstWrite) {
  ChunkedStream stream(8);
  EXPECT_EQ(stream.delegate.num_chunks(), 0u);
  EXPECT_FALSE(stream.writer.cur_range().is_valid());
  EXPECT_EQ(stream.writer.write_ptr(), nullptr);
  EXPECT_EQ(stream.writer.bytes_available(), 0u);
  EXPECT_EQ(stream.writer.written(), 0u);
  EXPECT_EQ(stream.writer.written_previously(), 0u);
  EXPECT_TRUE(stream.writer.ok());
  stream.writer.WriteBytes(nullptr, 0);
  EXPECT_EQ(stream.writer.ReserveBytes(0), nullptr);
  EXPECT_EQ(stream.delegate.num_chunks(), 0u);
}

TEST(ScatteredStreamWriterTest, FillsChunksToTheLastByte) {
  ChunkedStream stream(8);
  stream.writer.WriteByte(0xff);
  EXPECT_EQ(stream.writer.bytes_available(), 7u);
  stream.Write("01 02 03 04 05 06 07");
  EXPECT_EQ(stream.writer.bytes_available(), 0u);
  EXPECT_EQ(stream.delegate.num_chunks(), 1u);
  stream.writer.WriteByte(0x08);
  EXPECT_EQ(stream.writer.bytes_available(), 7u);
  EXPECT_THAT(stream.Chunks(), ElementsAre("ff 01 02 03 04 05 06 07", "08"));
}

TEST(ScatteredStreamWriterTest, WritesOverAsManyChunksAsItTakes) {
  ChunkedStream stream(4);
  stream.Write("00");
  stream.Write("01 02 03 04 05 06 07 08 09 0a 0b");
  EXPECT_THAT(stream.Chunks(),
              ElementsAre("00 01 02 03", "04 05 06 07", "08 09 0a 0b"));
  EXPECT_EQ(stream.writer.written(), 12u);
  EXPECT_EQ(stream.writer.written_previously(), 8u);
}

TEST(ScatteredStreamWriterTest, EveryPairOfSizesInEveryChunkSize) {
  for (size_t chunk_size = 1; chunk_size <= 10; ++chunk_size) {
    for (size_t first = 0; first <= 21; ++first) {
      for (size_t second = 0; second <= 21; ++second) {
        std::string bytes(first + second, '\0');
        std::iota(bytes.begin(), bytes.end(), '\0');
        const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
        ChunkedStream stream(chunk_size);
        stream.writer.WriteBytes(data, first);
        stream.writer.WriteBytesSlowPath(data + first, second);
        ASSERT_EQ(stream.Bytes(), Hex(bytes));
        ASSERT_EQ(stream.writer.written(), bytes.size());
        ASSERT_EQ(stream.delegate.num_chunks(),
                  (bytes.size() + chunk_size - 1) / chunk_size);
        ASSERT_EQ(stream.delegate.Complaints(), "");
      }
    }
  }
}

TEST(ScatteredStreamWriterTest, WriteBytesUnsafeFillsTheChunkExactly) {
  ChunkedStream stream(4);
  stream.writer.Extend();
  const uint8_t bytes[] = {1, 2, 3, 4};
  stream.writer.WriteBytesUnsafe(bytes, 4);
  stream.writer.WriteBytesUnsafe(nullptr, 0);
  EXPECT_THAT(stream.Chunks(), ElementsAre("01 02 03 04"));
}

TEST(ScatteredStreamWriterTest, ReservedBytesAreContiguousAndKeepTheirContent) {
  ChunkedStream stream(8);
  stream.Write("00 01 02");
  uint8_t* reserved = stream.writer.ReserveBytes(5);
  ASSERT_NE(reserved, nullptr);
  EXPECT_EQ(reserved, stream.writer.cur_range().begin + 3);
  EXPECT_EQ(reserved[0], ChunkedDelegate::kUnwritten);
  EXPECT_EQ(stream.writer.bytes_available(), 0u);
  memset(reserved, 0xaa, 5);
  EXPECT_THAT(stream.Chunks(), ElementsAre("00 01 02 aa aa aa aa aa"));
}

TEST(ScatteredStreamWriterTest, ReserveSkipsTheRestOfAChunkThatIsTooSmall) {
  for (size_t room = 0; room < 4; ++room) {
    ChunkedStream stream(8);
    for (size_t i = room; i < 8; ++i)
      stream.writer.WriteByte(0x11);
    uint8_t* reserved = stream.writer.ReserveBytes(4);
    EXPECT_EQ(reserved, stream.writer.cur_range().begin);
    memset(reserved, 0, 4);
    // Skipped bytes are not counted.
    EXPECT_EQ(stream.writer.written(), 8 - room + 4);
    EXPECT_EQ(stream.delegate.ChunkBytes()[0].size(), 8 - room);
    EXPECT_EQ(stream.Chunks()[1], "00 00 00 00");
  }
}

TEST(ScatteredStreamWriterTest, ReserveOfMoreThanAChunkFails) {
  ChunkedStream stream(8);
  stream.Write("01");
  EXPECT_EQ(stream.writer.ReserveBytes(9), nullptr);
  EXPECT_EQ(stream.writer.status(), WriteStatus::kOutOfBuffer);
  EXPECT_EQ(stream.writer.written(), 10u);
  EXPECT_EQ(stream.delegate.Complaints(), "");
}

TEST(ScatteredStreamWriterTest, RewindMovesTheTailUp) {
  ChunkedStream stream(8);
  stream.Write("00 01 02 03 04 05 06");
  stream.writer.Rewind(3, 2);
  EXPECT_THAT(stream.Chunks(), ElementsAre("00 01 04 05 06"));
  EXPECT_EQ(stream.writer.written(), 5u);
  stream.Write("07 08 09");
  EXPECT_THAT(stream.Chunks(), ElementsAre("00 01 04 05 06 07 08 09"));
  EXPECT_EQ(stream.delegate.Complaints(), "");
}

TEST(ScatteredStreamWriterTest, RewindOfEverySizeAndOffset) {
  for (size_t size = 0; size <= 8; ++size) {
    for (size_t offset = 0; offset + size <= 8; ++offset) {
      ChunkedStream stream(8);
      std::string expected = FromHex("00 01 02 03 04 05 06 07");
      stream.Write(Hex(expected));
      stream.writer.Rewind(size, offset);
      expected.erase(8 - size - offset, offset);
      EXPECT_EQ(stream.Bytes(), Hex(expected));
      EXPECT_EQ(stream.writer.bytes_available(), offset);
    }
  }
}

TEST(ScatteredStreamWriterTest, RewindAcrossChunksIsRejected) {
  ChunkedStream stream(4);
  stream.Write("00 01 02 03 04 05");
  const struct {
    size_t size;
    size_t offset;
  } kTooFar[] = {{3, 0}, {0, 3}, {2, 1}, {1, 2}, {1, SIZE_MAX}, {SIZE_MAX, 1}};
  for (const auto& c : kTooFar) {
    EXPECT_MISTAKE(stream.writer.Rewind(c.size, c.offset), "current chunk");
    EXPECT_THAT(stream.Chunks(), ElementsAre("00 01 02 03", "04 05"));
  }
}

TEST(ScatteredStreamWriterTest, RewindBeforeTheFirstChunkOfNothingIsNothing) {
  ChunkedStream stream(4);
  stream.writer.Rewind(0, 0);
  EXPECT_MISTAKE(stream.writer.Rewind(0, 1), "current chunk");
  EXPECT_EQ(stream.writer.written(), 0u);
}

TEST(ScatteredStreamWriterTest, SetWritePtrMovesTheCursorBothWays) {
  ChunkedStream stream(8);
  stream.Write("00 01 02 03");
  uint8_t* const begin = stream.writer.cur_range().begin;
  stream.writer.set_write_ptr(begin + 1);
  stream.Write("aa");
  EXPECT_EQ(stream.writer.written(), 2u);
  stream.writer.set_write_ptr(begin + 8);
  EXPECT_EQ(stream.writer.bytes_available(), 0u);
  stream.writer.set_write_ptr(begin);
  EXPECT_EQ(stream.writer.written(), 0u);
  EXPECT_MISTAKE(
      {
        stream.writer.set_write_ptr(begin + 9);
        stream.writer.set_write_ptr(begin);
      },
      "within cur_range");
}

#if defined(__cpp_exceptions)

class ThrowingDelegate : public ScatteredStreamWriter::Delegate {
 public:
  ContiguousMemoryRange GetNewBuffer() override { throw 1; }
};

// Callers have no code that would clean up after the exception.
TEST(ScatteredStreamWriterTest, ADelegateThatThrowsEndsTheProgram) {
  ThrowingDelegate delegate;
  ScatteredStreamWriter writer(&delegate);
  RootMessage<Message> message;
  message.Reset(&writer);
  const auto write = [&message] {
    try {
      message.AppendVarInt(1, 1);
    } catch (int) {
      _exit(0);
    }
  };
  EXPECT_EXIT(write(), testing::KilledBySignal(SIGABRT), "");
}

#endif  // defined(__cpp_exceptions)

TEST(ScatteredStreamWriterTest, UnsafeCallsCheckTheirBoundsInDebugBuilds) {
#if PROTOZERO_DCHECK_IS_ON
  ChunkedStream stream(4);
  stream.Write("00");
  const uint8_t bytes[4] = {};
  EXPECT_DEATH(stream.writer.WriteBytesUnsafe(bytes, 4), "bytes_available");
  EXPECT_DEATH(stream.writer.ReserveBytesUnsafe(4), "bytes_available");
#else
  GTEST_SKIP() << "they do not in release builds";
#endif
}

TEST(ScatteredStreamWriterTest, ExtendLeavesTheRestOfTheChunk) {
  ChunkedStream stream(4);
  stream.Write("00");
  stream.writer.Extend();
  EXPECT_EQ(stream.writer.bytes_available(), 4u);
  EXPECT_EQ(stream.writer.written(), 1u);
  EXPECT_EQ(stream.writer.written_previously(), 1u);
  stream.writer.Extend();
  stream.Write("01");
  EXPECT_THAT(stream.Chunks(), ElementsAre("00", "", "01"));
}

TEST(ScatteredStreamWriterTest, ResetContinuesInTheGivenRange) {
  ChunkedStream stream(4);
  stream.Write("00");
  uint8_t buffer[6] = {0xee, 0xee, 0xee, 0xee, 0xee, 0xee};
  stream.writer.Reset({buffer + 1, buffer + 5});
  EXPECT_EQ(stream.writer.bytes_available(), 4u);
  EXPECT_EQ(stream.writer.written(), 1u);
  stream.Write("01 02 03");
  EXPECT_EQ(stream.writer.written(), 4u);
  EXPECT_EQ(stream.writer.cur_range().begin, buffer + 1);
  EXPECT_EQ(Hex(buffer, sizeof(buffer)), "ee 01 02 03 ee ee");
}

TEST(ScatteredStreamWriterTest, ResetToNothingAsksTheDelegateAgain) {
  ChunkedStream stream(4);
  stream.Write("00 01");
  stream.writer.Reset(ContiguousMemoryRange{});
  EXPECT_EQ(stream.writer.bytes_available(), 0u);
  EXPECT_EQ(stream.writer.write_ptr(), nullptr);
  EXPECT_EQ(stream.writer.written(), 2u);
  EXPECT_EQ(stream.delegate.num_chunks(), 1u);
  uint8_t buffer[2];
  stream.writer.Reset({buffer, buffer});  // Valid, but empty.
  stream.writer.WriteByte(0x02);
  EXPECT_EQ(stream.delegate.num_chunks(), 2u);
  EXPECT_EQ(stream.writer.written(), 3u);
}

TEST(ScatteredStreamWriterTest, TheDelegateSeesTheChunkThatIsBeingLeft) {
  ChunkedStream stream(4);
  std::vector<std::string> seen;
  stream.delegate.set_on_new_buffer([&] {
    const ScatteredStreamWriter& writer = stream.writer;
    seen.push_back(std::to_string(writer.written()) + " written, " +
                   std::to_string(writer.written_previously()) +
                   " previously, " + std::to_string(writer.bytes_available()) +
                   " left");
    if (writer.cur_range().is_valid()) {
      EXPECT_EQ(writer.write_ptr(),
                writer.cur_range().begin + 4 - writer.bytes_available());
    }
  });
  stream.Write("00 01 02 03 04 05");
  stream.writer.ReserveBytes(3);
  EXPECT_THAT(seen, ElementsAre("0 written, 0 previously, 0 left",
                                "4 written, 0 previously, 0 left",
                                "6 written, 4 previously, 2 left"));
}

TEST(ScatteredStreamWriterTest, AnnotatePatchAsksTheDelegate) {
  ChunkedStream stream({8}, ChunkedDelegate::Patches::kRedirect);
  uint8_t* size_field = stream.writer.ReserveBytes(4);
  memset(size_field, 0, 4);
  uint8_t* patch = stream.writer.AnnotatePatch(size_field);
  EXPECT_NE(patch, size_field);
  memset(patch, 0x80, 4);
  EXPECT_EQ(stream.Bytes(), "80 80 80 80");
  EXPECT_EQ(stream.delegate.num_patches(), 1u);
}

// Delegates that make mistakes or run out of memory.

TEST(ScatteredStreamWriterErrorTest, ADelegateThatGivesUpAfterAnyChunk) {
  for (size_t max_chunks = 0; max_chunks < 4; ++max_chunks) {
    ChunkedStream stream(4, max_chunks);
    stream.Write("00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d");
    EXPECT_EQ(stream.writer.status(), WriteStatus::kOutOfBuffer);
    EXPECT_EQ(stream.writer.written(), 14u);
    EXPECT_EQ(stream.Bytes(), Hex(FromHex("00 01 02 03 04 05 06 07 08 09 0a 0b")
                                      .substr(0, 4 * max_chunks)));
    EXPECT_EQ(stream.delegate.Complaints(), "");
  }
}

TEST(ScatteredStreamWriterErrorTest, ItIsNotAskedAgain) {
  ChunkedStream stream(4, 1);
  stream.Write("00 01 02 03 04");
  EXPECT_EQ(stream.delegate.num_refusals(), 1u);
  stream.writer.WriteByte(1);
  stream.Write("02 03");
  stream.writer.Extend();
  EXPECT_EQ(stream.writer.ReserveBytes(1), nullptr);
  EXPECT_EQ(stream.delegate.num_refusals(), 1u);
}

// Makes |stream| fail while its chunk of 8 bytes has room for five more.
void FailWithRoomLeft(ChunkedStream& stream) {
  stream.Write("00 01 02");
  EXPECT_EQ(stream.writer.ReserveBytes(6), nullptr);
  EXPECT_EQ(stream.writer.status(), WriteStatus::kOutOfBuffer);
}

TEST(ScatteredStreamWriterErrorTest, WithoutADelegateThereIsNoOtherChunk) {
  uint8_t bytes[24] = {};
  ScatteredStreamWriter writer(nullptr, {bytes, bytes + 20});
  EXPECT_EQ(writer.AnnotatePatch(&bytes[3]), &bytes[3]);
  RootMessage<> message(&writer);
  Message* const child = message.BeginNestedMessage<Message>(1);
  child->AppendFixed(2, uint64_t{0x0807060504030201});
  EXPECT_TRUE(writer.ok());
  child->AppendFixed(3, uint64_t{0x0807060504030201});
  EXPECT_EQ(writer.status(), WriteStatus::kOutOfBuffer);
  EXPECT_EQ(message.Finalize(), 0u);
  for (size_t i = 20; i < sizeof(bytes); ++i)
    EXPECT_EQ(bytes[i], 0) << i;
  writer.Reset({bytes, bytes + 20});
  EXPECT_TRUE(writer.ok());
  for (int i = 0; i < 21; ++i)
    writer.WriteByte(1);
  EXPECT_EQ(writer.status(), WriteStatus::kOutOfBuffer);
  EXPECT_EQ(bytes[20], 0);
}

TEST(ScatteredStreamWriterErrorTest, NothingIsWrittenAfterwards) {
  const auto expect_dropped = [](uint64_t size, auto write) {
    ChunkedStream stream(8, 1);
    FailWithRoomLeft(stream);
    EXPECT_EQ(stream.writer.bytes_available(), 0u);
    const uint64_t written = stream.writer.written();
    const std::string chunk = stream.delegate.CurrentChunk();
    write(stream);
    EXPECT_EQ(Hex(stream.delegate.CurrentChunk()), Hex(chunk));
    EXPECT_EQ(stream.writer.written(), written + size);
    EXPECT_FALSE(stream.writer.ok());
  };
  expect_dropped(1,
                 [](ChunkedStream& stream) { stream.writer.WriteByte(0xaa); });
  expect_dropped(2, [](ChunkedStream& stream) { stream.Write("aa bb"); });
  expect_dropped(9, [](ChunkedStream& stream) {
    stream.Write("aa bb cc dd ee ff 00 11 22");
  });
  expect_dropped(2, [](ChunkedStream& stream) {
    EXPECT_EQ(stream.writer.ReserveBytes(2), nullptr);
  });
  expect_dropped(3, [](ChunkedStream& stream) {
    stream.writer.WriteBytesSlowPath(reinterpret_cast<const uint8_t*>("abc"),
                                     3);
  });
  expect_dropped(0, [](ChunkedStream& stream) { stream.writer.Extend(); });
}

TEST(ScatteredStreamWriterErrorTest, ResetEndsIt) {
  ChunkedStream stream(8, 1);
  FailWithRoomLeft(stream);
  const uint64_t written = stream.writer.written();
  uint8_t buffer[2];
  stream.writer.Reset({buffer, buffer + 2});
  EXPECT_TRUE(stream.writer.ok());
  EXPECT_EQ(stream.writer.bytes_available(), 2u);
  stream.Write("aa bb");
  EXPECT_EQ(Hex(buffer, 2), "aa bb");
  EXPECT_EQ(stream.writer.written(), written + 2);
  stream.writer.WriteByte(0xcc);
  EXPECT_EQ(stream.writer.status(), WriteStatus::kOutOfBuffer);
}

// A delegate that hands out the ranges that a test gives it.
class ScriptedDelegate : public ScatteredStreamWriter::Delegate {
 public:
  using Ranges = std::vector<ContiguousMemoryRange>;
  explicit ScriptedDelegate(const Ranges& ranges) : ranges_(ranges) {}
  ContiguousMemoryRange GetNewBuffer() override {
    return next_ < ranges_.size() ? ranges_[next_++] : ContiguousMemoryRange{};
  }

 private:
  const Ranges ranges_;
  size_t next_ = 0;
};

TEST(ScatteredStreamWriterErrorTest, AnEmptyChunkIsNoChunk) {
  uint8_t buffer[4];
  ScriptedDelegate delegate(
      ScriptedDelegate::Ranges{{buffer, buffer}, {buffer, buffer + 4}});
  ScatteredStreamWriter writer(&delegate);
  writer.WriteByte(1);
  EXPECT_EQ(writer.status(), WriteStatus::kOutOfBuffer);
}

TEST(ScatteredStreamWriterErrorTest, ChunksTooSmallForAReservationAreAnError) {
  for (size_t size = 1; size < 4; ++size) {
    uint8_t buffer[3];
    ScriptedDelegate delegate(
        ScriptedDelegate::Ranges{{buffer, buffer + size}});
    ScatteredStreamWriter writer(&delegate);
    EXPECT_EQ(writer.ReserveBytes(4), nullptr);
    EXPECT_EQ(writer.status(), WriteStatus::kOutOfBuffer);
    EXPECT_EQ(writer.written(), 4u);
  }
}

TEST(ScatteredStreamWriterErrorTest, TinyChunksHoldBytesNevertheless) {
  uint8_t buffer[6];
  ScriptedDelegate delegate(ScriptedDelegate::Ranges{{buffer, buffer + 1},
                                                     {buffer + 1, buffer + 3},
                                                     {buffer + 3, buffer + 6}});
  ScatteredStreamWriter writer(&delegate);
  writer.WriteBytes(reinterpret_cast<const uint8_t*>("abcdef"), 6);
  EXPECT_TRUE(writer.ok());
  EXPECT_EQ(Hex(buffer, 6), "61 62 63 64 65 66");
}

// While a message is open, it holds the cursor.

TEST(ScatteredStreamWriterMessageTest, AccessorsSeeWhatTheOpenMessageWrites) {
  ChunkedStream stream(8);
  RootMessage<> message;
  message.Reset(&stream.writer);
  message.AppendVarInt(1, 1);
  EXPECT_EQ(stream.writer.written(), 2u);
  EXPECT_EQ(stream.writer.bytes_available(), 6u);
  EXPECT_EQ(stream.writer.write_ptr(), stream.writer.cur_range().begin + 2);
  Message* nested = message.BeginNestedMessage<Message>(2);
  EXPECT_EQ(stream.writer.written(), 7u);
  nested->AppendVarInt(1, 1);
  EXPECT_EQ(stream.writer.written(), 9u);
  EXPECT_EQ(stream.writer.written_previously(), 8u);
}

TEST(ScatteredStreamWriterMessageTest, OwnWritePtrIsPastAllWhileOneIsOpen) {
  ChunkedStream stream(8);
  stream.writer.WriteByte(0xff);
  EXPECT_EQ(stream.writer.own_write_ptr(), stream.writer.write_ptr());
  RootMessage<> message;
  message.Reset(&stream.writer);
  message.AppendVarInt(1, 1);
  EXPECT_GT(reinterpret_cast<uintptr_t>(stream.writer.own_write_ptr()),
            reinterpret_cast<uintptr_t>(stream.writer.cur_range().end));
  message.Finalize();
  EXPECT_EQ(stream.writer.own_write_ptr(), stream.writer.cur_range().begin + 3);
}

TEST(ScatteredStreamWriterMessageTest, RawWritesCountAsTheOpenMessages) {
  for (size_t chunk_size : {4u, 5u, 7u, 8u, 64u}) {
    ChunkedStream stream(chunk_size);
    RootMessage<> message;
    message.Reset(&stream.writer);
    message.AppendVarInt(1, 1);
    Message* nested = message.BeginNestedMessage<Message>(2);
    nested->AppendVarInt(1, 2);
    stream.writer.WriteByte(0x10);
    stream.Write("03");
    nested->AppendVarInt(3, 4);
    *stream.writer.ReserveBytes(1) = 0x20;
    *stream.writer.ReserveBytes(1) = 0x05;
    message.AppendVarInt(5, 6);
    stream.Write("30 07");
    EXPECT_EQ(message.Finalize(), stream.delegate.Bytes().size());
    const bool in_one_chunk = chunk_size == 64;
    EXPECT_EQ(stream.Bytes(), std::string("08 01 12 ") +
                                  (in_one_chunk ? "08" : "88 80 80 00") +
                                  " 08 02 10 03 18 04 20 05 28 06 30 07");
    EXPECT_EQ(stream.delegate.Complaints(), "");
  }
}

TEST(ScatteredStreamWriterMessageTest, RewindIsTheOpenMessages) {
  ChunkedStream stream(64);
  RootMessage<> message;
  message.Reset(&stream.writer);
  Message* nested = message.BeginNestedMessage<Message>(1);
  nested->AppendVarInt(1, 1);
  nested->AppendVarInt(2, 2);
  stream.writer.Rewind(2, 2);
  nested->AppendVarInt(3, 3);
  EXPECT_EQ(message.Finalize(), 6u);
  EXPECT_EQ(stream.Bytes(), "0a 04 10 02 18 03");
}

TEST(ScatteredStreamWriterMessageTest, ExtendMovesTheOpenMessagesOn) {
  ChunkedStream stream(16);
  RootMessage<> message;
  message.Reset(&stream.writer);
  Message* nested = message.BeginNestedMessage<Message>(1);
  nested->AppendVarInt(1, 1);
  stream.writer.Extend();
  nested->AppendVarInt(2, 2);
  EXPECT_EQ(message.Finalize(), 9u);
  EXPECT_THAT(stream.Chunks(), ElementsAre("0a 84 80 80 00 08 01", "10 02"));
}

TEST(ScatteredStreamWriterMessageTest, ResetMovesTheOpenMessagesOn) {
  ChunkedStream stream(16);
  uint8_t buffer[16];
  RootMessage<> message;
  message.Reset(&stream.writer);
  Message* nested = message.BeginNestedMessage<Message>(1);
  nested->AppendVarInt(1, 1);
  stream.writer.Reset({buffer, buffer + sizeof(buffer)});
  nested->AppendVarInt(2, 2);
  message.AppendVarInt(3, 3);
  EXPECT_EQ(message.Finalize(), 11u);
  EXPECT_EQ(Hex(stream.delegate.CurrentChunk().substr(0, 7)),
            "0a 84 80 80 00 08 01");
  EXPECT_EQ(Hex(buffer, 4), "10 02 18 03");
}

TEST(ScatteredStreamWriterMessageTest, ResetAfterAnErrorClosesTheOpenMessage) {
  ChunkedStream stream(8, 1);
  RootMessage<> message;
  message.Reset(&stream.writer);
  Message* nested = message.BeginNestedMessage<Message>(1);
  nested->AppendFixed(1, uint64_t{0});
  EXPECT_FALSE(stream.writer.ok());
  uint8_t buffer[16] = {};
  stream.writer.Reset({buffer, buffer + sizeof(buffer)});
  EXPECT_TRUE(stream.writer.ok());
  EXPECT_TRUE(message.is_finalized());
  EXPECT_TRUE(nested->is_finalized());
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_EQ(Hex(buffer, 4), "00 00 00 00");

  RootMessage<> next;
  next.Reset(&stream.writer);
  next.AppendVarInt(1, 1);
  EXPECT_EQ(next.Finalize(), 2u);
  EXPECT_EQ(Hex(buffer, 4), "08 01 00 00");
}

// Returns the size field of an open message: one byte, or four on processors
// without inline encoding.
std::string OpenSize() {
  return internal::kInlineEncodingMask == 0 ? "00 00 00 00" : "00";
}

TEST(ScatteredStreamWriterTest, TheFastLimitIsWhereSixteenBytesStillFit) {
  uint8_t buffer[80];
  ScatteredStreamWriter writer(nullptr, {buffer, buffer + 40});
  const auto limit_before = [](const uint8_t* end) {
    return (reinterpret_cast<uintptr_t>(end) - 15) &
           internal::kInlineEncodingMask;
  };
  EXPECT_EQ(writer.fast_limit(), limit_before(buffer + 40));
  for (int i = 0; i < 2; ++i) {  // The first Reset() takes another path.
    writer.Reset({buffer + 40, buffer + 80});
    EXPECT_EQ(writer.fast_limit(), limit_before(buffer + 80));
  }
}

TEST(ScatteredStreamWriterMessageTest, ANewRootClosesTheOneThatWasOpen) {
  ChunkedStream stream(64);
  RootMessage<> first;
  first.Reset(&stream.writer);
  first.AppendVarInt(1, 1);
  Message* nested = first.BeginNestedMessage<Message>(2);
  nested->AppendVarInt(3, 3);
  RootMessage<> second;
  second.Reset(&stream.writer);
  second.AppendVarInt(4, 4);
  EXPECT_TRUE(first.is_finalized());
  EXPECT_TRUE(nested->is_finalized());
  EXPECT_MISTAKE(first.AppendVarInt(5, 5), "sealed");
  EXPECT_MISTAKE(nested->AppendVarInt(5, 5), "sealed");
  EXPECT_EQ(second.Finalize(), 2u);
  // The size of the interrupted message is not known.
  EXPECT_EQ(first.Finalize(), 0u);
  EXPECT_EQ(stream.Bytes(), "08 01 12 " + OpenSize() + " 18 03 20 04");
}

TEST(ScatteredStreamWriterMessageTest, MessagesFollowEachOther) {
  ChunkedStream stream(6);
  RootMessage<> message;
  for (uint32_t i = 1; i <= 3; ++i) {
    message.Reset(&stream.writer);
    message.AppendVarInt(i, i);
    EXPECT_EQ(message.Finalize(), 2u);
  }
  EXPECT_THAT(stream.Chunks(), ElementsAre("08 01 10 02 18 03"));
}

TEST(ScatteredStreamWriterMessageTest, TheWriterMayDieBeforeTheMessage) {
  for (size_t chunk_size : {4u, 64u}) {
    ChunkedDelegate delegate(chunk_size);
    RootMessage<> message;
    Message* nested;
    {
      ScatteredStreamWriter writer(&delegate);
      delegate.set_writer(&writer);
      message.Reset(&writer);
      message.AppendString(1, std::string("abcdefgh"));
      nested = message.BeginNestedMessage<Message>(2);
      nested->AppendVarInt(1, 1);
    }
    EXPECT_TRUE(message.is_finalized());
    EXPECT_TRUE(nested->is_finalized());
    EXPECT_EQ(message.nested_message(), nullptr);
    EXPECT_MISTAKE(message.AppendVarInt(1, 1), "sealed");
    EXPECT_MISTAKE(nested->AppendVarInt(1, 1), "sealed");
    EXPECT_MISTAKE(message.BeginNestedMessage<Message>(1), "sealed");
    EXPECT_EQ(message.Finalize(), 0u) << "chunks of " << chunk_size;
    EXPECT_EQ(nested->Finalize(), 0u);
  }
}

TEST(ScatteredStreamWriterMessageTest, TheMessageMayDieBeforeTheWriter) {
  ChunkedStream stream(64);
  {
    RootMessage<> message;
    message.Reset(&stream.writer);
    message.AppendVarInt(1, 1);
    message.BeginNestedMessage<Message>(2)->AppendVarInt(3, 3);
  }
  const std::string bytes = "08 01 12 " + OpenSize() + " 18 03";
  EXPECT_EQ(stream.writer.written(), (bytes.size() + 1) / 3);
  stream.Write("aa");
  EXPECT_EQ(stream.Bytes(), bytes + " aa");
}

TEST(ScatteredStreamWriterMessageTest, TheChunkMayDieBeforeAnOpenMessage) {
  ChunkedDelegate delegate(std::vector<size_t>{64});
  auto chunk = std::make_unique<uint8_t[]>(64);
  ScatteredStreamWriter writer(&delegate, {chunk.get(), chunk.get() + 64});
  RootMessage<> message(&writer);
  message.BeginNestedMessage<Message>(2)->AppendVarInt(3, 3);
  // AddressSanitizer checks that the chunk is not touched afterwards.
  chunk.reset();
}

TEST(ScatteredStreamWriterMessageTest, AMessageMovesToAnotherWriter) {
  ChunkedStream first(64);
  ChunkedStream second(64);
  RootMessage<> message;
  message.Reset(&first.writer);
  message.AppendVarInt(1, 1);
  message.Reset(&second.writer);
  message.AppendVarInt(2, 2);
  first.Write("aa");
  EXPECT_EQ(first.writer.written(), 3u);
  message.AppendVarInt(3, 3);
  EXPECT_EQ(message.Finalize(), 4u);
  EXPECT_EQ(Hex(first.delegate.Bytes()), "08 01 aa");
  EXPECT_EQ(Hex(second.delegate.Bytes()), "10 02 18 03");
}

}  // namespace
}  // namespace protozero
