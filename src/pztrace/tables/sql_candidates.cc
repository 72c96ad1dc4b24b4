// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/sql_candidates.h"

#include <sqlite3.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/program/command_line.h"
#include "src/pztrace/tables/sql_script.h"
#include "src/pztrace/tables/statement_functions.h"

namespace pztrace {

namespace {

// The texts that a query finds, with |argument| for ?1.
std::vector<std::string> TextsOf(sqlite3* database,
                                 const char* query,
                                 std::string_view argument = {}) {
  sqlite3_stmt* prepared = nullptr;
  sqlite3_prepare_v2(database, query, -1, &prepared, nullptr);
  const ScopedStatement statement(prepared);
  if (!statement)
    return {};
  sqlite3_bind_text(prepared, 1, argument.data(),
                    static_cast<int>(argument.size()), SQLITE_TRANSIENT);
  std::vector<std::string> texts;
  while (sqlite3_step(prepared) == SQLITE_ROW) {
    const auto* const text =
        reinterpret_cast<const char*>(sqlite3_column_text(prepared, 0));
    texts.emplace_back(text != nullptr ? text : "");
  }
  return texts;
}

constexpr char kTables[] =
    "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') UNION "
    "SELECT name FROM sqlite_temp_schema WHERE type IN ('table', 'view') UNION "
    "SELECT name FROM pragma_module_list WHERE name NOT LIKE 'pragma%'";

// Returns the columns of the tables in |query|, or of all if it names none.
std::vector<std::string> ColumnsIn(const std::string& query,
                                   sqlite3* database) {
  const std::vector<std::string> tables = TextsOf(database, kTables);
  const std::vector<SqlToken> tokens = SqlTokensOf(query);
  std::vector<std::string> columns;
  std::vector<std::string> all;
  for (const std::string& table : tables) {
    const bool is_named =
        std::any_of(tokens.begin(), tokens.end(),
                    [&](const SqlToken& token) { return token.Is(table); });
    for (std::string& column :
         TextsOf(database, "SELECT name FROM pragma_table_xinfo(?1)", table)) {
      if (is_named)
        columns.push_back(column);
      all.push_back(std::move(column));
    }
  }
  return columns.empty() ? all : columns;
}

}  // namespace

std::string CandidatesFor(const std::string& error,
                          const std::string& query,
                          sqlite3* database) {
  const auto name_after = [&error](std::string_view beginning) {
    if (error.compare(0, beginning.size(), beginning) != 0)
      return std::string();
    // A name may have the table's in front of it.
    const size_t dot = error.rfind('.');
    return error.substr(dot == std::string::npos ? beginning.size() : dot + 1);
  };
  std::vector<std::string> names;
  std::string missing = name_after("no such column: ");
  if (!missing.empty()) {
    names = ColumnsIn(query, database);
  } else if (!(missing = name_after("no such table: ")).empty()) {
    names = TextsOf(database, kTables);
  } else if (!(missing = name_after("no such function: ")).empty()) {
    names = TextsOf(database, "SELECT DISTINCT name FROM pragma_function_list");
  }
  if (missing.empty())
    return {};
  std::string suggestion = program::Suggestion(missing, names);
  suggestion.erase(std::remove(suggestion.begin(), suggestion.end(), '\''),
                   suggestion.end());
  return suggestion;
}

}  // namespace pztrace
