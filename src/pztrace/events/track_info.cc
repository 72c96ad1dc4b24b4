// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/track_info.h"

namespace pztrace {

TrackInfo InfoOf(uint64_t track, const Tracks& tracks) {
  return tracks.Find(track).value_or(TrackInfo());
}

std::string LabelOf(const TrackInfo& info) {
  const int64_t id = info.is_thread ? info.tid : info.pid;
  std::string label = info.name;
  if (label.empty())
    label = info.is_thread ? "thread" : id != 0 ? "process" : "track";
  if (info.is_thread || id != 0)
    label += " " + std::to_string(id);
  return label;
}

}  // namespace pztrace
