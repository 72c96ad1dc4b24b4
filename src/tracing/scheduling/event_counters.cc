// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The part of KernelEvents that adds counters to samples.

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "src/tracing/scheduling/kernel_events.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

void KernelEvents::FindCounters() {
  if (options_.samples_hz == 0 || options_.counters.empty())
    return;
  const clockid_t clock = std::exchange(clock_, CLOCK_MONOTONIC);
  counters_ = options_.counters;
  counters_.resize(std::min(counters_.size(), kMaxKernelCounters));
  samples_.num_counters = counters_.size();
  // Before Linux 6.13, events that threads inherit have no counters in samples.
  // That such an event is refused says nothing about the rest of it.
  const bool counts_losses = samples_.counts_losses;
  const bool inherits_by_thread = inherits_by_thread_;
  const bool wants_build_ids = wants_build_ids_;
  const ScopedFd leader(OpenEvent(KernelRecord::Kind::kSample, 0, -1));
  if (!leader.is_valid()) {
    samples_.counts_losses = counts_losses;
    inherits_by_thread_ = inherits_by_thread;
    wants_build_ids_ = wants_build_ids;
  }
  // Processors' counters know no boot clock, either.
  std::vector<KernelCounter> found;
  for (const KernelCounter& counter : counters_) {
    const ScopedFd fd(
        leader.is_valid() ? OpenCounter(counter, leader.get(), 0, -1) : -1);
    if (fd.is_valid())
      found.push_back(counter);
  }
  counters_ = std::move(found);
  samples_.num_counters = counters_.size();
  if (counters_.empty())
    clock_ = clock;
}

int KernelEvents::OpenCounter(const KernelCounter& counter,
                              int leader,
                              int32_t tid,
                              int cpu) const {
  perf_event_attr attr = {};
  FillAttr(KernelRecord::Kind::kSample, &attr);
  attr.type = counter.type;
  attr.config = counter.config;
  // The leader takes the samples, and writes all other records.
  attr.sample_period = 0;
  attr.context_switch = 0;
  attr.comm = 0;
  attr.comm_exec = 0;
  attr.task = 0;
  attr.mmap = 0;
  attr.mmap2 = 0;
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, tid, cpu, leader,
                                  PERF_FLAG_FD_CLOEXEC));
}

KernelEvents::CounterFds KernelEvents::OpenCounters(int leader,
                                                    int32_t tid,
                                                    uint32_t cpu) {
  CounterFds fds;
  for (size_t i = 0; i < counters_.size(); ++i) {
    const int on_cpu = static_cast<int>(cpu);
    ScopedFd fd(OpenCounter(counters_[i], leader, tid, on_cpu));
    if (!fd.is_valid() && errno == EMFILE && RaiseLimit())
      fd.Reset(OpenCounter(counters_[i], leader, tid, on_cpu));
    uint64_t id = 0;
    if (fd.is_valid() && !IsTooMany(fd.get()) &&
        // In musl's ioctl(), the request is too small for this number.
        syscall(SYS_ioctl, fd.get(), PERF_EVENT_IOC_ID, &id) == 0) {
      samples_.counters[id] = i;
      fds.emplace_back(id, std::move(fd));
    }
  }
  return fds;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
