// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/packet_reader.h"

#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/in_place_endpoint.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "test/testing/allocation_monitor.h"
#include "test/testing/hex.h"
#include "test/tracing/fake_service.h"
#include "test/tracing/numbered_packets.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;
using testing::Test;

// A test with chunks of 292 bytes, 284 of them for packets.
class PacketReaderTest : public Test {
 protected:
  explicit PacketReaderTest(size_t num_pages = 2,
                            ABI::PageLayout layout = ABI::kPageDiv14)
      : memory_(num_pages * kPageSize),
        endpoint_(memory_.start(), memory_.size(), kPageSize) {
    SharedMemoryArbiter::Options options;
    options.page_layout = layout;
    // Each chunk is committed by itself.
    options.commit_batch_bytes = 1;
    arbiter_ = std::make_unique<SharedMemoryArbiter>(
        memory_.start(), memory_.size(), kPageSize, &endpoint_, options);
    writer_ = arbiter_->CreateTraceWriter(1);
    Restart({});
  }

  void Restart(const PacketReader::Options& options) {
    reader_ = std::make_unique<PacketReader>(abi(), options);
  }

  const ABI& abi() const { return arbiter_->shmem_abi(); }
  PacketReader::Stats stats() const { return reader_->stats(); }

  void Write(TraceWriter* writer, uint32_t number, size_t size = 0) {
    auto packet = writer->NewTracePacket();
    packet->AppendVarInt(1, number);
    if (size != 0)
      packet->AppendString(2, std::string(size, 'x'));
  }
  void Write(uint32_t number, size_t size = 0) {
    Write(writer_.get(), number, size);
  }

  // Returns the numbers of all packets there are, with a ! before each one that
  // says that something is missing before it.
  std::string Read() {
    std::string numbers;
    reader_->ReadPackets([&](const PacketReader::Packet& packet) {
      ProtoDecoder decoder(packet.bytes);
      numbers += numbers.empty() ? "" : " ";
      numbers += packet.previous_packet_dropped ? "!" : "";
      numbers += std::to_string(decoder.FindField(1).as_uint32());
      for (Field field = decoder.ReadField(); field;
           field = decoder.ReadField()) {
        if (field.id() == 2)
          bytes_read_ += field.size();
      }
      EXPECT_EQ(decoder.status(), DecodeStatus::kOk);
      last_writer_id_ = packet.writer_id;
    });
    return numbers;
  }

  // Writes any chunk, even one that no TraceWriter would write, complete or
  // not.
  ABI::Chunk WriteChunk(WriterID writer_id,
                        ChunkID chunk_id,
                        uint16_t packets,
                        std::string_view payload_hex,
                        bool is_complete = true) {
    const std::string payload = FromHex(payload_hex);
    for (size_t page = 0; page < abi().num_pages(); ++page) {
      abi().TryPartitionPage(page, ABI::kPageDiv14);
      const ABI::Chunk chunk =
          abi().TryAcquireChunkForWriting(page, ABI::kPageDiv14);
      if (!chunk.is_valid())
        continue;
      memcpy(chunk.payload_begin(), payload.data(), payload.size());
      ABI::InitChunkForWriting(chunk, writer_id, chunk_id, packets);
      if (is_complete) {
        abi().ReleaseChunkAsComplete(chunk);
        Commit(chunk);
      }
      return chunk;
    }
    ADD_FAILURE() << "there is no free chunk";
    return ABI::Chunk();
  }

  void Commit(const ABI::Chunk& chunk) {
    const CommitDataRequest::ChunkToMove move = {
        static_cast<uint32_t>(chunk.page_idx()),
        static_cast<uint32_t>(chunk.chunk_idx()), 1};
    endpoint_.CommitData({&move, 1, nullptr, 0});
  }

  size_t NumChunksInUse() const {
    size_t count = 0;
    for (size_t page = 0; page < abi().num_pages(); ++page) {
      const uint32_t word = abi().GetPageWord(page);
      for (size_t i = 0; i < ABI::kNumChunksForLayout[ABI::LayoutOf(word)]; ++i)
        count += ABI::StateOf(word, i) != ABI::kChunkFree;
    }
    return count;
  }

