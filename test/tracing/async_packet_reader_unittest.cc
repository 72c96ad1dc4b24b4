// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/async_packet_reader.h"

#include <stdint.h>

#include <coroutine>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/in_place_endpoint.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "test/testing/allocation_monitor.h"
#include "test/testing/expect_mistake.h"
#include "test/tracing/fake_service.h"

namespace protozero::test {
namespace {

// A coroutine that runs at once, and stays when it has ended.
class Task {
 public:
  struct promise_type {
    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  explicit Task(std::coroutine_handle<promise_type> coroutine)
      : coroutine_(coroutine) {}
  Task(Task&& other) noexcept
      : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  ~Task() { Destroy(); }

  void Destroy() {
    if (coroutine_)
      std::exchange(coroutine_, nullptr).destroy();
  }
  bool is_done() const { return coroutine_.done(); }

 private:
  std::coroutine_handle<promise_type> coroutine_;
};

class AsyncPacketReaderTest : public testing::Test {
 protected:
  AsyncPacketReaderTest()
      : memory_(4 * kPageSize),
        endpoint_(memory_.start(), memory_.size(), kPageSize),
        arbiter_(memory_.start(), memory_.size(), kPageSize, &endpoint_),
        writer_(arbiter_.CreateTraceWriter(1)),
        reader_(std::make_unique<AsyncPacketReader>(arbiter_.shmem_abi())) {}

  void Write(uint32_t number) {
    writer_->NewTracePacket()->AppendVarInt(1, number);
  }

  Task ReadAll() {
    while (const PacketReader::Packet* packet = co_await reader_->Next()) {
      numbers_ +=
          std::to_string(ProtoDecoder(packet->bytes).FindField(1).as_uint32()) +
          " ";
    }
    numbers_ += "end";
  }

  Task Count() {
    // This is a declaration because gcc 12 stores the value of another
    // condition over the beginning of the coroutine's frame.
    while ([[maybe_unused]] const auto* packet = co_await reader_->Next())
      ++count_;
  }

  SharedMemory memory_;
  InPlaceEndpoint endpoint_;
  SharedMemoryArbiter arbiter_;
  std::unique_ptr<TraceWriter> writer_;
  std::unique_ptr<AsyncPacketReader> reader_;
  std::string numbers_;
  size_t count_ = 0;
};

TEST_F(AsyncPacketReaderTest, PollResumesWhenThereIsAPacket) {
  Write(1);
  const Task task = ReadAll();
  EXPECT_EQ(numbers_, "1 ");
  EXPECT_FALSE(reader_->Poll());
  Write(2);
  EXPECT_EQ(numbers_, "1 ");
  EXPECT_TRUE(reader_->Poll());
  EXPECT_EQ(numbers_, "1 2 ");
  Write(3);
  Write(4);
  EXPECT_TRUE(reader_->Poll());
  EXPECT_EQ(numbers_, "1 2 3 4 ");
  EXPECT_FALSE(reader_->Poll());
  EXPECT_EQ(reader_->stats().packets_read, 4u);
}

TEST_F(AsyncPacketReaderTest, NobodyIsResumedIfNobodyWaits) {
  Write(1);
  EXPECT_FALSE(reader_->Poll());
  const Task task = ReadAll();
  EXPECT_EQ(numbers_, "1 ");
}

TEST_F(AsyncPacketReaderTest, CloseEndsTheCoroutine) {
  const Task task = ReadAll();
  EXPECT_FALSE(task.is_done());
  Write(1);
  reader_->Close();
  EXPECT_TRUE(task.is_done());
  EXPECT_EQ(numbers_, "end");
  const Task next = ReadAll();
  EXPECT_TRUE(next.is_done());
  EXPECT_FALSE(reader_->Poll());
  reader_->Close();
}

TEST_F(AsyncPacketReaderTest, ACoroutineMayBeDestroyedWhileItWaits) {
  Task task = ReadAll();
  task.Destroy();
  Write(1);
  EXPECT_FALSE(reader_->Poll());
  const Task next = ReadAll();
  EXPECT_EQ(numbers_, "1 ");
  Write(2);
  EXPECT_TRUE(reader_->Poll());
  EXPECT_EQ(numbers_, "1 2 ");
}

TEST_F(AsyncPacketReaderTest, TheReaderMayBeDestroyedBeforeTheCoroutine) {
  Task task = ReadAll();
  reader_.reset();
  EXPECT_FALSE(task.is_done());
  task.Destroy();
}

TEST_F(AsyncPacketReaderTest, ACoroutineMayDestroyTheReader) {
  const auto read_one = [this]() -> Task {
    const PacketReader::Packet* packet = co_await reader_->Next();
    count_ += packet != nullptr;
    reader_.reset();
  };
  {
    const Task task = read_one();
    Write(1);
    EXPECT_TRUE(reader_->Poll());
    EXPECT_TRUE(task.is_done());
    EXPECT_EQ(reader_, nullptr);
    EXPECT_EQ(count_, 1u);
  }
  reader_ = std::make_unique<AsyncPacketReader>(arbiter_.shmem_abi());
  const Task task = read_one();
  while (reader_ != nullptr && reader_->Poll()) {
  }
  if (reader_ != nullptr)
    reader_->Close();
  EXPECT_TRUE(task.is_done());
}

TEST_F(AsyncPacketReaderTest, OneCoroutineWaits) {
  const Task first = Count();
  EXPECT_MISTAKE(Count(), "one coroutine at a time");
  Write(1);
  EXPECT_TRUE(reader_->Poll());
  EXPECT_EQ(count_, 1u);
}

TEST_F(AsyncPacketReaderTest, AllocatesNothingForAPacket) {
  const Task task = Count();
  Write(0);
  EXPECT_TRUE(reader_->Poll());
  AllocationCounter counter;
  for (uint32_t i = 1; i < 10000; ++i) {
    Write(i);
    reader_->Poll();
  }
  EXPECT_EQ(counter.count(), 0u);
  EXPECT_EQ(count_, 10000u);
}

}  // namespace
}  // namespace protozero::test
