// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_SQL_FUNCTIONS_H_
#define SRC_PZTRACE_TABLES_SQL_FUNCTIONS_H_

struct sqlite3;

namespace pztrace {

// Adds the functions of Perfetto's trace processor that SQLite lacks, and that
// read no table: regexp, regexp_extract, str_split, hash, percentile and so on.
// Returns a result code of SQLite.
int AddSqlFunctions(sqlite3* database);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_SQL_FUNCTIONS_H_
