// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/timeline.h"

#include <algorithm>
#include <tuple>

#include "examples/ninja_trace/slot_assigner.h"

namespace ninja_trace {

namespace {

constexpr uint64_t kNanosecondsPerMillisecond = 1000 * 1000;

// Converts a time. Stops at 292 years, so that a made-up log cannot make time
// go backwards.
uint64_t Nanoseconds(uint64_t milliseconds) {
  constexpr uint64_t kMax = INT64_MAX / kNanosecondsPerMillisecond;
  return std::min(milliseconds, kMax) * kNanosecondsPerMillisecond;
}

void SortByStart(std::vector<BuildStep>* steps) {
  // Sorting by name, too, makes the trace the same each time.
  std::sort(steps->begin(), steps->end(),
            [](const BuildStep& a, const BuildStep& b) {
              return std::tie(a.start_ms, a.end_ms, a.outputs) <
                     std::tie(b.start_ms, b.end_ms, b.outputs);
            });
}

}  // namespace

TimelineSize WriteTimeline(std::vector<Build> builds, TraceWriter* writer) {
  TimelineSize size;
  SlotAssigner slots;
  // The time in the trace at which the build before ended.
  uint64_t last_end_ms = 0;

  const auto end_steps_until = [&](uint64_t time_ms) {
    SlotAssigner::Ended ended;
    while (slots.ReleaseNext(time_ms, &ended)) {
      writer->EndStep(ended.slot, Nanoseconds(ended.time));
      last_end_ms = ended.time;
    }
  };

  for (Build& build : builds) {
    if (build.steps.empty())
      continue;
    SortByStart(&build.steps);
    const uint64_t log_begin_ms = build.steps.front().start_ms;
    const uint64_t begin_ms =
        size.builds == 0 ? log_begin_ms : last_end_ms + kPauseBetweenBuildsMs;

    ++size.builds;
    writer->BeginBuild(size.builds, Nanoseconds(begin_ms));
    for (const BuildStep& step : build.steps) {
      const uint64_t step_begin_ms = begin_ms + (step.start_ms - log_begin_ms);
      const uint64_t step_end_ms = begin_ms + (step.end_ms - log_begin_ms);
      end_steps_until(step_begin_ms);
      const size_t slot = slots.Acquire(step_end_ms);
      writer->BeginStep(slot, step, Nanoseconds(step_begin_ms));
      ++size.steps;
    }
    end_steps_until(SlotAssigner::kForever);
    writer->EndBuild(Nanoseconds(last_end_ms));
  }
  size.slots = slots.slot_count();
  return size;
}

}  // namespace ninja_trace
