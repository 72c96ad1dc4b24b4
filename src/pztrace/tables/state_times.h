// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_STATE_TIMES_H_
#define SRC_PZTRACE_TABLES_STATE_TIMES_H_

struct sqlite3;

namespace pztrace {

// Adds a table function for the time that a thread spent in each state within a
// time. Those that it was never in have no row:
//
//   SELECT state, dur FROM __state_times(utid, ts, dur)
//
// It reads the table `thread_state` once, and takes 24 bytes a row of it. A
// call takes a few searches in sorted arrays, however many states there are.
// Returns a result code of SQLite.
int AddStateTimes(sqlite3* database);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_STATE_TIMES_H_
