// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/spans/span_values.h"

#include <stdlib.h>

#include <charconv>
#include <system_error>
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
    const std::string_view digits = decimal->digits;
    int64_t integer = 0;
    const auto end =
        std::from_chars(digits.data(), digits.data() + digits.size(), integer);
    if (end.ec == std::errc() && end.ptr == digits.data() + digits.size())
      any->set_int_value(integer);
    else
      any->set_double_value(strtod(std::string(digits).c_str(), nullptr));
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
  const bool begins_links =
      links_ != nullptr && levels_.empty() && is_array && name_ == kOtelLinks;
  if (depth_of_links_ != 0 || begins_links) {
    ++depth_of_links_;
    return links_->Begin(container);
  }
  auto* const any = static_cast<schema::AnyValue*>(NextValue());
  protozero::Message* list = nullptr;
  if (is_array)
    list = any->set_array_value();
  else
    list = any->set_kvlist_value();
  levels_.push_back({list, is_array});
}

void SpanAttributes::End() {
  if (depth_of_links_ == 0)
    return levels_.pop_back();
  --depth_of_links_;
  links_->End();
}

void SpanAttributes::Name(std::string_view name, NameKind kind) {
  if (depth_of_links_ != 0)
    return links_->Name(name, kind);
  name_ = name;
}

void SpanAttributes::Add(const Value& value) {
  if (depth_of_links_ != 0)
    return links_->Add(value);
  if (!levels_.empty() || otel_ == nullptr || !otel_->Take(name_, value))
    SetAnyValue(value, static_cast<schema::AnyValue*>(NextValue()));
}

void SpanLinks::Begin(Container container) {
  ++depth_;
  const bool is_dictionary = container == Container::kDictionary;
  if (depth_ == kLinkDepth && is_dictionary) {
    link_ = span_->add_links();
  } else if (depth_ == kAttributesDepth && is_dictionary && link_ != nullptr &&
             name_ == "attributes") {
    attributes_.emplace(link_, schema::Span_Link::kAttributesFieldNumber,
                        nullptr);
  } else if (depth_ > kAttributesDepth && attributes_) {
    attributes_->Begin(container);
  }
}

void SpanLinks::End() {
  if (depth_ > kAttributesDepth && attributes_)
    attributes_->End();
  else if (depth_ == kAttributesDepth)
    attributes_.reset();
  else if (depth_ == kLinkDepth)
    link_ = nullptr;
  --depth_;
}

void SpanLinks::Name(std::string_view name, NameKind kind) {
  if (attributes_)
    attributes_->Name(name, kind);
  else
    name_ = name;
}

void SpanLinks::Add(const Value& value) {
  if (attributes_)
    return attributes_->Add(value);
  if (depth_ != kLinkDepth || link_ == nullptr)
    return;
  const auto* const number = std::get_if<int64_t>(&value);
  if (number != nullptr && name_ == "dropped_attributes")
    link_->set_dropped_attributes_count(static_cast<uint32_t>(*number));
  const auto* const text = std::get_if<std::string_view>(&value);
  if (text == nullptr)
    return;
  if (name_ == "trace_id") {
    link_->set_trace_id(OtelIdOf(*text, 16));
  } else if (name_ == "span_id") {
    spans_.push_back(OtelIdOf(*text, 8));
    link_->set_span_id(spans_.back());
  } else if (name_ == "trace_state") {
    link_->set_trace_state(program::MadeUtf8(*text));
  }
}

}  // namespace pztrace
