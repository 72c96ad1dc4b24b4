// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tasks/open_events.h"

#include <stddef.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "src/pztrace/events/track_info.h"
#include "src/pztrace/tasks/task_summary.h"
#include "src/pztrace/trace_file/completeness.h"
#include "src/pztrace/trace_file/shown_name.h"

namespace pztrace {

namespace {

// The most lines of each kind.
constexpr size_t kMaxOpenLines = 20;

// Adds a list of |count|, of which |list| has the first ones.
void AddLimited(std::string heading,
                const std::vector<std::string>& list,
                size_t count,
                std::vector<std::string>* lines) {
  if (count == 0)
    return;
  lines->push_back(std::move(heading));
  for (const std::string& line : list)
    lines->push_back("  " + line);
  if (count > list.size())
    lines->push_back("  and " + std::to_string(count - list.size()) + " more");
}

}  // namespace

TimelineReader::Callbacks OpenEvents::MakeCallbacks() {
  TimelineReader::Callbacks callbacks;
  callbacks.on_unfinished = [this](const Slice& slice) {
    slices_.push_back({slice.track, slice.begin_ns, slice.text});
  };
  callbacks.on_task_step = [this](const TaskStep& step) { tasks_.Add(step); };
  return callbacks;
}

std::vector<std::string> OpenEvents::Finish() {
  reader_.Finish();
  tasks_.Finish(reader_.end_ns());
  std::vector<std::string> lines;
  AddSlices(&lines);
  AddTasks(&lines);
  return lines;
}

void OpenEvents::AddSlices(std::vector<std::string>* lines) {
  std::stable_sort(slices_.begin(), slices_.end(),
                   [](const OpenSlice& a, const OpenSlice& b) {
                     return std::tie(a.track, a.begin_ns) <
                            std::tie(b.track, b.begin_ns);
                   });
  // A line for each track: its slices from the outermost one.
  std::vector<std::string> tracks;
  size_t num_tracks = 0;
  for (size_t i = 0; i < slices_.size(); ++i) {
    const OpenSlice& slice = slices_[i];
    const bool is_first = i == 0 || slice.track != slices_[i - 1].track;
    num_tracks += is_first;
    if (num_tracks > kMaxOpenLines)
      continue;
    if (is_first) {
      tracks.push_back(Escaped(FullLabelOf(slice.track, reader_.tracks())) +
                       ": ");
    } else {
      tracks.back() += " > ";
    }
    tracks.back() += ShownName(slice.text->name);
  }
  AddLimited(CountOf(slices_.size(), "slice") + " had not ended:", tracks,
             num_tracks, lines);
}

void OpenEvents::AddTasks(std::vector<std::string>* lines) {
  using State = TaskTimeline::State;
  std::vector<std::string> open;
  size_t num_open = 0;
  for (uint32_t i = 0; i < tasks_.tasks().size(); ++i) {
    const TaskTimeline::Task& task = tasks_.tasks()[i];
    if (task.last_part == kNoIndex)
      continue;
    const TaskTimeline::Part& part = tasks_.parts()[task.last_part];
    num_open += part.state() != State::kEnded;
    if (num_open > kMaxOpenLines)
      continue;
    std::string state;
    switch (part.state()) {
      case State::kEnded:
        continue;
      case State::kUnknown:
        break;
      case State::kReady:
        state = ", ready";
        break;
      case State::kRunning: {
        const uint64_t track = tasks_.threads()[part.thread].track;
        state = ", running on " + FullLabelOf(track, reader_.tracks());
        break;
      }
      case State::kWaiting:
        state = ", waiting";
        if (part.other != kNoIndex)
          state += " at " + PlaceText(tasks_, part.other);
        break;
    }
    open.push_back(ShownName(TaskText(tasks_, i)) + Escaped(state));
  }
  AddLimited(CountOf(num_open, "task") + " had not ended:", open, num_open,
             lines);
}

}  // namespace pztrace
