// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stdint.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/buffer_allocator.h"
#include "protozero/delimited_writer.h"
#include "protozero/message.h"
#include "protozero/proto_utils.h"
#include "protozero/root_message.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/static_buffer.h"
#include "protozero/string_buffer.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"
#include "test/testing/message_tree.h"
#include "test/testing/tree_parser.h"

namespace protozero {
namespace {

using test::BytesField;
using test::Field;
using test::Hex;
using test::MessageTree;
using test::NestedField;
using testing::ElementsAre;
using testing::IsEmpty;
using Kind = Field::Kind;

std::vector<std::string> PiecesOf(HeapBuffered<>* message) {
  std::vector<std::string> pieces;
  for (const ContiguousMemoryRange& range : message->GetRanges())
    pieces.push_back(Hex(range.begin, range.size()));
  return pieces;
}

std::string Joined(const std::vector<ContiguousMemoryRange>& ranges) {
  std::string bytes;
  for (const ContiguousMemoryRange& range : ranges)
    bytes.append(range.begin, range.end);
  return bytes;
}

// Looks whether each way to get at the bytes yields the same as GetRanges(),
// which it returns.
std::string BytesInEveryForm(HeapBuffered<>* message) {
  const std::string bytes = Joined(message->GetRanges());
  EXPECT_TRUE(message->SerializeAsString() == bytes);
  const std::vector<uint8_t> array = message->SerializeAsArray();
  EXPECT_TRUE(std::string(array.begin(), array.end()) == bytes);
  const auto [unique, size] = message->SerializeAsUniquePtr();
  EXPECT_TRUE(std::string(unique.get(), unique.get() + size) == bytes);
  std::string appended = "before";
  EXPECT_TRUE(message->AppendToString(&appended));
  EXPECT_TRUE(appended == "before" + bytes);
  EXPECT_TRUE(message->SerializeToString(&appended));
  EXPECT_TRUE(appended == bytes);
  std::string sliced;
  for (const ScatteredHeapBuffer::Slice& slice : message->GetSlices()) {
    EXPECT_LE(slice.unused_bytes(), slice.size());
    sliced.append(slice.GetUsedRange().begin, slice.GetUsedRange().end);
  }
  EXPECT_TRUE(sliced == bytes);
  return bytes;
}

// The heap, with a count of the allocations, which may be limited.
class CountingAllocator final : public BufferAllocator {
 public:
  void* Allocate(size_t size) override {
    if (count_ == limit_)
      return nullptr;
    ++count_;
    bytes_ += size;
    return ::operator new(size);
  }
  void Deallocate(void* memory, size_t) override { ::operator delete(memory); }
  size_t count() const { return count_; }
  size_t bytes() const { return bytes_; }
  void set_limit(size_t limit) { limit_ = limit; }

