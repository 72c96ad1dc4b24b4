// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/scattered_heap_buffer.h"

#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/message_handle.h"
#include "protozero/static_buffer.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using test::Hex;
using testing::ElementsAre;
using testing::IsEmpty;
using Slice = ScatteredHeapBuffer::Slice;

static_assert(!std::is_copy_constructible<HeapBuffered<>>::value);
static_assert(!std::is_move_constructible<HeapBuffered<>>::value);
static_assert(std::is_nothrow_move_constructible<Slice>::value);

TEST(ScatteredHeapBufferSliceTest, BeginsUnused) {
  Slice slice(16);
  EXPECT_EQ(slice.size(), 16u);
  EXPECT_EQ(slice.unused_bytes(), 16u);
  EXPECT_EQ(slice.GetTotalRange().begin, slice.start());
  EXPECT_EQ(slice.GetTotalRange().size(), 16u);
  EXPECT_EQ(slice.GetUsedRange().size(), 0u);
  slice.set_unused_bytes(5);
  EXPECT_EQ(slice.GetUsedRange().begin, slice.start());
  EXPECT_EQ(slice.GetUsedRange().size(), 11u);
  slice.Clear();
  EXPECT_EQ(slice.GetUsedRange().size(), 0u);
  EXPECT_MISTAKE(slice.set_unused_bytes(17), "no more than its size");
  EXPECT_EQ(slice.GetUsedRange().size(), 0u);
}

TEST(ScatteredHeapBufferSliceTest, ADefaultOneIsEmpty) {
  const Slice slice;
  EXPECT_EQ(slice.size(), 0u);
  EXPECT_EQ(slice.GetTotalRange().size(), 0u);
  EXPECT_EQ(slice.GetUsedRange().size(), 0u);
}

// A buffer with a writer, like those in HeapBuffered.
struct HeapStream {
  explicit HeapStream(size_t initial = 128, size_t maximum = 128 * 1024)
      : buffer(initial, maximum), writer(&buffer) {
    buffer.set_writer(&writer);
  }
  void Write(size_t count) {
    for (size_t i = 0; i < count; ++i)
      writer.WriteByte(static_cast<uint8_t>(next_byte++));
  }
  std::vector<size_t> SliceSizes() const {
    std::vector<size_t> sizes;
    for (const Slice& slice : buffer.slices())
      sizes.push_back(slice.size());
    return sizes;
  }

  ScatteredHeapBuffer buffer;
  ScatteredStreamWriter writer;
  size_t next_byte = 0;
};

TEST(ScatteredHeapBufferTest, IsEmptyBeforeTheFirstWrite) {
  HeapStream stream;
  EXPECT_THAT(stream.buffer.slices(), IsEmpty());
  EXPECT_THAT(stream.buffer.GetSlices(), IsEmpty());
  EXPECT_THAT(stream.buffer.GetRanges(), IsEmpty());
  EXPECT_THAT(stream.buffer.StitchSlices(), IsEmpty());
  EXPECT_EQ(stream.buffer.StitchAsUniquePtr().second, 0u);
  EXPECT_EQ(stream.buffer.GetTotalSize(), 0u);
}

TEST(ScatteredHeapBufferTest, SlicesDoubleUpToTheMaximum) {
  HeapStream stream(8, 50);
  stream.Write(8 + 16 + 32 + 50 + 50 + 1);
  EXPECT_THAT(stream.SliceSizes(), ElementsAre(8, 16, 32, 50, 50, 50));
  EXPECT_EQ(stream.buffer.GetTotalSize(), 206u);
}

TEST(ScatteredHeapBufferTest, TheInitialSizeMayExceedTheMaximum) {
  HeapStream stream(64, 16);
  stream.Write(65);
  EXPECT_THAT(stream.SliceSizes(), ElementsAre(64, 64));
}

