// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/arg_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <system_error>
#include <tuple>
#include <variant>

#include "src/program/text.h"

namespace pztrace {

namespace {

// The limit of the keys of an event, in bytes: some, and more with its size.
constexpr size_t kMinKeys = 4096;
constexpr size_t kMaxKeyGrowth = 32;
// The limit of dictionaries and arrays in each other.
constexpr size_t kMaxArgDepth = 128;

// The keys of fields that Perfetto's trace processor calls in another way. A
// key begins with what is shown for the fields around it.
constexpr struct {
  std::string_view key;
  std::string_view shown;
} kShownKeys[] = {
    {"source_location", "source"},
    {"task_execution", "task"},
    {"log_message", "track_event.log_message"},
    {"track_event.log_message.body", "track_event.log_message.message"},
    {"track_event.log_message.prio", "track_event.priority"},
    {"track_event.log_message.source_location", "track_event.log_message"},
    {"chrome_legacy_ipc", "legacy_ipc"},
    {"legacy_ipc.message_class", "legacy_ipc.class"},
    {"legacy_ipc.message_line", "legacy_ipc.line"},
};

// Returns |value| as the type's name says, in the way of kDisplayExpression.
std::string DisplayText(std::string_view type,
                        std::optional<int64_t> integer,
                        std::optional<double> real,
                        std::optional<std::string_view> text) {
  if (text)
    return std::string(*text);
  if (real) {
    char digits[32];
    snprintf(digits, sizeof(digits), "%.15g", *real);
    return digits;
  }
  if (type == "pointer") {
    char digits[32];
    snprintf(digits, sizeof(digits), "0x%" PRIx64,
             static_cast<uint64_t>(*integer));
    return digits;
  }
  if (type == "bool")
    return *integer != 0 ? "true" : "false";
  return type == "uint" ? std::to_string(static_cast<uint64_t>(*integer))
                        : std::to_string(*integer);
}

constexpr std::string_view kDisplayExpression =
    "CASE WHEN value_type = 'bool' THEN iif(int_value, 'true', 'false') "
    "WHEN value_type = 'uint' THEN printf('%llu', int_value) "
    "WHEN value_type = 'pointer' THEN printf('0x%llx', int_value) "
    "WHEN real_value IS NOT NULL THEN printf('%.15g', real_value) "
    "ELSE coalesce(string_value, CAST(int_value AS TEXT)) END";

struct ArgRow {
  PrimaryKey id;
  int64_t set;
  std::string_view flat_key;
  std::string_view key;
  std::string_view type;
  std::optional<int64_t> integer;
  std::optional<double> real;
  std::optional<std::string_view> text;
};

constexpr std::tuple kArgTable{
    TableColumn{"id", "", &ArgRow::id},
    TableColumn{"arg_set_id", "", &ArgRow::set},
    TableColumn{"flat_key", "as `debug.user.ids`", &ArgRow::flat_key},
    TableColumn{"key", "as `debug.user.ids[0]`", &ArgRow::key},
    TableColumn{"value_type",
                "int, uint, bool, real, string, pointer, null or json",
                &ArgRow::type},
    TableColumn{"int_value", "", &ArgRow::integer},
    TableColumn{"real_value", "", &ArgRow::real},
    TableColumn{"string_value", "", &ArgRow::text}};

// Returns the name of a field. An extension's is without its package.
std::string_view BareName(std::string_view field) {
  if (field.empty() || field.front() != '[')
    return field;
  field = field.substr(1, field.size() - 2);
  return field.substr(field.rfind('.') + 1);
}

}  // namespace

struct ArgRows::ValueWriter {
  void operator()(std::monostate) const { args->AddRow("null", {}); }
  void operator()(bool value) const { args->AddRow("bool", value); }
  void operator()(int64_t value) const { args->AddRow("int", value); }
  void operator()(uint64_t value) const {
    args->AddRow("uint", static_cast<int64_t>(value));
  }
  void operator()(double value) const {
    if (isfinite(value))
      args->AddRow("real", {}, value);
    else
      args->AddText("string", program::NonFiniteName(value));
  }
  void operator()(program::Address value) const {
    args->AddRow("pointer", static_cast<int64_t>(value.value));
  }
  void operator()(program::Decimal value) const {
    const char* const begin = value.digits.data();
    const char* const end = begin + value.digits.size();
    int64_t number = 0;
    uint64_t positive = 0;
    const auto is_whole = [end](const std::from_chars_result& result) {
      return result.ec == std::errc() && result.ptr == end;
    };
    if (is_whole(std::from_chars(begin, end, number)))
      (*this)(number);
    else if (is_whole(std::from_chars(begin, end, positive)))
      (*this)(positive);
    else
      args->AddRow("real", {},
                   strtod(std::string(value.digits).c_str(), nullptr));
  }
  void operator()(std::string_view text) const {
    args->AddText("string", text);
  }

