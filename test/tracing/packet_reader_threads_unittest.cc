// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests a reader and writers in threads of their own. If the thread sanitizer
// finds no race, there is none between processes, either.

#include <stdint.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/tracing/in_place_endpoint.h"
#include "protozero/tracing/packet_reader.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "test/testing/flags.h"
#include "test/tracing/fake_service.h"
#include "test/tracing/numbered_packets.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;

// The memory is so small that writers have to wait for the reader, and the
// packets have so many chunks that some are patched late.
TEST(PacketReaderThreadsTest, EveryPacketIsReadOnceAndInOrder) {
  constexpr uint32_t kNumWriters = 3;
  constexpr size_t kNumPages = 6;
  constexpr uint32_t kMaxSize = 6000;
  constexpr uint32_t kPacketsPerStream = 1000;
  const uint32_t num_packets =
      static_cast<uint32_t>(Flag("packets", 20000)) / kNumWriters;
  SharedMemory memory(kNumPages * kPageSize);
  InPlaceEndpoint endpoint(memory.start(), memory.size(), kPageSize);
  SharedMemoryArbiter::Options options;
  options.page_layout = ABI::kPageDiv14;
  options.stall_timeout_ms = 60000;
  SharedMemoryArbiter arbiter(memory.start(), memory.size(), kPageSize,
                              &endpoint, options);
  std::atomic<uint32_t> num_running{kNumWriters};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kNumWriters; ++i) {
    threads.emplace_back([&, i] {
      std::unique_ptr<TraceWriter> writer;
      for (uint32_t k = 0; k < num_packets; ++k) {
        // A stream has one writer. Another writer may have its id afterwards.
        if (k % kPacketsPerStream == 0)
          writer = arbiter.CreateTraceWriter(1, BufferExhaustedPolicy::kStall);
        WriteNumberedPacket(k / kPacketsPerStream * kNumWriters + i,
                            k % kPacketsPerStream, kMaxSize,
                            writer->NewTracePacket().get());
        EXPECT_EQ(writer->packets_lost(), 0u);
      }
      writer.reset();
      --num_running;
    });
  }
  PacketReader reader(arbiter.shmem_abi());
  PacketChecker checker(kMaxSize);
  bool is_running = true;
  while (is_running) {
    // All packets that were written before are read now.
    is_running = num_running != 0;
    reader.ReadPackets([&](const PacketReader::Packet& packet) {
      EXPECT_FALSE(packet.previous_packet_dropped);
      checker.AddPacket(packet.bytes);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(checker.errors(), "");
  EXPECT_EQ(checker.received(), kNumWriters * num_packets);
}

// A thread stores any values in the memory while it is read.
TEST(PacketReaderThreadsTest, NothingThatIsReadHasToStayAsItIs) {
  constexpr size_t kNumPages = 2;
  constexpr uint32_t kNumStores = 300000;
  SharedMemory memory(kNumPages * kPageSize);
  const ABI abi(memory.start(), memory.size(), kPageSize);
  std::atomic<bool> is_running{true};
  std::thread thread([&] {
    std::mt19937 random(3);
    for (uint32_t i = 0; i < kNumStores; ++i) {
      const uint32_t value = static_cast<uint32_t>(random());
      const size_t page = value % kNumPages;
      const uint32_t word =
          5u << ABI::kLayoutShift | (value >> 4 & ABI::kAllChunksMask);
      const ABI::Chunk chunk = abi.GetChunkUnchecked(page, word, random() % 14);
      reinterpret_cast<std::atomic<uint32_t>*>(memory.start() +
                                               page * kPageSize)
          ->store(word, std::memory_order_relaxed);
      ABI::InitChunkForWriting(chunk, static_cast<WriterID>(1 + value % 3),
                               static_cast<ChunkID>(random() % 2),
                               static_cast<uint16_t>(random() & 0x1c07));
      reinterpret_cast<std::atomic<uint8_t>*>(chunk.payload_begin() +
                                              random() % 32)
          ->store(static_cast<uint8_t>(random() % 32),
                  std::memory_order_relaxed);
    }
    is_running = false;
  });
  PacketReader::Options options;
  options.max_packet_size = 500;
  PacketReader reader(abi, options);
  while (is_running) {
    reader.ReadPackets(
        [&](const PacketReader::Packet& packet) {
          EXPECT_LE(packet.bytes.size, options.max_packet_size);
        },
        100);
  }
  thread.join();
}

}  // namespace
}  // namespace protozero::test
