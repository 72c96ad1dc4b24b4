// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_SQLITE_ROWS_H_
#define SRC_PZTRACE_TABLES_SQLITE_ROWS_H_

#include <memory>
#include <string>

#include "src/pztrace/tables/found_rows.h"
#include "src/pztrace/tables/statement_functions.h"
#include "src/table/row_writer.h"

namespace pztrace {

// Returns a writer of rows by an INSERT statement. Rows after the first failure
// are ignored, and |error| says why. REQUIRES: |error| outlives it.
std::unique_ptr<table::RowWriter> RowsInto(ScopedStatement statement,
                                           std::string* error);

// Returns the rows that |statement| finds. REQUIRES: |error| outlives them.
std::unique_ptr<FoundRows> RowsOf(ScopedStatement statement,
                                  std::string* error);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_SQLITE_ROWS_H_
