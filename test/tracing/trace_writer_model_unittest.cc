// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests random packets of several writers over chunks of random sizes, drained
// at random moments. All of them arrive, the same as without any chunks.

#include <stdint.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "test/testing/flags.h"
#include "test/testing/hex.h"
#include "test/testing/message_tree.h"
#include "test/testing/tree_parser.h"
#include "test/tracing/fake_service.h"

namespace protozero::test {
namespace {

using service::TraceBuffer;
using ABI = SharedMemoryABI;

struct WrittenPacket {
  MessageTree tree;
  // The bytes of the packet in one piece of memory.
  std::string bytes;
};

// Removes fields that are taken back: the ends of chunks decide if that is
// possible.
void RemoveWhatIsTakenBack(MessageTree& tree) {
  tree.erase(
      std::remove_if(tree.begin(), tree.end(),
                     [](const Field& field) { return field.is_taken_back(); }),
      tree.end());
  for (Field& field : tree)
    RemoveWhatIsTakenBack(field.fields);
}

MessageTree RandomPacket(std::mt19937_64& random, size_t chunk_size) {
  for (;;) {
    // The packets are small ones, nested ones, or as large as a chunk or a few
    // of them.
    MessageTree tree;
    switch (random() % 8) {
      case 0:
        tree = RandomTreeOfSize(random, random() % (4 * chunk_size), 4);
        break;
      case 1:
        tree = RandomTreeOfSize(
            random, chunk_size - std::min<size_t>(chunk_size, random() % 64),
            3);
        break;
      case 2:
        tree = RandomTree(random, 10, 5);
        break;
      default:
        tree = RandomTree(random, 4, 2);
        break;
    }
    RemoveWhatIsTakenBack(tree);
    // A packet without a byte is not written.
    if (!EncodeTreeCanonically(tree).empty())
      return tree;
  }
}

class Session {
 public:
  Session(uint64_t seed, BufferExhaustedPolicy policy)
      : random_(seed),
        reason_(policy == BufferExhaustedPolicy::kDrop
                    ? LossReason::kMemoryFull
                    : LossReason::kStallTimedOut) {
    constexpr ABI::PageLayout kLayouts[] = {ABI::kPageDiv1, ABI::kPageDiv2,
                                            ABI::kPageDiv4, ABI::kPageDiv7,
                                            ABI::kPageDiv14};
    const size_t page_size = size_t{4096} << random_() % 5;
    const ABI::PageLayout layout = kLayouts[random_() % 5];
    const size_t num_pages = 1 + random_() % 24;
    chunk_size_ = ABI::ChunkSize(page_size, layout);
    memory_ = std::make_unique<SharedMemory>(num_pages * page_size);
    service_ = std::make_unique<FakeService>(*memory_, page_size);
    SharedMemoryArbiter::Options options;
    options.page_layout = layout;
    options.commit_batch_bytes = random_() % (memory_->size() / 2);
    options.stall_timeout_ms = 0;
    options.process_barrier = [] { return true; };
    arbiter_ = std::make_unique<SharedMemoryArbiter>(
        memory_->start(), memory_->size(), page_size, service_.get(), options);
    const size_t max_writers = 1 + random_() % 5;
    for (size_t i = 0; i < max_writers; ++i)
      writers_.push_back(arbiter_->CreateTraceWriter(BufferID{1}, policy));
    written_.resize(max_writers);
  }

  // Expects that every packet arrives: the service frees each chunk that it
  // gets at once, so a writer that waits for one gets it.
  void WriteWithoutLoss(size_t num_packets) {
    // Each writer may keep a chunk that is not full.
    const bool has_room = arbiter_->num_chunks() > 2 * writers_.size();
    service_->DrainOnCommit();
    for (size_t i = 0; i < num_packets; ++i) {
      const size_t writer = random_() % writers_.size();
      WritePacket(writer);
      if (!has_room || random_() % 16 == 0)
        writers_[writer]->Flush();
      if (random_() % 32 == 0)
        arbiter_->ReturnIdleChunks(random_() % 2 == 0);
    }
    Finish();
    for (size_t i = 0; i < writers_.size(); ++i) {
      const auto& packets = PacketsOf(i);
      ASSERT_EQ(losses_[i], 0u);
      ASSERT_EQ(packets.size(), written_[i].size());
      for (size_t k = 0; k < packets.size(); ++k) {
        ASSERT_FALSE(packets[k].previous_packet_dropped);
        ASSERT_NO_FATAL_FAILURE(ExpectSame(packets[k].bytes, written_[i][k]));
      }
    }
  }

