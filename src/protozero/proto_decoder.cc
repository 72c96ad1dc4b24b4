// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/proto_decoder.h"

#include <algorithm>

#include "field_parser.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using internal::DecoderSchema;
using internal::ParseField;
using proto_utils::ProtoWireType;

void ProtoDecoder::SetError(const uint8_t* field) {
  const internal::DecodeError error = internal::FindError(field, end_);
  status_ = error.status;
  error_ptr_ = error.position;
}

Field ProtoDecoder::ReadField() {
  if (PROTOZERO_UNLIKELY(read_ptr_ == end_))
    return Field();
  Field field;
  const uint8_t* next = internal::ParseCommonField(read_ptr_, end_, &field);
  if (PROTOZERO_UNLIKELY(next == nullptr))
    return ReadAnyField();
  read_ptr_ = next;
  return field;
}

Field ProtoDecoder::ReadAnyField() {
  Field field;
  const uint8_t* next = internal::ParseAnyField(read_ptr_, end_, &field);
  if (PROTOZERO_UNLIKELY(next == nullptr)) {
    SetError(read_ptr_);
    return Field();
  }
  read_ptr_ = next;
  return field;
}

Field ProtoDecoder::FindField(uint32_t id) {
  const uint8_t* pos = begin_;
  while (pos != end_) {
    Field field;
    const uint8_t* next = ParseField(pos, end_, &field);
    if (PROTOZERO_UNLIKELY(next == nullptr)) {
      SetError(pos);
      break;
    }
    if (field.id() == id)
      return field;
    pos = next;
  }
  return Field();
}

namespace {

// Returns the next field with this id at |*pos| or after it, and moves |*pos|
// after that.
PROTOZERO_NOINLINE Field SearchNext(const uint8_t** pos,
                                    const uint8_t* end,
                                    uint32_t id) {
  while (*pos != end) {
    Field field;
    const uint8_t* next = ParseField(*pos, end, &field);
    if (PROTOZERO_UNLIKELY(next == nullptr)) {
      *pos = end;
      break;
    }
    *pos = next;
    if (field.id() == id)
      return field;
  }
  return Field();
}

// Finds it where repeated fields mostly follow each other.
PROTOZERO_NOINLINE Field FindNext(const uint8_t** pos,
                                  const uint8_t* end,
                                  uint32_t id) {
  if (PROTOZERO_UNLIKELY(*pos == end))
    return Field();
  Field field;
  const uint8_t* next = internal::ParseCommonField(*pos, end, &field);
  if (PROTOZERO_LIKELY(next != nullptr)) {
    *pos = next;
    if (PROTOZERO_LIKELY(field.id() == id))
      return field;
  }
  return SearchNext(pos, end, id);
}

}  // namespace

Field internal::FieldScanner::Next() {
  Field field;
  const uint32_t tag =
      proto_utils::MakeTag(id_, ProtoWireType::kLengthDelimited);
  const uint8_t* next =
      tag < 0x80 ? ParseShortBytesField(tag, pos_, end_, &field) : nullptr;
  if (PROTOZERO_UNLIKELY(next == nullptr))
    return FindNext(&pos_, end_, id_);
  pos_ = next;
  return field;
}

void internal::NumberCursor::Next() {
  if (PROTOZERO_LIKELY(pos_ == end_)) {
    Enter(others_.Next());
    return;
  }
  ParsedNumber number;
  if (wire_type_ == ProtoWireType::kVarInt)
    number = ParseNumber<ProtoWireType::kVarInt>(pos_, end_);
  else if (wire_type_ == ProtoWireType::kFixed32)
    number = ParseNumber<ProtoWireType::kFixed32>(pos_, end_);
  else
    number = ParseNumber<ProtoWireType::kFixed64>(pos_, end_);
  if (PROTOZERO_UNLIKELY(number.next == nullptr)) {
    // The iteration ends, because the bytes that follow may be anything.
    bool* const parse_error = parse_error_;
    *this = NumberCursor();
    if (parse_error != nullptr)
      *parse_error = true;
    return;
  }
  pos_ = number.next;
  field_.initialize_with_tag(tag_, number.value, 0);
}

void internal::NumberCursor::Enter(Field field) {
  for (; field.valid(); field = others_.Next()) {
    const bool is_bytes = field.type() == ProtoWireType::kLengthDelimited ||
                          field.type() == ProtoWireType::kStartGroup;
    if (is_typed_ ? field.type() == wire_type_ : !is_bytes)
      break;
    if (is_typed_ && field.type() == ProtoWireType::kLengthDelimited &&
        field.size() > 0) {
      pos_ = field.data();
      end_ = pos_ + field.size();
      tag_ = proto_utils::MakeTag(field.id(), wire_type_);
      Next();
      return;
    }
  }
  field_ = field;
}

UnknownFieldRange::Iterator& UnknownFieldRange::Iterator::operator++() {
  for (pos_ = next_; pos_ != end_; pos_ = next_) {
    next_ = ParseField(pos_, end_, &field_);
    if (PROTOZERO_UNLIKELY(next_ == nullptr)) {
      pos_ = next_ = end_;
      break;
    }
    if (schema_->SlotOf(field_.id()) == DecoderSchema::kNoSlot)
      return *this;
  }
  field_ = Field();
  return *this;
}

