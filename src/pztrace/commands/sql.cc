// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace sql.

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/program/text.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/tables/database.h"
#include "src/pztrace/tables/trace_database.h"
#include "src/pztrace/trace_file/output_file.h"
#include "src/pztrace/trace_file/shown_name.h"
#include "src/pztrace/trace_file/trace_input.h"
#include "src/table/table_format.h"

namespace pztrace {

namespace {

using program::kFailure;
using program::kSuccess;
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

size_t WidthOf(std::string_view text) {
  return text.size() -
         static_cast<size_t>(std::count_if(text.begin(), text.end(),
                                           program::ContinuesCharacter));
}

// Prints a line of cells. Those of numbers end below each other.
void PrintLine(const std::vector<FoundColumn>& columns,
               const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t width = std::min(columns[i].width, WidthOf(cells[i]));
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
    column.width = std::max(column.width, WidthOf(texts.back()));
  }
  return texts;
}

// Prints rows below each other. The first ones say how wide columns are, unless
// a later one is wider: there may be more rows than memory has room for.
void PrintText(std::vector<FoundColumn> columns, FoundRows* rows) {
  constexpr size_t kMaxMeasured = 1000;
  std::vector<std::vector<std::string>> lines(1);
  for (FoundColumn& column : columns) {
    lines[0].push_back(ShownName(column.name));
    column.width = WidthOf(lines[0].back());
  }
  while (lines.size() <= kMaxMeasured && rows->Next())
    lines.push_back(TextsOf(rows, &columns));
  if (rows->has_failed())
    return;
  for (const auto& line : lines)
    PrintLine(columns, line);
  if (lines.size() <= kMaxMeasured)
    return;
  while (rows->Next())
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

// Returns whether |path| is a file that begins as SQLite's do. Reads nothing of
// a pipe, which would be missing in the trace.
bool IsDatabase(const std::string& path) {
  constexpr std::string_view kBeginning("SQLite format 3\0", 16);
  struct stat status;
  if (path == "-" || stat(path.c_str(), &status) != 0 ||
      !S_ISREG(status.st_mode)) {
    return false;
  }
  const program::ScopedFile file(fopen(path.c_str(), "rb"));
  char bytes[kBeginning.size()];
  return file && fread(bytes, 1, sizeof(bytes), file.get()) == sizeof(bytes) &&
         std::string_view(bytes, sizeof(bytes)) == kBeginning;
}

// Returns the database in |file|, or one in memory for the trace in it, which
// |input| has then. Null, and has printed why, if there is none.
std::unique_ptr<Database> DatabaseOf(const std::string& file,
                                     std::optional<TraceInput>* input) {
  std::string why;
  if (IsDatabase(file)) {
    auto database = Database::Open(file, &why);
    if (!database) {
      program::PrintError(kProgram, "%s: %s", program::DisplayName(file),
                          why.c_str());
    }
    return database;
  }
  auto database = Database::CreateInMemory(&why);
  if (!database || !MakeTraceTables(database.get())) {
    program::PrintError(kProgram, "%s",
                        (database ? database->error() : why).c_str());
    return nullptr;
  }
  return input->emplace().Open(file, "sql") ? std::move(database) : nullptr;
}

}  // namespace

int SqlMain(int argc, char** argv) {
  std::string file;
  std::string query;
  std::string format_name;
  const program::Command command = {
      "pztrace sql",
      "[options] FILE QUERY",
      R"(Prints what a query in SQLite's SQL finds in a trace:

  pztrace sql FILE 'select name, count(*), sum(dur) from slice group by name'
)",
      {{"FILE",
        "a trace, or what pztrace export --format sqlite has made of one; - is "
        "the standard input",
        &file},
       {"QUERY", "one statement, which can only read", &query},
       {table::kFormatOption, table::kFormatHelp, &format_name}},
      R"(The tables have the names of Perfetto's trace processor: slice, thread_track,
args and so on. "select sql from sqlite_schema" prints them all.
)"};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  std::optional<table::TableFormat> format;
  if (!format_name.empty()) {
    std::string why;
    format = table::FormatOf(format_name, &why);
    if (!format)
      return WrongUsage(command, why);
  }
  const std::string problem = OutputProblem({file}, "-");
  if (!problem.empty())
    return WrongUsage(command, problem);
  std::optional<TraceInput> input;
  const auto database = DatabaseOf(file, &input);
  if (!database)
    return kFailure;
  const auto rows = database->Find(query);
  const bool is_whole =
      !rows || !input || FillTraceTables(file, &*input, database.get());
  if (rows && format)
    WriteTable(ColumnsOf(*rows), *format, rows.get());
  else if (rows)
    PrintText(ColumnsOf(*rows), rows.get());
  const bool is_printed = program::FlushStandardOutput(kProgram);
  if (!database->error().empty())
    program::PrintError(kProgram, "%s", database->error().c_str());
  return is_whole && is_printed && database->error().empty() ? kSuccess
                                                             : kFailure;
}

}  // namespace pztrace
