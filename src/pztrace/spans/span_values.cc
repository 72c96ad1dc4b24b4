// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/span_values.h"

#include <stdlib.h>

#include <variant>

#include "src/otlp/protos/schema.h"
#include "src/program/text.h"

namespace pztrace {

namespace {

namespace schema = protozero::otlp_schema;
using program::Value;

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
  if (is_array)
    list = any->set_array_value();
  else
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
  if (!levels_.empty() || !otel_->Take(name_, value))
    SetAnyValue(value, static_cast<schema::AnyValue*>(NextValue()));
}

}  // namespace pztrace
