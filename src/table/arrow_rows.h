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

// Returns a writer of a stream of Arrow. Its record batches have about a
// megabyte. REQUIRES: HasArrow().
std::unique_ptr<RowWriter> CreateArrowRows(FILE* out,
                                           const std::vector<Column>& columns);

}  // namespace table

#endif  // SRC_TABLE_ARROW_ROWS_H_
