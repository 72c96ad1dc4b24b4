// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_SHARED_MEMORY_ARBITER_H_
#define INCLUDE_PROTOZERO_TRACING_SHARED_MEMORY_ARBITER_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "protozero/tracing/internal/loss_account.h"
#include "protozero/tracing/internal/patch_list.h"
#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

class TraceWriter;

// Shares the producer's memory among its writers, and tells the service what
// they have finished.
//
// Threads never wait for each other here: a chunk is acquired by a few
// compare-and-swaps on its page, starting where the last one was found; a
// finished one is pushed on a lock-free list. The list is committed when
// Options::commit_batch_bytes are on it, when a writer flushes, when a writer
// finds no chunk, and when the owner calls FlushPendingCommitDataRequests(),
// say, every 100 ms. Whoever does it sends for all; a thread that comes while
// another one is sending leaves its chunks to that one. Chunks of one writer
// are committed in the order in which they were finished.
//
// Allocates when writers are created, and in the constructor. Any thread.
class SharedMemoryArbiter {
 public:
  // Returns true when every thread of this process has executed a full memory
  // barrier since the call: on Linux, membarrier(2), registered and expedited.
  // Returns false if it cannot have them do that, or not any more.
  using ProcessBarrier = bool (*)();

  struct Options {
    // How many chunks share a page.
    SharedMemoryABI::PageLayout page_layout = SharedMemoryABI::kPageDiv1;
    // At most half of the buffer, which 0 stands for.
    size_t commit_batch_bytes = 0;
    uint32_t stall_timeout_ms = 3000;
    // Ids go from 1 to here.
    WriterID max_writers = kMaxWriterID;
    // See ReturnIdleChunks().
    ProcessBarrier process_barrier = nullptr;
  };

  // The memory is zero, or as another arbiter with the same page size left it.
  // REQUIRES: as SharedMemoryABI; memory and |endpoint| outlive the arbiter.
  SharedMemoryArbiter(void* start,
                      size_t size,
                      size_t page_size,
                      ProducerEndpoint* endpoint,
                      const Options& options);
  SharedMemoryArbiter(void* start,
                      size_t size,
                      size_t page_size,
                      ProducerEndpoint* endpoint)
      : SharedMemoryArbiter(start, size, page_size, endpoint, Options()) {}
  // REQUIRES: its writers are gone.
  ~SharedMemoryArbiter();

  SharedMemoryArbiter(const SharedMemoryArbiter&) = delete;
  SharedMemoryArbiter& operator=(const SharedMemoryArbiter&) = delete;

  // A writer for one thread at a time. Null only if there is no memory for it.
  // When there are more writers than ids, it is one that loses all packets, as
  // any writer does whose buffer is exhausted. It must not outlive the arbiter.
  // Takes a lock.
  std::unique_ptr<TraceWriter> CreateTraceWriter(
      BufferID target_buffer,
      BufferExhaustedPolicy policy = BufferExhaustedPolicy::kDrop);

  // Commits what has been finished. If another thread is at it, that one will
  // do it, and this returns at once.
  void FlushPendingCommitDataRequests();
  // The same, and returns only when it is done. Waits for other threads that
  // are in ProducerEndpoint::CommitData().
  void FlushPendingCommitDataRequestsAndWait();

  // Takes and commits the chunks of writers that are between two packets, of
  // which other writers may be in need, and the service of what is in them: of
  // all those, or of those that have not written a packet since this was done
  // last. Their threads notice when they write the next packet, which begins in
  // another chunk; they wait if that is right now. Costs a thread that writes
  // nothing but a comparison in each packet. Does nothing without
  // Options::process_barrier, or where that returns false. A writer that waits
  // for a chunk does it, too.
  void ReturnIdleChunks(bool even_if_recent);

  // Forgets what has been queued, whoever is sending, and whoever is taking
  // chunks: in a child process, where the memory is another one, all zero, and
  // other threads are gone. Writers are neither created nor destroyed there.
  void ResetAfterFork();

  const SharedMemoryABI& shmem_abi() const { return abi_; }
  size_t num_chunks() const { return num_chunks_; }

 private:
  friend class TraceWriter;

  // What belongs to a writer id, whoever has it.
  struct WriterSlot {
    WriterID writer_id;
    bool is_in_use;
    // Null while it is created.
    TraceWriter* writer;
    // Goes on with the next writer of that id: the service takes a second chunk
    // of the same id for a copy of the first.
    ChunkID next_chunk_id;
    // The chunk before that one says that its packet continues, which it does
    // not: there was no chunk when its time came.
    bool owes_drop_marker;
    PatchPool patches;

