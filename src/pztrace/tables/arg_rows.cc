// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/arg_rows.h"

#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "src/pztrace/events/event_args.h"
#include "src/pztrace/events/json_text.h"

namespace pztrace {

namespace {

// The limit of the keys of an event, in bytes: some, and more with its size.
constexpr size_t kMinKeys = 4096;
constexpr size_t kMaxGrowth = 32;
// The limit of objects and arrays in each other. Extensions may have more than
// JSON of annotations.
constexpr int kMaxDepth = 128;

// Removes |c| if |json| begins with it.
bool Take(char c, std::string_view* json) {
  if (json->empty() || json->front() != c)
    return false;
  json->remove_prefix(1);
  return true;
}

// Removes the first |size| bytes, and returns them.
std::string_view TakeBytes(size_t size, std::string_view* json) {
  const std::string_view taken = json->substr(0, size);
  json->remove_prefix(taken.size());
  return taken;
}

// Returns the size of what |json| begins with, up to the bracket that closes
// the container around it.
size_t SizeUntilEnd(std::string_view json) {
  int depth = 0;
  bool is_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (is_string) {
      i += c == '\\';
      is_string = c != '"';
    } else if (c == '"') {
      is_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && depth-- == 0) {
      return i;
    }
  }
  return json.size();
}

}  // namespace

void ArgRows::Add(int64_t set, std::string_view members) {
  set_ = set;
  flat_key_.clear();
  key_.clear();
  budget_ = kMinKeys + kMaxGrowth * members.size();
  AddMembers(0, &members);
}

void ArgRows::AddMembers(int depth, std::string_view* json) {
  const size_t flat_size = flat_key_.size();
  const size_t size = key_.size();
  // A malformed text ends where nothing is taken away.
  for (size_t left = SIZE_MAX;
       !json->empty() && json->front() != '}' && json->size() < left;) {
    left = json->size();
    if (budget_ == 0)
      return AddRest(json);
    std::string name = depth != 0 ? "." : "";
    const std::string own_name = TakeJsonString(json);
    if (depth == 0 && !IsEventField(own_name))
      name += "debug.";
    name += own_name;
    flat_key_ += name;
    key_ += name;
    Take(':', json);
    AddValue(depth, json);
    flat_key_.resize(flat_size);
    key_.resize(size);
    Take(',', json);
  }
}

void ArgRows::AddElements(int depth, std::string_view* json) {
  const size_t size = key_.size();
  size_t left = SIZE_MAX;
  for (size_t i = 0;
       !json->empty() && json->front() != ']' && json->size() < left; ++i) {
    left = json->size();
    if (budget_ == 0)
      return AddRest(json);
    key_ += '[' + std::to_string(i) + ']';
    AddValue(depth, json);
    key_.resize(size);
    Take(',', json);
  }
}

void ArgRows::AddValue(int depth, std::string_view* json) {
  const char first = json->empty() ? 'n' : json->front();
  if (first == '"')
    return AddText("string", TakeJsonString(json));
  if (first == '{' || first == '[')
    return AddContainer(depth + 1, json);
  const std::string_view value =
      TakeBytes(std::min(json->find_first_of(",]}"), json->size()), json);
  if (value == "true" || value == "false")
    return AddInteger("bool", value == "true");
  if (first == '-' || (first >= '0' && first <= '9'))
    return AddNumber(value);
  BeginRow("null");
  rows_->Null();
  rows_->Null();
  rows_->Null();
  rows_->EndRow();
}

void ArgRows::AddContainer(int depth, std::string_view* json) {
  const char begin = TakeBytes(1, json).front();
  const char end = begin == '{' ? '}' : ']';
  if (Take(end, json))
    return AddText("json", begin == '{' ? "{}" : "[]");
  if (depth > kMaxDepth)
    AddRest(json);
  else if (begin == '{')
    AddMembers(depth, json);
  else
    AddElements(depth, json);
  Take(end, json);
}

void ArgRows::AddRest(std::string_view* json) {
  AddText("json", TakeBytes(SizeUntilEnd(*json), json));
}

void ArgRows::AddNumber(std::string_view text) {
  const char* const end = text.data() + text.size();
  int64_t number = 0;
  const auto parsed_number = std::from_chars(text.data(), end, number);
  if (parsed_number.ec == std::errc() && parsed_number.ptr == end)
    return AddInteger("int", number);
  uint64_t positive = 0;
  const auto parsed = std::from_chars(text.data(), end, positive);
  if (parsed.ec == std::errc() && parsed.ptr == end)
    return AddInteger("uint", static_cast<int64_t>(positive));
  BeginRow("real");
  rows_->Null();
  rows_->Number(strtod(std::string(text).c_str(), nullptr));
  rows_->Null();
  rows_->EndRow();
}

void ArgRows::AddInteger(const char* type, int64_t value) {
  BeginRow(type);
  rows_->Number(value);
  rows_->Null();
  rows_->Null();
  rows_->EndRow();
}

void ArgRows::AddText(const char* type, std::string_view text) {
  BeginRow(type);
  rows_->Null();
  rows_->Null();
  rows_->Text(text);
  rows_->EndRow();
}

void ArgRows::BeginRow(const char* type) {
  budget_ -= std::min(budget_, flat_key_.size() + key_.size());
  rows_->Number(set_);
  rows_->Text(flat_key_);
  rows_->Text(key_);
  rows_->Text(type);
}

}  // namespace pztrace
