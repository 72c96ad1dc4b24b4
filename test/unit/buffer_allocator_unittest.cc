// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/buffer_allocator.h"

#include <stdint.h>
#include <string.h>

#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protozero/pmr_buffer_allocator.h"
#include "protozero/scattered_heap_buffer.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using test::Hex;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kOverhead = ScatteredHeapBuffer::kSliceOverhead;

// The heap, with a record of the requests, and optionally a limit. It checks
// that each block comes back with its size.
class RecordingAllocator final : public BufferAllocator {
 public:
  explicit RecordingAllocator(size_t limit = SIZE_MAX) : limit_(limit) {}
  ~RecordingAllocator() override { EXPECT_THAT(in_use_, IsEmpty()); }

  void* Allocate(size_t size) override {
    if (allocations_.size() >= limit_) {
      ++refusals_;
      return nullptr;
    }
    void* const memory = ::operator new(size);
    memset(memory, 0xaa, size);
    in_use_[memory] = size;
    allocations_.push_back(size);
    return memory;
  }
  void Deallocate(void* memory, size_t size) override {
    const auto it = in_use_.find(memory);
    ASSERT_NE(it, in_use_.end());
    EXPECT_EQ(it->second, size);
    in_use_.erase(it);
    ::operator delete(memory);
  }

  // Returns the sizes of the allocations in their order.
  const std::vector<size_t>& allocations() const { return allocations_; }
  size_t num_in_use() const { return in_use_.size(); }
  size_t refusals() const { return refusals_; }
  void set_limit(size_t limit) { limit_ = limit; }

 private:
  size_t limit_;
  size_t refusals_ = 0;
  std::vector<size_t> allocations_;
  std::map<void*, size_t> in_use_;
};

constexpr char kMessage[] = "08 01 12 05 76 61 6c 75 65";
template <typename T>
void WriteMessage(T* message) {
  message->AppendVarInt(1, 1);
  message->AppendString(2, "value");
}

TEST(BufferAllocatorTest, GivesABufferItsSlices) {
  RecordingAllocator allocator;
  {
    HeapBuffered<> message(16, 32, &allocator);
    EXPECT_TRUE(message.empty());
    EXPECT_THAT(allocator.allocations(), IsEmpty());
    WriteMessage(message.get());
    EXPECT_EQ(Hex(message.SerializeAsArray()), kMessage);
    EXPECT_THAT(allocator.allocations(), ElementsAre(kOverhead + 16));
    message.Reset();
    message->AppendString(3, std::string(60, 'x'));
    EXPECT_EQ(message.SerializeAsArray().size(), 62u);
    EXPECT_THAT(allocator.allocations(),
                ElementsAre(kOverhead + 16, kOverhead + 32, kOverhead + 32));
    message.Reset();
    EXPECT_EQ(allocator.num_in_use(), 3u);
    message->AppendString(3, std::string(60, 'x'));
    EXPECT_EQ(message.SerializeAsArray().size(), 62u);
    EXPECT_EQ(allocator.allocations().size(), 3u);
  }
  EXPECT_EQ(allocator.num_in_use(), 0u);
}

TEST(BufferAllocatorTest, ABufferThatIsNotWrittenToAsksForNothing) {
  RecordingAllocator allocator(0);
  ScatteredHeapBuffer buffer(16, 16, &allocator);
  EXPECT_THAT(buffer.GetSlices(), IsEmpty());
  buffer.Reset();
  EXPECT_EQ(allocator.refusals(), 0u);
}

TEST(BufferAllocatorTest, WithoutMemoryAMessageIsLostUntilThereIsSome) {
  for (size_t limit = 0; limit < 4; ++limit) {
    RecordingAllocator allocator(limit);
    HeapBuffered<> message(16, 16, &allocator);
    message->AppendString(1, std::string(100, 'x'));
    message->BeginNestedMessage<Message>(2)->AppendVarInt(1, 1);
    EXPECT_EQ(message.status(), WriteStatus::kOutOfBuffer);
    EXPECT_THAT(message.SerializeAsArray(), IsEmpty());
    EXPECT_EQ(message.SerializeAsString(), "");
    EXPECT_THAT(message.GetRanges(), IsEmpty());
    EXPECT_EQ(allocator.allocations().size(), limit);
    // The message asks only once.
    EXPECT_EQ(allocator.refusals(), 1u);

    // The memory that the message already has is enough for a smaller message.
    message.Reset();
    EXPECT_TRUE(message.ok());
    WriteMessage(message.get());
    EXPECT_EQ(message.ok(), limit > 0);
    EXPECT_EQ(Hex(message.SerializeAsArray()), limit > 0 ? kMessage : "");

    allocator.set_limit(SIZE_MAX);
    message.Reset();
    message->AppendString(1, std::string(100, 'x'));
    EXPECT_EQ(message.SerializeAsArray().size(), 102u);
  }
}

TEST(RecyclingBufferAllocatorTest, MessagesHaveTheMemoryOfTheOneBefore) {
  RecordingAllocator heap;
  {
    RecyclingBufferAllocator allocator(4096, &heap);
    const uint8_t* start = nullptr;
    for (int i = 0; i < 100; ++i) {
      HeapBuffered<> message(16, 16, &allocator);
      WriteMessage(message.get());
      const std::vector<ContiguousMemoryRange> ranges = message.GetRanges();
      ASSERT_EQ(ranges.size(), 1u);
      if (start == nullptr)
        start = ranges[0].begin;
      ASSERT_EQ(ranges[0].begin, start);
    }
    for (int i = 0; i < 100; ++i) {
      HeapBuffered<> message(16, 16, &allocator);
      WriteMessage(message.get());
      message->AppendString(3, "0123456789");
      ASSERT_EQ(message.GetRanges().size(), 2u);
    }
    EXPECT_THAT(heap.allocations(),
                ElementsAre(kOverhead + 16, kOverhead + 16));
    EXPECT_EQ(allocator.kept_bytes(), 2 * (kOverhead + 16));
  }
  EXPECT_EQ(heap.num_in_use(), 0u);
}

