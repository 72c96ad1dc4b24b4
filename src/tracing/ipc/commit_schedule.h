// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_COMMIT_SCHEDULE_H_
#define SRC_TRACING_IPC_COMMIT_SCHEDULE_H_

#include <chrono>

#include "protozero/tracing/producer.h"
#include "src/tracing/ipc/producer_ipc_client.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Commits what the writers of a connection have finished, and says how long the
// producer's thread may wait:
//
//   threads fill chunks   until a batch may be finished
//   no chunk is filled    until what is finished has to be committed: 100 ms at
//                         most. A writer that finishes a batch ends the wait
//   no chunk for 100 ms   until chunks may be idle, or there is memory to
//                         give back, or for any time. A writer that takes a
//                         chunk ends the wait
//
// The producer's thread uses it.
class CommitSchedule {
 public:
  CommitSchedule(const Producer::Options& options,
                 ProducerIpcClient* connection)
      : options_(options), connection_(connection) {}

  // Begins a wait. Returns the time after which it has to end, in milliseconds;
  // -1 if only writers end it. EndWait() has to follow.
  int BeginWait();
  void EndWait();
  // Commits, and gives back idle chunks, if it is time for that. To be called
  // after each wait. May throw std::bad_alloc.
  void Run();

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  static constexpr std::chrono::milliseconds kSilence{100};

  // Returns null if there are no chunks to commit.
  SharedMemoryArbiter* arbiter() const {
    return connection_->ring_bytes() == 0 ? connection_->arbiter() : nullptr;
  }

  const Producer::Options& options_;
  ProducerIpcClient* const connection_;
  // The time to look at what is finished, while threads fill chunks.
  Clock::time_point look_at_ = kNever;
  // The time after which the thread sleeps if writers take and finish no chunk
  // until then; kNever if it has come.
  Clock::time_point sleep_at_ = kNever;
  // The time to commit. kNever if writers have done nothing since the last
  // time.
  Clock::time_point commit_at_ = kNever;
  // The time to look for idle chunks; kNever if there are none.
  Clock::time_point return_at_ = kNever;
  // The time to give memory back that a burst has needed; kNever if there is
  // none.
  Clock::time_point give_back_at_ = kNever;
  // True if the last wait was one that any work ends, and false if there was no
  // wait.
  bool was_asleep_ = false;
  bool is_waiting_ = false;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_COMMIT_SCHEDULE_H_
