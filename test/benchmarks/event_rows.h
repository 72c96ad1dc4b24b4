// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The costs of trace events that one thread writes to one session, for
// encode_rows.

#ifndef TEST_BENCHMARKS_EVENT_ROWS_H_
#define TEST_BENCHMARKS_EVENT_ROWS_H_

#include <stddef.h>

#include <string>
#include <vector>

namespace protozero {
namespace bench {

struct EventRow {
  // Event_<Kind>, Task_<Kind>, Read_<Kind> of read_rows.h, Service_<Kind> of
  // service_rows.h, or Levels_<Depth> of level_rows.h. Event_Empty and
  // Task_Empty have only the loop.
  std::string name;
  // Traces |count| events. REQUIRES: called once in a process. Returns false if
  // not all of them were written, dropped, read or collected, as the row
  // demands.
  bool (*run)(size_t count);
};

std::vector<EventRow> AllEventRows();

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_EVENT_ROWS_H_
