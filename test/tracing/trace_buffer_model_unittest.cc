// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests random packets in random chunks. Some chunks come late, twice, in part,
// unpatched, or never. The way they were made tells which packets must arrive.

#include <stdint.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/tracing/service/trace_buffer.h"
#include "src/tracing/shared_memory/chunk_reader.h"
#include "test/testing/flags.h"
#include "test/testing/hex.h"

namespace protozero::test {
namespace {

using service::TraceBuffer;
using Patch = CommitDataRequest::Patch;
using Random = std::mt19937_64;

constexpr TraceBuffer::ProducerIdentity kProducer = {1, 2, 3};

// The place of a part of a packet.
struct Piece {
  size_t chunk;
  uint16_t fragment;
};

struct ModelPacket {
  std::string bytes;
  std::vector<Piece> pieces;
};

struct ModelChunk {
  ChunkCopy copy;
  std::vector<Patch> patches;
  // The state of the chunk so far.
  uint16_t fragments_delivered = 0;
  bool is_patched = false;
};

// All packets that one writer will ever write.
class ModelWriter {
 public:
  ModelWriter(Random& random, WriterID writer_id, size_t num_packets)
      : random_(random), writer_id_(writer_id) {
    // The ids begin close to where they wrap around.
    next_chunk_id_ = static_cast<ChunkID>(random_() % 20 - 10);
    NewChunk(false);
    for (size_t i = 0; i < num_packets; ++i)
      AddPacket(i);
  }

  // Returns whether all of the packet has been delivered.
  bool Arrives(const ModelPacket& packet) const {
    return std::all_of(
        packet.pieces.begin(), packet.pieces.end(), [this](const Piece& piece) {
          const ModelChunk& chunk = chunks[piece.chunk];
          return piece.fragment < chunk.fragments_delivered &&
                 (!chunk.copy.needs_patching || chunk.is_patched ||
                  piece.fragment + 1 < chunk.copy.num_packets);
        });
  }

  // Returns whether something may be missing between two packets: the rest of a
  // chunk that was delivered in part, even if there is no other packet in it.
  bool IsSomethingMissing(const ModelPacket& from,
                          const ModelPacket& to) const {
    for (size_t i = from.pieces.back().chunk; i < to.pieces.front().chunk;
         ++i) {
      if (chunks[i].fragments_delivered < chunks[i].copy.num_packets)
        return true;
    }
    return false;
  }

  std::vector<ModelPacket> packets;
  std::vector<ModelChunk> chunks;

 private:
  void NewChunk(bool continues) {
    chunks.emplace_back();
    ChunkCopy& copy = chunks.back().copy;
    copy.chunk_id = next_chunk_id_++;
    copy.writer_id = writer_id_;
    copy.continues_from_previous = continues;
    copy.is_complete = true;
    room_ = 20 + random_() % 200;
  }

  void AddPacket(size_t number) {
    constexpr size_t kSizes[] = {0, 20, 100, 1000};
    std::string bytes = std::to_string(number) + ".";
    const size_t filling = random_() % (1 + kSizes[random_() % 4]);
    while (bytes.size() < 4 + filling)
      bytes += static_cast<char>('a' + random_() % 26);
    packets.push_back({bytes, {}});
    if ((random_() % 8 == 0 || room_ < 12) &&
        chunks.back().copy.num_packets != 0) {
      NewChunk(false);
    }
    while (bytes.size() + 4 > room_) {
      const size_t size = std::min(room_ - 4, random_() % room_);
      AddFragment(bytes.substr(0, size), true);
      bytes.erase(0, size);
      NewChunk(true);
    }
    AddFragment(bytes, false);
    // Writers leave such an empty packet when they were about to write another
    // one.
    if (random_() % 16 == 0 && room_ > 0) {
      chunks.back().copy.payload.push_back(0);
      ++chunks.back().copy.num_packets;
      --room_;
    }
  }

