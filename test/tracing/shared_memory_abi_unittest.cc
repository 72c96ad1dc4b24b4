// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/shared_memory_abi.h"

#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"
#include "test/tracing/fake_service.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;

// The size of a page, a layout, and the size that the protocol gives to a
// chunk.
struct Geometry {
  size_t page_size;
  ABI::PageLayout layout;
  size_t num_chunks;
  size_t chunk_size;
};

constexpr Geometry kGeometries[] = {
    {4096, ABI::kPageDiv1, 1, 4088},    {4096, ABI::kPageDiv2, 2, 2044},
    {4096, ABI::kPageDiv4, 4, 1020},    {4096, ABI::kPageDiv7, 7, 584},
    {4096, ABI::kPageDiv14, 14, 292},   {8192, ABI::kPageDiv1, 1, 8184},
    {8192, ABI::kPageDiv2, 2, 4092},    {8192, ABI::kPageDiv4, 4, 2044},
    {8192, ABI::kPageDiv7, 7, 1168},    {8192, ABI::kPageDiv14, 14, 584},
    {16384, ABI::kPageDiv1, 1, 16376},  {16384, ABI::kPageDiv2, 2, 8188},
    {16384, ABI::kPageDiv4, 4, 4092},   {16384, ABI::kPageDiv7, 7, 2336},
    {16384, ABI::kPageDiv14, 14, 1168}, {32768, ABI::kPageDiv1, 1, 32760},
    {32768, ABI::kPageDiv2, 2, 16380},  {32768, ABI::kPageDiv4, 4, 8188},
    {32768, ABI::kPageDiv7, 7, 4680},   {32768, ABI::kPageDiv14, 14, 2340},
    {65536, ABI::kPageDiv1, 1, 65528},  {65536, ABI::kPageDiv14, 14, 4680},
};

uint32_t Word(uint8_t* page) {
  uint32_t word;
  memcpy(&word, page, sizeof(word));
  return word;
}

class SharedMemoryABIGeometryTest : public testing::TestWithParam<Geometry> {};

TEST_P(SharedMemoryABIGeometryTest, ChunksLieSideBySideInThePage) {
  const auto [page_size, layout, num_chunks, chunk_size] = GetParam();
  SharedMemory memory(3 * page_size);
  const ABI abi(memory.start(), memory.size(), page_size);
  ASSERT_EQ(abi.num_pages(), 3u);
  for (size_t page = 0; page < 3; ++page) {
    ASSERT_TRUE(abi.TryPartitionPage(page, layout));
    uint8_t* pos = memory.start() + page * page_size + 8;
    for (size_t i = 0; i < num_chunks; ++i) {
      const ABI::Chunk chunk = abi.TryAcquireChunkForWriting(page, layout);
      ASSERT_TRUE(chunk.is_valid());
      EXPECT_EQ(chunk.page_idx(), page);
      EXPECT_EQ(chunk.chunk_idx(), i);
      EXPECT_EQ(chunk.begin(), pos);
      EXPECT_EQ(chunk.size(), chunk_size);
      EXPECT_EQ(chunk.payload_begin(), pos + 8);
      EXPECT_EQ(chunk.payload_size(), chunk_size - 8);
      pos += chunk_size;
    }
    EXPECT_LE(pos, memory.start() + (page + 1) * page_size);
    EXPECT_FALSE(abi.TryAcquireChunkForWriting(page, layout).is_valid());
  }
}

