// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/memory_ahead.h"

#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "src/tracing/ipc/shared_memory_file.h"

namespace protozero {
namespace {

using internal::MemoryAhead;

constexpr size_t kPageSize = 4096;
constexpr size_t kMiB = 1 << 20;

// A service that reads chunks only when it is told to.
class LazyService : public ProducerEndpoint {
 public:
  explicit LazyService(const SharedMemoryABI& abi) : abi_(abi) {}

  void CommitData(const CommitDataRequest& request) override {
    for (size_t i = 0; i < request.num_chunks_to_move; ++i)
      chunks_.push_back(request.chunks_to_move[i]);
    if (!keeps)
      FreeAll();
  }
  void FreeAll() {
    for (const CommitDataRequest::ChunkToMove& move : chunks_) {
      const SharedMemoryABI::Chunk chunk =
          abi_.TryAcquireChunkForReading(move.page, move.chunk);
      ASSERT_TRUE(chunk.is_valid());
      EXPECT_TRUE(abi_.ReleaseChunkAsFree(chunk));
      ++num_chunks;
    }
    chunks_.clear();
  }

  bool keeps = false;
  size_t num_chunks = 0;

 private:
  const SharedMemoryABI abi_;
  std::vector<CommitDataRequest::ChunkToMove> chunks_;
};

class MemoryAheadTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto probe = SharedMemoryFile::Create(kPageSize);
    probe->Provide(0, kPageSize);
    if (NumProvided(*probe, 0, kPageSize) == 0)
      GTEST_SKIP() << "the kernel is older than Linux 5.14";
  }

  // Returns the number of pages that the kernel has provided.
  static size_t NumProvided(const SharedMemoryFile& memory,
                            size_t begin,
                            size_t end) {
    std::vector<unsigned char> pages((end - begin) / kPageSize);
    EXPECT_EQ(mincore(memory.start() + begin, end - begin, pages.data()), 0);
    return static_cast<size_t>(
        std::count_if(pages.begin(), pages.end(),
                      [](unsigned char page) { return (page & 1) != 0; }));
  }

  void FillChunks(TraceWriter* writer, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      writer->NewTracePacket()->AppendVarInt(1, 1);
      writer->ReturnChunk();
    }
  }

  const std::unique_ptr<SharedMemoryFile> memory_ =
      SharedMemoryFile::Create(8 * kMiB);
  LazyService endpoint_{
      SharedMemoryABI(memory_->start(), memory_->size(), kPageSize)};
  SharedMemoryArbiter arbiter_{memory_->start(), memory_->size(), kPageSize,
                               &endpoint_};
};

TEST_F(MemoryAheadTest, MemoryIsProvidedInFrontOfEachWriter) {
  memory_->start()[kMiB - 1] = 1;
  MemoryAhead ahead(memory_.get(), &arbiter_);
  EXPECT_EQ(NumProvided(*memory_, 0, kMiB), kMiB / kPageSize);
  EXPECT_EQ(NumProvided(*memory_, kMiB, 8 * kMiB), 0u);
  EXPECT_EQ(memory_->start()[kMiB - 1], 1);
  EXPECT_FALSE(ahead.Provide());

  const auto first = arbiter_.CreateTraceWriter(1);
  EXPECT_TRUE(ahead.Provide());
  EXPECT_FALSE(ahead.Provide());
  EXPECT_EQ(NumProvided(*memory_, kMiB, 8 * kMiB), 0u);
  FillChunks(first.get(), kMiB / 2 / kPageSize);
  EXPECT_TRUE(ahead.Provide());
  EXPECT_EQ(NumProvided(*memory_, kMiB, 8 * kMiB), kMiB / 2 / kPageSize);
  EXPECT_FALSE(ahead.Provide());

  // Another writer begins elsewhere at the front, perhaps within a block.
  const auto second = arbiter_.CreateTraceWriter(1);
  EXPECT_TRUE(ahead.Provide());
  EXPECT_EQ(NumProvided(*memory_, 2 * kMiB, 8 * kMiB), 48u);
}

