// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/chunk_reader.h"

#include <string.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "src/tracing/packet_sequence_reader.h"
#include "test/testing/hex.h"
#include "test/tracing/fake_service.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;

constexpr size_t kPageSize = 4096;

TEST(ReadRecordLengthTest, TakesUpToFourBytes) {
  const auto read = [](std::string_view hex) {
    const std::string bytes = FromHex(hex);
    const uint8_t* begin = reinterpret_cast<const uint8_t*>(bytes.data());
    uint32_t length = 0;
    const size_t size = ReadRecordLength(begin, begin + bytes.size(), &length);
    return std::make_pair(size, length);
  };
  using Result = std::pair<size_t, uint32_t>;
  EXPECT_EQ(read("00"), Result(1, 0));
  EXPECT_EQ(read("7f ff"), Result(1, 127));
  EXPECT_EQ(read("80 01"), Result(2, 128));
  EXPECT_EQ(read("85 80 80 00"), Result(4, 5));
  EXPECT_EQ(read("ff ff ff 7f"), Result(4, ABI::kPacketSizeDropPacket));
  EXPECT_EQ(read("85 80 80 80 00").first, 0u);
  EXPECT_EQ(read("").first, 0u);
  EXPECT_EQ(read("80").first, 0u);
  EXPECT_EQ(read("80 80 80").first, 0u);
}

TEST(ChunkCopyTest, PatchesStayWithinThePayload) {
  ChunkCopy copy;
  const uint8_t data[] = {1, 2, 3, 4};
  EXPECT_FALSE(copy.ApplyPatch(0, data));
  copy.payload.resize(6);
  EXPECT_TRUE(copy.ApplyPatch(2, data));
  EXPECT_EQ(Hex(copy.payload), "00 00 01 02 03 04");
  EXPECT_FALSE(copy.ApplyPatch(3, data));
  EXPECT_FALSE(copy.ApplyPatch(UINT32_MAX, data));
}

class ScrapeChunkTest : public testing::Test {
 protected:
  ScrapeChunkTest()
      : memory_(kPageSize),
        service_(memory_, kPageSize),
        arbiter_(memory_.start(), memory_.size(), kPageSize, &service_) {}

  SharedMemory memory_;
  FakeService service_;
  SharedMemoryArbiter arbiter_;
};

TEST_F(ScrapeChunkTest, TakesAllButTheLastPacket) {
  const ABI& abi = arbiter_.shmem_abi();
  ChunkCopy copy;
  auto writer = arbiter_.CreateTraceWriter(1);
  EXPECT_FALSE(ScrapeChunk(abi, 0, 0, &copy));
  {
    auto packet = writer->NewTracePacket();
    packet->AppendVarInt(1, 1u);
    EXPECT_FALSE(ScrapeChunk(abi, 0, 0, &copy));
  }
  writer->NewTracePacket()->AppendString(2, std::string(200, 'x'));
  {
    auto packet = writer->NewTracePacket();
    packet->AppendVarInt(1, 2u);
    ASSERT_TRUE(ScrapeChunk(abi, 0, 0, &copy));
    EXPECT_EQ(copy.num_packets, 2);
    EXPECT_EQ(copy.writer_id, 1);
    EXPECT_EQ(copy.payload.size(), 3 + 4 + 203u);
  }
  ASSERT_TRUE(ScrapeChunk(abi, 0, 0, &copy));
  EXPECT_EQ(copy.num_packets, 3);
  EXPECT_FALSE(ScrapeChunk(abi, 0, 1, &copy));
  EXPECT_FALSE(ScrapeChunk(abi, 1, 0, &copy));
  // Complete: to be read as a whole.
  writer->ReturnChunk();
  EXPECT_FALSE(ScrapeChunk(abi, 0, 0, &copy));
  arbiter_.FlushPendingCommitDataRequests();
  service_.DrainAll();
}

// The thread sanitizer sees it if something is read that is being written. (As
// it would if the chunk went to another use in the meantime; then what was
// copied is thrown away.)
TEST(ScrapeChunkThreadsTest, PacketsAreReadWhileTheNextOneIsWritten) {
  constexpr uint32_t kNumPackets = 1000;
  constexpr size_t kLargePage = ABI::kMaxPageSize;
  SharedMemory memory(kLargePage);
  FakeService service(memory, kLargePage);
  SharedMemoryArbiter arbiter(memory.start(), kLargePage, kLargePage, &service);
  std::atomic<bool> was_scraped{false};
  std::thread thread([&] {
    auto writer = arbiter.CreateTraceWriter(1);
    for (uint32_t i = 0; i < kNumPackets; ++i) {
      auto packet = writer->NewTracePacket();
      packet->AppendVarInt(1, i);
      packet->BeginNestedMessage<Message>(2)->AppendString(
          3, std::string(i % 50 == 0 ? 200 : 30, 'x'));
    }
    while (!was_scraped)
      std::this_thread::yield();
  });
  ChunkCopy copy;
  size_t num_packets = 0;
  while (num_packets < kNumPackets) {
    if (!ScrapeChunk(arbiter.shmem_abi(), 0, 0, &copy))
      continue;
    EXPECT_GE(copy.num_packets, num_packets);
    num_packets = copy.num_packets;
    uint32_t next = 0;
    PacketSequenceReader reader([&](std::string_view bytes, bool) {
      ProtoDecoder packet(bytes.data(), bytes.size());
      EXPECT_EQ(packet.FindField(1).as_uint32(), next++);
    });
    reader.AddChunk(copy);
    EXPECT_EQ(next, num_packets);
  }
  was_scraped = true;
  thread.join();
}

// Whatever a producer leaves in its memory, and whenever it changes it.
TEST(HostileProducerTest, RandomMemoryIsReadWithinItsBounds) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    // Of the exact size, so that the address sanitizer knows the bounds.
    const std::unique_ptr<uint64_t[]> words(new uint64_t[kPageSize / 8]);
    for (size_t i = 0; i < kPageSize / 8; ++i) {
      words[i] = random();
      // Small lengths make sense more often.
      if (round % 2 == 0)
        words[i] &= 0x8303018303830303;
    }
    uint8_t* const page = reinterpret_cast<uint8_t*>(words.get());
    const ABI abi(page, kPageSize, kPageSize);
    uint64_t packets = 0;
    PacketSequenceReader reader([&](std::string_view packet, bool) {
      ASSERT_LE(packet.size(), PacketSequenceReader::kMaxPacketSize);
      ++packets;
    });
    for (size_t i = 0; i < 16; ++i) {
      ChunkCopy copy;
      if (ScrapeChunk(abi, 0, i, &copy)) {
        ASSERT_LE(copy.payload.size(), kPageSize);
      }
      const ABI::Chunk chunk = abi.TryAcquireChunkForReading(0, i);
      if (!chunk.is_valid())
        continue;
      CopyChunk(chunk, &copy);
      abi.ReleaseChunkAsFree(chunk);
      const ChunkID chunk_id = copy.chunk_id;
      reader.AddChunk(std::move(copy));
      const uint8_t data[4] = {};
      reader.AddPatch(chunk_id, static_cast<uint32_t>(random()), data);
      if (random() % 2 == 0)
        reader.FinishPatching(chunk_id);
    }
    EXPECT_EQ(reader.stats().packets, packets);
  }
}

}  // namespace
}  // namespace protozero::test
