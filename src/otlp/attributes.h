// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_ATTRIBUTES_H_
#define SRC_OTLP_ATTRIBUTES_H_

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include "protozero/otlp/attribute_value.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {

// Writes texts and values at a position that has room for them.
struct ValueWriter {
  // Writes a field with a text.
  uint8_t* PutText(uint8_t* pos, uint8_t tag, std::string_view text);
  // Writes a KeyValue, as a field.
  uint8_t* PutAttribute(uint8_t* pos,
                        uint8_t tag,
                        std::string_view key,
                        const AttributeValue& value);
  // Writes the field of an AnyValue.
  uint8_t* PutAnyValue(uint8_t* pos, const AttributeValue& value);
  // Writes up to |max_count| attributes of a list. The last value of a key
  // counts. Adds those that are left out to |dropped|.
  uint8_t* PutAttributes(uint8_t* pos,
                         uint8_t tag,
                         const Attribute* attributes,
                         size_t count,
                         size_t max_count,
                         uint32_t* dropped);

  // Return the most bytes that these take.
  size_t RoomForValue(const AttributeValue& value) const;
  size_t RoomForAttributes(const Attribute* attributes, size_t count) const;

  size_t text_limit;
  // Counts the texts that were not UTF-8.
  uint32_t repaired = 0;

 private:
  uint8_t* PutArray(uint8_t* pos, const AttributeValue& value);
};

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_ATTRIBUTES_H_
