// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/shared_memory_arbiter.h"

#include <string.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "protozero/internal/compiler.h"
#include "protozero/tracing/trace_writer.h"
#include "src/tracing/shared_memory/chunk_ring.h"
#include "src/tracing/shared_memory/out_of_memory.h"
#include "src/tracing/writer/back_off.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using Chunk = SharedMemoryABI::Chunk;

namespace {

// The time after which a writer that has written nothing may lose its chunk to
// a writer that waits for one.
constexpr std::chrono::milliseconds kTimeToBeIdle{1};

// A buffer with fewer chunks has few of them: a quarter of it may be in use by
// writers that have not finished theirs.
constexpr size_t kFewChunks = 64;

}  // namespace

SharedMemoryArbiter::SharedMemoryArbiter(void* start,
                                         size_t size,
                                         size_t page_size,
                                         ProducerEndpoint* endpoint,
                                         const Options& options)
    : abi_(static_cast<uint8_t*>(start), size, page_size),
      endpoint_(endpoint),
      options_(options),
      chunks_per_page_(
          SharedMemoryABI::kNumChunksForLayout[options.page_layout]),
      lower_state_bits_(
          is_ring() ? UINT32_MAX
                    : ((uint32_t{1} << 2 * chunks_per_page_) - 1) & 0x55555555),
      num_chunks_(abi_.num_pages() * chunks_per_page_),
      commit_batch_bytes_(std::min(options.commit_batch_bytes != 0
                                       ? options.commit_batch_bytes
                                       : kMaxDefaultBatch,
                                   size / 2)),
      writer_commit_bytes_(!options.owner_commits     ? commit_batch_bytes_
                           : num_chunks_ < kFewChunks ? size / 2
                                                      : size - size / 4),
      chunk_entries_(new FinishedChunk[num_chunks_]),
      kept_(is_ring() ? new KeptChunks(abi_.num_pages()) : nullptr) {
  PROTOZERO_DCHECK(chunks_per_page_ != 0, "the layout has to have chunks");
  PROTOZERO_DCHECK(!is_ring() || chunks_per_page_ == 1,
                   "a page of a ring has one chunk");
}

SharedMemoryArbiter::~SharedMemoryArbiter() {
  FlushPendingCommitDataRequestsAndWait();
}

std::unique_ptr<TraceWriter> SharedMemoryArbiter::CreateTraceWriter(
    BufferID target_buffer,
    BufferExhaustedPolicy policy) {
  WriterSlot* slot = nullptr;
  if (!TakeSlot(&slot))
    return nullptr;
  std::unique_ptr<TraceWriter> writer(
      new (std::nothrow) TraceWriter(this, slot, target_buffer, policy));
  if (slot == nullptr)
    return writer;
  if (writer != nullptr)
    endpoint_->RegisterTraceWriter(slot->writer_id, target_buffer);
  std::lock_guard<std::mutex> lock(writers_lock_);
  slot->writer = writer.get();
  slot->is_in_use = writer != nullptr;
  return writer;
}

bool SharedMemoryArbiter::TakeSlot(WriterSlot** result) {
  std::lock_guard<std::mutex> lock(writers_lock_);
  WriterSlot* slot = nullptr;
  bool is_out_of_memory = false;
  // Every id is used once before any is used again.
  if (writers_.size() < std::min(options_.max_writers, kMaxWriterID)) {
    std::unique_ptr<WriterSlot> new_slot(new (std::nothrow) WriterSlot{});
    is_out_of_memory = new_slot == nullptr ||
                       !RunsInMemory([this] { writers_.emplace_back(); });
    if (!is_out_of_memory) {
      slot = new_slot.get();
      writers_.back() = std::move(new_slot);
      slot->writer_id = static_cast<WriterID>(writers_.size());
      slot->home_page = HomePage(writers_.size() - 1);
      slot->next_page.store(slot->home_page, std::memory_order_relaxed);
    }
  }
  for (size_t i = 0; i < writers_.size() && slot == nullptr; ++i) {
    WriterSlot* const candidate = writers_[next_writer_].get();
    next_writer_ = (next_writer_ + 1) % writers_.size();
    if (!candidate->is_in_use)
      slot = candidate;
  }
  if (slot != nullptr)
    slot->is_in_use = true;
  *result = slot;
  return slot != nullptr || !is_out_of_memory;
}

