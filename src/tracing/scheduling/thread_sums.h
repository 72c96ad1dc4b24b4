// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_THREAD_SUMS_H_
#define SRC_TRACING_SCHEDULING_THREAD_SUMS_H_

#include <stdint.h>

#include <map>
#include <set>

#include "protozero/tracing/data_source_writers.h"
#include "src/tracing/scheduling/process_files.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Writes counters of each thread where the kernel's events are forbidden: of
// the time that it has run, and of the time that it was ready to run and did
// not. They have no moments, but differences between two values are exact.
class ThreadSumsWriter {
 public:
  void AddProcess(int32_t pid) { processes_.insert(pid); }
  // Writes the sums that have changed.
  void Write(uint64_t time, TraceContext* context);

 private:
  void WriteThread(uint64_t time,
                   int32_t pid,
                   int32_t tid,
                   TraceContext* context);

  std::set<int32_t> processes_;
  // The last sums by thread.
  std::map<int32_t, ThreadSums> sums_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_THREAD_SUMS_H_
