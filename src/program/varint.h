// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROGRAM_VARINT_H_
#define SRC_PROGRAM_VARINT_H_

#include <stddef.h>
#include <stdint.h>

#include <string>

#include "protozero/proto_utils.h"

namespace program {

// Appends a number as protobuf writes it.
inline void AppendVarInt(uint64_t number, std::string* bytes) {
  uint8_t varint[protozero::proto_utils::kMaxVarIntEncodedSize];
  const uint8_t* const end =
      protozero::proto_utils::WriteVarInt(number, varint);
  bytes->append(reinterpret_cast<const char*>(varint),
                static_cast<size_t>(end - varint));
}

}  // namespace program

#endif  // SRC_PROGRAM_VARINT_H_
