// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The attributes of an open span or log.

#include <string.h>

#include <string_view>

#include "src/otlp/attributes.h"
#include "src/otlp/pipeline_state.h"
#include "src/otlp/protos/schema.h"
#include "src/otlp/slot.h"
#include "src/otlp/text.h"
#include "src/otlp/wire.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {
namespace {

using otlp_schema::AnyValue;
using otlp_schema::KeyValue;

constexpr uint8_t kKeyTag = BytesTag(KeyValue::kKeyFieldNumber);
constexpr uint8_t kValueTag = BytesTag(KeyValue::kValueFieldNumber);
// The bytes of an attribute with one-byte lengths, but for those of the key and
// the value: its tag and length, and those of the key and of the value.
constexpr size_t kAttributeHeader = 2;
constexpr size_t kKeyHeader = 2;
constexpr size_t kValueHeader = 2;

// Returns the key of the attribute at |pos|; its data() is null for another
// field.
std::string_view KeyAt(const uint8_t* pos, uint8_t attribute_tag) {
  if (*pos++ != attribute_tag)
    return {};
  while (*pos++ >= 0x80) {
  }
  ++pos;  // The tag of the key.
  size_t size = 0;
  for (int shift = 0;; shift += 7) {
    const uint8_t byte = *pos++;
    size |= static_cast<size_t>(byte & 0x7f) << shift;
    if (byte < 0x80)
      break;
  }
  return {reinterpret_cast<const char*>(pos), size};
}

// Takes out the attribute that has the key of the one at |slot->pos|, which
// ends at |new_end|. Returns its size, 0 if there is none.
size_t RemoveSameKey(Slot* slot, uint8_t* new_end) {
  const std::string_view key = KeyAt(slot->pos, slot->attribute_tag);
  for (uint8_t* field = slot->begin; field != slot->pos;) {
    uint8_t* const after = const_cast<uint8_t*>(SkipField(field));
    if (KeyAt(field, slot->attribute_tag) == key) {
      const size_t size = static_cast<size_t>(after - field);
      memmove(field, after, static_cast<size_t>(new_end - after));
      if (slot->status_offset > static_cast<size_t>(field - slot->begin))
        slot->status_offset -= static_cast<uint32_t>(size);
      return size;
    }
    field = after;
  }
  return 0;
}

// Ends an attribute whose key may be there already, or which may be too many.
PROTOZERO_NOINLINE void EndAttributeSlowPath(Slot* slot,
                                             uint8_t* new_end) noexcept {
  const size_t removed = RemoveSameKey(slot, new_end);
  if (removed == 0) {
    if (slot->attributes_left == 0) {
      ++slot->dropped_attributes;
      return;
    }
    --slot->attributes_left;
  }
  slot->pos = new_end - removed;
}

PROTOZERO_ALWAYS_INLINE void EndAttribute(Slot* slot,
                                          uint64_t key_hash,
                                          uint8_t* new_end) {
  const uint64_t bit = uint64_t{1} << (key_hash * 0x9e3779b97f4a7c15 >> 58);
  const uint64_t before = slot->key_bits;
  const uint64_t after = before | bit;
  if (PROTOZERO_UNLIKELY(after == before || slot->attributes_left == 0))
    return EndAttributeSlowPath(slot, new_end);
  slot->key_bits = after;
  --slot->attributes_left;
  slot->pos = new_end;
}

// Notes if the attribute is one that the KeepRule looks for.
void CompareWithRule(Slot* slot,
                     std::string_view key,
                     const AttributeValue& value) {
  const KeepRule& rule = slot->scope->pipeline->keep_rule;
  if (key != rule.attribute_key)
    return;
  slot->is_wanted = rule.attribute_value.empty() ||
                    (value.type() == AttributeValue::Type::kString &&
                     value.text() == rule.attribute_value);
}

PROTOZERO_NOINLINE void AddSlowPath(Slot* slot,
                                    std::string_view key,
                                    const AttributeValue& value) {
  ValueWriter writer{
      slot->scope->pipeline->options.attribute_value_length_limit};
  const Attribute attribute{key, value};
  uint8_t* const pos =
      key.empty() ? nullptr
                  : RoomFor(slot, writer.RoomForAttributes(&attribute, 1));
  if (pos == nullptr) {
    ++slot->dropped_attributes;
    return;
  }
  uint8_t* const end =
      writer.PutAttribute(pos, slot->attribute_tag, key, value);
  slot->repaired_texts += writer.repaired;
  if (slot->has_rule_key)
    CompareWithRule(slot, key, value);
  // The key in the slot, which may have been repaired.
  EndAttribute(slot, HashText(KeyAt(pos, slot->attribute_tag)), end);
}

// The functions below write attributes with one-byte lengths. Each calls only a
// slow path, as the last thing that it does, so that it saves few registers.
// Until EndAttribute() the slot is as it was.

PROTOZERO_NOINLINE void AddTextSlowPath(Slot* slot,
                                        std::string_view key,
                                        std::string_view value) noexcept {
  AddSlowPath(slot, key, value);
}
PROTOZERO_NOINLINE void AddBoolSlowPath(Slot* slot,
                                        std::string_view key,
                                        bool value) noexcept {
  AddSlowPath(slot, key, value);
}
PROTOZERO_NOINLINE void AddIntSlowPath(Slot* slot,
                                       std::string_view key,
                                       int64_t value) noexcept {
  AddSlowPath(slot, key, value);
}
PROTOZERO_NOINLINE void AddDoubleSlowPath(Slot* slot,
                                          std::string_view key,
                                          double value) noexcept {
  AddSlowPath(slot, key, value);
}

// Ends an attribute with one-byte lengths whose key or text is not ASCII.
PROTOZERO_NOINLINE void EndRepaired(Slot* slot, uint8_t* new_end) noexcept {
  uint8_t* const key = slot->pos + kAttributeHeader + kKeyHeader;
  const size_t key_size = key[-1];
  slot->repaired_texts += RepairUtf8(key, key_size);
  uint8_t* const value = key + key_size + kValueHeader;
  if (value[0] == BytesTag(AnyValue::kStringValueFieldNumber))
    slot->repaired_texts += RepairUtf8(value + 2, value[1]);
  EndAttribute(slot, HashText(KeyAt(slot->pos, slot->attribute_tag)), new_end);
}

// Returns false if the lengths may need more bytes, or there is no room.
PROTOZERO_ALWAYS_INLINE bool IsShort(const Slot* slot,
                                     std::string_view key,
                                     size_t max_value_size) {
  const size_t max_size = kAttributeHeader + kKeyHeader + key.size() +
                          kValueHeader + max_value_size;
  return max_size <= 0x7f &&
         slot->fast_end - slot->pos >= static_cast<ptrdiff_t>(max_size) &&
         !key.empty();
}

// Writes the beginning of an attribute, up to the value.
PROTOZERO_ALWAYS_INLINE CopiedText PutKey(uint8_t* pos,
                                          uint8_t attribute_tag,
                                          std::string_view key) {
  pos[0] = attribute_tag;
  pos[2] = kKeyTag;
  pos[3] = static_cast<uint8_t>(key.size());
  return CopyText(pos + kAttributeHeader + kKeyHeader, key);
}

// Writes the value's headers and its first byte, in one word.
PROTOZERO_ALWAYS_INLINE void PutValueHeader(uint8_t* pos,
                                            size_t value_size,
                                            uint8_t tag,
                                            size_t first_byte) {
  PutFixed32(pos, static_cast<uint32_t>(kValueTag | value_size << 8 |
                                        size_t{tag} << 16 | first_byte << 24));
}

// Fills in the length, and ends the attribute. |all| is of all its texts.
PROTOZERO_ALWAYS_INLINE void EndShort(Slot* slot,
                                      uint8_t* begin,
                                      const CopiedText& key,
                                      uint64_t all,
                                      uint8_t* end) {
  begin[1] = static_cast<uint8_t>(end - begin - 2);
  if (PROTOZERO_UNLIKELY((all & kHighBits) != 0))
    return EndRepaired(slot, end);
  EndAttribute(slot, key.hash, end);
}

}  // namespace

