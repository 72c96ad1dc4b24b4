// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/why/request_texts.h"

#include <stdio.h>

#include <string>

#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/tasks/request_path.h"
#include "src/pztrace/tasks/task_summary.h"
#include "src/pztrace/trace_file/shown_name.h"
#include "src/pztrace/why/thread_causes.h"

namespace pztrace {

namespace {

std::string ShownTaskText(const TaskTimeline& timeline, uint32_t task) {
  return ShownName(TaskText(timeline, task));
}

// Returns why the thread of a part did not run meanwhile; empty if it did, or
// if the trace does not say it.
std::string HaltsOf(const TaskTimeline& timeline,
                    const Tracks& tracks,
                    ThreadTimes* times,
                    const ThreadNames& names,
                    const PathPart& part) {
  if (part.thread >= timeline.threads().size())
    return "";
  const uint32_t thread =
      times->ThreadOf(timeline.threads()[part.thread].track, tracks);
  if (thread == ThreadStateTable::kNone)
    return "";
  return HaltText(CausesOf(*times, names, thread, part.begin_ns, part.end_ns));
}

// Returns what a task did in a part of the path, and why.
std::string PathPartText(const TaskTimeline& timeline,
                         const Tracks& tracks,
                         ThreadTimes* times,
                         const ThreadNames& names,
                         const PathPart& part) {
  const std::string task = ShownTaskText(timeline, part.task);
  const std::string thread =
      part.thread >= timeline.threads().size()
          ? ""
          : ShownName(
                FullLabelOf(timeline.threads()[part.thread].track, tracks));
  switch (part.kind) {
    case PathPart::Kind::kRan: {
      const std::string halts = HaltsOf(timeline, tracks, times, names, part);
      return task + " ran on " + thread + (halts.empty() ? "" : "; " + halts);
    }
    case PathPart::Kind::kUnknown:
      return task + ": not known";
    case PathPart::Kind::kWaited: {
      std::string text = task + " waited for ";
      text += part.place == kNoIndex
                  ? "something that is not known"
                  : ShownName(PlaceText(timeline, part.place));
      if (part.waker != kNoIndex) {
        const uint32_t request =
            timeline.LastRequestOf(timeline.tasks()[part.waker]);
        text += "; " + ShownTaskText(timeline, part.waker);
        if (request != kNoIndex)
          text += ", request " + ShownName(timeline.texts()[request]) + ",";
        text += " woke it on " + thread;
      } else if (!thread.empty()) {
        text += "; " + thread + " woke it";
      }
      return text;
    }
    case PathPart::Kind::kReady:
      break;
  }
  std::string text = task + " could run";
  if (thread.empty())
    return text;
  text += ", but " + thread + " ran ";
  uint64_t idle_ns = part.end_ns - part.begin_ns;
  constexpr size_t kMaxOthers = 3;
  for (size_t i = 0; i < part.others.size(); ++i) {
    idle_ns -= part.others[i].ns;
    if (i < kMaxOthers) {
      text += (i == 0 ? "" : ", ") +
              ShownTaskText(timeline, part.others[i].task) + " for " +
              DurationText(part.others[i].ns);
    }
  }
  if (part.others.size() > kMaxOthers)
    text += " and " + CountOf(part.others.size() - kMaxOthers, "other");
  if (part.others.empty())
    text += "no task";
  else if (idle_ns != 0)
    text += ", and no task for " + DurationText(idle_ns);
  const std::string halts = HaltsOf(timeline, tracks, times, names, part);
  return halts.empty() ? text : text + "; " + halts;
}

}  // namespace

void PrintPath(const TaskTimeline& timeline,
               const Tracks& tracks,
               ThreadTimes* times,
               uint64_t first_ns,
               uint32_t request,
               size_t limit) {
  const ThreadNames names(*times, tracks);
  const TaskTimeline::Request& of = timeline.requests()[request];
  printf("request %s: ", ShownName(timeline.texts()[request]).c_str());
  if (of.last_task == kNoIndex)
    printf("no task has run");
  else
    printf("%s", DurationText(of.end_ns - of.begin_ns).c_str());
  printf(" from %s on, %s\n", DurationText(of.begin_ns - first_ns).c_str(),
         CountOf(of.num_tasks, "task").c_str());
  for (const PathPart& part : PathOf(timeline, request)) {
    printf("%10s %10s  %s\n", DurationText(part.begin_ns - first_ns).c_str(),
           DurationText(part.end_ns - part.begin_ns).c_str(),
           PathPartText(timeline, tracks, times, names, part).c_str());
  }
  for (const uint32_t task : UnresumedOf(timeline, request, limit)) {
    const TaskTimeline::Part& part =
        timeline.parts()[timeline.tasks()[task].last_part];
    const bool waits = part.state() == TaskTimeline::State::kWaiting;
    printf("%10s %10s  %s %s%s until the end of the trace\n",
           DurationText(part.begin_ns - first_ns).c_str(),
           DurationText(timeline.end_ns() - part.begin_ns).c_str(),
           ShownTaskText(timeline, task).c_str(),
           waits ? "waits for " : "could run",
           waits ? ShownName(PlaceText(timeline, part.other)).c_str() : "");
  }
}

}  // namespace pztrace
