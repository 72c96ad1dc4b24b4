// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/sqlite_rows.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include <string_view>
#include <utility>

#include "src/pztrace/tables/stored_table.h"

namespace pztrace {

namespace {

class InsertedRows : public table::RowWriter {
 public:
  InsertedRows(ScopedStatement statement, std::string* error)
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

  const ScopedStatement statement_;
  std::string* const error_;
  int column_ = 0;
};

class SqliteRows : public FoundRows {
 public:
  SqliteRows(ScopedStatement statement, std::string* error)
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
  const ScopedStatement statement_;
  std::string* const error_;
};

}  // namespace

std::unique_ptr<table::RowWriter> RowsInto(ScopedStatement statement,
                                           std::string* error) {
  return std::make_unique<InsertedRows>(std::move(statement), error);
}

std::unique_ptr<FoundRows> RowsOf(ScopedStatement statement,
                                  std::string* error) {
  return std::make_unique<SqliteRows>(std::move(statement), error);
}

}  // namespace pztrace
