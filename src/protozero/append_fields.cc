// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/append_fields.h"

#include "short_copy.h"

namespace protozero::internal {

namespace {

// memcpy() takes its time to begin, too: here size counts.
PROTOZERO_COLD uint8_t* WriteSizeAndLongBytesUnsafe(size_t size,
                                                    const void* src,
                                                    uint8_t* dst) {
  dst = proto_utils::WriteVarInt(size, dst);
  memcpy(dst, src, size);
  return dst + size;
}

}  // namespace

uint8_t* WriteVarIntOutOfLineUnsafe(uint64_t value, uint8_t* dst) {
  return PROTOZERO_UNLIKELY(value >> 56 != 0)
             ? proto_utils::internal::WriteLongVarIntUnsafe(value, dst)
             : proto_utils::internal::WriteVarInt56Inline(value, dst);
}

uint8_t* WriteSizeAndBytesUnsafe(size_t size, const void* src, uint8_t* dst) {
  if (PROTOZERO_UNLIKELY(size > kMaxShortCopy))
    return WriteSizeAndLongBytesUnsafe(size, src, dst);
  *dst++ = static_cast<uint8_t>(size);
  CopyShortBytes(dst, static_cast<const uint8_t*>(src), size);
  return dst + size;
}

}  // namespace protozero::internal
