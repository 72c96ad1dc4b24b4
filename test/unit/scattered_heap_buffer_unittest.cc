// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/scattered_heap_buffer.h"

#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/message_handle.h"
#include "protozero/proto_utils.h"
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

// Writes the same message three times, and compares its bytes in every form.
void ExpectEveryForm(HeapBuffered<>* message, const std::string& field) {
  for (int i = 0; i < 3; ++i) {
    message->Reset();
    message->get()->AppendBytes(1, field.data(), field.size());
    Message* const child = message->get()->BeginNestedMessage<Message>(2);
    child->AppendVarInt(1, 1);
    // The first call finalizes the message with an open child in it, or without
    // one, or finds it finalized.
    if (i == 1)
      message->get()->AppendVarInt(3, 1);
    if (i == 2)
      message->get()->Finalize();
    std::string from_ranges;
    const std::string string = message->SerializeAsString();
    for (const ContiguousMemoryRange& range : message->GetRanges())
      from_ranges.append(range.begin, range.end);
    ASSERT_EQ(string, from_ranges);
    ASSERT_GT(string.size(), field.size());
    const size_t header = 1 + proto_utils::VarIntSize(field.size());
    EXPECT_TRUE(string.substr(header, field.size()) == field);
    EXPECT_EQ(message->SerializeAsString(), string);
    const std::vector<uint8_t> array = message->SerializeAsArray();
    EXPECT_EQ(std::string(array.begin(), array.end()), string);
    std::string appended = "before";
    EXPECT_TRUE(message->AppendToString(&appended));
    EXPECT_EQ(appended, "before" + string);
    EXPECT_TRUE(message->AppendToString(&appended));
    EXPECT_EQ(appended, "before" + string + string);
    EXPECT_TRUE(message->SerializeToString(&appended));
    EXPECT_EQ(appended, string);
  }
}

TEST(HeapBufferedTest, SerializesMessagesOfAllSizesFromSlicesOfAllSizes) {
  for (size_t slice : {0u, 4u, 5u, 7u, 16u, 17u, 31u, 64u, 1024u, 1025u}) {
    HeapBuffered<> message(slice, 2 * slice);
    for (size_t size = 0; size < 150; ++size) {
      SCOPED_TRACE(testing::Message() << slice << ' ' << size);
      ExpectEveryForm(&message, std::string(size, 'x'));
      if (testing::Test::HasFailure())
        return;
    }
  }
  HeapBuffered<> message;
  for (size_t size = 1000; size < 1050; ++size)
    ExpectEveryForm(&message, std::string(size, 'x'));
  for (size_t size : {5000u, 5100u, 5117u, 5120u, 20000u, 200000u})
    ExpectEveryForm(&message, std::string(size, 'x'));
}

TEST(HeapBufferedTest, AppendingManyMessagesReallocatesSeldom) {
  HeapBuffered<> message(16, 16);
  message->AppendString(1, std::string(60, 'x'));
  std::string string;
  size_t reallocations = 0;
  for (size_t i = 0; i < 1000; ++i) {
    const size_t capacity = string.capacity();
    ASSERT_TRUE(message.AppendToString(&string));
    reallocations += string.capacity() != capacity;
  }
  EXPECT_EQ(string.size(), 62u * 1000);
  EXPECT_LE(reallocations, 13u);
}

// The first slice is in use from the beginning, but is no slice of an empty
// message.
TEST(HeapBufferedTest, AFirstSliceWithoutAByteCountsOnceItIsLeft) {
  HeapBuffered<> message(16, 16);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(message.empty());
    EXPECT_THAT(message.GetSlices(), IsEmpty());
    message.Reset();
    ScatteredStreamWriter* writer =
        MessageHandle<Message>(message.get()).TakeStreamWriter();
    writer->Extend();
    writer->WriteByte(8);
    writer->WriteByte(1);
    EXPECT_FALSE(message.empty());
    EXPECT_EQ(Hex(message.SerializeAsString()), "08 01");
    EXPECT_EQ(message.GetSlices().size(), 2u);
    message.Reset();
  }
}

TEST(HeapBufferedTest, AWriterThatLeavesTheFirstSliceKeepsWhatItWrote) {
  HeapBuffered<> message;
  for (int i = 0; i < 2; ++i) {
    message->AppendVarInt(1, 1);
    ScatteredStreamWriter* writer =
        MessageHandle<Message>(message.get()).TakeStreamWriter();
    writer->Reset(ContiguousMemoryRange{});
    message->AppendVarInt(2, 2);
    EXPECT_EQ(Hex(message.SerializeAsString()), "08 01 10 02");
    EXPECT_EQ(message.GetSlices().size(), 2u);
    message.Reset();
  }
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
  std::string string = "before";
  EXPECT_TRUE(message.AppendToString(&string));
  EXPECT_EQ(string, "before");
  EXPECT_TRUE(message.SerializeToString(&string));
  EXPECT_EQ(string, "");
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
  std::string string = "before";
  EXPECT_FALSE(message.AppendToString(&string));
  EXPECT_EQ(string, "before");
  EXPECT_FALSE(message.SerializeToString(&string));
  EXPECT_EQ(string, "");
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
