// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_rules/event_list.h"

#include <algorithm>
#include <optional>

#include "src/tracing/trace_rules/rule_text.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

EventList::EventList(TraceEvents::Options options)
    : options_(std::move(options)) {
  for (const TraceRule& rule : options_.rules) {
    names_.insert(rule.name);
    if (rule.outer)
      names_.insert(*rule.outer);
  }
}

bool EventList::IsWanted(const TraceReader& reader, uint64_t track) const {
  if (!options_.wants_thread)
    return true;
  for (const uint64_t outer : reader.tracks().PathTo(track)) {
    const std::optional<TrackInfo> info = reader.tracks().Find(outer);
    if (info && info->tid != 0)
      return options_.wants_thread(*info);
  }
  return true;
}

EventList::ListedTrack& EventList::TrackFor(const TraceReader& reader,
                                            uint64_t number) {
  const auto [found, is_new] =
      track_ids_.emplace(number, static_cast<uint32_t>(tracks_.size()));
  if (is_new)
    tracks_.push_back({number, IsWanted(reader, number), {}});
  return tracks_[found->second];
}

uint32_t EventList::TextFor(const EventText* text) {
  const auto [found, is_new] = text_ids_.emplace(text, kNoText);
  if (is_new && (names_.empty() || names_.count(text->name) != 0)) {
    found->second = static_cast<uint32_t>(texts_.size());
    texts_.push_back(text);
  }
  return found->second;
}

void EventList::AddSlice(const TraceReader& reader,
                         const Slice& slice,
                         ListedEvent::Kind kind) {
  ListedTrack& track = TrackFor(reader, slice.track);
  if (!track.is_wanted)
    return;
  // The groups of deeper slices are inside this one, even if it is not listed:
  // then it takes their place, for slices that contain it.
  uint32_t num_inside = 0;
  std::vector<Group>& groups = track.groups;
  while (!groups.empty() && groups.back().depth > slice.depth) {
    num_inside += groups.back().count;
    groups.pop_back();
  }
  const uint32_t text = TextFor(slice.text);
  const uint32_t count = num_inside + (text != kNoText ? 1 : 0);
  if (!groups.empty() && groups.back().depth == slice.depth)
    groups.back().count += count;
  else if (count != 0)
    groups.push_back({slice.depth, count});
  if (text == kNoText)
    return;
  events_.push_back({slice.begin_ns, slice.duration_ns, text, num_inside,
                     track_ids_[slice.track], kind});
}

void EventList::AddInstant(const TraceReader& reader, const Instant& instant) {
  ListedTrack& track = TrackFor(reader, instant.track);
  const uint32_t text = track.is_wanted ? TextFor(instant.text) : kNoText;
  if (text == kNoText)
    return;
  instants_.push_back({instant.time_ns, 0, text, 0, track_ids_[instant.track],
                       ListedEvent::Kind::kInstant});
}

ListedTask& EventList::TaskFor(const TaskStep& step, uint64_t task) {
  ListedTask& listed = tasks_[{step.process, task}];
  listed.first_ns = std::min(listed.first_ns, step.time_ns);
  return listed;
}

void EventList::AddStep(const TraceReader& reader, const TaskStep& step) {
  if (!TrackFor(reader, step.thread).is_wanted)
    return;
  uint64_t& running = running_[step.thread];
  if (step.kind == TaskStep::Kind::kLoss) {
    running = 0;
  } else if (step.kind == TaskStep::Kind::kSwitch) {
    if (running != 0 && step.stop == TaskStep::Stop::kEnds)
      TaskFor(step, running).has_ended = true;
    running = step.task;
  } else if (step.kind == TaskStep::Kind::kEnd) {
    TaskFor(step, step.task).has_ended = true;
  }
  if (step.task == 0 || (step.kind != TaskStep::Kind::kSpawn &&
                         step.kind != TaskStep::Kind::kSwitch)) {
    return;
  }
  ListedTask& task = TaskFor(step, step.task);
  if (step.kind == TaskStep::Kind::kSpawn && !step.text.empty())
    task.text = RuleName(step.text);
  else if (task.text.empty() && step.spawned_at != nullptr)
    task.text = RuleName(step.spawned_at->name);
}

void EventList::Sort() {
  SortInOrder(&events_, [](const ListedEvent& a, const ListedEvent& b) {
    return a.track < b.track;
  });
  SortInOrder(&instants_, [](const ListedEvent& a, const ListedEvent& b) {
    return a.track != b.track ? a.track < b.track : a.begin_ns < b.begin_ns;
  });
  if (!instants_.empty())
    MergeInstants();
}

void EventList::MergeInstants() {
  std::vector<ListedEvent> merged;
  merged.reserve(events_.size() + instants_.size());
  // The indices in |merged| at which the insides of slices begin, by the index
  // of the first slice inside, or of the slice itself. So an instant is passed
  // once, even if many slices contain it.
  std::vector<size_t> begins(events_.size());
  auto instant = instants_.begin();
  for (size_t i = 0; i < events_.size(); ++i) {
    ListedEvent slice = events_[i];
    while (instant != instants_.end() &&
           (instant->track < slice.track ||
            (instant->track == slice.track &&
             instant->begin_ns <= slice.end_ns()))) {
      merged.push_back(*instant++);
    }
    if (slice.num_inside == 0)
      begins[i] = merged.size();
    size_t& begin = begins[i - slice.num_inside];
    while (begin > 0 && merged[begin - 1].track == slice.track &&
           merged[begin - 1].kind == ListedEvent::Kind::kInstant &&
           merged[begin - 1].begin_ns >= slice.begin_ns) {
      --begin;
    }
    slice.num_inside = static_cast<uint32_t>(merged.size() - begin);
    merged.push_back(slice);
  }
  merged.insert(merged.end(), instant, instants_.end());
  events_ = std::move(merged);
  instants_ = {};
}

std::vector<bool> EventList::TextsNamed(std::string_view name) const {
  std::vector<bool> is_named(texts_.size());
  for (size_t i = 0; i < texts_.size(); ++i)
    is_named[i] = texts_[i]->name == name;
  return is_named;
}

std::string EventList::NamesText() const {
  constexpr size_t kMaxNames = 10;
  std::set<std::string_view> names;
  std::string text;
  for (const EventText* listed : texts_) {
    if (!names.insert(listed->name).second)
      continue;
    if (names.size() > kMaxNames)
      return text + " and others";
    text += (text.empty() ? "; it has " : ", ") + RuleName(listed->name);
  }
  return text;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
