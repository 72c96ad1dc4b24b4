// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/shared_memory_arbiter.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/tracing/trace_writer.h"
#include "src/tracing/shared_memory/chunk_ring.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"
#include "test/tracing/fake_service.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;

void WriteNumber(TraceWriter* writer, uint32_t number) {
  writer->NewTracePacket()->AppendVarInt(1, number);
}

class SharedMemoryArbiterTest : public testing::Test {
 protected:
  SharedMemoryArbiterTest()
      : memory_(4 * kPageSize), service_(memory_, kPageSize) {}

  void Start(const SharedMemoryArbiter::Options& options) {
    arbiter_ = std::make_unique<SharedMemoryArbiter>(
        memory_.start(), memory_.size(), kPageSize, &service_, options);
  }
  // Fills |count| chunks of 292 bytes.
  void FillChunks(TraceWriter* writer, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      writer->NewTracePacket()->AppendString(1, std::string(200, 'x'));
      writer->ReturnChunk();
    }
  }

  SharedMemory memory_;
  FakeService service_;
  std::unique_ptr<SharedMemoryArbiter> arbiter_;
};

TEST_F(SharedMemoryArbiterTest, CommitsWhenThereIsABatch) {
  SharedMemoryArbiter::Options options;
  options.page_layout = ABI::kPageDiv14;
  options.commit_batch_bytes = 3 * 292;
  Start(options);
  auto writer = arbiter_->CreateTraceWriter(1);
  FillChunks(writer.get(), 2);
  EXPECT_EQ(service_.num_requests(), 0u);
  FillChunks(writer.get(), 1);
  EXPECT_EQ(service_.num_requests(), 1u);
  FillChunks(writer.get(), 2);
  EXPECT_EQ(service_.num_requests(), 1u);
  FillChunks(writer.get(), 1);
  EXPECT_EQ(service_.num_requests(), 2u);
}

TEST_F(SharedMemoryArbiterTest, BatchIsAtMostHalfOfTheBuffer) {
  SharedMemoryArbiter::Options options;
  options.page_layout = ABI::kPageDiv1;
  options.commit_batch_bytes = SIZE_MAX;
  Start(options);
  auto writer = arbiter_->CreateTraceWriter(1);
  FillChunks(writer.get(), 2);
  EXPECT_EQ(service_.num_requests(), 0u);
  FillChunks(writer.get(), 1);
  EXPECT_EQ(service_.num_requests(), 1u);
}

TEST_F(SharedMemoryArbiterTest, OwnerCommitsHalfABatch) {
  SharedMemoryArbiter::Options options;
  options.page_layout = ABI::kPageDiv14;
  options.commit_batch_bytes = 4 * 292;
  options.owner_commits = true;
  Start(options);
  auto writer = arbiter_->CreateTraceWriter(1);
  FillChunks(writer.get(), 1);
  // With so little memory, as soon as possible.
  EXPECT_EQ(arbiter_->CommitBatch(), 1u);
  EXPECT_EQ(service_.num_requests(), 0u);
  FillChunks(writer.get(), 1);
  arbiter_->CommitBatch();
  EXPECT_EQ(service_.num_requests(), 1u);
  // A writer commits only at half of the memory.
  FillChunks(writer.get(), 4 * 14 / 2);
  EXPECT_EQ(service_.num_requests(), 1u);
  FillChunks(writer.get(), 1);
  EXPECT_EQ(service_.num_requests(), 2u);
}

TEST_F(SharedMemoryArbiterTest, OwnerHasTimeToCommit) {
  constexpr size_t kSize = 8 << 20;
  constexpr size_t kLargePage = 16 * 1024;
  constexpr size_t kPages = kSize / kLargePage;
  const SharedMemory memory(kSize);
  FakeService service(memory, kLargePage);
  SharedMemoryArbiter::Options options;
  options.owner_commits = true;
  options.commit_batch_bytes = kSize / 2;
  SharedMemoryArbiter arbiter(memory.start(), kSize, kLargePage, &service,
                              options);
  auto writer = arbiter.CreateTraceWriter(1);
  const auto fill_pages = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) {
      WriteNumber(writer.get(), 1);
      writer->ReturnChunk();
    }
  };
  // A batch is half of the memory.
  const size_t batch_ms = kSize / 2 / arbiter.kBytesPerMs;
  EXPECT_EQ(arbiter.CommitBatch(), arbiter.kNoHurry);
  fill_pages(1);
  EXPECT_EQ(arbiter.CommitBatch(), batch_ms - 1);
  EXPECT_EQ(arbiter.CommitBatch(), arbiter.kNoHurry);
  fill_pages(kPages / 8);
  EXPECT_EQ(arbiter.CommitBatch(), kSize * 3 / 8 / arbiter.kBytesPerMs - 1);
  // With many chunks, a writer commits at three quarters.
  fill_pages(kPages * 5 / 8 - 2);
  EXPECT_EQ(service.num_requests(), 0u);
  fill_pages(3);
  EXPECT_GT(service.num_requests(), 0u);
}

