// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/track_rows.h"

#include <stddef.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "src/pztrace/events/shared_rows.h"

namespace pztrace {

namespace {

using Lines = std::vector<std::vector<RowSlice>>;

void AddToLine(const RowSlice& slice, Lines* lines) {
  if (lines->size() <= slice.depth)
    lines->resize(size_t{slice.depth} + 1);
  (*lines)[slice.depth].push_back(slice);
}

// Returns the order among siblings: processes and threads have that of their
// ids, and processes that share one that of the trace.
int64_t OrderOf(const std::optional<TrackInfo>& info) {
  if (!info)
    return 0;
  if (info->is_thread)
    return info->tid;
  constexpr uint32_t kShared = uint32_t{1} << 20;
  return info->is_process ? int64_t{info->pid} * kShared +
                                std::min(info->process, kShared - 1)
                          : info->order;
}

void SortByTime(TrackEvents* events) {
  for (std::vector<RowSlice>& line : events->slices) {
    std::stable_sort(
        line.begin(), line.end(),
        [](const Slice& a, const Slice& b) { return a.begin_ns < b.begin_ns; });
  }
  // Several sequences may have added these.
  std::stable_sort(events->lost.begin(), events->lost.end(),
                   [](const LostStretch& a, const LostStretch& b) {
                     return a.begin_ns < b.begin_ns;
                   });
  const auto by_time = [](const auto& a, const auto& b) {
    return a.time_ns < b.time_ns;
  };
  std::stable_sort(events->instants.begin(), events->instants.end(), by_time);
  std::stable_sort(events->values.begin(), events->values.end(), by_time);
}

}  // namespace

void TrackRows::AddTime(uint64_t begin_ns, uint64_t end_ns) {
  first_ns_ = std::min(first_ns_, begin_ns);
  last_ns_ = std::max({last_ns_, begin_ns, end_ns});
}

void TrackRows::Add(const Slice& slice, bool is_open) {
  AddTime(slice.begin_ns, slice.begin_ns + slice.duration_ns);
  AddToLine({slice, is_open}, &events_[slice.track].slices);
}

void TrackRows::Add(const Instant& instant) {
  AddTime(instant.time_ns, instant.time_ns);
  events_[instant.track].instants.push_back(instant);
}

void TrackRows::Add(const CounterValue& value) {
  AddTime(value.time_ns, value.time_ns);
  events_[value.track].values.push_back(value);
}

void TrackRows::Add(const LostStretch& lost) {
  AddTime(lost.begin_ns, lost.end_ns);
  events_[lost.track].lost.push_back(lost);
}

std::vector<TrackRow> TrackRows::Arrange(const Tracks& tracks) {
  using Key = std::vector<std::pair<int64_t, uint64_t>>;
  std::map<Key, std::vector<uint64_t>> groups;
  // The order and the track of the first member of each group.
  std::unordered_map<uint64_t, std::pair<int64_t, uint64_t>> firsts;
  for (auto& [track, events] : events_) {
    Key key;
    ForEachPart(
        track, tracks,
        [&](uint64_t part, const std::optional<TrackInfo>& info,
            uint64_t group) {
          key.push_back(
              firsts.try_emplace(group, OrderOf(info), part).first->second);
        });
    groups[std::move(key)].push_back(track);
  }

  std::vector<TrackRow> rows;
  std::set<uint64_t> said;
  shared_.clear();
  for (const auto& [key, members] : groups) {
    uint32_t level = 0;
    for (const auto& [order, part] : key) {
      if (part == key.back().second)
        break;
      // A track that others are part of has one row of its own.
      if (said.insert(part).second && events_.count(part) == 0)
        rows.push_back({part, level, nullptr});
      ++level;
    }
    const uint64_t first = key.back().second;
    said.insert(first);
    if (members.size() == 1) {
      TrackEvents& events = events_.at(members[0]);
      SortByTime(&events);
      rows.push_back({first, level, &events});
      continue;
    }
    for (const TrackEvents* events : Share(members))
      rows.push_back({first, level, events});
  }
  return rows;
}

std::vector<const TrackEvents*> TrackRows::Share(
    const std::vector<uint64_t>& tracks) {
  // The last end of the slices in each outermost one.
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> ends;
  for (const uint64_t track : tracks) {
    SortByTime(&events_.at(track));
    for (const std::vector<RowSlice>& line : events_.at(track).slices) {
      for (const RowSlice& slice : line) {
        uint64_t& end_ns = ends[{slice.root_ns, track}];
        end_ns = std::max(end_ns, slice.begin_ns + slice.duration_ns);
      }
    }
  }
  RowPacker packer;
  const uint32_t group = packer.AddGroup(1);
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> row_of;
  for (const auto& [root, end_ns] : ends)
    row_of[root] = packer.RowOf(group, root.second, root.first, end_ns, true);
  uint32_t last_row = 0;
  for (const auto& [root, row] : row_of)
    last_row = std::max(last_row, row);

  const size_t first = shared_.size();
  shared_.resize(first + last_row + 1);
  for (const uint64_t track : tracks) {
    const TrackEvents& events = events_.at(track);
    for (const std::vector<RowSlice>& line : events.slices) {
      for (const RowSlice& slice : line) {
        AddToLine(slice,
                  &shared_[first + row_of.at({slice.root_ns, track})].slices);
      }
    }
    // An instant is in the row of the slice around it, or else in the first
    // row.
    for (const Instant& instant : events.instants) {
      uint32_t row = 0;
      if (!events.slices.empty()) {
        const std::vector<RowSlice>& roots = events.slices[0];
        const auto next =
            std::upper_bound(roots.begin(), roots.end(), instant.time_ns,
                             [](uint64_t ns, const RowSlice& root) {
                               return ns < root.begin_ns;
                             });
        if (next != roots.begin())
          row = row_of.at({std::prev(next)->root_ns, track});
      }
      shared_[first + row].instants.push_back(instant);
    }
    TrackEvents& others = shared_[first];
    others.values.insert(others.values.end(), events.values.begin(),
                         events.values.end());
    others.lost.insert(others.lost.end(), events.lost.begin(),
                       events.lost.end());
  }
  std::vector<const TrackEvents*> rows;
  for (size_t i = first; i < shared_.size(); ++i) {
    SortByTime(&shared_[i]);
    rows.push_back(&shared_[i]);
  }
  return rows;
}

const std::string& NameOf(const EventText& text) {
  static const std::string& no_name = *new std::string("(no name)");
  return text.name.empty() ? no_name : text.name;
}

}  // namespace pztrace