void SharedMemoryArbiter::ReleaseWriter(WriterSlot* slot) {
  if (slot != nullptr) {
    std::lock_guard<std::mutex> lock(writers_lock_);
    slot->writer = nullptr;
  }
  FlushPendingCommitDataRequestsAndWait();
  if (slot == nullptr)
    return;
  ReleaseKeptChunks(*slot);
  endpoint_->UnregisterTraceWriter(slot->writer_id);
  std::lock_guard<std::mutex> lock(writers_lock_);
  slot->is_in_use = false;
}

size_t SharedMemoryArbiter::HomePage(size_t writer) const {
  // Multiples of the golden ratio are far from each other, however many there
  // are.
  const uint64_t fraction =
      static_cast<uint32_t>(writer) * uint32_t{0x9e3779b9} & UINT32_MAX;
  const size_t front_pages = std::min(
      abi_.num_pages(), SharedMemoryABI::kFrontSize / abi_.page_size());
  return internal::ToSize(fraction * front_pages >> 32);
}

Chunk SharedMemoryArbiter::TryAcquireChunk(WriterSlot* slot) {
  const uint32_t flush_rounds = flush_rounds_.load(std::memory_order_relaxed);
  if (slot->flush_rounds.load(std::memory_order_relaxed) != flush_rounds) {
    slot->flush_rounds.store(flush_rounds, std::memory_order_relaxed);
    // Chunks become free in the order in which they were committed. If this one
    // is not free, a search from there would pass all that are not.
    if (HasFreeChunk(slot->home_page))
      slot->next_page.store(slot->home_page, std::memory_order_relaxed);
  }
  return SearchForChunk(slot, abi_.num_pages());
}

Chunk SharedMemoryArbiter::SearchForChunk(WriterSlot* slot, size_t max_pages) {
  if (is_ring())
    return TakeOldestChunk(abi_, options_.ring, max_pages, kept_.get());
  const SharedMemoryABI::PageLayout layout = options_.page_layout;
  const size_t num_pages = abi_.num_pages();
  size_t page = slot->next_page.load(std::memory_order_relaxed);
  for (size_t i = std::min(max_pages, num_pages); i > 0; --i) {
    Chunk chunk = layout == SharedMemoryABI::kPageDiv1
                      ? abi_.TryAcquirePage(page)
                      : Chunk();
    if (PROTOZERO_UNLIKELY(!chunk.is_valid()))
      chunk = TryAcquireChunkOnPage(page);
    if (!chunk.is_valid() || chunk.chunk_idx() + 1 == chunks_per_page_)
      page = page + 1 == num_pages ? 0 : page + 1;
    if (chunk.is_valid()) {
      slot->next_page.store(page, std::memory_order_relaxed);
      NoteWork();
      return chunk;
    }
  }
  slot->next_page.store(page, std::memory_order_relaxed);
  return Chunk();
}

Chunk SharedMemoryArbiter::TryAcquireChunkOnPage(size_t page) {
  if (abi_.GetPageWord(page, std::memory_order_relaxed) == 0)
    abi_.TryPartitionPage(page, options_.page_layout);
  return abi_.TryAcquireChunkForWriting(page, options_.page_layout);
}

Chunk SharedMemoryArbiter::WaitForChunk(WriterSlot* slot) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const Clock::time_point deadline =
      begin + std::chrono::milliseconds(options_.stall_timeout_ms);
  Clock::time_point look_for_idle_at = begin + kTimeToBeIdle;
  BackOff back_off;
  for (;;) {
    // Chunks have to be committed before they can become free.
    FlushPendingCommitDataRequests();
    const Chunk chunk = TryAcquireChunk(slot);
    const Clock::time_point now = Clock::now();
    if (chunk.is_valid() || now >= deadline)
      return chunk;
    if (now >= look_for_idle_at) {
      look_for_idle_at = now + kTimeToBeIdle;
      // If another thread has the lock, that thread does it. In a child
      // process, that thread never ends.
      ReturnIdleChunksLocked({writers_lock_, std::try_to_lock},
                             /*even_if_recent=*/false);
    }
    back_off.Wait();
  }
}

bool SharedMemoryArbiter::ReturnIdleChunks(bool even_if_recent) {
  const bool are_left = ReturnIdleChunksLocked(
      std::unique_lock<std::mutex>(writers_lock_), even_if_recent);
  FlushPendingCommitDataRequests();
  return are_left;
}