  const SharedMemory memory_;
  InPlaceEndpoint endpoint_;
  std::unique_ptr<SharedMemoryArbiter> arbiter_;
  std::unique_ptr<TraceWriter> writer_;
  std::unique_ptr<PacketReader> reader_;
  size_t bytes_read_ = 0;
  WriterID last_writer_id_ = 0;
};

TEST_F(PacketReaderTest, GivesAPacketAsSoonAsItIsComplete) {
  PacketReader::Packet packet;
  EXPECT_FALSE(reader_->TryNext(&packet));
  {
    auto message = writer_->NewTracePacket();
    message->AppendVarInt(1, 150u);
    EXPECT_FALSE(reader_->TryNext(&packet));
    message->BeginNestedMessage<Message>(2)->AppendVarInt(3, 1u);
    EXPECT_FALSE(reader_->TryNext(&packet));
  }
  ASSERT_TRUE(reader_->TryNext(&packet));
  EXPECT_EQ(Hex(packet.bytes.ToStdStringView()), "08 96 01 12 02 18 01");
  EXPECT_EQ(packet.writer_id, writer_->writer_id());
  EXPECT_FALSE(packet.previous_packet_dropped);
  EXPECT_FALSE(reader_->TryNext(&packet));
  Write(7);
  ASSERT_TRUE(reader_->TryNext(&packet));
  EXPECT_EQ(Hex(packet.bytes.ToStdStringView()), "08 07");
  EXPECT_EQ(stats().packets_read, 2u);
}

TEST_F(PacketReaderTest, FreesChunksThatItHasRead) {
  for (uint32_t i = 0; i < 10000; ++i) {
    Write(i, i % 100);
    ASSERT_EQ(Read(), std::to_string(i));
    ASSERT_LE(NumChunksInUse(), 2u);
  }
  writer_->ReturnChunk();
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(NumChunksInUse(), 0u);
  EXPECT_EQ(writer_->packets_lost(), 0u);
}

TEST_F(PacketReaderTest, ChunksAreFreeWhenTheyAreReadAndCommitted) {
  const ABI::Chunk first = WriteChunk(1, 0, 2, "02 08 01 00", false);
  EXPECT_EQ(Read(), "1");
  abi().ReleaseChunkAsComplete(first);
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(NumChunksInUse(), 1u);
  Restart({});
  EXPECT_EQ(Read(), "");
  Commit(first);
  EXPECT_EQ(NumChunksInUse(), 0u);

  const ABI::Chunk second = WriteChunk(1, 1, 2, "02 08 02 00");
  EXPECT_EQ(NumChunksInUse(), 1u);
  EXPECT_EQ(Read(), "2");
  EXPECT_EQ(NumChunksInUse(), 0u);
  // These chunks are not there any more, or never were.
  Commit(second);
  endpoint_.CommitData({nullptr, 0, nullptr, 0});
  const CommitDataRequest::ChunkToMove moves[] = {{99, 0, 1}, {0, 99, 1}};
  endpoint_.CommitData({moves, 2, nullptr, 0});
  EXPECT_EQ(NumChunksInUse(), 0u);
}

TEST_F(PacketReaderTest, ReadsWhatHasPiledUp) {
  std::string expected;
  for (uint32_t i = 0; i < 100; ++i) {
    Write(i, 50);
    expected += (i == 0 ? "" : " ") + std::to_string(i);
  }
  EXPECT_EQ(Read(), expected);
}

TEST_F(PacketReaderTest, EmptyPacketsAreLeftOut) {
  writer_->NewTracePacket();
  Write(1);
  writer_->NewTracePacket();
  writer_->ReturnChunk();
  EXPECT_EQ(Read(), "1");
  EXPECT_EQ(stats().packets_read, 1u);
}

TEST_F(PacketReaderTest, ReadsNoMoreThanIsWanted) {
  for (uint32_t i = 0; i < 5; ++i)
    Write(i);
  const auto ignore = [](const PacketReader::Packet&) {};
  EXPECT_EQ(reader_->ReadPackets(ignore, 3), 3u);
  EXPECT_EQ(reader_->ReadPackets(ignore, 3), 2u);
  EXPECT_EQ(reader_->ReadPackets(ignore), 0u);
}

