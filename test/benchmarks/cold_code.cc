// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/cold_code.h"

// |count| jumps, each to the next address with |alignment| zeros at its end.
#define BENCH_JUMPS(count, instruction, alignment) \
  asm volatile(".rept " count "\n\t" instruction   \
               " 1f\n"                             \
               "\t.p2align " alignment             \
               "\n"                                \
               "1:\n\t"                            \
               ".endr"                             \
               :                                   \
               :                                   \
               : "memory")

// Jumps to each half of a cache line of 128 KiB of code. That is twice the
// largest first-level instruction cache of today, and more pieces than the
// largest cache of decoded instructions has entries.
#define BENCH_JUMPS_OVER_L1(instruction) BENCH_JUMPS("4096", instruction, "5")

// Jumps to each cache line of 4 MiB of code, which is more than the
// second-level cache that any core of today has for itself.
#define BENCH_JUMPS_OVER_L2(instruction) BENCH_JUMPS("65536", instruction, "6")

namespace protozero {
namespace bench {

#if defined(__x86_64__) || defined(__i386__)

__attribute__((noinline)) void EvictCodeFromL1() {
  BENCH_JUMPS_OVER_L1("jmp");
}
__attribute__((noinline)) void EvictCodeFromL2() {
  BENCH_JUMPS_OVER_L2("jmp");
}
bool CanEvictCode() {
  return true;
}

#elif defined(__aarch64__)

__attribute__((noinline)) void EvictCodeFromL1() {
  BENCH_JUMPS_OVER_L1("b");
}
__attribute__((noinline)) void EvictCodeFromL2() {
  BENCH_JUMPS_OVER_L2("b");
}
bool CanEvictCode() {
  return true;
}

#else

void EvictCodeFromL1() {}
void EvictCodeFromL2() {}
bool CanEvictCode() {
  return false;
}

#endif

}  // namespace bench
}  // namespace protozero
