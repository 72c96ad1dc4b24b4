// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/packed_repeated_fields.h"

#include <limits>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/root_message.h"
#include "protozero/static_buffer.h"
#include "test/testing/delegates.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"
#include "test/testing/message_tree.h"
#include "test/testing/without_bit_deposit.h"

namespace protozero {
namespace {

using test::BytesField;
using test::ExpectWrites;
using test::ExpectWritesHex;
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

// Makes a T in |storage| by value-initialization. For a class without a
// constructor of its own, that clears all 8 KB.
template <typename T>
void MakeIn(void* storage) {
  new (storage) T();
}

template <typename T>
size_t CountBytesTouchedByMaking() {
  alignas(T) static uint8_t storage[sizeof(T)];
  memset(storage, 0xa5, sizeof(storage));
  // Calls through a volatile pointer. Otherwise the compiler might conclude
  // that the earlier content cannot be read.
  void (*volatile make)(void*) = &MakeIn<T>;
  make(storage);
  size_t touched = 0;
  for (const uint8_t byte : storage)
    touched += byte != 0xa5;
  reinterpret_cast<T*>(storage)->~T();
  return touched;
}

TEST(PackedBufferBaseTest, MakingOneDoesNotTouchItsStorage) {
  constexpr size_t kHeader =
      sizeof(PackedVarInt) - PackedBufferBase::kOnStackStorageSize;
  static_assert(kHeader <= 64);
  EXPECT_LE(CountBytesTouchedByMaking<PackedVarInt>(), kHeader);
  EXPECT_LE(CountBytesTouchedByMaking<PackedSignedVarInt>(), kHeader);
  EXPECT_LE(CountBytesTouchedByMaking<PackedFixedSizeInt<double>>(), kHeader);
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
  // Not EXPECT_EQ, because its report would be larger than a terminal.
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
  // Counts around the end of the object's own storage, minus the bytes that it
  // keeps free.
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

TEST(PackedBufferBaseTest, TheHeapIsOnlyForMoreThanTheObjectHolds) {
  constexpr size_t kCount = PackedBufferBase::kOnStackStorageSize / 8;
  const std::vector<uint64_t> values(kCount);
  for (const bool is_array : {false, true}) {
    PackedFixedSizeInt<uint64_t> packed;
    const uint8_t* const in_object = packed.data();
    if (is_array) {
      packed.Append(values.data(), kCount);
    } else {
      for (const uint64_t value : values)
        packed.Append(value);
    }
    EXPECT_EQ(packed.size(), PackedBufferBase::kOnStackStorageSize);
    EXPECT_EQ(packed.data(), in_object);
    packed.Append(0);
    EXPECT_EQ(packed.size(), PackedBufferBase::kOnStackStorageSize + 8);
    EXPECT_NE(packed.data(), in_object);
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

// Each test tries three ways to write elements: one by one, as an array, and as
// a whole field, whose bytes follow its tag and its size.

template <typename Packed, typename T>
void ExpectPacks(const std::vector<T>& values, const std::string& hex) {
  Packed one_by_one;
  for (const T value : values)
    one_by_one.Append(value);
  EXPECT_EQ(HexOf(one_by_one), hex);
  Packed array;
  array.Append(values.data(), values.size());
  EXPECT_EQ(HexOf(array), hex);
  {
    const test::WithoutBitDeposit without;
    Packed portable;
    for (const T value : values)
      portable.Append(value);
    portable.Append(values.data(), values.size());
    EXPECT_EQ(HexOf(portable), values.empty() ? "" : hex + " " + hex);
  }
  ExpectWrites({BytesField(1, test::FromHex(hex))}, [&values](Message* m) {
    Packed::AppendField(m, 1, values.data(), values.size());
  });
}

TEST(PackedArrayTest, VarIntsOfEveryLength) {
  const std::string hex =
      "00 7f 80 01 ff 7f 80 80 01 ff ff 7f 80 80 80 01 ff ff ff 7f "
      "80 80 80 80 01 ff ff ff ff 7f 80 80 80 80 80 01 ff ff ff ff ff 7f "
      "80 80 80 80 80 80 01 ff ff ff ff ff ff 7f 80 80 80 80 80 80 80 01 "
      "ff ff ff ff ff ff ff 7f 80 80 80 80 80 80 80 80 01 "
      "ff ff ff ff ff ff ff ff 7f 80 80 80 80 80 80 80 80 80 01 "
      "ff ff ff ff ff ff ff ff ff 01";
  std::vector<uint64_t> values;
  for (int bits = 0; bits < 64; bits += 7) {
    values.push_back(bits > 0 ? uint64_t{1} << bits : 0);
    values.push_back(~uint64_t{0} >> (bits < 63 ? 57 - bits : 0));
  }
  ExpectPacks<PackedVarInt>(values, hex);
  // These values are the same bits with a sign.
  ExpectPacks<PackedVarInt>(std::vector<int64_t>(values.begin(), values.end()),
                            hex);
  // The zigzag encoding of these values has the same integers.
  std::vector<int64_t> decoded;
  for (const uint64_t value : values)
    decoded.push_back(proto_utils::ZigZagDecode(value));
  ExpectPacks<PackedSignedVarInt>(decoded, hex);
}

TEST(PackedArrayTest, VarIntsOfEveryType) {
  enum class Color : int32_t { kInfrared = -1, kRed = 0, kGreen = 300 };
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  const std::string minus_one = "ff ff ff ff ff ff ff ff ff 01";
  ExpectPacks<PackedVarInt>(std::vector<uint32_t>{0, 0xffffffff, 0x80},
                            "00 ff ff ff ff 0f 80 01");
  ExpectPacks<PackedVarInt>(
      std::vector<int32_t>{kMin, -1, 0, kMax},
      "80 80 80 80 f8 ff ff ff ff 01 " + minus_one + " 00 ff ff ff ff 07");
  ExpectPacks<PackedVarInt>(
      std::vector<Color>{Color::kInfrared, Color::kRed, Color::kGreen},
      minus_one + " 00 ac 02");
  ExpectPacks<PackedSignedVarInt>(std::vector<int32_t>{kMin, -1, 0, 1, kMax},
                                  "ff ff ff ff 0f 01 00 02 fe ff ff ff 0f");
}

// A vector of bools is not an array.
TEST(PackedArrayTest, Bools) {
  const bool values[] = {true, false, true};
  PackedVarInt packed;
  packed.Append(values, 3);
  EXPECT_EQ(HexOf(packed), "01 00 01");
  ExpectWritesHex("0a 03 01 00 01", [&values](Message* m) {
    PackedVarInt::AppendField(m, 1, values, 3);
  });
}

TEST(PackedArrayTest, FixedNumbersOfEveryType) {
  ExpectPacks<PackedFixedSizeInt<uint32_t>>(
      std::vector<uint32_t>{0, 0xfedcba98, 0xffffffff},
      "00 00 00 00 98 ba dc fe ff ff ff ff");
  ExpectPacks<PackedFixedSizeInt<int32_t>>(
      std::vector<int32_t>{-2, std::numeric_limits<int32_t>::min()},
      "fe ff ff ff 00 00 00 80");
  ExpectPacks<PackedFixedSizeInt<uint64_t>>(
      std::vector<uint64_t>{0, 0x0123456789abcdef},
      "00 00 00 00 00 00 00 00 ef cd ab 89 67 45 23 01");
  ExpectPacks<PackedFixedSizeInt<int64_t>>(
      std::vector<int64_t>{std::numeric_limits<int64_t>::min()},
      "00 00 00 00 00 00 00 80");
  ExpectPacks<PackedFixedSizeInt<float>>(std::vector<float>{1.0f, -0.0f},
                                         "00 00 80 3f 00 00 00 80");
  ExpectPacks<PackedFixedSizeInt<double>>(
      std::vector<double>{std::numeric_limits<double>::infinity()},
      "00 00 00 00 00 00 f0 7f");
}

TEST(PackedArrayTest, NoElementsAreAFieldOfNoBytes) {
  ExpectPacks<PackedVarInt>(std::vector<uint64_t>(), "");
  ExpectPacks<PackedSignedVarInt>(std::vector<int32_t>(), "");
  ExpectPacks<PackedFixedSizeInt<double>>(std::vector<double>(), "");
  ExpectWritesHex("0a 00", [](Message* m) {
    PackedFixedSizeInt<float>::AppendField(m, 1, nullptr, 0);
  });
}

TEST(PackedArrayTest, TagsOfEveryLength) {
  const uint32_t values[] = {1, 300};
  for (const uint32_t id : {15u, 16u, 2048u, proto_utils::kMaxFieldId}) {
    ExpectWrites({BytesField(id, test::FromHex("01 ac 02"))}, [&](Message* m) {
      PackedVarInt::AppendField(m, id, values, 2);
    });
  }
}

TEST(PackedArrayTest, IsTheSameWithAndWithoutFastInstructions) {
  using Encoding = internal::PackedVarIntEncoding<internal::PlainBits>;
  std::vector<uint64_t> values;
  for (int bit = 0; bit < 64; ++bit) {
    values.push_back(uint64_t{1} << bit);
    values.push_back((uint64_t{1} << bit) - 1);
    values.push_back(~uint64_t{0} >> bit);
  }
  std::vector<uint8_t> bytes(values.size() * Encoding::kMaxSize<uint64_t>);
  std::vector<uint8_t> portable(bytes.size());
  bytes.resize(static_cast<size_t>(
      Encoding::Write(values.data(), values.size(), bytes.data()) -
      bytes.data()));
  portable.resize(static_cast<size_t>(
      Encoding::WritePortably(values.data(), values.size(), portable.data()) -
      portable.data()));
  EXPECT_EQ(Hex(bytes), Hex(portable));
}

// Returns numbers of all sizes, so that blocks end anywhere.
std::vector<uint64_t> ManyNumbers(size_t count) {
  std::vector<uint64_t> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(~uint64_t{0} >> (i * 7 % 64));
  return values;
}

template <typename Packed>
std::string OneByOne(const std::vector<uint64_t>& values) {
  Packed packed;
  for (const uint64_t value : values)
    packed.Append(value);
  EXPECT_TRUE(packed.ok());
  return std::string(reinterpret_cast<const char*>(packed.data()),
                     packed.size());
}

// Returns the number of elements of ManyNumbers() that fill |bytes| bytes.
template <typename Packed>
size_t CountFilling(size_t bytes) {
  size_t count = bytes / sizeof(uint64_t);
  while (OneByOne<Packed>(ManyNumbers(count)).size() < bytes)
    ++count;
  return count;
}

template <typename Packed>
void ExpectGrowsLikeOneByOne() {
  constexpr size_t kStorage = PackedBufferBase::kOnStackStorageSize;
  const size_t filling = CountFilling<Packed>(kStorage);
  for (const size_t count : {filling - 3, filling - 2, filling - 1, filling,
                             filling + 1, 2 * filling, 9 * filling}) {
    const std::vector<uint64_t> values = ManyNumbers(count);
    const std::string bytes = OneByOne<Packed>(values);
    // Appends the elements in one part or in two.
    for (const size_t part : {size_t{0}, size_t{1}, size_t{5}, count / 2}) {
      Packed packed;
      packed.Append(values.data(), part);
      packed.Append(values.data() + part, count - part);
      EXPECT_TRUE(packed.ok());
      EXPECT_EQ(packed.size(), bytes.size());
      EXPECT_TRUE(HexOf(packed) == Hex(bytes)) << count << " after " << part;
    }
  }
}

TEST(PackedArrayTest, GrowsLikeOneByOne) {
  ExpectGrowsLikeOneByOne<PackedVarInt>();
  ExpectGrowsLikeOneByOne<PackedFixedSizeInt<uint64_t>>();
}

template <typename Packed>
void ExpectFieldsOfAnySize() {
  constexpr size_t kStorage = PackedBufferBase::kOnStackStorageSize;
  const size_t filling = CountFilling<Packed>(kStorage);
  for (const size_t count : {size_t{20}, filling - 2, filling - 1, filling,
                             filling + 1, 3 * filling}) {
    const std::vector<uint64_t> values = ManyNumbers(count);
    ExpectWrites({BytesField(3, OneByOne<Packed>(values))}, [&](Message* m) {
      Packed::AppendField(m, 3, values.data(), values.size());
    });
  }
}

TEST(PackedArrayTest, FieldsOfAnySize) {
  ExpectFieldsOfAnySize<PackedVarInt>();
  ExpectFieldsOfAnySize<PackedFixedSizeInt<uint64_t>>();
}

// This tests the header only, because a test has no memory for such a field.
TEST(PackedArrayTest, FieldsThatAreTooLong) {
  for (const uint64_t size :
       {uint64_t{proto_utils::kMaxMessageLength} + 1, ~uint64_t{0}}) {
    uint8_t buffer[64];
    StaticBuffered<Message> message(buffer, sizeof(buffer));
    bool fits = false;
    EXPECT_MISTAKE(fits = internal::AppendBytesHeader(message.get(), 1, size),
                   "split it");
    EXPECT_FALSE(fits);
#if !PROTOZERO_DCHECK_IS_ON
    EXPECT_EQ(message.status(), WriteStatus::kMessageTooLong);
#endif
  }
}

TEST(PackedArrayTest, FieldsThatDoNotFitTheBuffer) {
  const std::vector<uint64_t> values = ManyNumbers(5000);
  std::vector<uint8_t> buffer(10000);
  StaticBuffered<Message> message(buffer.data(), buffer.size());
  PackedVarInt::AppendField(message.get(), 1, values.data(), values.size());
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_EQ(message.status(), WriteStatus::kOutOfBuffer);
}

}  // namespace
}  // namespace protozero
