// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/commit_schedule.h"

#include <limits.h>
#include <stdint.h>

#include <algorithm>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

using std::chrono::milliseconds;

namespace {

// The time between two looks at memory that is not used.
constexpr milliseconds kGiveBackPeriod{1000};

}  // namespace

int CommitSchedule::BeginWait() {
  if (arbiter() == nullptr)
    return -1;
  const bool sleeps = sleep_at_ == kNever && look_at_ == kNever;
  is_waiting_ =
      arbiter()->BeginWait(sleeps ? SharedMemoryArbiter::WakeFor::kAnyWork
                                  : SharedMemoryArbiter::WakeFor::kBatch);
  was_asleep_ = sleeps && is_waiting_;
  if (!is_waiting_)
    return 0;
  const Clock::time_point end =
      std::min({look_at_, commit_at_, return_at_, give_back_at_, sleep_at_});
  if (end == kNever)
    return -1;
  const auto left = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
}

void CommitSchedule::EndWait() {
  if (is_waiting_)
    arbiter()->EndWait();
  is_waiting_ = false;
}

void CommitSchedule::Run() {
  if (arbiter() == nullptr)
    return;
  const Clock::time_point now = Clock::now();
  if (arbiter()->TakeWork()) {
    commit_at_ =
        std::min(commit_at_, now + milliseconds(options_.commit_period_ms));
    sleep_at_ = now + kSilence;
    if (options_.idle_period_ms != 0) {
      return_at_ =
          std::min(return_at_, now + milliseconds(options_.idle_period_ms));
    }
    give_back_at_ = std::min(give_back_at_, now + kGiveBackPeriod);
    // The service asks a quiet producer for its chunks less and less often.
    if (was_asleep_)
      connection_->CommitData({});
  } else if (now >= sleep_at_) {
    sleep_at_ = kNever;
  }
  was_asleep_ = false;
  if (now >= return_at_) {
    return_at_ = arbiter()->ReturnIdleChunks(/*even_if_recent=*/false)
                     ? now + milliseconds(options_.idle_period_ms)
                     : kNever;
  }
  if (now >= give_back_at_) {
    give_back_at_ = connection_->memory_ahead()->GiveBack()
                        ? now + kGiveBackPeriod
                        : kNever;
  }
  if (now >= commit_at_) {
    commit_at_ = kNever;
    arbiter()->FlushPendingCommitDataRequests();
  }
  const uint32_t period_ms = arbiter()->CommitBatch();
  look_at_ = period_ms == SharedMemoryArbiter::kNoHurry
                 ? kNever
                 : now + milliseconds(period_ms);
  if (connection_->memory_ahead()->Provide())
    look_at_ = now + milliseconds(1);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
