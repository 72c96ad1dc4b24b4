// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_WRITE_STATUS_H_
#define INCLUDE_PROTOZERO_WRITE_STATUS_H_

#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Why a stream stopped taking bytes. The first cause stays until the stream is
// reset; everything written after it is dropped.
enum class WriteStatus : uint8_t {
  kOk,
  // The delegate had no buffer left (or one too small to be of use).
  kOutOfBuffer,
  // A field, a nested message among them, is larger than kMaxMessageLength,
  // 268,435,455 bytes; or a root message than kMaxRootMessageLength, 2 GiB.
  kMessageTooLong,
  // Messages are nested deeper than MessageArena::kInlineMessages, and there
  // was no memory for more.
  kOutOfMemory,
  // The delegate returned a buffer that ends before it begins.
  kInvalidBuffer,
  // The delegate wrote to the stream that was asking it for a buffer.
  kReentered,
  // A message got a size field that may be in the middle of what it counts; or
  // somebody wrote to the stream between its size field and its first field.
  kAmbiguousSize,
};

// A sentence for a log line. Never null.
PROTOZERO_COLD PROTOZERO_EXPORT const char* WriteStatusToString(
    WriteStatus status);

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_WRITE_STATUS_H_
