// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tasks/task_summary.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pztrace {

namespace {

using State = TaskTimeline::State;

PlaceKey KeyOf(const TaskTimeline& timeline, uint32_t place) {
  if (place == kNoIndex)
    return {};
  const protozero::TaskPlace& found = timeline.places()[place];
  return {found.name, found.file, found.line};
}

// Points in time, and the sums of the times from them on.
class PointSums {
 public:
  void Add(uint64_t time_ns) { times_.push_back(time_ns); }
  // To be called after all Add().
  void Finish() {
    std::sort(times_.begin(), times_.end());
    sums_.push_back(0);
    for (const uint64_t time_ns : times_)
      sums_.push_back(sums_.back() + time_ns);
  }
  uint64_t CountBefore(uint64_t time_ns) const {
    return static_cast<uint64_t>(
        std::lower_bound(times_.begin(), times_.end(), time_ns) -
        times_.begin());
  }
  uint64_t CountUpTo(uint64_t time_ns) const {
    return static_cast<uint64_t>(
        std::upper_bound(times_.begin(), times_.end(), time_ns) -
        times_.begin());
  }
  // Returns the sum of the times from the points before |time_ns| until then,
  // modulo 2^64.
  uint64_t TimeSince(uint64_t time_ns) const {
    const uint64_t count = CountBefore(time_ns);
    return count * time_ns - sums_[count];
  }

 private:
  std::vector<uint64_t> times_;
  std::vector<uint64_t> sums_;
};

// Adds the tasks of one trace to rows.
class Summarizer {
 public:
  Summarizer(const TaskTimeline& timeline,
             const Tracks& tracks,
             uint64_t first_ns,
             std::map<PlaceKey, TaskRow>* rows)
      : timeline_(timeline),
        tracks_(tracks),
        first_ns_(first_ns),
        rows_(rows) {}

  void AddTasks() {
    for (uint32_t i = 0; i < timeline_.tasks().size(); ++i) {
      // A task without a part is only known as a parent.
      if (timeline_.tasks()[i].first_part != kNoIndex)
        AddTask(i);
    }
    for (const auto& [group_and_place, sum] : waits_) {
      groups_[group_and_place >> 32]
          .row
          ->waits_by_place[KeyOf(timeline_,
                                 static_cast<uint32_t>(group_and_place))]
          .Add(sum);
    }
    AddLongRuns();
  }

 private:
  // The tasks of one row in this trace.
  struct Group {
    TaskRow* row;
    const PlaceKey* key;
    uint32_t longest_part = kNoIndex;
    uint64_t longest_ns = 0;
  };

  uint32_t GroupOf(const TaskTimeline::Task& task, uint32_t index) {
    // Own names of tasks with a place do not matter: they may all differ.
    const uint64_t known = task.place != kNoIndex ? task.place
                           : task.name != kNoIndex
                               ? uint64_t{1} << 32 | task.name
                               : UINT64_MAX;
    const auto [entry, is_new] = group_indexes_.try_emplace(
        known, static_cast<uint32_t>(groups_.size()));
    if (is_new) {
      auto& row = *rows_->try_emplace(SpawnPlaceOf(timeline_, index)).first;
      groups_.push_back({&row.second, &row.first});
    }
    return entry->second;
  }

  void AddTask(uint32_t index) {
    const TaskTimeline::Task& task = timeline_.tasks()[index];
    const uint32_t group = GroupOf(task, index);
    TaskRow& row = *groups_[group].row;
    ++row.tasks;
    for (uint32_t i = task.first_part; i != kNoIndex;) {
      const TaskTimeline::Part& part = timeline_.parts()[i];
      AddPart(part, i, group, &row);
      i = part.next;
    }
    const TaskTimeline::Part& last = timeline_.parts()[task.last_part];
    if (last.state() == State::kRunning)
      ++row.running;
    else if (last.state() == State::kUnknown)
      ++row.unknown;
    else if (last.state() != State::kEnded)
      AddUnresumed(index, last, &row);
  }

