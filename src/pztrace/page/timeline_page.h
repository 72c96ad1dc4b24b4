// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_PAGE_TIMELINE_PAGE_H_
#define SRC_PZTRACE_PAGE_TIMELINE_PAGE_H_

#include <stdint.h>

#include <limits>
#include <string>
#include <vector>

#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/events/track_rows.h"
#include "src/pztrace/page/task_page_rows.h"

namespace pztrace {

struct PageOptions {
  std::string title;
  // The range since the first event. The page has all that overlaps it.
  uint64_t from_ns = 0;
  uint64_t to_ns = std::numeric_limits<uint64_t>::max();
};

// Returns an HTML page with a timeline to zoom and search, which needs nothing
// but a browser. The names in a trace have any bytes: none of them becomes
// markup.
//
// |rows| come from |reader|; the details of their slices and instants have to
// be there, or null. They may be empty. |tasks| come below them. |times| are
// the states of threads, which are above their slices. Threads without events
// have rows of their own. |is_damaged| if a part could not be read.
std::string MakePage(const TimelineReader& reader,
                     const PageOptions& options,
                     bool is_damaged,
                     const TaskPageRows& tasks,
                     const ThreadTimes& times,
                     TrackRows* rows);

}  // namespace pztrace

#endif  // SRC_PZTRACE_PAGE_TIMELINE_PAGE_H_