// The packets have all sizes around those of one to six chunks. The sizes of
// messages are stored in chunks that are held back, or later if there are more
// chunks.
TEST_F(PacketReaderTest, PutsPacketsTogether) {
  for (size_t size = 200; size < 1800; size += 3) {
    {
      auto packet = writer_->NewTracePacket();
      packet->AppendVarInt(1, 1u);
      Message* const nested = packet->BeginNestedMessage<Message>(3);
      nested->AppendString(2, std::string(size / 2, 'x'));
      nested->BeginNestedMessage<Message>(4)->AppendString(
          5, std::string(size / 2, 'y'));
      EXPECT_EQ(Read(), "");
    }
    PacketReader::Packet packet;
    ASSERT_TRUE(reader_->TryNext(&packet)) << size;
    ProtoDecoder decoder(packet.bytes);
    ProtoDecoder nested(decoder.FindField(3).as_bytes());
    EXPECT_EQ(nested.FindField(2).as_std_string(), std::string(size / 2, 'x'));
    ProtoDecoder inner(nested.FindField(4).as_bytes());
    EXPECT_EQ(inner.FindField(5).as_std_string(), std::string(size / 2, 'y'));
    Write(2);
    EXPECT_EQ(Read(), "2");
  }
  EXPECT_EQ(writer_->packets_lost(), 0u);
  EXPECT_EQ(stats().packets_torn, 0u);
}

TEST_F(PacketReaderTest, APacketWaitsForItsPatches) {
  {
    auto packet = writer_->NewTracePacket();
    packet->AppendVarInt(1, 1u);
    Message* const nested = packet->BeginNestedMessage<Message>(3);
    // These are more chunks than the writer holds back.
    for (int i = 0; i < 30; ++i)
      nested->AppendString(2, std::string(60, 'x'));
    EXPECT_EQ(Read(), "");
    bool needs_patching = false;
    for (size_t i = 0; i < 14; ++i) {
      needs_patching |= (abi()
                             .GetChunkUnchecked(0, abi().GetPageWord(0), i)
                             .header()
                             ->packets &
                         ABI::kChunkNeedsPatching) != 0;
    }
    EXPECT_TRUE(needs_patching);
  }
  EXPECT_EQ(Read(), "1");
}

// The whole packet is never in the memory at the same time.
TEST_F(PacketReaderTest, APacketMayBeLargerThanTheMemory) {
  {
    auto packet = writer_->NewTracePacket();
    packet->AppendVarInt(1, 1u);
    for (int i = 0; i < 1000; ++i) {
      packet->AppendString(2, std::string(100, 'x'));
      EXPECT_EQ(Read(), "");
    }
  }
  EXPECT_EQ(Read(), "1");
  EXPECT_EQ(bytes_read_, 100000u);
}

TEST_F(PacketReaderTest, PacketsThatAreTooLongAreLost) {
  PacketReader::Options options;
  options.max_packet_size = 1000;
  Restart(options);
  const auto write = [this](size_t size) {
    auto packet = writer_->NewTracePacket();
    packet->AppendVarInt(1, 1u);
    // The length of the string takes two bytes.
    packet->AppendString(2, std::string(size - 5, 'x'));
  };
  write(1000);
  EXPECT_EQ(Read(), "1");
  write(1001);
  write(3000);
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(stats().packets_too_long, 2u);
  Write(2);
  Write(3);
  EXPECT_EQ(Read(), "!2 3");

  options.max_packet_size = 10;
  Restart(options);
  Write(4, 6);
  Write(5, 7);
  Write(6);
  // The last chunk begins with the rest of a packet.
  EXPECT_EQ(Read(), "!2 3 4 !6");
  EXPECT_EQ(stats().packets_too_long, 1u);
}

TEST_F(PacketReaderTest, PacketsThatTheWriterGivesUpAreLost) {
  Write(1);
  // This packet is longer than all chunks.
  Write(2, 10000);
  Write(3);
  EXPECT_EQ(Read(), "1");
  EXPECT_EQ(stats().packets_abandoned, 1u);
  EXPECT_EQ(writer_->packets_lost(), 2u);
  EXPECT_EQ(NumChunksInUse(), 0u);
  Write(4);
  EXPECT_EQ(Read(), "!4");
  EXPECT_EQ(stats().packets_torn, 0u);
}

