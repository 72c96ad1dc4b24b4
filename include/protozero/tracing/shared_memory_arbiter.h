// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_SHARED_MEMORY_ARBITER_H_
#define INCLUDE_PROTOZERO_TRACING_SHARED_MEMORY_ARBITER_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "protozero/internal/bit_deposit.h"
#include "protozero/tracing/internal/loss_account.h"
#include "protozero/tracing/internal/patch_list.h"
#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

class KeptChunks;
class TraceWriter;
struct RingState;

// Shares the producer's memory among its writers, and tells the service which
// chunks they have finished.
//
// Threads never wait for each other here. A thread acquires a chunk with a few
// compare-and-swaps on the chunk's page, where it found the last one. It pushes
// a finished chunk on a lock-free list. The list is committed when
// Options::commit_batch_bytes are on it, when a writer flushes, when a writer
// finds no chunk, and when the owner calls FlushPendingCommitDataRequests(),
// about every 100 ms. One thread sends for all: another thread that wants to
// send meanwhile leaves its chunks to it. Chunks of one writer are committed in
// the order in which they were finished.
//
// With Options::owner_commits, a thread of the owner calls CommitBatch(), and
// threads that write make no system call to commit, with three exceptions: a
// packet of more than five chunks, a buffer with hardly a free chunk, and the
// first of several losses. There, the service has to know at once. While that
// thread waits, a writer may have to wake it: see BeginWait().
//
// Allocates in the constructor, and when a writer is created. Any thread.
class SharedMemoryArbiter {
 public:
  // Returns true when every thread of this process has executed a full memory
  // barrier since the call. Returns false if the system cannot do that. On
  // Linux, membarrier(2) does it, registered and expedited.
  using ProcessBarrier = bool (*)();

  // The way in which a producer's memory is shared among its writers.
  struct Options {
    // The number of chunks that share a page.
    SharedMemoryABI::PageLayout page_layout = SharedMemoryABI::kPageDiv1;
    // The bytes of finished chunks that cause a commit. At most half of the
    // buffer. 0 stands for that, or for 1 MB of a larger buffer.
    size_t commit_batch_bytes = 0;
    // True if the owner calls CommitBatch() as often as that asks for. Then
    // writers commit only what would soon be lost: when three quarters of the
    // buffer wait for a commit, or half of a buffer of few chunks.
    bool owner_commits = false;
    // The time that a writer with the policy kStall waits.
    uint32_t stall_timeout_ms = 3000;
    // The largest id of a writer. Ids begin with 1.
    WriterID max_writers = kMaxWriterID;
    // See ReturnIdleChunks().
    ProcessBarrier process_barrier = nullptr;
    // If not null, there is no service: the memory is a ring, in which writers
    // overwrite the oldest finished chunk, and this is its state; see
    // TakeOldestChunk(). A writer that finds all chunks in use loses
    // its packet, whatever its policy. REQUIRES: |page_layout| is kPageDiv1;
    // the endpoint is a RingEndpoint.
    RingState* ring = nullptr;
  };

  // Takes memory that is zero, or as another arbiter with the same page size
  // left it. REQUIRES: as SharedMemoryABI; memory and |endpoint| outlive the
  // arbiter.
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

  // Creates a writer, for one thread at a time. Returns null only if there is
  // no memory for it. If all ids are taken, the writer loses all packets, as
  // any writer does that finds no chunk. The writer must not outlive the
  // arbiter. Takes a lock.
  std::unique_ptr<TraceWriter> CreateTraceWriter(
      BufferID target_buffer,
      BufferExhaustedPolicy policy = BufferExhaustedPolicy::kDrop);

  // Commits the finished chunks. If another thread is sending, that thread
  // commits them, and this returns at once.
  void FlushPendingCommitDataRequests();
  // Commits the finished chunks if half of a batch is finished. Returns the
  // number of milliseconds after which to call it again: the time in which
  // threads that write kBytesPerMs finish the rest of a batch, or kNoHurry if
  // no chunk was finished since the last call. Looks at one word if there is
  // nothing to do. One thread.
  uint32_t CommitBatch();
  // The speed for which CommitBatch() is called early enough: that of a thread
  // that does nothing but trace.
  static constexpr size_t kBytesPerMs = 1 << 20;
  static constexpr uint32_t kNoHurry = UINT32_MAX;

