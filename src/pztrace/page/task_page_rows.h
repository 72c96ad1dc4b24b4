// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_PAGE_TASK_PAGE_ROWS_H_
#define SRC_PZTRACE_PAGE_TASK_PAGE_ROWS_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/events/track_info.h"
#include "src/pztrace/events/track_rows.h"
#include "src/pztrace/tasks/task_timeline.h"

namespace pztrace {

// The rows of the tasks of a trace, for a page: those of one place are a group,
// and share the fewest rows in which they do not overlap.
//
//   tasks of app 4711
//     session (server.cc:42)  | session #1              || session #3 |
//                             |ready|running|waiting|...
//                                    | parse        |
//                                 | session #2       |
//
// A task has the slices that its threads have begun while they ran it. So a
// slice that spans a suspension is whole here. A flow joins the runs of a task,
// and another one each wake with the run that it led to.
class TaskPageRows {
 public:
  // The most rows of a place. The tasks for which there is no room are counted
  // by a row of their own.
  static constexpr size_t kMaxLines = 64;

  // |timeline| has to be finished, and |events| have those of threads. All must
  // outlive the object.
  TaskPageRows(const TaskTimeline& timeline,
               const Tracks& tracks,
               const TrackRows& events);
  TaskPageRows(const TaskPageRows&) = delete;
  TaskPageRows& operator=(const TaskPageRows&) = delete;

  // Appends the rows to those of a page.
  void AppendTo(std::vector<TrackRow>* rows) const;
  // Returns the name of a flow of a state of a task.
  static std::string NameOfFlow(uint64_t id);

 private:
  // Lines for slices that come in the order of their beginnings, each in the
  // first line where it overlaps no other.
  class LinePacker {
   public:
    size_t LineFor(uint64_t begin_ns, uint64_t end_ns);

   private:
    template <typename T>
    using MinQueue = std::priority_queue<T, std::vector<T>, std::greater<>>;
    size_t num_lines_ = 0;
    // The lines in use by their ends, and the others.
    MinQueue<std::pair<uint64_t, size_t>> used_;
    MinQueue<size_t> free_;
  };
  struct Line {
    uint64_t end_ns = 0;
    TrackEvents events;
    LinePacker slices;
  };
  struct Group {
    std::deque<Line> lines;
    uint64_t num_left_out = 0;
  };

  // Notes, for each run, the wakes that it has done.
  void FindWakes();
  // Notes the slices of each task.
  void FindSlices(const TrackRows& events);
  // Returns the run of the thread at that time, or the last one before;
  // kNoIndex if there is none.
  uint32_t RunAt(const TaskTimeline::Thread& thread, uint64_t time_ns) const;
  void AddTask(uint32_t task, Group* group);
  // Adds the slices of a task below its states, each where it overlaps no
  // other.
  void AddSlices(uint32_t task, Line* line);
  RowSlice SliceOf(uint64_t begin_ns, uint64_t end_ns, bool is_open) const;
  const EventText* TextOf(const std::string& name);
  const EventDetails* DetailsOf(std::string args, std::vector<EventFlow> flows);
  std::string ArgsOfPart(const TaskTimeline::Part& part) const;

  const TaskTimeline& timeline_;
  const Tracks& tracks_;
  // The parts that are ready because of a run, by that run.
  std::multimap<uint32_t, uint32_t> wakes_;
  // By task.
  std::map<uint32_t, std::vector<const RowSlice*>> slices_;
  // By process and by the text of the place.
  std::map<uint32_t, std::map<std::string, Group>> groups_;
  const std::string category_ = "task";
  std::map<std::string, std::unique_ptr<EventText>> texts_;
  std::deque<EventDetails> details_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_PAGE_TASK_PAGE_ROWS_H_
