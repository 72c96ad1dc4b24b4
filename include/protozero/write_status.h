// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_WRITE_STATUS_H_
#define INCLUDE_PROTOZERO_WRITE_STATUS_H_

#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The reason why a stream stopped taking bytes. The first reason stays until
// the stream is reset; everything written after it is dropped.
enum class WriteStatus : uint8_t {
  kOk,
  // The delegate had no buffer left (or one too small to be of use).
  kOutOfBuffer,
  // A field, such as a nested message, is larger than kMaxMessageLength,
  // 268,435,455 bytes; or a root message is larger than kMaxRootMessageLength,
  // 2 GiB.
  kMessageTooLong,
  // Messages are nested deeper than MessageArena::kInlineMessages, and there
  // was no memory for more.
  kOutOfMemory,
  // The delegate returned a buffer that ends before it begins.
  kInvalidBuffer,
  // The delegate wrote to the stream that was asking it for a buffer.
  kReentered,
  // A message got a size field that may be among the bytes that it counts; or
  // the caller wrote to the stream between its size field and its first field.
  kAmbiguousSize,
};

// Returns a sentence for a log line. Never null.
PROTOZERO_COLD PROTOZERO_EXPORT const char* WriteStatusToString(
    WriteStatus status);

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_WRITE_STATUS_H_
