// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "field_parser.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

using proto_utils::kMaxTagEncodedSize;
using proto_utils::kMaxVarIntEncodedSize;
using proto_utils::ProtoWireType;

namespace {

// Reads a tag of at most five bytes and 32 bits.
ParsedNumber ParseTag(const uint8_t* pos, const uint8_t* end) {
  const ParsedNumber tag = ParseVarInt(pos, end);
  if (tag.next == nullptr || tag.value > UINT32_MAX ||
      tag.next - pos > static_cast<ptrdiff_t>(kMaxTagEncodedSize)) {
    return {};
  }
  return tag;
}

// Reads the size of a payload. Refuses one that is cut off, or has 4 GiB or
// more.
ParsedNumber ParseSize(const uint8_t* pos, const uint8_t* end) {
  const ParsedNumber size = ParseVarInt(pos, end);
  if (size.next == nullptr || size.value > UINT32_MAX ||
      size.value > static_cast<size_t>(end - size.next)) {
    return {};
  }
  return size;
}

template <typename T>
ParsedNumber ParseFixed(const uint8_t* pos, const uint8_t* end) {
  if (static_cast<size_t>(end - pos) < sizeof(T))
    return {};
  return {pos + sizeof(T), LoadLittleEndian<T>(pos)};
}

// Reads the field with this tag whose value is at |pos|. It must be no group.
const uint8_t* ParseValue(uint32_t tag,
                          const uint8_t* pos,
                          const uint8_t* end,
                          Field* field) {
  if (proto_utils::GetTagFieldId(tag) == 0)
    return nullptr;
  ParsedNumber number{};
  switch (proto_utils::GetTagFieldType(tag)) {
    case ProtoWireType::kVarInt:
      number = ParseVarInt(pos, end);
      break;
    case ProtoWireType::kFixed64:
      number = ParseFixed<uint64_t>(pos, end);
      break;
    case ProtoWireType::kFixed32:
      number = ParseFixed<uint32_t>(pos, end);
      break;
    case ProtoWireType::kLengthDelimited: {
      const ParsedNumber size = ParseSize(pos, end);
      if (size.next == nullptr)
        return nullptr;
      field->initialize_with_tag(tag, reinterpret_cast<uintptr_t>(size.next),
                                 static_cast<uint32_t>(size.value));
      return size.next + size.value;
    }
    case ProtoWireType::kStartGroup:
    case ProtoWireType::kEndGroup:
      return nullptr;
  }
  field->initialize_with_tag(tag, number.value, 0);
  return number.next;
}

// Returns the reason why there is no varint of up to |max_size| bytes at |pos|.
DecodeStatus VarIntError(const uint8_t* pos,
                         const uint8_t* end,
                         size_t max_size) {
  return static_cast<size_t>(end - pos) < max_size ? DecodeStatus::kTruncated
                                                   : DecodeStatus::kBadVarInt;
}

DecodeStatus TagError(const uint8_t* pos, const uint8_t* end) {
  // The tag is longer than tags may be, or cut off.
  return ParseLongVarInt(pos, end).next != nullptr
             ? DecodeStatus::kBadVarInt
             : VarIntError(pos, end, kMaxTagEncodedSize);
}

// Returns the reason why ParseValue() fails.
DecodeStatus ValueError(uint32_t tag, const uint8_t* pos, const uint8_t* end) {
  if (proto_utils::GetTagFieldId(tag) == 0)
    return DecodeStatus::kBadFieldId;
  switch (proto_utils::GetTagFieldType(tag)) {
    case ProtoWireType::kVarInt:
      return VarIntError(pos, end, kMaxVarIntEncodedSize);
    case ProtoWireType::kLengthDelimited: {
      const ParsedNumber size = ParseLongVarInt(pos, end);
      if (size.next == nullptr)
        return VarIntError(pos, end, kMaxVarIntEncodedSize);
      return size.value > static_cast<size_t>(end - size.next)
                 ? DecodeStatus::kTruncated
                 : DecodeStatus::kTooLong;
    }
    case ProtoWireType::kFixed64:
    case ProtoWireType::kFixed32:
      return DecodeStatus::kTruncated;
    case ProtoWireType::kStartGroup:  // Not a value.
    case ProtoWireType::kEndGroup:
      return DecodeStatus::kUnmatchedEndGroup;
  }
  return DecodeStatus::kBadWireType;
}

bool IsGroup(uint32_t tag) {
  return proto_utils::GetTagFieldType(tag) == ProtoWireType::kStartGroup &&
         proto_utils::GetTagFieldId(tag) != 0;
}

// Returns the size of a group's contents, which are at |contents|, and the byte
// after the tag that ends the group. |start| is the tag that begins it. If the
// group is malformed, sets |error|.
ParsedNumber ParseGroup(const uint8_t* start,
                        uint32_t start_tag,
                        const uint8_t* contents,
                        const uint8_t* end,
                        DecodeError* error) {
  // The ids of the open groups. Not recursive, because the input decides on the
  // depth.
  uint32_t ids[ProtoDecoder::kMaxGroupDepth];
  uint32_t depth = 0;
  ids[depth++] = proto_utils::GetTagFieldId(start_tag);
  const auto fail = [&](DecodeStatus status, const uint8_t* position) {
    *error = {status, position};
    return ParsedNumber{};
  };

  for (const uint8_t* pos = contents; pos != end;) {
    const ParsedNumber parsed_tag = ParseTag(pos, end);
    const uint8_t* next = parsed_tag.next;
    if (next == nullptr)
      return fail(TagError(pos, end), pos);
    const uint32_t tag = static_cast<uint32_t>(parsed_tag.value);
    if (IsGroup(tag)) {
      if (depth == ProtoDecoder::kMaxGroupDepth)
        return fail(DecodeStatus::kTooDeep, pos);
      ids[depth++] = proto_utils::GetTagFieldId(tag);
    } else if (tag ==
               proto_utils::MakeTag(ids[depth - 1], ProtoWireType::kEndGroup)) {
      if (--depth == 0) {
        const auto size = static_cast<size_t>(pos - contents);
        if (size > UINT32_MAX)
          return fail(DecodeStatus::kTooLong, start);
        return {next, size};
      }
    } else {
      Field field;
      next = ParseValue(tag, next, end, &field);
      if (next == nullptr)
        return fail(ValueError(tag, parsed_tag.next, end), pos);
    }
    pos = next;
  }
  return fail(DecodeStatus::kTruncated, start);
}

}  // namespace

