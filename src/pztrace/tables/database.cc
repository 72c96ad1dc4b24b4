// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/database.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "src/program/io.h"
#include "src/pztrace/tables/database_tables.h"
#include "src/pztrace/tables/span_join.h"
#include "src/pztrace/tables/sql_candidates.h"
#include "src/pztrace/tables/sql_functions.h"
#include "src/pztrace/tables/sql_library.h"
#include "src/pztrace/tables/sql_script.h"
#include "src/pztrace/tables/sqlite_rows.h"
#include "src/pztrace/tables/state_times.h"
#include "src/pztrace/tables/statement_functions.h"
#include "src/pztrace/tables/stored_table.h"
#include "src/pztrace/trace_file/output_file.h"

namespace pztrace {

namespace {

// The database of what queries make.
constexpr char kOwn[] = "temp";

// The words that statements which find no rows begin with.
constexpr std::string_view kMaking[] = {"CREATE", "DROP",   "INSERT", "REPLACE",
                                        "UPDATE", "DELETE", "WITH"};
constexpr std::string_view kReadingPragmas[] = {"table_info", "table_xinfo",
                                                "table_list", "function_list",
                                                "index_list", "module_list"};

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using ScopedDatabase = std::unique_ptr<sqlite3, CloseDatabase>;

class SqliteDatabase : public Database {
 public:
  bool Open(const std::string& path, int flags, const char* vfs = nullptr) {
    sqlite3* database = nullptr;
    const int result = sqlite3_open_v2(path.c_str(), &database,
                                       flags | SQLITE_OPEN_NOMUTEX, vfs);
    database_.reset(database);
    return Check(result);
  }

  // Opens a database whose log holds changes, but that no program has open.
  // The index of the log is in memory then, and nothing changes the files.
  bool OpenWithLog(const std::string& path) {
    return Open(path, SQLITE_OPEN_READONLY, "unix-none") &&
           Check(sqlite3_db_config(database_.get(),
                                   SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                                   nullptr)) &&
           Run("PRAGMA locking_mode = EXCLUSIVE");
  }

  bool Run(const char* statements) override {
    return error_.empty() && Check(sqlite3_exec(database_.get(), statements,
                                                nullptr, nullptr, nullptr));
  }

  // Lets it have tables in memory.
  bool MakeInMemory() {
    is_in_memory_ = true;
    return Open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) &&
           Check(AddTraceModule(database_.get(), &tables_));
  }

  bool is_in_memory() const override { return is_in_memory_; }

  bool MakeTable(const std::string& name, const std::string& columns) override {
    if (!is_in_memory_)
      return Run(("CREATE TABLE " + name + "(" + columns + ")").c_str());
    tables_[name] = std::make_unique<StoredTable>(columns, &texts_);
    return Run(
        ("CREATE VIRTUAL TABLE " + name + " USING trace(" + columns + ")")
            .c_str());
  }

  bool Reads(const char* table) const override {
    return !is_in_memory_ || tables_.at(table)->is_read();
  }
  bool Reads(const char* table, const char* column) const override {
    return !is_in_memory_ || tables_.at(table)->Reads(column);
  }

  std::unique_ptr<table::RowWriter> Insert(const char* table,
                                           size_t num_columns) override {
    if (is_in_memory_)
      return tables_.at(table)->Insert();
    std::string text = std::string("INSERT INTO ") + table + " VALUES(?";
    for (size_t i = 1; i < num_columns; ++i)
      text += ",?";
    return RowsInto(Prepare((text + ")").c_str()), &error_);
  }

  void FinishRows() override {
    for (const auto& [name, table] : tables_)
      table->Finish();
  }
  void RemoveReferences(const char* table, const char* column) override {
    if (is_in_memory_)
      return tables_.at(table)->RemoveReferences(column);
    const std::string name = table;
    Run(("UPDATE " + name + " SET " + column + " = NULL WHERE " + column +
         " NOT IN (SELECT id FROM " + name + ")")
            .c_str());
  }

