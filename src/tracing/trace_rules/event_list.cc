// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_rules/event_list.h"

#include <algorithm>
#include <optional>

#include "src/tracing/trace_rules/rule_text.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

MaxTree::MaxTree(const std::vector<size_t>& values)
    : num_values_(values.size()) {
  while (num_leaves_ < num_values_)
    num_leaves_ *= 2;
  nodes_.resize(2 * num_leaves_);
  std::copy(values.begin(), values.end(),
            nodes_.begin() + static_cast<ptrdiff_t>(num_leaves_));
  for (size_t i = num_leaves_ - 1; i != 0; --i)
    nodes_[i] = std::max(nodes_[2 * i], nodes_[2 * i + 1]);
}

size_t MaxTree::FirstAbove(size_t begin, size_t limit) const {
  if (begin >= num_values_)
    return num_values_;
  // Goes to the right, to the largest ranges that begin there. The root's
  // parent would be 0.
  size_t node = num_leaves_ + begin;
  while (nodes_[node] <= limit) {
    while (node % 2 == 1)
      node /= 2;
    if (node == 0)
      return num_values_;
    ++node;
  }
  while (node < num_leaves_)
    node = nodes_[2 * node] > limit ? 2 * node : 2 * node + 1;
  return node - num_leaves_;
}

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
    if (info && info->is_thread)
      return options_.wants_thread(*info);
  }
  return true;
}

uint32_t EventList::TrackFor(const TraceReader& reader, uint64_t number) {
  const auto [found, is_new] =
      track_ids_.emplace(number, static_cast<uint32_t>(tracks_.size()));
  if (is_new)
    tracks_.push_back({number, IsWanted(reader, number)});
  return found->second;
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
  Add(reader, slice.track, slice.text,
      {slice.begin_ns, slice.duration_ns, kNoText,
       static_cast<uint32_t>(slice.number), 0, kind});
}

void EventList::AddInstant(const TraceReader& reader, const Instant& instant) {
  Add(reader, instant.track, instant.text,
      {instant.time_ns, 0, kNoText, 0, 0, ListedEvent::Kind::kInstant});
}

void EventList::Add(const TraceReader& reader,
                    uint64_t track,
                    const EventText* text,
                    ListedEvent event) {
  event.track = TrackFor(reader, track);
  if (tracks_[event.track].is_wanted)
    event.text = TextFor(text);
  if (event.text != kNoText)
    events_.push_back(event);
}

ListedTask& EventList::TaskFor(const TaskStep& step, uint64_t task) {
  ListedTask& listed = tasks_[{step.process, task}];
  listed.first_ns = std::min(listed.first_ns, step.time_ns);
  return listed;
}

void EventList::AddStep(const TraceReader& reader, const TaskStep& step) {
  if (!tracks_[TrackFor(reader, step.thread)].is_wanted)
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
  const auto is_less = [](const ListedEvent& a, const ListedEvent& b) {
    if (a.track != b.track)
      return a.track < b.track;
    if (a.begin_ns != b.begin_ns)
      return a.begin_ns < b.begin_ns;
    const bool is_instant_a = a.kind == ListedEvent::Kind::kInstant;
    const bool is_instant_b = b.kind == ListedEvent::Kind::kInstant;
    if (is_instant_a || is_instant_b)
      return is_instant_a < is_instant_b;
    // Numbers of slices that begin at one time are less than 2^31 apart.
    return static_cast<int32_t>(a.num_inside - b.num_inside) < 0;
  };
  const std::vector<size_t> added = SortInOrder(&events_, is_less);
  // The later slices still have their numbers, which are of no use anymore.
  const MaxTree maxima(added);
  for (size_t i = 0; i < events_.size(); ++i)
    events_[i].num_inside = CountInside(i, added, maxima);
}

uint32_t EventList::CountInside(size_t index,
                                const std::vector<size_t>& added,
                                const MaxTree& maxima) const {
  const ListedEvent& slice = events_[index];
  if (slice.kind == ListedEvent::Kind::kInstant)
    return 0;
  const auto begin = events_.begin() + static_cast<ptrdiff_t>(index) + 1;
  const auto is_before_end = [&slice](const ListedEvent& event) {
    return event.track == slice.track &&
           (slice.kind == ListedEvent::Kind::kUnfinished ||
            event.begin_ns < slice.end_ns());
  };
  auto end = std::partition_point(begin, events_.end(), is_before_end);
  // Slices that begin at the time at which this one ends are inside if they
  // have ended before it, up to the first one that has not. Instants at that
  // time, which come after them, are inside if it takes no time.
  const auto is_at_end = [&slice](const ListedEvent& event) {
    return event.track == slice.track && event.begin_ns == slice.end_ns();
  };
  const auto instants =
      std::partition_point(end, events_.end(), [&](const ListedEvent& event) {
        return is_at_end(event) && event.kind != ListedEvent::Kind::kInstant;
      });
  const size_t first_after = maxima.FirstAbove(
      static_cast<size_t>(end - events_.begin()), added[index]);
  end =
      std::min(instants, events_.begin() + static_cast<ptrdiff_t>(first_after));
  if (end == instants && slice.duration_ns == 0)
    end = std::partition_point(end, events_.end(), is_at_end);
  return static_cast<uint32_t>(end - begin);
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