// Messages in chains of callbacks: in each chain, a message begins when the one
// before is gone, while the messages of other chains exist.
TEST(RecyclingBufferAllocatorTest, ChainsTakeOneAllocationEach) {
  RecordingAllocator heap;
  RecyclingBufferAllocator allocator(4096, &heap);
  std::vector<std::unique_ptr<HeapBuffered<>>> chains(10);
  for (int i = 0; i < 100; ++i) {
    for (auto& message : chains) {
      message.reset();
      message = std::make_unique<HeapBuffered<>>(64, 64, &allocator);
      WriteMessage(message->get());
    }
  }
  for (auto& message : chains)
    EXPECT_EQ(Hex(message->SerializeAsArray()), kMessage);
  EXPECT_EQ(heap.allocations().size(), 10u);
}

TEST(RecyclingBufferAllocatorTest, SizesAreToldApart) {
  RecordingAllocator heap;
  RecyclingBufferAllocator allocator(4096, &heap);
  void* const small = allocator.Allocate(32);
  void* const large = allocator.Allocate(64);
  allocator.Deallocate(large, 64);
  allocator.Deallocate(small, 32);
  EXPECT_EQ(allocator.kept_bytes(), 96u);
  EXPECT_EQ(allocator.Allocate(64), large);
  void* const other = allocator.Allocate(33);
  EXPECT_NE(other, small);
  EXPECT_EQ(allocator.Allocate(32), small);
  EXPECT_EQ(allocator.kept_bytes(), 0u);
  EXPECT_EQ(heap.allocations().size(), 3u);
  allocator.Deallocate(small, 32);
  allocator.Deallocate(large, 64);
  allocator.Deallocate(other, 33);
}

TEST(RecyclingBufferAllocatorTest, KeepsNoMoreThanItMay) {
  RecordingAllocator heap;
  RecyclingBufferAllocator allocator(100, &heap);
  void* const first = allocator.Allocate(60);
  void* const second = allocator.Allocate(60);
  void* const third = allocator.Allocate(40);
  void* const tiny = allocator.Allocate(1);
  allocator.Deallocate(first, 60);
  allocator.Deallocate(second, 60);
  EXPECT_EQ(allocator.kept_bytes(), 60u);
  EXPECT_EQ(heap.num_in_use(), 3u);
  allocator.Deallocate(third, 40);
  EXPECT_EQ(allocator.kept_bytes(), 100u);
  // A block of one byte has no room for the list of kept blocks.
  allocator.Deallocate(tiny, 1);
  EXPECT_EQ(allocator.kept_bytes(), 100u);
  EXPECT_EQ(heap.num_in_use(), 2u);
}

TEST(RecyclingBufferAllocatorTest, SaysThatThereIsNoMore) {
  RecordingAllocator heap(1);
  RecyclingBufferAllocator allocator(4096, &heap);
  {
    HeapBuffered<> message(16, 16, &allocator);
    message->AppendString(1, std::string(100, 'x'));
    EXPECT_EQ(message.status(), WriteStatus::kOutOfBuffer);
  }
  HeapBuffered<> message(16, 16, &allocator);
  WriteMessage(message.get());
  EXPECT_EQ(Hex(message.SerializeAsArray()), kMessage);
}

TEST(PmrBufferAllocatorTest, TakesMemoryFromAResource) {
  alignas(16) uint8_t memory[256];
  std::pmr::monotonic_buffer_resource resource(
      memory, sizeof(memory), std::pmr::null_memory_resource());
  PmrBufferAllocator allocator(&resource);
  HeapBuffered<> message(64, 64, &allocator);
  WriteMessage(message.get());
  EXPECT_EQ(Hex(message.SerializeAsArray()), kMessage);
  const uint8_t* const start = message.GetRanges().front().begin;
  EXPECT_GE(start, memory);
  EXPECT_LT(start, memory + sizeof(memory));
}

#if defined(__cpp_exceptions)

TEST(PmrBufferAllocatorTest, WhatAResourceThrowsIsALackOfMemory) {
  alignas(16) uint8_t memory[256];
  std::pmr::monotonic_buffer_resource resource(
      memory, sizeof(memory), std::pmr::null_memory_resource());
  PmrBufferAllocator allocator(&resource);
  HeapBuffered<> message(64, 64, &allocator);
  message->AppendString(1, std::string(1000, 'x'));
  EXPECT_EQ(message.status(), WriteStatus::kOutOfBuffer);
  EXPECT_THAT(message.SerializeAsArray(), IsEmpty());
  message.Reset();
  WriteMessage(message.get());
  EXPECT_EQ(Hex(message.SerializeAsArray()), kMessage);

  class Thrower final : public std::pmr::memory_resource {
    void* do_allocate(size_t, size_t) override { throw 1; }
    void do_deallocate(void*, size_t, size_t) override {}
    bool do_is_equal(const memory_resource& other) const noexcept override {
      return this == &other;
    }
  } thrower;
  PmrBufferAllocator throwing(&thrower);
  EXPECT_EQ(throwing.Allocate(1), nullptr);
}

#endif

}  // namespace
}  // namespace protozero
