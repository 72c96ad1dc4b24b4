// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_TRACK_ROWS_H_
#define SRC_PZTRACE_EVENTS_TRACK_ROWS_H_

#include <stdint.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/events/track_info.h"

namespace pztrace {

// A slice of a row. An open one lasts until the end of the trace.
struct RowSlice : Slice {
  bool is_open = false;
  // True for a state of a task, whose flows are none of the trace.
  bool is_state = false;
};

struct TrackEvents {
  // The slices of each depth.
  std::vector<std::vector<RowSlice>> slices;
  std::vector<Instant> instants;
  std::vector<CounterValue> values;
  std::vector<LostStretch> lost;
};

// A row of a timeline.
struct TrackRow {
  enum class Kind : uint8_t { kOfTrack, kTasks, kProcess, kThread };

  // The track, or the first one if several share the row.
  uint64_t track;
  // The number of rows that it is part of.
  uint32_t level;
  // The events in the order of their times. Null if the row is only there for
  // others that are part of it.
  const TrackEvents* events;
  // The label is the track's if the kind is kOfTrack, and otherwise this one.
  Kind kind = Kind::kOfTrack;
  std::string label = {};
  int64_t tid = 0;  // The number of the thread of a kThread.
};

// The rows of a timeline: the tracks that have events, and the tracks that they
// are part of.
//
//   app 4711
//     main      | Load          |
//                 | parse |
//     queue     __|--|___|------|
//
// Its memory depends on the number of events.
class TrackRows {
 public:
  void Add(const Slice& slice, bool is_open = false);
  void Add(const Instant& instant);
  void Add(const CounterValue& value);
  void Add(const LostStretch& lost);
  // Makes the time of the rows last at least until |end_ns|.
  void ExtendTo(uint64_t end_ns) { last_ns_ = std::max(last_ns_, end_ns); }

  // Returns the events of a track; null if it has none.
  const TrackEvents* Find(uint64_t track) const {
    const auto it = events_.find(track);
    return it != events_.end() ? &it->second : nullptr;
  }
  bool is_empty() const { return events_.empty(); }
  // REQUIRES: !is_empty().
  uint64_t first_ns() const { return first_ns_; }
  uint64_t last_ns() const { return last_ns_; }

  // Sorts the events, and returns the rows from the top to the bottom. Siblings
  // have the order that they ask for; processes and threads have that of their
  // numbers. Siblings of one name share the fewest rows in which they do not
  // overlap. The rows are good until the next Add().
  std::vector<TrackRow> Arrange(const Tracks& tracks);

 private:
  void AddTime(uint64_t begin_ns, uint64_t end_ns);
  // Copies the events of |tracks| to rows in shared_, and returns these.
  std::vector<const TrackEvents*> Share(const std::vector<uint64_t>& tracks);

  std::map<uint64_t, TrackEvents> events_;  // By track.
  std::deque<TrackEvents> shared_;
  uint64_t first_ns_ = std::numeric_limits<uint64_t>::max();
  uint64_t last_ns_ = 0;
};

// Returns the event's name, or "(no name)" if it has none.
const std::string& NameOf(const EventText& text);

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_TRACK_ROWS_H_