  void set_fill(std::function<void()> fill) override {
    fill_ = std::move(fill);
  }
  void FillAll() override;
  std::unique_ptr<FoundRows> Find(const std::string& query) override;

  const std::string& error() const override { return error_; }
  void ClearError() override { error_.clear(); }

 private:
  static int Authorize(void* self,
                       int action,
                       const char* table,
                       const char* function,
                       const char*,
                       const char*);
  bool MayDo(int action,
             std::string_view first,
             std::string_view second,
             std::string_view database);
  bool Restrict();
  bool Define(const SqlStatement& statement);
  bool RunToLast(const std::string& sql, ScopedStatement* last);
  bool Finish(sqlite3_stmt* statement);
  std::unique_ptr<FoundRows> RunAll(const std::vector<std::string>& texts);
  void FillOnce();

  bool Check(int result) {
    if (result != SQLITE_OK && error_.empty())
      error_ = database_ ? sqlite3_errmsg(database_.get()) : "out of memory";
    return result == SQLITE_OK;
  }
  // Returns null if there is no statement in |text|, or it is wrong. Sets
  // |rest| to what is after the statement.
  ScopedStatement Prepare(const char* text, const char** rest = nullptr) {
    sqlite3_stmt* statement = nullptr;
    Check(sqlite3_prepare_v2(database_.get(), text, -1, &statement, rest));
    return ScopedStatement(statement);
  }

  // A database in memory has these tables; a file has its own.
  StoredTexts texts_;
  StoredTables tables_;
  bool is_in_memory_ = false;
  ScopedDatabase database_;
  std::function<void()> fill_;
  SqlScript script_;
  std::unique_ptr<StatementFunctions> functions_;  // Null until Restrict().
  bool is_refused_ = false;
  std::string error_;
};

// Returns whether a query may do this to |database|, which SQLite calls "main",
// or "temp" if it is for what queries make.
bool SqliteDatabase::MayDo(int action,
                           std::string_view first,
                           std::string_view second,
                           std::string_view database) {
  const auto is_one_of = [](std::string_view word, const auto& words) {
    return std::find(std::begin(words), std::end(words), word) !=
           std::end(words);
  };
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_DROP_TEMP_INDEX:
    case SQLITE_DROP_TEMP_TABLE:
    case SQLITE_DROP_TEMP_VIEW:
      return true;
    case SQLITE_FUNCTION:
      functions_->NoteCall(second);
      return second != "load_extension";
    case SQLITE_PRAGMA:
      return is_one_of(first, kReadingPragmas);
    case SQLITE_CREATE_VTABLE:
      return database == kOwn && IsSpanJoin(second);
    case SQLITE_UPDATE:
      // So SQLite declares the columns of json_each(). It lets no statement do
      // this.
      return database == kOwn || first == "sqlite_master";
    case SQLITE_INSERT:
    case SQLITE_DELETE:
    case SQLITE_DROP_VTABLE:
    case SQLITE_REINDEX:
      return database == kOwn;
  }
  return false;
}

int SqliteDatabase::Authorize(void* database,
                              int action,
                              const char* first,
                              const char* second,
                              const char* name,
                              const char*) {
  const auto text = [](const char* word) {
    return word != nullptr ? std::string_view(word) : std::string_view();
  };
  auto* const self = static_cast<SqliteDatabase*>(database);
  if (self->MayDo(action, text(first), text(second), text(name)))
    return SQLITE_OK;
  self->is_refused_ = true;
  return SQLITE_DENY;
}

