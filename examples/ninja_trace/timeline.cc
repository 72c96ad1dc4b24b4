// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/timeline.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

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

// Spreads intervals over as few slots as possible, so that those of one slot do
// not overlap. The log does not say which of ninja's jobs ran a command; this
// gives a picture of the same width.
//
// Intervals are given in the order of their beginnings. Each takes the lowest
// slot that is free: the number of slots is then the largest number of
// intervals that overlap.
class Slots {
 public:
  struct Ended {
    size_t slot;
    uint64_t time;
  };

  // Takes the lowest free slot until |end|, and returns it.
  size_t Acquire(uint64_t end) {
    size_t slot = count_;
    if (free_.empty()) {
      ++count_;
    } else {
      slot = free_.top();
      free_.pop();
    }
    busy_.emplace(end, slot);
    return slot;
  }

  // Frees the slot of the interval that ends first, if it ends by |time|. Sets
  // |ended| and returns true if it did. An interval may begin when another
  // ends.
  bool ReleaseNext(uint64_t time, Ended* ended) {
    if (busy_.empty() || busy_.top().first > time)
      return false;
    *ended = {busy_.top().second, busy_.top().first};
    busy_.pop();
    free_.push(ended->slot);
    return true;
  }

  // Returns the number of slots so far, free or not.
  size_t count() const { return count_; }

 private:
  template <typename T>
  using MinHeap = std::priority_queue<T, std::vector<T>, std::greater<T>>;

  MinHeap<size_t> free_;
  // The end of each interval, and its slot.
  MinHeap<std::pair<uint64_t, size_t>> busy_;
  size_t count_ = 0;
};

}  // namespace

TimelineSize WriteTimeline(std::vector<Build> builds, TraceWriter* writer) {
  TimelineSize size;
  Slots slots;
  // The time in the trace at which the build before ended.
  uint64_t last_end_ms = 0;

  const auto end_steps_until = [&](uint64_t time_ms) {
    Slots::Ended ended;
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
    end_steps_until(UINT64_MAX);
    writer->EndBuild(Nanoseconds(last_end_ms));
  }
  size.slots = slots.count();
  return size;
}

}  // namespace ninja_trace
