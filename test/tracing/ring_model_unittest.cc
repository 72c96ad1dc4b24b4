// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests random packets of several writers in a ring against a model of the
// ring. After each step, exactly those packets can be read whose chunks the
// model still has.

#include <stdint.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "src/tracing/reader/ring_reader.h"
#include "src/tracing/writer/ring_endpoint.h"
#include "test/testing/flags.h"
#include "test/tracing/fake_service.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;

// The ring, as its documentation describes it: a place for each chunk, and the
// number of steps that were taken.
class RingModel {
 public:
  explicit RingModel(size_t num_places) : places_(num_places) {}

  void Take(size_t writer, ChunkID chunk_id) {
    const size_t size = places_.size();
    for (size_t looks = 0;; ++looks) {
      const size_t step = num_steps_++;
      Place& place = places_[step % size];
      const bool is_new = place.is_used && step - place.finished_at < size / 2;
      if (place.is_in_use || (is_new && looks < size))
        continue;
      place = {writer, chunk_id, true, true, 0};
      return;
    }
  }
  void Finish(size_t writer, ChunkID chunk_id) {
    for (Place& place : places_) {
      if (place.is_used && place.writer == writer && place.id == chunk_id) {
        place.is_in_use = false;
        place.finished_at = num_steps_;
      }
    }
  }
  bool Has(size_t writer, ChunkID chunk_id) const {
    for (const Place& place : places_) {
      if (place.is_used && place.writer == writer && place.id == chunk_id)
        return true;
    }
    return false;
  }

 private:
  struct Place {
    size_t writer = 0;
    ChunkID id = 0;
    bool is_used = false;
    bool is_in_use = false;
    size_t finished_at = 0;
  };
  std::vector<Place> places_;
  size_t num_steps_ = 0;
};

class Ring {
 public:
  explicit Ring(uint64_t seed)
      : random_(seed),
        page_size_(kPageSize * (1 + random_() % 3)),
        num_pages_(6 + random_() % 12),
        memory_(num_pages_ * page_size_),
        abi_(memory_.start(), memory_.size(), page_size_),
        model_(num_pages_) {
    if (random_() % 2 != 0) {
      state_.next_step =
          (UINT32_MAX - random_() % 40) / num_pages_ * num_pages_;
    }
    SharedMemoryArbiter::Options options;
    options.ring = &state_;
    arbiter_ = std::make_unique<SharedMemoryArbiter>(
        memory_.start(), memory_.size(), page_size_, &endpoint_, options);
    // One chunk is left for a packet that goes on.
    const size_t num_writers = 1 + random_() % (num_pages_ - 2);
    for (size_t i = 0; i < num_writers; ++i)
      writers_.push_back({arbiter_->CreateTraceWriter(1), {}, false, 0});
  }

  void Step() {
    const size_t writer = random_() % writers_.size();
    if (random_() % 12 == 0) {
      writers_[writer].writer->Flush();
      FinishChunk(writer);
    } else {
      Write(writer);
    }
  }

  void ExpectExactlyWhatTheModelHas() {
    std::vector<std::vector<uint32_t>> expected(writers_.size());
    for (size_t i = 0; i < writers_.size(); ++i) {
      for (const Packet& packet : writers_[i].packets) {
        bool is_whole = true;
        for (ChunkID id = packet.first_chunk; id <= packet.last_chunk; ++id)
          is_whole = is_whole && model_.Has(i, id);
        if (is_whole)
          expected[i].push_back(packet.number);
      }
    }
    std::vector<std::vector<uint32_t>> read(writers_.size());
    RingReader reader(abi_);
    reader.ReadPackets([&](const RingReader::Packet& packet) {
      ProtoDecoder decoder(packet.bytes);
      const uint32_t number = decoder.FindField(1).as_uint32();
      auto& numbers = read[packet.writer_id - 1u];
      ASSERT_EQ(decoder.FindField(2).as_std_string(), Text(number));
      const bool follows = number == (numbers.empty() ? 0 : numbers.back() + 1);
      EXPECT_EQ(packet.previous_packet_dropped, !follows);
      numbers.push_back(number);
    });
    EXPECT_EQ(read, expected);
    EXPECT_EQ(reader.stats().chunks_corrupt, 0u);
    EXPECT_EQ(reader.stats().packets_unfinished, 0u);
    uint64_t written = 0;
    for (const Writer& writer : writers_)
      written += writer.packets.size();
    EXPECT_EQ(written, reader.stats().packets_read +
                           reader.stats().packets_torn +
                           state_.packets_overwritten);
  }

 private:
  struct Packet {
    uint32_t number;
    ChunkID first_chunk;
    ChunkID last_chunk;
  };
  struct Writer {
    std::unique_ptr<TraceWriter> writer;
    std::vector<Packet> packets;
    // True if it has a chunk, whose id is |chunk_id|. If not, the id of the
    // next one is that.
    bool has_chunk;
    ChunkID chunk_id;
  };

  std::string Text(uint32_t number) const {
    const size_t size = (number * uint32_t{2654435761} >> 7) %
                        (number % 5 == 0 ? 3 * page_size_ : size_t{300});
    return std::string(size, static_cast<char>('a' + number % 26));
  }

  void FinishChunk(size_t writer) {
    if (std::exchange(writers_[writer].has_chunk, false))
      model_.Finish(writer, writers_[writer].chunk_id++);
  }

  void Write(size_t index) {
    Writer& writer = writers_[index];
    const uint32_t number = static_cast<uint32_t>(writer.packets.size());
    const ChunkID next_id = writer.chunk_id + (writer.has_chunk ? 1 : 0);
    ChunkID first_chunk;
    {
      auto packet = writer.writer->NewTracePacket();
      first_chunk = writer.writer->chunk_id();
      // A writer gives up its chunk, then takes another one.
      if (!writer.has_chunk || first_chunk == next_id) {
        FinishChunk(index);
        model_.Take(index, first_chunk);
        writer.has_chunk = true;
      }
      packet->AppendVarInt(1, number);
      packet->AppendString(2, Text(number));
    }
    // In the middle of a packet, it takes another one first.
    const ChunkID last_chunk = writer.writer->chunk_id();
    while (writer.chunk_id != last_chunk) {
      model_.Take(index, writer.chunk_id + 1);
      model_.Finish(index, writer.chunk_id++);
    }
    writer.packets.push_back({number, first_chunk, last_chunk});
  }

  std::mt19937_64 random_;
  const size_t page_size_;
  const size_t num_pages_;
  SharedMemory memory_;
  const ABI abi_;
  RingState state_{};
  RingLosses losses_{};
  RingEndpoint endpoint_{abi_, &state_, &losses_};
  std::unique_ptr<SharedMemoryArbiter> arbiter_;
  std::vector<Writer> writers_;
  RingModel model_;
};

TEST(RingModelTest, ExactlyTheOldestChunksAreOverwritten) {
  const uint64_t seed = Flag("seed", 1);
  const uint64_t num_runs = Flag("runs", 40);
  for (uint64_t i = 0; i < num_runs; ++i) {
    SCOPED_TRACE("--runs=1 --seed=" + std::to_string(seed + i));
    Ring ring(seed + i);
    for (int step = 0; step < 400; ++step) {
      ring.Step();
      ring.ExpectExactlyWhatTheModelHas();
      if (testing::Test::HasFailure())
        return;
    }
  }
}

}  // namespace
}  // namespace protozero::test
