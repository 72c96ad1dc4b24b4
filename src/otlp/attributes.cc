// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp/attributes.h"

#include <stdio.h>

#include <algorithm>

#include "src/otlp/protos/schema.h"
#include "src/otlp/text.h"
#include "src/otlp/wire.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {
namespace {

using Type = AttributeValue::Type;
using otlp_schema::AnyValue;
using otlp_schema::ArrayValue;
using otlp_schema::KeyValue;

// Digits of the largest number.
constexpr size_t kMaxDigits = 20;
// The most bytes of a number's field.
constexpr size_t kMaxNumber = 11;

uint8_t* PutDouble(uint8_t* pos, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  *pos++ = Fixed64Tag(AnyValue::kDoubleValueFieldNumber);
  return PutFixed64(pos, bits);
}

uint8_t* PutInt(uint8_t* pos, int64_t value) {
  *pos++ = VarIntTag(AnyValue::kIntValueFieldNumber);
  return PutVarInt(pos, static_cast<uint64_t>(value));
}

uint8_t* PutBool(uint8_t* pos, bool value) {
  *pos++ = VarIntTag(AnyValue::kBoolValueFieldNumber);
  *pos++ = value;
  return pos;
}

}  // namespace

uint8_t* ValueWriter::PutText(uint8_t* pos,
                              uint8_t tag,
                              std::string_view text) {
  const size_t size = LimitedSize(text, text_limit);
  *pos++ = tag;
  pos = PutVarInt(pos, size);
  if (!CopyText(pos, text.substr(0, size)).IsAscii() && RepairUtf8(pos, size))
    ++repaired;
  return pos + size;
}

uint8_t* ValueWriter::PutAnyValue(uint8_t* pos, const AttributeValue& value) {
  switch (value.type()) {
    case Type::kString:
      return PutText(pos, BytesTag(AnyValue::kStringValueFieldNumber),
                     value.text());
    case Type::kBool:
      return PutBool(pos, value.int_value() != 0);
    case Type::kInt:
      return PutInt(pos, value.int_value());
    case Type::kUint: {
      const uint64_t number = static_cast<uint64_t>(value.int_value());
      if (number <= INT64_MAX)
        return PutInt(pos, value.int_value());
      char digits[kMaxDigits + 1];
      const int size = snprintf(digits, sizeof(digits), "%llu",
                                static_cast<unsigned long long>(number));
      return PutText(pos, BytesTag(AnyValue::kStringValueFieldNumber),
                     {digits, static_cast<size_t>(size)});
    }
    case Type::kDouble:
      return PutDouble(pos, value.double_value());
    case Type::kBytes:
      return PutBytes(pos, BytesTag(AnyValue::kBytesValueFieldNumber),
                      value.bytes_value().data,
                      std::min(value.size(), text_limit));
    case Type::kArray:
      return PutArray(pos, value);
  }
  return pos;
}

uint8_t* ValueWriter::PutArray(uint8_t* pos, const AttributeValue& value) {
  *pos++ = BytesTag(AnyValue::kArrayValueFieldNumber);
  uint8_t* const array = ++pos;
  for (size_t i = 0; i < value.size(); ++i) {
    *pos++ = BytesTag(ArrayValue::kValuesFieldNumber);
    uint8_t* const element = ++pos;
    pos = PutLength(element, PutAnyValue(pos, value.element(i)));
  }
  return PutLength(array, pos);
}

uint8_t* ValueWriter::PutAttribute(uint8_t* pos,
                                   uint8_t tag,
                                   std::string_view key,
                                   const AttributeValue& value) {
  *pos++ = tag;
  uint8_t* const entry = ++pos;
  // Only values have a limit.
  ValueWriter key_writer{SIZE_MAX};
  pos = key_writer.PutText(pos, BytesTag(KeyValue::kKeyFieldNumber), key);
  repaired += key_writer.repaired;
  *pos++ = BytesTag(KeyValue::kValueFieldNumber);
  uint8_t* const any = ++pos;
  pos = PutLength(any, PutAnyValue(pos, value));
  return PutLength(entry, pos);
}

uint8_t* ValueWriter::PutAttributes(uint8_t* pos,
                                    uint8_t tag,
                                    const Attribute* attributes,
                                    size_t count,
                                    size_t max_count,
                                    uint32_t* dropped) {
  size_t written = 0;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view key = attributes[i].key;
    bool is_set_again = false;
    for (size_t j = i + 1; j < count && !is_set_again; ++j)
      is_set_again = attributes[j].key == key;
    if (is_set_again)
      continue;
    if (key.empty() || written == max_count) {
      ++*dropped;
      continue;
    }
    pos = PutAttribute(pos, tag, key, attributes[i].value);
    ++written;
  }
  return pos;
}

size_t ValueWriter::RoomForValue(const AttributeValue& value) const {
  switch (value.type()) {
    case Type::kString:
    case Type::kBytes:
      return kMaxHeader + std::min(value.size(), text_limit);
    case Type::kBool:
    case Type::kInt:
    case Type::kDouble:
      return kMaxNumber;
    case Type::kUint:
      return kMaxHeader + kMaxDigits;
    case Type::kArray: {
      size_t size = kMaxHeader;
      for (size_t i = 0; i < value.size(); ++i)
        size += kMaxHeader + RoomForValue(value.element(i));
      return size;
    }
  }
  return 0;
}

size_t ValueWriter::RoomForAttributes(const Attribute* attributes,
                                      size_t count) const {
  size_t size = 0;
  for (size_t i = 0; i < count; ++i) {
    size += 3 * kMaxHeader + attributes[i].key.size() +
            RoomForValue(attributes[i].value);
  }
  return size;
}

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
