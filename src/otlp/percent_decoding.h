// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_PERCENT_DECODING_H_
#define SRC_OTLP_PERCENT_DECODING_H_

#include <stddef.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {

// Returns the value of a hexadecimal digit; -1 if it is none.
inline int HexDigit(char digit) {
  if (digit >= '0' && digit <= '9')
    return digit - '0';
  const char lower = static_cast<char>(digit | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Appends |text| with "A" in place of "%41". False for a percent sign without
// two digits.
inline bool AppendPercentDecoded(std::string_view text, std::string* result) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      *result += text[i];
      continue;
    }
    if (text.size() - i < 3)
      return false;
    const int high = HexDigit(text[i + 1]);
    const int low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0)
      return false;
    *result += static_cast<char>(high << 4 | low);
    i += 2;
  }
  return true;
}

// Returns the text without spaces and tabs around it.
inline std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// Returns the text with small letters, which the names of values are compared
// in.
inline std::string LowerCase(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return result;
}

// Calls |take| with each key and value of a list KEY=VALUE,... without the
// spaces around them. False if |take| says so, or an entry is no pair.
template <typename Take>
bool ForEachPair(std::string_view list, Take take) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view entry = Trimmed(list.substr(0, comma));
    list.remove_prefix(std::min(comma, list.size() - 1) + 1);
    if (entry.empty())
      continue;
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos ||
        !take(Trimmed(entry.substr(0, equals)),
              Trimmed(entry.substr(equals + 1))))
      return false;
  }
  return true;
}

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_PERCENT_DECODING_H_
