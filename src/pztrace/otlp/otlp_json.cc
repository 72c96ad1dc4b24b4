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
#include "src/otlp/protos/json_schema.h"
#include "src/program/json_reader.h"
#include "src/program/value_sink.h"

namespace pztrace {

namespace {

using program::Value;

using protozero::otlp::internal::JsonField;
using protozero::otlp::internal::JsonKind;
using protozero::otlp::internal::JsonMessageOf;
using protozero::otlp::internal::JsonType;

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
      stack_.push_back({JsonKind::kDocument, document_, nullptr});
      return;
    }
    const Level above = stack_.back();
    if (container == Container::kArray) {
      // Its elements are of the field that has it.
      stack_.push_back({above.message, above.output, above.field});
      return;
    }
    Level level;
    if (above.field != nullptr && above.field->message != JsonKind::kNone) {
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
    const std::string in_schema = CamelCaseOf(name);
    for (const JsonField& field : JsonMessageOf(level.message)) {
      if (field.name == in_schema)
        level.field = &field;
    }
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
      case JsonType::kUint32:
      case JsonType::kInt64:
        return output->AppendVarInt(field.number, IntegerOf(value));
      case JsonType::kFixed32:
        return output->AppendFixed(field.number,
                                   static_cast<uint32_t>(IntegerOf(value)));
      case JsonType::kFixed64:
        return output->AppendFixed(field.number, IntegerOf(value));
      case JsonType::kDouble:
        return output->AppendFixed(field.number, DoubleOf(value));
      case JsonType::kMessage:
      case JsonType::kMessages:
        return;
    }
  }

 private:
  // A dictionary or an array. All of it is skipped if |message| is kNone.
  struct Level {
    JsonKind message = JsonKind::kNone;
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
  if (!program::ReadJson(json, &sink, kMaxOtlpJsonDepth))
    return false;
  document.AppendToString(bytes);
  return true;
}

}  // namespace pztrace
