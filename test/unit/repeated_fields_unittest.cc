// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/repeated_fields.h"

#include <stdint.h>

#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/message.h"
#include "protozero/packed_repeated_fields.h"
#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using proto_utils::ProtoSchemaType;
using proto_utils::ProtoWireType;
using test::FromHex;

using Decoder = MessageDecoder<1, 2, 3, 500>;

// Returns the values, after iterating in both ways.
template <typename Iterator>
auto Values(Iterator it) {
  using T = std::decay_t<decltype(*it)>;
  std::vector<T> by_range;
  for (const T value : it)
    by_range.push_back(value);
  std::vector<T> values;
  while (it)
    values.push_back(*it++);
  EXPECT_EQ(by_range.size(), values.size());
  return values;
}

template <ProtoSchemaType type>
auto Scalars(const std::string& hex, bool* parse_error = nullptr) {
  const std::string bytes = FromHex(hex);
  const Decoder decoder(bytes);
  bool same_error = parse_error != nullptr && *parse_error;
  const auto values = Values(decoder.GetRepeatedScalar<type>(2, parse_error));
  // This iterator is of one type for all types of the schema.
  using T = typename decltype(values)::value_type;
  const RepeatedFieldIterator<T> it = decoder.GetRepeated<type>(
      2, parse_error != nullptr ? &same_error : nullptr);
  EXPECT_EQ(Values(it), values);
  EXPECT_EQ(same_error, parse_error != nullptr && *parse_error);
  EXPECT_EQ(Values(decoder.GetRepeated<type>(2)), values);
  return values;
}

std::vector<std::string> Strings(const Decoder& decoder, uint32_t id) {
  std::vector<std::string> strings;
  for (const ConstChars chars : decoder.GetRepeated<ConstChars>(id))
    strings.push_back(chars.ToStdString());
  return strings;
}

TEST(RepeatedFieldIteratorTest, GivesAllInTheOrderOfTheWire) {
  const std::string bytes = FromHex(
      "08 01 12 01 61 1a 01 78 12 00 08 02 12 02 62 63 a2 1f 01 79 08 03");
  const Decoder decoder(bytes);
  EXPECT_EQ(Strings(decoder, 2), (std::vector<std::string>{"a", "", "bc"}));
  EXPECT_EQ(Strings(decoder, 3), (std::vector<std::string>{"x"}));
  EXPECT_EQ(Strings(decoder, 500), (std::vector<std::string>{"y"}));
  EXPECT_EQ(Values(decoder.GetRepeated<int32_t>(1)),
            (std::vector<int32_t>{1, 2, 3}));
  // One field is not in the message, the other one not in the schema.
  EXPECT_TRUE(Strings(Decoder(nullptr, 0), 2).empty());
  EXPECT_TRUE(Strings(decoder, 4).empty());
}

TEST(RepeatedFieldIteratorTest, GivesFields) {
  const std::string bytes = FromHex("08 05 08 ff ff ff ff ff ff ff ff ff 01");
  const Decoder decoder(bytes);
  auto it = decoder.GetRepeated<int32_t>(1);
  EXPECT_EQ(it->id(), 1u);
  EXPECT_EQ(it->as_sint32(), -3);
  EXPECT_EQ(*it++, 5);
  EXPECT_EQ(it.field().as_int64(), -1);
  EXPECT_TRUE(static_cast<bool>(it));
  EXPECT_FALSE(!it);
  ++it;
  EXPECT_FALSE(static_cast<bool>(it));
  ++it;  // This is harmless.
  EXPECT_FALSE(static_cast<bool>(it));
  EXPECT_EQ(*it, 0);
  EXPECT_FALSE(RepeatedFieldIterator<int32_t>());
}

