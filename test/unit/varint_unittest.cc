// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/internal/varint.h"

#include <string.h>

#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "test/testing/hex.h"

namespace protozero {
namespace {

using proto_utils::ExtendValueForVarIntSerialization;
using proto_utils::ParseVarInt;
using proto_utils::ParseVarIntFast;
using proto_utils::ParseVarIntUnrolled;
using proto_utils::VarIntSize;
using proto_utils::WriteRedundantVarInt;
using proto_utils::WriteVarInt;
using proto_utils::ZigZagDecode;
using proto_utils::ZigZagEncode;
using test::FromHex;
using test::Hex;

constexpr uint8_t kUntouched = 0xee;

// Returns values on both sides of every power of two, and the extremes.
std::vector<uint64_t> BoundaryValues() {
  std::vector<uint64_t> values{0, std::numeric_limits<uint64_t>::max()};
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    for (uint64_t value : {power - 1, power, power + 1}) {
      values.push_back(value);
      values.push_back(~value);
    }
  }
  return values;
}

// Encodes by the definition, in the simplest way.
std::string ReferenceVarInt(uint64_t value) {
  std::string bytes;
  for (; value > 127; value /= 128)
    bytes += static_cast<char>(value % 128 + 128);
  return bytes + static_cast<char>(value);
}

template <typename T>
std::string WrittenHex(T value) {
  uint8_t buffer[10];
  return Hex(buffer, static_cast<size_t>(WriteVarInt(value, buffer) - buffer));
}

TEST(VarIntTest, KnownBytes) {
  EXPECT_EQ(WrittenHex(0u), "00");
  EXPECT_EQ(WrittenHex(1u), "01");
  EXPECT_EQ(WrittenHex(127u), "7f");
  EXPECT_EQ(WrittenHex(128u), "80 01");
  EXPECT_EQ(WrittenHex(300u), "ac 02");
  EXPECT_EQ(WrittenHex(16383u), "ff 7f");
  EXPECT_EQ(WrittenHex(16384u), "80 80 01");
  EXPECT_EQ(WrittenHex(std::numeric_limits<uint32_t>::max()), "ff ff ff ff 0f");
  EXPECT_EQ(WrittenHex(std::numeric_limits<uint64_t>::max()),
            "ff ff ff ff ff ff ff ff ff 01");
}

TEST(VarIntTest, NegativeNumbersOfEveryWidthTakeTenBytes) {
  constexpr char kMinusOne[] = "ff ff ff ff ff ff ff ff ff 01";
  EXPECT_EQ(WrittenHex(int8_t{-1}), kMinusOne);
  EXPECT_EQ(WrittenHex(int16_t{-1}), kMinusOne);
  EXPECT_EQ(WrittenHex(int32_t{-1}), kMinusOne);
  EXPECT_EQ(WrittenHex(int64_t{-1}), kMinusOne);
  EXPECT_EQ(WrittenHex(std::numeric_limits<int32_t>::min()),
            "80 80 80 80 f8 ff ff ff ff 01");
  EXPECT_EQ(WrittenHex(std::numeric_limits<int32_t>::max()), "ff ff ff ff 07");
  EXPECT_EQ(WrittenHex(std::numeric_limits<int64_t>::min()),
            "80 80 80 80 80 80 80 80 80 01");
  EXPECT_EQ(WrittenHex(std::numeric_limits<int64_t>::max()),
            "ff ff ff ff ff ff ff ff 7f");
}

TEST(VarIntTest, EnumsAreWrittenAsTheirUnderlyingType) {
  enum Plain : int32_t { kPlain = -2 };
  enum class Wide : int64_t { kMin = std::numeric_limits<int64_t>::min() };
  enum class Narrow : uint8_t { kMax = 255 };
  EXPECT_EQ(WrittenHex(kPlain), "fe ff ff ff ff ff ff ff ff 01");
  EXPECT_EQ(WrittenHex(Wide::kMin), "80 80 80 80 80 80 80 80 80 01");
  EXPECT_EQ(WrittenHex(Narrow::kMax), "ff 01");
  static_assert(ExtendValueForVarIntSerialization(kPlain) ==
                0xfffffffffffffffe);
}

TEST(VarIntTest, BoolsAreZeroAndOne) {
  EXPECT_EQ(WrittenHex(false), "00");
  EXPECT_EQ(WrittenHex(true), "01");
}

TEST(VarIntTest, WritesTheReferenceAtEveryBoundaryAndNothingBeyond) {
  for (uint64_t value : BoundaryValues()) {
    const std::string expected = ReferenceVarInt(value);
    EXPECT_EQ(VarIntSize(value), expected.size()) << value;
    std::string buffer(12, static_cast<char>(kUntouched));
    uint8_t* begin = reinterpret_cast<uint8_t*>(buffer.data());
    EXPECT_EQ(WriteVarInt(value, begin), begin + expected.size()) << value;
    EXPECT_EQ(Hex(buffer),
              Hex(expected + std::string(12 - expected.size(),
                                         static_cast<char>(kUntouched))))
        << value;
  }
}

// Expects that |write| may overwrite ten bytes for any length, but no more.
template <typename Write>
void ExpectWritesWithinTenBytes(uint64_t value, const Write& write) {
  const std::string expected = ReferenceVarInt(value);
  std::string buffer(12, static_cast<char>(kUntouched));
  uint8_t* begin = reinterpret_cast<uint8_t*>(buffer.data());
  ASSERT_EQ(write(value, begin), begin + expected.size()) << value;
  EXPECT_EQ(Hex(buffer.substr(0, expected.size())), Hex(expected)) << value;
  EXPECT_EQ(Hex(buffer.substr(10)), "ee ee") << value;
}

TEST(VarIntTest, UnsafeVariantsWriteTheSameWithinTenBytes) {
  for (uint64_t value : BoundaryValues()) {
    ExpectWritesWithinTenBytes(value, [](uint64_t v, uint8_t* dst) {
      return proto_utils::internal::WriteVarIntUnsafe(v, dst);
    });
    // With this type, the compiler has less to encode.
    if (value <= 0xffffffffu) {
      ExpectWritesWithinTenBytes(value, [](uint64_t v, uint8_t* dst) {
        return proto_utils::internal::WriteVarIntUnsafe(
            static_cast<uint32_t>(v), dst);
      });
    }
  }
}

// Returns false if the processor lacks the instructions, which must not run
// then.
bool CanRunInlineCode() {
  return ::protozero::internal::kInlineEncodingMask != 0;
}

TEST(VarIntTest, TheInlineVariantWritesTheSameWithinEightBytes) {
  if (!CanRunInlineCode())
    GTEST_SKIP() << "not on this processor";
  std::vector<uint64_t> values = BoundaryValues();
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i)
    values.push_back(random() >> random() % 64);
  for (uint64_t value : values) {
    value &= (uint64_t{1} << 56) - 1;
    uint8_t expected[10];
    uint8_t* const end = WriteVarInt(value, expected);
    uint8_t buffer[9];
    buffer[8] = kUntouched;
    ASSERT_EQ(proto_utils::internal::WriteVarInt56Inline<0>(value, buffer),
              buffer + (end - expected))
        << value;
    ASSERT_EQ(memcmp(buffer, expected, static_cast<size_t>(end - expected)), 0)
        << value;
    ASSERT_EQ(buffer[8], kUntouched) << value;
  }
}

