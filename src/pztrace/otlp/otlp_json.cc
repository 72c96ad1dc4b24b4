// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/otlp/otlp_json.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <charconv>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "protozero/message.h"
#include "protozero/scattered_heap_buffer.h"
#include "src/program/json_reader.h"
#include "src/program/value_sink.h"

namespace pztrace {

namespace {

using program::Value;

enum class JsonType : uint8_t {
  kText,
  kHexadecimal,  // Ids. All other bytes are Base64.
  kBase64,
  kBool,
  kVarInt,
  kFixed32,
  kFixed64,
  kDouble,
  kMessage,
};

struct JsonMessage;

struct JsonField {
  std::string_view name;
  uint32_t number;
  JsonType type;
  const JsonMessage* message = nullptr;
};

struct JsonMessage {
  const JsonField* fields;
  size_t num_fields;

  const JsonField* Find(std::string_view name) const {
    for (size_t i = 0; i < num_fields; ++i) {
      if (fields[i].name == name)
        return &fields[i];
    }
    return nullptr;
  }
};

template <size_t n>
constexpr JsonMessage JsonMessageOf(const JsonField (&fields)[n]) {
  return {fields, n};
}

// They contain each other.
extern const JsonMessage kAnyValue;
extern const JsonMessage kKeyValue;

constexpr JsonField kArrayFields[] = {
    {"values", 1, JsonType::kMessage, &kAnyValue}};
constexpr JsonMessage kArrayValue = JsonMessageOf(kArrayFields);
constexpr JsonField kListFields[] = {
    {"values", 1, JsonType::kMessage, &kKeyValue}};
constexpr JsonMessage kKeyValueList = JsonMessageOf(kListFields);
constexpr JsonField kAnyValueFields[] = {
    {"stringValue", 1, JsonType::kText},
    {"boolValue", 2, JsonType::kBool},
    {"intValue", 3, JsonType::kVarInt},
    {"doubleValue", 4, JsonType::kDouble},
    {"arrayValue", 5, JsonType::kMessage, &kArrayValue},
    {"kvlistValue", 6, JsonType::kMessage, &kKeyValueList},
    {"bytesValue", 7, JsonType::kBase64}};
constexpr JsonMessage kAnyValue = JsonMessageOf(kAnyValueFields);
constexpr JsonField kKeyValueFields[] = {
    {"key", 1, JsonType::kText},
    {"value", 2, JsonType::kMessage, &kAnyValue}};
constexpr JsonMessage kKeyValue = JsonMessageOf(kKeyValueFields);

constexpr JsonField kResourceFields[] = {
    {"attributes", 1, JsonType::kMessage, &kKeyValue},
    {"droppedAttributesCount", 2, JsonType::kVarInt}};
constexpr JsonMessage kResource = JsonMessageOf(kResourceFields);
constexpr JsonField kScopeFields[] = {
    {"name", 1, JsonType::kText},
    {"version", 2, JsonType::kText},
    {"attributes", 3, JsonType::kMessage, &kKeyValue},
    {"droppedAttributesCount", 4, JsonType::kVarInt}};
constexpr JsonMessage kScope = JsonMessageOf(kScopeFields);

constexpr JsonField kEventFields[] = {
    {"timeUnixNano", 1, JsonType::kFixed64},
    {"name", 2, JsonType::kText},
    {"attributes", 3, JsonType::kMessage, &kKeyValue},
    {"droppedAttributesCount", 4, JsonType::kVarInt}};
constexpr JsonMessage kEvent = JsonMessageOf(kEventFields);
constexpr JsonField kLinkFields[] = {
    {"traceId", 1, JsonType::kHexadecimal},
    {"spanId", 2, JsonType::kHexadecimal},
    {"traceState", 3, JsonType::kText},
    {"attributes", 4, JsonType::kMessage, &kKeyValue},
    {"droppedAttributesCount", 5, JsonType::kVarInt},
    {"flags", 6, JsonType::kFixed32}};
constexpr JsonMessage kLink = JsonMessageOf(kLinkFields);
constexpr JsonField kStatusFields[] = {{"message", 2, JsonType::kText},
                                       {"code", 3, JsonType::kVarInt}};
constexpr JsonMessage kStatus = JsonMessageOf(kStatusFields);
constexpr JsonField kSpanFields[] = {
    {"traceId", 1, JsonType::kHexadecimal},
    {"spanId", 2, JsonType::kHexadecimal},
    {"traceState", 3, JsonType::kText},
    {"parentSpanId", 4, JsonType::kHexadecimal},
    {"name", 5, JsonType::kText},
    {"kind", 6, JsonType::kVarInt},
    {"startTimeUnixNano", 7, JsonType::kFixed64},
    {"endTimeUnixNano", 8, JsonType::kFixed64},
    {"attributes", 9, JsonType::kMessage, &kKeyValue},
    {"droppedAttributesCount", 10, JsonType::kVarInt},
    {"events", 11, JsonType::kMessage, &kEvent},
    {"droppedEventsCount", 12, JsonType::kVarInt},
    {"links", 13, JsonType::kMessage, &kLink},
    {"droppedLinksCount", 14, JsonType::kVarInt},
    {"status", 15, JsonType::kMessage, &kStatus},
    {"flags", 16, JsonType::kFixed32}};
constexpr JsonMessage kSpan = JsonMessageOf(kSpanFields);
constexpr JsonField kScopeSpansFields[] = {
    {"scope", 1, JsonType::kMessage, &kScope},
    {"spans", 2, JsonType::kMessage, &kSpan},
    {"schemaUrl", 3, JsonType::kText}};
constexpr JsonMessage kScopeSpans = JsonMessageOf(kScopeSpansFields);
constexpr JsonField kResourceSpansFields[] = {
    {"resource", 1, JsonType::kMessage, &kResource},
    {"scopeSpans", 2, JsonType::kMessage, &kScopeSpans},
    {"schemaUrl", 3, JsonType::kText}};
constexpr JsonMessage kResourceSpans = JsonMessageOf(kResourceSpansFields);

constexpr JsonField kLogFields[] = {
    {"timeUnixNano", 1, JsonType::kFixed64},
    {"severityNumber", 2, JsonType::kVarInt},
    {"severityText", 3, JsonType::kText},
    {"body", 5, JsonType::kMessage, &kAnyValue},
    {"attributes", 6, JsonType::kMessage, &kKeyValue},
    {"droppedAttributesCount", 7, JsonType::kVarInt},
    {"flags", 8, JsonType::kFixed32},
    {"traceId", 9, JsonType::kHexadecimal},
    {"spanId", 10, JsonType::kHexadecimal},
    {"observedTimeUnixNano", 11, JsonType::kFixed64},
    {"eventName", 12, JsonType::kText}};
constexpr JsonMessage kLog = JsonMessageOf(kLogFields);
constexpr JsonField kScopeLogsFields[] = {
    {"scope", 1, JsonType::kMessage, &kScope},
    {"logRecords", 2, JsonType::kMessage, &kLog},
    {"schemaUrl", 3, JsonType::kText}};
constexpr JsonMessage kScopeLogs = JsonMessageOf(kScopeLogsFields);
constexpr JsonField kResourceLogsFields[] = {
    {"resource", 1, JsonType::kMessage, &kResource},
    {"scopeLogs", 2, JsonType::kMessage, &kScopeLogs},
    {"schemaUrl", 3, JsonType::kText}};
constexpr JsonMessage kResourceLogs = JsonMessageOf(kResourceLogsFields);

// A line has one of them.
constexpr JsonField kDocumentFields[] = {
    {"resourceSpans", 1, JsonType::kMessage, &kResourceSpans},
    {"resourceLogs", 1, JsonType::kMessage, &kResourceLogs}};
constexpr JsonMessage kDocument = JsonMessageOf(kDocumentFields);

// Returns the digit, or -1.
int DigitOf(char c, JsonType type) {
  if (type == JsonType::kHexadecimal) {
    const char lower = static_cast<char>(c | 0x20);
    return c >= '0' && c <= '9'           ? c - '0'
           : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
                                          : -1;
  }
  return c >= 'A' && c <= 'Z'   ? c - 'A'
         : c >= 'a' && c <= 'z' ? c - 'a' + 26
         : c >= '0' && c <= '9' ? c - '0' + 52
         : c == '+' || c == '-' ? 62
         : c == '/' || c == '_' ? 63
                                : -1;
}

std::string JsonBytesOf(std::string_view text, JsonType type) {
  const int bits_of_digit = type == JsonType::kHexadecimal ? 4 : 6;
  std::string bytes;
  uint32_t bits = 0;
  int num_bits = 0;
  for (const char c : text) {
    const int digit = DigitOf(c, type);
    if (digit < 0)
      break;
    bits = bits << bits_of_digit | static_cast<uint32_t>(digit);
    num_bits += bits_of_digit;
    if (num_bits >= 8) {
      num_bits -= 8;
      bytes += static_cast<char>(bits >> num_bits & 0xff);
    }
  }
  return bytes;
}

// The name in lowerCamelCase, which |name| need not be.
std::string CamelCaseOf(std::string_view name) {
  std::string result;
  bool is_word = false;
  for (const char c : name) {
    if (c == '_') {
      is_word = true;
      continue;
    }
    result +=
        is_word && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    is_word = false;
  }
  return result;
}

// Writes the messages that JSON describes. Numbers may be in quotes.
class OtlpJsonSink final : public program::ValueSink {
 public:
  explicit OtlpJsonSink(protozero::Message* document) : document_(document) {}

