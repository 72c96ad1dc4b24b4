// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_TASK_SEQUENCE_H_
#define SRC_TRACING_TRACE_READER_TASK_SEQUENCE_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "src/tracing/trace_reader/id_map.h"
#include "src/tracing/trace_reader/track_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The state of a sequence with steps of tasks: the tasks and places that it has
// interned, and the task that its thread runs.
class TaskSequence {
 public:
  // The most tasks and places that are kept of a sequence until it starts over.
  // Steps with other tasks count as lost; other places are unknown.
  static constexpr size_t kMaxRuns = size_t{1} << 20;
  static constexpr size_t kMaxPlaces = size_t{1} << 16;

  // Forgets what is interned, because the sequence writes it again.
  void Clear() {
    run_indexes_.Clear();
    runs_.clear();
    places_.Clear();
    num_places_ = 0;
    is_restarted_ = true;
  }

 private:
  friend class TaskStepReader;

  struct Run {
    uint64_t task;
    uint64_t site_iid;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  IdMap run_indexes_;  // Indexes of runs_, by iid.
  std::vector<Run> runs_;
  IdMap places_;  // Indexes of TaskStepReader::places_, by iid.
  size_t num_places_ = 0;

  // The row of the thread's tasks, and the thread by its index.
  TrackIndex row_ = kNone;
  uint32_t thread_ = kNone;
  // A number that differs for sequences, and for threads of one sequence.
  uint32_t source_ = 0;
  bool knows_running_ = false;
  uint64_t running_ = 0;
  // True until the first step after Clear(). If a task runs, that step says so
  // again.
  bool is_restarted_ = false;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_TASK_SEQUENCE_H_