    // Where the writer begins to look for chunks when some have become free.
    // Each has another place: it gets memory that it has used before, rather
    // than what is in another processor's cache.
    size_t home_page;
    // Where its last search has ended.
    size_t next_page;
    // SharedMemoryArbiter::flush_rounds_ when it was at home last.
    uint32_t flush_rounds;
  };

  // A chunk on the list; where it stands in the array says which chunk it is.
  // Who commits it reads this, and then another thread may have the chunk, and
  // write it: what orders the two is the service in between, of which compilers
  // and sanitizers know nothing. Hence atomic.
  struct FinishedChunk {
    std::atomic<uint32_t> next;
    std::atomic<BufferID> target_buffer;
  };
  static constexpr uint32_t kNoChunk = UINT32_MAX;

  // An id for a new writer; null if there is none left. Returns false if there
  // is no memory for one.
  bool TakeSlot(WriterSlot** slot);
  // Of the |writer|-th writer, from 0.
  size_t HomePage(size_t writer) const;
  // Looks for a free chunk on all pages.
  SharedMemoryABI::Chunk TryAcquireChunk(WriterSlot* slot);
  // The same, until there is one or the time is up.
  SharedMemoryABI::Chunk WaitForChunk(WriterSlot* slot);
  // Looks at up to |max_pages|, from where the last search has ended.
  SharedMemoryABI::Chunk SearchForChunk(WriterSlot* slot, size_t max_pages);
  // ReturnIdleChunks(), if |lock| is held, which is that of |writers_lock_|.
  void ReturnIdleChunksLocked(const std::unique_lock<std::mutex>& lock,
                              bool even_if_recent);
  // Completes the chunk and queues it for the next commit.
  void PushFinishedChunk(const SharedMemoryABI::Chunk& chunk,
                         BufferID target_buffer);
  // The same, and commits if there is a batch.
  void QueueFinishedChunk(const SharedMemoryABI::Chunk& chunk,
                          BufferID target_buffer);
  // Queues the patches of a chunk that has been queued before, and flushes:
  // the service can do nothing with that writer's data without them.
  void QueuePatches(const PatchList::Group& group);
  // Has what is in |losses| reported with the next commit. It has to exist
  // until then: see ReleaseWriter().
  void QueueLosses(LossAccount* losses);
  // Commits, and reports, all there is of the writer. |slot| is null if it has
  // no id.
  void ReleaseWriter(WriterSlot* slot);

  // REQUIRES, for these: this thread is the one that sends.
  void SendQueued();
  void SendChunks(uint32_t newest);
  void SendPatches(Patch* patches);
  void SendLosses(LossAccount* losses);

  const SharedMemoryABI abi_;
  ProducerEndpoint* const endpoint_;
  const Options options_;
  const uint32_t chunks_per_page_;
  const size_t num_chunks_;
  const size_t commit_batch_bytes_;

  // Newest first. Nothing is taken off but everything at once, so the head can
  // not come back in between with another list behind it.
  alignas(64) std::atomic<uint32_t> finished_chunks_{kNoChunk};
  std::atomic<Patch*> finished_patches_{nullptr};
  std::atomic<LossAccount*> unreported_losses_{nullptr};
  std::atomic<size_t> finished_bytes_{0};
  const std::unique_ptr<FinishedChunk[]> chunk_entries_;

  // How often sending was asked for since it was done last. Who finds 0 sends.
  std::atomic<uint32_t> flush_requests_{0};
  // How often it was done.
  std::atomic<uint32_t> flush_rounds_{0};

  // The parts of a request. Limited, so that it fits any transport's frames.
  static constexpr size_t kMaxChunksToMove = 128;
  static constexpr size_t kMaxChunksToPatch = 64;
  static constexpr size_t kMaxPatches = 2 * PatchPool::kNumPatches;
  static constexpr size_t kMaxLosses = 64;
  CommitDataRequest::ChunkToMove chunks_to_move_[kMaxChunksToMove];
  CommitDataRequest::ChunkToPatch chunks_to_patch_[kMaxChunksToPatch];
  CommitDataRequest::Patch patches_[kMaxPatches];
  CommitDataRequest::WriterLosses losses_[kMaxLosses];

  // Whether ReturnIdleChunks() is under way.
  std::atomic<bool> is_reclaiming_{false};

  std::mutex writers_lock_;
  // By id, less 1. Guarded by the lock; what belongs to an id that is in use is
  // its writer's, but for WriterSlot::writer.
  std::vector<std::unique_ptr<WriterSlot>> writers_;
  // Where the search for a free id begins, so that ids are reused late.
  size_t next_writer_ = 0;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_SHARED_MEMORY_ARBITER_H_
