// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TASKS_TASK_RUNS_H_
#define SRC_PZTRACE_TASKS_TASK_RUNS_H_

#include <stdint.h>

#include <unordered_map>

#include "protozero/tracing/trace_reader.h"
#include "src/pztrace/tasks/task_timeline.h"

namespace pztrace {

// The tasks that threads ran, by the ids that the kernel has for the threads.
class TaskRuns {
 public:
  // REQUIRES: Finish() of the timeline was called, and it outlives this.
  TaskRuns(const TaskTimeline& timeline, const protozero::TraceTracks& tracks);

  // Returns the task that the thread ran then; kNoIndex if it was none, or is
  // not known.
  uint32_t Find(int64_t pid, int64_t tid, uint64_t time_ns) const;

 private:
  struct Thread {
    int64_t pid;
    uint32_t index;  // In the timeline.
  };

  const TaskTimeline& timeline_;
  std::unordered_multimap<int64_t, Thread> threads_;  // By tid.
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TASKS_TASK_RUNS_H_
