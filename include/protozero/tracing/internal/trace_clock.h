// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACE_CLOCK_H_
#define INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACE_CLOCK_H_

#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Reads a counter, which takes a few nanoseconds.
#if defined(__x86_64__) && defined(__linux__)
inline constexpr bool kHasTsc = true;
inline uint64_t ReadTsc() {
  return __builtin_ia32_rdtsc();
}
#else
inline constexpr bool kHasTsc = false;
inline uint64_t ReadTsc() {
  return 0;
}
#endif

// Returns the system's clock that traces use: CLOCK_BOOTTIME, or the clock most
// similar to it.
uint64_t SystemTraceTimeNs();

// The same clock in nanoseconds, for one thread. It never goes back.
//
// If the counter runs at a constant rate and the kernel uses it itself,
// nanoseconds come from a line through two readings of the system's clock:
//
//   ns
//   |                    .--
//   |              .--o--        a line begins at a reading, is as steep as it
//   |        .--o--              was since an earlier one, and is valid for as
//   |  .--o--                    long as that is ago, but for 50 ms at most
//   +------------------------ counter
//
// After that, the next thread that reads the clock replaces the line, for all
// threads. A process has its first line 2 to 10 us after its first event, and
// the lines become longer until the earlier reading is 20 ms old.
//
// A line is off by at most three times the error of a reading, which is half of
// the time that it takes the system to read its clock: by some 40 ns, if no
// reading was interrupted. The system changes the rate of its clock by at most
// 500 in a million, which can make that 50 us. A machine may sleep while the
// counter stands still: then the line is late by that until its end.
class TraceClock {
 public:
  PROTOZERO_ALWAYS_INLINE uint64_t NowNs() {
    const uint64_t now = NowOnLineNs();
    return last_ns_ = now < last_ns_ ? last_ns_ : now;
  }
  // Returns a time that is before the last one if the line is a new one, or the
  // thread has moved to another processor. Does not make it the last one.
  PROTOZERO_ALWAYS_INLINE uint64_t NowOnLineNs() {
    if (kHasTsc) {
      const uint64_t elapsed = ReadTsc() - line_.tsc;
      // False, too, if the counter has gone back.
      if (PROTOZERO_LIKELY(elapsed < line_.valid_for)) {
        // The product fits: 50 ms times 2^32 are less than 2^58.
        return line_.ns + ((elapsed * line_.ns_per_tick) >> 32);
      }
    }
    return NowNsSlowPath();
  }
  // Makes no later NowNs() return less than |now|, which NowOnLineNs()
  // returned.
  void SetLastNs(uint64_t now) { last_ns_ = now < last_ns_ ? last_ns_ : now; }

  struct Line {
    uint64_t tsc = 0;
    uint64_t ns = 0;
    // The nanoseconds of a tick, as a fraction of 2^32.
    uint64_t ns_per_tick = 0;
    // A number of ticks. 0 if there is no line.
    uint64_t valid_for = 0;
  };

 private:
  PROTOZERO_COLD uint64_t NowNsSlowPath();

  Line line_;
  uint64_t last_ns_ = 0;
};

// Resets the clock in a child process, where another thread may have been
// replacing the line.
void ResetTraceClockAfterFork();

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_TRACING_INTERNAL_TRACE_CLOCK_H_
