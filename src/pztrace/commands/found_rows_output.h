// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_COMMANDS_FOUND_ROWS_OUTPUT_H_
#define SRC_PZTRACE_COMMANDS_FOUND_ROWS_OUTPUT_H_

#include <optional>

#include "src/pztrace/tables/found_rows.h"
#include "src/table/table_format.h"

namespace pztrace {

// Prints the rows that a query has found: in a format, or as a table for
// people.
void PrintFoundRows(std::optional<table::TableFormat> format, FoundRows* rows);

}  // namespace pztrace

#endif  // SRC_PZTRACE_COMMANDS_FOUND_ROWS_OUTPUT_H_