  // With Options::owner_commits, the owner's thread waits between BeginWait()
  // and EndWait(). One writer then calls ProducerEndpoint::WakeOwner(), at most
  // once for each wait: when a batch is finished, and, if the owner waits for
  // kAnyWork, when a writer takes or finishes a chunk or has losses to report.
  enum class WakeFor : uint32_t { kBatch = 1, kAnyWork = 2 };
  // Returns false if that has happened already; there is no wait then. One
  // thread, the same as CommitBatch().
  bool BeginWait(WakeFor reason);
  // Returns when no writer is in WakeOwner() any more.
  void EndWait();
  // Returns whether there was such work since the last call. The same thread.
  bool TakeWork();
  // Returns the number of times that writers have called WakeOwner(). Any
  // thread.
  uint32_t num_wakeups() const {
    return num_wakeups_.load(std::memory_order_relaxed);
  }
  // Commits the finished chunks, and returns when that is done. Waits for other
  // threads that are in ProducerEndpoint::CommitData().
  void FlushPendingCommitDataRequestsAndWait();

  // Commits the chunks of idle writers, so that other writers can reuse them
  // and the service sees their data. A writer is idle between two packets;
  // without |even_if_recent|, it must also have written no packet since the
  // last call. It notices when it writes its next packet, which begins in
  // another chunk; if that is right now, it waits. For a writer, this costs one
  // comparison a packet. Does nothing without Options::process_barrier, or if
  // that returns false. A writer that waits for a chunk calls this, too.
  // Returns whether a later call may find more: a writer still has a chunk.
  bool ReturnIdleChunks(bool even_if_recent);
  // Returns whether a thread is in the middle of a packet for that buffer. Its
  // chunk cannot be committed before the packet ends. Takes a lock.
  bool HasOpenPacket(BufferID target_buffer);

  // Forgets the queue, and which threads were sending or reclaiming chunks. A
  // child process calls it: its memory is another one, all zero, and it has no
  // other threads. Writers are neither created nor destroyed there.
  void ResetAfterFork();

  // Calls |visit(size_t page)| with the page where each writer looks for its
  // next chunk. Takes a lock.
  template <typename Visit>
  void VisitNextPages(Visit visit) {
    std::lock_guard<std::mutex> lock(writers_lock_);
    const uint32_t flush_rounds = flush_rounds_.load(std::memory_order_relaxed);
    for (const std::unique_ptr<WriterSlot>& slot : writers_) {
      if (!slot->is_in_use)
        continue;
      const bool goes_home =
          slot->flush_rounds.load(std::memory_order_relaxed) != flush_rounds;
      visit(goes_home ? slot->home_page
                      : slot->next_page.load(std::memory_order_relaxed));
    }
  }
  // Returns the number of pages up to the last one with a chunk that was
  // committed since the last call. One thread.
  size_t TakeCommittedPages() {
    return committed_pages_.exchange(0, std::memory_order_relaxed);
  }

  // Return the memory, and the number and size of its chunks.
  const SharedMemoryABI& shmem_abi() const { return abi_; }
  size_t num_chunks() const { return num_chunks_; }
  size_t chunk_size() const {
    return SharedMemoryABI::ChunkSize(abi_.page_size(), options_.page_layout);
  }

 private:
  friend class TraceWriter;
  struct RingState;

  // The data of one writer id, whichever writer has it.
  struct WriterSlot {
    WriterID writer_id;
    bool is_in_use;
    // Null while the writer is being created.
    TraceWriter* writer;
    // The id of the next chunk. It is not reset when another writer gets the
    // writer id: the service takes a second chunk of the same id for a copy of
    // the first.
    ChunkID next_chunk_id;
    // True if the last chunk says that its packet continues, but it does not:
    // there was no chunk for the rest.
    bool owes_drop_marker;

    // The page where the writer begins to look for chunks after some have
    // become free, if it is free, too. Each writer has another one, so that it
    // gets memory which it has used before, and which is not in another
    // processor's cache. All are at the front, SharedMemoryABI::kFrontSize.
    size_t home_page;
    // The page where its last search ended. Only the writer changes it.
    std::atomic<size_t> next_page;
    // The value of SharedMemoryArbiter::flush_rounds_ when its last search
    // began. Only the writer changes it.
    std::atomic<uint32_t> flush_rounds;

    PatchPool patches;
  };

  // A chunk on the list; its index in the array says which chunk it is. The
  // thread that commits it reads this. Then another thread may acquire the
  // chunk and write this. The service orders the two, but compilers and
  // sanitizers do not know that: hence atomic.
  struct FinishedChunk {
    std::atomic<uint32_t> next;
    std::atomic<BufferID> target_buffer;
  };
  static constexpr uint32_t kNoChunk = UINT32_MAX;

  bool is_ring() const { return options_.ring != nullptr; }
  uint32_t ring_quarter() const;
  // Does TraceWriter::KeepChunksFrom().
  void KeepChunksFrom(const WriterSlot& slot, ChunkID first);

