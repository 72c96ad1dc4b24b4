// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_ROW_WRITER_H_
#define SRC_PBZ_ROW_WRITER_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pbz {

struct Column {
  enum class Type { kBool, kInt64, kUint64, kDouble, kText, kBytes, kJson };

  std::string name;
  Type type = Type::kText;
};

enum class TableFormat {
  // RFC 4180, with a line of headings. An empty text is "", null is nothing.
  // Control characters other than tabs and line ends are \u001b and the like.
  kCsv,
  kNdjson,  // One JSON object a line.
  kArrow,   // The stream of Arrow's inter-process communication.
};

struct TableOptions {
  TableFormat format = TableFormat::kCsv;
  // In CSV, a text that a spreadsheet would compute begins with a '.
  bool escapes_formulas = false;
};

// Writes a table. The cells of a row come in the order of the columns, each of
// its column's type or null.
class RowWriter {
 public:
  // |out| gets blocks of rows, and what is left when the writer is destroyed.
  // Whether it has taken them is seen by its error state. REQUIRES: HasArrow()
  // if the format is Arrow.
  static std::unique_ptr<RowWriter> Create(FILE* out,
                                           const TableOptions& options,
                                           const std::vector<Column>& columns);

  virtual ~RowWriter() = default;
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // Of any bytes: those that are no UTF-8 become U+FFFD.
  virtual void Text(std::string_view text) = 0;
  // In base64, where there are no bytes.
  virtual void Bytes(std::string_view bytes) = 0;
  virtual void Bool(bool value) = 0;
  virtual void Number(int64_t number) = 0;
  virtual void Number(uint64_t number) = 0;
  // In text as protobuf's JSON has them: "NaN", "Infinity" and "-Infinity" are
  // strings. A float is a kDouble, too.
  virtual void Number(float number) = 0;
  virtual void Number(double number) = 0;
  // Part of the object of a line of JSON, a text otherwise.
  virtual void Json(std::string_view json) = 0;
  // A CSV of one column has "" for it, since an empty line is no row.
  virtual void Null() = 0;
  virtual void EndRow() = 0;

  // Cells that many rows begin with, as the table has them.
  struct Beginning {
    std::string bytes;
    size_t num_cells = 0;
  };
  // Keeps the cells of the row so far, none of which is null. They are for this
  // table, and for others of its format whose first columns are the same.
  virtual void KeepBeginning(Beginning* beginning) = 0;
  // Writes the first cells of a row.
  virtual void Begin(const Beginning& beginning) = 0;

  // Passes on the rows so far.
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

}  // namespace pbz

#endif  // SRC_PBZ_ROW_WRITER_H_
