// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_TRACK_INFO_H_
#define SRC_PZTRACE_EVENTS_TRACK_INFO_H_

#include <stdint.h>

#include <string>

#include "src/pztrace/events/timeline_reader.h"

namespace pztrace {

using Tracks = protozero::TraceTracks;

// Returns what |tracks| says of |track|, or an empty description.
TrackInfo InfoOf(uint64_t track, const Tracks& tracks);

// Returns a label such as "main 4711": the track's name, and its number if it
// is a thread or a process. A process in a container also has its id outside of
// it, where the recorder is: "server 1 (4711)". Another process that has the
// same name and id has its number among those: "server 1 (2nd)".
std::string LabelOf(const TrackInfo& info);

// Returns the label of a track for a list of tracks of all processes. A thread
// has its process's label after it if there is another process with that id, or
// if it is in a container: "main 1 of server 1 (4711)".
std::string FullLabelOf(uint64_t track, const Tracks& tracks);

// Returns the name of a process or thread for a place that has its id, too. All
// but the first one with that name and id have what tells them apart after it:
// "server (4711)" or "server (2nd)".
std::string UniqueName(const TrackInfo& info);

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_TRACK_INFO_H_
