// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/shared_memory/chunk_ring.h"

#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "src/tracing/reader/ring_reader.h"
#include "src/tracing/writer/ring_endpoint.h"
#include "test/tracing/fake_service.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;

constexpr size_t kRingPages = 4;

class ChunkRingTest : public testing::Test {
 protected:
  // Takes a chunk, and returns its page; -1 if all are in use.
  int Take() {
    const ABI::Chunk chunk = TakeOldestChunk(abi_, &state_, kRingPages);
    if (!chunk.is_valid())
      return -1;
    ABI::InitChunkForWriting(chunk, 1, next_chunk_id_++, 1);
    return static_cast<int>(chunk.page_idx());
  }
  void Complete(size_t page) { CompleteRingChunk(abi_, state_, ChunkOf(page)); }
  ABI::Chunk ChunkOf(size_t page) const {
    return abi_.GetChunkUnchecked(page, abi_.GetPageWord(page), 0);
  }
  uint16_t PacketsOf(size_t page) const {
    return ChunkOf(page).header()->packets;
  }

  SharedMemory memory_{kRingPages * kPageSize};
  const ABI abi_{memory_.start(), memory_.size(), kPageSize};
  RingState state_{};
  ChunkID next_chunk_id_ = 0;
};

TEST_F(ChunkRingTest, UnusedPagesComeFirst) {
  for (uint32_t i = 0; i < kRingPages; ++i) {
    EXPECT_EQ(Take(), static_cast<int>(i));
    Complete(i);
    EXPECT_EQ(abi_.reserved_word(i), i + 1);
  }
  EXPECT_EQ(state_.next_step, kRingPages);
}

TEST_F(ChunkRingTest, OnePageIsEnoughToLookAt) {
  for (size_t i = 0; i < kRingPages; ++i)
    EXPECT_EQ(TakeOldestChunk(abi_, &state_, 1).page_idx(), i);
  EXPECT_FALSE(TakeOldestChunk(abi_, &state_, 1).is_valid());
}

TEST_F(ChunkRingTest, TheOldestCompleteChunkIsNext) {
  for (size_t lap = 0; lap < 3; ++lap) {
    for (size_t i = 0; i < kRingPages; ++i) {
      EXPECT_EQ(Take(), static_cast<int>(i));
      Complete(i);
    }
  }
}

TEST_F(ChunkRingTest, AChunkInUseKeepsItsPlace) {
  for (size_t i = 0; i < kRingPages; ++i) {
    Take();
    if (i != 1)
      Complete(i);
  }
  for (int lap = 0; lap < 2; ++lap) {
    for (const size_t page : {0u, 2u, 3u}) {
      EXPECT_EQ(Take(), static_cast<int>(page));
      Complete(page);
    }
  }
}

TEST_F(ChunkRingTest, AChunkThatHasJustBeenCompletedIsNotTheOldest) {
  for (size_t i = 0; i < kRingPages; ++i) {
    Take();
    if (i != 1)
      Complete(i);
  }
  EXPECT_EQ(Take(), 0);
  Complete(0);
  // It would be the next one.
  Complete(1);
  for (const size_t page : {2u, 3u, 0u, 1u, 2u}) {
    EXPECT_EQ(Take(), static_cast<int>(page));
    Complete(page);
  }
}

TEST_F(ChunkRingTest, IfAllAreNewOneOfThemIsTaken) {
  for (size_t i = 0; i < kRingPages; ++i)
    Take();
  for (size_t i = 0; i < kRingPages; ++i)
    Complete(i);
  state_.next_step -= kRingPages;
  EXPECT_EQ(Take(), 0);
}

TEST_F(ChunkRingTest, AChunkThatIsTakenHasNoPackets) {
  for (size_t i = 0; i < kRingPages; ++i)
    Complete(static_cast<size_t>(Take()));
  EXPECT_EQ(PacketsOf(0), 1);
  const ABI::Chunk chunk = TakeOldestChunk(abi_, &state_, kRingPages);
  EXPECT_EQ(chunk.page_idx(), 0u);
  EXPECT_EQ(PacketsOf(0), 0);
  EXPECT_EQ(chunk.header()->writer_id, 0);
}

TEST_F(ChunkRingTest, NoChunkIsTakenIfAllAreInUse) {
  for (size_t i = 0; i < kRingPages; ++i)
    Take();
  EXPECT_EQ(Take(), -1);
  Complete(2);
  EXPECT_EQ(Take(), 2);
}

