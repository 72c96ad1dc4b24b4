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
// is a thread or a process.
std::string LabelOf(const TrackInfo& info);

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_TRACK_INFO_H_
