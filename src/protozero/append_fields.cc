// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/internal/fields_appender.h"

#include "protozero/internal/short_copy.h"
#include "varint_slow_path.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// Optimized for size, because memcpy() takes its time to begin, too.
PROTOZERO_COLD uint8_t* WriteSizeAndLongBytesUnsafe(size_t size,
                                                    const void* src,
                                                    uint8_t* dst) {
  dst = WriteVarIntSlowPath(size, dst);
  memcpy(dst, src, size);
  return dst + size;
}

}  // namespace

uint8_t* WriteSizeAndBytesUnsafe(size_t size,
                                 const void* src,
                                 uint8_t* dst) noexcept {
  if (PROTOZERO_UNLIKELY(size > kMaxShortCopy))
    return WriteSizeAndLongBytesUnsafe(size, src, dst);
  return WriteShortBytes(size, src, dst);
}

uint8_t* WidenSizeUnsafe(uint8_t* begin, size_t size) noexcept {
  uint8_t* const moved = MessageSteps::WidenSizeField(begin, size);
  // Inline code is for this processor if any message is narrow.
  proto_utils::internal::WritePaddedVarIntInline<
      proto_utils::kMessageLengthFieldSize>(
      size, moved - proto_utils::kMessageLengthFieldSize);
  return moved + size;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
