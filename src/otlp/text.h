// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_TEXT_H_
#define SRC_OTLP_TEXT_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <string_view>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {

inline constexpr uint64_t kHighBits = 0x8080808080808080;

// The words that a text was copied by: what they have in common is enough to
// know that it is ASCII, and makes a hash.
struct CopiedText {
  uint64_t all = 0;
  uint64_t hash = 0;
  bool IsAscii() const { return (all & kHighBits) == 0; }
};

template <typename T>
PROTOZERO_ALWAYS_INLINE T LoadText(const char* src) {
  T word;
  memcpy(&word, src, sizeof(word));
  return word;
}

// Returns a hash of a text's first and last bytes, and its size.
PROTOZERO_ALWAYS_INLINE uint64_t HashEnds(uint64_t first,
                                          uint64_t last,
                                          uint64_t size) {
  return (first ^ (last << 7 | last >> 57)) + size;
}

// Copies a text, and looks at its bytes on the way.
PROTOZERO_ALWAYS_INLINE CopiedText CopyText(uint8_t* dst,
                                            std::string_view text) {
  const char* const src = text.data();
  const size_t size = text.size();
  uint64_t first = 0, last = 0, all = 0;
  if (PROTOZERO_LIKELY(size >= 8)) {
    // In order, so that a text whose hash is unused takes few registers.
    first = LoadText<uint64_t>(src);
    memcpy(dst, &first, 8);
    all = first;
    // Vectors pay for texts that are longer than most.
#if defined(__clang__)
#pragma clang loop vectorize(disable) unroll(disable)
#endif
    for (size_t i = 8; i + 8 < size; i += 8) {
      const uint64_t word = LoadText<uint64_t>(src + i);
      memcpy(dst + i, &word, 8);
      all |= word;
    }
    last = LoadText<uint64_t>(src + size - 8);
    memcpy(dst + size - 8, &last, 8);
    all |= last;
  } else if (size >= 4) {
    const uint32_t front = LoadText<uint32_t>(src);
    memcpy(dst, &front, 4);
    const uint32_t back = LoadText<uint32_t>(src + size - 4);
    memcpy(dst + size - 4, &back, 4);
    first = front;
    last = back;
    all = first | last;
  } else if (size > 0) {
    // One to three bytes: the first, the one in the middle, and the last.
    dst[0] = static_cast<uint8_t>(src[0]);
    dst[size / 2] = static_cast<uint8_t>(src[size / 2]);
    dst[size - 1] = static_cast<uint8_t>(src[size - 1]);
    first = dst[0];
    last = static_cast<uint64_t>(dst[size / 2]) << 8 | dst[size - 1];
    all = first | last | last >> 8;
  }
  return {all, HashEnds(first, last, size)};
}

// Returns the hash of CopyText().
inline uint64_t HashText(std::string_view text) {
  const char* const src = text.data();
  const size_t size = text.size();
  uint64_t first = 0, last = 0;
  if (size >= 8) {
    first = LoadText<uint64_t>(src);
    last = LoadText<uint64_t>(src + size - 8);
  } else if (size >= 4) {
    first = LoadText<uint32_t>(src);
    last = LoadText<uint32_t>(src + size - 4);
  } else if (size > 0) {
    first = static_cast<uint8_t>(src[0]);
    last = static_cast<uint64_t>(static_cast<uint8_t>(src[size / 2])) << 8 |
           static_cast<uint8_t>(src[size - 1]);
  }
  return HashEnds(first, last, size);
}

// Replaces each byte that is not part of a character in UTF-8 by a question
// mark. True if there was one.
bool RepairUtf8(uint8_t* text, size_t size);

// Returns the number of bytes of the text that are within the limit, without a
// part of a character.
size_t LimitedSize(std::string_view text, size_t limit);

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_TEXT_H_