// The encoder may choose which values take the slow path, but it must choose
// all values that the fast path has no room for.
TEST(VarIntTest, NoLongValueIsTakenForAShortOne) {
  using namespace proto_utils::internal;
  std::vector<uint64_t> values = BoundaryValues();
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i)
    values.push_back(random() >> random() % 64);
  for (uint64_t value : values) {
    const bool may_be_long =
        MayBeLongVarInt<uint64_t>(value, LoadVarIntMasks());
    if (value >> 56 != 0) {
      ASSERT_TRUE(may_be_long) << value;
    }
    if (value >> 55 == 0) {
      ASSERT_FALSE(may_be_long) << value;
    }
  }
}

TEST(VarIntTest, TheInlineVariantForAllValuesWritesTheSameWithinTenBytes) {
  if (!CanRunInlineCode())
    GTEST_SKIP() << "not on this processor";
  const auto expect = [](uint64_t value) {
    ExpectWritesWithinTenBytes(value, [](uint64_t v, uint8_t* dst) {
      return proto_utils::internal::WriteVarIntInline(v, dst);
    });
  };
  for (uint64_t value : BoundaryValues())
    expect(value);
  // Values around the limit between the two paths.
  for (uint64_t i = 0; i < 100; ++i)
    expect(0x0080808080808080 - 50 + i);
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i)
    expect(random() >> random() % 16);
}

