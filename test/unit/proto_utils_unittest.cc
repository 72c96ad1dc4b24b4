// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/proto_utils.h"

#include <string.h>

#include <string>

#include <gtest/gtest.h>

#include "test/testing/hex.h"

namespace protozero {
namespace {

using proto_utils::GetTagFieldId;
using proto_utils::GetTagFieldType;
using proto_utils::MakeTagFixed;
using proto_utils::MakeTagLengthDelimited;
using proto_utils::MakeTagVarInt;
using proto_utils::ProtoSchemaToString;
using proto_utils::ProtoSchemaToWireType;
using proto_utils::ProtoSchemaType;
using proto_utils::ProtoWireType;
using test::Hex;

static_assert(proto_utils::kMessageLengthFieldSize == 4);
static_assert(proto_utils::kMaxMessageLength == 268435455);
static_assert(proto_utils::kMaxRootMessageLength == 2147483647);
static_assert(proto_utils::kMaxOneByteMessageLength == 127);
static_assert(proto_utils::kMaxTagEncodedSize == 5);
static_assert(proto_utils::kMaxSimpleFieldEncodedSize == 15);
static_assert(proto_utils::kMaxFieldId == 536870911);

static_assert(MakeTagVarInt(1) == 8);
static_assert(MakeTagFixed<uint32_t>(1) == 13);
static_assert(MakeTagFixed<float>(1) == 13);
static_assert(MakeTagFixed<uint64_t>(1) == 9);
static_assert(MakeTagFixed<double>(1) == 9);
static_assert(MakeTagLengthDelimited(1) == 10);
static_assert(MakeTagLengthDelimited(536870911) == 0xfffffffa);
static_assert(GetTagFieldId(MakeTagLengthDelimited(536870911)) == 536870911);
static_assert(GetTagFieldType(13) == ProtoWireType::kFixed32);
static_assert(GetTagFieldType(10) == ProtoWireType::kLengthDelimited);

// This instantiates the function for ids that have a one-byte tag.
static_assert((proto_utils::StaticAssertSingleBytePreamble<1>(),
               proto_utils::StaticAssertSingleBytePreamble<15>(),
               true));

std::string TagHex(uint32_t field_id, ProtoWireType wire_type) {
  uint8_t buffer[10];
  const auto tag = proto_utils::internal::EncodeTag(field_id, wire_type);
  EXPECT_EQ(tag.Store(buffer), buffer + tag.size());
  return Hex(buffer, tag.size());
}

TEST(EncodedTagTest, GrowsAtTheBoundariesOfItsSize) {
  const struct {
    uint32_t field_id;
    const char* varint_tag;
    const char* fixed32_tag;
  } kCases[] = {
      {1, "08", "0d"},
      {15, "78", "7d"},
      {16, "80 01", "85 01"},
      {2047, "f8 7f", "fd 7f"},
      {2048, "80 80 01", "85 80 01"},
      {262143, "f8 ff 7f", "fd ff 7f"},
      {262144, "80 80 80 01", "85 80 80 01"},
      {33554431, "f8 ff ff 7f", "fd ff ff 7f"},
      {33554432, "80 80 80 80 01", "85 80 80 80 01"},
      {536870911, "f8 ff ff ff 0f", "fd ff ff ff 0f"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(TagHex(c.field_id, ProtoWireType::kVarInt), c.varint_tag);
    EXPECT_EQ(TagHex(c.field_id, ProtoWireType::kFixed32), c.fixed32_tag);
  }
}

TEST(EncodedTagTest, IsTheVarIntOfTheTagForEveryBitOfTheId) {
  for (uint32_t bit = 0; bit < 29; ++bit) {
    for (uint32_t field_id : {1u << bit, (2u << bit) - 1}) {
      for (uint32_t type : {0u, 1u, 2u, 5u}) {
        uint8_t expected[5];
        const size_t size = static_cast<size_t>(
            proto_utils::WriteVarInt(field_id << 3 | type, expected) -
            expected);
        EXPECT_EQ(TagHex(field_id, static_cast<ProtoWireType>(type)),
                  Hex(expected, size));
      }
    }
  }
}

TEST(EncodedTagTest, ShortTagsAreStoredWithoutTouchingMore) {
  for (uint32_t field_id : {1u, 15u, 16u, 2047u}) {
    // The buffer is longer than needed, so that compilers do not see that the
    // tag is short.
    uint8_t buffer[8];
    memset(buffer, 0xee, sizeof(buffer));
    const auto tag =
        proto_utils::internal::EncodeTag(field_id, ProtoWireType::kVarInt);
    tag.Store(buffer);
    for (size_t i = tag.size(); i < sizeof(buffer); ++i) {
      EXPECT_EQ(buffer[i], 0xee);
    }
  }
}

TEST(EncodedTagTest, IsAConstantExpression) {
  constexpr auto kTag =
      proto_utils::internal::EncodeTag(536870911, ProtoWireType::kFixed32);
  static_assert(kTag.encoded() == 0x0ffffffffd && kTag.size() == 5);
}

// One row for each type of protobuf.
const struct SchemaTypeCase {
  ProtoSchemaType type;
  int descriptor_value;
  const char* name;
  ProtoWireType wire_type;
} kSchemaTypes[] = {
    {ProtoSchemaType::kUnknown, 0, "unknown", ProtoWireType::kLengthDelimited},
    {ProtoSchemaType::kDouble, 1, "double", ProtoWireType::kFixed64},
    {ProtoSchemaType::kFloat, 2, "float", ProtoWireType::kFixed32},
    {ProtoSchemaType::kInt64, 3, "int64", ProtoWireType::kVarInt},
    {ProtoSchemaType::kUint64, 4, "uint64", ProtoWireType::kVarInt},
    {ProtoSchemaType::kInt32, 5, "int32", ProtoWireType::kVarInt},
    {ProtoSchemaType::kFixed64, 6, "fixed64", ProtoWireType::kFixed64},
    {ProtoSchemaType::kFixed32, 7, "fixed32", ProtoWireType::kFixed32},
    {ProtoSchemaType::kBool, 8, "bool", ProtoWireType::kVarInt},
    {ProtoSchemaType::kString, 9, "string", ProtoWireType::kLengthDelimited},
    {ProtoSchemaType::kGroup, 10, "group", ProtoWireType::kLengthDelimited},
    {ProtoSchemaType::kMessage, 11, "message", ProtoWireType::kLengthDelimited},
    {ProtoSchemaType::kBytes, 12, "bytes", ProtoWireType::kLengthDelimited},
    {ProtoSchemaType::kUint32, 13, "uint32", ProtoWireType::kVarInt},
    {ProtoSchemaType::kEnum, 14, "enum", ProtoWireType::kVarInt},
    {ProtoSchemaType::kSfixed32, 15, "sfixed32", ProtoWireType::kFixed32},
    {ProtoSchemaType::kSfixed64, 16, "sfixed64", ProtoWireType::kFixed64},
    {ProtoSchemaType::kSint32, 17, "sint32", ProtoWireType::kVarInt},
    {ProtoSchemaType::kSint64, 18, "sint64", ProtoWireType::kVarInt},
};

TEST(ProtoSchemaTypeTest, EveryTypeHasItsNumberNameAndWireType) {
  for (const SchemaTypeCase& c : kSchemaTypes) {
    EXPECT_EQ(static_cast<int>(c.type), c.descriptor_value) << c.name;
    EXPECT_STREQ(ProtoSchemaToString(c.type), c.name);
    EXPECT_EQ(ProtoSchemaToWireType(c.type), c.wire_type) << c.name;
  }
}

TEST(ProtoSchemaTypeTest, ValuesOutsideOfTheEnumHaveANameToo) {
  for (int value : {-1, 19, 1000}) {
    EXPECT_STREQ(ProtoSchemaToString(static_cast<ProtoSchemaType>(value)),
                 "unknown");
  }
}

}  // namespace
}  // namespace protozero
