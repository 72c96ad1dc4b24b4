// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/page/task_page_rows.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "src/program/text.h"
#include "src/pztrace/events/arg_encoder.h"
#include "src/pztrace/tasks/task_summary.h"

namespace pztrace {

namespace {

using Part = TaskTimeline::Part;
using State = TaskTimeline::State;

// The lines of a task, and of its states.
constexpr size_t kStateLines = 2;

// Numbers that no tracks of traces have, or hardly any.
constexpr uint64_t kFirstTrack = 0xf1ec4a5b00000000;

void AddArg(std::string_view name, std::string_view value, std::string* args) {
  ArgEncoder encoder(nullptr, args);
  encoder.Name(name);
  encoder.Add(value);
}

EventFlow TaskFlow(uint32_t task) {
  return {2 * (task + uint64_t{1}), false};
}
EventFlow WakeFlow(uint32_t part) {
  return {2 * uint64_t{part} + 1, false};
}

}  // namespace

TaskPageRows::TaskPageRows(const TaskTimeline& timeline,
                           const Tracks& tracks,
                           const TrackRows& events)
    : timeline_(timeline), tracks_(tracks) {
  FindWakes();
  FindSlices(events);
  // The packing needs them in the order of their beginnings.
  std::vector<uint32_t> by_time;
  for (uint32_t i = 0; i < timeline_.tasks().size(); ++i) {
    if (timeline_.tasks()[i].first_part != kNoIndex)
      by_time.push_back(i);
  }
  const auto begin_of = [&](uint32_t task) {
    return timeline_.parts()[timeline_.tasks()[task].first_part].begin_ns;
  };
  std::stable_sort(by_time.begin(), by_time.end(), [&](uint32_t a, uint32_t b) {
    return begin_of(a) < begin_of(b);
  });
  for (const uint32_t task : by_time) {
    AddTask(task, &groups_[timeline_.tasks()[task].process]
                          [PlaceText(SpawnPlaceOf(timeline_, task))]);
  }
}

uint32_t TaskPageRows::RunAt(const TaskTimeline::Thread& thread,
                             uint64_t time_ns) const {
  const auto after =
      std::upper_bound(thread.runs.begin(), thread.runs.end(), time_ns,
                       [&](uint64_t time, uint32_t run) {
                         return time < timeline_.parts()[run].begin_ns;
                       });
  return after != thread.runs.begin() ? *(after - 1) : kNoIndex;
}

void TaskPageRows::FindWakes() {
  for (uint32_t i = 0; i < timeline_.parts().size(); ++i) {
    const Part& ready = timeline_.parts()[i];
    if (ready.state() != State::kReady || ready.other == kNoIndex ||
        ready.thread == TaskTimeline::kNoThread) {
      continue;
    }
    // The run of the waker is the last one of its thread by then.
    const uint32_t run =
        RunAt(timeline_.threads()[ready.thread], ready.begin_ns);
    if (run != kNoIndex)
      wakes_.emplace(run, i);
  }
}

void TaskPageRows::FindSlices(const TrackRows& events) {
  for (const TaskTimeline::Thread& thread : timeline_.threads()) {
    const TrackEvents* const of_thread = events.Find(thread.track);
    if (of_thread == nullptr)
      continue;
    for (const std::vector<RowSlice>& line : of_thread->slices) {
      for (const RowSlice& slice : line) {
        const uint32_t run = RunAt(thread, slice.begin_ns);
        if (run == kNoIndex)
          continue;
        const Part& part = timeline_.parts()[run];
        // A task may begin to wait when it begins a slice.
        if (slice.begin_ns <= timeline_.EndOf(part))
          slices_[part.task].push_back(&slice);
      }
    }
  }
}

RowSlice TaskPageRows::SliceOf(uint64_t begin_ns,
                               uint64_t end_ns,
                               bool is_open) const {
  RowSlice slice = {};
  slice.begin_ns = begin_ns;
  slice.duration_ns = end_ns - begin_ns;
  slice.self_ns = slice.duration_ns;
  slice.is_open = is_open;
  return slice;
}

const EventText* TaskPageRows::TextOf(const std::string& name) {
  const auto [place, is_new] = texts_.try_emplace(name);
  // An EventText refers to its strings.
  if (is_new)
    place->second =
        std::make_unique<EventText>(EventText{category_, place->first});
  return place->second.get();
}

std::string TaskPageRows::NameOfFlow(uint64_t id) {
  return (id % 2 == 0 ? "task " : "wake ") + std::to_string(id / 2);
}

const EventDetails* TaskPageRows::DetailsOf(std::string args,
                                            std::vector<EventFlow> flows) {
  details_.push_back({std::move(args), std::move(flows)});
  return &details_.back();
}

std::string TaskPageRows::ArgsOfPart(const Part& part) const {
  std::string args;
  const auto thread = [&] {
    return FullLabelOf(timeline_.threads()[part.thread].track, tracks_);
  };
  if (part.state() == State::kRunning) {
    AddArg("thread", thread(), &args);
  } else if (part.state() == State::kReady && part.other != kNoIndex) {
    AddArg("because of", TaskText(timeline_, part.other), &args);
    if (part.thread != TaskTimeline::kNoThread)
      AddArg("on thread", thread(), &args);
  }
  return args;
}

void TaskPageRows::AddTask(uint32_t number, Group* group) {
  const TaskTimeline::Task& task = timeline_.tasks()[number];
  const auto& parts = timeline_.parts();
  const uint64_t begin_ns = parts[task.first_part].begin_ns;
  const Part& last = parts[task.last_part];
  const bool has_ended = last.state() == State::kEnded;
  const uint64_t end_ns = has_ended ? last.begin_ns : timeline_.end_ns();

  // A task of no length shares no moment with the next one.
  const auto found =
      std::find_if(group->lines.begin(), group->lines.end(),
                   [&](const Line& line) { return line.end_ns <= begin_ns; });
  if (found == group->lines.end() && group->lines.size() == kMaxLines) {
    ++group->num_left_out;
    return;
  }
  Line& free =
      found != group->lines.end() ? *found : group->lines.emplace_back();
  free.end_ns = end_ns;
  auto& slices = free.events.slices;
  slices.resize(std::max(slices.size(), kStateLines));

  std::string args;
  if (task.parent != kNoIndex)
    AddArg("parent", TaskText(timeline_, task.parent), &args);
  const uint32_t request = timeline_.LastRequestOf(task);
  if (request != kNoIndex)
    AddArg("request", timeline_.texts()[request], &args);
  if (has_ended)
    AddArg("result", ResultText(task.result), &args);
  RowSlice whole = SliceOf(begin_ns, end_ns, !has_ended);
  whole.self_ns = 0;
  whole.text = TextOf(TaskText(timeline_, number));
  whole.details = DetailsOf(std::move(args), {});
  slices[0].push_back(whole);

  for (uint32_t i = task.first_part; i != kNoIndex; i = parts[i].next) {
    const Part& part = parts[i];
    if (part.state() == State::kEnded)
      break;
    RowSlice slice = SliceOf(part.begin_ns, timeline_.EndOf(part),
                             !has_ended && part.next == kNoIndex);
    std::vector<EventFlow> flows;
    switch (part.state()) {
      case State::kRunning: {
        slice.text = TextOf("running");
        flows.push_back(TaskFlow(number));
        const auto [first, end] = wakes_.equal_range(i);
        for (auto it = first; it != end; ++it)
          flows.push_back(WakeFlow(it->second));
        break;
      }
      case State::kReady:
        slice.text = TextOf("ready");
        if (part.other != kNoIndex)
          flows.push_back(WakeFlow(i));
        break;
      case State::kWaiting:
        slice.text = TextOf(part.other != kNoIndex
                                ? "waits: " + PlaceText(timeline_, part.other)
                                : std::string("waits"));
        break;
      case State::kUnknown:
      case State::kEnded:
        slice.text = TextOf("not known");
        break;
    }
    slice.details = DetailsOf(ArgsOfPart(part), std::move(flows));
    slice.is_state = true;
    slices[1].push_back(slice);
  }
  AddSlices(number, &free);
}

void TaskPageRows::AddSlices(uint32_t task, Line* line) {
  const auto found = slices_.find(task);
  if (found == slices_.end())
    return;
  std::vector<const RowSlice*>& slices = found->second;
  std::stable_sort(
      slices.begin(), slices.end(), [](const RowSlice* a, const RowSlice* b) {
        return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns
                                          : a->duration_ns > b->duration_ns;
      });
  auto& lines = line->events.slices;
  for (const RowSlice* const slice : slices) {
    const size_t index =
        kStateLines +
        line->slices.LineFor(slice->begin_ns,
                             slice->begin_ns + slice->duration_ns);
    if (index == lines.size())
      lines.emplace_back();
    lines[index].push_back(*slice);
  }
}

size_t TaskPageRows::LinePacker::LineFor(uint64_t begin_ns, uint64_t end_ns) {
  for (; !used_.empty() && used_.top().first <= begin_ns; used_.pop())
    free_.push(used_.top().second);
  size_t line = num_lines_;
  if (free_.empty()) {
    ++num_lines_;
  } else {
    line = free_.top();
    free_.pop();
  }
  used_.emplace(end_ns, line);
  return line;
}

void TaskPageRows::AppendTo(std::vector<TrackRow>* rows) const {
  uint64_t track = kFirstTrack;
  for (const auto& [process, groups] : groups_) {
    const TrackInfo info = InfoOf(timeline_.processes()[process], tracks_);
    rows->push_back({++track, 0, nullptr, TrackRow::Kind::kTasks,
                     "tasks of " + LabelOf(info)});
    for (const auto& [place, group] : groups) {
      ++track;
      std::string label = place;
      if (group.num_left_out != 0) {
        label += ", without " + program::CountOf(group.num_left_out, "task") +
                 " at the same time as others";
      }
      for (const Line& line : group.lines) {
        rows->push_back(
            {track, 1, &line.events, TrackRow::Kind::kTasks, label});
      }
    }
  }
}

}  // namespace pztrace
