// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_DECODE_STATUS_H_
#define INCLUDE_PROTOZERO_DECODE_STATUS_H_

#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The reason why a decoder stopped before the end of its input.
enum class DecodeStatus : uint8_t {
  kOk,
  // A tag, a value or a payload goes beyond the end, or a group has no end.
  kTruncated,
  // A varint of more than ten bytes, or a tag of more than five bytes or more
  // than 32 bits.
  kBadVarInt,
  // Field id 0.
  kBadFieldId,
  // Wire type 6 or 7.
  kBadWireType,
  // The end of a group that has not begun, or of one with another field id.
  kUnmatchedEndGroup,
  // Groups are nested deeper than ProtoDecoder::kMaxGroupDepth.
  kTooDeep,
  // A payload or a group of 4 GiB or more.
  kTooLong,
};

// Returns a sentence for a log line. Never null.
PROTOZERO_EXPORT const char* DecodeStatusToString(DecodeStatus status);

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_DECODE_STATUS_H_
