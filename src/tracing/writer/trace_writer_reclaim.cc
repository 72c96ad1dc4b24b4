// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/trace_writer.h"
#include "src/tracing/writer/back_off.h"

#include "protozero/internal/macros.h"

// The arbiter takes the chunk of an idle writer, while the writer's thread
// may do anything:
//
//   writer's thread              the one that reclaims
//   ---------------              ---------------------
//   state_ = not idle            reclaims_ = begun
//   load reclaims_               ProcessBarrier()
//                                load state_
//
// One of the two sees what the other has stored. If the barrier takes effect
// on the writer's processor after the store on the left, the load on the
// right sees that store. If it takes effect before, the load on the left
// comes after the store on the right. So only the thread that reclaims pays
// for a fence. The writer compares |reclaims_| with the number that it saw
// last, so that no thread can take its chunk between its first look at the
// state and its store.
//
// The barrier takes a while, which the writer does not wait for. While a
// reclaim has only begun, a compare-and-swap decides which of the two goes
// on: the writer ends the reclaim, or the other thread takes the chunk. Only
// the latter, which takes a few stores, makes the writer wait.

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// The times that a writer looks whether another thread has taken its chunk
// before it lets the system run others: some 10 us.
constexpr int kLooksBeforeBackOff = 10000;

}  // namespace

// Enters as kBusy. Ends a reclaim that has begun; if a thread is taking the
// chunk, waits for it. REQUIRES: no packet is open.
void TraceWriter::Enter() {
  EnterAs(PacketState::kBusy);
  BackOff back_off;
  for (int looks = 0;; ++looks) {
    uint32_t reclaims = reclaims_.load(std::memory_order_acquire);
    const uint32_t state = reclaims % kReclaimStep;
    const uint32_t ended = reclaims - state + kReclaimStep;
    if (state == 0) {
      reclaims_seen_ = reclaims;
      return;
    }
    // If no thread is reclaiming, the other thread has just finished, and the
    // next look finds that; or this is a child process, and that thread does
    // not exist.
    const bool may_end =
        state == kReclaimBegun ||
        !arbiter_->is_reclaiming_.load(std::memory_order_acquire);
    if (may_end && reclaims_.compare_exchange_strong(
                       reclaims, ended, std::memory_order_relaxed)) {
      reclaims_seen_ = ended;
      return;
    }
    // Usually, the other thread has finished by then, and the system need not
    // be called.
    if (looks >= kLooksBeforeBackOff)
      back_off.Wait();
  }
}

// If the writer looks idle, and |even_if_recent| or no packet was written since
// the last call, begins a reclaim and returns true. FinishReclaim() has to
// follow. REQUIRES: SharedMemoryArbiter::writers_lock_.
bool TraceWriter::BeginReclaim(bool even_if_recent) {
  const uint16_t packets = packets_.load(std::memory_order_relaxed);
  const bool is_recent = packets != packets_before_;
  packets_before_ = packets;
  if (packets == 0 || (is_recent && !even_if_recent) ||
      state() >= PacketState::kBusy) {
    return false;
  }
  // The barrier orders this before the look at the writer's state.
  reclaims_.fetch_add(kReclaimBegun, std::memory_order_relaxed);
  return true;
}

// Ends the reclaim, unless the writer has. |is_ordered| says that all threads
// have executed a memory barrier since BeginReclaim(). If so, and the writer is
// idle, queues its chunk first. Without the barrier, it is unknown whether the
// writer is idle.
void TraceWriter::FinishReclaim(bool is_ordered) {
  uint32_t reclaims = reclaims_.load(std::memory_order_relaxed);
  if (reclaims % kReclaimStep != kReclaimBegun)
    return;
  const uint32_t ended = reclaims - kReclaimBegun + kReclaimStep;
  const bool is_idle =
      is_ordered && state_.load(std::memory_order_acquire) < PacketState::kBusy;
  const uint32_t next =
      is_idle ? reclaims - kReclaimBegun + kTakingChunk : ended;
  // This fails if the writer goes on at this moment.
  if (!reclaims_.compare_exchange_strong(reclaims, next,
                                         std::memory_order_relaxed) ||
      !is_idle) {
    return;
  }
  // Between packets, the writer holds no chunk, and no chunk has patches.
  if (chunk_.is_valid())
    arbiter_->PushFinishedChunk(TakeChunk(), target_buffer_);
  reclaims_.store(ended, std::memory_order_release);
}

PROTOZERO_ABI_END
}  // namespace protozero
