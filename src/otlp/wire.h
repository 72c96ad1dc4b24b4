// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_WIRE_H_
#define SRC_OTLP_WIRE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <string_view>

#include "protozero/internal/byte_order.h"
#include "protozero/internal/varint.h"
#include "protozero/proto_utils.h"

#include "protozero/internal/macros.h"

// Fields at a position that has room for them, and for kSlack bytes more, since
// a varint is stored as a whole word.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {

inline constexpr size_t kSlack = 16;

constexpr uint8_t OneByteTag(uint32_t field, uint32_t wire_type) {
  return static_cast<uint8_t>(field << 3 | wire_type);
}
constexpr uint8_t VarIntTag(uint32_t field) {
  return OneByteTag(field, 0);
}
constexpr uint8_t Fixed64Tag(uint32_t field) {
  return OneByteTag(field, 1);
}
constexpr uint8_t BytesTag(uint32_t field) {
  return OneByteTag(field, 2);
}

PROTOZERO_ALWAYS_INLINE uint8_t* PutVarInt(uint8_t* pos, uint64_t value) {
  // Most are lengths and small numbers.
  if (PROTOZERO_LIKELY(value < 0x4000)) {
    const uint64_t is_long = value >= 0x80;
    pos[0] = static_cast<uint8_t>(value | is_long << 7);
    pos[1] = static_cast<uint8_t>(value >> 7);
    return pos + 1 + is_long;
  }
  return proto_utils::internal::WriteVarIntUnsafe(value, pos);
}
PROTOZERO_ALWAYS_INLINE uint8_t* PutFixed64(uint8_t* pos, uint64_t value) {
  ::protozero::internal::StoreLittleEndian(pos, value);
  return pos + 8;
}
PROTOZERO_ALWAYS_INLINE uint8_t* PutFixed32(uint8_t* pos, uint32_t value) {
  ::protozero::internal::StoreLittleEndian(pos, value);
  return pos + 4;
}
inline uint8_t* PutBytes(uint8_t* pos,
                         uint8_t tag,
                         const void* data,
                         size_t size) {
  *pos++ = tag;
  pos = PutVarInt(pos, size);
  if (size != 0)
    memcpy(pos, data, size);
  return pos + size;
}

// The length of a nested message that begins at |begin|, after one byte for the
// length, and ends at |pos|. Returns its end, which is later for a long one.
inline uint8_t* PutLength(uint8_t* begin, uint8_t* pos) {
  const size_t size = static_cast<size_t>(pos - begin);
  if (PROTOZERO_LIKELY(size < 0x80)) {
    begin[-1] = static_cast<uint8_t>(size);
    return pos;
  }
  const size_t more = proto_utils::VarIntSize(size) - 1;
  memmove(begin + more, begin, size);
  // Not a whole word, which would overwrite what follows.
  uint8_t* length = begin - 1;
  size_t rest = size;
  for (; rest >= 0x80; rest >>= 7)
    *length++ = static_cast<uint8_t>(rest | 0x80);
  *length = static_cast<uint8_t>(rest);
  return pos + more;
}

// The most bytes that a tag and a length take.
inline constexpr size_t kMaxHeader = 8;

// Returns the position after the field at |pos| of a message that this library
// has written.
inline const uint8_t* SkipField(const uint8_t* pos) {
  auto read = [&pos] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t byte = *pos++;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80)
        return value;
    }
  };
  switch (read() & 7) {
    case 0:
      read();
      return pos;
    case 1:
      return pos + 8;
    case 2: {
      const uint64_t size = read();
      return pos + size;
    }
    default:
      return pos + 4;
  }
}

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_WIRE_H_
