// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/shared_memory/chunk_ring.h"

#include <algorithm>

#include "protozero/internal/compiler.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using ABI = SharedMemoryABI;

namespace {

// Returns whether the chunk of the page was completed after |step|. Steps may
// have wrapped around in between.
bool IsNewerThan(const ABI& abi, size_t page, uint32_t step) {
  const uint32_t completed_at =
      abi.reserved_word(page).load(std::memory_order_relaxed);
  return static_cast<int32_t>(completed_at - step) > 0;
}

// Returns how many packets began in a complete chunk. Its last fragment is no
// packet, but one that was announced and never came, or a drop marker, unless
// it goes on in the next chunk.
uint64_t PacketsBegunIn(uint16_t packets) {
  const uint32_t count = packets & ABI::kPacketCountMask;
  uint32_t others = 0;
  if ((packets & ABI::kFirstPacketContinuesFromPrevChunk) != 0)
    ++others;
  if ((packets & ABI::kLastPacketContinuesOnNextChunk) == 0)
    ++others;
  return count - std::min(count, others);
}

// Frees the chunk of a page if it is complete, and was completed at |step| or
// before. Returns whether it did.
bool FreeChunk(const ABI& abi, RingState* ring, size_t page, uint32_t step) {
  // Usually, this finds a newer chunk without disturbing others.
  if (IsNewerThan(abi, page, step))
    return false;
  const ABI::Chunk chunk = abi.TryAcquireChunkForReading(page, 0);
  if (!chunk.is_valid())
    return false;
  // Meanwhile, it may have become another chunk. From here on it stays.
  if (IsNewerThan(abi, page, step)) {
    abi.ReleaseChunkUnread(chunk);
    return false;
  }
  // Its packets are gone from this moment on. It comes before all other
  // changes, because a reader believes the rest of a chunk that has packets.
  const uint16_t packets =
      chunk.header()->packets.exchange(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  ring->packets_overwritten.fetch_add(PacketsBegunIn(packets),
                                      std::memory_order_relaxed);
  return abi.ReleaseChunkAsFree(chunk);
}

// Takes the page if it is unused, or as FreeChunk() allows.
ABI::Chunk TryTakePage(const ABI& abi,
                       RingState* ring,
                       size_t page,
                       uint32_t step) {
  if (abi.GetPageWord(page) != 0 && !FreeChunk(abi, ring, page, step))
    return ABI::Chunk();
  abi.TryPartitionPage(page, ABI::kPageDiv1);
  const ABI::Chunk chunk = abi.TryAcquireChunkForWriting(page, ABI::kPageDiv1);
  // CopyLivePage() looks at the header again behind an acquire fence. If it has
  // loaded bytes that the new writer stores from here on, it then sees that the
  // old packets are gone.
  std::atomic_thread_fence(std::memory_order_release);
  return chunk;
}

}  // namespace

ABI::Chunk TakeOldestChunk(const ABI& abi, RingState* ring, size_t max_pages) {
  const size_t num_pages = abi.num_pages();
  for (const size_t min_age : {num_pages / 2, size_t{0}}) {
    for (size_t i = std::min(max_pages, num_pages); i > 0; --i) {
      const uint64_t step =
          ring->next_step.fetch_add(1, std::memory_order_relaxed);
      const ABI::Chunk chunk =
          TryTakePage(abi, ring, internal::ToSize(step % num_pages),
                      static_cast<uint32_t>(step - min_age));
      if (chunk.is_valid())
        return chunk;
    }
  }
  return ABI::Chunk();
}

void CompleteRingChunk(const ABI& abi,
                       const RingState& ring,
                       const ABI::Chunk& chunk) {
  abi.reserved_word(chunk.page_idx())
      .store(
          static_cast<uint32_t>(ring.next_step.load(std::memory_order_relaxed)),
          std::memory_order_relaxed);
  abi.ReleaseChunkAsComplete(chunk);
}

PROTOZERO_ABI_END
}  // namespace protozero
