// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/shared_memory/chunk_reader.h"

#include <string.h>

#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "test/testing/hex.h"
#include "test/tracing/fake_service.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;

TEST(ReadFragmentLengthTest, TakesUpToFourBytes) {
  const auto read = [](std::string_view hex) {
    const std::string bytes = FromHex(hex);
    const uint8_t* begin = reinterpret_cast<const uint8_t*>(bytes.data());
    uint32_t length = 0;
    const size_t size =
        ReadFragmentLength(begin, begin + bytes.size(), &length);
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

TEST(ReadFragmentTest, TakesOnlyWhatIsThere) {
  std::string bytes;
  size_t offset = 0;
  const auto read = [&](std::string_view hex) {
    bytes = FromHex(hex);
    ConstBytes fragment;
    const FragmentKind kind =
        ReadFragment(ConstBytes(reinterpret_cast<const uint8_t*>(bytes.data()),
                                bytes.size()),
                     &offset, &fragment);
    return std::make_pair(kind, fragment.size);
  };
  const auto packet = [](size_t size) {
    return std::make_pair(FragmentKind::kPacket, size);
  };
  EXPECT_EQ(read("02 aa bb"), packet(2));
  EXPECT_EQ(offset, 3u);
  EXPECT_EQ(read("02 aa bb 81 00 cc"), packet(1));
  EXPECT_EQ(offset, 6u);
  EXPECT_EQ(read("02 aa bb 81 00 cc 00"), packet(0));
  EXPECT_EQ(offset, 7u);
  offset = 0;
  EXPECT_EQ(read("82 80 80 00 aa bb"), packet(2));
  EXPECT_EQ(offset, 6u);
  // These lengths are not complete, or too large for what is left.
  for (const char* const hex : {"", "80", "82 80 80 80 00 aa bb", "01", "02 aa",
                                "82 00 aa", "82 80 00 aa", "82 80 80 00 aa"}) {
    offset = 0;
    EXPECT_EQ(read(hex).first, FragmentKind::kCorrupt) << hex;
    EXPECT_EQ(offset, 0u) << hex;
  }
  EXPECT_EQ(read("ff ff ff 7f").first, FragmentKind::kDropMarker);
  EXPECT_EQ(offset, 4u);
}

TEST(CopySentChunkTest, TakesBytesThatAreAChunk) {
  ChunkCopy copy;
  std::string bytes =
      WithLittleEndianHeader(FromHex("03 02 01 00 05 04 02 1c 01 aa"));
  const auto take = [&](bool is_complete) {
    return CopySentChunk(
        ConstBytes(reinterpret_cast<const uint8_t*>(bytes.data()),
                   bytes.size()),
        is_complete, &copy);
  };
  // Nothing is left of the chunk that was read before.
  copy.is_scraped = true;
  copy.open_packet = OpenPacket::kOne;
  ASSERT_TRUE(take(true));
  EXPECT_EQ(copy.chunk_id, 0x010203u);
  EXPECT_FALSE(copy.is_scraped);
  EXPECT_EQ(copy.open_packet, OpenPacket::kUnknown);
  EXPECT_EQ(copy.writer_id, 0x0405);
  EXPECT_EQ(copy.num_packets, 2);
  EXPECT_TRUE(copy.continues_from_previous && copy.continues_on_next &&
              copy.needs_patching && copy.is_complete);
  EXPECT_EQ(Hex(copy.payload), "01 aa");
  // Less is known of a chunk that is being written.
  ASSERT_TRUE(take(false));
  EXPECT_EQ(copy.num_packets, 1);
  EXPECT_TRUE(copy.continues_from_previous);
  EXPECT_FALSE(copy.continues_on_next || copy.needs_patching ||
               copy.is_complete);
  bytes.replace(6, 2, 2, '\0');
  EXPECT_TRUE(take(false));
  EXPECT_EQ(copy.num_packets, 0);
  bytes.resize(8);
  EXPECT_TRUE(take(true));
  EXPECT_TRUE(copy.payload.empty());
  bytes.resize(7);
  EXPECT_FALSE(take(true));
  bytes.resize(ABI::kMaxPageSize + 1);
  EXPECT_FALSE(take(true));
}

// This covers all sizes and alignments of chunks.
TEST(CopySharedChunkTest, TakesAllBytesOfAChunk) {
  for (size_t page_size = ABI::kMinPageSize; page_size <= ABI::kMaxPageSize;
       page_size *= 2) {
    for (uint32_t layout = ABI::kPageDiv1; layout <= ABI::kPageDiv14;
         ++layout) {
      SharedMemory memory(page_size);
      const ABI abi(memory.start(), memory.size(), page_size);
      abi.TryPartitionPage(0, static_cast<ABI::PageLayout>(layout));
      for (size_t i = 0; i < ABI::kNumChunksForLayout[layout]; ++i) {
        const ABI::Chunk chunk =
            abi.TryAcquireChunkForWriting(0, ABI::PageLayout(layout));
        ABI::InitChunkForWriting(chunk, 1, static_cast<ChunkID>(i), 1);
        for (size_t k = 0; k < chunk.payload_size(); ++k)
          chunk.payload_begin()[k] = static_cast<uint8_t>(k * 7 + i);
        abi.ReleaseChunkAsComplete(chunk);
        ChunkCopy copy;
        CopySharedChunk(abi.TryAcquireChunkForReading(0, i), &copy);
        EXPECT_EQ(copy.chunk_id, i);
        EXPECT_EQ(Hex(copy.payload),
                  Hex(chunk.payload_begin(), chunk.payload_size()));
      }
    }
  }
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
  EXPECT_FALSE(ScrapeChunk(abi, 0, 0, WriterState::kAlive, &copy));
  {
    auto packet = writer->NewTracePacket();
    packet->AppendVarInt(1, 1u);
    EXPECT_FALSE(ScrapeChunk(abi, 0, 0, WriterState::kAlive, &copy));
  }
  writer->NewTracePacket()->AppendString(2, std::string(200, 'x'));
  {
    auto packet = writer->NewTracePacket();
    packet->AppendVarInt(1, 2u);
    ASSERT_TRUE(ScrapeChunk(abi, 0, 0, WriterState::kAlive, &copy));
    EXPECT_EQ(copy.num_packets, 2);
    EXPECT_EQ(copy.writer_id, 1);
    EXPECT_EQ(copy.payload.size(), 3 + 4 + 203u);
  }
  ASSERT_TRUE(ScrapeChunk(abi, 0, 0, WriterState::kAlive, &copy));
  EXPECT_EQ(copy.num_packets, 3);
  EXPECT_FALSE(ScrapeChunk(abi, 0, 1, WriterState::kAlive, &copy));
  EXPECT_FALSE(ScrapeChunk(abi, 1, 0, WriterState::kAlive, &copy));
  // Nothing is read of such a page, which is far beyond the memory.
  EXPECT_FALSE(ScrapeChunk(abi, SIZE_MAX / 2 / kPageSize, 0,
                           WriterState::kAlive, &copy));
  EXPECT_FALSE(copy.is_complete);
  // A complete chunk is read as a whole, and stays where it is.
  writer->ReturnChunk();
  const uint32_t word = abi.GetPageWord(0);
  ASSERT_TRUE(ScrapeChunk(abi, 0, 0, WriterState::kAlive, &copy));
  EXPECT_EQ(copy.num_packets, 4);
  EXPECT_EQ(copy.payload.size(), ABI::ChunkSize(kPageSize, ABI::kPageDiv1) - 8);
  EXPECT_TRUE(copy.is_complete);
  EXPECT_EQ(abi.GetPageWord(0), word);
  arbiter_.FlushPendingCommitDataRequests();
  service_.DrainAll();
}

// A hostile writer fills its chunk, which is the last of the memory, to the
// end.
TEST(ScrapeChunkEndTest, NothingIsReadBehindTheChunk) {
  SharedMemory memory(kPageSize);
  const ABI abi(memory.start(), memory.size(), kPageSize);
  ASSERT_TRUE(abi.TryPartitionPage(0, ABI::kPageDiv14));
  ABI::Chunk chunks[2];
  for (ABI::Chunk& chunk : chunks)
    chunk = abi.TryAcquireChunkForWriting(0, ABI::kPageDiv14);
  // The first byte after the first chunk is none of a packet.
  ABI::InitChunkForWriting(chunks[1], 0x7f7f, 0x7f7f7f7f, 1);
  const size_t size = chunks[0].payload_size();
  for (const size_t left : {0u, 1u, 2u, 3u}) {
    // A fragment ends |left| bytes before the end of the chunk.
    memset(chunks[0].payload_begin(), 0x11, size);
    const size_t length = size - left - 2;
    chunks[0].payload_begin()[0] = static_cast<uint8_t>(length | 0x80);
    chunks[0].payload_begin()[1] = static_cast<uint8_t>(length >> 7);
    ABI::InitChunkForWriting(chunks[0], 1, 0, 2);
    ChunkCopy copy;
    ASSERT_TRUE(ScrapeChunk(abi, 0, 0, WriterState::kGoneAndMarked, &copy));
    EXPECT_EQ(copy.num_packets, 1);
    EXPECT_EQ(copy.payload.size(), size - left);
    // A packet that has begun has its tag in the second byte.
    EXPECT_EQ(copy.open_packet,
              left < 2 ? OpenPacket::kNone : OpenPacket::kOne);
  }
}

// The thread sanitizer reports it if bytes are read while they are written. (It
// would also report it if the chunk went to another use in the meantime; then
// the copy is thrown away.)
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
    if (!ScrapeChunk(arbiter.shmem_abi(), 0, 0, WriterState::kAlive, &copy))
      continue;
    EXPECT_GE(copy.num_packets, num_packets);
    num_packets = copy.num_packets;
    uint32_t next = 0;
    size_t offset = 0;
    ConstBytes fragment;
    while (next < num_packets) {
      ASSERT_EQ(ReadFragment(copy.payload, &offset, &fragment),
                FragmentKind::kPacket);
      EXPECT_EQ(ProtoDecoder(fragment).FindField(1).as_uint32(), next++);
    }
  }
  was_scraped = true;
  thread.join();
}

}  // namespace
}  // namespace protozero::test
