// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/field_writer.h"

#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

#include "protozero/field_metadata.h"
#include "test/testing/delegates.h"

namespace protozero {
namespace {

using internal::FieldWriter;
using proto_utils::ProtoSchemaType;
using test::ExpectWritesHex;

// Expects the bytes that a setter of |type| with field id 1 writes for |value|.
template <ProtoSchemaType type, typename Value>
void ExpectField(Value value, std::string_view hex) {
  ExpectWritesHex(hex, [value](Message* message) {
    FieldWriter<type>::Append(*message, 1, value);
  });
}

TEST(FieldWriterTest, VarInts) {
  ExpectField<ProtoSchemaType::kInt32>(int32_t{-1},
                                       "08 ff ff ff ff ff ff ff ff ff 01");
  ExpectField<ProtoSchemaType::kInt64>(std::numeric_limits<int64_t>::min(),
                                       "08 80 80 80 80 80 80 80 80 80 01");
  ExpectField<ProtoSchemaType::kUint32>(std::numeric_limits<uint32_t>::max(),
                                        "08 ff ff ff ff 0f");
  ExpectField<ProtoSchemaType::kUint64>(std::numeric_limits<uint64_t>::max(),
                                        "08 ff ff ff ff ff ff ff ff ff 01");
}

TEST(FieldWriterTest, ArgumentsConvertToTheTypeOfTheField) {
  ExpectField<ProtoSchemaType::kUint32>(uint8_t{200}, "08 c8 01");
  ExpectField<ProtoSchemaType::kInt64>(int32_t{-1},
                                       "08 ff ff ff ff ff ff ff ff ff 01");
  ExpectField<ProtoSchemaType::kSint64>(int8_t{-1}, "08 01");
  ExpectField<ProtoSchemaType::kDouble>(1.0f, "09 00 00 00 00 00 00 f0 3f");
}

TEST(FieldWriterTest, ZigZag) {
  ExpectField<ProtoSchemaType::kSint32>(std::numeric_limits<int32_t>::min(),
                                        "08 ff ff ff ff 0f");
  ExpectField<ProtoSchemaType::kSint64>(std::numeric_limits<int64_t>::min(),
                                        "08 ff ff ff ff ff ff ff ff ff 01");
  ExpectField<ProtoSchemaType::kSint32>(int32_t{-1}, "08 01");
  ExpectField<ProtoSchemaType::kSint64>(int64_t{1}, "08 02");
}

TEST(FieldWriterTest, FixedWidth) {
  ExpectField<ProtoSchemaType::kFixed32>(uint32_t{0x12345678},
                                         "0d 78 56 34 12");
  ExpectField<ProtoSchemaType::kSfixed32>(int32_t{-2}, "0d fe ff ff ff");
  ExpectField<ProtoSchemaType::kFloat>(1.0f, "0d 00 00 80 3f");
  ExpectField<ProtoSchemaType::kFixed64>(uint64_t{1},
                                         "09 01 00 00 00 00 00 00 00");
  ExpectField<ProtoSchemaType::kSfixed64>(int64_t{-2},
                                          "09 fe ff ff ff ff ff ff ff");
  ExpectField<ProtoSchemaType::kDouble>(-0.0, "09 00 00 00 00 00 00 00 80");
}

TEST(FieldWriterTest, Bools) {
  ExpectField<ProtoSchemaType::kBool>(true, "08 01");
  ExpectField<ProtoSchemaType::kBool>(false, "08 00");
}

TEST(FieldWriterTest, EnumsOfAnyTypeAndTheirNumbers) {
  enum Old : int32_t { kMinusTwo = -2 };
  enum class Scoped : int32_t { kMax = std::numeric_limits<int32_t>::max() };
  ExpectField<ProtoSchemaType::kEnum>(kMinusTwo,
                                      "08 fe ff ff ff ff ff ff ff ff 01");
  ExpectField<ProtoSchemaType::kEnum>(Scoped::kMax, "08 ff ff ff ff 07");
  ExpectField<ProtoSchemaType::kEnum>(int32_t{7}, "08 07");
}

TEST(FieldWriterTest, StringsAndBytesByPointerOrView) {
  ExpectField<ProtoSchemaType::kString>("abc", "0a 03 61 62 63");
  ExpectField<ProtoSchemaType::kBytes>(std::string_view("a\0b", 3),
                                       "0a 03 61 00 62");
  ExpectField<ProtoSchemaType::kString>(std::string_view(), "0a 00");
  ExpectWritesHex("0a 02 01 02", [](Message* message) {
    const uint8_t bytes[] = {1, 2};
    FieldWriter<ProtoSchemaType::kBytes>::Append(*message, 1, bytes, 2);
  });
  ExpectWritesHex("0a 02 61 62", [](Message* message) {
    FieldWriter<ProtoSchemaType::kString>::Append(*message, 1, "abc", 2);
  });
}

// Appends by the writer in the field's metadata, as generic code does.
template <typename Metadata>
void Append(const Metadata&,
            Message* message,
            typename Metadata::cpp_field_type value) {
  FieldWriter<Metadata::kProtoFieldType>::Append(*message, Metadata::kFieldId,
                                                 value);
}

TEST(FieldWriterTest, WorksFromFieldMetadata) {
  static constexpr meta::Sint32<2047, Message> kField{};
  ExpectWritesHex("f8 7f 03",
                  [](Message* message) { Append(kField, message, -2); });
}

}  // namespace
}  // namespace protozero