using WakeFor = SharedMemoryArbiter::WakeFor;

class WaitingOwnerTest : public SharedMemoryArbiterTest {
 protected:
  void SetUp() override {
    SharedMemoryArbiter::Options options;
    options.page_layout = ABI::kPageDiv14;
    options.owner_commits = true;
    Start(options);
    writer_ = arbiter_->CreateTraceWriter(1);
  }

  std::unique_ptr<TraceWriter> writer_;
};

TEST_F(WaitingOwnerTest, TheFirstChunkWakesAndLaterOnesDoNot) {
  ASSERT_TRUE(arbiter_->BeginWait(WakeFor::kAnyWork));
  EXPECT_EQ(service_.num_wakeups(), 0u);
  WriteNumber(writer_.get(), 1);
  EXPECT_EQ(service_.num_wakeups(), 1u);
  FillChunks(writer_.get(), 10);
  EXPECT_EQ(service_.num_wakeups(), 1u);
  arbiter_->EndWait();
  EXPECT_TRUE(arbiter_->TakeWork());
  EXPECT_FALSE(arbiter_->TakeWork());
  EXPECT_EQ(arbiter_->num_wakeups(), 1u);
}

TEST_F(WaitingOwnerTest, PacketsInTheSameChunkDoNotWake) {
  WriteNumber(writer_.get(), 1);
  arbiter_->TakeWork();
  ASSERT_TRUE(arbiter_->BeginWait(WakeFor::kAnyWork));
  WriteNumber(writer_.get(), 2);
  EXPECT_EQ(service_.num_wakeups(), 0u);
  // A chunk that is finished has to be committed.
  writer_->ReturnChunk();
  EXPECT_EQ(service_.num_wakeups(), 1u);
}

TEST_F(WaitingOwnerTest, LossesWake) {
  SharedMemoryArbiter::Options options;
  options.owner_commits = true;
  options.max_writers = 1;
  writer_.reset();
  Start(options);
  writer_ = arbiter_->CreateTraceWriter(1);
  auto without_id = arbiter_->CreateTraceWriter(1);
  ASSERT_TRUE(arbiter_->BeginWait(WakeFor::kAnyWork));
  WriteNumber(without_id.get(), 1);
  EXPECT_EQ(service_.num_wakeups(), 1u);
  arbiter_->EndWait();
  EXPECT_TRUE(arbiter_->TakeWork());
}

TEST_F(WaitingOwnerTest, AnOwnerThatHasWorkDoesNotWait) {
  WriteNumber(writer_.get(), 1);
  EXPECT_FALSE(arbiter_->BeginWait(WakeFor::kAnyWork));
  EXPECT_TRUE(arbiter_->TakeWork());
  EXPECT_TRUE(arbiter_->BeginWait(WakeFor::kAnyWork));
  arbiter_->EndWait();
  // Nothing waits any more.
  FillChunks(writer_.get(), 1);
  EXPECT_EQ(service_.num_wakeups(), 0u);
}

TEST_F(WaitingOwnerTest, ABatchWakesAnOwnerThatWaitsForATime) {
  const SharedMemory memory(32 * kPageSize);
  FakeService service(memory, kPageSize);
  SharedMemoryArbiter::Options options;
  options.page_layout = ABI::kPageDiv14;
  options.owner_commits = true;
  SharedMemoryArbiter arbiter(memory.start(), memory.size(), kPageSize,
                              &service, options);
  auto writer = arbiter.CreateTraceWriter(1);
  ASSERT_TRUE(arbiter.BeginWait(WakeFor::kBatch));
  const size_t batch = memory.size() / 2 / arbiter.chunk_size();
  FillChunks(writer.get(), batch);
  EXPECT_EQ(service.num_wakeups(), 0u);
  FillChunks(writer.get(), 2);
  EXPECT_EQ(service.num_wakeups(), 1u);
  FillChunks(writer.get(), 2);
  EXPECT_EQ(service.num_wakeups(), 1u);
  arbiter.EndWait();
  // It is not committed yet.
  EXPECT_EQ(service.num_requests(), 0u);
  EXPECT_FALSE(arbiter.BeginWait(WakeFor::kBatch));
  arbiter.CommitBatch();
  EXPECT_NE(service.num_requests(), 0u);
  EXPECT_TRUE(arbiter.BeginWait(WakeFor::kBatch));
  arbiter.EndWait();
}

