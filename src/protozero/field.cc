// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/field.h"

#include <type_traits>

#include "protozero/internal/byte_order.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

static_assert(std::is_trivially_copyable<Field>::value &&
                  std::is_trivially_default_constructible<Field>::value,
              "arrays of fields are not initialized");

template <typename Container>
void Field::AppendTo(Container* dst) const {
  using proto_utils::ProtoWireType;
  if (!valid())
    return;
  // The part before the bytes: the tag and a number or a size.
  uint8_t head[proto_utils::kMaxSimpleFieldEncodedSize];
  uint8_t* head_end = proto_utils::WriteVarInt(tag_, head);
  // The part after them: the end of a group.
  uint8_t tail[proto_utils::kMaxTagEncodedSize];
  uint8_t* tail_end = tail;
  switch (type()) {
    case ProtoWireType::kVarInt:
      head_end = proto_utils::WriteVarInt(value_, head_end);
      break;
    case ProtoWireType::kFixed64:
      internal::StoreLittleEndian(head_end, value_);
      head_end += sizeof(uint64_t);
      break;
    case ProtoWireType::kFixed32:
      internal::StoreLittleEndian(head_end, static_cast<uint32_t>(value_));
      head_end += sizeof(uint32_t);
      break;
    case ProtoWireType::kLengthDelimited:
      head_end = proto_utils::WriteVarInt(size_, head_end);
      break;
    case ProtoWireType::kStartGroup:
      tail_end = proto_utils::WriteVarInt(
          proto_utils::MakeTag(id(), ProtoWireType::kEndGroup), tail);
      break;
    case ProtoWireType::kEndGroup:
      return;
  }
  dst->insert(dst->end(), head, head_end);
  dst->insert(dst->end(), data(), data() + size());
  dst->insert(dst->end(), tail, tail_end);
}

void Field::SerializeAndAppendTo(std::string* dst) const {
  AppendTo(dst);
}

void Field::SerializeAndAppendTo(std::vector<uint8_t>* dst) const {
  AppendTo(dst);
}

PROTOZERO_ABI_END
}  // namespace protozero
