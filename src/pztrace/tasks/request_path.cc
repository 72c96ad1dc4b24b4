// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tasks/request_path.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace pztrace {

namespace {

using Part = TaskTimeline::Part;
using State = TaskTimeline::State;

// Walks back in time.
class PathWalk {
 public:
  PathWalk(const TaskTimeline& timeline, uint32_t request)
      : timeline_(timeline),
        request_(request),
        begin_ns_(timeline.requests()[request].begin_ns),
        now_ns_(timeline.requests()[request].end_ns),
        task_(timeline.requests()[request].last_task) {}

  std::vector<PathPart> Walk() {
    GoTo(task_);
    while (now_ns_ > begin_ns_ && next_ != 0 && WorksOn(task_, now_ns_)) {
      --next_;
      GoBackOver(timeline_.parts()[HistoryOf(task_).parts[next_]]);
    }
    if (now_ns_ > begin_ns_)
      Add(PathPart::Kind::kUnknown, begin_ns_);
    std::reverse(path_.begin(), path_.end());
    return std::move(path_);
  }

 private:
  // The parts and the request changes of a task, by time.
  struct History {
    std::vector<uint32_t> parts;
    std::vector<uint32_t> changes;
  };

  const History& HistoryOf(uint32_t task) {
    const auto [entry, is_new] = histories_.try_emplace(task);
    History& history = entry->second;
    if (!is_new)
      return history;
    const TaskTimeline::Task& of = timeline_.tasks()[task];
    for (uint32_t i = of.first_part; i != kNoIndex;
         i = timeline_.parts()[i].next)
      history.parts.push_back(i);
    for (uint32_t i = of.request_change; i != kNoIndex;
         i = timeline_.request_changes()[i].previous) {
      history.changes.push_back(i);
    }
    std::reverse(history.changes.begin(), history.changes.end());
    return history;
  }

  // Returns whether the task works on the request just before |time_ns|.
  bool WorksOn(uint32_t task, uint64_t time_ns) {
    const std::vector<uint32_t>& changes = HistoryOf(task).changes;
    const auto after = std::lower_bound(
        changes.begin(), changes.end(), time_ns,
        [this](uint32_t change, uint64_t time) {
          return timeline_.request_changes()[change].time_ns < time;
        });
    return after != changes.begin() &&
           timeline_.request_changes()[*(after - 1)].request == request_;
  }

  // Goes on with the parts of |task| that begin before now.
  void GoTo(uint32_t task) {
    task_ = task;
    const std::vector<uint32_t>& parts = HistoryOf(task).parts;
    next_ = static_cast<size_t>(
        std::lower_bound(parts.begin(), parts.end(), now_ns_,
                         [this](uint32_t part, uint64_t time_ns) {
                           return timeline_.parts()[part].begin_ns < time_ns;
                         }) -
        parts.begin());
  }

  // Returns null if it would take no time.
  PathPart* Add(PathPart::Kind kind, uint64_t begin_ns) {
    begin_ns = std::max(begin_ns, begin_ns_);
    if (begin_ns >= now_ns_)
      return nullptr;
    path_.push_back({kind, begin_ns, now_ns_, task_});
    now_ns_ = begin_ns;
    return &path_.back();
  }

  void GoBackOver(const Part& part) {
    const Part* const next =
        part.next == kNoIndex ? nullptr : &timeline_.parts()[part.next];
    if (part.state() == State::kRunning) {
      if (PathPart* const ran = Add(PathPart::Kind::kRan, part.begin_ns))
        ran->thread = part.thread;
    } else if (part.state() == State::kReady) {
      PathPart* const ready = Add(PathPart::Kind::kReady, part.begin_ns);
      if (ready != nullptr && next != nullptr &&
          next->state() == State::kRunning) {
        ready->thread = next->thread;
        AddOthers(ready);
      }
      // The task that has spawned or woken it, unless it was itself.
      if (part.other != kNoIndex && part.other != task_ &&
          WorksOn(part.other, now_ns_)) {
        GoTo(part.other);
      }
    } else if (part.state() == State::kWaiting) {
      PathPart* const waited = Add(PathPart::Kind::kWaited, part.begin_ns);
      if (waited == nullptr)
        return;
      waited->place = part.other;
      if (next != nullptr && next->state() == State::kReady) {
        waited->waker = next->other;
        waited->thread = next->thread;
      }
    } else {
      Add(PathPart::Kind::kUnknown, part.begin_ns);
    }
  }

  // Adds what the thread ran in the time of |ready|.
  void AddOthers(PathPart* ready) const {
    const std::vector<uint32_t>& runs = timeline_.threads()[ready->thread].runs;
    auto run =
        std::upper_bound(runs.begin(), runs.end(), ready->begin_ns,
                         [this](uint64_t time_ns, uint32_t part) {
                           return time_ns < timeline_.parts()[part].begin_ns;
                         });
    if (run != runs.begin())
      --run;
    std::unordered_map<uint32_t, uint64_t> sums;
    for (; run != runs.end(); ++run) {
      const Part& part = timeline_.parts()[*run];
      if (part.begin_ns >= ready->end_ns)
        break;
      const uint64_t begin_ns = std::max(part.begin_ns, ready->begin_ns);
      const uint64_t end_ns = std::min(timeline_.EndOf(part), ready->end_ns);
      if (end_ns > begin_ns)
        sums[part.task] += end_ns - begin_ns;
    }
    for (const auto& [task, ns] : sums)
      ready->others.push_back({task, ns});
    std::sort(ready->others.begin(), ready->others.end(),
              [](const PathPart::Other& a, const PathPart::Other& b) {
                return std::pair(b.ns, a.task) < std::pair(a.ns, b.task);
              });
  }

  const TaskTimeline& timeline_;
  const uint32_t request_;
  const uint64_t begin_ns_;
  uint64_t now_ns_;
  uint32_t task_;
  size_t next_ = 0;  // The number of the task's parts that are left.
  std::unordered_map<uint32_t, History> histories_;
  std::vector<PathPart> path_;
};

}  // namespace

std::vector<PathPart> PathOf(const TaskTimeline& timeline, uint32_t request) {
  if (timeline.requests()[request].last_task == kNoIndex)
    return {};
  return PathWalk(timeline, request).Walk();
}

std::vector<uint32_t> UnresumedOf(const TaskTimeline& timeline,
                                  uint32_t request,
                                  size_t limit) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < timeline.tasks().size() && found.size() < limit;
       ++i) {
    const TaskTimeline::Task& task = timeline.tasks()[i];
    if (task.last_part == kNoIndex || timeline.LastRequestOf(task) != request)
      continue;
    const State state = timeline.parts()[task.last_part].state();
    if (state == State::kWaiting || state == State::kReady)
      found.push_back(i);
  }
  return found;
}

}  // namespace pztrace
