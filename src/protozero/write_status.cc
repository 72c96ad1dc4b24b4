// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/write_status.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

const char* WriteStatusToString(WriteStatus status) {
  switch (status) {
    case WriteStatus::kOk:
      return "ok";
    case WriteStatus::kOutOfBuffer:
      return "the delegate has no buffer left";
    case WriteStatus::kMessageTooLong:
      return "a field is longer than 268435455 bytes, or a message than "
             "2147483647";
    case WriteStatus::kOutOfMemory:
      return "no memory for a deeply nested message";
    case WriteStatus::kInvalidBuffer:
      return "a buffer ends before it begins";
    case WriteStatus::kReentered:
      return "the delegate wrote to the stream that was asking it for a buffer";
    case WriteStatus::kAmbiguousSize:
      return "it is unclear which bytes a size field that was set counts";
  }
  return "not a status";
}

PROTOZERO_ABI_END
}  // namespace protozero
