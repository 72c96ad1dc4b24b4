// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/commands/found_rows_output.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "src/program/text.h"
#include "src/program/text_width.h"
#include "src/pztrace/trace_file/shown_name.h"
#include "src/table/row_writer.h"

namespace pztrace {

namespace {

using table::Column;
using CellType = FoundRows::CellType;

// A column of the result. Cells of a column may have different types.
struct FoundColumn {
  std::string name;
  CellType type = CellType::kNull;  // One that all cells can be read as.
  size_t width = 0;                 // In characters, if it is shown as text.
};

// Returns the columns' names. No two are the same, as members of a JSON object
// have to differ: as SQLite does it, another "name" is "name:1".
std::vector<FoundColumn> ColumnsOf(const FoundRows& rows) {
  std::vector<FoundColumn> columns;
  const auto is_taken = [&columns](const std::string& name) {
    return std::any_of(
        columns.begin(), columns.end(),
        [&name](const FoundColumn& column) { return column.name == name; });
  };
  for (size_t i = 0; i < rows.num_columns(); ++i) {
    std::string name = rows.NameOf(i);
    for (int n = 1; is_taken(name); ++n)
      name = rows.NameOf(i) + ":" + std::to_string(n);
    columns.push_back({std::move(name)});
  }
  return columns;
}

// Returns the type for cells of both.
CellType CommonType(CellType a, CellType b) {
  if (a == b || b == CellType::kNull)
    return a;
  if (a == CellType::kNull)
    return b;
  static_assert(CellType::kInteger < CellType::kReal &&
                CellType::kReal < CellType::kText);
  return std::max(a, b) == CellType::kReal ? CellType::kReal : CellType::kText;
}

std::string CellText(size_t column, FoundRows* rows) {
  switch (rows->TypeOf(column)) {
    case CellType::kNull:
      return "null";
    case CellType::kReal: {
      std::string text;
      program::AppendDouble(rows->Real(column), &text);
      return text;
    }
    case CellType::kInteger:
    case CellType::kText:
    case CellType::kBytes:
      break;
  }
  return ShownName(rows->Text(column));
}

// Prints a line of cells. Those of numbers end below each other.
void PrintLine(const std::vector<FoundColumn>& columns,
               const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t width = std::min(columns[i].width, program::WidthOf(cells[i]));
    const std::string spaces(columns[i].width - width, ' ');
    const bool is_number = columns[i].type == CellType::kInteger ||
                           columns[i].type == CellType::kReal;
    line += i == 0 ? "" : "  ";
    line += is_number ? spaces + cells[i] : cells[i] + spaces;
  }
  line.resize(line.find_last_not_of(' ') + 1);
  printf("%s\n", line.c_str());
}

// Returns the texts of the row, and lets columns be as wide as they are.
std::vector<std::string> TextsOf(FoundRows* rows,
                                 std::vector<FoundColumn>* columns) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < columns->size(); ++i) {
    FoundColumn& column = (*columns)[i];
    texts.push_back(CellText(i, rows));
    column.type = CommonType(column.type, rows->TypeOf(i));
    column.width = std::max(column.width, program::WidthOf(texts.back()));
  }
  return texts;
}

// Returns the columns of the terminal, if the output is one.
size_t OutputColumns() {
  winsize size = {};
  const bool is_known = isatty(STDOUT_FILENO) &&
                        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
                        size.ws_col != 0;
  return is_known ? size.ws_col : SIZE_MAX;
}

// Returns the width of a line.
size_t WidthOf(const std::vector<FoundColumn>& columns) {
  size_t width = 0;
  for (const FoundColumn& column : columns)
    width += column.width + 2;
  return width - 2;
}

// Prints one value a line, for a terminal that lines are too long for. The
// first of |lines| are the names, and |rows| may have more.
void PrintValues(const std::vector<std::vector<std::string>>& lines,
                 bool has_more,
                 std::vector<FoundColumn>* columns,
                 FoundRows* rows) {
  size_t width = 0;
  for (const std::string& name : lines[0])
    width = std::max(width, program::WidthOf(name));
  const auto print = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string& name = lines[0][i];
      const std::string spaces(width - program::WidthOf(name) + 2, ' ');
      printf("%s%s%s\n", name.c_str(), spaces.c_str(), cells[i].c_str());
    }
    printf("\n");
  };
  for (size_t i = 1; i < lines.size(); ++i)
    print(lines[i]);
  while (has_more && rows->Next())
    print(TextsOf(rows, columns));
}

// Prints rows below each other. The first ones say how wide columns are, unless
// a later one is wider: there may be more rows than memory has room for.
void PrintText(std::vector<FoundColumn> columns, FoundRows* rows) {
  constexpr size_t kMaxMeasured = 1000;
  std::vector<std::vector<std::string>> lines(1);
  for (FoundColumn& column : columns) {
    lines[0].push_back(ShownName(column.name));
    column.width = program::WidthOf(lines[0].back());
  }
  while (lines.size() <= kMaxMeasured && rows->Next())
    lines.push_back(TextsOf(rows, &columns));
  if (rows->has_failed())
    return;
  const bool has_more = lines.size() > kMaxMeasured;
  if (WidthOf(columns) > OutputColumns())
    return PrintValues(lines, has_more, &columns, rows);
  for (const auto& line : lines)
    PrintLine(columns, line);
  while (has_more && rows->Next())
    PrintLine(columns, TextsOf(rows, &columns));
}

// Finds types for the cells of each column.
void FindTypes(FoundRows* rows, std::vector<FoundColumn>* columns) {
  while (rows->Next()) {
    for (size_t i = 0; i < columns->size(); ++i) {
      FoundColumn& column = (*columns)[i];
      column.type = CommonType(column.type, rows->TypeOf(i));
    }
  }
  rows->Restart();
}

void WriteCell(CellType type,
               size_t column,
               FoundRows* rows,
               table::RowWriter* out) {
  switch (type) {
    case CellType::kNull:
      return out->Null();
    case CellType::kInteger:
      return out->Number(rows->Integer(column));
    case CellType::kReal:
      return out->Number(rows->Real(column));
    case CellType::kText:
      return out->Text(rows->Text(column));
    case CellType::kBytes:
      return out->Bytes(rows->Text(column));
  }
}

void WriteTable(std::vector<FoundColumn> columns,
                table::TableFormat format,
                FoundRows* rows) {
  // In text, each cell can have a type of its own.
  const bool has_types = table::HasTypes(format);
  if (has_types)
    FindTypes(rows, &columns);
  if (rows->has_failed())
    return;
  std::vector<Column> described;
  for (const FoundColumn& column : columns) {
    using Type = Column::Type;
    described.push_back(
        {column.name, column.type == CellType::kInteger ? Type::kInt64
                      : column.type == CellType::kReal  ? Type::kDouble
                      : column.type == CellType::kBytes ? Type::kBytes
                                                        : Type::kText});
  }
  const auto out = table::CreateRows(stdout, {format, false}, described);
  while (rows->Next()) {
    for (size_t i = 0; i < columns.size(); ++i) {
      const CellType type = rows->TypeOf(i);
      WriteCell(type != CellType::kNull && has_types ? columns[i].type : type,
                i, rows, out.get());
    }
    out->EndRow();
  }
}

}  // namespace

void PrintFoundRows(std::optional<table::TableFormat> format, FoundRows* rows) {
  if (format)
    WriteTable(ColumnsOf(*rows), *format, rows);
  else
    PrintText(ColumnsOf(*rows), rows);
}

}  // namespace pztrace
