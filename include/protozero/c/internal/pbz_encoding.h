// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_C_INTERNAL_PBZ_ENCODING_H_
#define INCLUDE_PROTOZERO_C_INTERNAL_PBZ_ENCODING_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Encoders of tags, varints and numbers, to memory that has room for them.
// "pbz_writer.h" undefines the macros.

#if defined(__GNUC__)
#define PBZ_COLD static __attribute__((noinline, cold, unused))
#define PBZ_LIKELY(condition) (__builtin_expect(!!(condition), 1) != 0)
#else
#define PBZ_COLD static inline
#define PBZ_LIKELY(condition) (condition)
#endif

// Stores the |size| lower bytes of |bits|, lowest first.
static inline void pbz_store_(uint8_t* pos, uint64_t bits, size_t size) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  memcpy(pos, &bits, size);
#else
  size_t i;
  for (i = 0; i < size; ++i)
    pos[i] = (uint8_t)(bits >> (8 * i));
#endif
}

static inline uint8_t* pbz_put_long_varint_(uint8_t* pos, uint64_t value) {
  while (value >= 0x80) {
    *pos++ = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  *pos++ = (uint8_t)value;
  return pos;
}

#if defined(__GNUC__)
static inline size_t pbz_varint_size_(uint64_t value) {
  // The number of bits, divided by 7 and rounded up. 9/64 is close enough to
  // 1/7.
  return (size_t)((64 - __builtin_clzll((unsigned long long)(value | 1))) * 9 +
                  64) /
         64;
}
#else
static inline size_t pbz_varint_size_(uint64_t value) {
  size_t size = 1;
  while (value >>= 7)
    ++size;
  return size;
}
#endif

// Writes a varint. May overwrite up to 10 bytes.
static inline uint8_t* pbz_put_varint_(uint8_t* pos, uint64_t value) {
#if defined(__GNUC__)
  // Spreads the lower 56 bits to groups of 28, then 14, then 7 bits. So no
  // branch depends on the size, which processors could not predict.
  uint64_t bits = (value & 0x0fffffff) | (value & 0x00fffffff0000000) << 4;
  bits = (bits & 0x00003fff00003fff) | (bits & 0x0fffc0000fffc000) << 2;
  bits = (bits & 0x007f007f007f007f) | (bits & 0x3f803f803f803f80) << 1;
  if (PBZ_LIKELY(value >> 56 == 0)) {
    const size_t size = pbz_varint_size_(value);
    bits |= 0x8080808080808080 & (((uint64_t)1 << (8 * (size - 1))) - 1);
    pbz_store_(pos, bits, 8);
    return pos + size;
  }
  pbz_store_(pos, bits | 0x8080808080808080, 8);
  return pbz_put_long_varint_(pos + 8, value >> 56);
#else
  return pbz_put_long_varint_(pos, value);
#endif
}

// Writes a tag. It is almost always a constant, so only one branch is left.
static inline uint8_t* pbz_put_tag_(uint8_t* pos, uint32_t tag) {
  if (tag < 0x80) {
    *pos = (uint8_t)tag;
    return pos + 1;
  }
  if (tag < 0x4000) {
    pbz_store_(pos, (tag & 0x7f) | 0x80 | (tag >> 7) << 8, 2);
    return pos + 2;
  }
  return pbz_put_long_varint_(pos, tag);
}

static inline void pbz_put_wide_size_(uint8_t* pos, uint32_t size) {
  pos[0] = (uint8_t)(size | 0x80);
  pos[1] = (uint8_t)(size >> 7 | 0x80);
  pos[2] = (uint8_t)(size >> 14 | 0x80);
  pos[3] = (uint8_t)(size >> 21);
}

static inline uint32_t pbz_tag_(uint32_t number, uint32_t wire_type) {
  return number << 3 | wire_type;
}

static inline int pbz_is_field_number_(uint32_t number) {
  return PBZ_LIKELY(number - 1 < 536870911);
}

static inline uint64_t pbz_zigzag_(int64_t value) {
  return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

#endif  // INCLUDE_PROTOZERO_C_INTERNAL_PBZ_ENCODING_H_
