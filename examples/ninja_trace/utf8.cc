// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/utf8.h"

#include <stddef.h>
#include <stdint.h>

namespace ninja_trace {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// A form of characters of more than one byte: the ranges of the first byte and
// of the second one. The second is restricted where other values would encode a
// character that has a shorter form, a surrogate, or nothing (beyond U+10FFFF).
// All further bytes are 80 to BF.
struct Form {
  uint8_t first_min, first_max;
  uint8_t second_min, second_max;
  size_t size;
};
constexpr Form kForms[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

// Returns the size of the character at the beginning of |text|, or 0 if there
// is none.
size_t CharacterSize(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (byte(0) < 0x80)
    return 1;
  for (const Form& form : kForms) {
    if (byte(0) < form.first_min || byte(0) > form.first_max)
      continue;
    if (text.size() < form.size || byte(1) < form.second_min ||
        byte(1) > form.second_max) {
      return 0;
    }
    for (size_t i = 2; i < form.size; ++i) {
      if (byte(i) < 0x80 || byte(i) > 0xbf)
        return 0;
    }
    return form.size;
  }
  return 0;
}

}  // namespace

std::string MakeValidUtf8(std::string_view text) {
  std::string result;
  size_t begin = 0;  // The first byte that has not been copied.
  size_t end = 0;
  while (end < text.size()) {
    const size_t size = CharacterSize(text.substr(end));
    if (size != 0) {
      end += size;
      continue;
    }
    result += text.substr(begin, end - begin);
    result += kReplacement;
    begin = ++end;
  }
  result += text.substr(begin);
  return result;
}

}  // namespace ninja_trace
