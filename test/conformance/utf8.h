// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_CONFORMANCE_UTF8_H_
#define TEST_CONFORMANCE_UTF8_H_

#include <stddef.h>
#include <stdint.h>

#include <string_view>

namespace protozero::conformance {

// Whether |text| is UTF-8: neither surrogates, nor more than U+10FFFF, nor more
// bytes than a character needs.
inline bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i++]);
    if (first < 0x80)
      continue;
    if (first < 0xc0 || first >= 0xf8)
      return false;
    const size_t count = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (text.size() - i < count)
      return false;
    uint32_t character = first & (0x3fu >> count);
    for (size_t end = i + count; i < end; ++i) {
      const auto next = static_cast<uint8_t>(text[i]);
      if ((next & 0xc0) != 0x80)
        return false;
      character = character << 6 | (next & 0x3f);
    }
    constexpr uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
    if (character < kSmallest[count] || character > 0x10ffff ||
        character >> 11 == 0xd800 >> 11) {
      return false;
    }
  }
  return true;
}

}  // namespace protozero::conformance

#endif  // TEST_CONFORMANCE_UTF8_H_
