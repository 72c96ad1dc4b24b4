// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The ring of the flight recorder: writers without a service, which take the
// oldest chunk, and a snapshot that copies pages meanwhile.

#include <string.h>

#include <atomic>

#include "protozero/tracing/shared_memory_abi.h"
#include "src/tracing/local/flight_copy.h"
#include "src/tracing/shared_memory/chunk_ring.h"
#include "test/model/weak/scenarios.h"

namespace protozero::weak {
namespace {

using ABI = SharedMemoryABI;

constexpr size_t kPageSize = ABI::kMinPageSize;

// A ring whose chunks are complete, and were written by writer 1.
template <size_t kNumPages>
struct Ring {
  alignas(8) uint8_t memory[kNumPages * kPageSize] = {};
  const ABI abi{memory, sizeof(memory), kPageSize};
  RingState state{};

  explicit Ring(bool may_race) {
    for (size_t page = 0; page < kNumPages; ++page) {
      DeclareBytes(memory + page * kPageSize, kPageSize, may_race);
      Complete(Write(1, static_cast<ChunkID>(page + 1)));
    }
  }
  // Takes a chunk for a packet of one byte, and begins another packet.
  ABI::Chunk Write(WriterID writer, ChunkID chunk_id) {
    const ABI::Chunk chunk = TakeOldestChunk(abi, &state, kNumPages);
    if (!chunk.is_valid())
      return chunk;
    ABI::InitChunkForWriting(chunk, writer, chunk_id, 1);
    chunk.payload_begin()[0] = 1;
    chunk.payload_begin()[1] = Content(writer, chunk_id);
    chunk.header()->packets.store(2, std::memory_order_release);
    chunk.payload_begin()[2] = 0;
    return chunk;
  }
  void Complete(const ABI::Chunk& chunk) {
    CompleteRingChunk(abi, state, chunk);
  }
  static uint8_t Content(WriterID writer, ChunkID chunk_id) {
    return static_cast<uint8_t>(writer << 4 | static_cast<int>(chunk_id + 1));
  }
  // Checks the copy of a page.
  static void CheckPage(const uint8_t* page) {
    FlightPageStart start;
    memcpy(&start, page, sizeof(start));
    if (ABI::StateOf(start.word, 0) == ABI::kChunkFree ||
        (start.packets & ABI::kPacketCountMask) < 2) {
      return;
    }
    Check(
        page[sizeof(start)] == 1 &&
            page[sizeof(start) + 1] == Content(start.writer_id, start.chunk_id),
        "the packet is that of the header");
  }
};

// Two writers take the same chunk, or one the other's.
struct TwoRingWriters : Ring<1> {
  int num_written = 0;
  ABI::Chunk chunks[2];
  TwoRingWriters() : Ring(false) {}
  void Run(int thread) {
    chunks[thread] = Write(static_cast<WriterID>(thread + 2), 0);
    if (chunks[thread].is_valid())
      Complete(chunks[thread]);
  }
  void End() {
    Check(chunks[0].is_valid() || chunks[1].is_valid(),
          "one of them has a chunk");
    uint8_t copy[kPageSize];
    CopyLivePage(abi, 0, copy);
    CheckPage(copy);
    const uint64_t overwritten = state.packets_overwritten;
    Check(overwritten ==
              uint64_t{chunks[0].is_valid()} + uint64_t{chunks[1].is_valid()},
          "each overwritten packet is counted");
  }
};

// A writer keeps later chunks than before, while another one looks whether it
// keeps an earlier one.
struct Kept {
  static constexpr uint32_t kNow = 100;
  KeptChunks kept{32};
  Kept() { kept.KeepFrom(1, 1, 0); }
  void Run(int thread) {
    if (thread == 0) {
      kept.KeepFrom(1, 2, kNow);
    } else {
      Check(kept.Has(1, 1, kNow), "an earlier chunk stays for half a round");
    }
  }
  void End() {}
};

// A snapshot copies a page while a writer overwrites it. |is_in_use| says
// whether another thread was writing to it when it began.
template <bool is_in_use>
struct Snapshot : Ring<1> {
  Snapshot() : Ring(true) {
    if (is_in_use)
      open = Write(1, 2);
  }
  ABI::Chunk open;
  uint8_t copy[kPageSize] = {};
  void Run(int thread) {
    if (thread == 0) {
      if (is_in_use)
        Complete(open);
      const ABI::Chunk chunk = Write(2, 0);
      if (!is_in_use && chunk.is_valid())
        Complete(chunk);
    } else {
      CopyLivePage(abi, 0, copy);
      CheckPage(copy);
    }
  }
  void End() {}
};

// The same, but all stores come before the copy, which may still load any that
// were there at a time. As it stores nothing, that is every way it can go.
struct SnapshotOfTaken : Snapshot<true> {
  std::atomic<bool> is_taken{false};
  void Run(int thread) {
    if (thread == 1)
      Assume(is_taken.load(std::memory_order_relaxed));
    Snapshot::Run(thread);
    if (thread == 0)
      is_taken.store(true, std::memory_order_relaxed);
  }
};

}  // namespace

std::vector<Scenario> RingScenarios() {
  return {
      MakeScenario<TwoRingWriters>("ring", 2),
      MakeScenario<Kept>("kept", 2),
      MakeScenario<Snapshot<false>>("snapshot", 2),
      MakeScenario<Snapshot<true>>("snapshot of a chunk in use", 2),
      MakeScenario<SnapshotOfTaken>("snapshot of a chunk taken", 2),
  };
}

}  // namespace protozero::weak
