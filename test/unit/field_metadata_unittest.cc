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

template <typename Metadata,
          uint32_t field_id,
          RepetitionType repetition,
          ProtoSchemaType type,
          typename CppType>
constexpr bool kIs = std::is_same<
    Metadata,
    proto_utils::FieldMetadata<field_id, repetition, type, CppType, Event>>::
    value;

template <typename Singular,
          typename Repeated,
          typename Packed,
          ProtoSchemaType type,
          typename CppType>
void ExpectNames() {
  EXPECT_TRUE((kIs<Singular, 1, RepetitionType::kNotRepeated, type, CppType>));
  EXPECT_TRUE(
      (kIs<Repeated, 2, RepetitionType::kRepeatedNotPacked, type, CppType>));
  EXPECT_TRUE((kIs<Packed, 3, RepetitionType::kRepeatedPacked, type, CppType>));
}

TEST(FieldMetadataTest, NamesOfScalars) {
  ExpectNames<meta::Double<1, Event>, meta::RepeatedDouble<2, Event>,
              meta::PackedDouble<3, Event>, ProtoSchemaType::kDouble, double>();
  ExpectNames<meta::Float<1, Event>, meta::RepeatedFloat<2, Event>,
              meta::PackedFloat<3, Event>, ProtoSchemaType::kFloat, float>();
  ExpectNames<meta::Int64<1, Event>, meta::RepeatedInt64<2, Event>,
              meta::PackedInt64<3, Event>, ProtoSchemaType::kInt64, int64_t>();
  ExpectNames<meta::Uint64<1, Event>, meta::RepeatedUint64<2, Event>,
              meta::PackedUint64<3, Event>, ProtoSchemaType::kUint64,
              uint64_t>();
  ExpectNames<meta::Int32<1, Event>, meta::RepeatedInt32<2, Event>,
              meta::PackedInt32<3, Event>, ProtoSchemaType::kInt32, int32_t>();
  ExpectNames<meta::Fixed64<1, Event>, meta::RepeatedFixed64<2, Event>,
              meta::PackedFixed64<3, Event>, ProtoSchemaType::kFixed64,
              uint64_t>();
  ExpectNames<meta::Fixed32<1, Event>, meta::RepeatedFixed32<2, Event>,
              meta::PackedFixed32<3, Event>, ProtoSchemaType::kFixed32,
              uint32_t>();
  ExpectNames<meta::Bool<1, Event>, meta::RepeatedBool<2, Event>,
              meta::PackedBool<3, Event>, ProtoSchemaType::kBool, bool>();
  ExpectNames<meta::String<1, Event>, meta::RepeatedString<2, Event>,
              meta::PackedString<3, Event>, ProtoSchemaType::kString,
              std::string>();
  ExpectNames<meta::Bytes<1, Event>, meta::RepeatedBytes<2, Event>,
              meta::PackedBytes<3, Event>, ProtoSchemaType::kBytes,
              std::string>();
  ExpectNames<meta::Uint32<1, Event>, meta::RepeatedUint32<2, Event>,
              meta::PackedUint32<3, Event>, ProtoSchemaType::kUint32,
              uint32_t>();
  ExpectNames<meta::Sfixed32<1, Event>, meta::RepeatedSfixed32<2, Event>,
              meta::PackedSfixed32<3, Event>, ProtoSchemaType::kSfixed32,
              int32_t>();
  ExpectNames<meta::Sfixed64<1, Event>, meta::RepeatedSfixed64<2, Event>,
              meta::PackedSfixed64<3, Event>, ProtoSchemaType::kSfixed64,
              int64_t>();
  ExpectNames<meta::Sint32<1, Event>, meta::RepeatedSint32<2, Event>,
              meta::PackedSint32<3, Event>, ProtoSchemaType::kSint32,
              int32_t>();
  ExpectNames<meta::Sint64<1, Event>, meta::RepeatedSint64<2, Event>,
              meta::PackedSint64<3, Event>, ProtoSchemaType::kSint64,
              int64_t>();
}

TEST(FieldMetadataTest, NamesOfDeclaredTypes) {
  ExpectNames<meta::Enum<1, Color, Event>, meta::RepeatedEnum<2, Color, Event>,
              meta::PackedEnum<3, Color, Event>, ProtoSchemaType::kEnum,
              Color>();
  ExpectNames<
      meta::Message<1, Event, Event>, meta::RepeatedMessage<2, Event, Event>,
      meta::PackedMessage<3, Event, Event>, ProtoSchemaType::kMessage, Event>();
  ExpectNames<
      meta::Group<1, Event, Event>, meta::RepeatedGroup<2, Event, Event>,
      meta::PackedGroup<3, Event, Event>, ProtoSchemaType::kGroup, Event>();
}

}  // namespace
}  // namespace protozero
