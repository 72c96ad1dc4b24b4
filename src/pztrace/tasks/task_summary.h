// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TASKS_TASK_SUMMARY_H_
#define SRC_PZTRACE_TASKS_TASK_SUMMARY_H_

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "src/pztrace/events/duration_histogram.h"
#include "src/pztrace/events/track_info.h"
#include "src/pztrace/tasks/task_timeline.h"

namespace pztrace {

// A place in a program. Tasks without a known one have only a name of their
// own, or nothing.
struct PlaceKey {
  std::string name;
  std::string file;
  uint32_t line = 0;

  friend bool operator<(const PlaceKey& a, const PlaceKey& b) {
    return std::tie(a.name, a.file, a.line) < std::tie(b.name, b.file, b.line);
  }
};

// Returns a text such as "session (server.cc:42)".
std::string PlaceText(const PlaceKey& place);
std::string PlaceText(const TaskTimeline& timeline, uint32_t place);
// Returns the place where the task was spawned.
PlaceKey SpawnPlaceOf(const TaskTimeline& timeline, uint32_t task);
// Returns the task's own name, or a text such as "session #42".
std::string TaskText(const TaskTimeline& timeline, uint32_t task);

// Returns a text such as "done" for a trace::TaskEvent::Result.
std::string_view ResultText(uint8_t result);

// A number of times, their sum and the longest.
struct TimeSum {
  uint64_t count = 0;
  uint64_t total_ns = 0;
  uint64_t max_ns = 0;

  void Add(uint64_t ns) {
    ++count;
    total_ns += ns;
    max_ns = std::max(max_ns, ns);
  }
  void Add(const TimeSum& other) {
    count += other.count;
    total_ns += other.total_ns;
    max_ns = std::max(max_ns, other.max_ns);
  }
};

// A run of a task without a suspension.
struct LongRun {
  uint64_t ns = 0;
  uint64_t since_ns = 0;  // From the beginning of the trace on.
  std::string task;
  std::string thread;
  // The number of times in which tasks could have run meanwhile and ran on this
  // thread later, and their sum.
  uint64_t num_delayed = 0;
  uint64_t delayed_ns = 0;
  // The places of their spawns with the largest sums, kMaxDelayedPlaces at
  // most. Only the kMaxDetailedRuns of a trace with the largest sums have any:
  // each of many places may have delayed each other one.
  static constexpr size_t kMaxDelayedPlaces = 16;
  static constexpr size_t kMaxDetailedRuns = 64;
  std::map<PlaceKey, TimeSum> delayed;
};

// Tasks that did not go on until the end of the trace: the first of them.
struct Unresumed {
  uint64_t count = 0;
  uint64_t ns = 0;        // Until the end of the trace.
  uint64_t since_ns = 0;  // From the beginning of the trace on.
  std::string task;
  std::string request;  // Empty for none.
};

// The tasks that were spawned at one place.
struct TaskRow {
  uint64_t tasks = 0;
  TimeSum runs;
  TimeSum waits;
  // The times in which they could run, and the part of it from a spawn or a
  // wake to the run.
  TimeSum ready;
  TimeSum delay;
  DurationHistogram delays;
  // The time whose steps are lost.
  uint64_t unknown_ns = 0;
  LongRun longest;
  std::map<PlaceKey, TimeSum> waits_by_place;
  // Tasks that were not resumed, by the place where they wait, and tasks that
  // could run.
  std::map<PlaceKey, Unresumed> unresumed;
  Unresumed not_run;
  // Tasks that ended while they waited, by place.
  std::map<PlaceKey, uint64_t> destroyed;
  // The other tasks that had not ended: they ran, or their state is unknown.
  uint64_t running = 0;
  uint64_t unknown = 0;

  uint64_t DelayPercentile(uint64_t percent) const {
    return std::min(delay.max_ns, delays.Percentile(percent));
  }
  uint64_t NotEnded() const;
};

// The tasks of traces, by the places where they were spawned.
class TaskSummary {
 public:
  // Adds the tasks of a trace that began at |first_ns|.
  void Add(const TaskTimeline& timeline,
           const Tracks& tracks,
           uint64_t first_ns);

  const std::map<PlaceKey, TaskRow>& rows() const { return rows_; }

 private:
  std::map<PlaceKey, TaskRow> rows_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TASKS_TASK_SUMMARY_H_
