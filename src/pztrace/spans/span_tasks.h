// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SPANS_SPAN_TASKS_H_
#define SRC_PZTRACE_SPANS_SPAN_TASKS_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/spans/span_values.h"
#include "src/pztrace/tasks/task_timeline.h"

namespace pztrace {

// The requests of spans of OpenTelemetry, of one or several programs, as tasks:
//
//   span without a parent, or whose      task, at the place "program: span",
//   parent is in another program or      with the trace id as its request. The
//   missing                              task of the parent's span spawns it
//   client's span that is its parent     the parent's task waits for it, until
//                                        the task within it wakes it
//
// The other spans are what tasks do. Slices and traces stay as they are.
class SpanTasks {
 public:
  // Adds a slice of a program, unless it is no span.
  void AddSlice(const Slice& slice,
                const OtelArgs& otel,
                std::string_view program,
                uint32_t program_number);
  // Adds the steps of all tasks. Call it once.
  void AddTo(TaskTimeline* timeline);

 private:
  static constexpr uint32_t kNoSpan = UINT32_MAX;

  struct Span {
    uint64_t track;
    uint64_t begin_ns;
    uint64_t end_ns;
    uint32_t program;
    uint32_t depth;  // On its track.
    bool is_client;
    bool is_failed;
    std::string trace_id;
    std::string parent_key;
    const std::string* name;  // The reader keeps it.
    uint32_t parent = kNoSpan;
    uint32_t root = kNoSpan;  // The span that is its task.
  };
  // The time in which a task waits for those that spans of others begin.
  struct Wait {
    uint64_t begin_ns;
    uint64_t end_ns;
    uint32_t client;  // The span.
    uint32_t child;   // The task that wakes it.
    uint64_t wake_ns;
  };
  struct Step {
    uint64_t time_ns;
    int order;  // Among steps of one time.
    TaskStep step;
  };

  void FindRoots();
  std::vector<Wait> WaitsOf(const std::vector<uint32_t>& children) const;
  void AddTask(uint32_t span, const std::vector<uint32_t>& children);
  void AddStep(uint64_t time_ns, int order, uint32_t thread_of, TaskStep step);
  uint64_t ThreadOf(uint32_t span) const;
  const TaskPlace* PlaceOf(const std::string& name);

  std::vector<Span> spans_;
  std::unordered_map<std::string, uint32_t> by_key_;  // Trace and span id.
  std::unordered_map<uint32_t, std::string> programs_;
  std::unordered_map<std::string, TaskPlace> places_;
  std::vector<Step> steps_;
  std::deque<std::string> requests_;  // The texts of steps.
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SPANS_SPAN_TASKS_H_
