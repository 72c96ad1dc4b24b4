// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/program/text.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <type_traits>

namespace program {

namespace {

// Decodes the first character of |bytes|. Returns its size, or 0 if it is not
// valid.
size_t NextCharacter(std::string_view bytes, uint32_t* code_point) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) {
    *code_point = first;
    return 1;
  }
  // The character's size, and the smallest code point that needs as many bytes.
  size_t size;
  uint32_t smallest;
  if (first >= 0xc0 && first < 0xe0) {
    size = 2;
    smallest = 0x80;
  } else if (first >= 0xe0 && first < 0xf0) {
    size = 3;
    smallest = 0x800;
  } else if (first >= 0xf0 && first < 0xf8) {
    size = 4;
    smallest = 0x10000;
  } else {
    return 0;
  }
  if (bytes.size() < size)
    return 0;
  uint32_t result = first & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if (!ContinuesCharacter(bytes[i]))
      return 0;
    result = result << 6 | (byte(i) & 0x3fu);
  }
  const bool is_surrogate = result >= 0xd800 && result < 0xe000;
  if (result < smallest || result > 0x10ffff || is_surrogate)
    return 0;
  *code_point = result;
  return size;
}

// Returns whether a character controls the terminal, or changes the direction
// of text: the terminal would show the following text in another order.
bool IsControl(uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) ||
         code_point == 0x61c || code_point == 0x200e || code_point == 0x200f ||
         (code_point >= 0x2028 && code_point <= 0x202e) ||
         (code_point >= 0x2066 && code_point <= 0x2069) || code_point == 0xfeff;
}

// U+FFFD in UTF-8.
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Returns the number of bytes at the beginning that are ASCII, or up to seven
// less.
size_t AsciiPrefix(std::string_view bytes) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  size_t size = 0;
  for (; bytes.size() - size >= sizeof(uint64_t); size += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, bytes.data() + size, sizeof(word));
    if (word & kHighBits)
      break;
  }
  return size;
}

// Appends \u001b or the like.
void AppendUnicodeEscape(uint32_t code_point, std::string* out) {
  char escaped[8];
  snprintf(escaped, sizeof(escaped), "\\u%04x",
           static_cast<unsigned>(code_point & 0xffff));
  *out += escaped;
}

// Returns whether a JSON string has this byte unchanged, and as a whole
// character.
bool IsPlainInJson(char byte) {
  return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

// Appends |bytes|, which are one character, or one byte that is none.
void AppendEscaped(std::string_view bytes, std::string* out) {
  for (const char c : bytes) {
    *out += '\\';
    switch (c) {
      case '\n':
        *out += 'n';
        break;
      case '\r':
        *out += 'r';
        break;
      case '\t':
        *out += 't';
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        // There are always three digits, because a digit may follow.
        *out += static_cast<char>('0' + (byte >> 6));
        *out += static_cast<char>('0' + (byte >> 3 & 7));
        *out += static_cast<char>('0' + (byte & 7));
      }
    }
  }
}

template <typename T>
void AppendFloatingPoint(T value,
                         int digits,
                         int sufficient_digits,
                         std::string* out) {
  if (isnan(value)) {
    *out += "nan";
    return;
  }
  if (isinf(value)) {
    *out += value < 0 ? "-inf" : "inf";
    return;
  }
  char text[40];
  snprintf(text, sizeof(text), "%.*g", digits, static_cast<double>(value));
  T parsed;
  if constexpr (std::is_same_v<T, float>)
    parsed = strtof(text, nullptr);  // It is rounded once, not twice.
  else
    parsed = strtod(text, nullptr);
  // protoc reads the number with a parser that refuses such floats.
  const bool is_subnormal = std::is_same_v<T, float> && value != 0 &&
                            fabs(value) < std::numeric_limits<T>::min();
  if (parsed != value || is_subnormal) {
    snprintf(text, sizeof(text), "%.*g", sufficient_digits,
             static_cast<double>(value));
  }
  *out += text;
}

}  // namespace

bool IsUtf8(std::string_view bytes) {
  // A shortcut: most texts are ASCII.
  bytes.remove_prefix(AsciiPrefix(bytes));
  while (!bytes.empty()) {
    uint32_t code_point = 0;
    const size_t size = NextCharacter(bytes, &code_point);
    if (size == 0)
      return false;
    bytes.remove_prefix(size);
  }
  return true;
}