// Forbids all but reading, and gives queries what they may use. What the file
// says itself is not trusted: its views cannot call functions such as
// extract_arg(), which could call itself.
bool SqliteDatabase::Restrict() {
  if (functions_)
    return true;
  functions_ = std::make_unique<StatementFunctions>(database_.get());
  // A large sort would make a temporary file.
  if (!Run("PRAGMA temp_store = MEMORY") ||
      !Check(sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA,
                               0, nullptr)) ||
      !Check(AddSqlFunctions(database_.get())) ||
      !Check(AddSpanJoins(database_.get())) ||
      !Check(AddStateTimes(database_.get()))) {
    return false;
  }
  for (const std::string& text : SqlScript::Split(kSqlLibrary)) {
    SqlStatement statement;
    if (!script_.Read(text, &statement, &error_) || !Define(statement))
      return false;
  }
  return Check(sqlite3_set_authorizer(database_.get(), Authorize, this));
}

// Does what needs no rows.
bool SqliteDatabase::Define(const SqlStatement& statement) {
  if (statement.kind == SqlStatement::Kind::kFunction)
    return Check(functions_->Add(statement.function));
  ScopedStatement prepared;
  return statement.sql.empty() || (RunToLast(statement.sql, &prepared) &&
                                   (!prepared || Finish(prepared.get())));
}

// Prepares the last statement in |sql|, and runs those before it.
bool SqliteDatabase::RunToLast(const std::string& sql, ScopedStatement* last) {
  for (const char* rest = sql.c_str(); *rest != '\0';) {
    if (*last && !Finish(last->get()))
      return false;
    const std::vector<SqlToken> tokens = SqlTokensOf(rest);
    *last = Prepare(rest, &rest);
    const bool is_making =
        !tokens.empty() &&
        std::any_of(std::begin(kMaking), std::end(kMaking),
                    [&](std::string_view word) { return tokens[0].Is(word); });
    // VACUUM INTO is refused only when it runs, and REINDEX only if there is an
    // index.
    if (*last && !is_making &&
        (!sqlite3_stmt_readonly(last->get()) ||
         sqlite3_column_count(last->get()) == 0)) {
      is_refused_ = true;
    }
    if (is_refused_) {
      error_ =
          "a query can only read this database, and make views and tables of "
          "its own";
    }
    if (!error_.empty())
      return false;
  }
  return functions_->PrepareCalled() || Check(SQLITE_ERROR);
}

bool SqliteDatabase::Finish(sqlite3_stmt* statement) {
  int result;
  do
    result = sqlite3_step(statement);
  while (result == SQLITE_ROW);
  return result == SQLITE_DONE || Check(result);
}

void SqliteDatabase::FillAll() {
  for (const auto& [name, table] : tables_)
    table->SetRead(~uint64_t{0});
  FillOnce();
}

void SqliteDatabase::FillOnce() {
  if (const auto fill = std::exchange(fill_, nullptr))
    fill();
}

std::unique_ptr<FoundRows> SqliteDatabase::Find(const std::string& query) {
  is_refused_ = false;
  const std::vector<std::string> texts = SqlScript::Split(query);
  if (error_.empty() && texts.empty())
    error_ = "the query is empty";
  auto rows = Restrict() && error_.empty() ? RunAll(texts) : nullptr;
  if (!error_.empty())
    error_ += CandidatesFor(error_, query, database_.get());
  return rows;
}

std::unique_ptr<FoundRows> SqliteDatabase::RunAll(
    const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const bool is_last = &text == &texts.back();
    SqlStatement statement;
    if (!script_.Read(text, &statement, &error_))
      return nullptr;
    if (statement.kind != SqlStatement::Kind::kReads) {
      if (!Define(statement))
        return nullptr;
      continue;
    }
    if (!is_last)
      FillAll();
    ScopedStatement last;
    if (!RunToLast(statement.sql, &last))
      return nullptr;
    // The tables have to know what it reads before they are filled.
    FillOnce();
    if (is_last && sqlite3_column_count(last.get()) != 0)
      return RowsOf(std::move(last), &error_);
    if (!Finish(last.get()))
      return nullptr;
  }
  return nullptr;
}

