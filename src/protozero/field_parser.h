// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOZERO_FIELD_PARSER_H_
#define SRC_PROTOZERO_FIELD_PARSER_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/decode_status.h"
#include "protozero/field.h"
#include "protozero/internal/bit_deposit.h"
#include "protozero/internal/byte_order.h"
#include "protozero/internal/compiler.h"
#include "protozero/proto_decoder.h"
#include "protozero/proto_utils.h"
#include "protozero/repeated_fields.h"

#include "protozero/internal/macros.h"

// The parser that all decoders share. The bytes may be anything. It reads only
// those in [pos, end).
//
// Nearly all fields have a tag of one or two bytes, and a size of one or two
// bytes or a number. Inline code reads these without a call, and so without
// registers to save. For all other fields, malformed ones included,
// ParseAnyField() starts again.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Reads the field at |pos| to |field|. Returns the byte after it. If it is
// malformed, returns null and leaves |field| in any state. REQUIRES: pos !=
// end.
PROTOZERO_NOINLINE const uint8_t* ParseAnyField(const uint8_t* pos,
                                                const uint8_t* end,
                                                Field* field);

// The reason why the field at |pos| is malformed, and the position of its tag;
// in a group, of the malformed field inside of it. REQUIRES: ParseAnyField()
// fails.
struct DecodeError {
  DecodeStatus status;
  const uint8_t* position;
};
PROTOZERO_COLD DecodeError FindError(const uint8_t* pos, const uint8_t* end);

// Joins the groups of seven bits in eight bytes.
PROTOZERO_ALWAYS_INLINE uint64_t JoinSevenBitGroups(uint64_t bytes) {
#if PROTOZERO_USE_BIT_DEPOSIT
  if (PROTOZERO_LIKELY(kInlineEncodingMask != 0))
    return ExtractSevenBitGroups(bytes);
#endif
  // Each step doubles the width of the groups: the upper one of two moves down
  // by 1, 2, then 4 bits.
  bytes &= 0x7f7f7f7f7f7f7f7f;
  bytes -= (bytes & 0x7f007f007f007f00) >> 1;
  bytes -= (bytes & 0x3fff00003fff0000) / 4 * 3;
  bytes -= (bytes & 0x0fffffff00000000) / 16 * 15;
  return bytes;
}

// Returns the top bits of the bytes that may end a varint; the lowest one does.
PROTOZERO_ALWAYS_INLINE uint64_t VarIntEnds(uint64_t bytes) {
  return ~bytes & 0x8080808080808080;
}

// Returns the number of bytes up to the lowest end. REQUIRES: ends != 0.
PROTOZERO_ALWAYS_INLINE size_t VarIntSizeOf(uint64_t ends) {
#if defined(__GNUC__) || defined(__clang__)
  return static_cast<size_t>(__builtin_ctzll(ends)) / 8 + 1;
#else
  size_t size = 1;
  for (; (ends & 0x80) == 0; ends >>= 8)
    ++size;
  return size;
#endif
}

PROTOZERO_ALWAYS_INLINE uint64_t VarIntValue(uint64_t bytes, uint64_t ends) {
  // Keeps the bits up to the lowest end.
  return JoinSevenBitGroups(bytes & (ends ^ (ends - 1)));
}

// Reads the varint at |pos|, of two bytes or more, to |value|. Returns the byte
// after it; null if it is malformed, or if too few bytes follow for this code.
PROTOZERO_ALWAYS_INLINE const uint8_t* ParseCommonVarInt(const uint8_t* pos,
                                                         const uint8_t* end,
                                                         uint64_t* value) {
  const auto bytes_left = static_cast<size_t>(end - pos);
  uint64_t bytes;
  if (PROTOZERO_LIKELY(bytes_left >= 8)) {
    bytes = LoadLittleEndian<uint64_t>(pos);
  } else if (bytes_left >= 4) {
    // Two words that overlap. The bits above them are ones, where no varint
    // ends.
    const uint64_t high = LoadLittleEndian<uint32_t>(end - 4);
    bytes = LoadLittleEndian<uint32_t>(pos) | high << (8 * (bytes_left - 4)) |
            ~uint64_t{0} << (8 * bytes_left);
  } else if (bytes_left >= 2) {
    const uint64_t high = LoadLittleEndian<uint16_t>(end - 2);
    bytes = LoadLittleEndian<uint16_t>(pos) | high << (8 * (bytes_left - 2)) |
            ~uint64_t{0} << (8 * bytes_left);
  } else {
    return nullptr;
  }
  const uint64_t ends = VarIntEnds(bytes);
  if (PROTOZERO_LIKELY(ends != 0)) {
    *value = VarIntValue(bytes, ends);
    return pos + VarIntSizeOf(ends);
  }
  if (PROTOZERO_UNLIKELY(bytes_left < 9))
    return nullptr;
  // The ninth byte has bits 56 to 62. If it is the last one, bit 63 is zero.
  const uint64_t ninth = pos[8];
  *value = JoinSevenBitGroups(bytes) | ninth << 56;
  if (ninth < 0x80)
    return pos + 9;
  if (PROTOZERO_UNLIKELY(bytes_left == 9))
    return nullptr;
  const uint64_t tenth = pos[9];
  // The continuation bit of the ninth byte is in the place of bit 63.
  *value ^= (tenth ^ 1) << 63;
  return PROTOZERO_LIKELY(tenth < 0x80) ? pos + 10 : nullptr;
}

