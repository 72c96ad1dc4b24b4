// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/cold_code.h"

// 4096 jumps, each to the next half of a cache line: 128 KiB of code, twice the
// largest first-level instruction cache of today, and more pieces than the
// largest cache of decoded instructions has entries.
#define BENCH_JUMPS(instruction)            \
  asm volatile(".rept 4096\n\t" instruction \
               " 1f\n\t"                    \
               ".p2align 5\n"               \
               "1:\n\t"                     \
               ".endr"                      \
               :                            \
               :                            \
               : "memory")

namespace protozero {
namespace bench {

#if defined(__x86_64__) || defined(__i386__)

__attribute__((noinline)) void EvictCode() {
  BENCH_JUMPS("jmp");
}
bool CanEvictCode() {
  return true;
}

#elif defined(__aarch64__)

__attribute__((noinline)) void EvictCode() {
  BENCH_JUMPS("b");
}
bool CanEvictCode() {
  return true;
}

#else

void EvictCode() {}
bool CanEvictCode() {
  return false;
}

#endif

}  // namespace bench
}  // namespace protozero