TEST(ScatteredHeapBufferTest, SlicesHoldAtLeastASizeField) {
  HeapStream stream(0, 0);
  stream.Write(5);
  EXPECT_THAT(stream.SliceSizes(), ElementsAre(4, 4));
}

TEST(ScatteredHeapBufferTest, StitchesTheUsedParts) {
  HeapStream stream(8, 8);
  stream.Write(7);
  stream.writer.ReserveBytes(4);  // This skips a byte.
  stream.writer.set_write_ptr(stream.writer.cur_range().begin);
  stream.Write(3);
  const std::string expected = "00 01 02 03 04 05 06 07 08 09";
  EXPECT_EQ(Hex(stream.buffer.StitchSlices()), expected);
  const auto [bytes, size] = stream.buffer.StitchAsUniquePtr();
  EXPECT_EQ(Hex(bytes.get(), size), expected);
  std::string ranges;
  for (const ContiguousMemoryRange& range : stream.buffer.GetRanges())
    ranges += Hex(range.begin, range.size()) + "|";
  EXPECT_EQ(ranges, "00 01 02 03 04 05 06|07 08 09|");
}

TEST(ScatteredHeapBufferTest, GetSlicesSettlesHowMuchOfTheLastOneIsUsed) {
  HeapStream stream(8, 8);
  stream.Write(11);
  EXPECT_EQ(stream.buffer.GetSlices().back().GetUsedRange().size(), 3u);
  stream.Write(1);
  EXPECT_EQ(stream.buffer.slices().back().GetUsedRange().size(), 3u);
  stream.buffer.AdjustUsedSizeOfCurrentSlice();
  EXPECT_EQ(stream.buffer.slices().back().GetUsedRange().size(), 4u);
}

TEST(ScatteredHeapBufferTest, AWriterThatLeavesASliceEarlyKeepsWhatItWrote) {
  HeapStream stream(8, 8);
  stream.Write(3);
  stream.writer.Reset(ContiguousMemoryRange{});
  EXPECT_EQ(Hex(stream.buffer.StitchSlices()), "00 01 02");
  stream.Write(2);
  EXPECT_EQ(Hex(stream.buffer.StitchSlices()), "00 01 02 03 04");
}

// Names that a schema declares in a message become members of its class. They
// may be any names.
TEST(HeapBufferedTest, NamesInTheMessageDoNotHideItsBase) {
  class HasMessage : public Message {
   public:
    enum Message : int32_t {};
  };
  HeapBuffered<HasMessage> heap;
  heap->AppendTinyVarInt(1, 1);
  EXPECT_EQ(Hex(heap.SerializeAsArray()), "08 01");
  heap.Reset();
  StackBuffered<HasMessage, 8> stack;
  stack->AppendTinyVarInt(1, 1);
  EXPECT_EQ(stack.Finalize(), 2u);
}

TEST(ScatteredHeapBufferTest, ResetReusesTheSlicesInOrder) {
  HeapStream stream(8, 64);
  stream.Write(8 + 16 + 32);
  std::vector<const uint8_t*> starts;
  for (const Slice& slice : stream.buffer.slices())
    starts.push_back(slice.start());
  for (int i = 0; i < 3; ++i) {
    stream.buffer.Reset();
    stream.writer.Reset(ContiguousMemoryRange{});
    EXPECT_THAT(stream.buffer.slices(), IsEmpty());
    EXPECT_EQ(stream.buffer.GetTotalSize(), 0u);
    stream.next_byte = 0x10;
    stream.Write(1);
    EXPECT_EQ(Hex(stream.buffer.StitchSlices()), "10");
    stream.Write(8 + 16 + 32 - 1);
    std::vector<const uint8_t*> reused;
    for (const Slice& slice : stream.buffer.slices())
      reused.push_back(slice.start());
    EXPECT_EQ(reused, starts);
  }
  stream.Write(1);
  EXPECT_THAT(stream.SliceSizes(), ElementsAre(8, 16, 32, 64));
}

