// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_FIELD_PARSER_H_
#define INCLUDE_PROTOZERO_FIELD_PARSER_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/byte_order.h"
#include "protozero/compiler.h"
#include "protozero/decode_status.h"
#include "protozero/field.h"
#include "protozero/proto_utils.h"

// From bytes to fields: what all decoders share. The bytes may be anything, and
// none but [pos, end) is looked at.

namespace protozero::internal {

inline constexpr uint32_t kMaxGroupDepth = 100;

// A number, and the byte after it; null instead of that if it is malformed.
// Returned in two registers.
struct ParsedNumber {
  const uint8_t* next;
  uint64_t value;
};

// A varint of any length. Bits beyond the 64th are dropped.
ParsedNumber ParseLongVarInt(const uint8_t* pos, const uint8_t* end);

// A tag of any length: at most five bytes and 32 bits.
ParsedNumber ParseLongTag(const uint8_t* pos, const uint8_t* end);

// The size of a payload, of which all is there and less than 4 GiB.
ParsedNumber ParseLongSize(const uint8_t* pos, const uint8_t* end);

// For a group of the id |id| whose contents begin at |pos|: their size, and the
// byte after the tag that ends the group.
ParsedNumber ParseGroup(const uint8_t* pos, const uint8_t* end, uint32_t id);

// What is the matter with the field at |pos|, and where: the tag of the field,
// or, in a group, of the one that is malformed. REQUIRES: ParseField() fails.
struct DecodeError {
  DecodeStatus status;
  const uint8_t* position;
};
PROTOZERO_COLD DecodeError FindError(const uint8_t* pos, const uint8_t* end);

PROTOZERO_ALWAYS_INLINE ParsedNumber ParseVarInt(const uint8_t* pos,
                                                 const uint8_t* end) {
  if (PROTOZERO_LIKELY(pos != end && *pos < 0x80))
    return {pos + 1, *pos};
  return ParseLongVarInt(pos, end);
}

PROTOZERO_ALWAYS_INLINE ParsedNumber ParseTag(const uint8_t* pos,
                                              const uint8_t* end) {
  if (PROTOZERO_LIKELY(pos != end)) {
    const uint32_t first = pos[0];
    if (PROTOZERO_LIKELY(first < 0x80))
      return {pos + 1, first};
    if (PROTOZERO_LIKELY(end - pos >= 2 && pos[1] < 0x80)) {
      // Minus the continuation bit of the first byte.
      return {pos + 2, first + (uint32_t{pos[1]} << 7) - 0x80};
    }
  }
  return ParseLongTag(pos, end);
}

// The field of |tag| whose value is at |pos|, to |field|. Returns the byte
// after it, or null if it is malformed, with |field| in any state.
PROTOZERO_ALWAYS_INLINE const uint8_t* ParseValue(uint32_t tag,
                                                  const uint8_t* pos,
                                                  const uint8_t* end,
                                                  Field* field) {
  using proto_utils::ProtoWireType;
  const uint32_t id = proto_utils::GetTagFieldId(tag);
  if (PROTOZERO_UNLIKELY(id == 0))
    return nullptr;
  const auto bytes_left = static_cast<size_t>(end - pos);
  switch (proto_utils::GetTagFieldType(tag)) {
    case ProtoWireType::kVarInt: {
      const ParsedNumber number = ParseVarInt(pos, end);
      field->initialize(id, ProtoWireType::kVarInt, number.value, 0);
      return number.next;
    }
    case ProtoWireType::kLengthDelimited: {
      ParsedNumber size;
      if (PROTOZERO_LIKELY(pos != end && *pos < 0x80 && *pos < bytes_left)) {
        size = {pos + 1, *pos};
      } else {
        size = ParseLongSize(pos, end);
        if (PROTOZERO_UNLIKELY(size.next == nullptr))
          return nullptr;
      }
      field->initialize(id, ProtoWireType::kLengthDelimited,
                        reinterpret_cast<uintptr_t>(size.next),
                        static_cast<uint32_t>(size.value));
      return size.next + size.value;
    }
    case ProtoWireType::kFixed64:
      if (PROTOZERO_UNLIKELY(bytes_left < sizeof(uint64_t)))
        return nullptr;
      field->initialize(id, ProtoWireType::kFixed64,
                        LoadLittleEndian<uint64_t>(pos), 0);
      return pos + sizeof(uint64_t);
    case ProtoWireType::kFixed32:
      if (PROTOZERO_UNLIKELY(bytes_left < sizeof(uint32_t)))
        return nullptr;
      field->initialize(id, ProtoWireType::kFixed32,
                        LoadLittleEndian<uint32_t>(pos), 0);
      return pos + sizeof(uint32_t);
    case ProtoWireType::kStartGroup: {
      const ParsedNumber group = ParseGroup(pos, end, id);
      field->initialize(id, ProtoWireType::kStartGroup,
                        reinterpret_cast<uintptr_t>(pos),
                        static_cast<uint32_t>(group.value));
      return group.next;
    }
    case ProtoWireType::kEndGroup:
      break;
  }
  return nullptr;
}

// The field at |pos|, likewise.
PROTOZERO_ALWAYS_INLINE const uint8_t* ParseField(const uint8_t* pos,
                                                  const uint8_t* end,
                                                  Field* field) {
  const ParsedNumber tag = ParseTag(pos, end);
  if (PROTOZERO_UNLIKELY(tag.next == nullptr))
    return nullptr;
  return ParseValue(static_cast<uint32_t>(tag.value), tag.next, end, field);
}

}  // namespace protozero::internal

#endif  // INCLUDE_PROTOZERO_FIELD_PARSER_H_
