// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_WHY_REQUEST_TEXTS_H_
#define SRC_PZTRACE_WHY_REQUEST_TEXTS_H_

#include <stddef.h>
#include <stdint.h>

#include "src/pztrace/events/thread_times.h"
#include "src/pztrace/events/track_info.h"
#include "src/pztrace/tasks/task_timeline.h"

namespace pztrace {

// Prints the path that decided how long a request took. |times| are finished;
// they say why threads did not run. Prints |limit| tasks at most that were not
// resumed. REQUIRES: the request has tasks.
void PrintPath(const TaskTimeline& timeline,
               const Tracks& tracks,
               ThreadTimes* times,
               uint64_t first_ns,
               uint32_t request,
               size_t limit);

}  // namespace pztrace

#endif  // SRC_PZTRACE_WHY_REQUEST_TEXTS_H_