// Returns false, and sets |why|, if |path| is no file that can be replaced.
bool EmptyFile(const std::string& path, std::string* why) {
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    *why = "a database needs a file";
    return false;
  }
  const int file = OpenOutput(path, 0, why);
  if (file < 0)
    return false;
  const bool is_empty = EmptyOutput(file);
  if (!is_empty)
    *why = strerror(errno);
  close(file);
  return is_empty;
}

// The files beside a database in WAL mode: its log, and the index of that,
// which is there while a program has the database open.
enum class LogFiles { kNone, kLogAlone, kLogAndIndex };

// Returns the files beside a database; nothing if it is in no WAL mode.
std::optional<LogFiles> LogFilesOf(const std::string& path) {
  // The versions of the file's format that writing and reading need.
  constexpr size_t kVersions = 18;
  constexpr char kWal = 2;
  char bytes[kVersions + 2] = {};
  const program::ScopedFile file(fopen(path.c_str(), "rb"));
  if (!file || fread(bytes, 1, sizeof(bytes), file.get()) != sizeof(bytes) ||
      bytes[kVersions] != kWal || bytes[kVersions + 1] != kWal) {
    return std::nullopt;
  }
  struct stat status;
  if (stat((path + "-wal").c_str(), &status) != 0)
    return LogFiles::kNone;
  const bool is_empty = status.st_size == 0;
  if (stat((path + "-shm").c_str(), &status) == 0)
    return LogFiles::kLogAndIndex;
  return is_empty ? LogFiles::kNone : LogFiles::kLogAlone;
}

// Returns the URI of a file that nothing changes.
std::string ImmutableUri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%' || c == '?' || c == '#')
      uri += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    else
      uri += c;
  }
  return uri + "?immutable=1";
}

std::unique_ptr<Database> OpenDatabase(const std::string& path,
                                       int flags,
                                       std::string* why) {
  auto database = std::make_unique<SqliteDatabase>();
  if (!database->Open(path, flags)) {
    *why = database->error();
    return nullptr;
  }
  return database;
}

// Returns a name that SQLite takes for that of a file.
std::string FileName(const std::string& path) {
  return path[0] == '/' ? path : "./" + path;
}

}  // namespace

std::unique_ptr<Database> Database::Create(const std::string& path,
                                           std::string* why) {
  if (!EmptyFile(path, why))
    return nullptr;
  auto database = OpenDatabase(FileName(path),
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, why);
  // A file that is not complete is of no use, so it needs no journal.
  if (database && !database->Run("PRAGMA journal_mode = OFF;"
                                 "PRAGMA synchronous = OFF;"
                                 "PRAGMA locking_mode = EXCLUSIVE;"
                                 "PRAGMA cache_size = -32768")) {
    *why = database->error();
    return nullptr;
  }
  return database;
}

std::unique_ptr<Database> Database::CreateInMemory(std::string* why) {
  auto database = std::make_unique<SqliteDatabase>();
  if (database->MakeInMemory())
    return database;
  *why = database->error();
  return nullptr;
}

std::unique_ptr<Database> Database::Open(const std::string& path,
                                         std::string* why) {
  // SQLite looks for the log of the file that a link refers to.
  const std::unique_ptr<char, decltype(&free)> real(
      realpath(path.c_str(), nullptr), &free);
  const std::string name = real ? real.get() : FileName(path);
  const std::optional<LogFiles> log = LogFilesOf(name);
  // SQLite would make the files of the mode, or fail where it cannot.
  if (log == LogFiles::kNone) {
    return OpenDatabase(ImmutableUri(name),
                        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, why);
  }
  if (log != LogFiles::kLogAlone)
    return OpenDatabase(name, SQLITE_OPEN_READONLY, why);
  auto database = std::make_unique<SqliteDatabase>();
  if (database->OpenWithLog(name))
    return database;
  *why = database->error();
  return nullptr;
}

}  // namespace pztrace
