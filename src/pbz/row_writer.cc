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
  else
    CsvText(MadeUtf8(text));
}

void RowWriter::Number(int64_t number) {
  BeginCell();
  rows_ += std::to_string(number);
}

void RowWriter::Number(uint64_t number) {
  BeginCell();
  rows_ += std::to_string(number);
}

void RowWriter::Number(double number) {
  if (!isfinite(number))
    return Null();
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
  for (const char letter : text) {
    if (letter == '"')
      rows_ += '"';
    rows_ += letter;
  }
  rows_ += '"';
}

void RowWriter::Flush() {
  fwrite(rows_.data(), 1, rows_.size(), out_);
  rows_.clear();
}

}  // namespace pbz
