// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The chunk protocol: src/tracing/shared_memory.

#include <string.h>

#include "protozero/tracing/shared_memory_abi.h"
#include "src/tracing/shared_memory/chunk_reader.h"
#include "test/model/weak/scenarios.h"

namespace protozero::weak {
namespace {

using ABI = SharedMemoryABI;

constexpr size_t kPageSize = ABI::kMinPageSize;

// One page, whose payload is never read while it is written.
struct Page {
  alignas(8) uint8_t memory[kPageSize] = {};
  const ABI abi{memory, kPageSize, kPageSize};
  // The packets of each writer that the service has received.
  int received[3] = {};

  void DeclarePayload(ABI::PageLayout layout, bool may_race = false) {
    for (size_t i = 0; i < ABI::kNumChunksForLayout[layout]; ++i) {
      const ABI::Chunk chunk = abi.GetChunkUnchecked(
          0, static_cast<uint32_t>(layout) << ABI::kLayoutShift, i);
      DeclareBytes(chunk.payload_begin(), chunk.payload_size(), may_race);
    }
  }
  ABI::Chunk Acquire(ABI::PageLayout layout) const {
    if (layout == ABI::kPageDiv1)
      return abi.TryAcquirePage(0);
    if (abi.GetPageWord(0, std::memory_order_relaxed) == 0)
      abi.TryPartitionPage(0, layout);
    return abi.TryAcquireChunkForWriting(0, layout);
  }
  // Writes a packet of one byte into a chunk that is begun and completed.
  bool Write(ABI::PageLayout layout, WriterID writer, ChunkID chunk_id) const {
    const ABI::Chunk chunk = Acquire(layout);
    if (!chunk.is_valid())
      return false;
    ABI::InitChunkForWriting(chunk, writer, chunk_id, 1);
    chunk.payload_begin()[0] = 1;
    chunk.payload_begin()[1] = Content(writer, chunk_id);
    return abi.ReleaseChunkAsComplete(chunk);
  }
  static uint8_t Content(WriterID writer, ChunkID chunk_id) {
    return static_cast<uint8_t>(writer << 4 | static_cast<int>(chunk_id + 1));
  }
  void CheckCopy(const ChunkCopy& copy) {
    Check(copy.writer_id == 1 || copy.writer_id == 2, "a chunk has its writer");
    Check(copy.num_packets == 1, "the packet is counted");
    Check(copy.payload.size() >= 2 && copy.payload[0] == 1 &&
              copy.payload[1] == Content(copy.writer_id, copy.chunk_id),
          "the packet is that of the header");
  }
  void Receive(const ChunkCopy& copy) {
    CheckCopy(copy);
    Check(copy.chunk_id == static_cast<ChunkID>(received[copy.writer_id]++),
          "chunks arrive once, in order");
  }
  bool MoveChunk(size_t index) {
    const ABI::Chunk chunk = abi.TryAcquireChunkForReading(0, index);
    if (!chunk.is_valid())
      return false;
    ChunkCopy copy;
    CopySharedChunk(chunk, &copy);
    Receive(copy);
    Check(abi.ReleaseChunkAsFree(chunk), "the chunk is the reader's");
    return true;
  }
};

// A writer uses the same chunk again when the service has freed it. Without a
// neighbour in use, the page is partitioned again, too.
template <bool has_neighbour, ABI::PageLayout layout = ABI::kPageDiv14>
struct HandOver : Page {
  HandOver() {
    DeclarePayload(layout);
    if (has_neighbour)
      Acquire(layout);
  }
  static constexpr size_t kIndex = has_neighbour ? 1 : 0;
  void Run(int thread) {
    if (thread == 0) {
      Write(layout, 1, 0);
      Assume(abi.GetPageWord(0, std::memory_order_relaxed) ==
             (has_neighbour ? kNeighbour : 0));
      Check(Write(layout, 1, 1), "the chunk is free");
    } else {
      Assume(MoveChunk(kIndex));
    }
  }
  void End() {
    Check(MoveChunk(kIndex) && received[1] == 2, "all chunks arrive");
    Check(has_neighbour || abi.GetPageWord(0) == 0,
          "an unused page has no layout");
  }
  static constexpr uint32_t kNeighbour =
      uint32_t{ABI::kPageDiv14} << ABI::kLayoutShift | ABI::kChunkBeingWritten;
};

// Two writers take neighbouring chunks. No change to the word is lost.
struct Neighbours : Page {
  ABI::Chunk chunks[2];
  void Run(int thread) {
    chunks[thread] = Acquire(ABI::kPageDiv14);
    Check(chunks[thread].is_valid(), "there are enough chunks");
    chunks[thread].payload_begin()[0] = 1;
    Check(abi.ReleaseChunkAsComplete(chunks[thread]),
          "the chunk is the writer's");
  }
  void End() {
    Check(chunks[0].chunk_idx() != chunks[1].chunk_idx(),
          "a chunk has one owner");
    const uint32_t word = abi.GetPageWord(0);
    Check(ABI::StateOf(word, 0) == ABI::kChunkComplete &&
              ABI::StateOf(word, 1) == ABI::kChunkComplete,
          "both chunks are complete");
  }
};

// Writes packets of one byte into one chunk, each after it was counted.
void WritePackets(const ABI& abi, const ABI::Chunk& chunk, int num_packets) {
  ABI::InitChunkForWriting(chunk, 2, 7, 1);
  for (int i = 0; i < num_packets; ++i) {
    chunk.payload_begin()[2 * i] = 1;
    chunk.payload_begin()[2 * i + 1] = Page::Content(2, 7);
    // The last packet that a complete chunk counts is there.
    if (i + 1 < num_packets) {
      chunk.header()->packets.store(static_cast<uint16_t>(i + 2),
                                    std::memory_order_release);
    }
  }
  abi.ReleaseChunkAsComplete(chunk);
}

// A service frees a chunk, and scrapes it when the next writer has it.
struct ScrapeReused : Page {
  ScrapeReused() {
    DeclarePayload(ABI::kPageDiv14);
    Check(Write(ABI::kPageDiv14, 1, 0), "there is room");
  }
  void Run(int thread) {
    if (thread == 0) {
      const ABI::Chunk chunk = Acquire(ABI::kPageDiv14);
      Assume(chunk.is_valid());
      WritePackets(abi, chunk, 2);
      return;
    }
    Assume(MoveChunk(0));
    ChunkCopy copy;
    if (!ScrapeChunk(abi, 0, 0, WriterState::kAlive, &copy))
      return;
    Check(copy.writer_id == 2 && copy.chunk_id == 7,
          "a scraped chunk is not the one before");
    Check(copy.num_packets == (copy.is_complete ? 2 : 1),
          "a complete chunk has all its packets");
    for (size_t i = 0; i < copy.num_packets; ++i) {
      Check(
          copy.payload[2 * i] == 1 && copy.payload[2 * i + 1] == Content(2, 7),
          "the packet is that of the header");
    }
  }
  void End() {}
};

// The service scrapes the chunk of a writer that is gone: whatever it sees of
// the header, the ids belong together.
struct ScrapeGone : Page {
  ABI::Chunk chunk;
  ScrapeGone() {
    DeclarePayload(ABI::kPageDiv14);
    chunk = Acquire(ABI::kPageDiv14);
  }
  void Run(int thread) {
    ChunkCopy copy;
    if (thread == 0) {
      ABI::InitChunkForWriting(chunk, 2, 7, 1);
    } else if (ScrapeChunk(abi, 0, 0, WriterState::kGone, &copy)) {
      Check(copy.writer_id == 0 || copy.chunk_id == 7,
            "with the writer comes the chunk's id");
    }
  }
  void End() {}
};

}  // namespace

std::vector<Scenario> ChunkScenarios() {
  return {
      MakeScenario<HandOver<false>>("hand over", 2),
      MakeScenario<HandOver<true>>("hand over, page in use", 2),
      MakeScenario<HandOver<false, ABI::kPageDiv1>>("hand over a page", 2),
      MakeScenario<Neighbours>("neighbours", 2),
      MakeScenario<ScrapeReused>("scrape", 2),
      MakeScenario<ScrapeGone>("scrape gone", 2),
  };
}

}  // namespace protozero::weak