TEST_F(SharedMemoryArbiterTest, OwnerCommitsWhatIsQueued) {
  Start({});
  auto writer = arbiter_->CreateTraceWriter(1);
  FillChunks(writer.get(), 1);
  arbiter_->FlushPendingCommitDataRequests();
  EXPECT_EQ(service_.num_requests(), 1u);
  // Without anything to tell, the arbiter sends no request.
  arbiter_->FlushPendingCommitDataRequests();
  arbiter_->FlushPendingCommitDataRequestsAndWait();
  EXPECT_EQ(service_.num_requests(), 1u);
}

TEST_F(SharedMemoryArbiterTest, ChunksAreCommittedAsTheyWereFinished) {
  SharedMemoryArbiter::Options options;
  options.page_layout = ABI::kPageDiv14;
  Start(options);
  auto first = arbiter_->CreateTraceWriter(5);
  auto second = arbiter_->CreateTraceWriter(6);
  FillChunks(first.get(), 2);
  FillChunks(second.get(), 3);
  FillChunks(first.get(), 1);
  arbiter_->FlushPendingCommitDataRequests();
  service_.DrainAll();
  std::vector<std::pair<WriterID, ChunkID>> order;
  for (const ChunkCopy& chunk : service_.chunks())
    order.emplace_back(chunk.writer_id, chunk.chunk_id);
  EXPECT_EQ(order, (std::vector<std::pair<WriterID, ChunkID>>{
                       {1, 0}, {1, 1}, {2, 0}, {2, 1}, {2, 2}, {1, 2}}));
  EXPECT_EQ(service_.sequences().at(1)->target_buffer, 5);
  EXPECT_EQ(service_.sequences().at(2)->target_buffer, 6);
  EXPECT_EQ(service_.complaints(), "");
}

TEST_F(SharedMemoryArbiterTest, WritersBeginOnDifferentPagesAndFillThem) {
  SharedMemoryArbiter::Options options;
  options.page_layout = ABI::kPageDiv4;
  Start(options);
  const auto words = [this] {
    std::vector<uint32_t> result;
    for (size_t page = 0; page < 4; ++page)
      result.push_back(arbiter_->shmem_abi().GetPageWord(page));
    return result;
  };
  std::vector<std::unique_ptr<TraceWriter>> writers;
  const auto write = [&](size_t num_writers) {
    for (size_t i = 0; i < num_writers; ++i) {
      writers.push_back(arbiter_->CreateTraceWriter(1));
      WriteNumber(writers.back().get(), 1);
    }
  };
  write(2);
  EXPECT_EQ(words(), (std::vector<uint32_t>{0x30000001, 0, 0x30000001, 0}));
  write(14);
  EXPECT_EQ(words(), std::vector<uint32_t>(4, 0x30000055));
  for (const auto& writer : writers)
    EXPECT_EQ(writer->packets_lost(), 0u);
  write(1);
  EXPECT_EQ(writers.back()->packets_lost(), 1u);
}

TEST_F(SharedMemoryArbiterTest, WritersComeBackToMemoryTheyHaveUsed) {
  service_.DrainOnCommit();
  Start({});
  auto first = arbiter_->CreateTraceWriter(1);
  auto second = arbiter_->CreateTraceWriter(1);
  std::vector<uint32_t> words;
  for (int round = 0; round < 3; ++round) {
    WriteNumber(second.get(), 1);
    WriteNumber(first.get(), 1);
    first->ReturnChunk();
    WriteNumber(first.get(), 2);
    for (size_t page = 0; page < 4; ++page)
      words.push_back(arbiter_->shmem_abi().GetPageWord(page));
    EXPECT_EQ(words,
              (std::vector<uint32_t>{0x10000003, 0x10000001, 0x10000001, 0}));
    words.clear();
    first->ReturnChunk();
    second->Flush();
  }
}

