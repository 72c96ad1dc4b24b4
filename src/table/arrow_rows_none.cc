// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/table/arrow_rows.h"

namespace table {

bool HasArrow() {
  return false;
}

std::unique_ptr<RowWriter> CreateArrowRows(FILE*,
                                           ArrowFormat,
                                           const std::vector<Column>&) {
  return nullptr;
}

}  // namespace table
