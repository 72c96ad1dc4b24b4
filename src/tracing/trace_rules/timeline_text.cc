// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_rules/timeline_text.h"

#include <stdio.h>

#include <algorithm>
#include <optional>

#include "src/tracing/trace_rules/rule_text.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

std::string TimelineText::TimeText(uint64_t time_ns) const {
  const uint64_t first_ns = std::min(reader_.first_ns(), time_ns);
  return PlainNumber("%.3f", static_cast<double>(time_ns - first_ns) / 1e6) +
         " ms";
}

std::string TimelineText::DurationText(uint64_t ns) {
  constexpr struct {
    double ns;
    const char* name;
  } kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  for (const auto& unit : kUnits) {
    const double value = static_cast<double>(ns) / unit.ns;
    if (value >= 1)
      return PlainNumber("%.3f", value) + " " + unit.name;
  }
  return std::to_string(ns) + " ns";
}

void TimelineText::AppendTrack(const ListedEvent& event,
                               std::string* text) const {
  std::string path;
  for (const uint64_t track : reader_.tracks().PathTo(list_.TrackOf(event))) {
    const std::optional<TrackInfo> info = reader_.tracks().Find(track);
    if (!info)
      continue;
    path += path.empty() ? "" : ", ";
    if (info->is_thread) {
      path += "thread " + std::to_string(info->tid);
    } else if (info->pid != 0) {
      path += "process " + std::to_string(info->pid);
    } else {
      path += "track";
    }
    if (!info->name.empty())
      path += " " + RuleName(info->name);
  }
  *text += "  " + (path.empty() ? "a track without a description" : path);
  *text += ":\n";
}

void TimelineText::AppendEvent(const ListedEvent& event,
                               size_t depth,
                               bool is_marked,
                               std::string* text) const {
  std::string duration = DurationText(event.duration_ns);
  if (event.kind == ListedEvent::Kind::kInstant)
    duration = "instant";
  else if (event.kind == ListedEvent::Kind::kUnfinished)
    duration = "no end";
  char columns[96];
  snprintf(columns, sizeof(columns), "  %14s %12s  ",
           TimeText(event.begin_ns).c_str(), duration.c_str());
  *text += columns + std::string(2 * std::min(depth, kMaxLines), ' ') +
           RuleName(list_.NameOf(event)) + (is_marked ? "  <--\n" : "\n");
}

void TimelineText::AppendInOrder(const std::vector<size_t>& indices,
                                 const std::vector<bool>& is_marked,
                                 std::string* text) const {
  std::vector<size_t> open;
  for (const size_t index : indices) {
    const ListedEvent& event = events_[index];
    const auto has_ended = [&](size_t outer) {
      return outer + events_[outer].num_inside < index;
    };
    open.erase(std::remove_if(open.begin(), open.end(), has_ended), open.end());
    AppendEvent(event, open.size(), is_marked[event.text], text);
    open.push_back(index);
  }
}

void TimelineText::AppendInside(size_t index,
                                const std::vector<bool>& is_marked,
                                std::string* text) const {
  const ListedEvent& outer = events_[index];
  const bool has_all = outer.num_inside < kMaxLines;
  std::vector<size_t> indices = {index};
  for (size_t i = index + 1;
       i <= index + outer.num_inside && indices.size() < kMaxLines; ++i) {
    if (has_all || is_marked[events_[i].text])
      indices.push_back(i);
  }
  const size_t num_left_out = outer.num_inside + 1 - indices.size();
  AppendTrack(outer, text);
  AppendInOrder(indices, is_marked, text);
  if (num_left_out != 0)
    *text += "  ... and " + std::to_string(num_left_out) + " more inside\n";
}

void TimelineText::AppendList(const std::vector<size_t>& indices,
                              std::string* text) const {
  for (size_t i = 0; i < std::min(indices.size(), kMaxLines); ++i) {
    const ListedEvent& event = events_[indices[i]];
    if (i == 0 || event.track != events_[indices[i - 1]].track)
      AppendTrack(event, text);
    AppendEvent(event, 0, false, text);
  }
  if (indices.size() > kMaxLines) {
    *text +=
        "  ... and " + std::to_string(indices.size() - kMaxLines) + " more\n";
  }
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