  // Ends KeepChunksFrom() for the writer.
  void ReleaseKeptChunks(const WriterSlot& slot);
  // Returns whether a writer may exist without a thread: ReturnIdleChunks() can
  // take its chunk, or nothing commits chunks, because this is a ring.
  bool AllowsSpareWriters() const {
    return is_ring() || options_.process_barrier != nullptr;
  }

  // Finds an id for a new writer; |*slot| is null if all are taken. Returns
  // false if there is no memory for it.
  bool TakeSlot(WriterSlot** slot);
  // Returns the home page of the |writer|-th writer, counted from 0.
  size_t HomePage(size_t writer) const;
  // Looks for a free chunk on all pages.
  SharedMemoryABI::Chunk TryAcquireChunk(WriterSlot* slot);
  // Prefetches what QueueFinishedChunk() needs, which is usually in the cache
  // of the processor that commits. REQUIRES: PrefetchForWriting() may be
  // called.
  void PrefetchQueue(const SharedMemoryABI::Chunk& chunk) const {
    internal::PrefetchForWriting<0>(
        reinterpret_cast<const uint8_t*>(&finished_chunks_));
    internal::PrefetchForWriting<0>(reinterpret_cast<const uint8_t*>(
        &chunk_entries_[chunk.page_idx() * chunks_per_page_ +
                        chunk.chunk_idx()]));
  }
  // Looks for a free chunk until there is one or the time is up.
  SharedMemoryABI::Chunk WaitForChunk(WriterSlot* slot);
  // Looks at up to |max_pages|, beginning where the last search ended.
  SharedMemoryABI::Chunk SearchForChunk(WriterSlot* slot, size_t max_pages);
  bool HasFreeChunk(size_t page) const {
    static_assert(SharedMemoryABI::kChunkFree == 0 &&
                  SharedMemoryABI::kChunkStateBits == 2);
    // A page that is not partitioned is 0.
    const uint32_t word = abi_.GetPageWord(page, std::memory_order_relaxed);
    return ((word | word >> 1) & lower_state_bits_) != lower_state_bits_;
  }
  // Takes a free chunk of the page, and partitions it if need be.
  PROTOZERO_NOINLINE SharedMemoryABI::Chunk TryAcquireChunkOnPage(size_t page);
  // Returns whether the page where the next search begins has a free chunk, and
  // takes none. If it has none, the next search begins at the next page.
  // Returns true in a ring, where only a search can tell.
  bool HasFreeChunkOnNextPage(WriterSlot* slot) const {
    const size_t page = slot->next_page.load(std::memory_order_relaxed);
    if (HasFreeChunk(page))
      return true;
    slot->next_page.store(page + 1 < abi_.num_pages() ? page + 1 : 0,
                          std::memory_order_relaxed);
    return false;
  }
  // Does ReturnIdleChunks() if |lock|, a lock of |writers_lock_|, is held.
  bool ReturnIdleChunksLocked(const std::unique_lock<std::mutex>& lock,
                              bool even_if_recent);
  // Completes the chunk and queues it for the next commit.
  void PushFinishedChunk(const SharedMemoryABI::Chunk& chunk,
                         BufferID target_buffer);
  // Completes the chunk and queues it, and commits if a writer has to.
  void QueueFinishedChunk(const SharedMemoryABI::Chunk& chunk,
                          BufferID target_buffer);
  // Commits, or has the owner commit, |bytes| that are a batch.
  void CommitFullBatch(size_t bytes);
  // Queues patches of a chunk that has been queued before, and flushes: without
  // them, the service cannot use the writer's data.
  void QueuePatches(const PatchList::Group& group);
  // Reports |losses| with the next commit. It must exist until then: see
  // ReleaseWriter().
  void QueueLosses(LossAccount* losses) {
    // An exchange is always needed, not a load first: either this exchange
    // finds that SendLosses() has taken the account off the list, or
    // SendLosses() sees what was added to it.
    if (!losses->is_queued_.exchange(true, std::memory_order_acq_rel))
      PushLosses(losses);
  }
  PROTOZERO_COLD void PushLosses(LossAccount* losses);
  // Commits and reports everything of the writer. |slot| is null if it has no
  // id.
  void ReleaseWriter(WriterSlot* slot);

