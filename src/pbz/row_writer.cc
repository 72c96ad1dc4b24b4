// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/row_writer.h"

#include <math.h>

#include "src/pbz/text.h"

namespace pbz {

namespace {

constexpr size_t kBlockSize = size_t{1} << 16;

}  // namespace

RowWriter::RowWriter(FILE* out,
                     Format format,
                     const std::vector<std::string>& columns)
    : out_(out), format_(format) {
  for (const std::string& column : columns) {
    const bool is_first = cell_begins_.empty();
    std::string begin;
    if (format_ == Format::kNdjson) {
      begin = is_first ? '{' : ',';
      AppendJsonString(column, &begin);
      begin += ':';
    } else if (!is_first) {
      begin = ',';
    }
    cell_begins_.push_back(begin);
  }
  if (format_ == Format::kNdjson)
    return;
  for (const std::string& column : columns)
    Text(column);
  EndRow();
}

RowWriter::~RowWriter() {
  Flush();
}

void RowWriter::Text(std::string_view text) {
  BeginCell();
  if (format_ == Format::kNdjson)
    AppendJsonString(text, &rows_);
  else if (IsUtf8(text))
    CsvText(text);
  else
    CsvText(MadeUtf8(text));
}

void RowWriter::Bytes(std::string_view bytes) {
  const char* const quote = format_ == Format::kNdjson ? "\"" : "";
  BeginCell();
  rows_ += quote;
  AppendBase64(bytes, &rows_);
  rows_ += quote;
}

void RowWriter::Bool(bool value) {
  BeginCell();
  rows_ += value ? "true" : "false";
}

void RowWriter::Number(int64_t number) {
  BeginCell();
  rows_ += std::to_string(number);
}

void RowWriter::Number(uint64_t number) {
  BeginCell();
  rows_ += std::to_string(number);
}

void RowWriter::Number(float number) {
  if (!isfinite(number))
    return Text(NonFiniteName(static_cast<double>(number)));
  BeginCell();
  AppendFloat(number, &rows_);
}

void RowWriter::Number(double number) {
  if (!isfinite(number))
    return Text(NonFiniteName(number));
  BeginCell();
  AppendDouble(number, &rows_);
}

void RowWriter::Number(std::optional<int64_t> number) {
  if (number)
    Number(*number);
  else
    Null();
}

void RowWriter::Json(std::string_view json) {
  BeginCell();
  if (format_ == Format::kNdjson)
    rows_ += json;
  else
    CsvText(json);
}

void RowWriter::EndRow() {
  // Readers take an empty line for no row.
  if (format_ == Format::kCsv && cell_begins_.size() == 1 &&
      (rows_.empty() || rows_.back() == '\n')) {
    rows_ += "\"\"";
  }
  rows_ += format_ == Format::kNdjson ? "}\n" : "\r\n";
  next_column_ = 0;
  if (rows_.size() >= kBlockSize)
    Flush();
}

void RowWriter::BeginCell() {
  rows_ += cell_begins_[next_column_++];
}

void RowWriter::Null() {
  BeginCell();
  if (format_ == Format::kNdjson)
    rows_ += "null";
}

void RowWriter::CsvText(std::string_view text) {
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

void RowWriter::Flush() {
  fwrite(rows_.data(), 1, rows_.size(), out_);
  rows_.clear();
}

}  // namespace pbz