TEST_F(ChunkRingTest, AWriterThatIsALapLateTakesNothingNew) {
  for (size_t i = 0; i < 2 * kRingPages; ++i)
    Complete(static_cast<size_t>(Take()));
  // It took its step when the page was unused, or had the chunk before.
  for (const uint64_t step : {0u, 3u, 5u}) {
    RingState late{{step}, {}};
    const size_t page = step % kRingPages;
    const ABI::Chunk chunk = TakeOldestChunk(abi_, &late, 1);
    EXPECT_EQ(PacketsOf(page), 1);
    EXPECT_EQ(ABI::StateOf(abi_.GetPageWord(page), 0), ABI::kChunkComplete);
    EXPECT_FALSE(chunk.is_valid());
  }
}

TEST_F(ChunkRingTest, StepsWrapAround) {
  // In the memory, they have 32 bits.
  state_.next_step = (uint64_t{1} << 32) - 6;
  for (size_t i = 0; i < 5 * kRingPages; ++i) {
    EXPECT_EQ(Take(), static_cast<int>((i + 2) % kRingPages));
    Complete((i + 2) % kRingPages);
  }
}

TEST_F(ChunkRingTest, AChunkThatIsBeingReadIsLeftOut) {
  for (size_t i = 0; i < kRingPages; ++i)
    Complete(static_cast<size_t>(Take()));
  EXPECT_TRUE(abi_.TryAcquireChunkForReading(1, 0).is_valid());
  EXPECT_EQ(Take(), 0);
  EXPECT_EQ(Take(), 2);
}

TEST_F(ChunkRingTest, AChunkIsCompleteWhenItsLastPatchIsThere) {
  const auto needs_patching = [&](size_t page) {
    return (PacketsOf(page) & ABI::kChunkNeedsPatching) != 0;
  };
  const auto state = [&](size_t page) {
    return ABI::StateOf(abi_.GetPageWord(page), 0);
  };
  for (size_t page = 0; page < 2; ++page) {
    Take();
    ChunkOf(page).header()->packets = 1 | ABI::kChunkNeedsPatching;
  }
  RingLosses losses{};
  RingEndpoint endpoint(abi_, &state_, &losses);
  const CommitDataRequest::Patch patch = {1, {1, 2, 3, 4}};
  CommitDataRequest::ChunkToPatch chunks[] = {{1, 1, 0, &patch, 1, true},
                                              {1, 1, 1, &patch, 1}};
  // The second chunk is none of this request.
  const CommitDataRequest request = {nullptr, 0, chunks, 1};
  endpoint.CommitData(request);
  EXPECT_EQ(memcmp(ChunkOf(0).payload_begin() + 1, patch.data, 4), 0);
  EXPECT_TRUE(needs_patching(0));
  EXPECT_EQ(state(0), ABI::kChunkBeingWritten);
  EXPECT_TRUE(needs_patching(1));
  EXPECT_EQ(state(1), ABI::kChunkBeingWritten);
  // There is no such chunk.
  chunks[0] = {1, 1, 7, &patch, 1};
  endpoint.CommitData(request);
  EXPECT_EQ(state(0), ABI::kChunkBeingWritten);
  chunks[0].chunk_id = 0;
  endpoint.CommitData(request);
  EXPECT_FALSE(needs_patching(0));
  EXPECT_EQ(state(0), ABI::kChunkComplete);
  EXPECT_EQ(state(1), ABI::kChunkBeingWritten);
}

constexpr size_t kPagesOfKept = 32;

TEST(KeptChunksTest, NothingIsKeptUntilAWriterSaysSo) {
  const KeptChunks kept(kPagesOfKept);
  for (const WriterID id : {WriterID{0}, WriterID{1}, kMaxWriterID}) {
    EXPECT_FALSE(kept.Has(id, 0, 1));
    EXPECT_FALSE(kept.Has(id, UINT32_MAX, 1));
  }
  // The memory may say anything.
  EXPECT_FALSE(kept.Has(kMaxWriterID + 1, 0, 1));
}

TEST(KeptChunksTest, AnEighthOfTheRingIsKeptForAWriter) {
  KeptChunks kept(kPagesOfKept);
  // The ids wrap around.
  kept.KeepFrom(7, UINT32_MAX, 100);
  EXPECT_FALSE(kept.Has(7, UINT32_MAX - 1, 100));
  for (const uint32_t step : {100u, 100000u}) {
    EXPECT_TRUE(kept.Has(7, UINT32_MAX, step));
    EXPECT_TRUE(kept.Has(7, 2, step));
    EXPECT_FALSE(kept.Has(7, 3, step));
    EXPECT_FALSE(kept.Has(8, 0, step));
  }
}

