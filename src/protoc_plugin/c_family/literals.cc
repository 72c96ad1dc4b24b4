// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/c_family/literals.h"

#include <stdio.h>

#include <cmath>
#include <limits>
#include <locale>
#include <sstream>
#include <type_traits>
#include <variant>

namespace protozero::plugin {

namespace {

template <typename T>
std::string SignedLiteral(T value) {
  // The most negative number has no literal of its own.
  if (value == std::numeric_limits<T>::min())
    return std::to_string(value + 1) + " - 1";
  return std::to_string(value);
}

template <typename T>
std::string FloatingLiteral(T value, const char* type, const char* suffix) {
  const std::string limits = std::string("::std::numeric_limits<") + type + ">";
  if (std::isnan(value))
    return limits + "::quiet_NaN()";
  if (std::isinf(value))
    return (value < 0 ? "-" : "") + limits + "::infinity()";
  if (value == 0 && !std::signbit(value))
    return std::string();
  // This finds the shortest text that is read as the same value.
  std::string text;
  for (int digits = std::numeric_limits<T>::digits10;; ++digits) {
    std::ostringstream output;
    output.imbue(std::locale::classic());
    output.precision(digits);
    output << value;
    text = output.str();
    std::istringstream input(text);
    input.imbue(std::locale::classic());
    T read = 0;
    if (digits >= std::numeric_limits<T>::max_digits10 ||
        (input >> read && read == value)) {
      break;
    }
  }
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text + suffix;
}

struct LiteralOf {
  bool is_bytes;
  const std::string& runtime;

  std::string operator()(std::monostate) const { return std::string(); }
  std::string operator()(bool value) const { return value ? "true" : ""; }
  template <typename T>
  std::string operator()(T value) const {
    if constexpr (std::is_integral_v<T>)
      return IntegerLiteral(value);
    else
      return FloatLiteral(value);
  }
  std::string operator()(const std::string& value) const {
    return BytesLiteral(value, is_bytes, runtime);
  }
};

}  // namespace

std::string NumberLiteral(int32_t value) {
  return SignedLiteral(value);
}

std::string IntegerLiteral(int32_t value) {
  return value == 0 ? std::string() : SignedLiteral(value);
}

std::string IntegerLiteral(int64_t value) {
  return value == 0 ? std::string() : SignedLiteral(value);
}

std::string IntegerLiteral(uint32_t value) {
  return value == 0 ? std::string() : std::to_string(value) + "u";
}

std::string IntegerLiteral(uint64_t value) {
  return value == 0 ? std::string() : std::to_string(value) + "u";
}

std::string FloatLiteral(float value) {
  return FloatingLiteral(value, "float", "f");
}

std::string FloatLiteral(double value) {
  return FloatingLiteral(value, "double", "");
}

std::string BytesLiteral(const std::string& value,
                         bool is_bytes,
                         const std::string& runtime) {
  if (value.empty())
    return std::string();
  constexpr size_t kMaxLine = 80;
  std::string text = "\"";
  size_t line_begin = 0;
  for (const char c : value) {
    // The compiler joins literals.
    if (text.size() - line_begin > kMaxLine) {
      text += "\"\n      ";
      line_begin = text.size();
      text += '"';
    }
    // Octal escapes end after three digits. A question mark may be part of a
    // trigraph.
    if (c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?') {
      text += c;
    } else {
      char escape[8];
      snprintf(escape, sizeof(escape), "\\%03o",
               static_cast<unsigned>(static_cast<unsigned char>(c)));
      text += escape;
    }
  }
  text += "\"";
  if (line_begin != 0)
    text.insert(0, "\n      ");
  const std::string size = ", " + std::to_string(value.size()) + "}";
  if (!is_bytes)
    return runtime + "ConstChars{" + text + size;
  return runtime + "ConstBytes{reinterpret_cast<const uint8_t*>(" + text + ")" +
         size;
}

std::string DefaultLiteral(const Field& field, const std::string& runtime) {
  return std::visit(LiteralOf{field.type == FieldType::kBytes, runtime},
                    field.default_value);
}

}  // namespace protozero::plugin
