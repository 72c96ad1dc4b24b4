// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/trace_clock.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

namespace protozero::workloads {

#if defined(__x86_64__) && defined(__GNUC__)

namespace {

// Returns true if the counter has the same rate in all states of the processor,
// sleep included.
bool IsCounterSteady() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kInvariant = 1u << 8;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & kInvariant) != 0;
}

struct Reading {
  uint64_t ticks;
  uint64_t ns;
};

// Reads both clocks, as close together as possible: the best of some tries.
Reading ReadBoth() {
  Reading best = {0, 0};
  uint64_t best_distance = UINT64_MAX;
  for (int i = 0; i < 16; ++i) {
    const uint64_t before = __rdtsc();
    const uint64_t ns = TraceClock::SystemNow();
    const uint64_t distance = __rdtsc() - before;
    if (distance < best_distance) {
      best_distance = distance;
      best = {before + distance / 2, ns};
    }
  }
  return best;
}

}  // namespace

TraceClock::TraceClock() {
  if (!IsCounterSteady())
    return;
  constexpr uint64_t kCalibrationNs = 10'000'000;
  const Reading first = ReadBoth();
  Reading last;
  do {
    last = ReadBoth();
  } while (last.ns - first.ns < kCalibrationNs);
  const uint64_t ns = last.ns - first.ns;
  const uint64_t ticks = last.ticks - first.ticks;
  if (ns >= ticks)
    return;
  ns_per_tick_ = static_cast<uint64_t>((Uint128{ns} << 64) / ticks);
  Synchronize();
}

void TraceClock::Synchronize() {
  if (!uses_counter())
    return;
  const Reading now = ReadBoth();
  offset_ns_ = now.ns - ToNanoseconds(now.ticks);
}

#else

TraceClock::TraceClock() = default;
void TraceClock::Synchronize() {}

#endif

uint64_t TraceClock::SystemNowOutOfLine() {
  return SystemNow();
}

}  // namespace protozero::workloads
