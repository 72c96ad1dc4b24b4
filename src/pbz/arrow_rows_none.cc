// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/arrow_rows.h"

namespace pbz {

bool HasArrow() {
  return false;
}

std::unique_ptr<RowWriter> CreateArrowRows(FILE*, const std::vector<Column>&) {
  return nullptr;
}

}  // namespace pbz