  void AddPart(const TaskTimeline::Part& part,
               uint32_t part_index,
               uint32_t group,
               TaskRow* row) {
    const uint64_t ns = timeline_.EndOf(part) - part.begin_ns;
    const State next = part.next == kNoIndex
                           ? State::kUnknown
                           : timeline_.parts()[part.next].state();
    if (part.state() == State::kRunning) {
      row->runs.Add(ns);
      Group& of = groups_[group];
      if (of.longest_part == kNoIndex || ns > of.longest_ns) {
        of.longest_part = part_index;
        of.longest_ns = ns;
      }
    } else if (part.state() == State::kReady) {
      row->ready.Add(ns);
      if (next == State::kRunning && part.thread != TaskTimeline::kNoThread) {
        row->delay.Add(ns);
        row->delays.Add(ns);
      }
    } else if (part.state() == State::kWaiting) {
      row->waits.Add(ns);
      waits_[uint64_t{group} << 32 | part.other].Add(ns);
      if (next == State::kEnded)
        ++row->destroyed[KeyOf(timeline_, part.other)];
    } else if (part.state() == State::kUnknown) {
      row->unknown_ns += ns;
    }
  }

  void AddUnresumed(uint32_t index,
                    const TaskTimeline::Part& part,
                    TaskRow* row) {
    Unresumed& unresumed = part.state() == State::kWaiting
                               ? row->unresumed[KeyOf(timeline_, part.other)]
                               : row->not_run;
    const uint64_t ns = timeline_.end_ns() - part.begin_ns;
    if (unresumed.count++ != 0 && ns <= unresumed.ns)
      return;
    unresumed.ns = ns;
    unresumed.since_ns = part.begin_ns - first_ns_;
    unresumed.task = TaskText(timeline_, index);
    const uint32_t request = timeline_.LastRequestOf(timeline_.tasks()[index]);
    unresumed.request = request == kNoIndex ? "" : timeline_.texts()[request];
  }

  // A run whose delayed tasks are to be found.
  struct Chosen {
    uint64_t begin_ns;
    uint64_t end_ns;
    uint32_t thread;
    LongRun* run;
  };
  // The times in which tasks were ready before they ran on a thread.
  struct ReadyTimes {
    std::vector<TaskTimeline::Part> parts;
    PointSums begin_sums;
    PointSums end_sums;
  };

  // Says of the longest run of each group which tasks it has delayed.
  void AddLongRuns() {
    std::vector<Chosen> chosen = ChooseRuns();
    std::unordered_map<uint32_t, ReadyTimes> ready = ReadyTimesOf(chosen);
    for (Chosen& one : chosen)
      CountDelayed(ready[one.thread], &one);
    const size_t count = std::min(chosen.size(), LongRun::kMaxDetailedRuns);
    std::partial_sort(chosen.begin(),
                      chosen.begin() + static_cast<ptrdiff_t>(count),
                      chosen.end(), [](const Chosen& a, const Chosen& b) {
                        return a.run->delayed_ns > b.run->delayed_ns;
                      });
    chosen.resize(count);
    for (Chosen& one : chosen)
      AddDelayedPlaces(ready[one.thread], &one);
  }

  // Returns the longest runs, unless an earlier trace has longer ones.
  std::vector<Chosen> ChooseRuns() {
    std::vector<Chosen> chosen;
    for (const Group& group : groups_) {
      LongRun& longest = group.row->longest;
      if (group.longest_part == kNoIndex ||
          (!longest.task.empty() && longest.ns >= group.longest_ns)) {
        continue;
      }
      const TaskTimeline::Part& part = timeline_.parts()[group.longest_part];
      longest = {};
      longest.ns = group.longest_ns;
      longest.since_ns = part.begin_ns - first_ns_;
      longest.task = TaskText(timeline_, part.task);
      longest.thread =
          FullLabelOf(timeline_.threads()[part.thread].track, tracks_);
      if (longest.ns != 0) {
        chosen.push_back(
            {part.begin_ns, part.begin_ns + longest.ns, part.thread, &longest});
      }
    }
    return chosen;
  }

  std::unordered_map<uint32_t, ReadyTimes> ReadyTimesOf(
      const std::vector<Chosen>& chosen) {
    std::unordered_map<uint32_t, ReadyTimes> ready;
    for (const Chosen& one : chosen)
      ready.try_emplace(one.thread);
    for (const TaskTimeline::Part& part : timeline_.parts()) {
      if (part.state() != State::kReady || part.next == kNoIndex)
        continue;
      const TaskTimeline::Part& next = timeline_.parts()[part.next];
      const auto found = next.state() == State::kRunning
                             ? ready.find(next.thread)
                             : ready.end();
      if (found != ready.end())
        found->second.parts.push_back(part);
    }
    for (auto& [thread, times] : ready) {
      for (const TaskTimeline::Part& part : times.parts) {
        times.begin_sums.Add(part.begin_ns);
        times.end_sums.Add(timeline_.EndOf(part));
      }
      times.begin_sums.Finish();
      times.end_sums.Finish();
    }
    return ready;
  }