  ArgRows* args;
};

std::vector<ColumnInfo> ArgRows::Columns() {
  std::vector<ColumnInfo> columns = InfosOf<ArgRow>(kArgTable);
  columns.push_back({"display_value", "the value as a text", Unit::kNone,
                     ValueType::kText, true, kDisplayExpression});
  return columns;
}

void ArgRows::BeginSet(int64_t set, size_t size) {
  set_ = set;
  flat_key_.clear();
  key_.clear();
  levels_.assign(1, {Container::kDictionary, "", ""});
  budget_ = kMinKeys + kMaxKeyGrowth * size;
  keys_.clear();
  has_changed_name_ = false;
}

void ArgRows::FinishSet() {
  if (rest_)
    EndRest();
  if (!has_changed_name_)
    return;
  std::sort(keys_.begin(), keys_.end());
  for (size_t i = 1; i < keys_.size(); ++i)
    num_ambiguous_ += keys_[i] == keys_[i - 1];
}

void ArgRows::Begin(Container container) {
  BeginValue();
  if (rest_) {
    ++rest_depth_;
    return rest_->Begin(container);
  }
  levels_.push_back({container, flat_key_, key_});
  if (levels_.size() > kMaxArgDepth)
    BeginRest();
}

void ArgRows::End() {
  if (rest_ && rest_depth_ != 0) {
    --rest_depth_;
    return rest_->End();
  }
  const Level& level = levels_.back();
  if (rest_) {
    EndRest();
  } else if (level.num_values == 0) {
    AddText("json", level.container == Container::kArray ? "[]" : "{}");
  }
  levels_.pop_back();
}

void ArgRows::Name(std::string_view name, NameKind kind) {
  if (!rest_ && budget_ == 0)
    BeginRest();
  if (rest_)
    return rest_->Name(name, kind);
  ResetKeys();
  ++levels_.back().num_values;
  const size_t size = key_.size();
  if (levels_.size() > 1)
    key_ += '.';
  else if (kind == NameKind::kFree)
    key_ += "debug.";
  const size_t name_begin = key_.size();
  if (kind == NameKind::kField) {
    key_ += BareName(name);
  } else {
    // Replaces the characters that separate names in keys.
    for (const char c : name)
      key_ += c == '.' || c == '[' || c == ']' ? '_' : c;
  }
  has_changed_name_ |= key_.compare(name_begin, std::string::npos, name) != 0;
  flat_key_.append(key_, size);
  if (kind == NameKind::kField)
    ShowAsPerfetto();
}

void ArgRows::ShowAsPerfetto() {
  for (const auto& [key, shown] : kShownKeys) {
    if (key_ == key) {
      key_ = shown;
      flat_key_ = shown;
      return;
    }
  }
}

void ArgRows::Add(const program::Value& value) {
  BeginValue();
  if (rest_)
    rest_->Add(value);
  else
    std::visit(ValueWriter{this}, value);
}

void ArgRows::BeginValue() {
  Level& level = levels_.back();
  if (rest_ || level.container != Container::kArray)
    return;
  if (budget_ == 0)
    return BeginRest();
  ResetKeys();
  key_ += '[' + std::to_string(level.num_values++) + ']';
}

void ArgRows::ResetKeys() {
  flat_key_ = levels_.back().flat_key;
  key_ = levels_.back().key;
}

void ArgRows::BeginRest() {
  ResetKeys();
  rest_json_.clear();
  rest_.emplace(&rest_json_);
  rest_depth_ = 0;
}

void ArgRows::EndRest() {
  rest_.reset();
  AddText("json", rest_json_);
}

void ArgRows::AddText(const char* type, std::string_view text) {
  AddRow(type, {}, {}, text);
}

void ArgRows::AddRow(const char* type,
                     std::optional<int64_t> integer,
                     std::optional<double> real,
                     std::optional<std::string_view> text) {
  keys_.push_back(std::hash<std::string_view>()(key_));
  budget_ -= std::min(budget_, flat_key_.size() + key_.size());
  WriteCells(kArgTable,
             ArgRow{{id_++}, set_, flat_key_, key_, type, integer, real, text},
             rows_);
  if (shows_values_ && (integer || real || text))
    rows_->Text(DisplayText(type, integer, real, text));
  else if (shows_values_)
    rows_->Null();
  rows_->EndRow();
}

}  // namespace pztrace
