// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/field.h"

#include <stdint.h>

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/internal/byte_order.h"
#include "protozero/internal/wire_number.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using proto_utils::ProtoWireType;

Field Number(uint32_t id, ProtoWireType type, uint64_t value) {
  Field field;
  field.initialize(id, type, value, 0);
  return field;
}

Field VarInt(uint64_t value) {
  return Number(1, ProtoWireType::kVarInt, value);
}

Field Bytes(uint32_t id, ProtoWireType type, const std::string& bytes) {
  Field field;
  field.initialize(id, type, reinterpret_cast<uintptr_t>(bytes.data()),
                   static_cast<uint32_t>(bytes.size()));
  return field;
}

template <typename T>
T Get(const Field& field) {
  T value{};
  field.get(&value);
  return value;
}

template <typename T>
T GetSigned(const Field& field) {
  T value{};
  field.get_signed(&value);
  return value;
}

void ExpectNoNumber(const Field& field) {
  EXPECT_FALSE(field.as_bool());
  EXPECT_EQ(field.as_uint32(), 0u);
  EXPECT_EQ(field.as_int32(), 0);
  EXPECT_EQ(field.as_sint32(), 0);
  EXPECT_EQ(field.as_uint64(), 0u);
  EXPECT_EQ(field.as_int64(), 0);
  EXPECT_EQ(field.as_sint64(), 0);
  EXPECT_EQ(field.as_float(), 0.0f);
  EXPECT_EQ(field.as_double(), 0.0);
}

void ExpectNoBytes(const Field& field) {
  EXPECT_EQ(field.data(), nullptr);
  EXPECT_EQ(field.size(), 0u);
  EXPECT_EQ(field.as_bytes().data, nullptr);
  EXPECT_EQ(field.as_bytes().size, 0u);
  EXPECT_EQ(field.as_string().data, nullptr);
  EXPECT_EQ(field.as_string().size, 0u);
  EXPECT_EQ(field.as_std_string(), "");
}

TEST(FieldTest, IsInvalidByDefault) {
  const Field field{};
  EXPECT_FALSE(field.valid());
  EXPECT_FALSE(static_cast<bool>(field));
  EXPECT_EQ(field.id(), 0u);
  ExpectNoNumber(field);
  ExpectNoBytes(field);
}

TEST(FieldTest, KeepsIdsAndTypesApart) {
  for (const uint32_t id : {1u, 15u, 16u, 2047u, 2048u, 536870911u}) {
    for (const ProtoWireType type :
         {ProtoWireType::kVarInt, ProtoWireType::kFixed64,
          ProtoWireType::kFixed32}) {
      const Field field = Number(id, type, ~uint64_t{0});
      EXPECT_TRUE(field.valid());
      EXPECT_TRUE(static_cast<bool>(field));
      EXPECT_EQ(field.id(), id);
      EXPECT_EQ(field.type(), type);
    }
  }
  EXPECT_EQ(Field::kMaxId, 536870911u);
}

TEST(FieldTest, TakesTheNumberOfAWireType) {
  Field field;
  field.initialize(3, /*type=*/0, 150, 0);
  EXPECT_EQ(field.id(), 3u);
  EXPECT_EQ(field.type(), ProtoWireType::kVarInt);
  EXPECT_EQ(field.as_int32(), 150);
  const uint8_t type = 5;
  field.initialize(4, type, 7, 0);
  EXPECT_EQ(field.id(), 4u);
  EXPECT_EQ(field.type(), ProtoWireType::kFixed32);
}