// Parses a field of a common kind. Returns null if ParseAnyField() has to be
// called, and accepts a field whose id is 0. REQUIRES: end - pos >= 2, which is
// enough for one byte of the tag and one of the value.
PROTOZERO_ALWAYS_INLINE const uint8_t*
ParseCommonFieldOfAnyId(const uint8_t* pos, const uint8_t* end, Field* field) {
  using proto_utils::ProtoWireType;
  uint32_t tag = *pos++;
  if (tag >= 0x80) {
    if (PROTOZERO_UNLIKELY(end - pos < 2))
      return nullptr;
    const uint32_t second = *pos++;
    if (PROTOZERO_UNLIKELY(second >= 0x80))
      return nullptr;
    tag += (second << 7) - 0x80;
  }
  const ProtoWireType type = proto_utils::GetTagFieldType(tag);
  if (type == ProtoWireType::kVarInt) {
    uint64_t value = *pos;
    if (value < 0x80) {
      ++pos;
    } else {
      pos = ParseCommonVarInt(pos, end, &value);
      if (PROTOZERO_UNLIKELY(pos == nullptr))
        return nullptr;
    }
    field->initialize_with_tag(tag, value, 0);
    return pos;
  }
  // Opaque, because compilers would make a jump table of the four types, or
  // change their order: two comparisons tell the usual ones.
  if (Opaque(type) == ProtoWireType::kLengthDelimited) {
    uint32_t size = *pos++;
    if (size >= 0x80) {
      if (PROTOZERO_UNLIKELY(pos == end))
        return nullptr;
      const uint32_t second = *pos++;
      if (PROTOZERO_UNLIKELY(second >= 0x80))
        return nullptr;
      size += (second << 7) - 0x80;
    }
    if (PROTOZERO_UNLIKELY(size > static_cast<size_t>(end - pos)))
      return nullptr;
    field->initialize_with_tag(tag, reinterpret_cast<uintptr_t>(pos), size);
    return pos + size;
  }
  if (type == ProtoWireType::kFixed64) {
    if (PROTOZERO_UNLIKELY(end - pos < 8))
      return nullptr;
    field->initialize_with_tag(tag, LoadLittleEndian<uint64_t>(pos), 0);
    return pos + 8;
  }
  if (type == ProtoWireType::kFixed32) {
    if (PROTOZERO_UNLIKELY(end - pos < 4))
      return nullptr;
    field->initialize_with_tag(tag, LoadLittleEndian<uint32_t>(pos), 0);
    return pos + 4;
  }
  return nullptr;
}

// Parses a field of a common kind. Returns null if ParseAnyField() has to be
// called.
PROTOZERO_ALWAYS_INLINE const uint8_t* ParseCommonField(const uint8_t* pos,
                                                        const uint8_t* end,
                                                        Field* field) {
  if (PROTOZERO_UNLIKELY(pos + 1 == end))
    return nullptr;
  const uint8_t* next = ParseCommonFieldOfAnyId(pos, end, field);
  return PROTOZERO_LIKELY(next != nullptr && field->id() != 0) ? next : nullptr;
}

// Parses a field as ParseAnyField(), inline where that is worth it.
PROTOZERO_ALWAYS_INLINE const uint8_t* ParseField(const uint8_t* pos,
                                                  const uint8_t* end,
                                                  Field* field) {
  const uint8_t* next = ParseCommonField(pos, end, field);
  if (PROTOZERO_UNLIKELY(next == nullptr)) {
    // Passes another object, since no code may get the address of |field|:
    // otherwise it could not be in registers.
    Field any_field;
    next = ParseAnyField(pos, end, &any_field);
    *field = any_field;
  }
  return next;
}

// Reads the field at |pos| if it has this tag, and a size of one byte.
// Otherwise, or if the field is malformed, returns null. |pos| may be |end|.
// REQUIRES: |tag| is that of a kLengthDelimited field, and takes one byte.
PROTOZERO_ALWAYS_INLINE const uint8_t* ParseShortBytesField(uint32_t tag,
                                                            const uint8_t* pos,
                                                            const uint8_t* end,
                                                            Field* field) {
  const auto bytes_left = static_cast<size_t>(end - pos);
  if (PROTOZERO_UNLIKELY(bytes_left < 2))
    return nullptr;
  if (pos[0] != tag)
    return nullptr;
  const uint32_t size = pos[1];
  if (PROTOZERO_UNLIKELY(size >= 0x80) ||
      PROTOZERO_UNLIKELY(size > bytes_left - 2))
    return nullptr;
  field->initialize_with_tag(tag, reinterpret_cast<uintptr_t>(pos + 2), size);
  return pos + 2 + size;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_PROTOZERO_FIELD_PARSER_H_