  // Tells the owner's thread that a writer has taken or finished a chunk or has
  // losses, and wakes it if it waits for that. Async-signal-safe.
  void NoteWork() {
    if (!options_.owner_commits)
      return;
    // An exchange is needed, not a load first: either the owner finds the work,
    // or this finds that the owner waits.
    const uint32_t owner = owner_.fetch_or(kHasWork, std::memory_order_release);
    if (PROTOZERO_UNLIKELY((owner & kWaitsForAnyWork) != 0))
      WakeOwner(kWaitsForAnyWork);
  }
  // Wakes the owner's thread if it waits for one of |reasons|.
  PROTOZERO_COLD void WakeOwner(uint32_t reasons);

  // REQUIRES, for these: this thread is the one that sends.
  void SendQueued();
  void SendChunks(uint32_t newest);
  void SendPatches(Patch* patches);
  void SendLosses(LossAccount* losses);

  const SharedMemoryABI abi_;
  ProducerEndpoint* const endpoint_;
  const Options options_;
  const uint32_t chunks_per_page_;
  // The lower bits of all chunks' states in a page's word. In a ring all bits,
  // which no word has, so that each page seems to have a free chunk.
  const uint32_t lower_state_bits_;
  const size_t num_chunks_;
  const size_t commit_batch_bytes_;
  // The bytes of finished chunks with which a writer commits.
  const size_t writer_commit_bytes_;

  // The entries of the following list.
  const std::unique_ptr<FinishedChunk[]> chunk_entries_;

  // The queue of finished chunks, newest first. A thread always takes the whole
  // list, so the head cannot come back with another list after it (the ABA
  // problem).
  alignas(64) std::atomic<uint32_t> finished_chunks_{kNoChunk};
  std::atomic<Patch*> finished_patches_{nullptr};
  std::atomic<LossAccount*> unreported_losses_{nullptr};
  std::atomic<size_t> finished_bytes_{0};
  // The state of the owner's thread, as bits. The thread and writers change it
  // by exchanges only, so each sees what the one before it has done:
  //
  //   kHasWork            set by writers, cleared by TakeWork()
  //   kWaitsForBatch,     set by BeginWait(), cleared by EndWait(), or by the
  //   kWaitsForAnyWork    writer that wakes the thread
  //   kIsBeingWoken       set and cleared by that writer
  static constexpr uint32_t kWaitsForBatch =
      static_cast<uint32_t>(WakeFor::kBatch);
  static constexpr uint32_t kWaitsForAnyWork =
      static_cast<uint32_t>(WakeFor::kAnyWork);
  static constexpr uint32_t kHasWork = 4;
  static constexpr uint32_t kIsBeingWoken = 8;
  std::atomic<uint32_t> owner_{0};
  std::atomic<uint32_t> num_wakeups_{0};
  // The finished bytes after the last CommitBatch().
  size_t last_finished_bytes_ = 0;
  // The chunks of the ring that writers keep; null without a ring.
  const std::unique_ptr<KeptChunks> kept_;

  // The number of threads that have asked for sending since the last time. The
  // thread that finds 0 sends.
  std::atomic<uint32_t> flush_requests_{0};
  // The number of times that a thread has sent.
  std::atomic<uint32_t> flush_rounds_{0};
  // See TakeCommittedPages().
  std::atomic<size_t> committed_pages_{0};

  // The parts of a request. Their limits make it fit into the frames of any
  // transport.
  static constexpr size_t kMaxChunksToMove = 128;
  // The bytes after which a request ends. The service can write a session's
  // buffer between two requests, but not in one.
  static constexpr size_t kMaxBytesToMove = 128 * 1024;
  // The most bytes that cause a commit by default: little enough to stay in a
  // processor's cache, and for a ring buffer of 1 MB, whose writers have to
  // start over before it has overwritten what they refer to.
  static constexpr size_t kMaxDefaultBatch = 1024 * 1024;
  static constexpr size_t kMaxChunksToPatch = 64;
  static constexpr size_t kMaxPatches = 2 * PatchPool::kNumPatches;
  static constexpr size_t kMaxLosses = 64;
  CommitDataRequest::ChunkToMove chunks_to_move_[kMaxChunksToMove];
  CommitDataRequest::ChunkToPatch chunks_to_patch_[kMaxChunksToPatch];
  CommitDataRequest::Patch patches_[kMaxPatches];
  CommitDataRequest::WriterLosses losses_[kMaxLosses];

  // True while a thread is in ReturnIdleChunks().
  std::atomic<bool> is_reclaiming_{false};

  std::mutex writers_lock_;
  // The slots, by id less 1. Guarded by the lock. The slot of an id in use
  // belongs to its writer, except for WriterSlot::writer.
  std::vector<std::unique_ptr<WriterSlot>> writers_;
  // The slot where the search for a free id begins, so that an id is reused
  // late.
  size_t next_writer_ = 0;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_SHARED_MEMORY_ARBITER_H_
