// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_EXPORTED_TABLES_H_
#define SRC_PZTRACE_TABLES_EXPORTED_TABLES_H_

#include <stddef.h>

#include <array>
#include <memory>
#include <string>

#include "src/pztrace/tables/table_columns.h"
#include "src/pztrace/trace_file/trace_input.h"
#include "src/table/row_writer.h"

// The tables of `pztrace export`.

namespace pztrace {

enum ExportedTable : size_t {
  kSlices,
  kInstants,
  kCounters,
  kTasks,
  kLosses,
  kNumTables
};

TableInfo ExportedTableInfo(ExportedTable table);

// The writers of the tables, null for those that are not wanted.
using ExportedTables =
    std::array<std::unique_ptr<table::RowWriter>, kNumTables>;

// Writes rows for the events of one file. If |has_unfinished|, slices without
// an end are among them. Returns false, and has printed why, if the file cannot
// be read whole.
bool ExportTables(const std::string& host,
                  const std::string& file,
                  bool has_unfinished,
                  TraceInput* input,
                  const ExportedTables& tables);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_EXPORTED_TABLES_H_