TEST(KeptChunksTest, WhatWasKeptStaysForHalfARound) {
  KeptChunks kept(kPagesOfKept);
  kept.KeepFrom(1, 10, 100);
  kept.KeepFrom(1, 12, 200);
  for (const ChunkID id : {10u, 11u}) {
    EXPECT_TRUE(kept.Has(1, id, 200 + kPagesOfKept / 2 - 1));
    EXPECT_FALSE(kept.Has(1, id, 200 + kPagesOfKept / 2));
  }
  EXPECT_FALSE(kept.Has(1, 9, 200));
  kept.Release(1, 13, 300);
  EXPECT_FALSE(kept.Has(1, 11, 300));
  EXPECT_TRUE(kept.Has(1, 12, 300 + kPagesOfKept / 2 - 1));
  EXPECT_FALSE(kept.Has(1, 12, 300 + kPagesOfKept / 2));
  EXPECT_FALSE(kept.Has(1, 13, 300));
  // Another writer with this id, of a source that keeps nothing or something.
  kept.Release(1, 20, 400);
  EXPECT_FALSE(kept.Has(1, 12, 400));
  EXPECT_FALSE(kept.Has(1, 19, 400));
  kept.KeepFrom(1, 21, 500);
  EXPECT_FALSE(kept.Has(1, 20, 500));
  EXPECT_TRUE(kept.Has(1, 21, 500));
}

// A test with writers.
class RingTest : public testing::Test {
 protected:
  explicit RingTest(size_t num_pages = 16)
      : memory_(num_pages * kPageSize),
        abi_(memory_.start(), memory_.size(), kPageSize) {
    SharedMemoryArbiter::Options options;
    options.ring = &state_;
    arbiter_ = std::make_unique<SharedMemoryArbiter>(
        memory_.start(), memory_.size(), kPageSize, &endpoint_, options);
  }

  // Writes a packet with a string in |depth| messages within each other.
  void Write(TraceWriter* writer, uint32_t number, size_t size, int depth = 0) {
    auto packet = writer->NewTracePacket();
    packet->AppendVarInt(1, number);
    Message* message = packet.get();
    for (int i = 0; i < depth; ++i)
      message = message->BeginNestedMessage<Message>(3);
    message->AppendString(2, std::string(size, 'x'));
  }
  // Writes a packet that has a chunk of its own.
  void WriteChunk(TraceWriter* writer, uint32_t number) {
    Write(writer, number, 10);
    writer->ReturnChunk();
  }
  // Returns the numbers of all packets there are, with a ! before each one that
  // says that something is missing before it.
  std::string Read() {
    std::string numbers;
    RingReader reader(abi_);
    reader.ReadPackets([&](const RingReader::Packet& packet) {
      ProtoDecoder decoder(packet.bytes);
      numbers += numbers.empty() ? "" : " ";
      numbers += packet.previous_packet_dropped ? "!" : "";
      numbers += std::to_string(decoder.FindField(1).as_uint32());
    });
    stats_ = reader.stats();
    return numbers;
  }
  uint64_t NumLost(LossReason reason) const {
    return losses_.packets[static_cast<size_t>(reason)];
  }

  SharedMemory memory_;
  const ABI abi_;
  RingState state_{};
  RingLosses losses_{};
  RingEndpoint endpoint_{abi_, &state_, &losses_};
  std::unique_ptr<SharedMemoryArbiter> arbiter_;
  RingReader::Stats stats_;
};

TEST_F(RingTest, PacketsAreThereWithoutACommit) {
  const auto writer = arbiter_->CreateTraceWriter(1);
  EXPECT_EQ(Read(), "");
  Write(writer.get(), 1, 10);
  Write(writer.get(), 2, 2 * kPageSize);
  Write(writer.get(), 3, 10);
  EXPECT_EQ(Read(), "1 2 3");
  EXPECT_EQ(stats_.packets_unfinished, 0u);
}

TEST_F(RingTest, AnOpenPacketIsNotThere) {
  const auto writer = arbiter_->CreateTraceWriter(1);
  Write(writer.get(), 1, 10);
  std::string before = "1";
  for (const size_t size : {size_t{10}, kPageSize, 3 * kPageSize}) {
    auto packet = writer->NewTracePacket();
    packet->AppendVarInt(1, 2);
    packet->BeginNestedMessage<Message>(3)->AppendString(
        2, std::string(size, 'x'));
    EXPECT_EQ(Read(), before);
    before += " 2";
    EXPECT_EQ(stats_.packets_unfinished, 1u);
    EXPECT_EQ(stats_.packets_torn, 0u);
  }
  EXPECT_EQ(Read(), "1 2 2 2");
}

