// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/memory_ahead.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/tracing/in_place_endpoint.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "src/tracing/ipc/shared_memory_file.h"

namespace protozero {
namespace {

using internal::MemoryAhead;

constexpr size_t kPageSize = 4096;
constexpr size_t kMiB = 1 << 20;

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
  InPlaceEndpoint endpoint_{memory_->start(), memory_->size(), kPageSize};
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

  // Another writer begins elsewhere, perhaps within a block.
  const auto second = arbiter_.CreateTraceWriter(1);
  EXPECT_TRUE(ahead.Provide());
  EXPECT_EQ(NumProvided(*memory_, 2 * kMiB, 8 * kMiB), kMiB / kPageSize);
}

TEST_F(MemoryAheadTest, NoMoreIsProvidedThanThereIs) {
  const auto small = SharedMemoryFile::Create(2 * kPageSize);
  const MemoryAhead ahead(small.get(), &arbiter_);
  EXPECT_EQ(NumProvided(*small, 0, 2 * kPageSize), 2u);
}

}  // namespace
}  // namespace protozero
