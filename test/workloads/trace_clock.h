// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_TRACE_CLOCK_H_
#define TEST_WORKLOADS_TRACE_CLOCK_H_

#include <stdint.h>
#include <time.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <x86intrin.h>
#endif

namespace protozero::workloads {

// A clock that reads CLOCK_BOOTTIME, the clock of trace viewers, as fast as
// possible. clock_gettime() needs no system call, but takes twice as long as
// the processor's counter that it reads, because it guards against changes
// meanwhile. If the counter is known to be steady, this clock compares the two
// once. Then each reading is a subtraction and a multiplication.
//
// The two drift apart by up to 0.05 % while the system's time is corrected. So
// a program that traces for a long time calls Synchronize() now and then, and
// names its clock in the trace (see completion_chains_tracer.h).
//
// REQUIRES: there is one thread, or Synchronize() is called only before there
// are others.
class TraceClock {
 public:
  // Compares the clocks for 10 ms, if there is such a counter.
  TraceClock();

  // Returns nanoseconds. They never go back between calls of Synchronize().
  uint64_t Now() const {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_expect(ns_per_tick_ != 0, true))
      return offset_ns_ + ToNanoseconds(__rdtsc());
#endif
    return SystemNowOutOfLine();
  }

  // Sets this clock to the system's time again.
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

  // Returns the upper half of the product, which the processor leaves in a
  // register of its own.
  uint64_t ToNanoseconds(uint64_t ticks) const {
    return static_cast<uint64_t>(Uint128{ticks} * ns_per_tick_ >> 64);
  }
#endif

  // The length of a tick in units of 2^-64 nanoseconds, less than one
  // nanosecond; 0 without a counter.
  uint64_t ns_per_tick_ = 0;
  // The time when the counter was 0, modulo 2^64.
  uint64_t offset_ns_ = 0;
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_TRACE_CLOCK_H_
