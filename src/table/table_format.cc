// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/table/table_format.h"

#include "src/table/arrow_rows.h"
#include "src/table/text_rows.h"

namespace table {

std::optional<TableFormat> FormatOf(std::string_view name,
                                    std::string* why,
                                    std::string_view others) {
  if (name == "csv")
    return TableFormat::kCsv;
  if (name == "ndjson")
    return TableFormat::kNdjson;
  const bool needs_arrow = name == "arrow" || name == "parquet";
  if (needs_arrow && HasArrow())
    return name == "arrow" ? TableFormat::kArrow : TableFormat::kParquet;
  if (needs_arrow)
    *why = kNoArrow;
  else
    why->assign("--format is csv, ndjson, arrow or parquet").append(others);
  return std::nullopt;
}

const char* ExtensionOf(TableFormat format) {
  switch (format) {
    case TableFormat::kCsv:
      return ".csv";
    case TableFormat::kNdjson:
      return ".ndjson";
    case TableFormat::kArrow:
      return ".arrow";
    case TableFormat::kParquet:
      break;
  }
  return ".parquet";
}

std::unique_ptr<RowWriter> CreateRows(FILE* out,
                                      const TableOptions& options,
                                      const std::vector<Column>& columns) {
  if (HasTypes(options.format)) {
    return CreateArrowRows(out,
                           options.format == TableFormat::kParquet
                               ? ArrowFormat::kParquet
                               : ArrowFormat::kStream,
                           columns);
  }
  return CreateTextRows(
      out, {options.format == TableFormat::kNdjson, options.escapes_formulas},
      columns);
}

}  // namespace table
