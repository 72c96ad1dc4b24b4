// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/database.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "src/program/io.h"
#include "src/pztrace/tables/database_tables.h"
#include "src/pztrace/tables/stored_table.h"
#include "src/pztrace/trace_file/output_file.h"

namespace pztrace {

namespace {

constexpr char kExtractArg[] = "extract_arg";

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using ScopedDatabase = std::unique_ptr<sqlite3, CloseDatabase>;

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
  }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

// Writes rows by an INSERT statement. Rows after the first failure are ignored.
class InsertedRows : public table::RowWriter {
 public:
  InsertedRows(Statement statement, std::string* error)
      : statement_(std::move(statement)), error_(error) {}

  void Text(std::string_view text) override {
    if (IsWholeText(text))
      Bind(text);
    else
      Bind(WholeText(text));
  }
  void Bytes(std::string_view bytes) override {
    Check(sqlite3_bind_blob64(statement_.get(), ++column_,
                              bytes.empty() ? "" : bytes.data(), bytes.size(),
                              SQLITE_TRANSIENT));
  }
  void Bool(bool value) override { Number(int64_t{value}); }
  void Number(int64_t number) override {
    Check(sqlite3_bind_int64(statement_.get(), ++column_, number));
  }
  void Number(uint64_t number) override {
    Number(static_cast<int64_t>(number));
  }
  void Number(float number) override { Number(static_cast<double>(number)); }
  void Number(double number) override {
    Check(sqlite3_bind_double(statement_.get(), ++column_, number));
  }
  void Json(std::string_view json) override { Text(json); }
  void Null() override {
    Check(sqlite3_bind_null(statement_.get(), ++column_));
  }
  void EndRow() override {
    column_ = 0;
    if (!error_->empty())
      return;
    sqlite3_step(statement_.get());
    Check(sqlite3_reset(statement_.get()));
  }
  void KeepBeginning(Beginning*) override {}
  void Begin(const Beginning&) override {}
  void Flush() override {}

