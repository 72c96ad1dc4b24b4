// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TASKS_TASK_TIMELINE_H_
#define SRC_PZTRACE_TASKS_TASK_TIMELINE_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protozero/tracing/trace_reader.h"
#include "src/pztrace/tasks/task_texts.h"
#include "src/tracing/trace_reader/id_map.h"

namespace pztrace {

// An index that refers to nothing.
inline constexpr uint32_t kNoIndex = UINT32_MAX;

// The lives of all tasks of a trace. A life is a list of parts, each in one
// state, which follow each other without a pause:
//
//   spawned         woken         woken
//   |ready|running|waiting|ready|running|ended
//
// Lost steps make states unknown. A thread with a loss may have run, woken and
// ended any task of its process meanwhile, except those that ran on other
// threads. So what was ready or waiting then is unknown until its next run or
// its end, and what ran on that thread is, too. A wake does not end that: the
// task may be running.
//
// A task takes 40 bytes, 16 to 32 bytes to find it by its number, 24 bytes a
// part, and 4 bytes a run. Until Finish(), a step takes 24 bytes.
class TaskTimeline {
 public:
  enum class State : uint32_t { kUnknown, kReady, kRunning, kWaiting, kEnded };

  // A part of a task's life. It ends where the next one begins, or at end_ns().
  struct Part {
    uint64_t begin_ns;
    uint32_t task;
    uint32_t next = kNoIndex;  // The task's next part.
    // kReady: the task that has spawned or woken it. kWaiting: the place.
    uint32_t other = kNoIndex;
    // kRunning: the thread. kReady: the thread that has spawned or woken it, or
    // kNoThread if it has stopped by itself.
    uint32_t thread : 29;
    uint32_t state_number : 3;

    State state() const { return static_cast<State>(state_number); }
  };
  static constexpr uint32_t kNoThread = (uint32_t{1} << 29) - 1;

  struct Task {
    uint64_t number;
    uint32_t process;
    // Null, that is kNoIndex, if they are not known or if there is none.
    uint32_t place = kNoIndex;   // The place of the spawn, for places().
    uint32_t name = kNoIndex;    // Its own name, for texts().
    uint32_t parent = kNoIndex;  // A task.
    uint32_t request_change = kNoIndex;  // The last one.
    uint32_t first_part = kNoIndex;
    uint32_t last_part = kNoIndex;
    uint8_t result = 0;  // A trace::TaskEvent::Result.
    bool is_spawn_known = false;
  };

  // From |time_ns| on, |task| works on |request|: a text, or kNoIndex.
  struct RequestChange {
    uint64_t time_ns;
    uint32_t task;
    uint32_t request;
    uint32_t previous;  // The task's change before.
  };

  // A request lasts from the moment at which a task begins to work on it until
  // the last run of such a task ends.
  struct Request {
    uint64_t begin_ns = UINT64_MAX;
    uint64_t end_ns = 0;
    uint32_t last_task = kNoIndex;  // The one that has run last.
    uint32_t num_tasks = 0;
  };

  struct Thread {
    uint64_t track;
    uint32_t process;
    std::vector<uint32_t> runs;  // Parts, by time.
  };

  TaskTimeline() = default;
  TaskTimeline(const TaskTimeline&) = delete;
  TaskTimeline& operator=(const TaskTimeline&) = delete;

  // Says that numbers of tasks are unique in the trace: a thread may spawn and
  // wake tasks of other processes. A task is in the process where it runs.
  // REQUIRES: there is no step yet.
  void set_has_unique_numbers() { has_unique_numbers_ = true; }
  // Adds a step. Those of a thread come in order of time, those of different
  // threads in any order.
  void Add(const protozero::TaskStep& step);
  // Makes the timeline of the steps. |end_ns| is the end of the trace.
  void Finish(uint64_t end_ns);

