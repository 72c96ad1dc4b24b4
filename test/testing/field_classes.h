// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_FIELD_CLASSES_H_
#define TEST_TESTING_FIELD_CLASSES_H_

#include <stdint.h>

#include <string>

#include "protozero/message.h"
#include "protozero/proto_utils.h"

// Message classes like those that the plugin makes, as far as field constants
// are concerned, for tests that do without the plugin.

namespace protozero::test {

enum Number : int32_t { ZERO = 0, ONE = 1, MINUS_ONE = -1 };

template <uint32_t id,
          proto_utils::ProtoSchemaType type,
          typename T,
          typename M>
using FieldAt = proto_utils::
    FieldMetadata<id, proto_utils::RepetitionType::kNotRepeated, type, T, M>;

// One field of each type, all with the same id.
template <uint32_t id>
class FieldsAt : public Message {
 public:
  using Type = proto_utils::ProtoSchemaType;
  static constexpr FieldAt<id, Type::kDouble, double, FieldsAt> kDouble{};
  static constexpr FieldAt<id, Type::kFloat, float, FieldsAt> kFloat{};
  static constexpr FieldAt<id, Type::kInt64, int64_t, FieldsAt> kInt64{};
  static constexpr FieldAt<id, Type::kUint64, uint64_t, FieldsAt> kUint64{};
  static constexpr FieldAt<id, Type::kInt32, int32_t, FieldsAt> kInt32{};
  static constexpr FieldAt<id, Type::kFixed64, uint64_t, FieldsAt> kFixed64{};
  static constexpr FieldAt<id, Type::kFixed32, uint32_t, FieldsAt> kFixed32{};
  static constexpr FieldAt<id, Type::kBool, bool, FieldsAt> kBool{};
  static constexpr FieldAt<id, Type::kString, std::string, FieldsAt> kString{};
  static constexpr FieldAt<id, Type::kMessage, FieldsAt, FieldsAt> kMessage{};
  static constexpr FieldAt<id, Type::kBytes, std::string, FieldsAt> kBytes{};
  static constexpr FieldAt<id, Type::kUint32, uint32_t, FieldsAt> kUint32{};
  static constexpr FieldAt<id, Type::kEnum, Number, FieldsAt> kEnum{};
  static constexpr FieldAt<id, Type::kSfixed32, int32_t, FieldsAt> kSfixed32{};
  static constexpr FieldAt<id, Type::kSfixed64, int64_t, FieldsAt> kSfixed64{};
  static constexpr FieldAt<id, Type::kSint32, int32_t, FieldsAt> kSint32{};
  static constexpr FieldAt<id, Type::kSint64, int64_t, FieldsAt> kSint64{};
};

using Fields = FieldsAt<1>;

class Extension : public Fields {
 public:
  static constexpr FieldAt<1000, Type::kBool, bool, Extension> kExtra{};
};

}  // namespace protozero::test

#endif  // TEST_TESTING_FIELD_CLASSES_H_
