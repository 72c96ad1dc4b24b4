// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/row_writer.h"

#include <math.h>
#include <stddef.h>

#include "src/pbz/arrow_rows.h"
#include "src/pbz/text.h"

namespace pbz {

namespace {

constexpr size_t kBlockSize = size_t{1} << 16;

class TextRows : public RowWriter {
 public:
  TextRows(FILE* out, TableFormat format, const std::vector<Column>& columns);
  ~TextRows() override;

  void Text(std::string_view text) override;
  void Bytes(std::string_view bytes) override;
  void Bool(bool value) override;
  void Number(int64_t number) override;
  void Number(uint64_t number) override;
  void Number(float number) override;
  void Number(double number) override;
  void Json(std::string_view json) override;
  void Null() override;
  void EndRow() override;
  void Flush() override;

 private:
  void BeginCell();
  void CsvText(std::string_view text);

  FILE* const out_;
  const TableFormat format_;
  // What is in front of the values of a row: in JSON also the names.
  std::vector<std::string> cell_begins_;
  size_t next_column_ = 0;
  std::string rows_;
};

TextRows::TextRows(FILE* out,
                   TableFormat format,
                   const std::vector<Column>& columns)
    : out_(out), format_(format) {
  for (const Column& column : columns) {
    const bool is_first = cell_begins_.empty();
    std::string begin;
    if (format_ == TableFormat::kNdjson) {
      begin = is_first ? '{' : ',';
      AppendJsonString(column.name, &begin);
      begin += ':';
    } else if (!is_first) {
      begin = ',';
    }
    cell_begins_.push_back(begin);
  }
  if (format_ == TableFormat::kNdjson)
    return;
  for (const Column& column : columns)
    Text(column.name);
  EndRow();
}

TextRows::~TextRows() {
  Flush();
}

void TextRows::Text(std::string_view text) {
  BeginCell();
  if (format_ == TableFormat::kNdjson)
    AppendJsonString(text, &rows_);
  else if (IsUtf8(text))
    CsvText(text);
  else
    CsvText(MadeUtf8(text));
}

void TextRows::Bytes(std::string_view bytes) {
  const char* const quote = format_ == TableFormat::kNdjson ? "\"" : "";
  BeginCell();
  rows_ += quote;
  AppendBase64(bytes, &rows_);
  rows_ += quote;
}

void TextRows::Bool(bool value) {
  BeginCell();
  rows_ += value ? "true" : "false";
}

void TextRows::Number(int64_t number) {
  BeginCell();
  rows_ += std::to_string(number);
}

void TextRows::Number(uint64_t number) {
  BeginCell();
  rows_ += std::to_string(number);
}

void TextRows::Number(float number) {
  if (!isfinite(number))
    return Text(NonFiniteName(static_cast<double>(number)));
  BeginCell();
  AppendFloat(number, &rows_);
}

void TextRows::Number(double number) {
  if (!isfinite(number))
    return Text(NonFiniteName(number));
  BeginCell();
  AppendDouble(number, &rows_);
}

void TextRows::Json(std::string_view json) {
  BeginCell();
  if (format_ == TableFormat::kNdjson)
    rows_ += json;
  else
    CsvText(json);
}

void TextRows::EndRow() {
  // Readers take an empty line for no row.
  if (format_ == TableFormat::kCsv && cell_begins_.size() == 1 &&
      (rows_.empty() || rows_.back() == '\n')) {
    rows_ += "\"\"";
  }
  rows_ += format_ == TableFormat::kNdjson ? "}\n" : "\r\n";
  next_column_ = 0;
  if (rows_.size() >= kBlockSize)
    Flush();
}

void TextRows::BeginCell() {
  rows_ += cell_begins_[next_column_++];
}

void TextRows::Null() {
  BeginCell();
  if (format_ == TableFormat::kNdjson)
    rows_ += "null";
}

void TextRows::CsvText(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) {
    rows_ += text;
    return;
  }
  rows_ += '"';
  for (size_t quote = 0; (quote = text.find('"')) != text.npos;) {
    rows_ += text.substr(0, quote + 1);
    rows_ += '"';
    text.remove_prefix(quote + 1);
  }
  rows_ += text;
  rows_ += '"';
}

void TextRows::Flush() {
  fwrite(rows_.data(), 1, rows_.size(), out_);
  rows_.clear();
}

}  // namespace

std::unique_ptr<RowWriter> RowWriter::Create(
    FILE* out,
    TableFormat format,
    const std::vector<Column>& columns) {
  if (format == TableFormat::kArrow)
    return CreateArrowRows(out, columns);
  return std::make_unique<TextRows>(out, format, columns);
}

}  // namespace pbz