bool IsText(std::string_view bytes) {
  while (!bytes.empty()) {
    uint32_t code_point = 0;
    const size_t size = NextCharacter(bytes, &code_point);
    const bool is_space =
        code_point == '\n' || code_point == '\r' || code_point == '\t';
    if (size == 0 || (IsControl(code_point) && !is_space))
      return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string_view WithoutByteOrderMark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.substr(0, kMark.size()) == kMark ? text.substr(kMark.size())
                                               : text;
}

void AppendQuoted(std::string_view bytes, std::string* out, Escape escape) {
  const bool as_protoc = escape == Escape::kAsProtoc;
  *out += '"';
  while (!bytes.empty()) {
    uint32_t code_point = 0;
    size_t size = NextCharacter(bytes, &code_point);
    const bool is_shown =
        !IsControl(code_point) && !(as_protoc && code_point >= 0x80);
    if (size != 0 && is_shown) {
      if (code_point == '"' || code_point == '\\' ||
          (as_protoc && code_point == '\'')) {
        *out += '\\';
      }
      *out += bytes.substr(0, size);
    } else {
      size = size == 0 ? 1 : size;
      AppendEscaped(bytes.substr(0, size), out);
    }
    bytes.remove_prefix(size);
  }
  *out += '"';
}

std::string Shown(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    uint32_t code_point = 0;
    size_t size = NextCharacter(bytes, &code_point);
    if (size != 0 && (!IsControl(code_point) || code_point == '\n')) {
      out += bytes.substr(0, size);
    } else {
      size = size == 0 ? 1 : size;
      AppendEscaped(bytes.substr(0, size), &out);
    }
    bytes.remove_prefix(size);
  }
  return out;
}

std::string MadeUtf8(std::string_view text) {
  std::string utf8;
  while (!text.empty()) {
    uint32_t code_point = 0;
    const size_t size = NextCharacter(text, &code_point);
    utf8 += size != 0 ? text.substr(0, size) : kReplacement;
    text.remove_prefix(size != 0 ? size : 1);
  }
  return utf8;
}

std::string_view CutAtCharacter(std::string_view text, size_t max_size) {
  if (text.size() <= max_size)
    return text;
  // A character has up to three bytes after its first one.
  const size_t min_size = max_size - std::min<size_t>(max_size, 3);
  size_t size = max_size;
  while (size > min_size && ContinuesCharacter(text[size]))
    --size;
  // Bytes that are not UTF-8 have no better place to be cut.
  return text.substr(0, ContinuesCharacter(text[size]) ? max_size : size);
}

std::string CountOf(uint64_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

void AppendJsonString(std::string_view text, std::string* json) {
  *json += '"';
  while (!text.empty()) {
    // Most text is plain, and need not be appended character by character.
    const size_t plain = static_cast<size_t>(
        std::find_if_not(text.begin(), text.end(), IsPlainInJson) -
        text.begin());
    json->append(text, 0, plain);
    text.remove_prefix(plain);
    if (text.empty())
      break;
    uint32_t code_point = 0;
    const size_t size = NextCharacter(text, &code_point);
    if (size == 0) {
      *json += kReplacement;
    } else if (code_point == '"' || code_point == '\\') {
      *json += '\\';
      *json += text[0];
    } else if (IsControl(code_point)) {
      AppendUnicodeEscape(code_point, json);
    } else {
      *json += text.substr(0, size);
    }
    text.remove_prefix(size != 0 ? size : 1);
  }
  *json += '"';
}

void AppendShownJson(std::string_view string, std::string* json) {
  while (!string.empty()) {
    uint32_t code_point = 0;
    const size_t size = NextCharacter(string, &code_point);
    if (size != 0 && IsControl(code_point))
      AppendUnicodeEscape(code_point, json);
    else
      *json += string.substr(0, size);
    string.remove_prefix(std::max<size_t>(size, 1));
  }
}

void AppendCsvText(std::string_view text, std::string* csv) {
  while (!text.empty()) {
    uint32_t code_point = 0;
    const size_t size = NextCharacter(text, &code_point);
    const bool is_space = text[0] == '\t' || text[0] == '\n' || text[0] == '\r';
    const bool is_control =
        code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0);
    if (size == 0) {
      *csv += kReplacement;
    } else if (is_control && !is_space) {
      AppendUnicodeEscape(code_point, csv);
    } else {
      *csv += text.substr(0, size);
      if (text[0] == '"')
        *csv += '"';
    }
    text.remove_prefix(size != 0 ? size : 1);
  }
}

std::string HexOf(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    hex += kDigits[static_cast<uint8_t>(c) >> 4];
    hex += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return hex;
}

void AppendBase64(std::string_view bytes, std::string* out) {
  constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr size_t kGroup = 3;
  for (size_t i = 0; i < bytes.size(); i += kGroup) {
    const std::string_view group = bytes.substr(i, kGroup);
    uint32_t bits = 0;
    for (size_t j = 0; j < kGroup; ++j)
      bits =
          bits << 8 | (j < group.size() ? static_cast<uint8_t>(group[j]) : 0);
    for (size_t j = 0; j <= kGroup; ++j)
      *out += j <= group.size() ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
  }
}

void AppendDouble(double value, std::string* out) {
  // A shortcut for integers of at most 15 digits. -0 is not one of them.
  if (fabs(value) < 1e15 && value == floor(value) &&
      !(value == 0 && signbit(value))) {
    char text[20];
    const auto end =
        std::to_chars(text, text + sizeof(text), static_cast<int64_t>(value));
    out->append(text, static_cast<size_t>(end.ptr - text));
    return;
  }
  AppendFloatingPoint(value, DBL_DIG, DBL_DIG + 2, out);
}

void AppendFloat(float value, std::string* out) {
  AppendFloatingPoint(value, FLT_DIG, FLT_DIG + 3, out);
}

std::string_view NonFiniteName(double value) {
  if (isnan(value))
    return "NaN";
  return value < 0 ? "-Infinity" : "Infinity";
}

}  // namespace program
