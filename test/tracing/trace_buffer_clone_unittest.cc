// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests copies of a TraceBuffer that goes on while it is copied.

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/tracing/service/trace_buffer.h"

namespace protozero::test {
namespace {

using service::TraceBuffer;
using Policy = BufferFillPolicy;

constexpr size_t kSize = 16 << 10;
constexpr size_t kMaxPayload = 600;
constexpr size_t kMaxCharge = TraceBuffer::kChunkOverhead + kMaxPayload;
constexpr WriterID kNumWriters = 4;

// One step of a producer, of the service, or of the time.
struct Step {
  enum Kind { kAdd, kPatch, kEndWriter, kReport, kRead } kind = kAdd;
  ChunkCopy chunk;
  WriterID writer_id = 0;
  ChunkID chunk_id = 0;
  size_t bytes = 0;
};

// Makes steps that are valid, with chunks that are scraped, come later, need
// patches and continue packets.
class StepMaker {
 public:
  explicit StepMaker(uint32_t seed) : random_(seed) {}

  Step Next() {
    Step step;
    step.writer_id = static_cast<WriterID>(1 + Below(kNumWriters));
    Writer& writer = writers_[step.writer_id];
    time_ms_ += Below(3) == 0;
    const uint32_t kind = Below(100);
    if (kind < 80 || writer.next_id == 0) {
      step.kind = Step::kAdd;
      step.chunk = Chunk(step.writer_id, &writer);
    } else if (kind < 90) {
      step.kind = Step::kPatch;
      step.chunk_id = writer.next_id - 1 - Below(4);
    } else if (kind < 92) {
      step.kind = Step::kEndWriter;
      writer = {};
    } else if (kind < 96) {
      step.kind = Step::kReport;
    } else {
      step.kind = Step::kRead;
      step.bytes = Below(2000);
    }
    return step;
  }
  uint64_t time_ms() const { return time_ms_; }

 private:
  struct Writer {
    ChunkID next_id = 0;
    bool is_open = false;
    // A chunk that was scraped and goes on.
    bool has_scraped = false;
    ChunkCopy scraped;
  };

  uint32_t Below(uint32_t limit) {
    return static_cast<uint32_t>(random_()) % limit;
  }
  static void AddFragment(size_t size, ChunkCopy* chunk) {
    chunk->payload.push_back(static_cast<uint8_t>(size | 0x80));
    chunk->payload.insert(chunk->payload.end(), {0x80, 0x80, 0});
    // A field of |size - 2| bytes.
    chunk->payload.push_back(0x0a);
    chunk->payload.push_back(static_cast<uint8_t>(size - 2));
    chunk->payload.insert(chunk->payload.end(), size - 2, uint8_t{'x'});
    ++chunk->num_packets;
  }
  // Adds a packet that refers to no earlier one.
  static void AddBeginning(ChunkCopy* chunk) {
    chunk->payload.insert(chunk->payload.end(), {2, 0x68, 1});
    ++chunk->num_packets;
  }

  ChunkCopy Chunk(WriterID writer_id, Writer* writer) {
    ChunkCopy chunk;
    if (writer->has_scraped) {
      chunk = writer->scraped;
      writer->has_scraped = false;
      chunk.is_complete = true;
      chunk.is_scraped = false;
    } else {
      chunk.writer_id = writer_id;
      chunk.chunk_id = writer->next_id++;
      chunk.is_complete = true;
      chunk.continues_from_previous = writer->is_open;
      if (!writer->is_open && Below(4) == 0)
        AddBeginning(&chunk);
    }
    chunk.time_ms = time_ms_;
    for (uint32_t i = 1 + Below(4); i != 0; --i)
      AddFragment(3 + Below(100), &chunk);
    chunk.continues_on_next = Below(4) == 0;
    writer->is_open = chunk.continues_on_next;
    chunk.needs_patching = chunk.continues_on_next && Below(2) == 0;
    if (!chunk.continues_on_next && chunk.payload.size() < kMaxPayload / 2 &&
        Below(5) == 0) {
      chunk.is_complete = false;
      chunk.is_scraped = true;
      writer->scraped = chunk;
      writer->has_scraped = true;
    }
    return chunk;
  }