  // Counts the tasks that a run has delayed, without a look at each of them.
  static void CountDelayed(const ReadyTimes& ready, Chosen* one) {
    const PointSums& begins = ready.begin_sums;
    const PointSums& ends = ready.end_sums;
    one->run->num_delayed =
        begins.CountBefore(one->end_ns) - ends.CountUpTo(one->begin_ns);
    // The times from the beginnings until now, less those since the ends.
    const auto ready_until = [&](uint64_t time_ns) {
      return begins.TimeSince(time_ns) - ends.TimeSince(time_ns);
    };
    one->run->delayed_ns =
        ready_until(one->end_ns) - ready_until(one->begin_ns);
  }

  void AddDelayedPlaces(const ReadyTimes& ready, Chosen* one) {
    std::unordered_map<uint32_t, TimeSum> sums;
    for (const TaskTimeline::Part& part : ready.parts) {
      const uint64_t end_ns = timeline_.EndOf(part);
      if (part.begin_ns < one->end_ns && one->begin_ns < end_ns) {
        sums[GroupOf(timeline_.tasks()[part.task], part.task)].Add(
            std::min(one->end_ns, end_ns) -
            std::max(one->begin_ns, part.begin_ns));
      }
    }
    using Sum = std::pair<uint32_t, TimeSum>;
    std::vector<Sum> places(sums.begin(), sums.end());
    const size_t count = std::min(places.size(), LongRun::kMaxDelayedPlaces);
    std::partial_sort(places.begin(),
                      places.begin() + static_cast<ptrdiff_t>(count),
                      places.end(), [](const Sum& a, const Sum& b) {
                        return std::pair(b.second.total_ns, a.first) <
                               std::pair(a.second.total_ns, b.first);
                      });
    places.resize(count);
    for (const auto& [group, sum] : places)
      one->run->delayed[*groups_[group].key].Add(sum);
  }

  const TaskTimeline& timeline_;
  const Tracks& tracks_;
  const uint64_t first_ns_;
  std::map<PlaceKey, TaskRow>* const rows_;
  std::vector<Group> groups_;
  std::unordered_map<uint64_t, uint32_t> group_indexes_;
  // By the group in the upper half, and the place in the lower one.
  std::unordered_map<uint64_t, TimeSum> waits_;
};

}  // namespace

std::string PlaceText(const PlaceKey& place) {
  if (place.file.empty())
    return place.name;
  const std::string_view file = place.file;
  return place.name + " (" +
         std::string(file.substr(file.find_last_of('/') + 1)) + ":" +
         std::to_string(place.line) + ")";
}

std::string PlaceText(const TaskTimeline& timeline, uint32_t place) {
  return PlaceText(KeyOf(timeline, place));
}

PlaceKey SpawnPlaceOf(const TaskTimeline& timeline, uint32_t task) {
  const TaskTimeline::Task& found = timeline.tasks()[task];
  if (found.place == kNoIndex && found.name != kNoIndex)
    return {timeline.texts()[found.name], "", 0};
  return KeyOf(timeline, found.place);
}

std::string_view ResultText(uint8_t result) {
  constexpr std::string_view kTexts[] = {"", "done", "failed", "cancelled",
                                         "destroyed"};
  return result < std::size(kTexts) ? kTexts[result] : "";
}

std::string TaskText(const TaskTimeline& timeline, uint32_t task) {
  const TaskTimeline::Task& found = timeline.tasks()[task];
  if (found.name != kNoIndex)
    return timeline.texts()[found.name];
  return (found.place == kNoIndex ? "task"
                                  : timeline.places()[found.place].name) +
         " #" + std::to_string(found.number);
}

uint64_t TaskRow::NotEnded() const {
  uint64_t count = running + unknown + not_run.count;
  for (const auto& [place, found] : unresumed)
    count += found.count;
  return count;
}

void TaskSummary::Add(const TaskTimeline& timeline,
                      const Tracks& tracks,
                      uint64_t first_ns) {
  Summarizer(timeline, tracks, first_ns, &rows_).AddTasks();
}

}  // namespace pztrace
