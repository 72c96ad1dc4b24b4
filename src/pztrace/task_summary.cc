// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/task_summary.h"

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

  // Says of the longest run of each group which tasks it has delayed.
  void AddLongRuns() {
    struct Chosen {
      uint64_t begin_ns;
      uint64_t end_ns;
      LongRun* run;
    };
    std::unordered_map<uint32_t, std::vector<Chosen>> by_thread;
    for (const Group& group : groups_) {
      LongRun& longest = group.row->longest;
      if (group.longest_part == kNoIndex ||
          (!longest.task.empty() && longest.ns >= group.longest_ns)) {
        continue;
      }
      const TaskTimeline::Part& part = timeline_.parts()[group.longest_part];
      longest = {
          group.longest_ns,
          part.begin_ns - first_ns_,
          TaskText(timeline_, part.task),
          LabelOf(InfoOf(timeline_.threads()[part.thread].track, tracks_)),
          {}};
      by_thread[part.thread].push_back(
          {part.begin_ns, part.begin_ns + group.longest_ns, &longest});
    }
    for (auto& [thread, chosen] : by_thread) {
      std::sort(chosen.begin(), chosen.end(),
                [](const Chosen& a, const Chosen& b) {
                  return a.begin_ns < b.begin_ns;
                });
    }
    for (const TaskTimeline::Part& part : timeline_.parts()) {
      if (part.state() != State::kReady || part.next == kNoIndex)
        continue;
      const TaskTimeline::Part& next = timeline_.parts()[part.next];
      const auto found = next.state() == State::kRunning
                             ? by_thread.find(next.thread)
                             : by_thread.end();
      if (found == by_thread.end())
        continue;
      // The runs of a thread do not overlap, so their ends are in order, too.
      const auto& chosen = found->second;
      auto run = std::upper_bound(chosen.begin(), chosen.end(), part.begin_ns,
                                  [](uint64_t begin_ns, const Chosen& c) {
                                    return begin_ns < c.end_ns;
                                  });
      for (; run != chosen.end() && run->begin_ns < next.begin_ns; ++run) {
        const uint32_t group = GroupOf(timeline_.tasks()[part.task], part.task);
        run->run->delayed[*groups_[group].key].Add(
            std::min(run->end_ns, next.begin_ns) -
            std::max(run->begin_ns, part.begin_ns));
      }
    }
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
