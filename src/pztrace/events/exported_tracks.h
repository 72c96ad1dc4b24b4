// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_EXPORTED_TRACKS_H_
#define SRC_PZTRACE_EVENTS_EXPORTED_TRACKS_H_

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>
#include <vector>

#include "src/pztrace/events/track_info.h"
#include "src/table/row_writer.h"

namespace pztrace {

// The place of a track in the trace: its process, its thread, and its path.
struct TrackPlace {
  // The number of the process, as TrackInfo has it, and its UniqueName().
  uint32_t process_number = 0;
  uint64_t process_track = 0;
  std::string process;
  int64_t pid = 0;
  bool has_thread = false;
  uint32_t thread_number = 0;
  std::string thread;
  int64_t tid = 0;
  // The names of the track and of those that it is part of, with slashes
  // between them, up to the thread or process.
  std::string path;
  uint64_t group = 0;  // The group of tracks that it may share rows with.
  // False if a later description of another track may change it.
  bool is_complete = true;
};

// A track, and the first cells of its rows.
struct ExportedTrack {
  uint64_t track = 0;
  uint64_t version = UINT64_MAX;  // The version of Tracks that this is from.
  TrackPlace place;
  std::string unit;
  table::RowWriter::Beginning cells;  // Empty until there is a row.
  bool shares_rows = false;
  std::optional<uint32_t> row_group;  // The group in the RowPacker.
};

// The tracks that rows of tables refer to. Keeps some of them, because the rows
// of a track mostly follow each other.
class ExportedTracks {
 public:
  // The limit of paths. Other programs hardly expect longer ones in each row.
  static constexpr size_t kMaxPathSize = 1024;

  // REQUIRES: |tracks| outlives it.
  explicit ExportedTracks(const Tracks& tracks) : tracks_(tracks) {}

  // Returns the track of that number. It is valid until the next call.
  ExportedTrack& Get(uint64_t track);

 private:
  // The number of tracks that are kept, a power of two.
  static constexpr size_t kMaxKept = 4096;

  ExportedTrack& Kept(uint64_t track);
  bool IsKnown(const ExportedTrack& kept, uint64_t track) const;
  void Find(uint64_t track, ExportedTrack* found) const;
  void Set(uint64_t track,
           const std::optional<TrackInfo>& info,
           TrackPlace place,
           ExportedTrack* set) const;

  const Tracks& tracks_;
  std::vector<ExportedTrack> kept_{kMaxKept};  // By a hash of the number.
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_EXPORTED_TRACKS_H_
