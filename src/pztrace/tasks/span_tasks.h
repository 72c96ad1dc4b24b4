// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TASKS_SPAN_TASKS_H_
#define SRC_PZTRACE_TASKS_SPAN_TASKS_H_

#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/tasks/task_timeline.h"

namespace pztrace {

// Finishes the timeline of a trace that |reader| has read, and that has the
// steps which it has found. If these are none, the requests of spans of
// OpenTelemetry, of one or several programs, are tasks:
//
//   span without a parent, or whose      task, at the place "program: span",
//   parent is in another program or      with the trace id as its request. The
//   missing                              task of the parent's span spawns it
//   client's span that is its parent     the parent's task waits for it, until
//                                        the task within it wakes it
//
// The other spans are what tasks do. Slices and traces stay as they are. A
// reader that does not find spans has none.
void FinishTasks(TimelineReader* reader, TaskTimeline* timeline);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TASKS_SPAN_TASKS_H_