TEST_F(RingTest, ThePacketsOfTheOldestChunkAreOverwritten) {
  const auto writer = arbiter_->CreateTraceWriter(1);
  for (uint32_t i = 1; i <= 18; ++i)
    WriteChunk(writer.get(), i);
  EXPECT_EQ(Read(), "!3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18");
}

TEST_F(RingTest, AnIdleWriterKeepsItsChunk) {
  const auto idle = arbiter_->CreateTraceWriter(1);
  Write(idle.get(), 100, 10);
  const auto writer = arbiter_->CreateTraceWriter(1);
  for (uint32_t i = 1; i <= 50; ++i)
    WriteChunk(writer.get(), i);
  EXPECT_EQ(Read(), "100 !36 37 38 39 40 41 42 43 44 45 46 47 48 49 50");
}

TEST_F(RingTest, AnIdleWriterKeepsWhatItsChunkNeeds) {
  const auto idle = arbiter_->CreateTraceWriter(1);
  const auto writer = arbiter_->CreateTraceWriter(1);
  WriteChunk(idle.get(), 100);
  Write(idle.get(), 101, 10);
  idle->KeepChunksFrom(idle->chunk_id());
  idle->ReturnChunk();
  Write(idle.get(), 102, 10);
  for (uint32_t i = 1; i <= 50; ++i)
    WriteChunk(writer.get(), i);
  EXPECT_EQ(Read(), "!101 102 !37 38 39 40 41 42 43 44 45 46 47 48 49 50");
  // Another part of the ring stays for as long as it would if it was written
  // now.
  Write(idle.get(), 103, 10);
  idle->KeepChunksFrom(idle->chunk_id() + 1);
  idle->ReturnChunk();
  for (uint32_t i = 51; i <= 56; ++i)
    WriteChunk(writer.get(), i);
  EXPECT_EQ(Read().substr(0, 12), "!101 102 103");
  for (uint32_t i = 57; i <= 80; ++i)
    WriteChunk(writer.get(), i);
  EXPECT_EQ(Read().substr(0, 3), "!65");
}

TEST_F(RingTest, AShortPacketIsWholeInItsChunk) {
  const auto writer = arbiter_->CreateTraceWriter(1);
  for (uint32_t i = 0; i < 1000; ++i) {
    Write(writer.get(), i, 1 + i * 37 % 120);
    const ABI::Chunk chunk = abi_.GetChunkUnchecked(
        writer->chunk_id() % abi_.num_pages(),
        abi_.GetPageWord(writer->chunk_id() % abi_.num_pages()), 0);
    EXPECT_EQ(chunk.header()->packets & ABI::kFirstPacketContinuesFromPrevChunk,
              0)
        << i;
  }
}

TEST_F(RingTest, AWriterThatEndsKeepsWhatItsChunkNeeds) {
  const auto writer = arbiter_->CreateTraceWriter(1);
  auto idle = arbiter_->CreateTraceWriter(1);
  WriteChunk(idle.get(), 101);
  idle->KeepChunksFrom(idle->chunk_id());
  Write(idle.get(), 102, 10);
  for (uint32_t i = 1; i <= 50; ++i)
    WriteChunk(writer.get(), i);
  idle.reset();
  for (uint32_t i = 51; i <= 56; ++i)
    WriteChunk(writer.get(), i);
  const std::string numbers = Read();
  EXPECT_EQ(numbers.substr(numbers.size() - 8), " 101 102");
}

TEST_F(RingTest, KeptChunksAreTakenBeforePacketsAreLost) {
  std::vector<std::unique_ptr<TraceWriter>> writers;
  for (uint32_t i = 0; i < 8; ++i) {
    writers.push_back(arbiter_->CreateTraceWriter(1));
    WriteChunk(writers.back().get(), i);
    writers.back()->KeepChunksFrom(writers.back()->chunk_id());
  }
  for (uint32_t i = 0; i < 8; ++i)
    Write(writers[i].get(), 10 + i, 10);
  EXPECT_EQ(Read(), "0 10 1 11 2 12 3 13 4 14 5 15 6 16 7 17");
  for (uint32_t i = 0; i < 8; ++i) {
    writers.push_back(arbiter_->CreateTraceWriter(1));
    Write(writers.back().get(), 20 + i, 10);
  }
  EXPECT_EQ(Read(), "!10 !11 !12 !13 !14 !15 !16 !17 20 21 22 23 24 25 26 27");
  EXPECT_EQ(NumLost(LossReason::kMemoryFull), 0u);
}

