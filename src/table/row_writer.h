// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TABLE_ROW_WRITER_H_
#define SRC_TABLE_ROW_WRITER_H_

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>

namespace table {

struct Column {
  enum class Type { kBool, kInt64, kUint64, kDouble, kText, kBytes, kJson };

  std::string name;
  Type type = Type::kText;
};

// Writes a table. The cells of a row come in the order of the columns, each of
// its column's type or null.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // Writes any bytes. Those that are no UTF-8 become U+FFFD.
  virtual void Text(std::string_view text) = 0;
  // Writes bytes, in base64 if the format is a text.
  virtual void Bytes(std::string_view bytes) = 0;
  virtual void Bool(bool value) = 0;
  virtual void Number(int64_t number) = 0;
  virtual void Number(uint64_t number) = 0;
  // Writes a number. NaN and infinities are strings in text, like in protobuf's
  // JSON: "NaN", "Infinity" and "-Infinity". A float is a kDouble, too.
  virtual void Number(float number) = 0;
  virtual void Number(double number) = 0;
  // Writes JSON: a part of the object in NDJSON, a text in other formats.
  virtual void Json(std::string_view json) = 0;
  // Writes a null. A CSV of one column has "" for it, since an empty line is no
  // row.
  virtual void Null() = 0;
  virtual void EndRow() = 0;

  // Cells that many rows begin with, in the format of the table.
  struct Beginning {
    std::string bytes;
    size_t num_cells = 0;
  };
  // Keeps the cells of the row so far. REQUIRES: none is null. They can be used
  // in this table, and in others of its format that have the same first
  // columns.
  virtual void KeepBeginning(Beginning* beginning) = 0;
  // Writes the first cells of a row.
  virtual void Begin(const Beginning& beginning) = 0;

  // Passes the rows so far on to the file.
  virtual void Flush() = 0;

  void Number(std::optional<int64_t> number) {
    if (number)
      Number(*number);
    else
      Null();
  }

 protected:
  RowWriter() = default;
};

}  // namespace table

#endif  // SRC_TABLE_ROW_WRITER_H_
