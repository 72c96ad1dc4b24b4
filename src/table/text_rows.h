// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TABLE_TEXT_ROWS_H_
#define SRC_TABLE_TEXT_ROWS_H_

#include <stdio.h>

#include <memory>
#include <vector>

#include "src/table/row_writer.h"

namespace table {

// A format of text: CSV or NDJSON.
struct TextFormat {
  bool is_json = false;
  bool escapes_formulas = false;
};

// Returns a writer of that format.
std::unique_ptr<RowWriter> CreateTextRows(FILE* out,
                                          TextFormat format,
                                          const std::vector<Column>& columns);

}  // namespace table

#endif  // SRC_TABLE_TEXT_ROWS_H_
