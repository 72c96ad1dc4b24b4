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

// Packed fields, written straight from an array to the stream.

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

// Appends the field in two passes over the elements. The first is for their
// size.
static inline void pbz_append_packed_(pbz_message* message,
                                      uint32_t number,
                                      const void* values,
                                      size_t count,
                                      int type) {
  uint64_t size = 0;
  uint8_t* pos;
  size_t i;
  if (!pbz_is_field_number_(number)) {
    pbz_fail_(message, PBZ_BAD_FIELD_NUMBER);
    return;
  }
  for (i = 0; i < count; ++i)
    size += pbz_varint_size_(pbz_element_(values, i, type));
  if (!pbz_append_header_(message, pbz_tag_(number, 2), size))
    return;
  pos = message->pos;
  for (i = 0; i < count; ++i) {
    const uint64_t element = pbz_element_(values, i, type);
    if (PBZ_LIKELY((uintptr_t)pos < message->fast_limit)) {
      pos = pbz_put_varint_(pos, element);
    } else {
      uint8_t bytes[10];
      const size_t bytes_size =
          (size_t)(pbz_put_long_varint_(bytes, element) - bytes);
      message->pos = pos;
      if (!pbz_write_(message, bytes, bytes_size))
        return;
      pos = message->pos;
    }
  }
  message->pos = pos;
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
  // If the product overflowed, this passes a size that is refused.
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
