// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/otel_args.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "src/program/text.h"

namespace pztrace {

namespace {

using program::Value;

// Returns the value of a hexadecimal digit; -1 if it is none.
int OtelDigitOf(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

template <typename Names>
uint32_t OtelIndexOf(std::string_view text, const Names& names) {
  const auto found = std::find(std::begin(names), std::end(names), text);
  return found != std::end(names)
             ? static_cast<uint32_t>(found - std::begin(names))
             : 0;
}

}  // namespace

std::string OtelIdOf(std::string_view hex, size_t size) {
  if (hex.size() != 2 * size)
    return "";
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    const int high = OtelDigitOf(hex[2 * i]);
    const int low = OtelDigitOf(hex[2 * i + 1]);
    if (high < 0 || low < 0)
      return "";
    bytes[i] = static_cast<char>(high << 4 | low);
  }
  if (bytes.find_first_not_of('\0') == bytes.npos)
    bytes.clear();
  return bytes;
}

bool OtelArgs::Take(std::string_view name, const Value& value) {
  constexpr std::string_view kPrefix = "otel.";
  if (name.substr(0, kPrefix.size()) != kPrefix)
    return false;
  name.remove_prefix(kPrefix.size());
  if (const auto* number = std::get_if<int64_t>(&value)) {
    if (name == "severity")
      severity = static_cast<int32_t>(*number);
    else if (name == "dropped_attributes")
      dropped_attributes = static_cast<uint32_t>(*number);
    else if (name == "dropped_events")
      dropped_events = static_cast<uint32_t>(*number);
    else if (name == "dropped_links")
      dropped_links = static_cast<uint32_t>(*number);
    else
      return false;
    return true;
  }
  const auto* const text = std::get_if<std::string_view>(&value);
  if (text == nullptr)
    return false;
  constexpr const char* kKinds[] = {"",       "internal", "server",
                                    "client", "producer", "consumer"};
  constexpr const char* kStatuses[] = {"", "ok", "error"};
  if (name == "trace_id")
    trace_id = OtelIdOf(*text, 16);
  else if (name == "span_id")
    span_id = OtelIdOf(*text, 8);
  else if (name == "parent_span_id")
    parent_id = OtelIdOf(*text, 8);
  else if (name == "trace_state")
    trace_state = program::MadeUtf8(*text);
  else if (name == "kind")
    kind = OtelIndexOf(*text, kKinds);
  else if (name == "status")
    status = OtelIndexOf(*text, kStatuses);
  else if (name == "status_message")
    status_message = program::MadeUtf8(*text);
  else if (name == "body")
    body = program::MadeUtf8(*text);
  else if (name == "severity_text")
    severity_text = program::MadeUtf8(*text);
  else
    return false;
  return true;
}

}  // namespace pztrace