 private:
  size_t count_ = 0;
  size_t bytes_ = 0;
  size_t limit_ = SIZE_MAX;
};

TEST(BorrowedBytesTest, AreARangeOfTheirOwn) {
  const std::string payload = "abc";
  HeapBuffered<> message;
  for (int i = 0; i < 3; ++i) {
    message->AppendVarInt(1, 1);
    message->AppendBorrowedBytes(2, payload.data(), payload.size());
    message->AppendVarInt(3, 3);
    EXPECT_THAT(PiecesOf(&message),
                ElementsAre("08 01 12 03", "61 62 63", "18 03"));
    EXPECT_EQ(reinterpret_cast<const char*>(message.GetRanges()[1].begin),
              payload.data());
    EXPECT_EQ(Hex(BytesInEveryForm(&message)), "08 01 12 03 61 62 63 18 03");
    message.Reset();
    EXPECT_TRUE(message.empty());
    EXPECT_THAT(message.GetRanges(), IsEmpty());
    message.Reset();
  }
}

// The bytes are looked at when the message is used, and not any more once it is
// reset.
TEST(BorrowedBytesTest, AreReadWhenTheMessageIs) {
  HeapBuffered<> message;
  auto payload = std::make_unique<std::string>(1000, 'a');
  message->AppendBorrowedBytes(1, payload->data(), payload->size());
  message->Finalize();
  payload->assign(1000, 'b');
  EXPECT_EQ(message.SerializeAsString().substr(3), std::string(1000, 'b'));
  payload.reset();
  message.Reset();
  message->AppendVarInt(1, 1);
  EXPECT_EQ(Hex(BytesInEveryForm(&message)), "08 01");
}

TEST(BorrowedBytesTest, LeaveNoEmptyRange) {
  HeapBuffered<> message;
  message->AppendBorrowedBytes(1, "abc", 3);
  message->AppendBorrowedBytes(2, nullptr, 0);
  message->AppendBorrowedBytes(3, "", 0);
  message->AppendBorrowedBytes(4, "de", 2);
  EXPECT_THAT(PiecesOf(&message),
              ElementsAre("0a 03", "61 62 63", "12 00 1a 00 22 02", "64 65"));
}

TEST(BorrowedBytesTest, CountInTheSizesOfTheMessagesAround) {
  const std::string payload(300, 'x');
  for (size_t slice : {4u, 16u, 70u, 100u, 1024u, 5000u}) {
    HeapBuffered<> message(slice, slice);
    for (int i = 0; i < 3; ++i) {
      Message* child = message->BeginNestedMessage<Message>(1);
      child->AppendVarInt(1, 1);
      Message* grandchild = child->BeginNestedMessage<Message>(2);
      Message* leaf = grandchild->BeginNestedMessage<Message>(3);
      leaf->AppendBorrowedBytes(4, payload.data(), payload.size());
      leaf->AppendVarInt(5, 5);
      grandchild->AppendBorrowedBytes(6, payload.data(), 200);
      child->AppendVarInt(7, 7);
      message->AppendVarInt(8, 8);
      const MessageTree leaf_tree = {BytesField(4, payload),
                                     NumberField(Kind::kUnsigned, 5, 5)};
      const MessageTree grandchild_tree = {NestedField(3, leaf_tree),
                                           BytesField(6, payload.substr(100))};
      EXPECT_TRUE(
          test::ParsesAs(BytesInEveryForm(&message),
                         {NestedField(1, {NumberField(Kind::kUnsigned, 1, 1),
                                          NestedField(2, grandchild_tree),
                                          NumberField(Kind::kUnsigned, 7, 7)}),
                          NumberField(Kind::kUnsigned, 8, 8)}))
          << slice;
      EXPECT_EQ(message->Finalize(), message.SerializeAsString().size());
      message.Reset();
    }
  }
}

// A part of a slice may become too short for another split.
TEST(BorrowedBytesTest, TakeTheNextSliceIfThereIsNoRoom) {
  const std::string payload(500, 'x');
  for (size_t slice : {64u, 65u, 100u, 127u, 1024u}) {
    for (size_t before = 0; before < slice; ++before) {
      HeapBuffered<> message(slice, slice);
      for (size_t i = 0; i < before; ++i)
        message->AppendRawProtoBytes("\x08", 1);
      message->AppendBorrowedBytes(1, payload.data(), payload.size());
      message->AppendBorrowedBytes(2, payload.data(), payload.size());
      const std::vector<ContiguousMemoryRange> ranges = message.GetRanges();
      size_t borrowed = 0;
      for (const ContiguousMemoryRange& range : ranges)
        borrowed += reinterpret_cast<char*>(range.begin) == payload.data();
      ASSERT_EQ(borrowed, 2u) << slice << ' ' << before;
      ASSERT_EQ(BytesInEveryForm(&message), std::string(before, '\x08') +
                                                "\x0a\xf4\x03" + payload +
                                                "\x12\xf4\x03" + payload);
    }
  }
}

TEST(BorrowedBytesTest, AreCopiedIfSlicesAreShort) {
  const std::string payload(500, 'x');
  for (size_t slice : {4u, 16u, 55u}) {
    HeapBuffered<> message(slice, slice);
    message->AppendBorrowedBytes(1, payload.data(), payload.size());
    for (const ContiguousMemoryRange& range : message.GetRanges())
      EXPECT_NE(reinterpret_cast<char*>(range.begin), payload.data());
    EXPECT_EQ(BytesInEveryForm(&message), "\x0a\xf4\x03" + payload);
  }
}

TEST(BorrowedBytesTest, TakeNoMemoryAndResetGivesSlicesBack) {
  const std::string payload(100'000, 'x');
  CountingAllocator allocator;
  HeapBuffered<> message(256, 1024, &allocator);
  size_t count = 0;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 20; ++j) {
      message->AppendBorrowedBytes(1, payload.data(), payload.size());
      message->AppendBytes(2, payload.data(), 30);
    }
    EXPECT_EQ(message.SerializeAsString().size(), 20u * (payload.size() + 36));
    count = i == 0 ? allocator.count() : count;
    message.Reset();
    // The slices are whole again.
    message->AppendBytes(1, payload.data(), 200);
    EXPECT_EQ(message.GetRanges().size(), 1u);
    EXPECT_EQ(message.GetSlices()[0].size(), 256u);
    message.Reset();
  }
  EXPECT_LE(count, 4u);
  EXPECT_EQ(allocator.count(), count);
}

TEST(BorrowedBytesTest, Of200000BytesSaveTheSlicesOfACopy) {
  const std::string payload(200'000, 'x');
  CountingAllocator allocator;
  HeapBuffered<> copying(4096, 65536, &allocator);
  copying->AppendBytes(1, payload.data(), payload.size());
  EXPECT_EQ(allocator.count(), 7u);
  EXPECT_GE(allocator.bytes(), payload.size());
  const size_t bytes = allocator.bytes();
  HeapBuffered<> borrowing(4096, 65536, &allocator);
  borrowing->AppendBorrowedBytes(1, payload.data(), payload.size());
  EXPECT_EQ(allocator.count(), 8u);
  EXPECT_LT(allocator.bytes(), bytes + 4200);
  EXPECT_EQ(borrowing.SerializeAsString(), copying.SerializeAsString());
}

TEST(BorrowedBytesTest, ABufferOfItsOwnWriterGivesSlicesBack) {
  ScatteredHeapBuffer buffer(256, 256);
  ScatteredStreamWriter writer(&buffer);
  const std::string payload(100, 'x');
  RootMessage<> message;
  // Nothing says how much of the slice is used.
  message.Reset(&writer);
  message.AppendBorrowedBytes(1, payload.data(), payload.size());
  message.Finalize();
  buffer.set_writer(&writer);
  EXPECT_EQ(buffer.GetRanges().size(), 1u);
  for (int i = 0; i < 3; ++i) {
    buffer.Reset();
    writer.Reset(ContiguousMemoryRange{});
    message.Reset(&writer);
    message.AppendBorrowedBytes(1, payload.data(), payload.size());
    message.AppendVarInt(1, 1);
    message.Finalize();
    EXPECT_EQ(buffer.GetRanges().size(), 3u);
    EXPECT_EQ(Joined(buffer.GetRanges()), "\x0a\x64" + payload + "\x08\x01");
  }
}

TEST(BorrowedBytesTest, WithoutMemoryTheMessageIsLostUntilReset) {
  const std::string payload(1000, 'x');
  CountingAllocator allocator;
  for (size_t limit = 0; limit < 3; ++limit) {
    HeapBuffered<> message(100, 100, &allocator);
    allocator.set_limit(allocator.count() + limit);
    for (int i = 0; i < 3; ++i)
      message->AppendBorrowedBytes(1, payload.data(), payload.size());
    EXPECT_EQ(message.status(), WriteStatus::kOutOfBuffer) << limit;
    EXPECT_THAT(message.GetRanges(), IsEmpty());
    EXPECT_THAT(message.GetSlices(), IsEmpty());
    EXPECT_EQ(message.SerializeAsString(), "");
    allocator.set_limit(SIZE_MAX);
    message.Reset();
    for (int i = 0; i < 3; ++i)
      message->AppendBorrowedBytes(1, payload.data(), payload.size());
    EXPECT_EQ(BytesInEveryForm(&message).size(), 3 * 1003u);
  }
}

TEST(BorrowedBytesTest, ThatAreTooManyAreTheErrorOfAppendBytes) {
  HeapBuffered<> message;
  // Only the size is looked at.
  EXPECT_MISTAKE(
      message->AppendBorrowedBytes(1, "", proto_utils::kMaxMessageLength + 1),
      "split it");
  if (!PROTOZERO_DCHECK_IS_ON) {
    EXPECT_EQ(message.status(), WriteStatus::kMessageTooLong);
  }
  message.Reset();
  message->AppendVarInt(1, 1);
  EXPECT_EQ(Hex(message.SerializeAsString()), "08 01");
}

TEST(BorrowedBytesTest, StayWhenTheirMessageIsRolledBack) {
  HeapBuffered<> message;
  message->BeginNestedMessage<Message>(1)->AppendBorrowedBytes(2, "abc", 3);
  EXPECT_FALSE(message->RollBackNestedMessage());
  EXPECT_EQ(Hex(BytesInEveryForm(&message)), "0a 85 80 80 00 12 03 61 62 63");
}

TEST(BorrowedBytesTest, ArePiecesOfADelimitedStream) {
  const std::string payload(300, 'x');
  std::string stream;
  size_t borrowed = 0;
  DelimitedWriter writer([&](const ContiguousMemoryRange* pieces,
                             size_t count) {
    for (size_t i = 0; i < count; ++i) {
      stream.append(pieces[i].begin, pieces[i].end);
      borrowed += reinterpret_cast<char*>(pieces[i].begin) == payload.data();
    }
    return true;
  });
  HeapBuffered<> message;
  message->AppendBorrowedBytes(1, payload.data(), payload.size());
  EXPECT_TRUE(writer.Write(&message));
  EXPECT_EQ(stream, "\xaf\x02\x0a\xac\x02" + payload);
  EXPECT_EQ(borrowed, 1u);
}

TEST(BorrowedBytesTest, AreCopiedByOtherBuffers) {
  const std::string payload(300, 'x');
  const std::string expected = "\x0a\xac\x02" + payload;
  StackBuffered<Message, 400> stack;
  stack->AppendBorrowedBytes(1, payload.data(), payload.size());
  const size_t size = stack.Finalize();
  EXPECT_EQ(std::string(stack.data(), stack.data() + size), expected);
  std::string string;
  StringBuffered<Message> in_string(&string);
  in_string->AppendBorrowedBytes(1, payload.data(), payload.size());
  in_string.Finalize();
  EXPECT_EQ(string, expected);
}

// A delegate that takes bytes, and goes on in a chunk that a test chooses.
class TakingDelegate : public ScatteredStreamWriter::Delegate {
 public:
  ContiguousMemoryRange GetNewBuffer() override {
    return {memory_, memory_ + 40};
  }
  uint8_t* AnnotatePatch(uint8_t* patch) override {
    ++num_patches;
    return patch;
  }
  ContiguousMemoryRange BorrowBytes(ContiguousMemoryRange bytes) override {
    borrowed = bytes;
    if (on_borrow != nullptr)
      on_borrow->AppendVarInt(1, 1);
    return next;
  }

  ContiguousMemoryRange borrowed = {};
  ContiguousMemoryRange next = {memory_ + 40, memory_ + 60};
  Message* on_borrow = nullptr;
  size_t num_patches = 0;

 private:
  uint8_t memory_[60];
};

TEST(BorrowedBytesTest, GoToAnyDelegateThatTakesThem) {
  const std::string payload(300, 'x');
  TakingDelegate delegate;
  ScatteredStreamWriter writer(&delegate);
  RootMessage<> message(&writer);
  Message* child = message.BeginNestedMessage<Message>(1);
  child->AppendBorrowedBytes(1, payload.data(), payload.size());
  EXPECT_EQ(reinterpret_cast<char*>(delegate.borrowed.begin), payload.data());
  EXPECT_EQ(delegate.borrowed.size(), payload.size());
  EXPECT_EQ(writer.cur_range().begin, delegate.next.begin);
  EXPECT_EQ(delegate.num_patches, 0u);
  EXPECT_EQ(child->Finalize(), 303u);
  EXPECT_EQ(message.Finalize(), 308u);
  EXPECT_EQ(writer.written(), 308u);
}

TEST(BorrowedBytesTest, ADelegateThatReturnsAReversedRangeIsAnError) {
  TakingDelegate delegate;
  std::swap(delegate.next.begin, delegate.next.end);
  ScatteredStreamWriter writer(&delegate);
  RootMessage<> message(&writer);
  message.AppendBorrowedBytes(1, "abc", 3);
  EXPECT_EQ(writer.status(), WriteStatus::kInvalidBuffer);
  EXPECT_EQ(message.Finalize(), 0u);
}

TEST(BorrowedBytesTest, ADelegateMayNotWriteWhenItTakesThem) {
  TakingDelegate delegate;
  ScatteredStreamWriter writer(&delegate);
  RootMessage<> message(&writer);
  delegate.on_borrow = &message;
  EXPECT_MISTAKE(message.AppendBorrowedBytes(1, "abc", 3), "not write to it");
  if (!PROTOZERO_DCHECK_IS_ON) {
    EXPECT_EQ(writer.status(), WriteStatus::kReentered);
  }
}

// Turns fields of bytes into borrowed ones by chance. Nothing is taken back,
// because a message that has borrowed bytes cannot be.
void BorrowSome(std::mt19937_64& random, size_t min_size, MessageTree* tree) {
  for (Field& field : *tree) {
    if (field.kind == Kind::kTakenBack)
      field.kind = Kind::kNested;
    if (field.kind == Kind::kGroupTakenBack)
      field.kind = Kind::kGroup;
    if (field.is_nested())
      BorrowSome(random, min_size, &field.fields);
    if (field.kind == Kind::kReserved || !field.is_bytes())
      continue;
    field.kind = random() % 2 == 0 ? Kind::kBorrowed : Kind::kBytes;
    if (field.kind == Kind::kBorrowed)
      field.bytes.resize(field.bytes.size() + min_size, 'x');
  }
}

void CopyAll(MessageTree* tree) {
  for (Field& field : *tree) {
    if (field.kind == Kind::kBorrowed)
      field.kind = Kind::kBytes;
    CopyAll(&field.fields);
  }
}

MessageTree RandomTree(std::mt19937_64& random, size_t min_size) {
  MessageTree tree =
      test::RandomTree(random, 1 + static_cast<uint32_t>(random() % 8),
                       static_cast<uint32_t>(random() % 6));
  BorrowSome(random, min_size, &tree);
  return tree;
}

// Borrowing changes no byte if slices are large, and the messages around
// borrowed bytes too long for a size of one byte.
TEST(BorrowedBytesTest, RandomMessagesHaveTheBytesOfTheCopyingSetter) {
  HeapBuffered<> borrowing(1 << 20, 1 << 20);
  HeapBuffered<> copying(1 << 20, 1 << 20);
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const MessageTree tree = RandomTree(random, 128);
    MessageTree copied = tree;
    CopyAll(&copied);
    test::WriteTree(tree, borrowing.get());
    test::WriteTree(copied, copying.get());
    ASSERT_TRUE(BytesInEveryForm(&borrowing) == copying.SerializeAsString());
    borrowing.Reset();
    copying.Reset();
  }
}

TEST(BorrowedBytesTest, RandomMessagesInRandomSlicesParse) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const size_t first = size_t{1} << (2 + random() % 9);
    HeapBuffered<> message(first + random() % first, first + random() % 1000);
    // The slices are used again, in other ways.
    for (int repetition = 0; repetition < 4; ++repetition) {
      const MessageTree tree = RandomTree(random, random() % 3);
      test::WriteTree(tree, message.get());
      ASSERT_TRUE(test::ParsesAs(BytesInEveryForm(&message), tree));
      ASSERT_EQ(message->Finalize(), message.SerializeAsString().size());
      message.Reset();
    }
  }
}

}  // namespace
}  // namespace protozero
