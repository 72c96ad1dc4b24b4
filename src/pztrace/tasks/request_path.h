// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TASKS_REQUEST_PATH_H_
#define SRC_PZTRACE_TASKS_REQUEST_PATH_H_

#include <stdint.h>

#include <vector>

#include "src/pztrace/tasks/task_timeline.h"

namespace pztrace {

// A part of the path that decided how long a request took.
struct PathPart {
  enum class Kind {
    kRan,
    // It could run, but |thread| did something else: see |others|.
    kReady,
    // It waited at |place|, until |waker| on |thread| woke it.
    kWaited,
    // Steps are lost, or the trace does not say what came before.
    kUnknown,
  };
  // A task that ran meanwhile.
  struct Other {
    uint32_t task;
    uint64_t ns;
  };

  Kind kind;
  uint64_t begin_ns;
  uint64_t end_ns;
  uint32_t task;
  // kNoIndex if they are not known or if there is none.
  uint32_t thread = kNoIndex;
  uint32_t place = kNoIndex;
  uint32_t waker = kNoIndex;
  std::vector<Other> others = {};  // The longest first.
};

// Returns the path from the beginning of a request to its end, without a pause.
// It goes back from the end of the request's last run: from a task that was
// woken to the task that woke it, if that works on the request, too, and from a
// task to the one that has spawned it. REQUIRES: the request has tasks.
std::vector<PathPart> PathOf(const TaskTimeline& timeline, uint32_t request);

// Returns the tasks that work on the request at the end of the trace, but
// wait, or could run. |limit| of them at most.
std::vector<uint32_t> UnresumedOf(const TaskTimeline& timeline,
                                  uint32_t request,
                                  size_t limit);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TASKS_REQUEST_PATH_H_
