// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/exported_tracks.h"

#include <utility>

#include "src/pztrace/events/shared_rows.h"
#include "src/pztrace/trace_file/shown_name.h"
#include "src/tracing/trace_reader/id_map.h"

namespace pztrace {

namespace {

// The limit of names. Other programs hardly expect longer ones in each row.
constexpr size_t kMaxNameSize = 256;

// Changes |place| from a track's to that of |part|, which is in the track.
// |info| and |group| are those of |part|.
void AddPart(uint64_t part,
             const std::optional<TrackInfo>& info,
             uint64_t group,
             TrackPlace* place) {
  const bool is_outermost = place->group == 0;
  if (!info || (is_outermost && info->parent != 0))
    place->is_complete = false;
  if (info && info->is_thread) {
    if (!place->has_thread) {
      place->has_thread = true;
      place->thread_number = info->thread;
      place->thread = Cut(UniqueName(*info), kMaxNameSize);
      place->tid = info->tid;
    }
    if (place->process_number == 0) {
      place->process_number = info->process;
      place->pid = info->pid;
    }
  } else if (info && info->is_process) {
    TrackPlace process;
    process.process_number = info->process;
    process.process_track = part;
    process.process = Cut(UniqueName(*info), kMaxNameSize);
    process.pid = info->pid;
    process.is_complete = place->is_complete;
    *place = std::move(process);
  } else if (info && place->path.size() <= ExportedTracks::kMaxPathSize) {
    if (!place->path.empty())
      place->path += '/';
    place->path += info->name;
  }
  place->group = group;
}

}  // namespace

ExportedTrack& ExportedTracks::Get(uint64_t track) {
  ExportedTrack& kept = Kept(track);
  if (IsKnown(kept, track))
    return kept;
  const std::optional<TrackInfo> info = tracks_.Find(track);
  if (info && info->parent != 0) {
    // The parent's place is kept, because many tracks have the same parent.
    ExportedTrack& parent = Kept(info->parent);
    if (!IsKnown(parent, info->parent))
      Find(info->parent, &parent);
    if (parent.place.is_complete) {
      TrackPlace place = parent.place;
      AddPart(track, info, GroupOf(track, info, place.group), &place);
      Set(track, info, std::move(place), &kept);
      return kept;
    }
  }
  Find(track, &kept);
  return kept;
}

ExportedTrack& ExportedTracks::Kept(uint64_t track) {
  return kept_[protozero::internal::HashOfId(track) % kMaxKept];
}

bool ExportedTracks::IsKnown(const ExportedTrack& kept, uint64_t track) const {
  return kept.track == track && kept.version == tracks_.version() &&
         kept.place.is_complete;
}

void ExportedTracks::Find(uint64_t track, ExportedTrack* found) const {
  TrackPlace place;
  std::optional<TrackInfo> last;
  ForEachPart(
      track, tracks_,
      [&](uint64_t part, const std::optional<TrackInfo>& info, uint64_t group) {
        AddPart(part, info, group, &place);
        last = info;
      });
  Set(track, last, std::move(place), found);
}

void ExportedTracks::Set(uint64_t track,
                         const std::optional<TrackInfo>& info,
                         TrackPlace place,
                         ExportedTrack* set) const {
  set->track = track;
  set->version = tracks_.version();
  set->place = std::move(place);
  set->unit = info ? Cut(info->unit, kMaxNameSize) : "";
  set->cells.num_cells = 0;
  set->shares_rows = SharesRows(info);
  set->row_group.reset();
}

}  // namespace pztrace
