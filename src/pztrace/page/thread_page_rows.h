// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_PAGE_THREAD_PAGE_ROWS_H_
#define SRC_PZTRACE_PAGE_THREAD_PAGE_ROWS_H_

#include <stdint.h>

#include <utility>
#include <vector>

#include "src/pztrace/events/thread_times.h"
#include "src/pztrace/events/track_info.h"
#include "src/pztrace/events/track_rows.h"

namespace pztrace {

// Returns the first and the last time at which |times| know a thread; zeros if
// they know none.
std::pair<uint64_t, uint64_t> TimesOfThreads(const ThreadTimes& times);

// Adds rows for the threads that |rows| lack, which have no events, but states
// or samples within that time. Each comes after the rows of its process:
//
//   server 41
//     main 41    | Load      |     |rows| have it.
//     pool 43                      It is added.
//
// If many of them never ran within that time, these are left out. Returns their
// number.
uint64_t AddThreadRows(const ThreadTimes& times,
                       const Tracks& tracks,
                       uint64_t from_ns,
                       uint64_t to_ns,
                       std::vector<TrackRow>* rows);

}  // namespace pztrace

#endif  // SRC_PZTRACE_PAGE_THREAD_PAGE_ROWS_H_
