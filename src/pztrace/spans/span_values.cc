// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/span_values.h"

#include <stdlib.h>

#include <algorithm>
#include <iterator>
#include <variant>

#include "src/otlp/protos/schema.h"
#include "src/program/text.h"

namespace pztrace {

namespace {

namespace schema = protozero::otlp_schema;
using program::Value;

// Returns the bytes of an id in hexadecimal; empty if it is none, as one of
// zeros is.
std::string OtelIdOf(std::string_view hex, size_t size) {
  std::string bytes;
  if (hex.size() != 2 * size)
    return bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    char* end = nullptr;
    const std::string digits(hex.substr(i, 2));
    bytes += static_cast<char>(strtoul(digits.c_str(), &end, 16));
    if (*end != '\0')
      return "";
  }
  if (bytes.find_first_not_of('\0') == bytes.npos)
    bytes.clear();
  return bytes;
}

template <size_t n>
uint32_t OtelIndexOf(std::string_view text, const char* const (&names)[n]) {
  const auto found = std::find(std::begin(names), std::end(names), text);
  return found != std::end(names) ? static_cast<uint32_t>(found - names) : 0;
}

void SetAnyValue(const Value& value, schema::AnyValue* any) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    any->set_string_value(program::MadeUtf8(*text));
  } else if (const auto* is = std::get_if<bool>(&value)) {
    any->set_bool_value(*is);
  } else if (const auto* number = std::get_if<int64_t>(&value)) {
    any->set_int_value(*number);
  } else if (const auto* large = std::get_if<uint64_t>(&value)) {
    // OTLP has no numbers above those of int64_t.
    if (*large <= INT64_MAX)
      any->set_int_value(static_cast<int64_t>(*large));
    else
      any->set_string_value(std::to_string(*large));
  } else if (const auto* fraction = std::get_if<double>(&value)) {
    any->set_double_value(*fraction);
  } else if (const auto* decimal = std::get_if<program::Decimal>(&value)) {
    any->set_double_value(
        strtod(std::string(decimal->digits).c_str(), nullptr));
  }
}

}  // namespace

protozero::Message* SpanAttributes::NextValue() {
  if (record_ == nullptr)
    return nullptr;
  if (!levels_.empty() && levels_.back().is_array)
    return levels_.back().list->BeginNestedMessage<protozero::Message>(
        schema::ArrayValue::kValuesFieldNumber);
  auto* const pair =
      levels_.empty()
          ? record_->BeginNestedMessage<schema::KeyValue>(attributes_)
          : levels_.back().list->BeginNestedMessage<schema::KeyValue>(
                schema::KeyValueList::kValuesFieldNumber);
  pair->set_key(program::MadeUtf8(name_));
  return pair->set_value();
}

void SpanAttributes::Begin(Container container) {
  const bool is_array = container == Container::kArray;
  auto* const any = static_cast<schema::AnyValue*>(NextValue());
  protozero::Message* list = nullptr;
  if (any != nullptr && is_array)
    list = any->set_array_value();
  else if (any != nullptr)
    list = any->set_kvlist_value();
  levels_.push_back({list, is_array});
}

void SpanAttributes::End() {
  levels_.pop_back();
}

void SpanAttributes::Name(std::string_view name, NameKind) {
  name_ = name;
}

void SpanAttributes::Add(const Value& value) {
  if (levels_.empty() && name_.rfind("otel.", 0) == 0 && TakeOtel(value))
    return;
  if (auto* const any = static_cast<schema::AnyValue*>(NextValue()))
    SetAnyValue(value, any);
}

bool SpanAttributes::TakeOtel(const Value& value) {
  const std::string_view name = std::string_view(name_).substr(5);
  if (const auto* number = std::get_if<int64_t>(&value)) {
    if (name == "severity")
      otel_->severity = static_cast<int32_t>(*number);
    return name == "severity";
  }
  const auto* const text = std::get_if<std::string_view>(&value);
  if (text == nullptr)
    return false;
  constexpr const char* kKinds[] = {"",       "internal", "server",
                                    "client", "producer", "consumer"};
  constexpr const char* kStatuses[] = {"", "ok", "error"};
  if (name == "trace_id")
    otel_->trace_id = OtelIdOf(*text, 16);
  else if (name == "span_id")
    otel_->span_id = OtelIdOf(*text, 8);
  else if (name == "parent_span_id")
    otel_->parent_id = OtelIdOf(*text, 8);
  else if (name == "trace_state")
    otel_->trace_state = program::MadeUtf8(*text);
  else if (name == "kind")
    otel_->kind = OtelIndexOf(*text, kKinds);
  else if (name == "status")
    otel_->status = OtelIndexOf(*text, kStatuses);
  else if (name == "status_message")
    otel_->status_message = program::MadeUtf8(*text);
  else if (name == "severity_text")
    otel_->severity_text = program::MadeUtf8(*text);
  else
    return false;
  return true;
}

}  // namespace pztrace