TEST_F(RingTest, APacketWithManyOpenMessagesIsPatchedInPlace) {
  const auto writer = arbiter_->CreateTraceWriter(1);
  const auto other = arbiter_->CreateTraceWriter(1);
  Write(other.get(), 1, 3500);
  Write(writer.get(), 2, 10 * kPageSize, 20);
  Write(other.get(), 3, 3500);
  EXPECT_EQ(Read(), "2 1 3");
}

TEST_F(RingTest, APacketThatIsLongerThanTheRingIsLost) {
  const auto writer = arbiter_->CreateTraceWriter(1);
  Write(writer.get(), 1, 20 * kPageSize, 3);
  Write(writer.get(), 2, 10);
  EXPECT_EQ(Read(), "!2");
  // Its first chunk is complete now, and goes the way of others.
  writer->ReturnChunk();
  for (uint32_t i = 0; i < 40; ++i)
    WriteChunk(writer.get(), 3);
  EXPECT_EQ(Read(), "!3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3");
}

class LargeRingTest : public RingTest {
 protected:
  static constexpr size_t kLimit = protozero::TracingLimits::kMaxPacketSize;

  LargeRingTest() : RingTest((kLimit + kLimit / 8) / kPageSize) {}
};

TEST_F(LargeRingTest, APacketBeyondTheLimitIsLost) {
  const auto writer = arbiter_->CreateTraceWriter(1);
  Write(writer.get(), 1, 10);
  Write(writer.get(), 2, kLimit);
  Write(writer.get(), 3, 10);
  EXPECT_EQ(Read(), "1 !3");
  EXPECT_EQ(stats_.packets_too_large, 1u);
  EXPECT_EQ(stats_.packets_torn, 0u);
}

TEST_F(RingTest, MoreWritersThanChunksLosePackets) {
  std::vector<std::unique_ptr<TraceWriter>> writers;
  for (uint32_t i = 0; i < 18; ++i) {
    writers.push_back(
        arbiter_->CreateTraceWriter(1, BufferExhaustedPolicy::kStall));
    Write(writers.back().get(), i, 10);
  }
  Write(writers[16].get(), 16, 10);
  // Only a search can tell that there is still no chunk.
  EXPECT_FALSE(writers[16]->LoseNextPacketIfExhausted());
  EXPECT_EQ(NumLost(LossReason::kMemoryFull), 3u);
  EXPECT_EQ(Read(), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15");
  writers[5].reset();
  Write(writers[16].get(), 16, 10);
  EXPECT_EQ(Read(), "0 1 2 3 4 6 7 8 9 10 11 12 13 14 15 16");
}

TEST_F(RingTest, AWriterThatHasEndedKeepsItsPackets) {
  for (uint32_t i = 1; i <= 3; ++i)
    Write(arbiter_->CreateTraceWriter(1).get(), i, 10);
  EXPECT_EQ(Read(), "1 2 3");
}

TEST_F(RingTest, AnyBytesCanBeRead) {
  std::mt19937_64 random(7);
  uint64_t num_read = 0;
  for (int i = 0; i < 100; ++i) {
    const uint32_t max_length = 1u << random() % 9;
    for (size_t pos = 0; pos < memory_.size(); ++pos)
      memory_.start()[pos] = static_cast<uint8_t>(random() % max_length);
    for (size_t page = 0; page < abi_.num_pages(); ++page) {
      const ABI::Chunk chunk(memory_.start() + page * kPageSize + 8,
                             kPageSize - 8, page, 0);
      const uint32_t word = static_cast<uint32_t>(
          uint32_t{ABI::kPageDiv1} << ABI::kLayoutShift | random() % 4);
      memcpy(memory_.start() + page * kPageSize, &word, sizeof(word));
      ABI::InitChunkForWriting(chunk, static_cast<WriterID>(random() % 4),
                               static_cast<ChunkID>(random() % 6),
                               static_cast<uint16_t>(random()));
    }
    const std::string packets = Read();
    const RingReader::Stats stats = stats_;
    EXPECT_EQ(stats.packets_read,
              packets.empty() ? 0u
                              : 1u + static_cast<size_t>(std::count(
                                         packets.begin(), packets.end(), ' ')));
    num_read += stats.packets_read;
    // Reading changes nothing.
    EXPECT_EQ(Read(), packets);
    EXPECT_EQ(stats_.chunks_corrupt, stats.chunks_corrupt);
    EXPECT_EQ(stats_.packets_torn, stats.packets_torn);
  }
  EXPECT_GT(num_read, 100u);
}

}  // namespace
}  // namespace protozero::test
