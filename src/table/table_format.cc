// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/table/table_format.h"

#include "src/table/arrow_rows.h"
#include "src/table/text_rows.h"

namespace table {

std::optional<TableFormat> FormatOf(std::string_view name, std::string* why) {
  if (name == "csv")
    return TableFormat::kCsv;
  if (name == "ndjson")
    return TableFormat::kNdjson;
  if (name == "arrow" && HasArrow())
    return TableFormat::kArrow;
  *why = name == "arrow" ? kNoArrow : "--format is csv, ndjson or arrow";
  return std::nullopt;
}

std::unique_ptr<RowWriter> CreateRows(FILE* out,
                                      const TableOptions& options,
                                      const std::vector<Column>& columns) {
  if (options.format == TableFormat::kArrow)
    return CreateArrowRows(out, columns);
  return CreateTextRows(
      out, {options.format == TableFormat::kNdjson, options.escapes_formulas},
      columns);
}

}  // namespace table
