// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOZERO_FIELD_PARSER_H_
#define SRC_PROTOZERO_FIELD_PARSER_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/decode_status.h"
#include "protozero/field.h"
#include "protozero/internal/bit_deposit.h"
#include "protozero/internal/byte_order.h"
#include "protozero/proto_decoder.h"
#include "protozero/proto_utils.h"
#include "protozero/repeated_fields.h"

#include "protozero/internal/macros.h"

// From bytes to fields: what all decoders share. The bytes may be anything, and
// none but [pos, end) is looked at.
//
// Nearly all fields have a tag of one or two bytes, a size of one or two bytes
// or a number: reading those is inline code without a call, and so without
// registers to save. All else, malformed fields among it, starts again in
// ParseAnyField().

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The field at |pos|, to |field|. Returns the byte after it, or null if it is
// malformed, with |field| in any state. REQUIRES: pos != end.
PROTOZERO_NOINLINE const uint8_t* ParseAnyField(const uint8_t* pos,
                                                const uint8_t* end,
                                                Field* field);

// What is the matter with the field at |pos|, and where: the tag of the field,
// or, in a group, of the one that is malformed. REQUIRES: ParseAnyField()
// fails.
struct DecodeError {
  DecodeStatus status;
  const uint8_t* position;
};
PROTOZERO_COLD DecodeError FindError(const uint8_t* pos, const uint8_t* end);

// The groups of seven bits of eight bytes, put together.
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

// The lowest byte that ends a varint, marked by its top bit; 0 if none does.
PROTOZERO_ALWAYS_INLINE uint64_t VarIntEnd(uint64_t bytes) {
  const uint64_t ends = ~bytes & 0x8080808080808080;
  return ends & (0 - ends);
}

// How many bytes that is. REQUIRES: varint_end != 0.
PROTOZERO_ALWAYS_INLINE size_t VarIntSizeOf(uint64_t varint_end) {
#if defined(__GNUC__) || defined(__clang__)
  return static_cast<size_t>(__builtin_ctzll(varint_end)) / 8 + 1;
#else
  size_t size = 1;
  while ((varint_end >>= 8) != 0)
    ++size;
  return size;
#endif
}

PROTOZERO_ALWAYS_INLINE uint64_t VarIntValue(uint64_t bytes,
                                             uint64_t varint_end) {
  return JoinSevenBitGroups(bytes & (varint_end | (varint_end - 1)));
}

// The varint at |pos|, of two bytes or more, to |value|. Returns the byte after
// it, or null if there is none or it is one of the last three bytes before
// |end| that it begins with.
PROTOZERO_ALWAYS_INLINE const uint8_t* ParseCommonVarInt(const uint8_t* pos,
                                                         const uint8_t* end,
                                                         uint64_t* value) {
  const auto bytes_left = static_cast<size_t>(end - pos);
  uint64_t bytes;
  if (PROTOZERO_LIKELY(bytes_left >= 8)) {
    bytes = LoadLittleEndian<uint64_t>(pos);
  } else if (bytes_left >= 4) {
    // Two words that overlap, and above them ones, where no varint ends.
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
  const uint64_t varint_end = VarIntEnd(bytes);
  if (PROTOZERO_LIKELY(varint_end != 0)) {
    *value = VarIntValue(bytes, varint_end);
    return pos + VarIntSizeOf(varint_end);
  }
  if (PROTOZERO_UNLIKELY(bytes_left < 10))
    return nullptr;
  // Bits 56 to 62 and, if it is the last one, 63, which is zero.
  const uint64_t ninth = pos[8];
  *value = JoinSevenBitGroups(bytes) | ninth << 56;
  if (ninth < 0x80)
    return pos + 9;
  const uint64_t tenth = pos[9];
  // The continuation bit of the ninth is where bit 63 belongs.
  *value ^= (tenth ^ 1) << 63;
  return PROTOZERO_LIKELY(tenth < 0x80) ? pos + 10 : nullptr;
}

// Like ParseAnyField(), but null if that has to be called.
PROTOZERO_ALWAYS_INLINE const uint8_t* ParseCommonField(const uint8_t* pos,
                                                        const uint8_t* end,
                                                        Field* field) {
  using proto_utils::ProtoWireType;
  uint32_t tag = *pos++;
  // One byte that is to follow, of a tag or of its value.
  if (PROTOZERO_UNLIKELY(pos == end))
    return nullptr;
  if (tag >= 0x80) {
    const uint32_t second = *pos++;
    if (PROTOZERO_UNLIKELY(second >= 0x80 || pos == end))
      return nullptr;
    tag += (second << 7) - 0x80;
  }
  if (PROTOZERO_UNLIKELY(proto_utils::GetTagFieldId(tag) == 0))
    return nullptr;
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
  if (type == ProtoWireType::kLengthDelimited) {
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

// ParseAnyField(), inline where that is worth it.
PROTOZERO_ALWAYS_INLINE const uint8_t* ParseField(const uint8_t* pos,
                                                  const uint8_t* end,
                                                  Field* field) {
  const uint8_t* next = ParseCommonField(pos, end, field);
  if (PROTOZERO_UNLIKELY(next == nullptr)) {
    // One of its own: the address of |field| must not be known to anybody, or
    // it could not be in registers.
    Field any_field;
    next = ParseAnyField(pos, end, &any_field);
    *field = any_field;
  }
  return next;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_PROTOZERO_FIELD_PARSER_H_
