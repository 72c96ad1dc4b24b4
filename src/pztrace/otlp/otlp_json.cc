// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/otlp/otlp_json.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <system_error>
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

// Reads digits up to |text|'s end, or up to the equals signs that fill Base64.
// False if another character is there.
bool ReadJsonBytes(std::string_view text, JsonType type, std::string* bytes) {
  // Libraries of protobuf that know nothing of OTLP write ids as Base64, and
  // those of 8 and 16 bytes end in an equals sign there.
  if (text.size() % 4 == 0 && !text.empty() && text.back() == '=') {
    type = JsonType::kBase64;
    text.remove_suffix(text[text.size() - 2] == '=' ? 2 : 1);
  }
  const int bits_of_digit = type == JsonType::kHexadecimal ? 4 : 6;
  uint32_t bits = 0;
  int num_bits = 0;
  for (const char c : text) {
    const int digit = DigitOf(c, type);
    if (digit < 0)
      return false;
    bits = bits << bits_of_digit | static_cast<uint32_t>(digit);
    num_bits += bits_of_digit;
    if (num_bits >= 8) {
      num_bits -= 8;
      *bytes += static_cast<char>(bits >> num_bits & 0xff);
    }
  }
  return type != JsonType::kHexadecimal || num_bits == 0;
}

// Finds the number of an enumeration's value, which the specification writes as
// a number, and libraries of protobuf as a name.
bool FindJsonEnum(std::string_view name, uint64_t* number) {
  constexpr std::string_view kNames[] = {
      "SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER",
      "SPAN_KIND_CLIENT",      "SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER"};
  constexpr std::string_view kStatuses[] = {
      "STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR"};
  constexpr std::string_view kSeverities[] = {"TRACE", "DEBUG", "INFO",
                                              "WARN",  "ERROR", "FATAL"};
  const auto find = [number](const auto& names, std::string_view text) {
    *number = static_cast<uint64_t>(
        std::find(std::begin(names), std::end(names), text) -
        std::begin(names));
    return *number != std::size(names);
  };
  if (find(kNames, name) || find(kStatuses, name))
    return true;
  constexpr std::string_view kSeverity = "SEVERITY_NUMBER_";
  if (name.substr(0, kSeverity.size()) != kSeverity)
    return false;
  name.remove_prefix(kSeverity.size());
  // Each range has four: INFO, INFO2, INFO3, INFO4.
  uint64_t step = 0;
  if (!name.empty() && name.back() >= '2' && name.back() <= '4') {
    step = static_cast<uint64_t>(name.back() - '1');
    name.remove_suffix(1);
  }
  if (!find(kSeverities, name))
    *number = 0;
  else
    *number = 1 + 4 * *number + step;
  return *number != 0 || name == "UNSPECIFIED";
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
    // A null is the default value.
    if (stack_.empty() || stack_.back().field == nullptr ||
        std::holds_alternative<std::monostate>(value))
      return;
    const JsonField& field = *stack_.back().field;
    if (!Append(field, value, stack_.back().output) && fault_.empty())
      fault_ = "the value of " + std::string(field.name) +
               " is not of the type that it has in OTLP";
  }

  // Returns the fault of the first value that is not of its field's type; empty
  // if there is none.
  const std::string& fault() const { return fault_; }

 private:
  // A dictionary or an array. All of it is skipped if |message| is kNone.
  struct Level {
    JsonKind message = JsonKind::kNone;
    protozero::Message* output = nullptr;
    const JsonField* field = nullptr;  // Null if the name is unknown.
  };

  // Returns false if the value is not of the field's type.
  static bool Append(const JsonField& field,
                     const Value& value,
                     protozero::Message* output) {
    const auto* const text = std::get_if<std::string_view>(&value);
    uint64_t integer = 0;
    double number = 0;
    switch (field.type) {
      case JsonType::kText:
        if (text == nullptr)
          return false;
        output->AppendBytes(field.number, text->data(), text->size());
        return true;
      case JsonType::kHexadecimal:
      case JsonType::kBase64: {
        std::string bytes;
        if (text == nullptr || !ReadJsonBytes(*text, field.type, &bytes))
          return false;
        output->AppendBytes(field.number, bytes.data(), bytes.size());
        return true;
      }
      case JsonType::kBool: {
        const bool* const is = std::get_if<bool>(&value);
        if (is == nullptr)
          return false;
        output->AppendTinyVarInt(field.number, *is ? 1 : 0);
        return true;
      }
      case JsonType::kUint32:
        if (text != nullptr && FindJsonEnum(*text, &integer)) {
          output->AppendVarInt(field.number, integer);
          return true;
        }
        [[fallthrough]];
      case JsonType::kInt64:
        if (!ReadInteger(value, &integer))
          return false;
        output->AppendVarInt(field.number, integer);
        return true;
      case JsonType::kFixed32:
        if (!ReadInteger(value, &integer))
          return false;
        output->AppendFixed(field.number, static_cast<uint32_t>(integer));
        return true;
      case JsonType::kFixed64:
        if (!ReadInteger(value, &integer))
          return false;
        output->AppendFixed(field.number, integer);
        return true;
      case JsonType::kDouble:
        if (!ReadDouble(value, &number))
          return false;
        output->AppendFixed(field.number, number);
        return true;
      case JsonType::kMessage:
      case JsonType::kMessages:
        return false;
    }
    return false;
  }

  // A number, in quotes or not.
  static std::string_view DigitsOf(const Value& value) {
    if (const auto* text = std::get_if<std::string_view>(&value))
      return *text;
    if (const auto* decimal = std::get_if<program::Decimal>(&value))
      return decimal->digits;
    return {};
  }

  static bool ReadDouble(const Value& value, double* number) {
    const std::string digits(DigitsOf(value));
    if (digits == "Infinity" || digits == "-Infinity") {
      *number = std::numeric_limits<double>::infinity();
      if (digits[0] == '-')
        *number = -*number;
    } else if (digits == "NaN") {
      *number = std::numeric_limits<double>::quiet_NaN();
    } else {
      char* end = nullptr;
      *number = strtod(digits.c_str(), &end);
      return !digits.empty() && *end == '\0';
    }
    return true;
  }

  // Takes whole numbers with an exponent, too, as JSON has them.
  static bool ReadInteger(const Value& value, uint64_t* integer) {
    const std::string_view digits = DigitsOf(value);
    const char* const end = digits.data() + digits.size();
    const auto is_read = [end](std::from_chars_result result) {
      return result.ec == std::errc() && result.ptr == end;
    };
    int64_t negative = 0;
    double number = 0;
    if (is_read(std::from_chars(digits.data(), end, *integer)))
      return true;
    if (is_read(std::from_chars(digits.data(), end, negative))) {
      *integer = static_cast<uint64_t>(negative);
      return true;
    }
    if (!ReadDouble(value, &number) || number != std::floor(number) ||
        !(number >= -0x1p63 && number < 0x1p64))
      return false;
    *integer = number < 0 ? static_cast<uint64_t>(static_cast<int64_t>(number))
                          : static_cast<uint64_t>(number);
    return true;
  }

  protozero::Message* const document_;
  std::vector<Level> stack_;
  std::string fault_;
};

}  // namespace

bool AppendOtlpOfJson(std::string_view json,
                      std::string* bytes,
                      std::string* fault) {
  protozero::HeapBuffered<protozero::Message> document;
  OtlpJsonSink sink(document.get());
  if (!program::ReadJson(json, &sink, kMaxOtlpJsonDepth))
    return false;
  if (fault->empty())
    *fault = sink.fault();
  document.AppendToString(bytes);
  return true;
}

}  // namespace pztrace
