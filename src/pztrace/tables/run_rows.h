// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_RUN_ROWS_H_
#define SRC_PZTRACE_TABLES_RUN_ROWS_H_

#include <vector>

#include "src/pztrace/compare/run_table.h"
#include "src/table/row_writer.h"

namespace pztrace {

// Returns the columns of the rows of WriteComparedRows().
std::vector<table::Column> ComparedColumns(const RunTable& table);

// Writes the rows as they are sorted.
void WriteComparedRows(const RunTable& table,
                       const std::vector<ComparedRow>& compared,
                       RunComparer* comparer,
                       table::RowWriter* rows);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_RUN_ROWS_H_
