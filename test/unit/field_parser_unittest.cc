// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The fields that decoders read by inline code. Decoding does not show it,
// because the function for all other fields reads these as well, but slowly.

#include "src/protozero/field_parser.h"

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test/testing/hex.h"
#include "test/testing/without_bit_deposit.h"

namespace protozero::internal {
namespace {

using proto_utils::ProtoWireType;
using test::Hex;

std::string VarInt(uint64_t value) {
  uint8_t bytes[proto_utils::kMaxVarIntEncodedSize];
  uint8_t* const end = proto_utils::WriteVarInt(value, bytes);
  return std::string(bytes, end);
}

std::string Tag(uint32_t id, ProtoWireType type) {
  return VarInt(proto_utils::MakeTag(id, type));
}

// Reads the field at the beginning of some bytes, which are in memory of
// exactly their size, so that AddressSanitizer notices a read beyond them.
struct Parsed {
  explicit Parsed(const std::string& bytes) : copy(bytes.begin(), bytes.end()) {
    const uint8_t* const begin = copy.data();
    const uint8_t* const end =
        ParseCommonField(begin, begin + copy.size(), &field);
    if (end != nullptr)
      size = static_cast<size_t>(end - begin);
  }

  std::vector<uint8_t> copy;
  Field field{};
  size_t size = 0;  // The field's; 0 if inline code cannot read it.
};

// The ids with tags of one and two bytes.
constexpr uint32_t kIds[] = {1, 15, 16, 2047};

// Expects a number to be read, whatever follows it.
void ExpectNumber(uint32_t id,
                  ProtoWireType type,
                  const std::string& encoded,
                  uint64_t value) {
  for (const char byte : {'\0', '\x7f', '\xff'}) {
    for (size_t following = 0; following < 12; ++following) {
      const std::string bytes = Tag(id, type) + encoded;
      SCOPED_TRACE(Hex(bytes) + " and " + std::to_string(following));
      const Parsed parsed(bytes + std::string(following, byte));
      EXPECT_EQ(parsed.size, bytes.size());
      EXPECT_EQ(parsed.field.id(), id);
      EXPECT_EQ(parsed.field.type(), type);
      EXPECT_EQ(parsed.field.raw_int_value(), value);
      EXPECT_EQ(parsed.field.raw_size(), 0u);
    }
  }
}

void ExpectVarIntsOfEveryLength() {
  for (const uint32_t id : kIds) {
    for (size_t size = 1; size <= 10; ++size) {
      const uint64_t min = size == 1 ? 0 : uint64_t{1} << (7 * (size - 1));
      const uint64_t max =
          size == 10 ? ~uint64_t{0} : (uint64_t{1} << (7 * size)) - 1;
      for (const uint64_t value : {min, min + 1, max & 0xa5c3b4d2e1f07869,
                                   max / 2 + 1, max - 1, max}) {
        if (value >= min)
          ExpectNumber(id, ProtoWireType::kVarInt, VarInt(value), value);
      }
    }
  }
}

TEST(FieldParserTest, VarIntsOfEveryLength) {
  ExpectVarIntsOfEveryLength();
  const test::WithoutBitDeposit without;
  ExpectVarIntsOfEveryLength();
}

TEST(FieldParserTest, FixedNumbers) {
  for (const uint32_t id : kIds) {
    ExpectNumber(id, ProtoWireType::kFixed32, "\x01\x02\x83\xf4", 0xf4830201);
    ExpectNumber(id, ProtoWireType::kFixed64,
                 "\x01\x02\x83\xf4\x05\x06\x07\x88", 0x88070605f4830201);
  }
}

TEST(FieldParserTest, BytesWithSizesOfOneAndTwoBytes) {
  for (const uint32_t id : kIds) {
    for (const size_t size : {0u, 1u, 2u, 127u, 128u, 129u, 16383u}) {
      const std::string header =
          Tag(id, ProtoWireType::kLengthDelimited) + VarInt(size);
      for (size_t following = 0; following < 3; ++following) {
        SCOPED_TRACE(Hex(header) + " and " + std::to_string(following));
        const Parsed parsed(header + std::string(size + following, 'x'));
        EXPECT_EQ(parsed.size, header.size() + size);
        EXPECT_EQ(parsed.field.id(), id);
        EXPECT_EQ(parsed.field.type(), ProtoWireType::kLengthDelimited);
        EXPECT_EQ(parsed.field.data(), parsed.copy.data() + header.size());
        EXPECT_EQ(parsed.field.size(), size);
      }
      if (size > 0) {
        EXPECT_EQ(Parsed(header + std::string(size - 1, 'x')).size, 0u);
      }
    }
  }
}

TEST(FieldParserTest, AllElseIsLeftToTheOtherFunction) {
  for (const char* hex : {
           "08",                 // The value is missing.
           "08 80",              // It is cut off.
           "80 01",              //
           "80 80 01 01",        // The tag is long.
           "08 80 80 80",        //
           "08 80 80 80 80 80",  //
           "08 80 80 80 80 80 80 80 80 80",
           "08 80 80 80 80 80 80 80 80 80 80 01",  // It is too long.
           "00 01",                                // The id is 0.
           "80 00 01",                             //
           "0a 80",                                // The size is cut off.
           "0a 80 80 01",                          // The size is long.
           "09 01 02 03 04 05 06 07",              // The number is cut off.
           "0d 01 02 03",                          //
           "0b 0c",                                // A group
           "0c 01",                                // Its end
           "0e 01",                                // No wire type
           "0f 01",                                //
       }) {
    EXPECT_EQ(Parsed(test::FromHex(hex)).size, 0u) << hex;
  }
}

}  // namespace
}  // namespace protozero::internal
