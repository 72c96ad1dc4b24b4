// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Message's appenders, one field at a time: they write exact bytes, over every
// delegate and chunk size.

#include "protozero/message.h"

#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/static_buffer.h"
#include "test/testing/delegates.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/message_tree.h"
#include "test/testing/tree_parser.h"

namespace protozero {
namespace {

using test::BytesField;
using test::EncodeTreeCanonically;
using test::ExpectWrites;
using test::ExpectWritesHex;
using test::MessageTree;
using test::NumberField;
using test::ParsesAs;
using Kind = test::Field::Kind;

template <typename T>
void ExpectVarInt(T value, std::string_view hex) {
  ExpectWritesHex(hex, [=](Message* m) { m->AppendVarInt(1, value); });
}

template <typename T>
void ExpectSignedVarInt(T value, std::string_view hex) {
  ExpectWritesHex(hex, [=](Message* m) { m->AppendSignedVarInt(1, value); });
}

template <typename T>
void ExpectFixed(T value, std::string_view hex) {
  ExpectWritesHex(hex, [=](Message* m) { m->AppendFixed(1, value); });
}

TEST(MessageTest, VarIntBytes) {
  ExpectVarInt(0, "08 00");
  ExpectVarInt(1, "08 01");
  ExpectVarInt(127, "08 7f");
  ExpectVarInt(128, "08 80 01");
  ExpectVarInt(16383, "08 ff 7f");
  ExpectVarInt(16384, "08 80 80 01");
  ExpectVarInt(std::numeric_limits<int32_t>::max(), "08 ff ff ff ff 07");
  ExpectVarInt(std::numeric_limits<int32_t>::min(),
               "08 80 80 80 80 f8 ff ff ff ff 01");
  ExpectVarInt(int32_t{-1}, "08 ff ff ff ff ff ff ff ff ff 01");
  ExpectVarInt(std::numeric_limits<uint32_t>::max(), "08 ff ff ff ff 0f");
  ExpectVarInt(std::numeric_limits<int64_t>::max(),
               "08 ff ff ff ff ff ff ff ff 7f");
  ExpectVarInt(std::numeric_limits<int64_t>::min(),
               "08 80 80 80 80 80 80 80 80 80 01");
  ExpectVarInt(std::numeric_limits<uint64_t>::max(),
               "08 ff ff ff ff ff ff ff ff ff 01");
  ExpectVarInt(uint64_t{1} << 56, "08 80 80 80 80 80 80 80 80 01");
  ExpectVarInt(true, "08 01");
  ExpectVarInt(false, "08 00");
}

TEST(MessageTest, ZigZagBytes) {
  ExpectSignedVarInt(int32_t{0}, "08 00");
  ExpectSignedVarInt(int32_t{-1}, "08 01");
  ExpectSignedVarInt(int32_t{1}, "08 02");
  ExpectSignedVarInt(int32_t{-64}, "08 7f");
  ExpectSignedVarInt(int32_t{64}, "08 80 01");
  ExpectSignedVarInt(std::numeric_limits<int32_t>::max(), "08 fe ff ff ff 0f");
  ExpectSignedVarInt(std::numeric_limits<int32_t>::min(), "08 ff ff ff ff 0f");
  ExpectSignedVarInt(std::numeric_limits<int64_t>::max(),
                     "08 fe ff ff ff ff ff ff ff ff 01");
  ExpectSignedVarInt(std::numeric_limits<int64_t>::min(),
                     "08 ff ff ff ff ff ff ff ff ff 01");
}

TEST(MessageTest, FixedBytes) {
  ExpectFixed(uint32_t{0}, "0d 00 00 00 00");
  ExpectFixed(std::numeric_limits<uint32_t>::max(), "0d ff ff ff ff");
  ExpectFixed(std::numeric_limits<int32_t>::min(), "0d 00 00 00 80");
  ExpectFixed(std::numeric_limits<int32_t>::max(), "0d ff ff ff 7f");
  ExpectFixed(uint64_t{0x0123456789abcdef}, "09 ef cd ab 89 67 45 23 01");
  ExpectFixed(std::numeric_limits<uint64_t>::max(),
              "09 ff ff ff ff ff ff ff ff");
  ExpectFixed(std::numeric_limits<int64_t>::min(),
              "09 00 00 00 00 00 00 00 80");
}

// Generated setters call these.
TEST(MessageTest, AFunctionForEachTypeOfTheSchema) {
  ExpectWritesHex("08 ff ff ff ff ff ff ff ff ff 01 08 ff ff ff ff 07",
                  [](Message* m) {
                    m->AppendInt32(1, -1);
                    m->AppendInt32(1, std::numeric_limits<int32_t>::max());
                  });
  ExpectWritesHex("08 80 80 80 80 80 80 80 80 80 01 08 05", [](Message* m) {
    m->AppendInt64(1, std::numeric_limits<int64_t>::min());
    m->AppendInt64(1, 5);
  });
  ExpectWritesHex("08 ff ff ff ff 0f", [](Message* m) {
    m->AppendUint32(1, std::numeric_limits<uint32_t>::max());
  });
  ExpectWritesHex("08 ff ff ff ff ff ff ff ff ff 01", [](Message* m) {
    m->AppendUint64(1, std::numeric_limits<uint64_t>::max());
  });
  ExpectWritesHex("08 03 08 ff ff ff ff 0f", [](Message* m) {
    m->AppendSint32(1, -2);
    m->AppendSint32(1, std::numeric_limits<int32_t>::min());
  });
  ExpectWritesHex("08 04 08 ff ff ff ff ff ff ff ff ff 01", [](Message* m) {
    m->AppendSint64(1, 2);
    m->AppendSint64(1, std::numeric_limits<int64_t>::min());
  });
  ExpectWritesHex("08 01 08 00", [](Message* m) {
    m->AppendBool(1, true);
    m->AppendBool(1, false);
  });
  ExpectWritesHex("0d 04 03 02 01 0d fe ff ff ff 0d 00 00 80 3f",
                  [](Message* m) {
                    m->AppendFixed32(1, 0x01020304);
                    m->AppendSfixed32(1, -2);
                    m->AppendFloat(1, 1.0f);
                  });
  ExpectWritesHex(
      "09 08 07 06 05 04 03 02 01 09 fe ff ff ff ff ff ff ff "
      "09 00 00 00 00 00 00 f8 3f",
      [](Message* m) {
        m->AppendFixed64(1, 0x0102030405060708);
        m->AppendSfixed64(1, -2);
        m->AppendDouble(1, 1.5);
      });
}

TEST(MessageTest, FloatingPointBytesKeepEveryBit) {
  ExpectFixed(0.0f, "0d 00 00 00 00");
  ExpectFixed(-0.0f, "0d 00 00 00 80");
  ExpectFixed(1.0f, "0d 00 00 80 3f");
  ExpectFixed(std::numeric_limits<float>::infinity(), "0d 00 00 80 7f");
  ExpectFixed(-std::numeric_limits<float>::infinity(), "0d 00 00 80 ff");
  ExpectFixed(std::numeric_limits<float>::quiet_NaN(), "0d 00 00 c0 7f");
  ExpectFixed(std::numeric_limits<float>::denorm_min(), "0d 01 00 00 00");
  ExpectFixed(-0.0, "09 00 00 00 00 00 00 00 80");
  ExpectFixed(1.5, "09 00 00 00 00 00 00 f8 3f");
  ExpectFixed(std::nan("0x1234"), "09 34 12 00 00 00 00 f8 7f");
  ExpectFixed(std::numeric_limits<double>::lowest(),
              "09 ff ff ff ff ff ff ef ff");
}

TEST(MessageTest, TinyVarIntBytes) {
  for (const auto& [value, hex] : {std::pair(0, "08 00"), std::pair(1, "08 01"),
                                   std::pair(127, "08 7f")}) {
    ExpectWritesHex(hex,
                    [v = value](Message* m) { m->AppendTinyVarInt(1, v); });
  }
}

TEST(MessageTest, TinyVarIntIsOnlyForTinyValues) {
  for (int value : {-1, 128, std::numeric_limits<int>::min(),
                    std::numeric_limits<int>::max()}) {
    StackBuffered<Message, 32> message;
    EXPECT_MISTAKE(message->AppendTinyVarInt(1, value), "takes any value");
    // The message has a whole field or none.
    EXPECT_EQ(message.Finalize(), PROTOZERO_DCHECK_IS_ON ? 0u : 2u);
    if (!PROTOZERO_DCHECK_IS_ON) {
      EXPECT_LT(message.data()[1], 128u);
    }
  }
}

TEST(MessageTest, StringAndBytesBytes) {
  constexpr char kHex[] = "0a 03 61 62 63";
  ExpectWritesHex(kHex, [](Message* m) { m->AppendString(1, "abc"); });
  ExpectWritesHex(kHex,
                  [](Message* m) { m->AppendString(1, std::string("abc")); });
  ExpectWritesHex(kHex, [](Message* m) {
    m->AppendString(1, std::string_view("abcd", 3));
  });
  ExpectWritesHex(kHex, [](Message* m) { m->AppendBytes(1, "abcd", 3); });
  ExpectWritesHex("0a 03 00 ff 00",
                  [](Message* m) { m->AppendBytes(1, "\0\xff\0", 3); });
}

TEST(MessageTest, EmptyStringsAreFieldsToo) {
  constexpr char kHex[] = "0a 00";
  ExpectWritesHex(kHex, [](Message* m) { m->AppendString(1, ""); });
  ExpectWritesHex(kHex, [](Message* m) { m->AppendString(1, std::string()); });
  ExpectWritesHex(kHex,
                  [](Message* m) { m->AppendString(1, std::string_view()); });
  ExpectWritesHex(kHex, [](Message* m) { m->AppendBytes(1, nullptr, 0); });
  ExpectWritesHex(kHex, [](Message* m) {
    EXPECT_EQ(m->AppendScatteredBytes(1, nullptr, 0), 0u);
  });
  ExpectWritesHex("", [](Message* m) { m->AppendRawProtoBytes(nullptr, 0); });
}

TEST(MessageTest, ScatteredBytesAreOneField) {
  uint8_t bytes[] = {1, 2, 3, 4, 5};
  ExpectWritesHex("0a 05 03 04 05 01 02", [&](Message* m) {
    ContiguousMemoryRange ranges[] = {{bytes + 2, bytes + 5},
                                      ContiguousMemoryRange{},
                                      {bytes + 1, bytes + 1},
                                      {bytes, bytes + 2}};
    EXPECT_EQ(m->AppendScatteredBytes(1, ranges, 4), 5u);
  });
}

TEST(MessageTest, RawBytesAreWrittenAsTheyAre) {
  ExpectWritesHex("08 01 10 02 1a 01", [](Message* m) {
    m->AppendVarInt(1, 1);
    m->AppendRawProtoBytes("\x10\x02\x1a\x01", 4);
  });
}

// Sizes around all limits at which the code changes: of the copy, of the size's
// own encoding, and of the chunks.
TEST(MessageTest, StringsOfEverySize) {
  std::vector<size_t> sizes;
  for (size_t size = 0; size <= 70; ++size)
    sizes.push_back(size);
  sizes.insert(sizes.end(),
               {126, 127, 128, 129, 255, 256, 1000, 16383, 16384, 16385});
  for (size_t size : sizes) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<char>(i * 7 + 1);
    // The next field shows whether the cursor is in the right place.
    ExpectWrites({BytesField(1, bytes, Kind::kString),
                  BytesField(2048, bytes, Kind::kScattered),
                  NumberField(Kind::kTiny, 1, 1)});
  }
}

constexpr uint32_t kBoundaryIds[] = {
    1, 15, 16, 2047, 2048, 262143, 262144, 33554431, 33554432, 536870911};

TEST(MessageTest, TagBytesOfEveryIdBoundary) {
  const char* const kVarIntTags[] = {"08",
                                     "78",
                                     "80 01",
                                     "f8 7f",
                                     "80 80 01",
                                     "f8 ff 7f",
                                     "80 80 80 01",
                                     "f8 ff ff 7f",
                                     "80 80 80 80 01",
                                     "f8 ff ff ff 0f"};
  for (size_t i = 0; i < std::size(kBoundaryIds); ++i) {
    const uint32_t id = kBoundaryIds[i];
    const std::string tag = kVarIntTags[i];
    ExpectWritesHex(tag + " 01", [=](Message* m) { m->AppendVarInt(id, 1); });
    ExpectWritesHex(tag + " 7f",
                    [=](Message* m) { m->AppendTinyVarInt(id, 127); });
  }
  ExpectWritesHex("fa ff ff ff 0f 01 61",
                  [](Message* m) { m->AppendString(536870911, "a"); });
  ExpectWritesHex("fd ff ff ff 0f 01 00 00 00",
                  [](Message* m) { m->AppendFixed(536870911, uint32_t{1}); });
  ExpectWritesHex("f9 ff ff ff 0f 01 00 00 00 00 00 00 00",
                  [](Message* m) { m->AppendFixed(536870911, uint64_t{1}); });
}

// Every appender with every length of tag and of value, at every position
// within a chunk (the field before it shifts it). libprotobuf parses the
// result.
TEST(MessageTest, EveryKindWithEveryTagAndValueAtEveryPlace) {
  std::vector<uint64_t> numbers{0, ~uint64_t{0}};
  for (uint32_t bit = 0; bit < 64; ++bit) {
    numbers.push_back(uint64_t{1} << bit);
    numbers.push_back((uint64_t{1} << bit) - 1);
  }
  for (const uint32_t id : kBoundaryIds) {
    for (int kind = 0; kind <= static_cast<int>(Kind::kDouble); ++kind) {
      MessageTree tree;
      for (uint64_t number : numbers) {
        if (static_cast<Kind>(kind) == Kind::kTiny)
          number %= 128;
        tree.push_back(NumberField(static_cast<Kind>(kind), id, number));
      }
      EXPECT_TRUE(ParsesAs(EncodeTreeCanonically(tree), tree));
      for (size_t chunk_size : test::InterestingChunkSizes())
        test::ExpectWritesToChunks(tree, {chunk_size});
      ExpectWrites(
          {NumberField(Kind::kTiny, 1, 1), tree[0], tree[1], tree.back()});
    }
  }
}

// Messages like generated ones, with ids that the compiler knows: their
// constant tags must be the same as the tags of ids that it does not know.
template <uint32_t id>
void WriteConstantId(Message* message) {
  message->AppendVarInt(id, uint64_t{1} << 40);
  message->AppendTinyVarInt(id, 5);
  message->AppendSignedVarInt(id, int32_t{-7});
  message->AppendFixed(id, uint32_t{9});
  message->AppendFixed(id, 2.5);
  message->AppendString(id, "string");
  message->BeginNestedMessage<Message>(id)->AppendTinyVarInt(id, 1);
}

template <uint32_t id>
void ExpectConstantId() {
  ExpectWrites(
      {NumberField(Kind::kUnsigned, id, uint64_t{1} << 40),
       NumberField(Kind::kTiny, id, 5), NumberField(Kind::kZigZag32, id, -7),
       NumberField(Kind::kFixed32, id, 9), NumberField(Kind::kDouble, id, 2.5),
       BytesField(id, "string"),
       test::NestedField(id, {NumberField(Kind::kTiny, id, 1)})},
      WriteConstantId<id>);
}

TEST(MessageTest, ConstantIdsGiveTheSameTags) {
  ExpectConstantId<1>();
  ExpectConstantId<15>();
  ExpectConstantId<16>();
  ExpectConstantId<2047>();
  ExpectConstantId<2048>();
  ExpectConstantId<262143>();
  ExpectConstantId<262144>();
  ExpectConstantId<33554431>();
  ExpectConstantId<33554432>();
  ExpectConstantId<536870911>();
}

}  // namespace
}  // namespace protozero