bool SharedMemoryArbiter::ReturnIdleChunksLocked(
    const std::unique_lock<std::mutex>& lock,
    bool even_if_recent) {
  if (!lock || options_.process_barrier == nullptr)
    return false;
  is_reclaiming_.store(true, std::memory_order_relaxed);
  bool has_stopped = false;
  for (const std::unique_ptr<WriterSlot>& slot : writers_) {
    if (slot->writer != nullptr && slot->writer->BeginReclaim(even_if_recent))
      has_stopped = true;
  }
  if (has_stopped) {
    const bool is_ordered = options_.process_barrier();
    for (const std::unique_ptr<WriterSlot>& slot : writers_) {
      if (slot->writer != nullptr)
        slot->writer->FinishReclaim(is_ordered);
    }
  }
  is_reclaiming_.store(false, std::memory_order_release);
  return std::any_of(
      writers_.begin(), writers_.end(),
      [](const std::unique_ptr<WriterSlot>& slot) {
        return slot->writer != nullptr &&
               slot->writer->packets_.load(std::memory_order_relaxed) != 0;
      });
}

bool SharedMemoryArbiter::HasOpenPacket(BufferID target_buffer) {
  std::lock_guard<std::mutex> lock(writers_lock_);
  return std::any_of(writers_.begin(), writers_.end(),
                     [&](const std::unique_ptr<WriterSlot>& slot) {
                       return slot->writer != nullptr &&
                              slot->writer->target_buffer_ == target_buffer &&
                              slot->writer->state() >
                                  TraceWriter::PacketState::kBusy;
                     });
}

void SharedMemoryArbiter::QueueFinishedChunk(const Chunk& chunk,
                                             BufferID target_buffer) {
  PushFinishedChunk(chunk, target_buffer);
  NoteWork();
  const size_t bytes = finished_bytes_.load(std::memory_order_relaxed);
  if (bytes >= commit_batch_bytes_)
    CommitFullBatch(bytes);
}

void SharedMemoryArbiter::CommitFullBatch(size_t bytes) {
  if (bytes >= writer_commit_bytes_)
    FlushPendingCommitDataRequests();
  else
    WakeOwner(kWaitsForBatch);
}

void SharedMemoryArbiter::PushFinishedChunk(const Chunk& chunk,
                                            BufferID target_buffer) {
  if (is_ring()) {
    // A chunk that needs patching is in use until it has its patches.
    if ((chunk.header()->packets.load(std::memory_order_relaxed) &
         SharedMemoryABI::kChunkNeedsPatching) == 0) {
      CompleteRingChunk(abi_, *options_.ring, chunk);
    }
    return;
  }
  // This fails if the page is not as the service has to leave it. Then the
  // chunk is lost, and the service notices by its id.
  if (!abi_.ReleaseChunkAsComplete(chunk))
    return;
  const uint32_t index = static_cast<uint32_t>(
      chunk.page_idx() * chunks_per_page_ + chunk.chunk_idx());
  // The bytes are added before another thread can take the chunk off the list.
  finished_bytes_.fetch_add(chunk.size(), std::memory_order_relaxed);
  FinishedChunk& entry = chunk_entries_[index];
  entry.target_buffer.store(target_buffer, std::memory_order_relaxed);
  uint32_t newest = finished_chunks_.load(std::memory_order_relaxed);
  // Publishes the entry. The thread that had the entry before has read it:
  // otherwise the chunk would not have become free.
  do {
    entry.next.store(newest, std::memory_order_relaxed);
  } while (!finished_chunks_.compare_exchange_weak(
      newest, index, std::memory_order_release, std::memory_order_relaxed));
}

uint32_t SharedMemoryArbiter::ring_quarter() const {
  if (!is_ring())
    return 0;
  return static_cast<uint32_t>(
      options_.ring->next_step.load(std::memory_order_relaxed) /
      (abi_.num_pages() / 4 + 1));
}

void SharedMemoryArbiter::KeepChunksFrom(const WriterSlot& slot,
                                         ChunkID first) {
  if (is_ring()) {
    kept_->KeepFrom(slot.writer_id, first,
                    options_.ring->next_step.load(std::memory_order_relaxed));
  }
}

void SharedMemoryArbiter::ReleaseKeptChunks(const WriterSlot& slot) {
  if (is_ring()) {
    kept_->Release(slot.writer_id, slot.next_chunk_id,
                   options_.ring->next_step.load(std::memory_order_relaxed));
  }
}

void SharedMemoryArbiter::QueuePatches(const PatchList::Group& group) {
  group.last->next = finished_patches_.load(std::memory_order_relaxed);
  while (!finished_patches_.compare_exchange_weak(group.last->next, group.first,
                                                  std::memory_order_release,
                                                  std::memory_order_relaxed)) {
  }
  FlushPendingCommitDataRequests();
}

