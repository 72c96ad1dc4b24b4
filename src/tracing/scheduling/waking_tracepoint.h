// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_WAKING_TRACEPOINT_H_
#define SRC_TRACING_SCHEDULING_WAKING_TRACEPOINT_H_

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The kernel's tracepoint sched_waking, which a thread passes when it wakes
// another one. Only privileged users see it.
struct WakingTracepoint {
  // The number for perf_event_attr::config.
  uint64_t id = 0;
  // The offset of the thread that is woken in the tracepoint's data.
  size_t woken_offset = 0;
};

// Reads the tracepoint's files in |folder|, where tracefs is mounted. Null, and
// sets errno, if it cannot; to 0 if they are not as expected.
std::optional<WakingTracepoint> ReadWakingTracepoint(const std::string& folder);

// Finds the tracepoint. If a user who may see it cannot, |*problem| is the
// reason, and what helps; otherwise it is empty.
std::optional<WakingTracepoint> FindWakingTracepoint(std::string* problem);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_WAKING_TRACEPOINT_H_
