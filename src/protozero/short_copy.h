// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOZERO_SHORT_COPY_H_
#define SRC_PROTOZERO_SHORT_COPY_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "protozero/compiler.h"

namespace protozero::internal {

inline constexpr size_t kMaxShortCopy = 64;

// proto_utils::WriteVarInt() where being called is better than being fast.
PROTOZERO_COLD uint8_t* WriteVarIntSlowPath(uint64_t value, uint8_t* dst);

// memcpy() of up to kMaxShortCopy bytes: most strings in traces are short, and
// a library call costs more than the copy.
inline void CopyShortBytes(uint8_t* dst, const uint8_t* src, size_t size) {
  // Two overlapping copies of a constant size cover every size in between.
  if (size >= 16) {
    if (size > 32) {
      memcpy(dst + 16, src + 16, 16);
      memcpy(dst + size - 32, src + size - 32, 16);
    }
    memcpy(dst, src, 16);
    memcpy(dst + size - 16, src + size - 16, 16);
  } else if (size >= 8) {
    memcpy(dst, src, 8);
    memcpy(dst + size - 8, src + size - 8, 8);
  } else if (size >= 4) {
    memcpy(dst, src, 4);
    memcpy(dst + size - 4, src + size - 4, 4);
  } else if (size != 0) {
    dst[0] = src[0];
    dst[size / 2] = src[size / 2];
    dst[size - 1] = src[size - 1];
  }
}

// Writes |size| as a varint, and the bytes. REQUIRES: size <= kMaxShortCopy.
inline uint8_t* WriteShortBytes(size_t size, const void* src, uint8_t* dst) {
  static_assert(kMaxShortCopy < 0x80, "their sizes take one byte");
  *dst++ = static_cast<uint8_t>(size);
  CopyShortBytes(dst, static_cast<const uint8_t*>(src), size);
  return dst + size;
}

}  // namespace protozero::internal

#endif  // SRC_PROTOZERO_SHORT_COPY_H_
