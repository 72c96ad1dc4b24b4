// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_CLOCK_OFFSET_H_
#define SRC_TRACING_IPC_CLOCK_OFFSET_H_

#include <stdint.h>
#include <time.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A time namespace changes CLOCK_BOOTTIME, which events have, and leaves
// CLOCK_REALTIME alone. So the difference of the two tells such namespaces
// apart, however long the message with it takes.

// The largest error of the function below, by far: a thread may be interrupted
// between two clocks.
inline constexpr int64_t kMaxClockErrorNs = 100000000;

// Returns CLOCK_BOOTTIME less CLOCK_REALTIME.
inline int64_t BoottimeLessRealtimeNs() {
  const auto read = [](clockid_t id) {
    timespec now = {};
    clock_gettime(id, &now);
    return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
  };
#ifdef CLOCK_BOOTTIME
  constexpr clockid_t kClock = CLOCK_BOOTTIME;
#else
  constexpr clockid_t kClock = CLOCK_MONOTONIC;
#endif
  int64_t difference = 0;
  for (int i = 0; i < 10; ++i) {
    const int64_t before = read(kClock);
    difference = before - read(CLOCK_REALTIME);
    if (read(kClock) - before < kMaxClockErrorNs / 10)
      break;
  }
  return difference;
}

// Returns the time by which the clock of a process of another time namespace is
// ahead of this one's; 0 if the namespace is the same. |difference| is what the
// process says of its clocks, which may be any number.
inline int64_t ClockAheadNs(int64_t difference) {
  const auto ahead_ns =
      static_cast<int64_t>(static_cast<uint64_t>(difference) -
                           static_cast<uint64_t>(BoottimeLessRealtimeNs()));
  return ahead_ns > kMaxClockErrorNs || ahead_ns < -kMaxClockErrorNs ? ahead_ns
                                                                     : 0;
}

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_CLOCK_OFFSET_H_
