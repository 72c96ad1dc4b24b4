// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/statement_functions.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <utility>

namespace pztrace {

namespace {

std::string LowerCaseOf(std::string_view name) {
  std::string lower(name);
  for (char& c : lower)
    c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string QuotedName(const char* name) {
  std::string quoted = "\"";
  for (; *name != '\0'; ++name)
    quoted += *name == '"' ? "\"\"" : std::string(1, *name);
  return quoted + '"';
}

void SetError(const std::string& error, sqlite3_vtab* table) {
  sqlite3_free(table->zErrMsg);
  table->zErrMsg = sqlite3_mprintf("%s", error.c_str());
}

}  // namespace

void FinalizeStatement::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

struct StatementFunctions::Table : sqlite3_vtab {
  Table(sqlite3* the_database, const SqlFunction& said, int columns)
      : sqlite3_vtab(),
        database(the_database),
        function(said),
        num_columns(columns) {}

  sqlite3* const database;
  const SqlFunction function;
  // The columns of the query. After them come its parameters.
  const int num_columns;
};

struct StatementFunctions::Cursor : sqlite3_vtab_cursor {
  Cursor() : sqlite3_vtab_cursor() {}
  ~Cursor() {
    for (sqlite3_value* const value : arguments)
      sqlite3_value_free(value);
  }

  ScopedStatement statement;
  std::vector<sqlite3_value*> arguments;
  bool is_at_end = true;
  int64_t row = 0;
};

// The functions of a virtual table of SQLite.
struct TableModule {
  using Table = StatementFunctions::Table;
  using Cursor = StatementFunctions::Cursor;

  static int Connect(sqlite3* database,
                     void* function,
                     int,
                     const char* const*,
                     sqlite3_vtab** table,
                     char** error) {
    const SqlFunction& said =
        static_cast<StatementFunctions::Function*>(function)->said;
    const ScopedStatement statement =
        StatementFunctions::Prepare(database, said);
    if (!statement) {
      *error = sqlite3_mprintf("%s(): %s", said.name.c_str(),
                               sqlite3_errmsg(database));
      return SQLITE_ERROR;
    }
    const int num_columns = sqlite3_column_count(statement.get());
    std::string columns = "CREATE TABLE x(";
    for (int i = 0; i < num_columns; ++i) {
      const char* const type = sqlite3_column_decltype(statement.get(), i);
      columns += (i == 0 ? "" : ", ") +
                 QuotedName(sqlite3_column_name(statement.get(), i)) + " " +
                 (type != nullptr ? type : "");
    }
    for (const std::string& parameter : said.parameters)
      columns += ", " + QuotedName(("$" + parameter).c_str()) + " HIDDEN";
    const int result = sqlite3_declare_vtab(database, (columns + ")").c_str());
    if (result != SQLITE_OK)
      return result;
    sqlite3_vtab_config(database, SQLITE_VTAB_DIRECTONLY);
    *table = new Table(database, said, num_columns);
    return SQLITE_OK;
  }

  static int Disconnect(sqlite3_vtab* table) {
    delete static_cast<Table*>(table);
    return SQLITE_OK;
  }

  // Asks for all arguments, in their order.
  static int BestIndex(sqlite3_vtab* table, sqlite3_index_info* index) {
    const Table& self = *static_cast<Table*>(table);
    const size_t count = self.function.parameters.size();
    std::vector<int> constraints(count, -1);
    std::vector<bool> is_given(count);
    for (int i = 0; i < index->nConstraint; ++i) {
      const auto& wanted = index->aConstraint[i];
      if (wanted.iColumn < self.num_columns ||
          wanted.op != SQLITE_INDEX_CONSTRAINT_EQ) {
        continue;
      }
      const auto parameter =
          static_cast<size_t>(wanted.iColumn - self.num_columns);
      is_given[parameter] = true;
      if (wanted.usable)
        constraints[parameter] = i;
    }
    for (size_t i = 0; i < count; ++i) {
      if (!is_given[i]) {
        SetError(self.function.name + "() takes " + std::to_string(count) +
                     (count == 1 ? " argument" : " arguments"),
                 table);
        return SQLITE_ERROR;
      }
      if (constraints[i] < 0)
        return SQLITE_CONSTRAINT;
      auto& usage = index->aConstraintUsage[constraints[i]];
      usage.argvIndex = static_cast<int>(i) + 1;
      usage.omit = 1;
    }
    index->estimatedCost = 1000;
    index->estimatedRows = 100;
    return SQLITE_OK;
  }

  static int Open(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
    const Table& self = *static_cast<Table*>(table);
    auto* const opened = new Cursor;
    *cursor = opened;
    opened->statement =
        StatementFunctions::Prepare(self.database, self.function);
    if (opened->statement)
      return SQLITE_OK;
    SetError(sqlite3_errmsg(self.database), table);
    delete opened;
    return SQLITE_ERROR;
  }

  static int Close(sqlite3_vtab_cursor* cursor) {
    delete static_cast<Cursor*>(cursor);
    return SQLITE_OK;
  }

