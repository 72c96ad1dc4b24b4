// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_C_INTERNAL_PBZ_PACKED_H_
#define INCLUDE_PROTOZERO_C_INTERNAL_PBZ_PACKED_H_

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "protozero/c/internal/pbz_message.h"

// Packed fields, without memory for all of their elements.

enum {
  PBZ_PACKED_INT32_,
  PBZ_PACKED_INT64_,
  PBZ_PACKED_UINT32_,
  PBZ_PACKED_UINT64_,
  PBZ_PACKED_SINT32_,
  PBZ_PACKED_SINT64_,
  PBZ_PACKED_BOOL_
};

static inline uint64_t pbz_element_(const void* values, size_t i, int type) {
  switch (type) {
    case PBZ_PACKED_INT32_:
      return (uint64_t)(int64_t)((const int32_t*)values)[i];
    case PBZ_PACKED_INT64_:
      return (uint64_t)((const int64_t*)values)[i];
    case PBZ_PACKED_UINT32_:
      return ((const uint32_t*)values)[i];
    case PBZ_PACKED_UINT64_:
      return ((const uint64_t*)values)[i];
    case PBZ_PACKED_SINT32_:
      return pbz_zigzag_(((const int32_t*)values)[i]);
    case PBZ_PACKED_SINT64_:
      return pbz_zigzag_(((const int64_t*)values)[i]);
    default:
      return ((const bool*)values)[i] ? 1 : 0;
  }
}

// Elements are encoded twice, the first time for their size.
static inline void pbz_append_packed_(pbz_message* message,
                                      uint32_t number,
                                      const void* values,
                                      size_t count,
                                      int type) {
  uint8_t block[256];
  const uint8_t* const last = block + sizeof(block) - 10;
  uint8_t* pos = block;
  uint64_t size = 0;
  size_t i;
  if (!pbz_is_field_number_(number)) {
    pbz_fail_(message, PBZ_BAD_FIELD_NUMBER);
    return;
  }
  for (i = 0; i < count; ++i) {
    uint8_t* const end = pbz_put_varint_(pos, pbz_element_(values, i, type));
    size += (uint64_t)(end - pos);
    // Keeps what fits: short fields are encoded once.
    pos = size <= (uint64_t)(last - block) ? end : block;
  }
  if (!pbz_append_header_(message, pbz_tag_(number, 2), size))
    return;
  if (size <= (uint64_t)(last - block)) {
    (void)pbz_write_(message, block, (size_t)size);
    return;
  }
  pos = block;
  for (i = 0; i < count; ++i) {
    pos = pbz_put_varint_(pos, pbz_element_(values, i, type));
    if (pos > last || i + 1 == count) {
      if (!pbz_write_(message, block, (size_t)(pos - block)))
        return;
      pos = block;
    }
  }
}

static inline void pbz_append_packed_fixed_(pbz_message* message,
                                            uint32_t number,
                                            const void* values,
                                            size_t count,
                                            size_t value_size) {
  if (!pbz_is_field_number_(number)) {
    pbz_fail_(message, PBZ_BAD_FIELD_NUMBER);
    return;
  }
  // More bytes than there can be, if that overflows.
  if (!pbz_append_header_(message, pbz_tag_(number, 2),
                          count <= PBZ_MAX_MESSAGE_SIZE_
                              ? (uint64_t)count * value_size
                              : UINT64_MAX)) {
    return;
  }
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  (void)pbz_write_(message, values, count * value_size);
#else
  {
    size_t i;
    for (i = 0; i < count; ++i) {
      uint8_t bytes[8];
      uint64_t bits = value_size == 8 ? ((const uint64_t*)values)[i]
                                      : ((const uint32_t*)values)[i];
      pbz_store_(bytes, bits, value_size);
      if (!pbz_write_(message, bytes, value_size))
        return;
    }
  }
#endif
}

#endif  // INCLUDE_PROTOZERO_C_INTERNAL_PBZ_PACKED_H_
