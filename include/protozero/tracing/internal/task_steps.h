// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_INTERNAL_TASK_STEPS_H_
#define INCLUDE_PROTOZERO_TRACING_INTERNAL_TASK_STEPS_H_

#include <stdint.h>

#include <string_view>

#include "protozero/tracing/internal/trace_sequence.h"

#include "protozero/internal/macros.h"

// The functions that write the steps of tasks.

namespace protozero {
PROTOZERO_ABI_BEGIN

struct TaskSite;
enum class TaskResult : uint8_t;

namespace internal PROTOZERO_HIDDEN {

// The site of all steps of tasks.
extern TraceSite g_task_site;
PROTOZERO_ALWAYS_INLINE bool AreTasksTraced() {
  return g_task_site.MayBeOn();
}
// Returns the number of the calling thread's task.
PROTOZERO_NOINLINE uint64_t RunningTask() noexcept;
// Write a step. A number is that of a task, or 0.
PROTOZERO_NOINLINE void WriteTaskSwitch(uint64_t next) noexcept;
PROTOZERO_NOINLINE void WriteTaskSwitch(uint64_t next,
                                        TaskSite& waits_at) noexcept;
PROTOZERO_NOINLINE void WriteTaskSwitch(uint64_t next,
                                        TaskResult result) noexcept;
PROTOZERO_NOINLINE void WriteTaskWake(uint64_t task) noexcept;
PROTOZERO_NOINLINE void WriteTaskEnd(uint64_t task, TaskResult result) noexcept;
PROTOZERO_NOINLINE void WriteTaskRequest(std::string_view request) noexcept;

// Returns a number for the track of an asynchronous slice, and that track's id,
// which no program uses for its own tracks.
PROTOZERO_NOINLINE uint32_t NextAsyncId() noexcept;
inline uint64_t AsyncTrackId(uint64_t number) {
  return number ^ 0x9d1c8e5a6b3f2704;
}
PROTOZERO_NOINLINE void EmitEndOnAsyncTrack(SliceToken token,
                                            uint64_t number,
                                            SessionMask sessions) noexcept;

}  // namespace internal PROTOZERO_HIDDEN

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_TRACING_INTERNAL_TASK_STEPS_H_
