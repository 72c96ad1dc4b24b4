// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACK_EVENT_TASKS_H_
#define SRC_TRACING_TRACK_EVENT_TASKS_H_

#include <stdint.h>

#include "protozero/tracing/internal/trace_sequence.h"
#include "protozero/tracing/trace.h"

#include "protozero/internal/macros.h"

// The parts of a sequence of tasks that every such sequence begins with.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Returns the number of the row of a thread's tasks.
uint64_t TaskTrackUuid(uint64_t thread_uuid);
// Writes the names of the steps of tasks.
void InternTaskSteps(trace::InternedData* data);
// Writes that the thread of the sequence goes on with the task that it runs. A
// sequence that begins anew does so, because its reader may know only what
// follows.
void WriteRunningTask(TraceContext& context, TraceSequence& sequence);
// Counts the times in which no session records tasks. After one, nobody knows
// which task a thread runs. REQUIRES: a RegistryLock.
void CountTimeWithoutTasks();
// Makes traces describe TrackEvent.task as an extension.
void DescribeTaskEvents();

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACK_EVENT_TASKS_H_