  void AddFragment(std::string bytes, bool continues) {
    ModelChunk& chunk = chunks.back();
    std::vector<uint8_t>& payload = chunk.copy.payload;
    packets.back().pieces.push_back(
        {chunks.size() - 1, chunk.copy.num_packets});
    ++chunk.copy.num_packets;
    const size_t width = bytes.size() < 128 && random_() % 2 == 0 ? 1 : 4;
    for (size_t i = 0; i < width; ++i) {
      payload.push_back(static_cast<uint8_t>((bytes.size() >> 7 * i & 0x7f) |
                                             (i + 1 < width ? 0x80 : 0)));
    }
    const size_t begin = payload.size();
    payload.insert(payload.end(), bytes.begin(), bytes.end());
    room_ -= std::min(room_, width + bytes.size());
    chunk.copy.continues_on_next = continues;
    if (!continues || bytes.size() < 8 || random_() % 3 != 0)
      return;
    // Some bytes come later, as patches.
    chunk.copy.needs_patching = true;
    for (size_t i = random_() % 4; i > 0; --i) {
      const size_t offset = begin + random_() % (bytes.size() - 3);
      Patch patch{static_cast<uint32_t>(offset), {}};
      std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(offset - begin), 4,
                  patch.data);
      std::fill_n(payload.begin() + static_cast<ptrdiff_t>(offset), 4, 0);
      chunk.patches.push_back(patch);
    }
  }

  Random& random_;
  const WriterID writer_id_;
  ChunkID next_chunk_id_;
  size_t room_;
};

struct ReceivedPacket {
  std::string bytes;
  bool previous_packet_dropped;
};

class ModelRun {
 public:
  ModelRun(uint64_t seed, size_t buffer_size, TraceBuffer::Policy policy)
      : random_(seed), buffer_size_(buffer_size), buffer_(buffer_size, policy) {
    const size_t num_writers = 1 + random_() % 4;
    for (size_t i = 0; i < num_writers; ++i) {
      writers_.emplace_back(random_, static_cast<WriterID>(i + 1),
                            1 + random_() % 60);
    }
    received_.resize(num_writers);
    next_.resize(num_writers);
    late_.resize(num_writers);
    // These say how bad the run gets.
    loses_ = random_() % 3 != 0;
    is_late_ = random_() % 2 == 0;
    repeats_ = random_() % 2 == 0;
  }

  void Deliver() {
    std::vector<size_t> unfinished;
    for (size_t i = 0; i < writers_.size(); ++i)
      unfinished.push_back(i);
    while (!unfinished.empty()) {
      const size_t position = random_() % unfinished.size();
      if (!DeliverSome(unfinished[position]))
        unfinished.erase(unfinished.begin() + static_cast<ptrdiff_t>(position));
      if (random_() % 8 == 0)
        Read(false);
      ASSERT_LE(buffer_.used_bytes(), buffer_size_);
    }
    Read(true);
    ASSERT_EQ(buffer_.used_bytes(), 0u);
    const TraceBufferStats stats = buffer_.stats();
    ASSERT_EQ(stats.abi_violations, 0u);
    // Every packet that came, in whole or in part, has one fate.
    uint64_t received = 0;
    for (const std::vector<ReceivedPacket>& packets : received_)
      received += packets.size();
    ASSERT_EQ(stats.packets_read, received);
    ASSERT_EQ(stats.packets_written, received + stats.lost.total());
    // A packet without room that comes twice counts twice, but no writer
    // repeats one.
    if (!repeats_ || !has_overflown())
      ASSERT_EQ(stats.packets_written, NumBegun());
  }

  // Returns how many packets had their beginning delivered.
  uint64_t NumBegun() const {
    uint64_t sum = 0;
    for (const ModelWriter& writer : writers_) {
      for (const ModelPacket& packet : writer.packets) {
        const Piece& first = packet.pieces.front();
        sum += first.fragment < writer.chunks[first.chunk].fragments_delivered;
      }
    }
    return sum;
  }

  // Expects that exactly the delivered packets have arrived.
  void ExpectAll() {
    for (size_t i = 0; i < writers_.size(); ++i) {
      SCOPED_TRACE("writer " + std::to_string(i + 1));
      size_t k = 0;
      bool has_lost = false;
      const ModelPacket* last = nullptr;
      for (const ModelPacket& packet : writers_[i].packets) {
        if (!writers_[i].Arrives(packet)) {
          has_lost = true;
          continue;
        }
        if (last != nullptr && writers_[i].IsSomethingMissing(*last, packet))
          has_lost = true;
        last = &packet;
        ASSERT_LT(k, received_[i].size()) << packet.bytes;
        ASSERT_EQ(received_[i][k].bytes, packet.bytes);
        ASSERT_EQ(received_[i][k].previous_packet_dropped, has_lost);
        has_lost = false;
        ++k;
      }
      ASSERT_EQ(k, received_[i].size());
    }
  }

