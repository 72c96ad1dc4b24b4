// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACK_EVENT_TRACE_EXTENSIONS_H_
#define SRC_TRACING_TRACK_EVENT_TRACE_EXTENSIONS_H_

#include <stddef.h>

#include <atomic>

#include "protozero/const_bytes.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The arguments of DescribeTraceExtensions(). Any thread may read them.
class TraceExtensions {
 public:
  // The most sets. TraceSequence::described_extensions has a bit for each.
  static constexpr size_t kMax = 32;

  size_t size() const { return size_.load(std::memory_order_acquire); }
  ConstBytes operator[](size_t index) const { return sets_[index]; }
  // Adds a set. Does nothing if it is there, or if there are kMax. REQUIRES: a
  // RegistryLock.
  void Add(ConstBytes descriptor_set);

 private:
  ConstBytes sets_[kMax] = {};
  std::atomic<size_t> size_{0};
};

TraceExtensions& GetTraceExtensions();

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACK_EVENT_TRACE_EXTENSIONS_H_