  std::minstd_rand random_;
  uint64_t time_ms_ = 1;
  Writer writers_[kNumWriters + 1];
};

std::string Take(const TraceBuffer::Packet& packet) {
  if (*packet.sequence_id == 0)
    *packet.sequence_id = packet.writer_id;
  return std::to_string(packet.writer_id) +
         (packet.previous_packet_dropped ? "!" : " ") +
         std::string(reinterpret_cast<const char*>(packet.bytes.data),
                     packet.bytes.size);
}

void Apply(const Step& step, TraceBuffer* buffer) {
  const TraceBuffer::ProducerIdentity producer = {1, 1000, 77};
  switch (step.kind) {
    case Step::kAdd:
      buffer->AddChunk(producer, step.chunk);
      break;
    case Step::kPatch: {
      const CommitDataRequest::Patch patch = {5, {1, 2, 3, 4}};
      buffer->PatchChunk(producer.id,
                         {0, step.writer_id, step.chunk_id, &patch, 1, false});
      break;
    }
    case Step::kEndWriter:
      buffer->EndWriter(producer.id, step.writer_id);
      break;
    case Step::kReport:
      buffer->ReportLosses(
          producer, {0, step.writer_id, LossReason::kMemoryFull, 1, 0, 9});
      break;
    case Step::kRead:
      buffer->ReadPackets(step.bytes, /*is_final=*/false,
                          [](const TraceBuffer::Packet& packet) {
                            Take(packet);
                            return true;
                          });
      break;
  }
}

// Returns everything that there is to say about the buffer, and empties it.
std::string Drain(TraceBuffer* buffer) {
  std::string all;
  buffer->ReadPackets(SIZE_MAX, /*is_final=*/true,
                      [&](const TraceBuffer::Packet& packet) {
                        all += Take(packet) + "\n";
                        return true;
                      });
  const TraceBufferStats stats = buffer->stats();
  for (const uint64_t number :
       {stats.bytes_written,        stats.bytes_overwritten,
        stats.bytes_read,           stats.chunks_written,
        stats.chunks_rewritten,     stats.chunks_overwritten,
        stats.chunks_discarded,     stats.chunks_read,
        stats.patches_succeeded,    stats.patches_failed,
        stats.readaheads_succeeded, stats.readaheads_failed,
        stats.abi_violations,       stats.packets_written,
        stats.packets_begun,        stats.packets_read,
        stats.lost.total(),         stats.lost.bytes,
        stats.unknown_losses,       stats.writers_seen}) {
    all += std::to_string(number) + " ";
  }
  std::vector<TraceWriterStats> writers;
  buffer->AppendWriterStats(&writers);
  for (const TraceWriterStats& writer : writers) {
    all += "\nwriter " + std::to_string(writer.writer_id) + ":";
    for (const uint64_t number :
         {writer.packets_read, writer.lost.total(), writer.chunks_written,
          writer.chunks_overwritten, writer.chunks_discarded,
          writer.bytes_written, writer.packets_written, writer.packets_begun,
          writer.patches_succeeded, writer.patches_failed, writer.losses}) {
      all += " " + std::to_string(number);
    }
  }
  return all;
}

class TraceBufferCloneTest : public testing::TestWithParam<Policy> {};

TEST_P(TraceBufferCloneTest, HasWhatTheBufferHadWhenItBegan) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    StepMaker maker(seed);
    TraceBuffer buffer(kSize, GetParam());
    TraceBuffer expected(kSize, GetParam());
    TraceBuffer clone(kSize, GetParam());
    for (uint32_t i = 0; i < 20 + seed; ++i) {
      const Step step = maker.Next();
      Apply(step, &buffer);
      Apply(step, &expected);
    }
    const uint64_t begin_ms =
        seed % 2 == 0
            ? 0
            : maker.time_ms() - std::min(maker.time_ms(), uint64_t{seed % 20});
    buffer.BeginClone({begin_ms}, &clone);
    for (uint32_t i = 0; buffer.CloneSome(1); ++i) {
      ASSERT_LT(i, 1000u);
      for (uint32_t j = 0; j < seed % 4; ++j) {
        // A commit copies no more than what it overwrites for its own chunk.
        const size_t before = clone.used_bytes();
        const Step step = maker.Next();
        Apply(step, &buffer);
        if (step.kind == Step::kAdd) {
          ASSERT_LE(clone.used_bytes(), before + TraceBuffer::kChunkOverhead +
                                            step.chunk.payload.size() +
                                            2 * kMaxCharge);
        }
      }
    }
    ASSERT_TRUE(buffer.EndClone());
    if (begin_ms != 0)
      expected.ForgetBefore(begin_ms);
    ASSERT_EQ(Drain(&clone), Drain(&expected));
  }
}

// Makes a chunk of one packet with one byte.
ChunkCopy OnePacket(ChunkID chunk_id, bool is_scraped, bool is_complete) {
  ChunkCopy chunk;
  chunk.writer_id = 1;
  chunk.chunk_id = chunk_id;
  chunk.num_packets = 1;
  chunk.is_scraped = is_scraped;
  chunk.is_complete = is_complete;
  chunk.payload = {1, static_cast<uint8_t>('a' + chunk_id)};
  return chunk;
}