TEST_F(SharedMemoryArbiterTest, MoreWritersThanIdsLoseWhatTheyWrite) {
  SharedMemoryArbiter::Options options;
  options.max_writers = 2;
  options.process_barrier = [] { return true; };
  Start(options);
  auto first = arbiter_->CreateTraceWriter(1);
  auto second = arbiter_->CreateTraceWriter(1);
  auto third = arbiter_->CreateTraceWriter(1, BufferExhaustedPolicy::kStall);
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(third->writer_id(), 0);
  EXPECT_EQ(service_.registered_writers(),
            (std::map<WriterID, BufferID>{{1, 1}, {2, 1}}));
  WriteNumber(third.get(), 1);
  third->NewTracePacket()->BeginNestedMessage<Message>(1)->AppendString(
      1, std::string(5000, 'x'));
  third->Flush();
  arbiter_->ReturnIdleChunks(true);
  EXPECT_EQ(third->packets_lost(), 2u);
  EXPECT_EQ(third->losses().of(LossReason::kNoWriterID), 2u);
  // The service is told of these losses: of the first one at once.
  EXPECT_EQ(service_.num_requests(), 2u);
  service_.DrainAll();
  EXPECT_EQ(service_.chunks().size(), 0u);
  EXPECT_EQ(service_.sequences().at(0)->buffer.stats().lost.of(
                LossReason::kNoWriterID),
            2u);
  // An id that is free again is used, and the count of its chunks goes on.
  WriteNumber(second.get(), 1);
  second.reset();
  auto fourth = arbiter_->CreateTraceWriter(1);
  EXPECT_EQ(fourth->writer_id(), 2);
  WriteNumber(fourth.get(), 2);
  fourth.reset();
  service_.DrainAll();
  EXPECT_EQ(service_.PacketsOf(2),
            (std::vector<std::string>{FromHex("08 01"), FromHex("08 02")}));
  EXPECT_FALSE(service_.sequences().at(2)->packets[1].previous_packet_dropped);
}

TEST_F(SharedMemoryArbiterTest, ShowsWhereEachWriterGoesOn) {
  Start({});
  auto first = arbiter_->CreateTraceWriter(1);
  auto second = arbiter_->CreateTraceWriter(1);
  const auto pages = [this] {
    std::vector<size_t> result;
    arbiter_->VisitNextPages([&](size_t page) { result.push_back(page); });
    return result;
  };
  EXPECT_EQ(pages(), (std::vector<size_t>{0, 2}));
  FillChunks(second.get(), 1);
  EXPECT_EQ(pages(), (std::vector<size_t>{0, 3}));
  // Behind the last page comes the first one.
  FillChunks(second.get(), 1);
  EXPECT_EQ(pages(), (std::vector<size_t>{0, 0}));
  // That commits, so the next search begins at home.
  first.reset();
  EXPECT_EQ(pages(), std::vector<size_t>{2});
}

// While a thread commits, others only queue what they have: that thread sends
// it then, in requests of a limited size.
class QueueingService : public FakeService {
 public:
  QueueingService(const SharedMemory& memory, size_t page_size)
      : FakeService(memory, page_size) {
    DrainOnCommit();
  }
  void CommitData(const CommitDataRequest& request) override {
    if (during_next_commit) {
      std::exchange(during_next_commit, nullptr)();
      return FakeService::CommitData(request);
    }
    size_t num_patches = 0;
    for (size_t i = 0; i < request.num_chunks_to_patch; ++i)
      num_patches += request.chunks_to_patch[i].num_patches;
    max_patches = std::max(max_patches, num_patches);
    max_chunks_to_patch =
        std::max(max_chunks_to_patch, request.num_chunks_to_patch);
    max_chunks_to_move =
        std::max(max_chunks_to_move, request.num_chunks_to_move);
    max_losses = std::max(max_losses, request.num_losses);
    FakeService::CommitData(request);
  }

  std::function<void()> during_next_commit;
  size_t max_patches = 0;
  size_t max_chunks_to_patch = 0;
  size_t max_chunks_to_move = 0;
  size_t max_losses = 0;
};

