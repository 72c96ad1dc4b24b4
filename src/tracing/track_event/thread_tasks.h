// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACK_EVENT_THREAD_TASKS_H_
#define SRC_TRACING_TRACK_EVENT_THREAD_TASKS_H_

#include <stdint.h>

#include <memory>
#include <utility>

#include "protozero/tracing/internal/trace_sequence.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/track_event/task_run_ids.h"

#include "protozero/internal/macros.h"

// The state of a thread's tasks, and of its sequences of steps.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal PROTOZERO_HIDDEN {

// The state of a sequence of steps.
class TaskRuns final : public SequenceKind {
 public:
  uint64_t Begin(trace::InternedData* data, uint64_t thread_uuid) override;
  void WriteBeginning(TraceContext& context,
                      TraceSequence& sequence,
                      uint64_t thread_uuid) override;

  TaskRunIds ids;
};

// The writers of the steps of tasks of one thread, which are sequences of their
// own: their default track is the row of the thread's tasks.
struct ThreadTasks final : ThreadTasksBase {
  explicit ThreadTasks(std::shared_ptr<DataSource> source)
      : writers(std::move(source)) {}
  ReadyWriter ready_writer;
  DataSourceWriters writers;
  uint64_t thread_uuid = 0;
  // The number of the task that the thread runs; 0 for none, and the number of
  // times without tasks before it was set.
  uint64_t running = 0;
  uint32_t times_without_tasks = 0;
};

inline TaskRunIds& RunIdsOf(const TraceSequence& sequence) {
  return static_cast<TaskRuns&>(*sequence.kind).ids;
}
// Returns the thread's state; null until CreateThreadTasks().
PROTOZERO_ALWAYS_INLINE ThreadTasks* TasksOf(const TraceThread* thread) {
  return PROTOZERO_LIKELY(thread != nullptr)
             ? static_cast<ThreadTasks*>(thread->tasks.get())
             : nullptr;
}

}  // namespace internal PROTOZERO_HIDDEN
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACK_EVENT_THREAD_TASKS_H_