TEST_F(PacketReaderTest, ReadsAllWritersInTurn) {
  auto second = arbiter_->CreateTraceWriter(1);
  auto third = arbiter_->CreateTraceWriter(1);
  for (uint32_t i = 0; i < 3; ++i) {
    Write(10 + i);
    Write(second.get(), 20 + i);
    Write(third.get(), 30 + i);
  }
  // The second writer's chunk is on the second page.
  EXPECT_EQ(Read(), "10 30 20 11 31 21 12 32 22");
  // A writer that never lets up does not keep the reader from another.
  Write(second.get(), 23, 100);
  std::string numbers;
  auto fourth = arbiter_->CreateTraceWriter(1);
  Write(fourth.get(), 40);
  bool was_seen = false;
  for (uint32_t i = 0; i < 1000 && !was_seen; ++i) {
    Write(i, 100);
    PacketReader::Packet packet;
    ASSERT_TRUE(reader_->TryNext(&packet));
    was_seen = packet.writer_id == fourth->writer_id();
  }
  EXPECT_TRUE(was_seen);
}

TEST_F(PacketReaderTest, FollowsOneWriter) {
  auto second = arbiter_->CreateTraceWriter(1);
  PacketReader::Options options;
  options.writer_id = second->writer_id();
  Restart(options);
  PacketReader::Options other_options;
  other_options.writer_id = writer_->writer_id();
  PacketReader other(abi(), other_options);
  for (uint32_t i = 0; i < 300; ++i) {
    Write(1, 60);
    Write(second.get(), 2, 50);
    ASSERT_EQ(Read(), "2");
    ASSERT_EQ(other.ReadPackets([](const PacketReader::Packet&) {}), 1u);
  }
  Write(1);
  Write(second.get(), 2);
  writer_->ReturnChunk();
  second->ReturnChunk();
  EXPECT_EQ(Read(), "2");
  EXPECT_EQ(last_writer_id_, second->writer_id());
  // The other writer's chunk stays.
  EXPECT_EQ(NumChunksInUse(), 1u);
  EXPECT_EQ(Read(), "");
}

TEST_F(PacketReaderTest, WritersThatAreTooManyHaveToWait) {
  PacketReader::Options options;
  options.max_writers = 2;
  Restart(options);
  auto second = arbiter_->CreateTraceWriter(1);
  auto third = arbiter_->CreateTraceWriter(1);
  Write(1);
  // The second writer's chunk is on the second page.
  Write(third.get(), 2);
  Write(second.get(), 3);
  EXPECT_EQ(Read(), "1 2");
  writer_->ReturnChunk();
  EXPECT_EQ(Read(), "3");
  // Any number of writers may come one after the other.
  third.reset();
  for (uint32_t i = 0; i < 100; ++i) {
    Write(arbiter_->CreateTraceWriter(1).get(), i);
    ASSERT_EQ(Read(), std::to_string(i));
  }
  EXPECT_EQ(stats().chunk_gaps, 0u);
}

TEST_F(PacketReaderTest, ANewReaderBeginsWithTheOldestChunk) {
  // The ids wrap around here, and their order is not that of the chunks.
  WriteChunk(1, 1, 1, "02 08 04");
  WriteChunk(1, UINT32_MAX, 1, "02 08 02");
  WriteChunk(1, 0, 1, "02 08 03");
  WriteChunk(1, UINT32_MAX - 1, 1, "02 08 01");
  WriteChunk(1, 2, 2, "02 08 05", false);
  EXPECT_EQ(Read(), "1 2 3 4 5");
  EXPECT_EQ(stats().chunk_gaps, 0u);
  EXPECT_EQ(NumChunksInUse(), 1u);
}

TEST_F(PacketReaderTest, PacketsGoOnWhereIdsWrapAround) {
  WriteChunk(1, UINT32_MAX, 1 | ABI::kLastPacketContinuesOnNextChunk, "01 08");
  WriteChunk(1, 0, 2 | ABI::kFirstPacketContinuesFromPrevChunk,
             "01 01 02 08 02");
  EXPECT_EQ(Read(), "1 2");
  EXPECT_EQ(stats().chunk_gaps, 0u);
  WriteChunk(2, UINT32_MAX, 1, "02 08 03");
  WriteChunk(2, 1, 1, "02 08 04");
  EXPECT_EQ(Read(), "3 !4");
  EXPECT_EQ(stats().chunk_gaps, 1u);
}

