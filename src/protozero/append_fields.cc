// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/append_fields.h"

#include "src/protozero/short_copy.h"

namespace protozero::internal {

uint8_t* WriteSizeAndBytesUnsafe(size_t size, const void* src, uint8_t* dst) {
  if (PROTOZERO_UNLIKELY(size > kMaxShortCopy)) {
    dst = proto_utils::internal::WriteVarIntUnsafe(static_cast<uint32_t>(size),
                                                   dst);
    memcpy(dst, src, size);
    return dst + size;
  }
  *dst++ = static_cast<uint8_t>(size);
  CopyShortBytes(dst, static_cast<const uint8_t*>(src), size);
  return dst + size;
}

}  // namespace protozero::internal
