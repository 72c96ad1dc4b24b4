// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_NINJA_TRACE_TIMELINE_H_
#define EXAMPLES_NINJA_TRACE_TIMELINE_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "examples/ninja_trace/build_history.h"
#include "examples/ninja_trace/trace_writer.h"

namespace ninja_trace {

// The time in the trace between the end of a build and the beginning of the
// next one. The log does not say how long it was.
inline constexpr uint64_t kPauseBetweenBuildsMs = 1000;

struct TimelineSize {
  size_t builds = 0;
  size_t steps = 0;
  size_t slots = 0;
};

// Writes |builds| one after the other, in order of time. The first one keeps
// the times of the log, which count from the start of ninja.
TimelineSize WriteTimeline(std::vector<Build> builds, TraceWriter* writer);

}  // namespace ninja_trace

#endif  // EXAMPLES_NINJA_TRACE_TIMELINE_H_
