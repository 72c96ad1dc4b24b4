// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_DATABASE_H_
#define SRC_PZTRACE_TABLES_DATABASE_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/pztrace/tables/found_rows.h"
#include "src/table/row_writer.h"

namespace pztrace {

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
  // Returns whether columns that are expressions of others have to be written.
  virtual bool is_in_memory() const = 0;
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
  // Sets what fills the tables of a database in memory, as far as they are
  // read. It is called at most once, and not if a query is wrong.
  virtual void set_fill(std::function<void()> fill) = 0;
  // Fills them with all that may be read, for more than one Find().
  virtual void FillAll() = 0;
  // Runs the statements of |query|, which only read this database, and make
  // views, tables and functions of their own. They cannot open, write or attach
  // files. Returns the rows that the last one finds; null if it finds none, or
  // one is wrong: then error() says why. From then on, nothing else can be done
  // with a file. REQUIRES: the database outlives the rows.
  virtual std::unique_ptr<FoundRows> Find(const std::string& query) = 0;
  // Returns the first error, or an empty text.
  virtual const std::string& error() const = 0;
  virtual void ClearError() = 0;

 protected:
  Database() = default;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_DATABASE_H_