TEST_P(SharedMemoryABIGeometryTest, StatesGoAroundAndThePageIsFreeInTheEnd) {
  const auto [page_size, layout, num_chunks, chunk_size] = GetParam();
  SharedMemory memory(page_size);
  const ABI abi(memory.start(), memory.size(), page_size);
  ASSERT_TRUE(abi.TryPartitionPage(0, layout));
  std::vector<ABI::Chunk> chunks;
  uint32_t word = static_cast<uint32_t>(layout) << 28;
  EXPECT_EQ(Word(memory.start()), word);
  for (size_t i = 0; i < num_chunks; ++i) {
    chunks.push_back(abi.TryAcquireChunkForWriting(0, layout));
    word |= 1u << (2 * i);
    EXPECT_EQ(Word(memory.start()), word);
    ABI::InitChunkForWriting(chunks[i], 7, 8, 9);
  }
  for (size_t i = num_chunks; i-- > 0;) {
    EXPECT_FALSE(abi.TryAcquireChunkForReading(0, i).is_valid());
    EXPECT_TRUE(abi.ReleaseChunkAsComplete(chunks[i]));
    EXPECT_FALSE(abi.ReleaseChunkAsComplete(chunks[i]));
    word |= 3u << (2 * i);
    EXPECT_EQ(Word(memory.start()), word);
  }
  for (size_t i = 0; i < num_chunks; ++i) {
    const ABI::Chunk chunk = abi.TryAcquireChunkForReading(0, i);
    ASSERT_TRUE(chunk.is_valid());
    EXPECT_EQ(chunk.begin(), chunks[i].begin());
    EXPECT_FALSE(abi.TryAcquireChunkForReading(0, i).is_valid());
    word ^= 1u << (2 * i);
    EXPECT_EQ(Word(memory.start()), word);
    EXPECT_TRUE(abi.ReleaseChunkAsFree(chunk));
    EXPECT_FALSE(abi.ReleaseChunkAsFree(chunk));
    word &= ~(3u << (2 * i));
    EXPECT_EQ(Word(memory.start()), i + 1 < num_chunks ? word : 0);
    uint64_t header;
    memcpy(&header, chunk.begin(), sizeof(header));
    EXPECT_EQ(header, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllSizes,
    SharedMemoryABIGeometryTest,
    testing::ValuesIn(kGeometries),
    [](const testing::TestParamInfo<Geometry>& param_info) {
      return std::to_string(param_info.param.page_size / 1024) + "KDiv" +
             std::to_string(param_info.param.num_chunks);
    });

TEST(SharedMemoryABITest, PageIsPartitionedAndAcquiredInOneStep) {
  SharedMemory memory(2 * 4096);
  const ABI abi(memory.start(), memory.size(), 4096);
  const ABI::Chunk chunk = abi.TryAcquirePage(1);
  ASSERT_TRUE(chunk.is_valid());
  EXPECT_EQ(chunk.page_idx(), 1u);
  EXPECT_EQ(chunk.begin(), memory.start() + 4096 + 8);
  EXPECT_EQ(chunk.size(), 4088u);
  EXPECT_EQ(abi.GetPageWord(1), 0x10000001u);
  EXPECT_FALSE(abi.TryAcquirePage(1).is_valid());
  EXPECT_TRUE(abi.ReleaseChunkAsComplete(chunk));
  EXPECT_EQ(abi.GetPageWord(1), 0x10000003u);
  EXPECT_FALSE(abi.ReleaseChunkAsComplete(chunk));
  EXPECT_FALSE(abi.TryAcquirePage(1).is_valid());
  EXPECT_TRUE(abi.ReleaseChunkAsFree(abi.TryAcquireChunkForReading(1, 0)));
  EXPECT_TRUE(abi.TryAcquirePage(1).is_valid());

  ASSERT_TRUE(abi.TryPartitionPage(0, ABI::kPageDiv2));
  EXPECT_FALSE(abi.TryAcquirePage(0).is_valid());
}

TEST(SharedMemoryABITest, HeaderIsLaidOutAsOtherProcessesExpect) {
  SharedMemory memory(4096);
  const ABI abi(memory.start(), memory.size(), 4096);
  abi.TryPartitionPage(0, ABI::kPageDiv1);
  const ABI::Chunk chunk = abi.TryAcquireChunkForWriting(0, ABI::kPageDiv1);
  ABI::InitChunkForWriting(
      chunk, 0x1234, 0x56789abc,
      ABI::kFirstPacketContinuesFromPrevChunk | ABI::kChunkNeedsPatching | 5);
  EXPECT_EQ(HexOfChunk(chunk.begin(), 8), "bc 9a 78 56 34 12 05 14");
}

TEST(SharedMemoryABITest, PagesHaveFewSizes) {
  SharedMemory memory(2 * ABI::kMaxPageSize);
  const auto num_pages = [&](size_t page_size) {
    return ABI(memory.start(), memory.size(), page_size).num_pages();
  };
  EXPECT_EQ(num_pages(4096), 32u);
  EXPECT_EQ(num_pages(12288), 10u);
  EXPECT_EQ(num_pages(65536), 2u);
  for (const size_t page_size : {0u, 2048u, 4095u, 4097u, 6144u, 69632u}) {
    EXPECT_MISTAKE(EXPECT_EQ(num_pages(page_size), 0u),
                   "pages are of 4 to 64 KiB, in multiples of 4 KiB");
  }
  EXPECT_MISTAKE(ABI(memory.start() + 4, 4096, 4096),
                 "the words of a page have to be aligned");
}

TEST(SharedMemoryABITest, PartitionedPageIsNotPartitionedAgain) {
  SharedMemory memory(4096);
  const ABI abi(memory.start(), memory.size(), 4096);
  EXPECT_TRUE(abi.TryPartitionPage(0, ABI::kPageDiv4));
  EXPECT_FALSE(abi.TryPartitionPage(0, ABI::kPageDiv4));
  EXPECT_FALSE(abi.TryPartitionPage(0, ABI::kPageDiv1));
  EXPECT_FALSE(abi.TryAcquireChunkForWriting(0, ABI::kPageDiv1).is_valid());
  EXPECT_TRUE(abi.TryAcquireChunkForWriting(0, ABI::kPageDiv4).is_valid());
}

TEST(SharedMemoryABITest, NonsenseIsRefused) {
  SharedMemory memory(2 * 4096);
  const ABI abi(memory.start(), memory.size(), 4096);
  for (uint32_t layout : {0u, 6u, 7u}) {
    const uint32_t word = layout << 28 | 0x0fffffff;
    memcpy(memory.start(), &word, sizeof(word));
    for (size_t chunk = 0; chunk < 20; ++chunk)
      EXPECT_FALSE(abi.TryAcquireChunkForReading(0, chunk).is_valid());
  }
  const uint32_t word = 1u << 28 | 0x0fffffff;
  memcpy(memory.start(), &word, sizeof(word));
  EXPECT_FALSE(abi.TryAcquireChunkForReading(0, 1).is_valid());
  EXPECT_FALSE(abi.TryAcquireChunkForReading(0, SIZE_MAX).is_valid());
  EXPECT_FALSE(abi.TryAcquireChunkForReading(2, 0).is_valid());
  EXPECT_TRUE(abi.GetChunkUnchecked(1, word, 0).is_valid());
  EXPECT_FALSE(abi.GetChunkUnchecked(1, word, 1).is_valid());
  EXPECT_FALSE(abi.GetChunkUnchecked(2, word, 0).is_valid());
  EXPECT_FALSE(abi.TryAcquireChunkForReading(SIZE_MAX, 0).is_valid());
  const ABI::Chunk chunk = abi.TryAcquireChunkForReading(0, 0);
  ASSERT_TRUE(chunk.is_valid());
  // The other side changes the layout without telling us.
  const uint32_t other_word = 2u << 28 | 0x0ffffffe;
  memcpy(memory.start(), &other_word, sizeof(other_word));
  EXPECT_FALSE(abi.ReleaseChunkAsFree(chunk));
}

// All threads take chunks of one page, and a service frees them.
TEST(SharedMemoryABITest, ChunkHasOneOwnerAtATime) {
  SharedMemory memory(4096);
  const ABI abi(memory.start(), memory.size(), 4096);
  constexpr int kRounds = 3000;
  std::atomic<int> running{3};
  std::vector<std::thread> threads;
  for (uint8_t id = 1; id <= 3; ++id) {
    threads.emplace_back([&, id] {
      for (int done = 0; done < kRounds;) {
        abi.TryPartitionPage(0, ABI::kPageDiv2);
        const ABI::Chunk chunk =
            abi.TryAcquireChunkForWriting(0, ABI::kPageDiv2);
        if (!chunk.is_valid()) {
          std::this_thread::yield();
          continue;
        }
        // These are plain stores: the thread sanitizer reports it if two
        // threads do this.
        memset(chunk.payload_begin(), id, 64);
        ABI::InitChunkForWriting(chunk, id, 0, 1);
        ASSERT_TRUE(abi.ReleaseChunkAsComplete(chunk));
        ++done;
      }
      --running;
    });
  }
  int read = 0;
  while (read < 3 * kRounds) {
    for (size_t i = 0; i < 2; ++i) {
      const ABI::Chunk chunk = abi.TryAcquireChunkForReading(0, i);
      if (!chunk.is_valid())
        continue;
      const uint8_t id = static_cast<uint8_t>(chunk.header()->writer_id.load());
      for (size_t at = 0; at < 64; ++at)
        ASSERT_EQ(chunk.payload_begin()[at], id);
      ASSERT_TRUE(abi.ReleaseChunkAsFree(chunk));
      ++read;
    }
    std::this_thread::yield();
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(running, 0);
  EXPECT_EQ(abi.GetPageWord(0), 0u);
}

}  // namespace
}  // namespace protozero::test
