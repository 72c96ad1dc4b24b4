// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/shared_memory_abi.h"

#include "protozero/internal/compiler.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// A compare-and-swap fails when another chunk of the page has changed
// meanwhile, which can happen a few times in a row. If it happens more often,
// another process writes to the page all the time, to keep this one busy.
constexpr int kMaxAttempts = 1024;

constexpr uint32_t WithState(uint32_t page_word,
                             size_t chunk_idx,
                             SharedMemoryABI::ChunkState state) {
  const size_t shift = SharedMemoryABI::kChunkStateBits * chunk_idx;
  return (page_word & ~(SharedMemoryABI::kChunkStateMask << shift)) |
         static_cast<uint32_t>(state) << shift;
}

}  // namespace

SharedMemoryABI::SharedMemoryABI(uint8_t* start, size_t size, size_t page_size)
    : start_(start),
      page_size_(page_size),
      num_pages_(IsValidPageSize(page_size) ? size / page_size : 0) {
  PROTOZERO_DCHECK(IsValidPageSize(page_size),
                   "pages are of 4 to 64 KiB, in multiples of 4 KiB");
  PROTOZERO_DCHECK(reinterpret_cast<uintptr_t>(start) % sizeof(uint64_t) == 0,
                   "the words of a page have to be aligned");
  for (uint32_t layout = 0; layout < kNumPageLayouts; ++layout) {
    chunk_sizes_[layout] = static_cast<uint32_t>(
        ChunkSize(page_size, static_cast<PageLayout>(layout)));
  }
}

bool SharedMemoryABI::TryPartitionPage(size_t page_idx,
                                       PageLayout layout) const {
  uint32_t expected = 0;
  // Whoever acquires a chunk then also acquires what the service wrote before:
  // read-modify-write operations go on with a release sequence.
  return page_header(page_idx)->header_bitmap.compare_exchange_strong(
      expected, static_cast<uint32_t>(layout) << kLayoutShift,
      std::memory_order_relaxed, std::memory_order_relaxed);
}

void SharedMemoryABI::ReturnPage(size_t page_idx) const {
  page_header(page_idx)->header_bitmap.store(0, std::memory_order_release);
}

SharedMemoryABI::Chunk SharedMemoryABI::TryAcquireChunkForWriting(
    size_t page_idx,
    PageLayout layout) const {
  std::atomic<uint32_t>& bitmap = page_header(page_idx)->header_bitmap;
  uint32_t word = bitmap.load(std::memory_order_relaxed);
  const size_t num_chunks = kNumChunksForLayout[layout];
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    if (LayoutOf(word) != layout)
      return Chunk();
    size_t chunk_idx = 0;
    while (chunk_idx < num_chunks && StateOf(word, chunk_idx) != kChunkFree)
      ++chunk_idx;
    if (chunk_idx == num_chunks)
      return Chunk();
    // This acquires what the service wrote before it freed the chunk.
    if (bitmap.compare_exchange_weak(
            word, WithState(word, chunk_idx, kChunkBeingWritten),
            std::memory_order_acquire, std::memory_order_relaxed)) {
      return GetChunkUnchecked(page_idx, word, chunk_idx);
    }
  }
  return Chunk();
}

SharedMemoryABI::Chunk SharedMemoryABI::TryAcquireChunkForReading(
    size_t page_idx,
    size_t chunk_idx) const {
  if (page_idx >= num_pages_)
    return Chunk();
  // Any layout will do: if it has changed since, the transition fails.
  const Chunk chunk =
      GetChunkUnchecked(page_idx, GetPageWord(page_idx), chunk_idx);
  return chunk.is_valid() && ChangeState(chunk, kChunkComplete, kChunkBeingRead)
             ? chunk
             : Chunk();
}

bool SharedMemoryABI::ReleaseChunkAsFree(const Chunk& chunk) const {
  // A scraper believes the header of a chunk that is being written as soon as
  // it has packets. So no packets of an earlier writer may be left in it.
  InitChunkForWriting(chunk, 0, 0, 0);
  return ChangeState(chunk, kChunkBeingRead, kChunkFree);
}

bool SharedMemoryABI::ReleaseChunkUnread(const Chunk& chunk) const {
  return ChangeState(chunk, kChunkBeingRead, kChunkComplete);
}

SharedMemoryABI::Chunk SharedMemoryABI::GetChunkUnchecked(
    size_t page_idx,
    uint32_t page_word,
    size_t chunk_idx) const {
  const PageLayout layout = LayoutOf(page_word);
  if (page_idx >= num_pages_ || chunk_idx >= kNumChunksForLayout[layout])
    return Chunk();
  const size_t size = chunk_sizes_[layout];
  uint8_t* const page = start_ + page_idx * page_size_;
  return Chunk(page + sizeof(PageHeader) + chunk_idx * size, size, page_idx,
               chunk_idx);
}

bool SharedMemoryABI::ChangeState(const Chunk& chunk,
                                  ChunkState from,
                                  ChunkState to) const {
  std::atomic<uint32_t>& bitmap = page_header(chunk.page_idx())->header_bitmap;
  uint32_t word = bitmap.load(std::memory_order_relaxed);
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    if (chunk_sizes_[LayoutOf(word)] != chunk.size() ||
        StateOf(word, chunk.chunk_idx()) != from) {
      return false;
    }
    uint32_t new_word = WithState(word, chunk.chunk_idx(), to);
    // A page loses its partition with its last chunk.
    if (to == kChunkFree && (new_word & kAllChunksMask) == 0)
      new_word = 0;
    if (bitmap.compare_exchange_weak(word, new_word, std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

PROTOZERO_ABI_END
}  // namespace protozero
