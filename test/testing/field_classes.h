// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_FIELD_CLASSES_H_
#define TEST_TESTING_FIELD_CLASSES_H_

#include <stdint.h>

#include "protozero/field_metadata.h"
#include "protozero/message.h"

// Message classes with field constants like those that the plugin makes, for
// tests that do without the plugin.

namespace protozero::test {

enum Number : int32_t { ZERO = 0, ONE = 1, MINUS_ONE = -1 };

// One field of each type, all with the same id.
template <uint32_t id>
class FieldsAt : public Message {
 public:
  static constexpr meta::Double<id, FieldsAt> kDouble{};
  static constexpr meta::Float<id, FieldsAt> kFloat{};
  static constexpr meta::Int64<id, FieldsAt> kInt64{};
  static constexpr meta::Uint64<id, FieldsAt> kUint64{};
  static constexpr meta::Int32<id, FieldsAt> kInt32{};
  static constexpr meta::Fixed64<id, FieldsAt> kFixed64{};
  static constexpr meta::Fixed32<id, FieldsAt> kFixed32{};
  static constexpr meta::Bool<id, FieldsAt> kBool{};
  static constexpr meta::String<id, FieldsAt> kString{};
  static constexpr meta::Message<id, FieldsAt, FieldsAt> kMessage{};
  static constexpr meta::Bytes<id, FieldsAt> kBytes{};
  static constexpr meta::Uint32<id, FieldsAt> kUint32{};
  static constexpr meta::Enum<id, Number, FieldsAt> kEnum{};
  static constexpr meta::Sfixed32<id, FieldsAt> kSfixed32{};
  static constexpr meta::Sfixed64<id, FieldsAt> kSfixed64{};
  static constexpr meta::Sint32<id, FieldsAt> kSint32{};
  static constexpr meta::Sint64<id, FieldsAt> kSint64{};
};

using Fields = FieldsAt<1>;

class Extension : public Fields {
 public:
  static constexpr meta::Bool<1000, Extension> kExtra{};
};

}  // namespace protozero::test

#endif  // TEST_TESTING_FIELD_CLASSES_H_