TEST_F(PacketReaderTest, ADropMarkerThatBeginsAPacketEndsTheOneBefore) {
  WriteChunk(1, 0, 1 | ABI::kLastPacketContinuesOnNextChunk, "02 08 01");
  WriteChunk(1, 1, 1, "ff ff ff 7f");
  WriteChunk(1, 2, 1, "02 08 03");
  EXPECT_EQ(Read(), "!3");
  EXPECT_EQ(stats().packets_torn, 1u);
  EXPECT_EQ(stats().packets_abandoned, 1u);
}

TEST_F(PacketReaderTest, AReaderThatComesLateHasNoBeginning) {
  WriteChunk(1, 5, 2 | ABI::kFirstPacketContinuesFromPrevChunk,
             "02 08 01 02 08 02");
  EXPECT_EQ(Read(), "!2");
  EXPECT_EQ(stats().packets_torn, 1u);
}

TEST_F(PacketReaderTest, ChunksMayBeMissing) {
  WriteChunk(1, 5, 1, "02 08 01");
  EXPECT_EQ(Read(), "1");
  WriteChunk(1, 7, 1, "02 08 03");
  EXPECT_EQ(Read(), "!3");
  EXPECT_EQ(stats().chunk_gaps, 1u);
  // This gap is in the middle of a packet.
  WriteChunk(1, 8, 1 | ABI::kLastPacketContinuesOnNextChunk, "02 08 04");
  WriteChunk(1, 10, 2 | ABI::kFirstPacketContinuesFromPrevChunk,
             "02 08 05 02 08 06");
  EXPECT_EQ(Read(), "!6");
  EXPECT_EQ(stats().packets_torn, 1u);
  // The packet does not continue, or was never begun.
  WriteChunk(1, 11, 1 | ABI::kLastPacketContinuesOnNextChunk, "02 08 07");
  WriteChunk(1, 12, 1, "02 08 08");
  EXPECT_EQ(Read(), "!8");
  WriteChunk(1, 13, 2 | ABI::kFirstPacketContinuesFromPrevChunk,
             "02 08 09 02 08 0a");
  EXPECT_EQ(Read(), "!10");
  EXPECT_EQ(stats().packets_torn, 3u);
  // Ids begin again, like those of another arbiter.
  WriteChunk(1, 0, 1, "02 08 0b");
  WriteChunk(1, 1, 1, "02 08 0c");
  EXPECT_EQ(Read(), "!11 12");
  EXPECT_EQ(stats().chunk_gaps, 3u);
  EXPECT_EQ(NumChunksInUse(), 0u);
}

TEST_F(PacketReaderTest, ChunksMayBeCorrupt) {
  // One fragment is longer than the chunk; one length does not end.
  WriteChunk(1, 0, 3, "02 08 01 ff 7f 02 08 02");
  WriteChunk(1, 1, 1, "02 08 03");
  WriteChunk(1, 2, 2, "02 08 04 ff ff ff ff 7f");
  WriteChunk(1, 3, 1, "02 08 05");
  EXPECT_EQ(Read(), "1 !3 4 !5");
  EXPECT_EQ(stats().chunks_corrupt, 2u);
  // The chunk claims more packets than it has room for. They are empty ones, up
  // to its end.
  WriteChunk(1, 4, 1023, "02 08 06");
  EXPECT_EQ(Read(), "6");
  EXPECT_EQ(stats().chunks_corrupt, 3u);
  // No writer has these ids.
  WriteChunk(0, 4, 1, "02 08 07");
  WriteChunk(kMaxWriterID + 1, 4, 1, "02 08 07");
  EXPECT_EQ(Read(), "");
  EXPECT_EQ(stats().chunks_corrupt, 5u);
  EXPECT_EQ(NumChunksInUse(), 0u);
  // This chunk has no packet, where one was to go on.
  WriteChunk(1, 5, 1 | ABI::kLastPacketContinuesOnNextChunk, "02 08 07");
  WriteChunk(1, 6, 0 | ABI::kFirstPacketContinuesFromPrevChunk, "");
  WriteChunk(1, 7, 2 | ABI::kFirstPacketContinuesFromPrevChunk,
             "02 10 08 02 08 09");
  EXPECT_EQ(Read(), "!7 9");
}

