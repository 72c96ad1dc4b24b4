// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_SHORT_COPY_H_
#define INCLUDE_PROTOZERO_INTERNAL_SHORT_COPY_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <new>

#include "protozero/internal/byte_order.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

inline constexpr size_t kMaxShortCopy = 64;

// Sixteen bytes that are being copied. As in byte_order.h, the type of the
// store tells compilers which objects it does not change. For gcc, a vector
// makes each load and store one move, since gcc does not merge two. For clang,
// a vector could alias anything, so it gets two words.
#if defined(__GNUC__) && !defined(__clang__) && defined(__SSE2__)
struct SixteenBytes {
  typedef unsigned long long Bits __attribute__((vector_size(16)));
  struct __attribute__((packed)) Stored {
    explicit Stored(Bits value) : bits(value) {}
    Bits bits;
  };
  PROTOZERO_ALWAYS_INLINE static SixteenBytes Load(const uint8_t* src) {
    return {LoadWord<Bits>(src)};
  }
  PROTOZERO_ALWAYS_INLINE void Store(uint8_t* dst) const {
    new (static_cast<void*>(dst)) Stored(bits);
  }
  Bits bits;
};
#else
struct SixteenBytes {
  PROTOZERO_ALWAYS_INLINE static SixteenBytes Load(const uint8_t* src) {
    return {LoadWord<uint64_t>(src), LoadWord<uint64_t>(src + 8)};
  }
  PROTOZERO_ALWAYS_INLINE void Store(uint8_t* dst) const {
    StoreWord(dst, low);
    StoreWord(dst + 8, high);
  }
  uint64_t low;
  uint64_t high;
};
#endif

// Copies up to kMaxShortCopy bytes. Most strings in traces are short, and a
// call of memcpy() costs more than the copy.
PROTOZERO_ALWAYS_INLINE void CopyShortBytes(uint8_t* dst,
                                            const uint8_t* src,
                                            size_t size) {
  // Two overlapping copies of a constant size cover every size in between. The
  // code for the length of names, which most strings in traces are, has no
  // jump.
  if (PROTOZERO_LIKELY(size >= 16)) {
    const SixteenBytes first = SixteenBytes::Load(src);
    const SixteenBytes last = SixteenBytes::Load(src + size - 16);
    if (PROTOZERO_UNLIKELY(size > 32)) {
      const SixteenBytes second = SixteenBytes::Load(src + 16);
      const SixteenBytes next_to_last = SixteenBytes::Load(src + size - 32);
      second.Store(dst + 16);
      next_to_last.Store(dst + size - 32);
    }
    first.Store(dst);
    last.Store(dst + size - 16);
  } else if (size >= 8) {
    const uint64_t first = LoadWord<uint64_t>(src);
    const uint64_t last = LoadWord<uint64_t>(src + size - 8);
    StoreWord(dst, first);
    StoreWord(dst + size - 8, last);
  } else if (size >= 4) {
    const uint32_t first = LoadWord<uint32_t>(src);
    const uint32_t last = LoadWord<uint32_t>(src + size - 4);
    StoreWord(dst, first);
    StoreWord(dst + size - 4, last);
  } else if (size != 0) {
    const uint8_t first = src[0];
    const uint8_t middle = src[size / 2];
    const uint8_t last = src[size - 1];
    StoreWord(dst, first);
    StoreWord(dst + size / 2, middle);
    StoreWord(dst + size - 1, last);
  }
}

// Writes |size| as a varint, and the bytes. REQUIRES: size <= kMaxShortCopy.
PROTOZERO_ALWAYS_INLINE uint8_t* WriteShortBytes(size_t size,
                                                 const void* src,
                                                 uint8_t* dst) {
  static_assert(kMaxShortCopy < 0x80, "their sizes take one byte");
  StoreWord(dst++, static_cast<uint8_t>(size));
  CopyShortBytes(dst, static_cast<const uint8_t*>(src), size);
  return dst + size;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_SHORT_COPY_H_
