// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/field_metadata.h"

#include <stdint.h>

#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace protozero {
namespace {

using proto_utils::ProtoSchemaType;
using proto_utils::RepetitionType;

struct Event;
enum Color : int32_t;

template <uint32_t field_id,
          RepetitionType repetition,
          ProtoSchemaType type,
          typename CppType,
          typename Metadata>
void ExpectIs() {
  static constexpr Metadata kField{};
  static_assert(kField.kFieldId == field_id);
  static_assert(Metadata::kRepetitionType == repetition);
  static_assert(Metadata::kProtoFieldType == type);
  static_assert(
      std::is_same<typename Metadata::cpp_field_type, CppType>::value);
  static_assert(std::is_same<typename Metadata::message_type, Event>::value);
  static_assert(
      std::is_base_of<proto_utils::FieldMetadataBase, Metadata>::value);
  static_assert(std::is_empty<Metadata>::value);
}

// Checks that the metadata has its type arguments.
template <ProtoSchemaType type,
          typename CppType,
          typename Singular,
          typename Repeated,
          typename... Packed>
void Expect() {
  ExpectIs<1, RepetitionType::kNotRepeated, type, CppType, Singular>();
  ExpectIs<2, RepetitionType::kRepeatedNotPacked, type, CppType, Repeated>();
  (ExpectIs<3, RepetitionType::kRepeatedPacked, type, CppType, Packed>(), ...);
}

TEST(FieldMetadataTest, Scalars) {
  Expect<ProtoSchemaType::kDouble, double, meta::Double<1, Event>,
         meta::RepeatedDouble<2, Event>, meta::PackedDouble<3, Event>>();
  Expect<ProtoSchemaType::kFloat, float, meta::Float<1, Event>,
         meta::RepeatedFloat<2, Event>, meta::PackedFloat<3, Event>>();
  Expect<ProtoSchemaType::kInt64, int64_t, meta::Int64<1, Event>,
         meta::RepeatedInt64<2, Event>, meta::PackedInt64<3, Event>>();
  Expect<ProtoSchemaType::kUint64, uint64_t, meta::Uint64<1, Event>,
         meta::RepeatedUint64<2, Event>, meta::PackedUint64<3, Event>>();
  Expect<ProtoSchemaType::kInt32, int32_t, meta::Int32<1, Event>,
         meta::RepeatedInt32<2, Event>, meta::PackedInt32<3, Event>>();
  Expect<ProtoSchemaType::kFixed64, uint64_t, meta::Fixed64<1, Event>,
         meta::RepeatedFixed64<2, Event>, meta::PackedFixed64<3, Event>>();
  Expect<ProtoSchemaType::kFixed32, uint32_t, meta::Fixed32<1, Event>,
         meta::RepeatedFixed32<2, Event>, meta::PackedFixed32<3, Event>>();
  Expect<ProtoSchemaType::kBool, bool, meta::Bool<1, Event>,
         meta::RepeatedBool<2, Event>, meta::PackedBool<3, Event>>();
  Expect<ProtoSchemaType::kUint32, uint32_t, meta::Uint32<1, Event>,
         meta::RepeatedUint32<2, Event>, meta::PackedUint32<3, Event>>();
  Expect<ProtoSchemaType::kSfixed32, int32_t, meta::Sfixed32<1, Event>,
         meta::RepeatedSfixed32<2, Event>, meta::PackedSfixed32<3, Event>>();
  Expect<ProtoSchemaType::kSfixed64, int64_t, meta::Sfixed64<1, Event>,
         meta::RepeatedSfixed64<2, Event>, meta::PackedSfixed64<3, Event>>();
  Expect<ProtoSchemaType::kSint32, int32_t, meta::Sint32<1, Event>,
         meta::RepeatedSint32<2, Event>, meta::PackedSint32<3, Event>>();
  Expect<ProtoSchemaType::kSint64, int64_t, meta::Sint64<1, Event>,
         meta::RepeatedSint64<2, Event>, meta::PackedSint64<3, Event>>();
  Expect<ProtoSchemaType::kString, std::string, meta::String<1, Event>,
         meta::RepeatedString<2, Event>>();
  Expect<ProtoSchemaType::kBytes, std::string, meta::Bytes<1, Event>,
         meta::RepeatedBytes<2, Event>>();
}

TEST(FieldMetadataTest, DeclaredTypes) {
  Expect<ProtoSchemaType::kEnum, Color, meta::Enum<1, Color, Event>,
         meta::RepeatedEnum<2, Color, Event>,
         meta::PackedEnum<3, Color, Event>>();
  Expect<ProtoSchemaType::kMessage, Event, meta::Message<1, Event, Event>,
         meta::RepeatedMessage<2, Event, Event>>();
  Expect<ProtoSchemaType::kGroup, Event, meta::Group<1, Event, Event>,
         meta::RepeatedGroup<2, Event, Event>>();
}

}  // namespace
}  // namespace protozero
