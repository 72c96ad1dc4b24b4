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
PROTOZERO_NOINLINE void EndAttributeSlowPath(Slot* slot, uint8_t* new_end) {
  const size_t removed = RemoveSameKey(slot, new_end);
  if (removed == 0) {
    if (slot->num_attributes >=
        slot->scope->pipeline->options.attribute_count_limit) {
      ++slot->dropped_attributes;
      return;
    }
    ++slot->num_attributes;
  }
  slot->pos = new_end - removed;
}

PROTOZERO_ALWAYS_INLINE void EndAttribute(Slot* slot,
                                          uint64_t key_hash,
                                          uint8_t* new_end) {
  const uint64_t bit = uint64_t{1} << (key_hash * 0x9e3779b97f4a7c15 >> 58);
  if (PROTOZERO_UNLIKELY((slot->key_bits & bit) != 0 ||
                         slot->num_attributes >= slot->attribute_limit)) {
    return EndAttributeSlowPath(slot, new_end);
  }
  slot->key_bits |= bit;
  ++slot->num_attributes;
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

// Writes the beginning of an attribute with one-byte lengths, up to the value,
// of |value_size| bytes. Returns null if that is not possible.
struct Beginning {
  uint8_t* begin;
  uint8_t* pos;
  CopiedText key;
};
PROTOZERO_ALWAYS_INLINE Beginning BeginAttribute(Slot* slot,
                                                 std::string_view key,
                                                 size_t max_value_size) {
  const size_t max_size = kAttributeHeader + kKeyHeader + key.size() +
                          kValueHeader + max_value_size;
  if (PROTOZERO_UNLIKELY(max_size > 0x7f || key.empty() ||
                         slot->has_slow_attributes)) {
    return {nullptr, nullptr, {}};
  }
  uint8_t* const pos = RoomFor(slot, max_size);
  if (PROTOZERO_UNLIKELY(pos == nullptr))
    return {nullptr, nullptr, {}};
  pos[0] = slot->attribute_tag;
  pos[2] = kKeyTag;
  pos[3] = static_cast<uint8_t>(key.size());
  uint8_t* const text = pos + kAttributeHeader + kKeyHeader;
  const CopiedText copied = CopyText(text, key);
  uint8_t* const value = text + key.size();
  value[0] = kValueTag;
  return {pos, value + kValueHeader, copied};
}

// Fills in the lengths, and ends the attribute.
PROTOZERO_ALWAYS_INLINE void EndShort(Slot* slot,
                                      const Beginning& beginning,
                                      uint8_t* end) {
  beginning.begin[1] = static_cast<uint8_t>(end - beginning.begin - 2);
  beginning.pos[-1] = static_cast<uint8_t>(end - beginning.pos);
  EndAttribute(slot, beginning.key.hash, end);
}

}  // namespace

void AddText(Slot* slot,
             std::string_view key,
             std::string_view value) noexcept {
  Beginning beginning = BeginAttribute(slot, key, 2 + value.size());
  if (PROTOZERO_LIKELY(beginning.pos != nullptr)) {
    uint8_t* const pos = beginning.pos;
    pos[0] = BytesTag(AnyValue::kStringValueFieldNumber);
    pos[1] = static_cast<uint8_t>(value.size());
    const CopiedText copied = CopyText(pos + 2, value);
    if (PROTOZERO_LIKELY(((copied.all | beginning.key.all) & kHighBits) == 0))
      return EndShort(slot, beginning, pos + 2 + value.size());
  }
  AddSlowPath(slot, key, value);
}

void AddBool(Slot* slot, std::string_view key, bool value) noexcept {
  const Beginning beginning = BeginAttribute(slot, key, 2);
  if (PROTOZERO_UNLIKELY(beginning.pos == nullptr || !beginning.key.IsAscii()))
    return AddSlowPath(slot, key, value);
  beginning.pos[0] = VarIntTag(AnyValue::kBoolValueFieldNumber);
  beginning.pos[1] = value;
  EndShort(slot, beginning, beginning.pos + 2);
}

void AddInt(Slot* slot, std::string_view key, int64_t value) noexcept {
  const Beginning beginning = BeginAttribute(slot, key, 11);
  if (PROTOZERO_UNLIKELY(beginning.pos == nullptr || !beginning.key.IsAscii()))
    return AddSlowPath(slot, key, value);
  beginning.pos[0] = VarIntTag(AnyValue::kIntValueFieldNumber);
  EndShort(slot, beginning,
           PutVarInt(beginning.pos + 1, static_cast<uint64_t>(value)));
}

void AddDouble(Slot* slot, std::string_view key, double value) noexcept {
  const Beginning beginning = BeginAttribute(slot, key, 9);
  if (PROTOZERO_UNLIKELY(beginning.pos == nullptr || !beginning.key.IsAscii()))
    return AddSlowPath(slot, key, value);
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  beginning.pos[0] = Fixed64Tag(AnyValue::kDoubleValueFieldNumber);
  EndShort(slot, beginning, PutFixed64(beginning.pos + 1, bits));
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