TEST_F(PacketReaderTest, AChunkMayBeTakenAway) {
  const ABI::Chunk chunk = WriteChunk(1, 0, 3, "02 08 01 02 08 02", false);
  EXPECT_EQ(Read(), "1 2");
  abi().ReleaseChunkAsComplete(chunk);
  const ABI::Chunk taken = abi().TryAcquireChunkForReading(0, 0);
  ASSERT_TRUE(abi().ReleaseChunkAsFree(taken));
  EXPECT_EQ(Read(), "");
  WriteChunk(1, 1, 1, "02 08 03");
  EXPECT_EQ(Read(), "!3");
  EXPECT_EQ(stats().chunks_corrupt, 1u);
}

TEST_F(PacketReaderTest, ALastPacketThatIsNotPatchedHoldsItsWriterUp) {
  const ABI::Chunk chunk =
      WriteChunk(1, 0, 2 | ABI::kChunkNeedsPatching, "02 08 01 02 08 00");
  WriteChunk(1, 1, 1, "02 08 03");
  WriteChunk(2, 0, 1, "02 08 04");
  EXPECT_EQ(Read(), "1 4");
  CommitDataRequest::Patch patch = {6, {0x02, 0, 0, 0}};
  CommitDataRequest::ChunkToPatch patches = {1, 1, 0, &patch, 1};
  const auto commit = [&] {
    endpoint_.CommitData({nullptr, 0, &patches, 1});
    return Read();
  };
  // The patches are for another chunk, or not the last ones, or out of bounds.
  // No writer sends such patches to itself.
  patches.chunk_id = 1;
  EXPECT_EQ(commit(), "");
  patches.chunk_id = 0;
  patches.writer_id = 2;
  EXPECT_EQ(commit(), "");
  patches.writer_id = 1;
  patches.has_more_patches = true;
  patch.offset = 5;
  EXPECT_EQ(commit(), "");
  patch.offset = static_cast<uint32_t>(chunk.payload_size()) - 3;
  EXPECT_EQ(commit(), "");
  patch.offset = UINT32_MAX;
  patches.has_more_patches = false;
  EXPECT_EQ(commit(), "2 3");
}

TEST_F(PacketReaderTest, AllocatesNothingForAPacket) {
  size_t num_packets = 0;
  for (int round = 0; round < 3; ++round) {
    AllocationCounter counter;
    for (uint32_t i = 0; i < 200; ++i) {
      {
        auto message = writer_->NewTracePacket();
        for (uint32_t k = 0; k < i; ++k)
          message->AppendVarInt(1, uint64_t{1} << 60);
      }
      num_packets += reader_->ReadPackets([](const PacketReader::Packet&) {});
    }
    if (round > 0) {
      EXPECT_EQ(counter.count(), 0u);
    }
  }
  EXPECT_EQ(num_packets, 600u - 3);  // One packet of each round is empty.
}

TEST(PacketReaderMemoryTest, MayBeEmpty) {
  PacketReader reader{ABI()};
  PacketReader::Packet packet;
  EXPECT_FALSE(reader.TryNext(&packet));
}

