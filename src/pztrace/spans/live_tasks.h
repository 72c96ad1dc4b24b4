// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SPANS_LIVE_TASKS_H_
#define SRC_PZTRACE_SPANS_LIVE_TASKS_H_

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/spans/span_ids.h"

namespace pztrace {

// A task of a trace that is being recorded.
struct LiveTask {
  uint64_t process = 0;  // The track.
  uint64_t number = 0;
  uint64_t parent = 0;  // The numbers of spans, 0 for none.
  uint64_t root = 0;
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  uint8_t result = 0;
  std::string name;
  std::string request;
  std::optional<TaskPlace> place;
};

// The tasks of a trace that is being recorded: those that have not ended, and
// which one each thread ran lately. Looks are as those of TraceReader, at each
// ReleaseEvents(). A step of a look is taken at the end of the next one, when
// earlier steps of other threads have come.
//
// Takes memory for at most kMaxTasks tasks.
class LiveTasks {
 public:
  static constexpr size_t kMaxTasks = size_t{1} << 20;

  explicit LiveTasks(std::string host) : host_(std::move(host)) {}

  void AddStep(const TaskStep& step);
  // Takes the steps up to the last one of the look before, or all of them.
  // Returns the tasks that have ended.
  std::vector<LiveTask> EndLook(bool is_last);

  // Returns the ids of the task that the thread ran then. Null if that is none,
  // or it was before the last looks.
  std::optional<SpanIdentity> TaskAt(uint64_t thread, uint64_t time_ns) const;
  SpanIdentity IdentityOf(const LiveTask& task) const;

  // Counts the tasks that have not ended, and those that found no place.
  size_t num_open() const { return tasks_.size(); }
  uint64_t num_dropped() const { return num_dropped_; }

 private:
  struct Step {
    TaskStep step;
    std::string text;
    std::optional<TaskPlace> place;
  };
  struct Run {
    uint64_t begin_ns;
    uint64_t end_ns;
    SpanIdentity identity;
    uint64_t look;
  };
  struct Thread {
    uint64_t task = 0;  // The number of the running task's span.
    uint64_t begin_ns = 0;
    std::vector<Run> runs;  // The last ones that have ended, by beginning.
  };

  // Returns the first run that begins after that time.
  static std::vector<Run>::const_iterator RunAfter(const std::vector<Run>& runs,
                                                   uint64_t time_ns);
  // Returns null if there is no place for another task.
  LiveTask* Get(const TaskStep& step, uint64_t number, uint64_t process);
  LiveTask* Find(uint64_t span);
  void Apply(const Step& step, std::vector<LiveTask>* ended);
  void Spawn(const Step& step, LiveTask* task);
  void Switch(const TaskStep& step,
              LiveTask* next,
              std::vector<LiveTask>* ended);
  void EndRun(uint64_t time_ns, Thread* thread);
  void ForgetRuns();
  void EndTask(uint64_t span,
               const TaskStep& step,
               std::vector<LiveTask>* ended);

  const std::string host_;
  std::vector<Step> steps_;
  uint64_t last_look_ns_ = 0;
  uint64_t num_looks_ = 0;
  std::unordered_map<uint64_t, LiveTask> tasks_;  // By the spans' numbers.
  std::unordered_map<uint64_t, Thread> threads_;  // By the tracks.
  uint64_t num_dropped_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SPANS_LIVE_TASKS_H_