TEST(HeapBufferedTest, SerializesInEveryForm) {
  HeapBuffered<> message(8, 8);
  message->AppendString(1, "abcdefgh");
  message->BeginNestedMessage<Message>(2)->AppendVarInt(1, 1);
  const std::string expected =
      "0a 08 61 62 63 64 65 66 67 68 12 82 80 80 00 08 01";
  EXPECT_EQ(Hex(message.SerializeAsArray()), expected);
  EXPECT_EQ(Hex(message.SerializeAsString()), expected);
  const auto [bytes, size] = message.SerializeAsUniquePtr();
  EXPECT_EQ(Hex(bytes.get(), size), expected);
  std::string from_ranges;
  for (const ContiguousMemoryRange& range : message.GetRanges())
    from_ranges.append(range.begin, range.end);
  EXPECT_EQ(Hex(from_ranges), expected);
  std::string from_slices;
  for (const Slice& slice : message.GetSlices()) {
    from_slices.append(slice.GetUsedRange().begin, slice.GetUsedRange().end);
  }
  EXPECT_EQ(Hex(from_slices), expected);
}

TEST(HeapBufferedTest, IsEmptyUntilItIsWrittenTo) {
  HeapBuffered<> message;
  EXPECT_TRUE(message.empty());
  message->AppendVarInt(1, 1);
  EXPECT_FALSE(message.empty());
  message.Reset();
  EXPECT_TRUE(message.empty());
  EXPECT_EQ(message.get(), message.operator->());
}

TEST(HeapBufferedTest, AnEmptyMessageSerializesToNothing) {
  HeapBuffered<> message;
  EXPECT_THAT(message.SerializeAsArray(), IsEmpty());
  EXPECT_EQ(message.SerializeAsString(), "");
  EXPECT_EQ(message.SerializeAsUniquePtr().second, 0u);
  EXPECT_THAT(message.GetRanges(), IsEmpty());
  EXPECT_THAT(message.GetSlices(), IsEmpty());
  EXPECT_TRUE(message.ok());
}

TEST(HeapBufferedTest, ResetBeginsAnewWhateverTheStateWas) {
  HeapBuffered<> message(8, 64);
  for (uint32_t i = 0; i < 20; ++i) {
    // The message is open, has a nested message, or is finalized, by turns.
    message->AppendVarInt(1, i);
    if (i % 3 == 0)
      message->BeginNestedMessage<Message>(2)->AppendString(3, "0123456789");
    if (i % 2 == 0)
      message.SerializeAsArray();
    message.Reset();
    message->AppendVarInt(4, i);
    EXPECT_EQ(message.SerializeAsArray(),
              (std::vector<uint8_t>{0x20, static_cast<uint8_t>(i)}));
    message.Reset();
  }
}

TEST(HeapBufferedTest, AfterAnErrorItSerializesToNothingUntilReset) {
  HeapBuffered<> message(16, 16);
  message->AppendVarInt(1, 1);
  // No slice has that many bytes.
  ScatteredStreamWriter* writer =
      MessageHandle<Message>(message.get()).TakeStreamWriter();
  EXPECT_EQ(writer->ReserveBytes(17), nullptr);
  EXPECT_FALSE(message.ok());
  EXPECT_EQ(message.status(), WriteStatus::kOutOfBuffer);
  EXPECT_THAT(message.SerializeAsArray(), IsEmpty());
  EXPECT_EQ(message.SerializeAsString(), "");
  EXPECT_EQ(message.SerializeAsUniquePtr().first, nullptr);
  EXPECT_EQ(message.SerializeAsUniquePtr().second, 0u);
  EXPECT_THAT(message.GetRanges(), IsEmpty());
  EXPECT_THAT(message.GetSlices(), IsEmpty());
  message.Reset();
  EXPECT_TRUE(message.ok());
  message->AppendVarInt(1, 1);
  EXPECT_EQ(Hex(message.SerializeAsArray()), "08 01");
}

}  // namespace
}  // namespace protozero
