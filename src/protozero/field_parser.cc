// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/field_parser.h"

namespace protozero::internal {

using proto_utils::kMaxTagEncodedSize;
using proto_utils::kMaxVarIntEncodedSize;
using proto_utils::ProtoWireType;

namespace {

// Why there is no varint of up to |max_size| bytes at |pos|.
DecodeStatus VarIntError(const uint8_t* pos,
                         const uint8_t* end,
                         size_t max_size) {
  return static_cast<size_t>(end - pos) < max_size ? DecodeStatus::kTruncated
                                                   : DecodeStatus::kBadVarInt;
}

DecodeStatus TagError(const uint8_t* pos, const uint8_t* end) {
  uint64_t value;
  if (proto_utils::ParseVarInt(pos, end, &value) != pos)
    return DecodeStatus::kBadVarInt;
  return VarIntError(pos, end, kMaxTagEncodedSize);
}

// Why there is no value for |tag| at |pos|. Not for kStartGroup.
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
    case ProtoWireType::kStartGroup:
      return DecodeStatus::kTruncated;
    case ProtoWireType::kEndGroup:
      return DecodeStatus::kUnmatchedEndGroup;
  }
  return DecodeStatus::kBadWireType;
}

// ParseGroup(), with the reason if that fails. |start| is the group's tag.
ParsedNumber ScanGroup(const uint8_t* start,
                       const uint8_t* contents,
                       const uint8_t* end,
                       uint32_t id,
                       DecodeError* error) {
  // Of the groups that are open. Not recursive: the input decides on the depth.
  uint32_t ids[kMaxGroupDepth];
  uint32_t depth = 0;
  ids[depth++] = id;
  const uint8_t* pos = contents;
  while (pos != end) {
    const ParsedNumber parsed_tag = ParseTag(pos, end);
    if (parsed_tag.next == nullptr) {
      *error = {TagError(pos, end), pos};
      return {nullptr, 0};
    }
    const uint32_t tag = static_cast<uint32_t>(parsed_tag.value);
    const uint32_t field_id = proto_utils::GetTagFieldId(tag);
    const ProtoWireType type = proto_utils::GetTagFieldType(tag);
    if (type == ProtoWireType::kStartGroup && field_id != 0) {
      if (depth == kMaxGroupDepth) {
        *error = {DecodeStatus::kTooDeep, pos};
        return {nullptr, 0};
      }
      ids[depth++] = field_id;
      pos = parsed_tag.next;
      continue;
    }
    if (type == ProtoWireType::kEndGroup && field_id == ids[depth - 1]) {
      if (--depth == 0) {
        const auto size = static_cast<size_t>(pos - contents);
        if (size > UINT32_MAX) {
          *error = {DecodeStatus::kTooLong, start};
          return {nullptr, 0};
        }
        return {parsed_tag.next, size};
      }
      pos = parsed_tag.next;
      continue;
    }
    Field field;
    const uint8_t* next = ParseValue(tag, parsed_tag.next, end, &field);
    if (next == nullptr) {
      *error = {ValueError(tag, parsed_tag.next, end), pos};
      return {nullptr, 0};
    }
    pos = next;
  }
  *error = {DecodeStatus::kTruncated, start};
  return {nullptr, 0};
}

}  // namespace

ParsedNumber ParseLongVarInt(const uint8_t* pos, const uint8_t* end) {
  uint64_t value;
  const uint8_t* next = proto_utils::ParseVarIntUnrolled(pos, end, &value);
  return {next == pos ? nullptr : next, value};
}

ParsedNumber ParseLongTag(const uint8_t* pos, const uint8_t* end) {
  uint64_t value = 0;
  const uint8_t* next = proto_utils::ParseVarInt(pos, end, &value);
  if (next == pos || next - pos > static_cast<ptrdiff_t>(kMaxTagEncodedSize) ||
      value > UINT32_MAX) {
    return {nullptr, 0};
  }
  return {next, value};
}

ParsedNumber ParseLongSize(const uint8_t* pos, const uint8_t* end) {
  const ParsedNumber size = ParseLongVarInt(pos, end);
  if (size.next == nullptr || size.value > UINT32_MAX ||
      size.value > static_cast<size_t>(end - size.next)) {
    return {nullptr, 0};
  }
  return size;
}

ParsedNumber ParseGroup(const uint8_t* pos, const uint8_t* end, uint32_t id) {
  DecodeError error;
  return ScanGroup(pos, pos, end, id, &error);
}

DecodeError FindError(const uint8_t* pos, const uint8_t* end) {
  const ParsedNumber parsed_tag = ParseTag(pos, end);
  if (parsed_tag.next == nullptr)
    return {TagError(pos, end), pos};
  const uint32_t tag = static_cast<uint32_t>(parsed_tag.value);
  const uint32_t id = proto_utils::GetTagFieldId(tag);
  if (proto_utils::GetTagFieldType(tag) == ProtoWireType::kStartGroup &&
      id != 0) {
    DecodeError error;
    ScanGroup(pos, parsed_tag.next, end, id, &error);
    return error;
  }
  return {ValueError(tag, parsed_tag.next, end), pos};
}

}  // namespace protozero::internal