namespace {

// Replaces |field|, which ends at |next|, by the last of the short fields that
// follow it without a gap and have its tag. Returns the end of that. Elements
// of a repeated field mostly follow each other, and only the last one counts.
// Out of line, so that the loop that reads fields keeps its variables in
// registers. Only the last field becomes a Field: a loop with
// ParseShortBytesField(), which makes each of them one, takes 9 % more
// instructions in the row Read_Repeated.
PROTOZERO_NOINLINE const uint8_t* SkipToLast(const uint8_t* next,
                                             const uint8_t* end,
                                             Field* field) {
  const uint32_t tag = proto_utils::MakeTag(field->id(), field->type());
  if (field->type() != ProtoWireType::kLengthDelimited || tag >= 0x80)
    return next;
  const uint8_t* last = nullptr;
  auto room = static_cast<size_t>(end - next);
  while (room >= 2 && next[0] == tag && next[1] < 0x80) {
    const size_t size = size_t{2} + next[1];
    if (size > room)
      break;
    last = next;
    next += size;
    room -= size;
  }
  if (last != nullptr) {
    field->initialize_with_tag(tag, reinterpret_cast<uintptr_t>(last + 2),
                               static_cast<uint32_t>(next - last - 2));
  }
  return next;
}

}  // namespace

const Field TypedProtoDecoderBase::kAbsent{};

void TypedProtoDecoderBase::ReadAll() {
  // Copies of the members: the compiler cannot know that stores to the fields
  // do not change them.
  const DecoderSchema* const schema = schema_;
  uint32_t* const first = first_;
  Field* const slots = slots_;
  const uint8_t* const begin = begin_;
  const uint8_t* const end = end_;
  if (begin == end)
    return;
  // Fields that begin before this have two bytes or more, and offsets that fit
  // an element of |first|.
  const uint8_t* near_end = end - 1;
  if (PROTOZERO_UNLIKELY(static_cast<size_t>(near_end - begin) >= kSeveral))
    near_end = begin + kSeveral - 1;
  const uint8_t* pos = begin;
  while (pos < near_end) {
    Field field;
    const uint8_t* next = internal::ParseCommonFieldOfAnyId(pos, end, &field);
    if (PROTOZERO_UNLIKELY(next == nullptr)) {
      // See ParseField().
      Field any_field;
      next = internal::ParseAnyField(pos, end, &any_field);
      if (PROTOZERO_UNLIKELY(next == nullptr))
        return SetError(pos);
      field = any_field;
    }
    // One more than the slot, 0 if there is none: the form of the table.
    const uint32_t id = field.id();
    const size_t place = PROTOZERO_LIKELY(id < schema->direct_size)
                             ? size_t{schema->direct_slots[id]}
                             : size_t{schema->SlotOfSparse(id) + 1};
    if (PROTOZERO_UNLIKELY(place == 0)) {
      // No slot has the id 0, so known fields need no test for that.
      if (PROTOZERO_UNLIKELY(id == 0))
        return SetError(pos);
      pos = next;
      continue;
    }
    slots[place - 1] = field;
    if (PROTOZERO_UNLIKELY(first[place - 1] != 0)) {
      first[place - 1] |= kSeveral;
      pos = SkipToLast(next, end, &slots[place - 1]);
      continue;
    }
    first[place - 1] = static_cast<uint32_t>(pos - begin) + 1;
    pos = next;
  }
  // A single byte, or the fields beyond 2 GiB.
  while (PROTOZERO_UNLIKELY(pos != end)) {
    Field field;
    const uint8_t* next = internal::ParseAnyField(pos, end, &field);
    if (next == nullptr)
      return SetError(pos);
    const uint32_t slot = schema->SlotOf(field.id());
    if (slot != DecoderSchema::kNoSlot) {
      slots[slot] = field;
      first[slot] = first[slot] == 0 ? 1 : first[slot] | kSeveral;
    }
    pos = next;
  }
}

internal::RepeatedFields TypedProtoDecoderBase::FieldsOf(uint32_t id) const {
  const uint32_t slot = schema_->SlotOf(id);
  if (slot == DecoderSchema::kNoSlot || first_[slot] == 0)
    return {};
  const Field& last = slots_[slot];
  if ((first_[slot] & kSeveral) == 0)
    return {last, {}};
  // Iterates no further than necessary if the end of the last field is known.
  const bool is_payload =
      last.type() == proto_utils::ProtoWireType::kLengthDelimited;
  internal::RepeatedFields fields;
  fields.others = internal::FieldScanner(
      FirstIn(slot), is_payload ? last.data() + last.size() : end_, id);
  fields.first = fields.others.Next();
  return fields;
}

uint32_t TypedProtoDecoderBase::WhichOneof(
    std::initializer_list<uint32_t> ids) const {
  // There is mostly one field at most. Then the message need not be read again.
  uint32_t which = 0;
  uint32_t count = 0;
  const uint8_t* first = end_;
  for (const uint32_t id : ids) {
    const uint32_t slot = schema_->SlotOf(id);
    if (slot == DecoderSchema::kNoSlot || first_[slot] == 0)
      continue;
    ++count;
    which = id;
    first = std::min(first, FirstIn(slot));
  }
  if (count <= 1)
    return which;
  for (const uint8_t* pos = first; pos != end_;) {
    Field field;
    pos = ParseField(pos, end_, &field);
    if (pos == nullptr)
      break;
    for (const uint32_t id : ids) {
      if (field.id() == id)
        which = id;
    }
  }
  return which;
}

PROTOZERO_ABI_END
}  // namespace protozero