TEST(RepeatedFieldIteratorTest, CanBeCopiedAndOutlivesTheDecoder) {
  const std::string bytes = FromHex("08 01 08 02 08 03");
  RepeatedFieldIterator<int32_t> it;
  it = Decoder(bytes).GetRepeated<int32_t>(1);
  ++it;
  const auto copy = it;
  EXPECT_EQ(Values(it), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(Values(copy), (std::vector<int32_t>{2, 3}));
}

TEST(RepeatedFieldIteratorTest, PassesOverWireTypesThatDoNotFit) {
  const std::string bytes = FromHex(
      "08 01 0a 01 61 0d 02 00 00 00 0b 10 01 0c 09 03 00 00 00 00 00 00 00");
  const Decoder decoder(bytes);
  EXPECT_EQ(Values(decoder.GetRepeated<int32_t>(1)),
            (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(Strings(decoder, 1), (std::vector<std::string>{"a", "\x10\x01"}));
  std::vector<ProtoWireType> types;
  for (const Field field : decoder.GetRepeated<Field>(1))
    types.push_back(field.type());
  EXPECT_EQ(types, (std::vector<ProtoWireType>{
                       ProtoWireType::kVarInt, ProtoWireType::kLengthDelimited,
                       ProtoWireType::kFixed32, ProtoWireType::kStartGroup,
                       ProtoWireType::kFixed64}));
}

// Reading a million children takes one pass over the message, not one each.
TEST(RepeatedFieldIteratorTest, ManyChildrenAreReadInOnePass) {
  HeapBuffered<Message> message(65536, 65536);
  constexpr uint32_t kChildren = 1000000;
  for (uint32_t i = 0; i < kChildren; ++i)
    message->BeginNestedMessage<Message>(2)->AppendVarInt(1, i);
  const std::string bytes = message.SerializeAsString();
  const Decoder decoder(bytes);
  uint32_t count = 0;
  for (const ConstBytes child : decoder.GetRepeated<ConstBytes>(2)) {
    ASSERT_EQ(Decoder(child).at<1>().as_uint32(), count);
    ++count;
  }
  EXPECT_EQ(count, kChildren);
}

// Numbers

TEST(RepeatedScalarIteratorTest, ReadsBothEncodingsAndMixtures) {
  const std::vector<int32_t> kValues = {1, 150, -1};
  EXPECT_EQ(Scalars<ProtoSchemaType::kInt32>(
                "10 01 10 96 01 10 ff ff ff ff ff ff ff ff ff 01"),
            kValues);
  EXPECT_EQ(Scalars<ProtoSchemaType::kInt32>(
                "12 0d 01 96 01 ff ff ff ff ff ff ff ff ff 01"),
            kValues);
  EXPECT_EQ(Scalars<ProtoSchemaType::kInt32>(
                "10 01 12 02 96 01 08 05 12 00 10 ff ff ff ff ff ff ff ff ff 01"
                "1a 00"),
            kValues);
  EXPECT_EQ(Scalars<ProtoSchemaType::kInt32>(
                "12 01 01 12 00 12 00 12 0c 96 01 ff ff ff ff ff ff ff ff ff"
                "01"),
            kValues);
  EXPECT_TRUE(Scalars<ProtoSchemaType::kInt32>("").empty());
  EXPECT_TRUE(Scalars<ProtoSchemaType::kInt32>("12 00").empty());
}

template <ProtoSchemaType type, typename T>
void ExpectScalars(const std::string& unpacked,
                   const std::string& packed,
                   const std::vector<T>& values) {
  static_assert(
      std::is_same<decltype(*RepeatedScalarIterator<type>()), T>::value);
  bool parse_error = false;
  EXPECT_EQ(Scalars<type>(unpacked, &parse_error), values) << unpacked;
  EXPECT_EQ(Scalars<type>(packed, &parse_error), values) << packed;
  std::vector<T> twice = values;
  twice.insert(twice.end(), values.begin(), values.end());
  EXPECT_EQ(Scalars<type>(packed + unpacked, &parse_error), twice);
  EXPECT_EQ(Scalars<type>(unpacked + packed, &parse_error), twice);
  EXPECT_FALSE(parse_error);
}

TEST(RepeatedScalarIteratorTest, ReadsEveryType) {
  ExpectScalars<ProtoSchemaType::kDouble, double>(
      "11 00 00 00 00 00 00 f8 3f 11 00 00 00 00 00 00 04 c0",
      "12 10 00 00 00 00 00 00 f8 3f 00 00 00 00 00 00 04 c0", {1.5, -2.5});
  ExpectScalars<ProtoSchemaType::kFloat, float>("15 00 00 c0 3f 15 00 00 20 c0",
                                                "12 08 00 00 c0 3f 00 00 20 c0",
                                                {1.5f, -2.5f});
  ExpectScalars<ProtoSchemaType::kInt64, int64_t>(
      "10 80 80 80 80 80 80 80 80 80 01 10 05",
      "12 0b 80 80 80 80 80 80 80 80 80 01 05",
      {std::numeric_limits<int64_t>::min(), 5});
  ExpectScalars<ProtoSchemaType::kUint64, uint64_t>(
      "10 ff ff ff ff ff ff ff ff ff 01 10 00",
      "12 0b ff ff ff ff ff ff ff ff ff 01 00", {~uint64_t{0}, 0});
  ExpectScalars<ProtoSchemaType::kInt32, int32_t>(
      "10 80 80 80 80 f8 ff ff ff ff 01 10 7f",
      "12 0b 80 80 80 80 f8 ff ff ff ff 01 7f",
      {std::numeric_limits<int32_t>::min(), 127});
  ExpectScalars<ProtoSchemaType::kFixed64, uint64_t>(
      "11 ff ff ff ff ff ff ff ff 11 01 02 03 04 05 06 07 08",
      "12 10 ff ff ff ff ff ff ff ff 01 02 03 04 05 06 07 08",
      {~uint64_t{0}, 0x0807060504030201});
  ExpectScalars<ProtoSchemaType::kFixed32, uint32_t>(
      "15 ff ff ff ff 15 01 02 03 04", "12 08 ff ff ff ff 01 02 03 04",
      {~0u, 0x04030201});
  ExpectScalars<ProtoSchemaType::kBool, bool>(
      "10 01 10 00 10 02", "12 03 01 00 02", {true, false, true});
  ExpectScalars<ProtoSchemaType::kUint32, uint32_t>(
      "10 ff ff ff ff 0f 10 01", "12 06 ff ff ff ff 0f 01", {~0u, 1});
  ExpectScalars<ProtoSchemaType::kEnum, int32_t>(
      "10 ff ff ff ff ff ff ff ff ff 01 10 06",
      "12 0b ff ff ff ff ff ff ff ff ff 01 06", {-1, 6});
  ExpectScalars<ProtoSchemaType::kSfixed32, int32_t>(
      "15 ff ff ff ff 15 00 00 00 80", "12 08 ff ff ff ff 00 00 00 80",
      {-1, std::numeric_limits<int32_t>::min()});
  ExpectScalars<ProtoSchemaType::kSfixed64, int64_t>(
      "11 ff ff ff ff ff ff ff ff 11 00 00 00 00 00 00 00 80",
      "12 10 ff ff ff ff ff ff ff ff 00 00 00 00 00 00 00 80",
      {-1, std::numeric_limits<int64_t>::min()});
  ExpectScalars<ProtoSchemaType::kSint32, int32_t>(
      "10 01 10 02 10 ff ff ff ff 0f", "12 07 01 02 ff ff ff ff 0f",
      {-1, 1, std::numeric_limits<int32_t>::min()});
  ExpectScalars<ProtoSchemaType::kSint64, int64_t>(
      "10 01 10 02 10 ff ff ff ff ff ff ff ff ff 01",
      "12 0c 01 02 ff ff ff ff ff ff ff ff ff 01",
      {-1, 1, std::numeric_limits<int64_t>::min()});
}

TEST(RepeatedScalarIteratorTest, PassesOverWireTypesThatDoNotFit) {
  bool parse_error = false;
  EXPECT_EQ(
      Scalars<ProtoSchemaType::kInt32>(
          "10 01 15 ff ff ff ff 11 ff ff ff ff ff ff ff ff 13 14 12 01 02",
          &parse_error),
      (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(Scalars<ProtoSchemaType::kFixed32>("10 01 15 05 00 00 00 13 14",
                                               &parse_error),
            (std::vector<uint32_t>{5}));
  EXPECT_EQ(
      Scalars<ProtoSchemaType::kDouble>("10 01 15 05 00 00 00", &parse_error),
      std::vector<double>());
  EXPECT_FALSE(parse_error);
}

TEST(RepeatedScalarIteratorTest, StopsWhereAPayloadIsMalformed) {
  const std::vector<int32_t> kOneTwo = {1, 2};
  for (const char* malformed :
       {"12 03 01 02 80", "12 02 01 02 12 01 ff 10 03",
        "12 02 01 02 12 0b 80 80 80 80 80 80 80 80 80 80 00 10 03"}) {
    bool parse_error = false;
    EXPECT_EQ(Scalars<ProtoSchemaType::kInt32>(malformed, &parse_error),
              kOneTwo)
        << malformed;
    EXPECT_TRUE(parse_error) << malformed;
    // The values do not depend on a place for the error.
    EXPECT_EQ(Scalars<ProtoSchemaType::kInt32>(malformed), kOneTwo);
  }
  bool parse_error = false;
  EXPECT_EQ(Scalars<ProtoSchemaType::kFixed32>(
                "12 07 05 00 00 00 06 00 00 15 07 00 00 00", &parse_error),
            (std::vector<uint32_t>{5}));
  EXPECT_TRUE(parse_error);
  parse_error = false;
  EXPECT_TRUE(Scalars<ProtoSchemaType::kDouble>("12 07 00 00 00 00 00 00 00",
                                                &parse_error)
                  .empty());
  EXPECT_TRUE(parse_error);
}

// The iterators of all schema types with the same C++ type fit one parameter,
// one member, or both branches of `?:`.
TEST(RepeatedFieldIteratorTest, IsOneTypeForAllSchemaTypes) {
  const std::string bytes =
      FromHex("08 05 08 06 15 07 00 00 00 1a 02 01 04 1a 01 05 18 03");
  const Decoder decoder(bytes);
  struct Holder {
    RepeatedFieldIterator<int32_t> it;
  };
  Holder holder;
  EXPECT_FALSE(holder.it);
  for (const bool first : {true, false}) {
    holder.it = first ? decoder.GetRepeated<ProtoSchemaType::kInt32>(1)
                      : decoder.GetRepeated<ProtoSchemaType::kSfixed32>(2);
    EXPECT_EQ(*holder.it, first ? 5 : 7);
  }
  holder.it = decoder.GetRepeated<int32_t>(1);
  EXPECT_EQ(Values(holder.it), (std::vector<int32_t>{5, 6}));
  holder.it = decoder.GetRepeated<ProtoSchemaType::kSint32>(3);
  EXPECT_EQ(Values(holder.it), (std::vector<int32_t>{-1, 2, -3, -2}));

  // Each element is a field, even in a packed field.
  std::vector<int32_t> raw;
  for (; holder.it; ++holder.it) {
    EXPECT_EQ(holder.it.field().id(), 3u);
    EXPECT_EQ(holder.it->type(), ProtoWireType::kVarInt);
    EXPECT_EQ(holder.it->as_sint32(), *holder.it);
    raw.push_back(holder.it->as_int32());
  }
  EXPECT_EQ(raw, (std::vector<int32_t>{1, 4, 5, 3}));
  EXPECT_FALSE(holder.it.field().valid());
  EXPECT_EQ(*holder.it, 0);
}

TEST(RepeatedFieldIteratorTest, StopsWhereAPayloadIsMalformed) {
  for (const char* malformed :
       {"12 03 01 02 80", "12 02 01 02 12 01 ff 10 03"}) {
    const std::string bytes = FromHex(malformed);
    const Decoder decoder(bytes);
    bool parse_error = false;
    EXPECT_EQ(
        Values(decoder.GetRepeated<ProtoSchemaType::kInt32>(2, &parse_error)),
        (std::vector<int32_t>{1, 2}));
    EXPECT_TRUE(parse_error) << malformed;
  }
  const std::string bytes = FromHex("12 07 05 00 00 00 06 00 00");
  bool parse_error = false;
  EXPECT_EQ(Values(Decoder(bytes).GetRepeated<ProtoSchemaType::kFixed32>(
                2, &parse_error)),
            (std::vector<uint32_t>{5}));
  EXPECT_TRUE(parse_error);
}

TEST(RepeatedScalarIteratorTest, NeverSetsTheErrorToFalse) {
  bool parse_error = true;
  Scalars<ProtoSchemaType::kInt32>("12 02 01 02", &parse_error);
  EXPECT_TRUE(parse_error);
}

TEST(PackedRepeatedFieldIteratorTest, ReadsFieldsAndPayloads) {
  const std::string bytes = FromHex("12 03 01 96 01 10 05");
  const Decoder decoder(bytes);
  bool parse_error = false;
  const std::vector<uint32_t> kValues = {1, 150, 5};
  EXPECT_EQ(Values(decoder.GetPackedRepeated<ProtoWireType::kVarInt, uint32_t>(
                2, &parse_error)),
            kValues);
  EXPECT_EQ(Values(decoder.GetUnifiedRepeated<ProtoWireType::kVarInt, uint32_t>(
                2, &parse_error)),
            kValues);
  const std::string payload = FromHex("01 96 01");
  const PackedRepeatedFieldIterator<ProtoWireType::kVarInt, int64_t> it(
      reinterpret_cast<const uint8_t*>(payload.data()), payload.size(),
      &parse_error);
  EXPECT_EQ(Values(it), (std::vector<int64_t>{1, 150}));
  EXPECT_FALSE(parse_error);
}

TEST(PackedRepeatedFieldIteratorTest, ReadsEnums) {
  enum class Weekday : int32_t { kMonday = 0, kSunday = 6, kNone = -1 };
  const std::string bytes =
      FromHex("12 0c 00 06 ff ff ff ff ff ff ff ff ff 01");
  const Decoder decoder(bytes);
  EXPECT_EQ(
      Values(decoder.GetPackedRepeated<ProtoWireType::kVarInt, Weekday>(2)),
      (std::vector<Weekday>{Weekday::kMonday, Weekday::kSunday,
                            Weekday::kNone}));
}

// Reads the output of the builders.
TEST(PackedRepeatedFieldIteratorTest, ReadsWhatIsWritten) {
  HeapBuffered<Message> message;
  PackedVarInt varints;
  PackedFixedSizeInt<double> doubles;
  for (int i = 0; i < 3000; ++i) {
    varints.Append(i * 1000 - 5);
    doubles.Append(i * 0.5);
  }
  message->AppendBytes(2, varints.data(), varints.size());
  message->AppendBytes(500, doubles.data(), doubles.size());
  const std::string bytes = message.SerializeAsString();
  const Decoder decoder(bytes);
  int32_t i = 0;
  for (const int32_t value :
       decoder.GetRepeatedScalar<ProtoSchemaType::kInt32>(2)) {
    ASSERT_EQ(value, i++ * 1000 - 5);
  }
  EXPECT_EQ(i, 3000);
  i = 0;
  for (const double value :
       decoder.GetRepeatedScalar<ProtoSchemaType::kDouble>(500)) {
    ASSERT_EQ(value, i++ * 0.5);
  }
  EXPECT_EQ(i, 3000);
}

}  // namespace
}  // namespace protozero
