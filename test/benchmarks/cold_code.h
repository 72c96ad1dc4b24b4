// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// For measuring what code costs that has not run for a while.

#ifndef TEST_BENCHMARKS_COLD_CODE_H_
#define TEST_BENCHMARKS_COLD_CODE_H_

#include <stdint.h>

namespace protozero {
namespace bench {

// Runs through so much code that none of the caller's is left in the
// first-level instruction cache or the cache of decoded instructions; it will
// come from the second-level cache. Takes some microseconds.
void EvictCodeFromL1();

// The same for the second-level cache of a core, too, and what predicts where
// branches go. Data are evicted as well. Takes some hundred microseconds.
void EvictCodeFromL2();

// False where these cannot do it.
bool CanEvictCode();

// A clock that is exact enough for one message, in ticks of unknown but
// constant length. Instructions before the reading have been executed then, and
// no instruction behind it. Inline, for a call would have to be fetched first.
inline uint64_t ReadTicks() {
#if defined(__x86_64__) || defined(__i386__)
  uint32_t low;
  uint32_t high;
  asm volatile("lfence\n\trdtsc\n\tlfence"
               : "=a"(low), "=d"(high)
               :
               : "memory");
  return uint64_t{high} << 32 | low;
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
  return ticks;
#else
  return 0;
#endif
}

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_COLD_CODE_H_