TEST(FieldTest, GivesIntegersOfEveryType) {
  const Field small = VarInt(5);
  EXPECT_TRUE(small.as_bool());
  EXPECT_EQ(small.as_uint32(), 5u);
  EXPECT_EQ(small.as_int32(), 5);
  EXPECT_EQ(small.as_sint32(), -3);
  EXPECT_EQ(small.as_uint64(), 5u);
  EXPECT_EQ(small.as_int64(), 5);
  EXPECT_EQ(small.as_sint64(), -3);

  const Field large = VarInt(~uint64_t{0});
  EXPECT_TRUE(large.as_bool());
  EXPECT_EQ(large.as_uint32(), 0xffffffffu);
  EXPECT_EQ(large.as_int32(), -1);
  EXPECT_EQ(large.as_sint32(), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(large.as_uint64(), ~uint64_t{0});
  EXPECT_EQ(large.as_int64(), -1);
  EXPECT_EQ(large.as_sint64(), std::numeric_limits<int64_t>::min());

  EXPECT_FALSE(VarInt(0).as_bool());
  // A value beyond 32 bits is still true.
  EXPECT_TRUE(VarInt(uint64_t{1} << 40).as_bool());
  EXPECT_EQ(VarInt(uint64_t{1} << 40).as_uint32(), 0u);
}

TEST(FieldTest, GivesFixedIntegers) {
  const Field field = Number(1, ProtoWireType::kFixed64, ~uint64_t{1});
  EXPECT_EQ(field.as_uint64(), ~uint64_t{1});
  EXPECT_EQ(field.as_int64(), -2);
  EXPECT_EQ(Number(1, ProtoWireType::kFixed32, 0xfffffffe).as_int32(), -2);
}

TEST(FieldTest, GivesFloatingPointNumbersOfTheirOwnWireTypeOnly) {
  const uint32_t float_bits = internal::BitsOf(1.5f);
  const uint64_t double_bits = internal::BitsOf(-2.5);
  EXPECT_EQ(Number(1, ProtoWireType::kFixed32, float_bits).as_float(), 1.5f);
  EXPECT_EQ(Number(1, ProtoWireType::kFixed64, double_bits).as_double(), -2.5);

  EXPECT_EQ(VarInt(float_bits).as_float(), 0.0f);
  EXPECT_EQ(VarInt(double_bits).as_double(), 0.0);
  EXPECT_EQ(Number(1, ProtoWireType::kFixed64, float_bits).as_float(), 0.0f);
  EXPECT_EQ(Number(1, ProtoWireType::kFixed32, float_bits).as_double(), 0.0);
}

TEST(FieldTest, GivesBytes) {
  const std::string bytes("a\0b", 3);
  for (const ProtoWireType type :
       {ProtoWireType::kLengthDelimited, ProtoWireType::kStartGroup}) {
    const Field field = Bytes(7, type, bytes);
    EXPECT_EQ(field.type(), type);
    EXPECT_EQ(field.data(), reinterpret_cast<const uint8_t*>(bytes.data()));
    EXPECT_EQ(field.size(), 3u);
    EXPECT_EQ(field.as_bytes().data, field.data());
    EXPECT_EQ(field.as_bytes().size, 3u);
    EXPECT_EQ(field.as_string().data, bytes.data());
    EXPECT_EQ(field.as_string().size, 3u);
    EXPECT_EQ(field.as_std_string(), bytes);
  }
}

// The address of bytes must not appear as a number, or a number as an address.
TEST(FieldTest, GivesNothingOfTheWrongKind) {
  const std::string bytes = "bytes";
  ExpectNoNumber(Bytes(1, ProtoWireType::kLengthDelimited, bytes));
  ExpectNoNumber(Bytes(1, ProtoWireType::kStartGroup, bytes));
  ExpectNoBytes(VarInt(1234));
  ExpectNoBytes(Number(1, ProtoWireType::kFixed32, 1234));
  ExpectNoBytes(Number(1, ProtoWireType::kFixed64, 1234));
}

TEST(FieldTest, GivesTheRawValue) {
  const std::string bytes = "bytes";
  const Field field = Bytes(1, ProtoWireType::kLengthDelimited, bytes);
  EXPECT_EQ(field.raw_int_value(), reinterpret_cast<uintptr_t>(bytes.data()));
  EXPECT_EQ(field.raw_size(), 5u);
  EXPECT_EQ(VarInt(17).raw_int_value(), 17u);
  EXPECT_EQ(VarInt(17).raw_size(), 0u);
}

TEST(FieldTest, GetsWhatTheArgumentAsksFor) {
  enum Plain : int32_t { MINUS = -1 };
  enum class Scoped : uint8_t { kFive = 5 };
  const Field field = VarInt(5);
  EXPECT_EQ(Get<bool>(field), true);
  EXPECT_EQ(Get<uint32_t>(field), 5u);
  EXPECT_EQ(Get<int32_t>(field), 5);
  EXPECT_EQ(Get<uint64_t>(field), 5u);
  EXPECT_EQ(Get<int64_t>(field), 5);
  EXPECT_EQ(Get<Scoped>(field), Scoped::kFive);
  EXPECT_EQ(Get<Plain>(VarInt(~uint64_t{0})), MINUS);
  EXPECT_EQ(Get<Field>(field).as_int32(), 5);
  EXPECT_EQ(GetSigned<int32_t>(field), -3);
  EXPECT_EQ(GetSigned<int64_t>(field), -3);
  EXPECT_EQ(
      Get<float>(Number(1, ProtoWireType::kFixed32, internal::BitsOf(1.5f))),
      1.5f);
  EXPECT_EQ(
      Get<double>(Number(1, ProtoWireType::kFixed64, internal::BitsOf(1.5))),
      1.5);

  const std::string bytes = "bytes";
  const Field string = Bytes(1, ProtoWireType::kLengthDelimited, bytes);
  EXPECT_EQ(Get<std::string>(string), bytes);
  EXPECT_EQ(Get<std::string_view>(string).data(), bytes.data());
  EXPECT_EQ(Get<ConstChars>(string).data, bytes.data());
  EXPECT_EQ(Get<ConstBytes>(string).size, 5u);
}

std::string Serialized(const Field& field) {
  std::string string = "xy";
  field.SerializeAndAppendTo(&string);
  std::vector<uint8_t> vector{'x', 'y'};
  field.SerializeAndAppendTo(&vector);
  EXPECT_EQ(test::Hex(vector), test::Hex(string));
  EXPECT_EQ(string.substr(0, 2), "xy");
  return test::Hex(string.substr(2));
}

TEST(FieldTest, SerializesAsOnTheWire) {
  EXPECT_EQ(Serialized(VarInt(150)), "08 96 01");
  EXPECT_EQ(Serialized(VarInt(0)), "08 00");
  EXPECT_EQ(Serialized(VarInt(~uint64_t{0})),
            "08 ff ff ff ff ff ff ff ff ff 01");
  EXPECT_EQ(Serialized(Number(536870911, ProtoWireType::kFixed32, 0x04030201)),
            "fd ff ff ff 0f 01 02 03 04");
  EXPECT_EQ(Serialized(Number(16, ProtoWireType::kFixed64, 0x0807060504030201)),
            "81 01 01 02 03 04 05 06 07 08");
  EXPECT_EQ(Serialized(Bytes(2, ProtoWireType::kLengthDelimited, "abc")),
            "12 03 61 62 63");
  EXPECT_EQ(Serialized(Bytes(2, ProtoWireType::kLengthDelimited, "")), "12 00");
  EXPECT_EQ(Serialized(Bytes(2, ProtoWireType::kStartGroup, "\b\1")),
            "13 08 01 14");
  EXPECT_EQ(Serialized(Bytes(536870911, ProtoWireType::kStartGroup, "")),
            "fb ff ff ff 0f fc ff ff ff 0f");
  EXPECT_EQ(Serialized(Field{}), "");
}

TEST(FieldTest, SerializesLongPayloads) {
  const std::string payload(300, 'p');
  std::string bytes;
  Bytes(1, ProtoWireType::kLengthDelimited, payload)
      .SerializeAndAppendTo(&bytes);
  EXPECT_EQ(test::Hex(bytes.substr(0, 3)), "0a ac 02");
  EXPECT_EQ(bytes.substr(3), payload);
}

}  // namespace
}  // namespace protozero