 private:
  void Bind(std::string_view text) {
    Check(sqlite3_bind_text64(statement_.get(), ++column_,
                              text.empty() ? "" : text.data(), text.size(),
                              SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  void Check(int result) {
    if (result != SQLITE_OK && error_->empty())
      *error_ = sqlite3_errmsg(sqlite3_db_handle(statement_.get()));
  }

  const Statement statement_;
  std::string* const error_;
  int column_ = 0;
};

class SqliteRows : public FoundRows {
 public:
  SqliteRows(Statement statement, std::string* error)
      : statement_(std::move(statement)), error_(error) {}

  bool Next() override {
    const int result = sqlite3_step(statement_.get());
    if (result != SQLITE_ROW && result != SQLITE_DONE && error_->empty())
      *error_ = sqlite3_errmsg(sqlite3_db_handle(statement_.get()));
    return result == SQLITE_ROW;
  }
  bool has_failed() const override { return !error_->empty(); }
  void Restart() override { sqlite3_reset(statement_.get()); }
  size_t num_columns() const override {
    return static_cast<size_t>(sqlite3_column_count(statement_.get()));
  }
  std::string NameOf(size_t column) const override {
    const char* const name =
        sqlite3_column_name(statement_.get(), static_cast<int>(column));
    return name != nullptr ? name : "";
  }
  CellType TypeOf(size_t column) override {
    switch (sqlite3_column_type(statement_.get(), static_cast<int>(column))) {
      case SQLITE_INTEGER:
        return CellType::kInteger;
      case SQLITE_FLOAT:
        return CellType::kReal;
      case SQLITE_TEXT:
        return CellType::kText;
      case SQLITE_BLOB:
        return CellType::kBytes;
    }
    return CellType::kNull;
  }
  int64_t Integer(size_t column) override {
    return sqlite3_column_int64(statement_.get(), static_cast<int>(column));
  }
  double Real(size_t column) override {
    return sqlite3_column_double(statement_.get(), static_cast<int>(column));
  }
  std::string_view Text(size_t column) override {
    // A blob gives its bytes, any other cell its text.
    const int index = static_cast<int>(column);
    const void* const bytes =
        TypeOf(column) == CellType::kBytes
            ? sqlite3_column_blob(statement_.get(), index)
            : sqlite3_column_text(statement_.get(), index);
    if (bytes == nullptr)
      return {};
    return {static_cast<const char*>(bytes),
            static_cast<size_t>(sqlite3_column_bytes(statement_.get(), index))};
  }

 private:
  const Statement statement_;
  std::string* const error_;
};

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
    return std::make_unique<InsertedRows>(Prepare((text + ")").c_str()),
                                          &error_);
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

  std::unique_ptr<FoundRows> Find(const std::string& query) override;

  const std::string& error() const override { return error_; }

 private:
  static int Authorize(void* self,
                       int action,
                       const char* table,
                       const char* function,
                       const char*,
                       const char*);
  static void ExtractArg(sqlite3_context* context,
                         int,
                         sqlite3_value** arguments);

  bool Check(int result) {
    if (result != SQLITE_OK && error_.empty())
      error_ = database_ ? sqlite3_errmsg(database_.get()) : "out of memory";
    return result == SQLITE_OK;
  }
  // Returns null if there is no statement in |text|, or it is wrong. Sets
  // |rest| to what is after the statement.
  Statement Prepare(const char* text, const char** rest = nullptr) {
    sqlite3_stmt* statement = nullptr;
    Check(sqlite3_prepare_v2(database_.get(), text, -1, &statement, rest));
    return Statement(statement);
  }
  bool Restrict();
  void PrepareExtractArg();

  // A database in memory has these tables; a file has its own.
  StoredTexts texts_;
  StoredTables tables_;
  bool is_in_memory_ = false;
  ScopedDatabase database_;
  Statement find_arg_;
  bool is_refused_ = false;
  bool extracts_args_ = false;
  std::string error_;
};

// Returns SQLITE_OK for what a query needs to read the database.
int SqliteDatabase::Authorize(void* database,
                              int action,
                              const char* table,
                              const char* function,
                              const char*,
                              const char*) {
  auto* const self = static_cast<SqliteDatabase*>(database);
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      if (strcmp(function, kExtractArg) == 0)
        self->extracts_args_ = true;
      if (strcmp(function, "load_extension") != 0)
        return SQLITE_OK;
      break;
    case SQLITE_UPDATE:
      // So SQLite declares the columns of json_each(). It lets no statement do
      // this.
      if (strcmp(table, "sqlite_master") == 0)
        return SQLITE_OK;
      break;
  }
  self->is_refused_ = true;
  return SQLITE_DENY;
}

void SqliteDatabase::PrepareExtractArg() {
  find_arg_ = Prepare(
      "SELECT coalesce(int_value, real_value, string_value) FROM args "
      "WHERE arg_set_id = ?1 AND key = ?2");
}

// Implements extract_arg(arg_set_id, key), which Perfetto's trace processor
// has, too.
void SqliteDatabase::ExtractArg(sqlite3_context* context,
                                int,
                                sqlite3_value** arguments) {
  auto* const self = static_cast<SqliteDatabase*>(sqlite3_user_data(context));
  if (!self->find_arg_)
    self->PrepareExtractArg();
  sqlite3_stmt* const find = self->find_arg_.get();
  if (find == nullptr)
    return sqlite3_result_error(context, self->error_.c_str(), -1);
  sqlite3_bind_value(find, 1, arguments[0]);
  sqlite3_bind_value(find, 2, arguments[1]);
  if (sqlite3_step(find) == SQLITE_ROW)
    sqlite3_result_value(context, sqlite3_column_value(find, 0));
  sqlite3_reset(find);
}

// Forbids all but reading. What the file says itself is not trusted: its views
// cannot call functions such as extract_arg(), which could call itself.
bool SqliteDatabase::Restrict() {
  // A large sort would make a temporary file.
  return Run("PRAGMA temp_store = MEMORY") &&
         Check(sqlite3_db_config(database_.get(),
                                 SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr)) &&
         Check(sqlite3_create_function_v2(database_.get(), kExtractArg, 2,
                                          SQLITE_UTF8, this, ExtractArg,
                                          nullptr, nullptr, nullptr)) &&
         Check(sqlite3_set_authorizer(database_.get(), Authorize, this));
}

std::unique_ptr<FoundRows> SqliteDatabase::Find(const std::string& query) {
  if (!Restrict())
    return nullptr;
  const char* rest = nullptr;
  Statement statement = Prepare(query.c_str(), &rest);
  // VACUUM INTO is refused only when it runs, and REINDEX only if there is an
  // index.
  if (is_refused_ ||
      (statement && (!sqlite3_stmt_readonly(statement.get()) ||
                     sqlite3_column_count(statement.get()) == 0)))
    error_ = "a query can only read this database: SELECT, WITH or VALUES";
  else if (error_.empty() && !statement)
    error_ = "the query is empty";
  else if (error_.empty() && Prepare(rest) != nullptr)
    error_ = "only one query can be asked";
  // The tables have to know what it reads before they are filled.
  if (error_.empty() && is_in_memory_ && extracts_args_)
    PrepareExtractArg();
  if (!error_.empty())
    return nullptr;
  return std::make_unique<SqliteRows>(std::move(statement), &error_);
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
enum class LogFiles { kNone, kLog, kLogAndIndex };

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
  return is_empty ? LogFiles::kNone : LogFiles::kLog;
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
  if (log != LogFiles::kLog)
    return OpenDatabase(name, SQLITE_OPEN_READONLY, why);
  auto database = std::make_unique<SqliteDatabase>();
  if (database->OpenWithLog(name))
    return database;
  *why = database->error();
  return nullptr;
}

}  // namespace pztrace
