// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_FOUND_ROWS_H_
#define SRC_PZTRACE_TABLES_FOUND_ROWS_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>

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

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_FOUND_ROWS_H_
