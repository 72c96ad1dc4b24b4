// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_KERNEL_COUNTER_H_
#define SRC_TRACING_SCHEDULING_KERNEL_COUNTER_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "protozero/tracing/trace.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// A quantity that the kernel counts for each thread, and that samples have.
struct KernelCounter {
  // perf_event_attr's.
  uint32_t type;
  uint64_t config;
  const char* name;
  trace::StackSample::Unit unit;
};

// The most counters of a sample.
inline constexpr size_t kMaxKernelCounters = 3;

// Returns what processors count: cycles, instructions and cache misses. Virtual
// machines mostly have none of them.
std::vector<KernelCounter> HardwareCounters();

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_KERNEL_COUNTER_H_
