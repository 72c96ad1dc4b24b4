// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_SHARED_ROWS_H_
#define SRC_PZTRACE_EVENTS_SHARED_ROWS_H_

#include <stdint.h>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "src/pztrace/events/track_info.h"
#include "src/tracing/trace_reader/id_map.h"

namespace pztrace {

// Returns whether a track shares its rows with siblings of its name, or of its
// key if the trace says so. A program has thousands of them if each of its
// requests has a Track(id). Processes, threads, counters, tracks that are said
// to stay alone, and tracks that the trace does not describe have rows of their
// own.
bool SharesRows(const std::optional<TrackInfo>& info);

// Returns the number of the group of tracks that share rows with |track|.
// |parent| is the number of the group that |track| is part of; 0 if there is
// none.
uint64_t GroupOf(uint64_t track,
                 const std::optional<TrackInfo>& info,
                 uint64_t parent);

// Calls |read| with each track on the path to |track|, from the outermost one:
// with its number, with its description, and with the number of its group.
template <typename Function>
void ForEachPart(uint64_t track, const Tracks& tracks, const Function& read) {
  uint64_t group = 0;
  for (const uint64_t part : tracks.PathTo(track)) {
    const std::optional<TrackInfo> info = tracks.Find(part);
    group = GroupOf(part, info, group);
    read(part, info, group);
  }
}

// Chooses rows for the slices of tracks that share them, so that none overlap.
// A slice is in the row of the outermost slice around it. There are no more
// rows than slices at one time, if slices come in the order of their ends, or
// if only outermost ones come, in the order of their beginnings. Memory depends
// on the number of groups and rows, and of open slices.
class RowPacker {
 public:
  // Returns the index of the group of that number, which may be new.
  uint32_t AddGroup(uint64_t group);
  // Returns the row of a slice. |root_ns| is the beginning of the outermost
  // slice around it, |end_ns| its own end. |is_root| if no other slice is
  // around it.
  uint32_t RowOf(uint32_t group,
                 uint64_t track,
                 uint64_t root_ns,
                 uint64_t end_ns,
                 bool is_root);

 private:
  // The rows of a group besides the first one.
  struct Rows {
    // The free rows, each after the time at which its last slice has ended.
    std::set<std::pair<uint64_t, uint32_t>> free;
    uint32_t size = 1;
  };

  uint32_t Take(uint32_t group, uint64_t root_ns);

  // A group, with its first row. Most groups have no other.
  struct Group {
    uint64_t number;
    uint64_t first_row;  // The time at which its last slice has ended.
  };

  std::deque<Group> groups_;
  protozero::internal::IndexTable indexes_;  // The key is the number.
  std::unordered_map<uint32_t, Rows> more_;
  // The rows of outermost slices that have not ended yet, by track and
  // beginning.
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> taken_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_SHARED_ROWS_H_