  void Begin(Container container) override {
    if (stack_.empty()) {
      stack_.push_back({&kDocument, document_, nullptr});
      return;
    }
    const Level above = stack_.back();
    if (container == Container::kArray) {
      // Its elements are of the field that has it.
      stack_.push_back({above.message, above.output, above.field});
      return;
    }
    Level level;
    if (above.field != nullptr && above.field->type == JsonType::kMessage) {
      level.message = above.field->message;
      level.output = above.output->BeginNestedMessage<protozero::Message>(
          above.field->number);
    }
    stack_.push_back(level);
  }

  void End() override {
    const Level level = stack_.back();
    stack_.pop_back();
    if (level.output != nullptr && !stack_.empty() &&
        stack_.back().output != level.output)
      level.output->Finalize();
  }

  void Name(std::string_view name, NameKind) override {
    Level& level = stack_.back();
    level.field = nullptr;
    if (level.message != nullptr)
      level.field = level.message->Find(CamelCaseOf(name));
  }

  void Add(const Value& value) override {
    if (stack_.empty() || stack_.back().field == nullptr)
      return;
    const JsonField& field = *stack_.back().field;
    protozero::Message* const output = stack_.back().output;
    const auto* const text = std::get_if<std::string_view>(&value);
    switch (field.type) {
      case JsonType::kText:
        if (text != nullptr)
          output->AppendBytes(field.number, text->data(), text->size());
        return;
      case JsonType::kHexadecimal:
      case JsonType::kBase64:
        if (text != nullptr) {
          const std::string bytes = JsonBytesOf(*text, field.type);
          output->AppendBytes(field.number, bytes.data(), bytes.size());
        }
        return;
      case JsonType::kBool:
        if (const bool* is = std::get_if<bool>(&value))
          output->AppendTinyVarInt(field.number, *is ? 1 : 0);
        return;
      case JsonType::kVarInt:
        return output->AppendVarInt(field.number, IntegerOf(value));
      case JsonType::kFixed32:
        return output->AppendFixed(field.number,
                                   static_cast<uint32_t>(IntegerOf(value)));
      case JsonType::kFixed64:
        return output->AppendFixed(field.number, IntegerOf(value));
      case JsonType::kDouble:
        return output->AppendFixed(field.number, DoubleOf(value));
      case JsonType::kMessage:
        return;
    }
  }