TEST_P(TraceBufferCloneTest, EndsBeforeAGapThatTheScraperHasLeft) {
  const TraceBuffer::ProducerIdentity producer = {1, 1000, 77};
  for (const bool is_missing : {false, true}) {
    TraceBuffer buffer(kSize, GetParam());
    TraceBuffer clone(kSize, GetParam());
    buffer.AddChunk(producer, OnePacket(0, false, true));
    buffer.AddChunk(producer, OnePacket(1, true, true));
    if (!is_missing)
      buffer.AddChunk(producer, OnePacket(2, true, false));
    // The writer began these while the scraper passed.
    buffer.AddChunk(producer, OnePacket(3, true, true));
    buffer.AddChunk(producer, OnePacket(4, true, false));
    buffer.BeginClone({}, &clone);
    while (buffer.CloneSome(1)) {
    }
    ASSERT_TRUE(buffer.EndClone());
    std::string packets;
    clone.ReadPackets(SIZE_MAX, /*is_final=*/true,
                      [&](const TraceBuffer::Packet& packet) {
                        packets += Take(packet);
                        return true;
                      });
    EXPECT_EQ(packets, is_missing ? "1 a1 b" : "1 a1 b1 c");
    const TraceBufferStats stats = clone.stats();
    EXPECT_EQ(stats.unknown_losses, 0u);
    EXPECT_EQ(stats.lost.total(), 0u);
    EXPECT_EQ(stats.packets_begun, stats.packets_read);
  }
}

TEST_P(TraceBufferCloneTest, ClonesThatFollowEachOtherAccountForEachPacket) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    StepMaker maker(seed);
    TraceBuffer buffer(kSize, GetParam());
    uint64_t last_ms = 0;
    for (uint32_t i = 0; i < 10; ++i) {
      for (uint32_t j = 0; j < 5 + seed % 20; ++j)
        Apply(maker.Next(), &buffer);
      TraceBuffer clone(kSize, GetParam());
      const bool has_window = seed % 3 == 0;
      buffer.BeginClone({has_window ? maker.time_ms() - 1 : last_ms, true,
                         i != 0 && !has_window},
                        &clone);
      while (buffer.CloneSome(1)) {
      }
      ASSERT_TRUE(buffer.EndClone());
      last_ms = maker.time_ms();
      buffer.MarkCloned();
      clone.ReadPackets(SIZE_MAX, /*is_final=*/true,
                        [](const TraceBuffer::Packet& packet) {
                          if (packet.is_before_place)
                            *packet.is_left_out = true;
                          else
                            Take(packet);
                          return !packet.is_before_place;
                        });
      const TraceBufferStats stats = clone.stats();
      ASSERT_EQ(stats.packets_begun, stats.packets_read + stats.lost.total());
      ASSERT_LE(stats.packets_begun, 200u + buffer.stats().packets_begun);
    }
  }
}

TEST_P(TraceBufferCloneTest, StepIsBounded) {
  constexpr size_t kMaxBytes = 2000;
  StepMaker maker(1);
  TraceBuffer buffer(1 << 20, GetParam());
  TraceBuffer clone(1 << 20, GetParam());
  for (int i = 0; i < 1500; ++i) {
    const Step step = maker.Next();
    if (step.kind != Step::kRead)
      Apply(step, &buffer);
  }
  const size_t used = buffer.used_bytes();
  ASSERT_GT(used, 100 * kMaxBytes);
  // The first half of the chunks is not wanted.
  buffer.BeginClone({maker.time_ms() / 2}, &clone);
  size_t largest_step = 0;
  for (bool has_more = true; has_more;) {
    const size_t before = clone.used_bytes();
    has_more = buffer.CloneSome(kMaxBytes);
    const size_t after = clone.used_bytes();
    largest_step = std::max({largest_step, after - std::min(before, after),
                             before - std::min(before, after)});
  }
  EXPECT_TRUE(buffer.EndClone());
  EXPECT_GE(largest_step, kMaxBytes);
  EXPECT_LE(largest_step, kMaxBytes + kMaxCharge);
  EXPECT_EQ(buffer.used_bytes(), used);
  EXPECT_LT(clone.used_bytes(), used / 3 * 2);
  EXPECT_GT(clone.used_bytes(), used / 3);
}

std::string NameOf(const testing::TestParamInfo<Policy>& policy) {
  return policy.param == Policy::kRingBuffer ? "RingBuffer" : "Discard";
}

INSTANTIATE_TEST_SUITE_P(Policies,
                         TraceBufferCloneTest,
                         testing::Values(Policy::kRingBuffer, Policy::kDiscard),
                         NameOf);

}  // namespace
}  // namespace protozero::test
