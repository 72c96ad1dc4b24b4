// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/decode_status.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

const char* DecodeStatusToString(DecodeStatus status) {
  switch (status) {
    case DecodeStatus::kOk:
      return "ok";
    case DecodeStatus::kTruncated:
      return "a field goes beyond the end of the input";
    case DecodeStatus::kBadVarInt:
      return "a varint is too long";
    case DecodeStatus::kBadFieldId:
      return "a field has the id 0";
    case DecodeStatus::kBadWireType:
      return "a field has the wire type 6 or 7";
    case DecodeStatus::kUnmatchedEndGroup:
      return "a group ends that has not begun";
    case DecodeStatus::kTooDeep:
      return "groups are nested too deep";
    case DecodeStatus::kTooLong:
      return "a payload or group has 4 GiB or more";
  }
  return "not a status";
}

PROTOZERO_ABI_END
}  // namespace protozero
