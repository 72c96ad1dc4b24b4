// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TABLE_TABLE_FORMAT_H_
#define SRC_TABLE_TABLE_FORMAT_H_

#include <stdio.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/table/row_writer.h"

// The formats of tables.

namespace table {

enum class TableFormat {
  // RFC 4180, with a line of headings, but lines end in \n. An empty text is
  // "",
  // null is nothing.
  // Control characters other than tabs and line ends become \u001b and the
  // like.
  kCsv,
  kNdjson,  // One JSON object a line.
  kArrow,   // The stream of Arrow's inter-process communication.
  kParquet,
};

// Returns whether a column has one type in this format. In text, each cell may
// have a type of its own.
inline bool HasTypes(TableFormat format) {
  return format == TableFormat::kArrow || format == TableFormat::kParquet;
}

// Returns the end of the names of files in this format, as in ".csv".
const char* ExtensionOf(TableFormat format);

// The option of programs that write tables.
inline constexpr std::string_view kFormatOption = "--format NAME";
inline constexpr std::string_view kFormatHelp =
    "csv, with a line of headings, ndjson: a JSON object a line, arrow: a "
    "stream of Arrow, ClickHouse's ArrowStream, or parquet";

// Returns the format of that name. If there is none, or the program was built
// without it, returns null and sets |why|. |others| ends the list of formats
// in there: the caller's own ones.
std::optional<TableFormat> FormatOf(std::string_view name,
                                    std::string* why,
                                    std::string_view others = {});

struct TableOptions {
  TableFormat format = TableFormat::kCsv;
  // True to put a ' in front of texts in CSV that a spreadsheet would compute.
  bool escapes_formulas = false;
};

// Makes a writer that gives blocks of rows to |out|, and the rest when it is
// destroyed. The error state of |out| says whether it has taken them.
// REQUIRES: FormatOf() has returned the format.
std::unique_ptr<RowWriter> CreateRows(FILE* out,
                                      const TableOptions& options,
                                      const std::vector<Column>& columns);

}  // namespace table

#endif  // SRC_TABLE_TABLE_FORMAT_H_