// Random packets are written and read in a random order, in chunks of all
// sizes. The reader has to get exactly what was written.
TEST(PacketReaderModelTest, WhatIsReadIsWhatWasWritten) {
  constexpr uint32_t kMaxSize = 20000;
  constexpr uint32_t kNumWriters = 3;
  constexpr uint32_t kNumSteps = 400;
  std::mt19937 random(1);
  for (const size_t page_size : {4096u, 8192u, 65536u}) {
    for (uint32_t layout = ABI::kPageDiv1; layout <= ABI::kPageDiv14;
         ++layout) {
      SharedMemory memory(32 * page_size);
      InPlaceEndpoint endpoint(memory.start(), memory.size(), page_size);
      SharedMemoryArbiter::Options options;
      options.page_layout = static_cast<ABI::PageLayout>(layout);
      SharedMemoryArbiter arbiter(memory.start(), memory.size(), page_size,
                                  &endpoint, options);
      // Each writer writes a stream of its own: there is no order among them.
      struct Stream {
        std::unique_ptr<TraceWriter> writer;
        uint32_t number;
        uint32_t num_written = 0;
      };
      Stream streams[kNumWriters];
      uint32_t num_streams = 0;
      uint64_t num_lost = 0;
      PacketReader reader(arbiter.shmem_abi());
      PacketChecker checker(kMaxSize);
      const auto check = [&](const PacketReader::Packet& packet) {
        EXPECT_FALSE(packet.previous_packet_dropped);
        checker.AddPacket(packet.bytes);
      };
      for (uint32_t step = 0; step < kNumSteps; ++step) {
        Stream& stream = streams[random() % kNumWriters];
        if (stream.writer == nullptr)
          stream = {arbiter.CreateTraceWriter(1), num_streams++};
        WriteNumberedPacket(stream.number, stream.num_written++, kMaxSize,
                            stream.writer->NewTracePacket().get());
        if (random() % 16 == 0)
          stream.writer->ReturnChunk();
        num_lost += stream.writer->packets_lost();
        if (random() % 64 == 0)
          stream.writer.reset();
        reader.ReadPackets(check, step % 8 == 0 ? SIZE_MAX : random() % 4);
      }
      reader.ReadPackets(check);
      EXPECT_EQ(num_lost, 0u);
      EXPECT_EQ(checker.errors(), "");
      EXPECT_EQ(checker.received(), kNumSteps);
      EXPECT_EQ(reader.stats().chunk_gaps, 0u);
      EXPECT_EQ(reader.stats().chunks_corrupt, 0u);
    }
  }
}

// The reader has to come to an end, and stay within its limits, whatever is in
// the memory.
TEST(PacketReaderHostileTest, AnyBytesAreHarmless) {
  constexpr size_t kNumPages = 4;
  std::mt19937 random(2);
  uint64_t num_packets = 0;
  for (int run = 0; run < 2000; ++run) {
    SharedMemory memory(kNumPages * kPageSize);
    const ABI abi(memory.start(), memory.size(), kPageSize);
    PacketReader::Options options;
    options.max_packet_size = 600;
    options.max_writers = 3;
    PacketReader reader(abi, options);
    for (int step = 0; step < 20; ++step) {
      const size_t page = random() % kNumPages;
      // Most of these words make sense. Other bytes follow them.
      const size_t layout = 1 + random() % (random() % 8 == 0 ? 7 : 5);
      const uint32_t word = static_cast<uint32_t>(
          layout << ABI::kLayoutShift | (random() & ABI::kAllChunksMask));
      memcpy(memory.start() + page * kPageSize, &word, sizeof(word));
      for (size_t i = 0; i < ABI::kMaxChunksPerPage; ++i) {
        const ABI::Chunk chunk = abi.GetChunkUnchecked(page, word, i);
        if (!chunk.is_valid())
          break;
        const size_t flags = random();
        ABI::InitChunkForWriting(
            chunk, static_cast<WriterID>(random() % 6),
            static_cast<ChunkID>(random() % 4),
            static_cast<uint16_t>(random() % 8 | (flags & 0x1c00)));
        for (size_t k = 0; k < 16; ++k)
          chunk.payload_begin()[k] = static_cast<uint8_t>(random() % 16);
      }
      for (int k = 0; k < 3; ++k)
        memory.start()[random() % memory.size()] =
            static_cast<uint8_t>(random());
      num_packets += reader.ReadPackets(
          [&](const PacketReader::Packet& packet) {
            EXPECT_LE(packet.bytes.size, options.max_packet_size);
            EXPECT_NE(packet.bytes.size, 0u);
          },
          random() % 50);
    }
    // No writer is left, so there is an end.
    const size_t limit = kNumPages * kPageSize;
    EXPECT_LT(reader.ReadPackets([](const PacketReader::Packet&) {}, limit),
              limit);
  }
  EXPECT_GT(num_packets, 10000u);
}

}  // namespace
}  // namespace protozero::test