  // Expects less, because the buffer was too small: each packet that has
  // arrived is as it was written, comes after the one before it, and says so if
  // one is missing.
  void ExpectSome() {
    for (size_t i = 0; i < writers_.size(); ++i) {
      const std::vector<ModelPacket>& written = writers_[i].packets;
      size_t k = 0;
      for (const ReceivedPacket& packet : received_[i]) {
        bool has_lost = false;
        while (k < written.size() && written[k].bytes != packet.bytes) {
          has_lost = true;
          ++k;
        }
        ASSERT_LT(k, written.size()) << packet.bytes;
        ASSERT_TRUE(writers_[i].Arrives(written[k]));
        ASSERT_TRUE(packet.previous_packet_dropped || !has_lost)
            << packet.bytes;
        ++k;
      }
    }
  }

  bool has_overflown() const {
    const TraceBufferStats stats = buffer_.stats();
    return stats.chunks_overwritten + stats.chunks_discarded != 0;
  }

 private:
  // Delivers a chunk or more of a writer. Returns false if there is nothing
  // left.
  bool DeliverSome(size_t writer) {
    std::vector<ModelChunk>& chunks = writers_[writer].chunks;
    std::vector<size_t>& late = late_[writer];
    if (next_[writer] == chunks.size() && late.empty()) {
      for (ModelChunk& chunk : chunks)
        PatchRest(chunk);
      if (random_() % 2 == 0)
        buffer_.EndWriter(kProducer.id, static_cast<WriterID>(writer + 1));
      return false;
    }
    if (!late.empty() && (next_[writer] == chunks.size() || late.size() > 4 ||
                          random_() % 3 == 0)) {
      const size_t position = random_() % late.size();
      ModelChunk& chunk = chunks[late[position]];
      late.erase(late.begin() + static_cast<ptrdiff_t>(position));
      DeliverChunk(chunk);
      return true;
    }
    const size_t index = next_[writer]++;
    ModelChunk& chunk = chunks[index];
    // A sequence begins with the first chunk that is committed.
    const bool is_first = index == 0;
    if (is_first && random_() % 2 == 0)
      ScrapeWithout(chunks, index);
    if (chunk.copy.num_packets > 1 && random_() % 6 == 0)
      DeliverPart(chunk);
    if (!is_first && loses_ && random_() % 12 == 0)
      return true;
    if (!is_first && is_late_ && random_() % 4 == 0)
      late.push_back(index);
    else
      DeliverChunk(chunk);
    if (random_() % 4 == 0)
      PatchRest(chunks[random_() % next_[writer]]);
    return true;
  }

  void DeliverChunk(ModelChunk& chunk) {
    buffer_.AddChunk(kProducer, chunk.copy);
    chunk.fragments_delivered = chunk.copy.num_packets;
    if (repeats_ && random_() % 8 == 0)
      buffer_.AddChunk(kProducer, chunk.copy);
  }

  // Delivers a part of a chunk, like a scraper.
  void DeliverPart(ModelChunk& chunk) {
    ChunkCopy copy = chunk.copy;
    copy.is_complete = false;
    copy.is_scraped = true;
    copy.continues_on_next = false;
    copy.needs_patching = false;
    for (int i = 0; i < 2; ++i) {
      copy.num_packets = static_cast<uint16_t>(
          std::max<size_t>(chunk.fragments_delivered,
                           1 + random_() % (chunk.copy.num_packets - 1u)));
      buffer_.AddChunk(kProducer, copy);
      chunk.fragments_delivered = copy.num_packets;
    }
  }

  // Delivers parts of the chunks after |index|, as if that one was overlooked.
  void ScrapeWithout(std::vector<ModelChunk>& chunks, size_t index) {
    for (size_t i = index + 1; i < std::min(chunks.size(), index + 4); ++i) {
      // In reality, ids wrap around only after the first four billion.
      if (chunks[i].copy.num_packets > 1 && chunks[i].copy.chunk_id != 0 &&
          random_() % 2 == 0) {
        DeliverPart(chunks[i]);
      }
    }
    Read(false);
  }

