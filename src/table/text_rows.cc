// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/table/text_rows.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "src/program/text.h"

namespace table {

namespace {

constexpr size_t kBlockSize = size_t{1} << 16;
// The characters at the beginning of a cell that make spreadsheets compute it.
constexpr std::string_view kFormulaBegins = "=+-@\t\r\n";

// Returns whether CSV has the byte unchanged, and without quotes.
bool IsPlainInCsv(char byte) {
  return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != ',';
}

// Appends NaN or an infinity in the form of protobuf's JSON.
void AppendNonFinite(double number, bool is_json, std::string* out) {
  const char* const quote = is_json ? "\"" : "";
  *out += quote;
  *out += program::NonFiniteName(number);
  *out += quote;
}

class TextRows : public RowWriter {
 public:
  TextRows(FILE* out, TextFormat format, const std::vector<Column>& columns);
  ~TextRows() override;

  void Text(std::string_view text) override;
  void Bytes(std::string_view bytes) override;
  void Bool(bool value) override;
  void Number(int64_t number) override { Integer(number); }
  void Number(uint64_t number) override { Integer(number); }
  void Number(float number) override;
  void Number(double number) override;
  void Json(std::string_view json) override;
  void Null() override;
  void EndRow() override;
  void KeepBeginning(Beginning* beginning) override;
  void Begin(const Beginning& beginning) override;
  void Flush() override;

 private:
  bool is_json() const { return format_.is_json; }
  void BeginCell();
  void Append(std::string_view bytes);
  template <typename T>
  void Integer(T number);
  void CsvText(std::string_view text);
  void QuotedCsvText(std::string_view text);
  void SpecialCsvText(std::string_view text);
  // Returns a place for |size| bytes. Does not move |used_|.
  char* RoomFor(size_t size);

  FILE* const out_;
  const TextFormat format_;
  // The text in front of each value of a row. In JSON it has the names, too.
  std::vector<std::string> cell_begins_;
  size_t next_column_ = 0;
  bool is_lone_null_ = false;  // True if a null is the only cell of the row.
  // The bytes that have not been written, and room for more.
  std::vector<char> buffer_;
  size_t used_ = 0;
  size_t row_begin_ = 0;
  std::string scratch_;
};

TextRows::TextRows(FILE* out,
                   TextFormat format,
                   const std::vector<Column>& columns)
    : out_(out), format_(format), buffer_(kBlockSize + kBlockSize / 4) {
  for (const Column& column : columns) {
    const bool is_first = cell_begins_.empty();
    std::string begin;
    if (is_json()) {
      begin = is_first ? '{' : ',';
      program::AppendJsonString(column.name, &begin);
      begin += ':';
    } else if (!is_first) {
      begin = ',';
    }
    cell_begins_.push_back(begin);
  }
  if (is_json())
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
  if (!is_json())
    return CsvText(text);
  scratch_.clear();
  program::AppendJsonString(text, &scratch_);
  Append(scratch_);
}

void TextRows::Bytes(std::string_view bytes) {
  scratch_.clear();
  program::AppendBase64(bytes, &scratch_);
  BeginCell();
  if (!is_json())
    return CsvText(scratch_);
  Append("\"");
  Append(scratch_);
  Append("\"");
}

void TextRows::Bool(bool value) {
  BeginCell();
  Append(value ? "true" : "false");
}

template <typename T>
void TextRows::Integer(T number) {
  constexpr size_t kMaxDigits = 20;
  const std::string& begin = cell_begins_[next_column_++];
  char* const room = RoomFor(begin.size() + kMaxDigits);
  char* const digits = std::copy(begin.begin(), begin.end(), room);
  used_ += static_cast<size_t>(
      std::to_chars(digits, digits + kMaxDigits, number).ptr - room);
}

void TextRows::Number(float number) {
  scratch_.clear();
  if (isfinite(number))
    program::AppendFloat(number, &scratch_);
  else
    AppendNonFinite(static_cast<double>(number), is_json(), &scratch_);
  BeginCell();
  Append(scratch_);
}

void TextRows::Number(double number) {
  scratch_.clear();
  if (isfinite(number))
    program::AppendDouble(number, &scratch_);
  else
    AppendNonFinite(number, is_json(), &scratch_);
  BeginCell();
  Append(scratch_);
}

void TextRows::Json(std::string_view json) {
  BeginCell();
  if (is_json())
    Append(json);
  else
    CsvText(json);
}

void TextRows::EndRow() {
  // Readers do not take an empty line for a row.
  if (is_lone_null_)
    Append("\"\"");
  is_lone_null_ = false;
  Append(is_json() ? "}\n" : "\n");
  next_column_ = 0;
  if (used_ >= kBlockSize)
    Flush();
  row_begin_ = used_;
}

void TextRows::KeepBeginning(Beginning* beginning) {
  beginning->bytes.assign(buffer_.data() + row_begin_, used_ - row_begin_);
  beginning->num_cells = next_column_;
}

void TextRows::Begin(const Beginning& beginning) {
  Append(beginning.bytes);
  next_column_ = beginning.num_cells;
}

void TextRows::BeginCell() {
  Append(cell_begins_[next_column_++]);
}

void TextRows::Null() {
  BeginCell();
  if (is_json())
    Append("null");
  else
    is_lone_null_ = cell_begins_.size() == 1;
}

void TextRows::Append(std::string_view bytes) {
  if (bytes.empty())
    return;
  memcpy(RoomFor(bytes.size()), bytes.data(), bytes.size());
  used_ += bytes.size();
}

void TextRows::CsvText(std::string_view text) {
  if (text.empty())
    return Append("\"\"");
  if (format_.escapes_formulas &&
      kFormulaBegins.find(text[0]) != std::string_view::npos) {
    return SpecialCsvText(text);
  }
  char* const room = RoomFor(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (!IsPlainInCsv(text[i]))
      return QuotedCsvText(text);
    room[i] = text[i];
  }
  used_ += text.size();
}

// Appends text in quotes, quickly: JSON is mostly plain bytes, commas and
// quotes.
void TextRows::QuotedCsvText(std::string_view text) {
  char* const room = RoomFor(2 * text.size() + 2);
  char* end = room;
  *end++ = '"';
  for (const char byte : text) {
    if (byte == '"')
      *end++ = '"';
    else if (byte != ',' && !IsPlainInCsv(byte))
      return SpecialCsvText(text);
    *end++ = byte;
  }
  *end++ = '"';
  used_ += static_cast<size_t>(end - room);
}

void TextRows::SpecialCsvText(std::string_view text) {
  scratch_ = '"';
  if (format_.escapes_formulas &&
      kFormulaBegins.find(text[0]) != std::string_view::npos) {
    scratch_ += '\'';
  }
  program::AppendCsvText(text, &scratch_);
  // Only a text with one of these needs quotes.
  if (scratch_.find_first_of("\",\r\n", 1) == std::string::npos)
    return Append(std::string_view(scratch_).substr(1));
  scratch_ += '"';
  Append(scratch_);
}

// Returns room for |size| bytes. The buffer grows, as it holds whole rows.
char* TextRows::RoomFor(size_t size) {
  if (buffer_.size() - used_ < size)
    buffer_.resize(used_ + size);
  return buffer_.data() + used_;
}

void TextRows::Flush() {
  fwrite(buffer_.data(), 1, used_, out_);
  used_ = row_begin_ = 0;
}

}  // namespace

std::unique_ptr<RowWriter> CreateTextRows(FILE* out,
                                          TextFormat format,
                                          const std::vector<Column>& columns) {
  return std::make_unique<TextRows>(out, format, columns);
}

}  // namespace table
