// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/shared_memory/chunk_ring.h"

#include <stdlib.h>

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

// The chunks that a writer leaves alone.
struct LeftChunks {
  // The number of steps for which a chunk has to be complete.
  size_t min_age;
  // The chunks that are kept; null if none are.
  const KeptChunks* kept;

  // Returns whether a writer that has taken |step| leaves the chunk of the page
  // alone.
  bool Has(const ABI& abi, size_t page, uint32_t step) const {
    if (IsNewerThan(abi, page, step - static_cast<uint32_t>(min_age)))
      return true;
    if (kept == nullptr)
      return false;
    const ABI::Chunk chunk =
        abi.GetChunkUnchecked(page, abi.GetPageWord(page), 0);
    return chunk.is_valid() &&
           kept->Has(chunk.header()->writer_id.load(std::memory_order_relaxed),
                     chunk.header()->chunk_id.load(std::memory_order_relaxed),
                     step);
  }
};

// Frees the chunk of a page if it is complete and not |left|. Returns whether
// it did.
bool FreeChunk(const ABI& abi,
               RingState* ring,
               size_t page,
               uint32_t step,
               const LeftChunks& left) {
  // Usually, this finds a newer chunk without disturbing others.
  if (left.Has(abi, page, step))
    return false;
  const ABI::Chunk chunk = abi.TryAcquireChunkForReading(page, 0);
  if (!chunk.is_valid())
    return false;
  // Meanwhile, it may have become another chunk. From here on it stays.
  if (left.Has(abi, page, step)) {
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
                       uint32_t step,
                       const LeftChunks& left) {
  if (abi.GetPageWord(page) != 0 && !FreeChunk(abi, ring, page, step, left))
    return ABI::Chunk();
  abi.TryPartitionPage(page, ABI::kPageDiv1);
  const ABI::Chunk chunk = abi.TryAcquireChunkForWriting(page, ABI::kPageDiv1);
  // CopyLivePage() looks at the header again after an acquire fence. If it has
  // loaded bytes that the new writer stores from here on, it then sees that the
  // old packets are gone.
  std::atomic_thread_fence(std::memory_order_release);
  return chunk;
}

}  // namespace

KeptChunks::KeptChunks(size_t num_pages)
    : max_kept_(static_cast<uint32_t>(
          std::clamp<size_t>(num_pages / 8, 1, kMaxKept))),
      half_round_(static_cast<uint32_t>(num_pages / 2)),
      writers_(static_cast<Writer*>(
          calloc(size_t{kMaxWriterID} + 1, sizeof(Writer)))) {}

KeptChunks::~KeptChunks() {
  free(writers_);
}

void KeptChunks::KeepFrom(WriterID writer_id, ChunkID first, uint64_t step) {
  Change(writer_id, first, max_kept_, step);
}

void KeptChunks::Release(WriterID writer_id, ChunkID next, uint64_t step) {
  Change(writer_id, next, 0, step);
}

void KeptChunks::Change(WriterID writer_id,
                        ChunkID begin,
                        uint32_t num,
                        uint64_t step) {
  if (writers_ == nullptr)
    return;
  Writer& writer = writers_[writer_id];
  // A thread that sees |begin| also sees that the chunks before are kept.
  writer.changed_at.store(static_cast<uint32_t>(step),
                          std::memory_order_relaxed);
  writer.previous_begin.store(writer.num.load(std::memory_order_relaxed) != 0
                                  ? writer.begin.load(std::memory_order_relaxed)
                                  : begin,
                              std::memory_order_relaxed);
  writer.begin.store(begin, std::memory_order_release);
  writer.num.store(num, std::memory_order_relaxed);
}

bool KeptChunks::Has(WriterID writer_id,
                     ChunkID chunk_id,
                     uint32_t step) const {
  if (writers_ == nullptr || writer_id > kMaxWriterID)
    return false;
  const Writer& writer = writers_[writer_id];
  const uint32_t num = writer.num.load(std::memory_order_relaxed);
  const ChunkID begin = writer.begin.load(std::memory_order_acquire);
  if (chunk_id - begin < num)
    return true;
  const ChunkID previous_begin =
      writer.previous_begin.load(std::memory_order_relaxed);
  return chunk_id - previous_begin <
             std::min(begin - previous_begin, max_kept_) &&
         step - writer.changed_at.load(std::memory_order_relaxed) < half_round_;
}

ABI::Chunk TakeOldestChunk(const ABI& abi,
                           RingState* ring,
                           size_t max_pages,
                           const KeptChunks* kept) {
  const size_t num_pages = abi.num_pages();
  const LeftChunks rounds[] = {{num_pages / 2, kept}, {0, kept}, {0, nullptr}};
  const size_t num_rounds = kept != nullptr ? 3 : 2;
  for (size_t round = 0; round < num_rounds; ++round) {
    for (size_t i = std::min(max_pages, num_pages); i > 0; --i) {
      const uint64_t step =
          ring->next_step.fetch_add(1, std::memory_order_relaxed);
      const ABI::Chunk chunk =
          TryTakePage(abi, ring, internal::ToSize(step % num_pages),
                      static_cast<uint32_t>(step), rounds[round]);
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