void SharedMemoryArbiter::PushLosses(LossAccount* losses) {
  losses->next_ = unreported_losses_.load(std::memory_order_relaxed);
  while (!unreported_losses_.compare_exchange_weak(losses->next_, losses,
                                                   std::memory_order_release,
                                                   std::memory_order_relaxed)) {
  }
  // There may never be another commit.
  if (is_ring())
    FlushPendingCommitDataRequests();
  NoteWork();
}

void SharedMemoryArbiter::FlushPendingCommitDataRequests() {
  if (flush_requests_.fetch_add(1, std::memory_order_acq_rel) != 0)
    return;
  // A thread that asks during a round may be too late for that round.
  uint32_t requests = 1;
  for (;;) {
    SendQueued();
    flush_rounds_.fetch_add(1, std::memory_order_release);
    if (flush_requests_.compare_exchange_strong(requests, 0,
                                                std::memory_order_acq_rel)) {
      return;
    }
  }
}

uint32_t SharedMemoryArbiter::CommitBatch() {
  size_t bytes = finished_bytes_.load(std::memory_order_relaxed);
  if (bytes >= commit_batch_bytes_ / 2) {
    FlushPendingCommitDataRequests();
    bytes = 0;
  } else if (bytes == 0 || bytes == last_finished_bytes_) {
    last_finished_bytes_ = bytes;
    return kNoHurry;
  }
  last_finished_bytes_ = bytes;
  return static_cast<uint32_t>(
      std::max<size_t>((commit_batch_bytes_ - bytes) / kBytesPerMs, 1));
}

bool SharedMemoryArbiter::BeginWait(WakeFor reason) {
  const uint32_t before =
      owner_.fetch_or(static_cast<uint32_t>(reason), std::memory_order_acq_rel);
  const bool is_due = reason == WakeFor::kAnyWork
                          ? (before & kHasWork) != 0
                          : finished_bytes_.load(std::memory_order_relaxed) >=
                                commit_batch_bytes_;
  if (is_due)
    EndWait();
  return !is_due;
}

void SharedMemoryArbiter::EndWait() {
  uint32_t owner = owner_.fetch_and(~(kWaitsForBatch | kWaitsForAnyWork),
                                    std::memory_order_acquire);
  // Afterwards, the owner may close what WakeOwner() uses.
  BackOff back_off;
  while ((owner & kIsBeingWoken) != 0) {
    back_off.Wait();
    owner = owner_.load(std::memory_order_acquire);
  }
}

bool SharedMemoryArbiter::TakeWork() {
  return (owner_.fetch_and(~kHasWork, std::memory_order_acquire) & kHasWork) !=
         0;
}

void SharedMemoryArbiter::WakeOwner(uint32_t reasons) {
  uint32_t owner = owner_.load(std::memory_order_relaxed);
  // One of several writers does it.
  do {
    if ((owner & reasons) == 0)
      return;
  } while (!owner_.compare_exchange_weak(owner, kHasWork | kIsBeingWoken,
                                         std::memory_order_acquire,
                                         std::memory_order_relaxed));
  num_wakeups_.fetch_add(1, std::memory_order_relaxed);
  endpoint_->WakeOwner();
  owner_.fetch_and(~kIsBeingWoken, std::memory_order_release);
}

void SharedMemoryArbiter::FlushPendingCommitDataRequestsAndWait() {
  const uint32_t rounds = flush_rounds_.load(std::memory_order_relaxed);
  FlushPendingCommitDataRequests();
  BackOff back_off;
  // The current round may have begun too early. The next one begins in time.
  while (flush_requests_.load(std::memory_order_acquire) != 0 &&
         flush_rounds_.load(std::memory_order_acquire) - rounds < 2) {
    back_off.Wait();
  }
}

void SharedMemoryArbiter::ResetAfterFork() {
  finished_chunks_.store(kNoChunk, std::memory_order_relaxed);
  finished_patches_.store(nullptr, std::memory_order_relaxed);
  unreported_losses_.store(nullptr, std::memory_order_relaxed);
  finished_bytes_.store(0, std::memory_order_relaxed);
  flush_requests_.store(0, std::memory_order_relaxed);
  owner_.store(0, std::memory_order_relaxed);
  is_reclaiming_.store(false, std::memory_order_relaxed);
}

void SharedMemoryArbiter::SendQueued() {
  // Patches are taken first: a chunk is queued before its patches, so this
  // round takes the chunk, or an earlier round has taken it.
  Patch* const patches =
      finished_patches_.exchange(nullptr, std::memory_order_acquire);
  const uint32_t newest =
      finished_chunks_.exchange(kNoChunk, std::memory_order_acquire);
  SendChunks(newest);
  SendPatches(patches);
  SendLosses(unreported_losses_.exchange(nullptr, std::memory_order_acquire));
}

