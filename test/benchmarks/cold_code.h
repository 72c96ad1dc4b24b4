// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Measures the cost of code that has not run for a while.

#ifndef TEST_BENCHMARKS_COLD_CODE_H_
#define TEST_BENCHMARKS_COLD_CODE_H_

#include <stdint.h>

namespace protozero {
namespace bench {

// Runs so much code that the first-level instruction cache and the cache of
// decoded instructions keep none of the caller's. That will come from the
// second-level cache. Takes some microseconds.
void EvictCodeFromL1();

// Evicts it from the second-level cache and the branch predictor, too.
// Evicts data as well. Takes some hundred microseconds.
void EvictCodeFromL2();

// Returns false if the functions above do nothing on this processor.
bool CanEvictCode();

// Reads a clock that is exact enough for one message, in ticks of unknown but
// constant length. All instructions before the reading are executed before it,
// and all later ones after it. Inline, because a call would have to be fetched
// first.
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
