// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_ROW_WRITER_H_
#define SRC_PBZ_ROW_WRITER_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pbz {

// Writes a table: as CSV (RFC 4180, with a line of headings), or as one JSON
// object a line. The cells of a row come in the order of the columns.
class RowWriter {
 public:
  enum class Format { kCsv, kNdjson };

  // |out| gets blocks of rows, and what is left when this is destroyed. Whether
  // it has taken them is seen by its error state.
  RowWriter(FILE* out, Format format, const std::vector<std::string>& columns);
  ~RowWriter();
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // Of any bytes: those that are no UTF-8 become U+FFFD.
  void Text(std::string_view text);
  // In base64.
  void Bytes(std::string_view bytes);
  void Bool(bool value);
  void Number(int64_t number);
  void Number(uint64_t number);
  // As protobuf's JSON has them: "NaN", "Infinity" and "-Infinity" are strings.
  void Number(float number);
  void Number(double number);
  void Number(std::optional<int64_t> number);
  // An empty cell in CSV, as that of an empty text.
  void Null();
  // Part of the object of a line, and a text in CSV.
  void Json(std::string_view json);
  void EndRow();

  // Passes on the rows so far.
  void Flush();

 private:
  void BeginCell();
  void CsvText(std::string_view text);

  FILE* const out_;
  const Format format_;
  // What is in front of the values of a row: in JSON also the names.
  std::vector<std::string> cell_begins_;
  size_t next_column_ = 0;
  std::string rows_;
};

}  // namespace pbz

#endif  // SRC_PBZ_ROW_WRITER_H_