void AddText(Slot* slot,
             std::string_view key,
             std::string_view value) noexcept {
  if (PROTOZERO_UNLIKELY(!IsShort(slot, key, 2 + value.size())))
    return AddTextSlowPath(slot, key, value);
  uint8_t* const begin = slot->pos;
  const CopiedText copied_key = PutKey(begin, slot->attribute_tag, key);
  uint8_t* const pos = begin + kAttributeHeader + kKeyHeader + key.size();
  PutValueHeader(pos, 2 + value.size(),
                 BytesTag(AnyValue::kStringValueFieldNumber), value.size());
  uint8_t* const text = pos + kValueHeader + 2;
  const CopiedText copied = CopyText(text, value);
  EndShort(slot, begin, copied_key, copied_key.all | copied.all,
           text + value.size());
}

void AddBool(Slot* slot, std::string_view key, bool value) noexcept {
  if (PROTOZERO_UNLIKELY(!IsShort(slot, key, 2)))
    return AddBoolSlowPath(slot, key, value);
  uint8_t* const begin = slot->pos;
  const CopiedText copied_key = PutKey(begin, slot->attribute_tag, key);
  uint8_t* const pos = begin + kAttributeHeader + kKeyHeader + key.size();
  PutValueHeader(pos, 2, VarIntTag(AnyValue::kBoolValueFieldNumber), value);
  EndShort(slot, begin, copied_key, copied_key.all, pos + kValueHeader + 2);
}

void AddInt(Slot* slot, std::string_view key, int64_t value) noexcept {
  const uint64_t number = static_cast<uint64_t>(value);
  // A larger one calls a function.
  if (PROTOZERO_UNLIKELY(!IsShort(slot, key, 9) || number >> 56 != 0))
    return AddIntSlowPath(slot, key, value);
  uint8_t* const begin = slot->pos;
  const CopiedText copied_key = PutKey(begin, slot->attribute_tag, key);
  uint8_t* const pos = begin + kAttributeHeader + kKeyHeader + key.size();
  uint8_t* const end = PutVarInt(pos + kValueHeader + 1, number);
  pos[0] = kValueTag;
  pos[1] = static_cast<uint8_t>(end - (pos + kValueHeader));
  pos[2] = VarIntTag(AnyValue::kIntValueFieldNumber);
  EndShort(slot, begin, copied_key, copied_key.all, end);
}

void AddDouble(Slot* slot, std::string_view key, double value) noexcept {
  if (PROTOZERO_UNLIKELY(!IsShort(slot, key, 9)))
    return AddDoubleSlowPath(slot, key, value);
  uint8_t* const begin = slot->pos;
  const CopiedText copied_key = PutKey(begin, slot->attribute_tag, key);
  uint8_t* const pos = begin + kAttributeHeader + kKeyHeader + key.size();
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  PutValueHeader(pos, 9, Fixed64Tag(AnyValue::kDoubleValueFieldNumber), 0);
  EndShort(slot, begin, copied_key, copied_key.all,
           PutFixed64(pos + kValueHeader + 1, bits));
}

void AddValue(Slot* slot,
              std::string_view key,
              const AttributeValue& value) noexcept {
  AddSlowPath(slot, key, value);
}

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