TEST_F(MemoryAheadTest, WhatABurstHasNeededIsGivenBack) {
  MemoryAhead ahead(memory_.get(), &arbiter_);
  const auto writer = arbiter_.CreateTraceWriter(1);
  ahead.Provide();
  EXPECT_FALSE(ahead.GiveBack());
  endpoint_.keeps = true;
  FillChunks(writer.get(), 6 * kMiB / kPageSize);
  arbiter_.FlushPendingCommitDataRequestsAndWait();
  endpoint_.FreeAll();
  EXPECT_EQ(NumProvided(*memory_, 0, 6 * kMiB), 6 * kMiB / kPageSize);
  // The burst may go on.
  EXPECT_TRUE(ahead.GiveBack());
  EXPECT_TRUE(ahead.GiveBack());
  EXPECT_EQ(NumProvided(*memory_, 0, 6 * kMiB), 6 * kMiB / kPageSize);
  ahead.GiveBack();
  EXPECT_FALSE(ahead.GiveBack());
  EXPECT_EQ(NumProvided(*memory_, 0, 3 * kMiB), 3 * kMiB / kPageSize);
  EXPECT_EQ(NumProvided(*memory_, 3 * kMiB, 8 * kMiB), 0u);
  // The next burst gets it again.
  FillChunks(writer.get(), 6 * kMiB / kPageSize);
  arbiter_.FlushPendingCommitDataRequestsAndWait();
  endpoint_.FreeAll();
  EXPECT_EQ(endpoint_.num_chunks, 2 * 6 * kMiB / kPageSize);
}

TEST_F(MemoryAheadTest, PagesInUseStay) {
  MemoryAhead ahead(memory_.get(), &arbiter_);
  const SharedMemoryABI& abi = arbiter_.shmem_abi();
  const auto writer = arbiter_.CreateTraceWriter(1);
  endpoint_.keeps = true;
  FillChunks(writer.get(), 6 * kMiB / kPageSize);
  arbiter_.FlushPendingCommitDataRequestsAndWait();
  endpoint_.FreeAll();
  const size_t in_use = 5 * kMiB / kPageSize;
  ASSERT_TRUE(abi.TryPartitionPage(in_use, SharedMemoryABI::kPageDiv1));
  const SharedMemoryABI::Chunk chunk =
      abi.TryAcquireChunkForWriting(in_use, SharedMemoryABI::kPageDiv1);
  *chunk.payload_begin() = 77;
  for (int i = 0; i < 4; ++i)
    ahead.GiveBack();
  EXPECT_EQ(*chunk.payload_begin(), 77);
  EXPECT_EQ(NumProvided(*memory_, 0, 5 * kMiB + kPageSize), in_use + 1);
  EXPECT_EQ(NumProvided(*memory_, 5 * kMiB + kPageSize, 8 * kMiB), 0u);
  // No thread waits for it if nothing happens.
  EXPECT_FALSE(ahead.GiveBack());
}

// A writer takes pages while others are given back.
TEST_F(MemoryAheadTest, NothingIsLostMeanwhile) {
  MemoryAhead ahead(memory_.get(), &arbiter_);
  const SharedMemoryABI& abi = arbiter_.shmem_abi();
  std::atomic<bool> is_done{false};
  std::thread taker([&] {
    while (!is_done) {
      for (size_t page = abi.num_pages(); page > 3 * kMiB / kPageSize; --page) {
        if (abi.TryAcquirePage(page - 1).is_valid()) {
          if (!memory_->GiveBack((page - 1) * kPageSize, kPageSize))
            abi.ReturnPage(page - 1);
        }
      }
    }
  });
  for (int i = 0; i < 20; ++i) {
    for (size_t page = 0; page < abi.num_pages(); ++page) {
      abi.TryPartitionPage(page, SharedMemoryABI::kPageDiv1);
      const SharedMemoryABI::Chunk chunk =
          abi.TryAcquireChunkForWriting(page, SharedMemoryABI::kPageDiv1);
      if (!chunk.is_valid())
        continue;
      memset(chunk.payload_begin(), i + 1, chunk.payload_size());
      ASSERT_TRUE(abi.ReleaseChunkAsComplete(chunk));
      ASSERT_TRUE(abi.TryAcquireChunkForReading(page, 0).is_valid());
      ASSERT_EQ(*chunk.payload_begin(), i + 1);
      ASSERT_EQ(chunk.end()[-1], i + 1);
      ASSERT_TRUE(abi.ReleaseChunkAsFree(chunk));
    }
  }
  is_done = true;
  taker.join();
}

TEST_F(MemoryAheadTest, NoMoreIsProvidedThanThereIs) {
  const auto small = SharedMemoryFile::Create(2 * kPageSize);
  const MemoryAhead ahead(small.get(), &arbiter_);
  EXPECT_EQ(NumProvided(*small, 0, 2 * kPageSize), 2u);
}

}  // namespace
}  // namespace protozero