  // Returns the time of the first step; UINT64_MAX if there is none.
  uint64_t first_ns() const { return first_ns_; }
  // REQUIRES: Finish() was called, for this and what follows.
  uint64_t end_ns() const { return end_ns_; }
  // The tasks are in the order in which Add() got to know them.
  const std::deque<Task>& tasks() const { return tasks_; }
  const std::deque<Part>& parts() const { return parts_; }
  const std::vector<Thread>& threads() const { return threads_; }
  // The tracks of the processes.
  const std::vector<uint64_t>& processes() const { return process_tracks_; }
  const TaskPlaces& places() const { return places_; }
  const TaskNames& texts() const { return texts_; }
  const std::vector<RequestChange>& request_changes() const {
    return request_changes_;
  }
  // The requests by their text's number. Those without tasks are none.
  const std::vector<Request>& requests() const { return requests_; }

  uint64_t EndOf(const Part& part) const {
    return part.next == kNoIndex ? end_ns_ : parts_[part.next].begin_ns;
  }
  // Returns the request that the task works on last; kNoIndex for none.
  uint32_t LastRequestOf(const Task& task) const {
    return task.request_change == kNoIndex
               ? kNoIndex
               : request_changes_[task.request_change].request;
  }

 private:
  using Kind = protozero::TaskStep::Kind;
  using Stop = protozero::TaskStep::Stop;

  // The parent of a spawn that the step does not say: the running task.
  static constexpr uint32_t kRunningTask = kNoIndex - 1;

  struct Step {
    uint64_t time_ns;
    uint32_t task;
    // kSwitch: the place where the task before waits. kSpawn: the parent.
    // kRequest: the text.
    uint32_t other;
    Kind kind;
    Stop stop;
    uint8_t result;
  };
  // The steps of a thread, by the index of the thread.
  struct ThreadSteps {
    std::deque<Step> steps;  // The steps that are left to apply.
    bool is_losing = false;
    uint32_t running =
        kNoIndex;  // The task; kNoIndex if it is none or not known.
  };
  struct Loss {
    uint64_t begin_ns;
    uint64_t end_ns;
  };
  struct Process {
    protozero::internal::IdMap tasks;
    std::vector<Loss> losses;  // After MergeLosses(), none touches another.
  };
  struct Waker {
    uint32_t task;
    uint32_t thread;
  };

  uint32_t ThreadOf(const protozero::TaskStep& step);
  uint32_t TaskOf(uint64_t number, uint32_t process);
  static void MergeLosses(std::vector<Loss>* losses);
  void ApplyAll();
  void Apply(uint32_t thread, const Step& step);
  void Spawn(uint32_t thread, const Step& step);
  void Wake(uint32_t thread, const Step& step);
  void End(const Step& step);
  void Switch(uint32_t thread, const Step& step);
  void StopRunning(uint32_t thread, const Step& step);
  // Makes the state of a task unknown from the first loss since it changed.
  void Settle(uint32_t task, uint64_t time_ns);
  // Returns the first loss in that time; null if there is none.
  const Loss* LossIn(uint32_t process,
                     uint64_t begin_ns,
                     uint64_t end_ns) const;
  void AddPart(uint32_t task,
               uint64_t time_ns,
               State state,
               uint32_t other,
               uint32_t thread);
  State StateOf(uint32_t task) const;
  void SetRequest(uint32_t task, uint64_t time_ns, uint32_t request);
  // Notes that the task has stopped running, or working on its request.
  void ExtendRequest(uint32_t task, uint64_t time_ns);

  bool has_unique_numbers_ = false;
  uint64_t first_ns_ = UINT64_MAX;
  uint64_t end_ns_ = 0;
  // Deques, which grow without a copy.
  std::deque<Task> tasks_;
  std::deque<Part> parts_;
  std::vector<RequestChange> request_changes_;
  std::vector<Request> requests_;
  std::vector<Thread> threads_;
  std::vector<ThreadSteps> steps_;
  std::unordered_map<uint64_t, uint32_t> thread_indexes_;
  std::vector<uint64_t> process_tracks_;
  std::vector<Process> processes_;
  std::unordered_map<uint64_t, uint32_t> process_indexes_;
  // The first wakes of tasks since they run, by the task.
  std::unordered_map<uint32_t, Waker> early_wakers_;
  TaskPlaces places_;
  TaskNames texts_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TASKS_TASK_TIMELINE_H_