void SharedMemoryArbiter::SendChunks(uint32_t newest) {
  // Reverses the list: oldest first.
  uint32_t oldest = kNoChunk;
  while (newest != kNoChunk) {
    std::atomic<uint32_t>& entry = chunk_entries_[newest].next;
    const uint32_t next = entry.load(std::memory_order_relaxed);
    entry.store(oldest, std::memory_order_relaxed);
    oldest = newest;
    newest = next;
  }
  size_t num_chunks = 0;
  size_t num_bytes = 0;
  size_t num_pages = committed_pages_.load(std::memory_order_relaxed);
  while (oldest != kNoChunk) {
    const FinishedChunk& entry = chunk_entries_[oldest];
    chunks_to_move_[num_chunks++] = {
        oldest / chunks_per_page_, oldest % chunks_per_page_,
        entry.target_buffer.load(std::memory_order_relaxed)};
    num_bytes += chunk_size();
    num_pages = std::max(num_pages, oldest / chunks_per_page_ + size_t{1});
    // The link is read before the commit: after it, another thread may use the
    // entry.
    oldest = entry.next.load(std::memory_order_relaxed);
    if (num_chunks == kMaxChunksToMove || num_bytes >= kMaxBytesToMove ||
        oldest == kNoChunk) {
      finished_bytes_.fetch_sub(num_bytes, std::memory_order_relaxed);
      endpoint_->CommitData({chunks_to_move_, num_chunks, nullptr, 0});
      num_chunks = 0;
      num_bytes = 0;
    }
  }
  // TakeCommittedPages() may come between, and the next call says too much.
  committed_pages_.store(num_pages, std::memory_order_relaxed);
}

void SharedMemoryArbiter::SendPatches(Patch* patch) {
  size_t num_chunks = 0;
  size_t num_patches = 0;
  const auto send = [&] {
    if (num_chunks != 0)
      endpoint_->CommitData({nullptr, 0, chunks_to_patch_, num_chunks});
    num_chunks = 0;
    num_patches = 0;
  };
  while (patch != nullptr) {
    if (num_chunks == kMaxChunksToPatch ||
        num_patches + PatchPool::kNumPatches > kMaxPatches) {
      send();
    }
    // All patches of a chunk were queued together.
    CommitDataRequest::ChunkToPatch& chunk = chunks_to_patch_[num_chunks++];
    chunk = {patch->target_buffer, patch->writer_id, patch->chunk_id,
             &patches_[num_patches], 0};
    do {
      CommitDataRequest::Patch& copy = patches_[num_patches++];
      copy.offset = patch->offset;
      memcpy(copy.data, patch->size_field, sizeof(copy.data));
      ++chunk.num_patches;
      Patch* const next = patch->next;
      patch->Free();
      patch = next;
    } while (patch != nullptr && patch->writer_id == chunk.writer_id &&
             patch->chunk_id == chunk.chunk_id);
  }
  send();
}

void SharedMemoryArbiter::SendLosses(LossAccount* losses) {
  size_t num_losses = 0;
  const auto send = [&] {
    if (num_losses == 0)
      return;
    CommitDataRequest request{nullptr, 0, nullptr, 0};
    request.losses = losses_;
    request.num_losses = num_losses;
    endpoint_->CommitData(request);
    num_losses = 0;
  };
  while (losses != nullptr) {
    LossAccount* const next = losses->next_;
    // The account leaves the list before the sums are read: a thread that adds
    // to them later puts it on the list again.
    losses->is_queued_.exchange(false, std::memory_order_acq_rel);
    for (size_t i = 0; i < kNumWriterLossReasons; ++i) {
      const auto take_new = [](const std::atomic<uint64_t>& sum,
                               uint64_t* reported) {
        const uint64_t now = sum.load(std::memory_order_acquire);
        return now - std::exchange(*reported, now);
      };
      const LossAccount::Sums& sums = losses->sums_[i];
      LossAccount::Reported* const reported = &losses->reported_[i];
      // |packets| is read before |begun|; see LossAccount::Add().
      const CommitDataRequest::WriterLosses report = {
          losses->target_buffer_,
          losses->writer_id_,
          static_cast<LossReason>(i),
          take_new(sums.packets, &reported->packets),
          take_new(sums.begun, &reported->begun),
          take_new(sums.bytes, &reported->bytes)};
      if (report.packets == 0 && report.begun == 0 && report.bytes == 0)
        continue;
      if (num_losses == kMaxLosses)
        send();
      losses_[num_losses++] = report;
    }
    losses = next;
  }
  send();
}

PROTOZERO_ABI_END
}  // namespace protozero
