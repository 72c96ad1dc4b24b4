// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/program/json_values.h"

#include <math.h>

#include <charconv>
#include <type_traits>

#include "src/program/text.h"

namespace program {

namespace {

// Has a function for each type of a value.
struct JsonAppender {
  void operator()(std::monostate) const { *json += "null"; }
  void operator()(bool value) const { *json += value ? "true" : "false"; }
  template <typename Integer>
  std::enable_if_t<std::is_integral_v<Integer>> operator()(
      Integer value) const {
    char text[20];
    const auto end = std::to_chars(text, text + sizeof(text), value);
    json->append(text, static_cast<size_t>(end.ptr - text));
  }
  void operator()(double value) const {
    if (isfinite(value))
      AppendDouble(value, json);
    else
      AppendJsonString(NonFiniteName(value), json);
  }
  void operator()(Decimal value) const { *json += value.digits; }
  void operator()(Address address) const {
    char text[20] = {'"', '0', 'x'};
    const auto end =
        std::to_chars(text + 3, text + sizeof(text) - 1, address.value, 16);
    *end.ptr = '"';
    json->append(text, static_cast<size_t>(end.ptr + 1 - text));
  }
  void operator()(std::string_view text) const { AppendJsonString(text, json); }

  std::string* json;
};

}  // namespace

void JsonValues::Begin(Container container) {
  Separate();
  *json_ += container == Container::kDictionary ? '{' : '[';
  ends_ += container == Container::kDictionary ? '}' : ']';
}

void JsonValues::End() {
  *json_ += ends_.back();
  ends_.pop_back();
}

void JsonValues::Name(std::string_view name, NameKind) {
  Separate();
  AppendJsonString(name, json_);
  *json_ += ':';
}

void JsonValues::Add(const Value& value) {
  Separate();
  std::visit(JsonAppender{json_}, value);
}

void JsonValues::AddJson(std::string_view json) {
  Separate();
  *json_ += json;
}

void JsonValues::BeginLine() {
  Separate();
  *json_ += '\n';
}

// Appends a comma if another name or value is in front. A text ends in a quote,
// so its characters are not taken for these.
void JsonValues::Separate() {
  if (json_->size() == begin_)
    return;
  const char last = json_->back();
  if (last != '{' && last != '[' && last != ':' && last != '\n')
    *json_ += ',';
}

}  // namespace program
