// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Many writers, little memory, a service that takes its time. Under the thread
// sanitizer, too.

#include <stdint.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "test/tracing/fake_service.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;

constexpr size_t kNumThreads = 8;
constexpr size_t kPageSize = 4096;
constexpr size_t kNumPages = 4;

struct Written {
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint64_t packets_lost = 0;
  uint64_t bytes_lost = 0;
  WriterID writer_id = 0;
};

// Sizes from 2 to a few chunks. Returns how many bytes were written.
size_t WritePacket(TraceWriter* writer, uint32_t number, bool is_nested) {
  MessageHandle<Message> packet = writer->NewTracePacket();
  packet->AppendVarInt(1, number);
  std::string payload(number % 97 == 0 ? 5000 : number % 61,
                      static_cast<char>('a' + number % 26));
  if (is_nested && number % 3 == 0) {
    Message* nested = packet->BeginNestedMessage<Message>(3);
    nested->AppendVarInt(1, number);
    nested->AppendString(2, payload);
  } else {
    packet->AppendString(2, payload);
  }
  return packet->Finalize();
}

// What a packet holds is what WritePacket() was to put there. Returns the
// number.
uint32_t CheckPacket(std::string_view bytes) {
  ProtoDecoder packet(bytes.data(), bytes.size());
  const uint32_t number = packet.FindField(1).as_uint32();
  Field nested_field = packet.FindField(3);
  std::string payload;
  if (nested_field.valid()) {
    ProtoDecoder nested(nested_field.as_bytes());
    EXPECT_EQ(nested.FindField(1).as_uint32(), number);
    payload = nested.FindField(2).as_std_string();
  } else {
    payload = packet.FindField(2).as_std_string();
  }
  EXPECT_EQ(payload, std::string(number % 97 == 0 ? 5000 : number % 61,
                                 static_cast<char>('a' + number % 26)));
  return number;
}

class TraceWriterThreadsTest : public testing::TestWithParam<ABI::PageLayout> {
 protected:
  TraceWriterThreadsTest()
      : memory_(kNumPages * kPageSize), service_(memory_, kPageSize) {
    SharedMemoryArbiter::Options options;
    options.page_layout = GetParam();
    // Not to be reached, however slow the machine is.
    options.stall_timeout_ms = 600 * 1000;
    arbiter_ = std::make_unique<SharedMemoryArbiter>(
        memory_.start(), memory_.size(), kPageSize, &service_, options);
  }

  // Each thread writes |num_packets|, while this one drains.
  void Write(BufferExhaustedPolicy policy,
             uint32_t num_packets,
             bool are_nested) {
    written_.resize(kNumThreads);
    std::atomic<size_t> running{kNumThreads};
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kNumThreads; ++i) {
      threads.emplace_back([&, i] {
        Written& written = written_[i];
        std::unique_ptr<TraceWriter> writer =
            arbiter_->CreateTraceWriter(BufferID{1}, policy);
        for (uint32_t number = 1; number <= num_packets; ++number) {
          written.bytes += WritePacket(writer.get(), number, are_nested);
          ++written.packets;
          if (number % 256 == 0)
            writer->ReturnChunk();
        }
        written.writer_id = writer->writer_id();
        written.packets_lost = writer->packets_lost();
        written.bytes_lost = writer->bytes_lost();
        writer.reset();
        --running;
      });
    }
    while (running > 0) {
      service_.DrainOne();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    for (std::thread& thread : threads)
      thread.join();
    service_.DrainAll();
    EXPECT_EQ(service_.complaints(), "");
    for (size_t page = 0; page < kNumPages; ++page)
      EXPECT_EQ(arbiter_->shmem_abi().GetPageWord(page), 0u);
  }

  SharedMemory memory_;
  FakeService service_;
  std::unique_ptr<SharedMemoryArbiter> arbiter_;
  std::vector<Written> written_;
};

TEST_P(TraceWriterThreadsTest, StallLosesNothing) {
  constexpr uint32_t kNumPackets = 2000;
  Write(BufferExhaustedPolicy::kStall, kNumPackets, true);
  for (const Written& written : written_) {
    EXPECT_EQ(written.packets_lost, 0u);
    uint32_t next = 1;
    for (const FakeService::Packet& packet :
         service_.sequences().at(written.writer_id)->packets) {
      EXPECT_FALSE(packet.previous_packet_dropped);
      ASSERT_EQ(CheckPacket(packet.bytes), next++);
    }
    EXPECT_EQ(next, kNumPackets + 1);
  }
}

TEST_P(TraceWriterThreadsTest, DropIsCountedExactly) {
  // Without nested messages, whose sizes may take one byte or four.
  Write(BufferExhaustedPolicy::kDrop, 20000, false);
  uint64_t packets_lost = 0;
  for (const Written& written : written_) {
    packets_lost += written.packets_lost;
    uint64_t packets = 0;
    uint64_t bytes = 0;
    uint32_t last = 0;
    if (service_.sequences().count(written.writer_id) != 0) {
      for (const FakeService::Packet& packet :
           service_.sequences().at(written.writer_id)->packets) {
        const uint32_t number = CheckPacket(packet.bytes);
        ASSERT_GT(number, last);
        const bool is_marked =
            ProtoDecoder(packet.bytes.data(), packet.bytes.size())
                .FindField(TraceWriter::kPreviousPacketDroppedFieldId)
                .valid();
        ASSERT_EQ(is_marked, number != last + 1);
        last = number;
        ++packets;
        bytes += packet.bytes.size();
      }
    }
    EXPECT_EQ(written.packets, packets + written.packets_lost);
    EXPECT_EQ(written.bytes, bytes + written.bytes_lost);
  }
  EXPECT_GT(packets_lost, 0u);
}

TEST_P(TraceWriterThreadsTest, DroppedPacketsMayBeNested) {
  Write(BufferExhaustedPolicy::kDrop, 5000, true);
  for (const Written& written : written_) {
    const std::vector<std::string> packets =
        service_.PacketsOf(written.writer_id);
    EXPECT_EQ(written.packets, packets.size() + written.packets_lost);
    uint32_t last = 0;
    for (const std::string& packet : packets) {
      const uint32_t number = CheckPacket(packet);
      ASSERT_GT(number, last);
      last = number;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts,
    TraceWriterThreadsTest,
    testing::Values(ABI::kPageDiv1, ABI::kPageDiv4, ABI::kPageDiv14),
    [](const testing::TestParamInfo<ABI::PageLayout>& i) {
      return "Div" + std::to_string(ABI::kNumChunksForLayout[i.param]);
    });

// Commits are made by all threads and the owner at once, and none is lost.
TEST(SharedMemoryArbiterThreadsTest, FlushReturnsWhenTheServiceHasIt) {
  SharedMemory memory(64 * kPageSize);
  FakeService service(memory, kPageSize);
  service.DrainOnCommit();
  SharedMemoryArbiter arbiter(memory.start(), memory.size(), kPageSize,
                              &service);
  std::atomic<size_t> running{kNumThreads};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kNumThreads; ++i) {
    threads.emplace_back([&] {
      auto writer = arbiter.CreateTraceWriter(BufferID{1});
      for (uint32_t number = 1; number <= 500; ++number) {
        const size_t before = service.num_chunks_of(writer->writer_id());
        WritePacket(writer.get(), 1, false);
        writer->Flush();
        ASSERT_EQ(service.num_chunks_of(writer->writer_id()), before + 1);
      }
      --running;
    });
  }
  while (running > 0) {
    arbiter.FlushPendingCommitDataRequests();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads)
    thread.join();
}

}  // namespace
}  // namespace protozero::test