ParsedNumber ParseLongVarInt(const uint8_t* pos, const uint8_t* end) {
  uint64_t value;
  const uint8_t* next = ParseCommonVarInt(pos, end, &value);
  if (PROTOZERO_UNLIKELY(next == nullptr)) {
    next = proto_utils::ParseVarInt(pos, end, &value);
    if (next == pos)
      next = nullptr;
  }
  return {next, value};
}

const uint8_t* ParseAnyField(const uint8_t* pos,
                             const uint8_t* end,
                             Field* field) {
  const ParsedNumber parsed_tag = ParseTag(pos, end);
  if (parsed_tag.next == nullptr)
    return nullptr;
  const uint32_t tag = static_cast<uint32_t>(parsed_tag.value);
  if (PROTOZERO_LIKELY(!IsGroup(tag)))
    return ParseValue(tag, parsed_tag.next, end, field);
  DecodeError error;
  const ParsedNumber group = ParseGroup(pos, tag, parsed_tag.next, end, &error);
  field->initialize_with_tag(tag, reinterpret_cast<uintptr_t>(parsed_tag.next),
                             static_cast<uint32_t>(group.value));
  return group.next;
}

DecodeError FindError(const uint8_t* pos, const uint8_t* end) {
  const ParsedNumber parsed_tag = ParseTag(pos, end);
  if (parsed_tag.next == nullptr)
    return {TagError(pos, end), pos};
  const uint32_t tag = static_cast<uint32_t>(parsed_tag.value);
  if (!IsGroup(tag))
    return {ValueError(tag, parsed_tag.next, end), pos};
  DecodeError error{};
  ParseGroup(pos, tag, parsed_tag.next, end, &error);
  return error;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
