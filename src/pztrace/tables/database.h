// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_DATABASE_H_
#define SRC_PZTRACE_TABLES_DATABASE_H_

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>
#include <string_view>

#include "src/table/row_writer.h"

namespace pztrace {

// The rows that a query has found.
class FoundRows {
 public:
  enum class CellType { kNull, kInteger, kReal, kText, kBytes };

  virtual ~FoundRows() = default;
  FoundRows(const FoundRows&) = delete;
  FoundRows& operator=(const FoundRows&) = delete;

  // Moves to the first or the next row. Returns false at the end, or if the
  // query has failed: then Database::error() says why.
  virtual bool Next() = 0;
  virtual bool has_failed() const = 0;
  // Goes back to the beginning, which runs the query again.
  virtual void Restart() = 0;

  virtual size_t num_columns() const = 0;
  virtual std::string NameOf(size_t column) const = 0;
  // Return a cell of the row. A cell of one type can be read as another one:
  // SQLite converts it. A text is valid until the next call.
  virtual CellType TypeOf(size_t column) = 0;
  virtual int64_t Integer(size_t column) = 0;
  virtual double Real(size_t column) = 0;
  virtual std::string_view Text(size_t column) = 0;

 protected:
  FoundRows() = default;
};

// A database of SQLite.
class Database {
 public:
  // Makes a database in the file |path|. An older file has its content
  // replaced. Returns null, and sets |why|, if it cannot, or if this build of
  // the program has no SQLite.
  static std::unique_ptr<Database> Create(const std::string& path,
                                          std::string* why);
  // Makes a database in memory for one query. Its tables are made, then Find()
  // says what they need, then rows are inserted and FinishRows() is called,
  // before the first row is asked for. Returns the same.
  static std::unique_ptr<Database> CreateInMemory(std::string* why);
  // Opens a file to read it. Returns the same.
  static std::unique_ptr<Database> Open(const std::string& path,
                                        std::string* why);

  virtual ~Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs statements that return no rows. Returns false if one has failed, now
  // or before.
  virtual bool Run(const char* statements) = 0;
  // Makes a table. |columns| are their names and types, with commas between
  // them. The first one may be the PRIMARY KEY.
  virtual bool MakeTable(const std::string& name,
                         const std::string& columns) = 0;
  // Return whether anything reads rows of the table, or that column of it: in
  // memory, it is only the query that does.
  virtual bool Reads(const char* table) const = 0;
  virtual bool Reads(const char* table, const char* column) const = 0;
  // Returns a writer of rows of a table with that many columns. Texts are UTF-8
  // in it: other bytes, and NUL, become U+FFFD. Unsigned numbers are the signed
  // ones of the same bits, because there are no others. The writer keeps no
  // beginnings of rows. REQUIRES: the database outlives it.
  virtual std::unique_ptr<table::RowWriter> Insert(const char* table,
                                                   size_t num_columns) = 0;
  // Ends inserting.
  virtual void FinishRows() = 0;
  // Makes each number in that column null that is no "id" of the table.
  // REQUIRES: FinishRows() was called.
  virtual void RemoveReferences(const char* table, const char* column) = 0;
  // Returns the rows that |query| finds: one statement, which only reads this
  // database. It cannot open, write or attach files. Returns null if that is
  // not so, or it is wrong; error() says why. From then on, nothing else can be
  // done with a file. REQUIRES: the database outlives the rows.
  virtual std::unique_ptr<FoundRows> Find(const std::string& query) = 0;
  // Returns the first error, or an empty text.
  virtual const std::string& error() const = 0;

 protected:
  Database() = default;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_DATABASE_H_