  // Delivers patches one after the other, unless they never come.
  void PatchRest(ModelChunk& chunk) {
    if (chunk.is_patched || !chunk.copy.needs_patching ||
        chunk.fragments_delivered != chunk.copy.num_packets ||
        (loses_ && random_() % 12 == 0)) {
      return;
    }
    CommitDataRequest::ChunkToPatch request{0, chunk.copy.writer_id,
                                            chunk.copy.chunk_id, nullptr, 0};
    for (const Patch& patch : chunk.patches) {
      if (random_() % 2 == 0)
        continue;
      request.patches = &patch;
      request.num_patches = 1;
      request.has_more_patches = true;
      buffer_.PatchChunk(kProducer.id, request);
    }
    request.patches = chunk.patches.data();
    request.num_patches = chunk.patches.size();
    request.has_more_patches = false;
    buffer_.PatchChunk(kProducer.id, request);
    chunk.is_patched = true;
  }

  void Read(bool is_final) {
    const auto read = [this](const TraceBuffer::Packet& packet) {
      *packet.sequence_id = packet.writer_id;
      received_[packet.writer_id - 1u].push_back(
          {packet.bytes.ToStdString(), packet.previous_packet_dropped});
      return true;
    };
    const auto read_run = [this](const TraceBuffer::Run& run) {
      TraceBuffer::RunPart part;
      size_t left = std::min<size_t>(run.max_packets, random_() % 10);
      ConstBytes packet;
      for (size_t next = 0; left != 0 &&
                            ReadFragment(run.fragments, &next, &packet) ==
                                FragmentKind::kPacket &&
                            packet.size != 0;
           --left) {
        received_[run.sequence_id - 1].push_back({packet.ToStdString(), false});
        ++part.packets;
        part.bytes = next;
      }
      return part;
    };
    const TraceBuffer::OnRun on_run =
        random_() % 2 == 0 ? TraceBuffer::OnRun(read_run) : nullptr;
    while (buffer_.ReadPackets(1 + random_() % 5000, is_final, read, on_run)) {
      if (!is_final && random_() % 4 == 0)
        break;
    }
  }

  Random random_;
  const size_t buffer_size_;
  TraceBuffer buffer_;
  std::vector<ModelWriter> writers_;
  std::vector<std::vector<ReceivedPacket>> received_;
  // For each writer, the first chunk that has not been seen, and those before
  // it that come late.
  std::vector<size_t> next_;
  std::vector<std::vector<size_t>> late_;
  bool loses_;
  bool is_late_;
  bool repeats_;
};

TEST(TraceBufferModelTest, WhatIsDeliveredArrives) {
  const uint64_t seed = Flag("seed", 1);
  const uint64_t runs = Flag("buffer-runs", 1000);
  for (uint64_t i = 0; i < runs; ++i) {
    SCOPED_TRACE("--buffer-runs=1 --seed=" + std::to_string(seed + i));
    ModelRun run(seed + i, 1 << 20, BufferFillPolicy::kRingBuffer);
    ASSERT_NO_FATAL_FAILURE(run.Deliver());
    ASSERT_FALSE(run.has_overflown());
    ASSERT_NO_FATAL_FAILURE(run.ExpectAll());
  }
}

TEST(TraceBufferModelTest, WhatDoesNotFitIsMissed) {
  const uint64_t seed = Flag("seed", 1);
  const uint64_t runs = Flag("buffer-runs", 1000);
  uint64_t overflows = 0;
  for (uint64_t i = 0; i < runs; ++i) {
    SCOPED_TRACE("--buffer-runs=1 --seed=" + std::to_string(seed + i));
    ModelRun run(seed + i, 500 + 17 * ((seed + i) % 500),
                 i % 2 == 0 ? BufferFillPolicy::kRingBuffer
                            : BufferFillPolicy::kDiscard);
    ASSERT_NO_FATAL_FAILURE(run.Deliver());
    overflows += run.has_overflown();
    ASSERT_NO_FATAL_FAILURE(run.has_overflown() ? run.ExpectSome()
                                                : run.ExpectAll());
  }
  EXPECT_TRUE(runs < 100 || overflows > runs / 2);
}

}  // namespace
}  // namespace protozero::test