  static int Filter(sqlite3_vtab_cursor* cursor,
                    int,
                    const char*,
                    int count,
                    sqlite3_value** values) {
    auto* const self = static_cast<Cursor*>(cursor);
    sqlite3_reset(self->statement.get());
    for (sqlite3_value* const value : self->arguments)
      sqlite3_value_free(value);
    self->arguments.clear();
    for (int i = 0; i < count; ++i)
      self->arguments.push_back(sqlite3_value_dup(values[i]));
    StatementFunctions::Bind(static_cast<Table*>(cursor->pVtab)->function,
                             values, self->statement.get());
    self->row = 0;
    return Next(cursor);
  }

  static int Next(sqlite3_vtab_cursor* cursor) {
    auto* const self = static_cast<Cursor*>(cursor);
    const int result = sqlite3_step(self->statement.get());
    self->is_at_end = result != SQLITE_ROW;
    ++self->row;
    if (result == SQLITE_ROW || result == SQLITE_DONE)
      return SQLITE_OK;
    const Table& table = *static_cast<Table*>(cursor->pVtab);
    SetError(sqlite3_errmsg(table.database), cursor->pVtab);
    return SQLITE_ERROR;
  }

  static int IsAtEnd(sqlite3_vtab_cursor* cursor) {
    return static_cast<Cursor*>(cursor)->is_at_end;
  }

  static int GiveCell(sqlite3_vtab_cursor* cursor,
                      sqlite3_context* context,
                      int column) {
    const Cursor& self = *static_cast<Cursor*>(cursor);
    const int num_columns = static_cast<Table*>(cursor->pVtab)->num_columns;
    sqlite3_result_value(
        context,
        column < num_columns
            ? sqlite3_column_value(self.statement.get(), column)
            : self.arguments[static_cast<size_t>(column - num_columns)]);
    return SQLITE_OK;
  }

  static int GiveRowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* row) {
    *row = static_cast<Cursor*>(cursor)->row;
    return SQLITE_OK;
  }

  static sqlite3_module Make() {
    sqlite3_module module = {};
    module.xConnect = Connect;
    module.xBestIndex = BestIndex;
    module.xDisconnect = Disconnect;
    module.xOpen = Open;
    module.xClose = Close;
    module.xFilter = Filter;
    module.xNext = Next;
    module.xEof = IsAtEnd;
    module.xColumn = GiveCell;
    module.xRowid = GiveRowId;
    return module;
  }
};

ScopedStatement StatementFunctions::Prepare(sqlite3* database,
                                            const SqlFunction& function) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, function.query.c_str(), -1, &statement, nullptr);
  return ScopedStatement(statement);
}

void StatementFunctions::Bind(const SqlFunction& function,
                              sqlite3_value** arguments,
                              sqlite3_stmt* statement) {
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const int index = sqlite3_bind_parameter_index(
        statement, ("$" + function.parameters[i]).c_str());
    if (index != 0)
      sqlite3_bind_value(statement, index, arguments[i]);
  }
}

int StatementFunctions::Add(SqlFunction said) {
  static const sqlite3_module kModule = TableModule::Make();
  std::string name = LowerCaseOf(said.name);
  std::unique_ptr<Function>& function = functions_[name];
  // Statements that call an older one may still be there.
  if (function)
    replaced_.push_back(std::move(function));
  function = std::make_unique<Function>(Function{std::move(said), this, {}});
  if (function->said.is_table) {
    return sqlite3_create_module(database_, name.c_str(), &kModule,
                                 function.get());
  }
  return sqlite3_create_function_v2(
      database_, name.c_str(),
      static_cast<int>(function->said.parameters.size()), SQLITE_UTF8,
      function.get(), Call, nullptr, nullptr, nullptr);
}

void StatementFunctions::NoteCall(std::string_view name) {
  const auto function = functions_.find(LowerCaseOf(name));
  if (function != functions_.end() && !function->second->statement)
    called_.push_back(function->second.get());
}

bool StatementFunctions::PrepareCalled() {
  while (!called_.empty()) {
    Function* const function = called_.back();
    called_.pop_back();
    if (function->statement)
      continue;
    function->statement = Prepare(database_, function->said);
    if (!function->statement)
      return false;
  }
  return true;
}

void StatementFunctions::Call(sqlite3_context* context,
                              int,
                              sqlite3_value** arguments) {
  auto* const self = static_cast<Function*>(sqlite3_user_data(context));
  if (!self->statement)
    self->statement = Prepare(self->owner->database_, self->said);
  sqlite3_stmt* const statement = self->statement.get();
  if (statement == nullptr) {
    return sqlite3_result_error(context, sqlite3_errmsg(self->owner->database_),
                                -1);
  }
  if (sqlite3_stmt_busy(statement)) {
    return sqlite3_result_error(
        context, ("a function cannot call itself: " + self->said.name).c_str(),
        -1);
  }
  Bind(self->said, arguments, statement);
  const int result = sqlite3_step(statement);
  if (result == SQLITE_ROW) {
    sqlite3_result_value(context, sqlite3_column_value(statement, 0));
  } else if (result != SQLITE_DONE) {
    sqlite3_result_error(context, sqlite3_errmsg(self->owner->database_), -1);
  }
  sqlite3_reset(statement);
}

}  // namespace pztrace
