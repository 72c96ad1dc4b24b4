// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_SQL_CANDIDATES_H_
#define SRC_PZTRACE_TABLES_SQL_CANDIDATES_H_

#include <string>

struct sqlite3;

namespace pztrace {

// Returns "; did you mean name?" if |error| says that a table, a column or a
// function in |query| is not there, and one of a similar name is. Otherwise an
// empty text.
std::string CandidatesFor(const std::string& error,
                          const std::string& query,
                          sqlite3* database);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_SQL_CANDIDATES_H_