class CommitSizesTest : public testing::Test {
 protected:
  // Has |num_writers| writers do something during a commit.
  template <typename Write>
  void WriteDuringACommit(size_t num_writers, const Write& write) {
    auto trigger = arbiter_->CreateTraceWriter(1);
    for (size_t i = 0; i < num_writers; ++i)
      writers_.push_back(arbiter_->CreateTraceWriter(1));
    service_.during_next_commit = [&] {
      for (const auto& writer : writers_)
        write(writer.get());
    };
    WriteNumber(trigger.get(), 1);
    trigger->Flush();
    EXPECT_FALSE(service_.during_next_commit);
  }
  // Writes a packet of |depth| messages within each other, in many chunks, so
  // that the first chunk gets a patch for each message.
  static void WriteDeepPacket(TraceWriter* writer, size_t depth, size_t size) {
    {
      auto packet = writer->NewTracePacket();
      Message* message = packet->BeginNestedMessage<Message>(1);
      for (size_t i = 1; i < depth; ++i)
        message = message->BeginNestedMessage<Message>(1);
      message->AppendString(2, std::string(size, 'x'));
    }
    writer->ReturnChunk();
  }
  void Start(ABI::PageLayout layout) {
    SharedMemoryArbiter::Options options;
    options.page_layout = layout;
    arbiter_ = std::make_unique<SharedMemoryArbiter>(
        memory_.start(), memory_.size(), kPageSize, &service_, options);
  }
  void ExpectPackets(size_t num_packets) {
    for (const auto& writer : writers_) {
      EXPECT_EQ(writer->packets_lost(), 0u);
      EXPECT_EQ(service_.PacketsOf(writer->writer_id()).size(), num_packets);
    }
    EXPECT_EQ(service_.complaints(), "");
  }

  const SharedMemory memory_{512 * kPageSize};
  QueueingService service_{memory_, kPageSize};
  std::unique_ptr<SharedMemoryArbiter> arbiter_;
  std::vector<std::unique_ptr<TraceWriter>> writers_;
};

TEST_F(CommitSizesTest, PatchesOfManyChunks) {
  Start(ABI::kPageDiv14);
  WriteDuringACommit(
      150, [](TraceWriter* writer) { WriteDeepPacket(writer, 1, 2500); });
  ExpectPackets(1);
  EXPECT_EQ(service_.max_chunks_to_patch, 64u);
  EXPECT_EQ(service_.max_patches, 64u);
  EXPECT_EQ(service_.max_chunks_to_move, 128u);
}

TEST_F(CommitSizesTest, ManyPatchesOfAChunk) {
  Start(ABI::kPageDiv4);
  WriteDuringACommit(
      7, [](TraceWriter* writer) { WriteDeepPacket(writer, 128, 9000); });
  ExpectPackets(1);
  // There is always room for all patches that a writer may have.
  EXPECT_EQ(service_.max_patches, 2 * PatchPool::kNumPatches);
  EXPECT_EQ(service_.max_chunks_to_patch, 2u);
}

TEST_F(CommitSizesTest, LossesOfManyWriters) {
  Start(ABI::kPageDiv1);
  WriteDuringACommit(150, [](TraceWriter* writer) {
    WriteDeepPacket(writer, 1, 513 * kPageSize);
  });
  EXPECT_EQ(service_.max_losses, 64u);
  for (const auto& writer : writers_) {
    EXPECT_EQ(writer->packets_lost(), 1u);
    EXPECT_EQ(service_.sequences()
                  .at(writer->writer_id())
                  ->buffer.stats()
                  .trace_writer_packet_loss(),
              1u);
  }
}

TEST_F(SharedMemoryArbiterTest, ForeignLayoutsAreLeftAlone) {
  SharedMemoryArbiter::Options options;
  options.page_layout = ABI::kPageDiv2;
  Start(options);
  const ABI& abi = arbiter_->shmem_abi();
  for (size_t page : {0u, 1u, 3u})
    ASSERT_TRUE(abi.TryPartitionPage(page, ABI::kPageDiv4));
  auto writer = arbiter_->CreateTraceWriter(1);
  WriteNumber(writer.get(), 1);
  EXPECT_EQ(abi.GetPageWord(0), 0x30000000u);
  EXPECT_EQ(abi.GetPageWord(2), 0x20000001u);
}

TEST_F(SharedMemoryArbiterTest, LayoutsWithoutChunksAndOfRingsAreMistakes) {
  SharedMemoryArbiter::Options options;
  options.page_layout = ABI::kPageNotPartitioned;
  EXPECT_MISTAKE(Start(options), "the layout has to have chunks");
  RingState ring{};
  options.ring = &ring;
  options.page_layout = ABI::kPageDiv4;
  EXPECT_MISTAKE(Start(options), "a page of a ring has one chunk");
}

TEST_F(SharedMemoryArbiterTest, BufferOfNoPagesLosesEverything) {
  SharedMemoryArbiter arbiter(memory_.start(), kPageSize - 1, kPageSize,
                              &service_);
  auto writer = arbiter.CreateTraceWriter(1);
  WriteNumber(writer.get(), 1);
  EXPECT_EQ(writer->packets_lost(), 1u);
}

}  // namespace
}  // namespace protozero::test
