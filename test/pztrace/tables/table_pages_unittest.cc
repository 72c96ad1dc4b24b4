// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Pages and schemas have the columns of tables as these are declared. A test
// that fails prints the text that the page has to have. Runs in the build
// directory, or anywhere in the source tree.

#include <stddef.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "src/pztrace/tables/exported_tables.h"
#include "src/pztrace/tables/table_columns.h"
#include "src/pztrace/tables/trace_tables.h"

namespace {

using pztrace::ColumnInfo;
using pztrace::TableInfo;
using pztrace::ValueType;

std::filesystem::path SourceRoot() {
  std::filesystem::path folder = std::filesystem::current_path();
  while (!std::filesystem::exists(folder / "docs" / "sql.md") &&
         folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

std::string ContentOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<TableInfo> ExportedTables() {
  std::vector<TableInfo> tables;
  for (size_t i = 0; i < pztrace::kNumTables; ++i) {
    tables.push_back(
        pztrace::ExportedTableInfo(static_cast<pztrace::ExportedTable>(i)));
  }
  return tables;
}

std::string TypeText(const ColumnInfo& column) {
  switch (column.type) {
    case ValueType::kText:
      return "text";
    case ValueType::kBool:
      return "bool";
    case ValueType::kInt64:
    case ValueType::kKey:
      return "int64";
    case ValueType::kUint32:
    case ValueType::kUint64:
      return "uint64";
    case ValueType::kDouble:
      return "double";
    case ValueType::kObject:
      return "JSON object";
    case ValueType::kNumbers:
      return "JSON array";
  }
  return "";
}

// A line of a table of columns.
struct Line {
  bool operator==(const Line& other) const {
    return names == other.names && about == other.about;
  }

  std::string names;
  std::string about;
  std::string types;
  bool is_time;
  std::vector<std::string_view> tables;
};

void AddUnlessThere(std::string_view text, std::string* list) {
  if ((", " + *list + ",").find(", " + std::string(text) + ",") !=
      std::string::npos) {
    return;
  }
  *list += list->empty() ? "" : ", ";
  *list += text;
}

// Returns the lines of a table. Columns without a sentence are on the line of
// those before.
std::vector<Line> LinesOf(const TableInfo& table) {
  std::vector<Line> lines;
  for (const ColumnInfo& column : table.columns) {
    if (lines.empty() || !column.about.empty())
      lines.push_back({"", std::string(column.about), "", false, {table.name}});
    Line& line = lines.back();
    AddUnlessThere(column.name, &line.names);
    AddUnlessThere(TypeText(column), &line.types);
    line.is_time |= column.unit == pztrace::Unit::kNs;
  }
  return lines;
}

std::string ExportedColumns() {
  const std::vector<TableInfo> tables = ExportedTables();
  std::vector<Line> lines;
  for (const TableInfo& table : tables) {
    for (const Line& line : LinesOf(table)) {
      const auto same = std::find(lines.begin(), lines.end(), line);
      if (same == lines.end())
        lines.push_back(line);
      else
        same->tables.push_back(table.name);
    }
  }
  std::string text = "| column | table | type | value |\n|---|---|---|---|\n";
  for (const Line& line : lines) {
    std::string of;
    for (const std::string_view table : line.tables)
      AddUnlessThere(table, &of);
    if (line.tables.size() == tables.size())
      of = "all";
    text += "| " + line.names + " | " + of + " | " + line.types +
            (line.is_time ? ", ns | " : " | ") + line.about + " |\n";
  }
  return text;
}

// Returns the line of docs/sql.md about a table.
std::string SqlLineOf(const TableInfo& table) {
  std::string text = "| `" + std::string(table.name) + "` | " +
                     std::string(table.about) + " | ";
  std::string_view separator = "";
  for (const ColumnInfo& column : table.columns) {
    text += separator;
    text += "`" + std::string(column.name) + "`";
    separator = ", ";
    if (column.about.empty())
      continue;
    text += ": " + std::string(column.about);
    separator = "; ";
  }
  return text + " |\n";
}

std::string ClickHouseTypeOf(const ColumnInfo& column) {
  switch (column.type) {
    case ValueType::kText:
      return "LowCardinality(String)";
    case ValueType::kBool:
      return "Bool";
    case ValueType::kInt64:
    case ValueType::kKey:
      return "Int64";
    case ValueType::kUint32:
      return "UInt32";
    case ValueType::kUint64:
      return "UInt64";
    case ValueType::kDouble:
      return "Float64";
    case ValueType::kObject:
      return "String";
    case ValueType::kNumbers:
      return "Array(UInt64)";
  }
  return "";
}

std::string ClickHouseTableOf(const TableInfo& table) {
  std::string text = "CREATE TABLE " + std::string(table.name) + " (";
  std::string_view separator = "\n";
  for (const ColumnInfo& column : table.columns) {
    const std::string type = ClickHouseTypeOf(column);
    text += separator;
    text += "  " + std::string(column.name) + " ";
    text += column.is_nullable ? "Nullable(" + type + ")" : type;
    separator = ",\n";
  }
  return text + "\n)";
}

TEST(TablePagesTest, APageHasTheColumnsOfExport) {
  constexpr std::string_view kMark = "<!-- columns of export -->\n";
  size_t num_pages = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(SourceRoot() / "docs")) {
    if (entry.path().extension() != ".md")
      continue;
    const std::string page = ContentOf(entry.path());
    const size_t mark = page.find(kMark);
    if (mark == std::string::npos)
      continue;
    ++num_pages;
    const size_t begin = mark + kMark.size();
    EXPECT_EQ(page.substr(begin, page.find("\n\n", begin) + 1 - begin),
              ExportedColumns())
        << entry.path();
  }
  EXPECT_EQ(num_pages, 1u) << "with " << kMark;
}

TEST(TablePagesTest, ThePageOfSqlHasItsTables) {
  const std::string page = ContentOf(SourceRoot() / "docs" / "sql.md");
  for (const TableInfo& table : pztrace::SqlTables()) {
    // Refers to the columns of export.
    if (table.name == "task")
      continue;
    EXPECT_NE(page.find("\n" + SqlLineOf(table)), std::string::npos)
        << SqlLineOf(table);
  }
}

TEST(TablePagesTest, TheSchemaOfTheFleetHasTheTablesOfExport) {
  const std::string schema =
      ContentOf(SourceRoot() / "examples" / "fleet" / "schema.sql");
  for (const TableInfo& table : ExportedTables()) {
    if (table.name == "tasks")
      continue;
    EXPECT_NE(schema.find("\n" + ClickHouseTableOf(table) + " ENGINE"),
              std::string::npos)
        << ClickHouseTableOf(table);
  }
}

}  // namespace
