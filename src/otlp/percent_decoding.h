// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_PERCENT_DECODING_H_
#define SRC_OTLP_PERCENT_DECODING_H_

#include <stddef.h>

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

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_PERCENT_DECODING_H_
