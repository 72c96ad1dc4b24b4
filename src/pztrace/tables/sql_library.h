// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_SQL_LIBRARY_H_
#define SRC_PZTRACE_TABLES_SQL_LIBRARY_H_

#include <string_view>
#include <vector>

namespace pztrace {

// The views of a trace's tables, as statements of SQLite. A database in a file
// has them, too.
extern const char kSqlViews[];

// Statements that make further views, and functions, for each query: CREATE
// PERFETTO FUNCTION and the like.
extern const char kSqlLibrary[];

// Returns the names of Perfetto's modules whose content is always there.
const std::vector<std::string_view>& SqlModules();

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_SQL_LIBRARY_H_