TEST(VarIntTest, RedundantVarIntsHaveTheSizeAskedFor) {
  const struct {
    uint32_t value;
    size_t size;
    const char* hex;
  } kCases[] = {
      {0, 1, "00"},
      {127, 1, "7f"},
      {0, 4, "80 80 80 00"},
      {1, 4, "81 80 80 00"},
      {127, 4, "ff 80 80 00"},
      {128, 4, "80 81 80 00"},
      {16384, 4, "80 80 81 00"},
      {2097152, 4, "80 80 80 01"},
      {268435455, 4, "ff ff ff 7f"},
      {300, 2, "ac 02"},
      {300, 3, "ac 82 00"},
      {std::numeric_limits<uint32_t>::max(), 5, "ff ff ff ff 0f"},
  };
  for (const auto& c : kCases) {
    uint8_t buffer[6] = {kUntouched, kUntouched, kUntouched,
                         kUntouched, kUntouched, kUntouched};
    WriteRedundantVarInt(c.value, buffer, c.size);
    EXPECT_EQ(Hex(buffer, c.size), c.hex);
    EXPECT_EQ(buffer[c.size], kUntouched);
    uint64_t parsed;
    EXPECT_EQ(ParseVarInt(buffer, buffer + c.size, &parsed), buffer + c.size);
    EXPECT_EQ(parsed, c.value);
  }
  uint8_t buffer[4];
  WriteRedundantVarInt(150, buffer);
  EXPECT_EQ(Hex(buffer, 4), "96 81 80 00");
}

TEST(ZigZagTest, SmallMagnitudesHaveSmallCodes) {
  static_assert(ZigZagEncode(int32_t{0}) == 0u);
  static_assert(ZigZagEncode(int32_t{-1}) == 1u);
  static_assert(ZigZagEncode(int32_t{1}) == 2u);
  static_assert(ZigZagEncode(int32_t{-2}) == 3u);
  static_assert(ZigZagEncode(int64_t{2}) == 4u);
  static_assert(ZigZagDecode(3u) == -2);
}

template <typename T>
void ExpectZigZagOfEveryMagnitude() {
  using Limits = std::numeric_limits<T>;
  using UnsignedLimits = std::numeric_limits<std::make_unsigned_t<T>>;
  EXPECT_EQ(ZigZagEncode(Limits::min()), UnsignedLimits::max());
  EXPECT_EQ(ZigZagEncode(Limits::max()), UnsignedLimits::max() - 1);
  for (uint64_t bits : BoundaryValues()) {
    const auto value = static_cast<T>(bits);
    EXPECT_EQ(ZigZagDecode(ZigZagEncode(value)), value);
  }
}

TEST(ZigZagTest, EveryWidthDecodesWhatItEncodes) {
  ExpectZigZagOfEveryMagnitude<int8_t>();
  ExpectZigZagOfEveryMagnitude<int16_t>();
  ExpectZigZagOfEveryMagnitude<int32_t>();
  ExpectZigZagOfEveryMagnitude<int64_t>();
}

