// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TABLE_ARROW_ROWS_H_
#define SRC_TABLE_ARROW_ROWS_H_

#include <stdio.h>

#include <memory>
#include <vector>

#include "src/table/row_writer.h"

namespace table {

// Returns whether the program was built with Arrow.
bool HasArrow();

// The advice to a user whose program was built without it.
inline constexpr char kNoArrow[] =
    "this program was built without Arrow; docs/building.md says how to build "
    "it with Arrow";

// The formats that Arrow's library writes: a stream of record batches of about
// a megabyte, and a Parquet file, whose row groups have up to 65,536 rows.
enum class ArrowFormat { kStream, kParquet };

// Returns a writer of rows. REQUIRES: HasArrow().
std::unique_ptr<RowWriter> CreateArrowRows(FILE* out,
                                           ArrowFormat format,
                                           const std::vector<Column>& columns);

}  // namespace table

#endif  // SRC_TABLE_ARROW_ROWS_H_