  // Expects that some packets are lost, because the service drains only now and
  // then. Those that arrive are a subsequence of those that were written, each
  // marked if there is a hole in front of it.
  void WriteWithLosses(size_t num_packets) {
    for (size_t i = 0; i < num_packets; ++i) {
      const size_t writer = random_() % writers_.size();
      WritePacket(writer);
      if (random_() % 16 == 0)
        writers_[writer]->Flush();
      if (random_() % 32 == 0)
        arbiter_->ReturnIdleChunks(random_() % 2 == 0);
      if (random_() % 24 == 0)
        service_->DrainAll();
      else if (random_() % 4 == 0)
        service_->DrainOne();
    }
    Finish();
    for (size_t i = 0; i < writers_.size(); ++i) {
      const auto& packets = PacketsOf(i);
      ASSERT_EQ(packets.size() + losses_[i], written_[i].size());
      // The service knows, too, which packets are missing, and why.
      const TraceBufferStats stats = StatsOf(i);
      ASSERT_EQ(stats.packets_begun, written_[i].size());
      ASSERT_EQ(stats.packets_read, packets.size());
      ASSERT_EQ(stats.lost.total(), losses_[i]);
      ASSERT_EQ(stats.lost.of(reason_) + stats.lost.of(LossReason::kTooLarge),
                losses_[i]);
      ASSERT_EQ(stats.unknown_losses, 0u);
      size_t k = 0;
      for (const FakeService::Packet& packet : packets) {
        bool is_marked = false;
        std::string bytes = packet.bytes;
        if (bytes.substr(0, 3) == FromHex("d0 02 01")) {
          is_marked = true;
          bytes = bytes.substr(3);
        }
        bool has_hole = false;
        while (k < written_[i].size() &&
               !ParsesAs(bytes, written_[i][k].tree)) {
          has_hole = true;
          ++k;
        }
        ASSERT_LT(k, written_[i].size()) << Hex(bytes);
        ASSERT_EQ(is_marked, has_hole);
        // The service misses only packets of which the writer knows.
        ASSERT_TRUE(is_marked || !packet.previous_packet_dropped);
        ++k;
      }
    }
  }

 private:
  void WritePacket(size_t writer) {
    WrittenPacket packet;
    packet.tree = RandomPacket(random_, chunk_size_);
    HeapBuffered<> message(1 << 20, 1 << 20);
    WriteTree(packet.tree, message.get());
    packet.bytes = message.SerializeAsString();
    {
      MessageHandle<Message> handle = writers_[writer]->NewTracePacket();
      WriteTree(packet.tree, handle.get());
    }
    written_[writer].push_back(std::move(packet));
  }

  void Finish() {
    for (auto& writer : writers_) {
      losses_.push_back(writer->packets_lost());
      ids_.push_back(writer->writer_id());
      writer.reset();
    }
    service_->DrainAll();
    ASSERT_EQ(service_->complaints(), "");
    for (const auto& sequence : service_->sequences()) {
      TraceBuffer& buffer = sequence.second->buffer;
      // This happens with a writer that ended before it could say that it gave
      // a packet up.
      buffer.ReadPackets(SIZE_MAX, true, [](const TraceBuffer::Packet&) {
        ADD_FAILURE() << "a packet was waiting for something";
        return true;
      });
      ASSERT_EQ(buffer.used_bytes(), 0u);
    }
    // All memory is free again.
    const ABI& abi = arbiter_->shmem_abi();
    for (size_t page = 0; page < abi.num_pages(); ++page)
      ASSERT_EQ(abi.GetPageWord(page), 0u);
  }

  const std::vector<FakeService::Packet>& PacketsOf(size_t writer) {
    static const std::vector<FakeService::Packet> kNone;
    const auto sequence = service_->sequences().find(ids_[writer]);
    return sequence == service_->sequences().end() ? kNone
                                                   : sequence->second->packets;
  }

  TraceBufferStats StatsOf(size_t writer) {
    const auto sequence = service_->sequences().find(ids_[writer]);
    return sequence == service_->sequences().end()
               ? TraceBufferStats()
               : sequence->second->buffer.stats();
  }

  // Compares parsed messages, because the widths of sizes may differ.
  static void ExpectSame(const std::string& bytes,
                         const WrittenPacket& written) {
    ASSERT_TRUE(ParsesAs(bytes, written.tree));
    ASSERT_TRUE(ParsesAs(written.bytes, written.tree));
  }

  std::mt19937_64 random_;
  const LossReason reason_;
  size_t chunk_size_;
  std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<FakeService> service_;
  std::unique_ptr<SharedMemoryArbiter> arbiter_;
  std::vector<std::unique_ptr<TraceWriter>> writers_;
  std::vector<std::vector<WrittenPacket>> written_;
  std::vector<uint64_t> losses_;
  std::vector<WriterID> ids_;
};

TEST(TraceWriterModelTest, AllPacketsArriveAsWritten) {
  const uint64_t seed = Flag("seed", 1);
  const uint64_t runs = Flag("runs", 30);
  for (uint64_t i = 0; i < runs; ++i) {
    SCOPED_TRACE("--runs=1 --seed=" + std::to_string(seed + i));
    ASSERT_NO_FATAL_FAILURE(
        Session(seed + i, BufferExhaustedPolicy::kStall).WriteWithoutLoss(150));
  }
}

TEST(TraceWriterModelTest, WhatIsLostIsCountedAndMarked) {
  const uint64_t seed = Flag("seed", 1);
  const uint64_t runs = Flag("runs", 30);
  for (uint64_t i = 0; i < runs; ++i) {
    SCOPED_TRACE("--runs=1 --seed=" + std::to_string(seed + i));
    for (const auto policy :
         {BufferExhaustedPolicy::kDrop, BufferExhaustedPolicy::kStall}) {
      ASSERT_NO_FATAL_FAILURE(Session(seed + i, policy).WriteWithLosses(150));
    }
  }
}

}  // namespace
}  // namespace protozero::test
