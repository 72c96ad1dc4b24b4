// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/track_info.h"

namespace pztrace {

TrackInfo InfoOf(uint64_t track, const Tracks& tracks) {
  return tracks.Find(track).value_or(TrackInfo());
}

namespace {

// Returns "2nd", "3rd" and so on.
std::string OrdinalText(uint32_t ordinal) {
  const uint32_t last = ordinal / 10 % 10 == 1 ? 0 : ordinal % 10;
  return std::to_string(ordinal) + (last == 1   ? "st"
                                    : last == 2 ? "nd"
                                    : last == 3 ? "rd"
                                                : "th");
}

std::string MarkOf(const TrackInfo& info) {
  return " (" +
         (info.outer_pid != 0 ? std::to_string(info.outer_pid)
                              : OrdinalText(info.ordinal)) +
         ")";
}

}  // namespace

std::string LabelOf(const TrackInfo& info) {
  std::string label = info.name;
  if (label.empty())
    label = info.is_thread ? "thread" : info.is_process ? "process" : "track";
  if (info.is_thread || info.is_process)
    label += " " + std::to_string(info.is_thread ? info.tid : info.pid);
  if (info.outer_pid != 0 || info.ordinal > 1)
    label += MarkOf(info);
  return label;
}

std::string FullLabelOf(uint64_t track, const Tracks& tracks) {
  const TrackInfo info = InfoOf(track, tracks);
  std::string label = LabelOf(info);
  if (info.is_thread) {
    const TrackInfo process = InfoOf(info.parent, tracks);
    if (process.outer_pid != 0 || process.shares_id)
      label += " of " + LabelOf(process);
  }
  return label;
}

std::string UniqueName(const TrackInfo& info) {
  return info.ordinal > 1 ? info.name + MarkOf(info) : info.name;
}

}  // namespace pztrace
