// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/track_rows.h"

#include <stddef.h>

#include <algorithm>
#include <set>
#include <utility>

namespace pztrace {

namespace {

void SortByTime(TrackEvents* events) {
  for (std::vector<Slice>& line : events->slices) {
    std::stable_sort(
        line.begin(), line.end(),
        [](const Slice& a, const Slice& b) { return a.begin_ns < b.begin_ns; });
  }
  // Those of several sequences.
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

void TrackRows::Add(const Slice& slice) {
  AddTime(slice.begin_ns, slice.begin_ns + slice.duration_ns);
  std::vector<std::vector<Slice>>& lines = events_[slice.track].slices;
  if (lines.size() <= slice.depth)
    lines.resize(size_t{slice.depth} + 1);
  lines[slice.depth].push_back(slice);
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
  std::vector<std::pair<Key, uint64_t>> keys;
  for (auto& [track, events] : events_) {
    SortByTime(&events);
    Key key;
    for (const uint64_t part : tracks.PathTo(track)) {
      const TrackInfo info = InfoOf(part, tracks);
      key.push_back({info.tid != 0   ? info.tid
                     : info.pid != 0 ? info.pid
                                     : info.order,
                     part});
    }
    keys.push_back({std::move(key), track});
  }
  std::sort(keys.begin(), keys.end());

  std::vector<TrackRow> rows;
  std::set<uint64_t> said;
  for (const auto& [key, track] : keys) {
    uint32_t level = 0;
    for (const auto& [order, part] : key) {
      if (part == track)
        continue;
      // What a track is part of has a row of its own, once.
      if (said.insert(part).second && events_.count(part) == 0)
        rows.push_back({part, level, nullptr});
      ++level;
    }
    said.insert(track);
    rows.push_back({track, level, &events_.at(track)});
  }
  return rows;
}

TrackInfo InfoOf(uint64_t track, const Tracks& tracks) {
  return tracks.Find(track).value_or(TrackInfo());
}

std::string LabelOf(const TrackInfo& info) {
  const int64_t id = info.tid != 0 ? info.tid : info.pid;
  std::string label = info.name;
  if (label.empty())
    label = id != 0 ? (info.tid != 0 ? "thread" : "process") : "track";
  if (id != 0)
    label += " " + std::to_string(id);
  return label;
}

const std::string& NameOf(const EventText& text) {
  static const std::string& no_name = *new std::string("(no name)");
  return text.name.empty() ? no_name : text.name;
}

}  // namespace pztrace