 private:
  // A dictionary or an array. All of it is skipped if |message| is null.
  struct Level {
    const JsonMessage* message = nullptr;
    protozero::Message* output = nullptr;
    const JsonField* field = nullptr;  // Null if the name is unknown.
  };

  static std::string_view DigitsOf(const Value& value) {
    if (const auto* text = std::get_if<std::string_view>(&value))
      return *text;
    if (const auto* decimal = std::get_if<program::Decimal>(&value))
      return decimal->digits;
    return {};
  }

  static double DoubleOf(const Value& value) {
    if (const auto* number = std::get_if<double>(&value))
      return *number;
    if (const auto* number = std::get_if<int64_t>(&value))
      return static_cast<double>(*number);
    if (const auto* number = std::get_if<uint64_t>(&value))
      return static_cast<double>(*number);
    const std::string digits(DigitsOf(value));
    if (digits == "Infinity" || digits == "-Infinity")
      return digits[0] == '-' ? -std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::infinity();
    if (digits == "NaN")
      return std::numeric_limits<double>::quiet_NaN();
    return strtod(digits.c_str(), nullptr);
  }

  static uint64_t IntegerOf(const Value& value) {
    if (const auto* number = std::get_if<int64_t>(&value))
      return static_cast<uint64_t>(*number);
    if (const auto* number = std::get_if<uint64_t>(&value))
      return *number;
    const std::string_view digits = DigitsOf(value);
    const char* const end = digits.data() + digits.size();
    uint64_t number = 0;
    int64_t negative = 0;
    if (std::from_chars(digits.data(), end, number).ptr == end)
      return number;
    if (std::from_chars(digits.data(), end, negative).ptr == end)
      return static_cast<uint64_t>(negative);
    return 0;
  }

  protozero::Message* const document_;
  std::vector<Level> stack_;
};

}  // namespace

bool AppendOtlpOfJson(std::string_view json, std::string* bytes) {
  protozero::HeapBuffered<protozero::Message> document;
  OtlpJsonSink sink(document.get());
  if (!program::ReadJson(json, &sink))
    return false;
  document.AppendToString(bytes);
  return true;
}

}  // namespace pztrace
