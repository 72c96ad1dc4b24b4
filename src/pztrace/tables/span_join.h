// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_SPAN_JOIN_H_
#define SRC_PZTRACE_TABLES_SPAN_JOIN_H_

#include <string_view>

struct sqlite3;

namespace pztrace {

// Returns whether it is a module of AddSpanJoins().
bool IsSpanJoin(std::string_view module);

// Adds modules for the times that rows of two tables have in common:
//
//   CREATE VIRTUAL TABLE both
//     USING SPAN_JOIN(a PARTITIONED utid, b PARTITIONED utid)
//
// The tables have columns ts and dur. Rows of one partition do not overlap. A
// SPAN_LEFT_JOIN has all times of the first table, a SPAN_OUTER_JOIN those of
// both. Each table is read once, in order; one without partitions is read for
// each partition of the other. Returns a result code of SQLite.
int AddSpanJoins(sqlite3* database);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_SPAN_JOIN_H_
