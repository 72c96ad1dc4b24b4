// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp/text.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {
namespace {

bool IsContinuation(uint8_t byte) {
  return (byte & 0xc0) == 0x80;
}

// Returns the size of the character at |text|, 0 if it is none.
size_t CharacterSize(const uint8_t* text, size_t available) {
  const uint8_t first = text[0];
  if (first < 0x80)
    return 1;
  // The range of the second byte excludes forms that are too long, surrogates,
  // and what is beyond Unicode.
  size_t size = 0;
  uint8_t low = 0x80, high = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) {
    size = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    size = 3;
    low = first == 0xe0 ? 0xa0 : low;
    high = first == 0xed ? 0x9f : high;
  } else if (first >= 0xf0 && first <= 0xf4) {
    size = 4;
    low = first == 0xf0 ? 0x90 : low;
    high = first == 0xf4 ? 0x8f : high;
  }
  if (size == 0 || size > available || text[1] < low || text[1] > high)
    return 0;
  for (size_t i = 2; i < size; ++i) {
    if (!IsContinuation(text[i]))
      return 0;
  }
  return size;
}

}  // namespace

bool RepairUtf8(uint8_t* text, size_t size) {
  bool is_repaired = false;
  for (size_t i = 0; i < size;) {
    const size_t character = CharacterSize(text + i, size - i);
    if (character != 0) {
      i += character;
      continue;
    }
    text[i++] = '?';
    is_repaired = true;
  }
  return is_repaired;
}

size_t LimitedSize(std::string_view text, size_t limit) {
  if (text.size() <= limit)
    return text.size();
  size_t size = limit;
  while (size > 0 && limit - size < 3 &&
         IsContinuation(static_cast<uint8_t>(text[size]))) {
    --size;
  }
  return size;
}

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
