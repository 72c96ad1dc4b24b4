// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SHARED_MEMORY_CHUNK_RING_H_
#define SRC_TRACING_SHARED_MEMORY_CHUNK_RING_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "protozero/tracing/shared_memory_abi.h"
#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The memory of writers that have no service is a ring of pages with one chunk
// each, in which they overwrite the oldest complete chunk:
//
//      3     4     5     6     7     0     1     2
//   +-----+-----+-----+-----+-----+-----+-----+-----+
//   | 140 | 141 | 142 | use | 137 | 145 | 138 | use |     next step: 147
//   +-----+-----+-----+-----+-----+-----+-----+-----+
//                                          ^
//                                          147 % 8: this chunk is overwritten
//
// RingState::next_step counts the steps of all writers around the ring. A
// writer that looks for a chunk takes the next step, to the page with that
// number modulo the number of pages. If the chunk there is in use, the writer
// leaves it, and takes another step. So the chunk of an idle thread keeps its
// place, and others cannot push it out.
//
// A page has, in its reserved word, the lower 32 bits of |next_step| from when
// its chunk was completed. A writer also leaves a chunk that was completed in
// the last half of a round. So a slow thread, whose chunk was in use for many
// rounds, has its last packets for half a round; and a writer that was stopped
// between its step and its page does not overwrite what is new there.
//
// Packets need earlier ones of their writer, which describe what they refer to.
// So a writer also leaves the chunks that another one keeps (see KeptChunks),
// unless there is nothing else to take.
//
// All functions: any thread, no lock, no system call. If the process is killed
// at any moment, a chunk has all of its packets, or its header says that there
// are none.

// The state of a ring, beside its pages. It may be in memory that other
// processes read.
struct RingState {
  std::atomic<uint64_t> next_step;
  // The packets that began in overwritten chunks. Each writer that is killed
  // may leave out those of one chunk.
  std::atomic<uint64_t> packets_overwritten;
};

static_assert(sizeof(RingState) == 16 && alignof(RingState) == 8,
              "32-bit and 64-bit programs share it");
static_assert(std::atomic<uint64_t>::is_always_lock_free,
              "a lock would not be shared with another process");

// The chunks that each writer of a ring needs: those from its last description
// of its state on. They are few, see TraceContext::MaxChunksOfSequence(). It is
// no part of the memory, because readers have no use for it.
class KeptChunks {
 public:
  // Allocates a few bytes for each writer id. Without memory, keeps nothing.
  explicit KeptChunks(size_t num_pages);
  ~KeptChunks();

  KeptChunks(const KeptChunks&) = delete;
  KeptChunks& operator=(const KeptChunks&) = delete;

  // Keeps the writer's chunks from |first| on, and for half a round those that
  // were kept before. Chunks after the first kMaxKept are not kept: they are
  // of a packet that is too long. |step| is RingState::next_step. REQUIRES: the
  // writer's thread calls it.
  void KeepFrom(WriterID writer_id, ChunkID first, uint64_t step);
  // Keeps none of the writer's later chunks, which begin with |next|, and for
  // half a round those that were kept before. REQUIRES: as KeepFrom().
  void Release(WriterID writer_id, ChunkID next, uint64_t step);

  // Returns whether the chunk is kept at |step|.
  bool Has(WriterID writer_id, ChunkID chunk_id, uint32_t step) const;

 private:
  static constexpr uint32_t kMaxKept = 32;

  // The kept chunks of one writer: |num| from |begin| on, and those from
  // |previous_begin| to |begin| until half a round after |changed_at|.
  struct Writer {
    std::atomic<ChunkID> begin;
    std::atomic<ChunkID> previous_begin;
    std::atomic<uint32_t> changed_at;
    std::atomic<uint32_t> num;
  };
  void Change(WriterID writer_id, ChunkID begin, uint32_t num, uint64_t step);

  // An eighth of the ring, so that one writer does not keep a small one.
  const uint32_t max_kept_;
  const uint32_t half_round_;
  // By id. Zero, and most of it never touched.
  Writer* const writers_;
};

// Takes a chunk for writing. Takes up to |max_pages| steps. If it has found
// only chunks that are in use, new or kept, it takes as many again, and also
// takes a new one; and then, if there is |kept|, as many again for one that is
// kept. Returns an invalid chunk if all are in use. InitChunkForWriting() has
// to follow.
SharedMemoryABI::Chunk TakeOldestChunk(const SharedMemoryABI& abi,
                                       RingState* ring,
                                       size_t max_pages,
                                       const KeptChunks* kept = nullptr);

// Completes a chunk that TakeOldestChunk() has returned.
void CompleteRingChunk(const SharedMemoryABI& abi,
                       const RingState& ring,
                       const SharedMemoryABI::Chunk& chunk);

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SHARED_MEMORY_CHUNK_RING_H_
