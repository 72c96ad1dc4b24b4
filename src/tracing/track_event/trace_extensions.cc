// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/track_event/trace_extensions.h"

#include "protozero/tracing/track_event.h"
#include "src/tracing/track_event/registry.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

void TraceExtensions::Add(ConstBytes descriptor_set) {
  const size_t size = size_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < size; ++i) {
    if (sets_[i].data == descriptor_set.data)
      return;
  }
  if (size == kMax)
    return;
  sets_[size] = descriptor_set;
  size_.store(size + 1, std::memory_order_release);
}

TraceExtensions& GetTraceExtensions() {
  static TraceExtensions extensions;
  return extensions;
}

}  // namespace internal

void DescribeTraceExtensions(ConstBytes descriptor_set) {
  const internal::RegistryLock lock;
  if (lock.is_held())
    internal::GetTraceExtensions().Add(descriptor_set);
}

PROTOZERO_ABI_END
}  // namespace protozero
