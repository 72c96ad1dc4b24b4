// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/kernel_counter.h"

#include <linux/perf_event.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

std::vector<KernelCounter> HardwareCounters() {
  using Sample = trace::StackSample;
  return {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, "cycles",
           Sample::UNIT_CPU_CYCLES},
          {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, "instructions",
           Sample::UNIT_INSTRUCTIONS},
          {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, "cache-misses",
           Sample::UNIT_CACHE_MISSES}};
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
