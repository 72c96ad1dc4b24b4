// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/packed_repeated_fields.h"

#include <limits>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "test/testing/hex.h"

namespace protozero {
namespace {

using test::Hex;

std::string HexOf(const PackedBufferBase& packed) {
  return Hex(packed.data(), packed.size());
}

static_assert(!std::is_copy_constructible<PackedVarInt>::value);
static_assert(!std::is_move_constructible<PackedVarInt>::value);

TEST(PackedVarIntTest, IsEmptyAtFirst) {
  const PackedVarInt packed;
  EXPECT_EQ(packed.size(), 0u);
  EXPECT_NE(packed.data(), nullptr);
  EXPECT_TRUE(packed.ok());
}

TEST(PackedVarIntTest, ConcatenatesVarInts) {
  enum class Color : int32_t { kInfrared = -1 };
  PackedVarInt packed;
  packed.Append(0u);
  packed.Append(true);
  packed.Append(127u);
  packed.Append(128u);
  packed.Append(std::numeric_limits<uint64_t>::max());
  packed.Append(int32_t{-2});
  packed.Append(Color::kInfrared);
  EXPECT_EQ(HexOf(packed),
            "00 01 7f 80 01 ff ff ff ff ff ff ff ff ff 01 "
            "fe ff ff ff ff ff ff ff ff 01 ff ff ff ff ff ff ff ff ff 01");
}

TEST(PackedSignedVarIntTest, ConcatenatesZigZagVarInts) {
  PackedSignedVarInt packed;
  packed.Append(int32_t{0});
  packed.Append(int32_t{-1});
  packed.Append(int64_t{1});
  packed.Append(int64_t{-65});
  packed.Append(std::numeric_limits<int32_t>::min());
  packed.Append(std::numeric_limits<int32_t>::max());
  packed.Append(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(HexOf(packed),
            "00 01 02 81 01 ff ff ff ff 0f fe ff ff ff 0f "
            "ff ff ff ff ff ff ff ff ff 01");
}

template <typename T>
std::string FixedHex(std::initializer_list<T> values) {
  PackedFixedSizeInt<T> packed;
  for (const T value : values)
    packed.Append(value);
  return HexOf(packed);
}

TEST(PackedFixedSizeIntTest, ConcatenatesLittleEndianNumbers) {
  EXPECT_EQ(FixedHex<uint32_t>({1, 0xfedcba98}), "01 00 00 00 98 ba dc fe");
  EXPECT_EQ(FixedHex<int32_t>({-2}), "fe ff ff ff");
  EXPECT_EQ(FixedHex<uint64_t>({0x0123456789abcdef}),
            "ef cd ab 89 67 45 23 01");
  EXPECT_EQ(FixedHex<int64_t>({std::numeric_limits<int64_t>::min()}),
            "00 00 00 00 00 00 00 80");
  EXPECT_EQ(FixedHex<float>({1.0f, -0.0f}), "00 00 80 3f 00 00 00 80");
  EXPECT_EQ(FixedHex<double>({std::numeric_limits<double>::infinity()}),
            "00 00 00 00 00 00 f0 7f");
}

// Appends |count| elements and expects all of them in order. |append| takes the
// buffer and the index of the element, |hex| gives the element's bytes.
template <typename Packed, typename Append, typename ElementHex>
void ExpectElements(Packed& packed,
                    size_t count,
                    const Append& append,
                    const ElementHex& element_hex) {
  std::string expected;
  for (size_t i = 0; i < count; ++i) {
    append(packed, i);
    if (!expected.empty())
      expected += ' ';
    expected += element_hex(i);
  }
  EXPECT_TRUE(packed.ok());
  // No EXPECT_EQ: the report would be larger than a terminal.
  EXPECT_TRUE(HexOf(packed) == expected) << count << " elements";
}

void ExpectVarInts(PackedVarInt& packed, size_t count) {
  ExpectElements(
      packed, count,
      [](PackedVarInt& p, size_t i) {
        p.Append(static_cast<uint32_t>(i % 300));
      },
      [](size_t i) {
        uint8_t buffer[10];
        uint8_t* end = proto_utils::WriteVarInt(i % 300, buffer);
        return Hex(buffer, static_cast<size_t>(end - buffer));
      });
}

TEST(PackedBufferBaseTest, MovesToTheHeapWithAllItsElements) {
  // Around the end of the object's own storage, whatever it holds back.
  const size_t storage = PackedBufferBase::kOnStackStorageSize;
  for (size_t count :
       {storage / 2, storage - 11, storage - 10, storage - 9, storage - 1,
        storage, storage + 1, 2 * storage, 9 * storage}) {
    PackedVarInt packed;
    ExpectVarInts(packed, count);
  }
}

TEST(PackedBufferBaseTest, FixedNumbersFillTheLastByte) {
  const size_t count = PackedBufferBase::kOnStackStorageSize / 8;
  for (size_t extra : {0u, 1u, 2u}) {
    PackedFixedSizeInt<uint64_t> packed;
    ExpectElements(
        packed, count + extra,
        [](PackedFixedSizeInt<uint64_t>& p, size_t i) { p.Append(i); },
        [](size_t i) { return FixedHex<uint64_t>({i}); });
  }
}

TEST(PackedBufferBaseTest, ResetEmptiesItOnTheStackAndOnTheHeap) {
  PackedVarInt packed;
  for (size_t count : {3u, 100000u, 5u, 100000u}) {
    ExpectVarInts(packed, count);
    packed.Reset();
    EXPECT_EQ(packed.size(), 0u);
  }
}

}  // namespace
}  // namespace protozero