using ParseFunction = const uint8_t* (*)(const uint8_t*,
                                         const uint8_t*,
                                         uint64_t*);

// The contract that all parsers have in common.
class ParseVarIntTest : public testing::TestWithParam<ParseFunction> {
 protected:
  // Parses |bytes| from memory of exactly their size, so that AddressSanitizer
  // notices a read beyond them. Returns the number of consumed bytes.
  size_t Parse(std::string_view bytes) {
    const std::vector<uint8_t> copy(bytes.begin(), bytes.end());
    const uint8_t* end =
        GetParam()(copy.data(), copy.data() + copy.size(), &value_);
    return static_cast<size_t>(end - copy.data());
  }

  uint64_t value_ = 0;
};

TEST_P(ParseVarIntTest, ReadsEveryBoundaryValueBack) {
  for (uint64_t value : BoundaryValues()) {
    const std::string bytes = ReferenceVarInt(value);
    EXPECT_EQ(Parse(bytes), bytes.size());
    EXPECT_EQ(value_, value);
    // Bytes of either kind follow, as many as the unrolled parser reads.
    EXPECT_EQ(Parse(bytes + std::string(12, '\0')), bytes.size());
    EXPECT_EQ(value_, value);
    EXPECT_EQ(Parse(bytes + std::string(12, '\xff')), bytes.size());
    EXPECT_EQ(value_, value);
  }
}

TEST_P(ParseVarIntTest, RejectsEveryTruncatedPrefix) {
  for (uint64_t value : BoundaryValues()) {
    const std::string bytes = ReferenceVarInt(value);
    for (size_t size = 0; size < bytes.size(); ++size) {
      value_ = 42;
      EXPECT_EQ(Parse(bytes.substr(0, size)), 0u);
      EXPECT_EQ(value_, 0u);
    }
  }
}

TEST_P(ParseVarIntTest, RejectsMoreThanTenBytes) {
  for (size_t continuations = 10; continuations < 30; ++continuations) {
    value_ = 42;
    EXPECT_EQ(Parse(std::string(continuations, '\x80') + '\x01'), 0u);
    EXPECT_EQ(value_, 0u);
  }
}

TEST_P(ParseVarIntTest, AcceptsRedundantVarIntsUpToTenBytes) {
  for (size_t size = 2; size <= 10; ++size) {
    const std::string bytes =
        '\x85' + std::string(size - 2, '\x80') + std::string(1, '\0');
    EXPECT_EQ(Parse(bytes), size);
    EXPECT_EQ(value_, 5u);
  }
}

TEST_P(ParseVarIntTest, DropsBitsBeyondThe64th) {
  EXPECT_EQ(Parse(FromHex("80 80 80 80 80 80 80 80 80 7f")), 10u);
  EXPECT_EQ(value_, uint64_t{1} << 63);
  EXPECT_EQ(Parse(FromHex("81 80 80 80 80 80 80 80 80 02")), 10u);
  EXPECT_EQ(value_, 1u);
}

TEST_P(ParseVarIntTest, RejectsAnEmptyRange) {
  const uint8_t byte = 1;
  EXPECT_EQ(GetParam()(&byte, &byte, &value_), &byte);
  EXPECT_EQ(GetParam()(nullptr, nullptr, &value_), nullptr);
}

// A function, because gcc refuses a pointer to an always-inline function.
const uint8_t* CallParseVarIntFast(const uint8_t* start,
                                   const uint8_t* end,
                                   uint64_t* value) {
  return ParseVarIntFast(start, end, value);
}

INSTANTIATE_TEST_SUITE_P(AllParsers,
                         ParseVarIntTest,
                         testing::Values(ParseVarInt,
                                         ParseVarIntUnrolled,
                                         CallParseVarIntFast));

}  // namespace
}  // namespace protozero
