// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_TRACK_CELLS_H_
#define SRC_PZTRACE_TABLES_TRACK_CELLS_H_

#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>

#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/tables/arg_rows.h"

// The cells of a track's row, as Perfetto's trace processor has them.

namespace pztrace {

// Returns the track's own name. Without one, it is that of its first event,
// which may be null, unless it is a thread's or process's, or a counter.
std::string_view TrackNameOf(const TrackInfo& info,
                             const EventText* first_event);

// Returns a type such as "thread_counter_track_event".
std::string TrackTypeOf(const TrackInfo& info,
                        bool has_thread,
                        bool has_process);

// Writes what the track's descriptor says besides to |args|, if |reads_args|.
// Returns the set of these arguments, if there are any. It is negative, which
// no event's is.
std::optional<int64_t> WriteTrackArgs(int64_t track_id,
                                      const TrackInfo& info,
                                      bool reads_args,
                                      ArgRows* args);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_TRACK_CELLS_H_
