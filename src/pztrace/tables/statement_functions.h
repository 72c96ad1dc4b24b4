// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_STATEMENT_FUNCTIONS_H_
#define SRC_PZTRACE_TABLES_STATEMENT_FUNCTIONS_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/pztrace/tables/sql_script.h"

struct sqlite3;
struct sqlite3_context;
struct sqlite3_stmt;
struct sqlite3_value;

namespace pztrace {

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const;
};
using ScopedStatement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

// Functions whose values, or tables, are what queries find. Their arguments are
// bound to the queries, so that no name in these is taken for another one.
class StatementFunctions {
 public:
  // REQUIRES: |database| outlives it, but is closed without another call.
  explicit StatementFunctions(sqlite3* database) : database_(database) {}
  StatementFunctions(const StatementFunctions&) = delete;
  StatementFunctions& operator=(const StatementFunctions&) = delete;

  // Adds a function, or replaces it. Returns a result code of SQLite.
  int Add(SqlFunction function);
  // Notes that a statement which is being prepared calls the function.
  void NoteCall(std::string_view name);
  // Prepares the queries of functions that were noted, and of those that they
  // call: a table in memory has to know what is read of it before it is filled.
  // Returns false if one is wrong: then the database says why.
  bool PrepareCalled();

 private:
  struct Function {
    SqlFunction said;
    StatementFunctions* owner;
    ScopedStatement statement;
  };
  // The table of a function, and a place in it.
  struct Table;
  struct Cursor;
  friend struct TableModule;

  static void Call(sqlite3_context* context,
                   int count,
                   sqlite3_value** arguments);

  // Returns the function's query. Null if it is wrong.
  static ScopedStatement Prepare(sqlite3* database,
                                 const SqlFunction& function);
  static void Bind(const SqlFunction& function,
                   sqlite3_value** arguments,
                   sqlite3_stmt* statement);

  sqlite3* const database_;
  // By their names in lower case. They stay at their addresses.
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions_;
  std::vector<std::unique_ptr<Function>> replaced_;
  std::vector<Function*> called_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_STATEMENT_FUNCTIONS_H_
