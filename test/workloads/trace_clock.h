// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_TRACE_CLOCK_H_
#define TEST_WORKLOADS_TRACE_CLOCK_H_

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <x86intrin.h>
#endif

namespace protozero::workloads {

// Reads CLOCK_BOOTTIME, the clock of trace viewers, as fast as possible.
// clock_gettime(), which needs no system call, takes twice as long as the
// processor's counter that it reads, because it guards against changes
// meanwhile. Where the counter is known to be steady, this clock asks the
// system once how the two go together, and then does a subtraction and a
// multiplication.
//
// The two drift apart by up to 0.05 % as the system's time is corrected. So a
// program that traces for long calls Synchronize() now and then, and tells the
// trace what clock it uses (see completion_chains_tracer.h).
//
// One thread, or Synchronize() before there are others.
class TraceClock {
 public:
  // Takes 10 ms, if there is such a counter.
  TraceClock();

  // Nanoseconds. Does not go back between calls of Synchronize().
  uint64_t Now() const {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_expect(ns_per_tick_ != 0, true))
      return offset_ns_ + ToNanoseconds(__rdtsc());
#endif
    return SystemNowOutOfLine();
  }

  // Agrees with the system's clock again.
  void Synchronize();

  bool uses_counter() const { return ns_per_tick_ != 0; }

  static uint64_t SystemNow() {
    timespec time = {};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
           static_cast<uint64_t>(time.tv_nsec);
  }

 private:
  [[gnu::noinline, gnu::cold]] static uint64_t SystemNowOutOfLine();

#if defined(__x86_64__) && defined(__GNUC__)
  __extension__ using Uint128 = unsigned __int128;

  // The upper half of a product, which is where the processor leaves it.
  uint64_t ToNanoseconds(uint64_t ticks) const {
    return static_cast<uint64_t>(Uint128{ticks} * ns_per_tick_ >> 64);
  }
#endif

  // The length of a tick in units of 2^-64 nanoseconds: less than one
  // nanosecond. 0 without a counter.
  uint64_t ns_per_tick_ = 0;
  // The time when the counter was 0. Modulo 2^64.
  uint64_t offset_ns_ = 0;
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_TRACE_CLOCK_H_
