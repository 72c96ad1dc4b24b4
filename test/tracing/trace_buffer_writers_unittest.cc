// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests processes that make a TraceBuffer know more writers than it has room
// for, with a victim beside them.

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/tracing/shared_memory_abi.h"
#include "src/tracing/service/trace_buffer.h"

namespace protozero::test {
namespace {

using service::TraceBuffer;
using Policy = BufferFillPolicy;

constexpr int32_t kVictim = 1;

// Returns the memory in use, for anything. It says nothing with sanitizers,
// which have an allocator of their own.
size_t BytesInUse() {
#if defined(__GLIBC__)
  return mallinfo2().uordblks;
#else
  return 0;
#endif
}

class TraceBufferWritersTest : public testing::TestWithParam<Policy> {
 protected:
  static constexpr size_t kSize = 8 << 20;
  // The limit of other memory: the lists of owners, and statistics of writers
  // that have ended.
  static constexpr size_t kSlack = 1 << 20;

  TraceBufferWritersTest() : in_use_at_first_(BytesInUse()) {
    buffer_.emplace(kSize, GetParam());
  }

  // Writes one packet of a byte, from the process of that id and its producer.
  void Write(int32_t pid,
             WriterID writer_id,
             ChunkID chunk_id,
             bool is_scraped = false,
             int32_t producer = 0) {
    ChunkCopy chunk;
    chunk.writer_id = writer_id;
    chunk.chunk_id = chunk_id;
    chunk.num_packets = 1;
    chunk.is_complete = true;
    chunk.is_scraped = is_scraped;
    chunk.payload = {1, static_cast<uint8_t>(pid)};
    buffer_->AddChunk(Producer(pid, producer), chunk);
    CheckBounds();
  }
  static TraceBuffer::ProducerIdentity Producer(int32_t pid,
                                                int32_t producer = 0) {
    return {static_cast<ProducerID>(pid + 1000 * producer), 1000, pid};
  }
  void CheckBounds() {
    ASSERT_LE(buffer_->used_bytes(), kSize);
    ASSERT_LE(buffer_->writer_bytes(), buffer_->max_writer_bytes());
  }
  void CheckMemory() const {
    EXPECT_LE(BytesInUse(),
              in_use_at_first_ + kSize + buffer_->max_writer_bytes() + kSlack);
  }
  void Read(bool is_final = false) {
    buffer_->ReadPackets(SIZE_MAX, is_final,
                         [this](const TraceBuffer::Packet& packet) {
                           ++received_[packet.producer.pid];
                           return true;
                         });
  }
  // Checks that nothing was lost without being counted.
  void CheckLedger() {
    Read(/*is_final=*/true);
    const TraceBufferStats stats = buffer_->stats();
    uint64_t received = 0;
    for (const auto& process : received_)
      received += process.second;
    EXPECT_EQ(stats.packets_read, received);
    EXPECT_EQ(stats.packets_begun, stats.packets_read + stats.lost.total());
  }
  void EndAll(int32_t last_pid, int32_t last_producer = 0) {
    for (int32_t pid = 1; pid <= last_pid; ++pid) {
      for (int32_t producer = 0; producer <= last_producer; ++producer)
        buffer_->EndProducer(Producer(pid, producer).id);
    }
    Read(/*is_final=*/true);
    EXPECT_EQ(buffer_->writer_bytes(), 0u);
    EXPECT_EQ(buffer_->used_bytes(), 0u);
    EXPECT_LE(BytesInUse(), in_use_at_first_ + kSlack);
  }

  const size_t in_use_at_first_;
  std::optional<TraceBuffer> buffer_;
  std::map<int32_t, uint64_t> received_;
};

INSTANTIATE_TEST_SUITE_P(Policies,
                         TraceBufferWritersTest,
                         testing::Values(BufferFillPolicy::kRingBuffer,
                                         BufferFillPolicy::kDiscard));

TEST_P(TraceBufferWritersTest, LiveWritersHaveTheirLimit) {
  // Each process may have a third of the room for 2048 writers.
  constexpr WriterID kVictims = 600;
  for (WriterID writer = 1; writer <= kVictims; ++writer)
    Write(kVictim, writer, 0);
  for (ChunkID chunk = 0; chunk < 2; ++chunk) {
    for (WriterID writer = 1; writer <= 5000; ++writer) {
      for (const int32_t pid : {2, 3})
        Write(pid, writer, chunk);
      if (writer % 1000 == 0)
        Read();
    }
  }
  for (WriterID writer = 1; writer <= kVictims; ++writer)
    Write(kVictim, writer, 1);
  CheckMemory();
  CheckLedger();
  EXPECT_EQ(received_[kVictim], 2u * kVictims);
  std::vector<TraceWriterStats> writers;
  buffer_->AppendWriterStats(&writers);
  for (const TraceWriterStats& writer : writers) {
    if (writer.producer_id == kVictim) {
      EXPECT_EQ(writer.lost.total() + writer.losses, 0u);
    }
  }
  EndAll(3);
}

TEST_P(TraceBufferWritersTest, VictimMayComeLast) {
  for (int32_t producer = 0; producer < 4; ++producer) {
    for (WriterID writer = 1; writer <= 1500; ++writer)
      Write(2, writer, 0, false, producer);
  }
  Read();
  for (ChunkID chunk = 0; chunk < 3; ++chunk) {
    for (WriterID writer = 1; writer <= 1000; ++writer)
      Write(kVictim, writer, chunk);
  }
  CheckMemory();
  CheckLedger();
  EXPECT_EQ(received_[kVictim], 3000u);
  EndAll(2, 3);
}

TEST_P(TraceBufferWritersTest, WritersThatHaveEndedCount) {
  // Their chunks are not read.
  for (WriterID writer = 1; writer <= 5000; ++writer) {
    Write(2, writer, 0);
    buffer_->EndWriter(Producer(2).id, writer);
    CheckBounds();
  }
  CheckMemory();
  Read();
  // These are the first writers, or the last ones.
  EXPECT_GE(received_[2], 2000u);
  CheckLedger();
  EndAll(2);
}

TEST_P(TraceBufferWritersTest, LossesThatAreReportedCount) {
  for (WriterID writer = 1; writer <= 5000; ++writer) {
    CommitDataRequest::WriterLosses losses{};
    losses.writer_id = writer;
    losses.reason = LossReason::kMemoryFull;
    losses.packets = 3;
    buffer_->ReportLosses(Producer(2), losses);
    CheckBounds();
  }
  CheckMemory();
  EXPECT_EQ(buffer_->stats().lost.of(LossReason::kMemoryFull), 15000u);
  CheckLedger();
  EndAll(2);
}

TEST_P(TraceBufferWritersTest, RowsOfChunksCount) {
  buffer_.emplace(4096, GetParam());
  // Other chunks are missing between the scraped ones. The buffer has to
  // remember which are gone.
  for (ChunkID chunk = 0; chunk < 120; chunk += 2) {
    for (WriterID writer = 1; writer <= 250; ++writer)
      Write(2, writer, chunk, /*is_scraped=*/true);
  }
  EXPECT_GT(buffer_->writer_bytes(), buffer_->max_writer_bytes() * 3 / 4);
  CheckMemory();
  EndAll(2);
}

}  // namespace
}  // namespace protozero::test
