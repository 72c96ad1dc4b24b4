// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stdint.h>

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using proto_utils::ProtoWireType;
using test::FromHex;

using Event = MessageDecoder<1, 2, 3, 500, 536870911>;

// 1: 7, 2: "abc", 500: 9, 536870911: fixed32 0x04030201
const char kEvent[] =
    "08 07 12 03 61 62 63 a0 1f 09 fd ff ff ff 0f 01 02 03 04";

template <typename Decoder>
void ExpectEvent(const Decoder& event) {
  EXPECT_EQ(event.template at<1>().as_int32(), 7);
  EXPECT_EQ(event.template at<2>().as_std_string(), "abc");
  EXPECT_FALSE(event.template at<3>().valid());
  EXPECT_EQ(event.template at<500>().as_int32(), 9);
  EXPECT_EQ(event.template at<536870911>().as_uint32(), 0x04030201u);
  for (const uint32_t id : {1u, 2u, 500u, 536870911u}) {
    EXPECT_TRUE(event.HasField(id));
    EXPECT_EQ(event.Get(id).id(), id);
  }
  for (const uint32_t id : {0u, 3u, 4u, 499u, 501u, 536870910u}) {
    EXPECT_FALSE(event.HasField(id));
    EXPECT_FALSE(event.Get(id).valid());
    EXPECT_EQ(event.Get(id).as_int64(), 0);
    EXPECT_EQ(event.Get(id).as_bytes().size, 0u);
  }
  EXPECT_EQ(event.status(), DecodeStatus::kOk);
  EXPECT_EQ(event.error_offset(), 0u);
}

TEST(MessageDecoderTest, KnowsItsFieldsWhateverTheirIds) {
  const std::string bytes = FromHex(kEvent);
  const Event event(bytes);
  ExpectEvent(event);
  EXPECT_EQ(event.begin(), reinterpret_cast<const uint8_t*>(bytes.data()));
  EXPECT_EQ(event.at<2>().as_string().data, bytes.data() + 4);
}

TEST(MessageDecoderTest, TakesBytesInSeveralForms) {
  const std::string bytes = FromHex(kEvent);
  const std::vector<uint8_t> vector(bytes.begin(), bytes.end());
  ExpectEvent(Event(bytes.data(), bytes.size()));
  ExpectEvent(Event(vector.data(), vector.size()));
  ExpectEvent(Event(std::string_view(bytes)));
  ExpectEvent(Event(ConstBytes(vector)));
}

TEST(MessageDecoderTest, AnEmptyMessageHasNoFields) {
  const Event event(nullptr, 0);
  EXPECT_FALSE(event.at<1>().valid());
  EXPECT_FALSE(event.at<536870911>().valid());
  EXPECT_EQ(event.status(), DecodeStatus::kOk);
  EXPECT_FALSE(event.GetRepeated<int32_t>(1));
  EXPECT_EQ(event.WhichOneof({1, 2, 3}), 0u);
  for (const Field& field : event.unknown_fields())
    ADD_FAILURE() << field.id();
}

TEST(MessageDecoderTest, AnEmptySchemaKnowsNoFields) {
  const std::string bytes = FromHex(kEvent);
  const MessageDecoder<> decoder(bytes);
  EXPECT_FALSE(decoder.Get(1).valid());
  EXPECT_FALSE(decoder.GetRepeated<int32_t>(1));
  size_t unknown = 0;
  for (const Field& field : decoder.unknown_fields())
    unknown += field.valid();
  EXPECT_EQ(unknown, 4u);
}

TEST(MessageDecoderTest, TheLastOfSeveralCounts) {
  const std::string bytes = FromHex("08 01 12 01 61 08 02 12 02 62 63 08 03");
  const Event event(bytes);
  EXPECT_EQ(event.at<1>().as_int32(), 3);
  EXPECT_EQ(event.at<2>().as_std_string(), "bc");
}

// A decoder reads elements that follow each other in its constructor, and again
// for GetRepeated(). Both have to agree with the field loop.
TEST(MessageDecoderTest, ReadsRunsOfElementsLikeTheFieldLoop) {
  const std::string long_element = "0a 80 01" + std::string(256, '0');
  for (const std::string& hex : {
           std::string("0a 01 61 0a 00 0a 02 62 63"),
           std::string("0a 01 61 0a 01 62 10 05 0a 01 63 0a 01 64"),
           "0a 00" + long_element + "0a 01 61" + long_element,
           // Another wire type of the same field, and a tag of two bytes.
           std::string("0a 01 61 08 01 0a 01 62 08 02 0a 01 63"),
           std::string("82 01 01 61 82 01 01 62 82 01 01 63 80 01 05"),
           // Tags and sizes that take more bytes than they need.
           std::string("0a 01 61 0a 01 62 8a 00 01 63 0a 81 00 64 0a 01 65"),
           // Malformed elements.
           std::string("0a 01 61 0a 01 62 0a"),
           std::string("0a 01 61 0a 01 62 0a 01"),
           std::string("0a 01 61 0a 01 62 0a 80"),
           std::string("0a 01 61 0a 01 62 00"),
           std::string("0a 01 61 0a 01 62 02 00"),
           std::string("0a 01 61 0a 01 62 03 04"),
       }) {
    const std::string whole = FromHex(hex);
    for (size_t size = 0; size <= whole.size(); ++size) {
      // Exactly that size, so that AddressSanitizer notices a read beyond it.
      const std::vector<char> bytes(whole.data(), whole.data() + size);
      SCOPED_TRACE(hex + ", bytes: " + std::to_string(size));
      const MessageDecoder<1, 2, 16> typed(bytes.data(), size);
      for (const uint32_t id : {1u, 2u, 16u}) {
        Field last{};
        std::vector<std::string> all;
        std::vector<std::string> repeated;
        ProtoDecoder loop(bytes.data(), size);
        for (Field f = loop.ReadField(); f; f = loop.ReadField()) {
          if (f.id() != id)
            continue;
          last = f;
          if (f.type() == ProtoWireType::kLengthDelimited)
            all.push_back(f.as_std_string());
        }
        for (auto it = typed.GetRepeated<ConstBytes>(id); it; ++it)
          repeated.push_back((*it).ToStdString());
        EXPECT_EQ(repeated, all);
        EXPECT_EQ(typed.Get(id).valid(), last.valid());
        EXPECT_EQ(typed.Get(id).type(), last.type());
        EXPECT_EQ(typed.Get(id).raw_int_value(), last.raw_int_value());
        EXPECT_EQ(typed.Get(id).raw_size(), last.raw_size());
        EXPECT_EQ(typed.status(), loop.status());
        EXPECT_EQ(typed.error_offset(), loop.error_offset());
      }
    }
  }
}

TEST(MessageDecoderTest, IsNotLargerThanItsFieldsNeed) {
  static_assert(sizeof(MessageDecoder<1, 2, 536870911>) <= 64 + 16 + 3 * 20);
  static_assert(sizeof(TypedProtoDecoder<100>) <= 64 + 16 + 100 * 20);
}

// A copy refers to the same bytes, and not to the other object.
template <typename Decoder>
void ExpectCopiesToWork() {
  const std::string bytes = FromHex(kEvent);
  const std::string others = FromHex("08 01");
  auto event = std::make_unique<Decoder>(bytes);
  const Decoder copy = *event;
  Decoder assigned(others);
  assigned = *event;
  Decoder moved = std::move(*event);
  event.reset();
  ExpectEvent(copy);
  ExpectEvent(assigned);
  ExpectEvent(moved);
  const Decoder& self = assigned;
  assigned = self;
  ExpectEvent(assigned);
  for (const Decoder* decoder :
       {&copy, &std::as_const(assigned), &std::as_const(moved)}) {
    std::vector<int32_t> values;
    for (const int32_t value : decoder->template GetRepeated<int32_t>(500))
      values.push_back(value);
    EXPECT_EQ(values, std::vector<int32_t>{9});
  }
}

TEST(MessageDecoderTest, CanBeCopied) {
  ExpectCopiesToWork<Event>();
}

Event MakeEvent(const std::string& bytes) {
  Event event(bytes);
  return event;
}

TEST(MessageDecoderTest, CanBeReturned) {
  const std::string bytes = FromHex(kEvent);
  ExpectEvent(MakeEvent(bytes));
  std::vector<Event> events;
  for (int i = 0; i < 10; ++i)
    events.push_back(MakeEvent(bytes));
  for (const Event& event : events)
    ExpectEvent(event);
}

TEST(MessageDecoderTest, KeepsTheFieldsBeforeAMalformedOne) {
  const std::string bytes = FromHex("08 07 12 03 61 62 63 0f 08 09");
  const Event event(bytes);
  EXPECT_EQ(event.at<1>().as_int32(), 7);
  EXPECT_EQ(event.at<2>().as_std_string(), "abc");
  EXPECT_EQ(event.status(), DecodeStatus::kBadWireType);
  EXPECT_EQ(event.error_offset(), 7u);
  std::vector<int32_t> values;
  for (const int32_t value : event.GetRepeated<int32_t>(1))
    values.push_back(value);
  EXPECT_EQ(values, std::vector<int32_t>{7});
}

TEST(MessageDecoderTest, ReadsGroups) {
  const std::string bytes = FromHex("0b 08 05 0c 10 06");
  const Event event(bytes);
  EXPECT_EQ(event.at<1>().type(), ProtoWireType::kStartGroup);
  EXPECT_EQ(Event(event.at<1>().as_bytes()).at<1>().as_int32(), 5);
  EXPECT_EQ(event.at<2>().as_int32(), 6);
}

TEST(MessageDecoderTest, CanBeReadFieldByFieldAsWell) {
  const std::string bytes = FromHex(kEvent);
  Event event(bytes);
  std::vector<uint32_t> ids;
  for (Field field = event.ReadField(); field; field = event.ReadField())
    ids.push_back(field.id());
  EXPECT_EQ(ids, (std::vector<uint32_t>{1, 2, 500, 536870911}));
}

std::vector<uint32_t> UnknownIds(const TypedProtoDecoderBase& decoder) {
  std::vector<uint32_t> ids;
  for (const Field& field : decoder.unknown_fields())
    ids.push_back(field.id());
  return ids;
}

TEST(MessageDecoderTest, GivesUnknownFieldsInOrder) {
  const std::string bytes = FromHex("20 01 08 01 22 00 28 01 08 02 a8 1f 05");
  const Event event(bytes);
  EXPECT_EQ(UnknownIds(event), (std::vector<uint32_t>{4, 4, 5, 501}));
  std::string unknown;
  for (const Field& field : event.unknown_fields())
    field.SerializeAndAppendTo(&unknown);
  EXPECT_EQ(test::Hex(unknown), "20 01 22 00 28 01 a8 1f 05");
}

TEST(MessageDecoderTest, UnknownFieldsEndAtAMalformedOne) {
  const std::string bytes = FromHex("20 01 08 01 28 01 00 30 01");
  EXPECT_EQ(UnknownIds(Event(bytes)), (std::vector<uint32_t>{4, 5}));
}

TEST(MessageDecoderTest, UnknownFieldsCanBeCounted) {
  const std::string bytes = FromHex("20 01 08 01 22 00 28 01 08 02 a8 1f 05");
  const Event event(bytes);
  EXPECT_EQ(event.unknown_fields().end() - event.unknown_fields().begin(), 4);
  UnknownFieldRange::Iterator it = event.unknown_fields().begin();
  EXPECT_EQ((it++)->id(), 4u);
  EXPECT_EQ(event.unknown_fields().end() - it, 3);
  EXPECT_EQ(it - it, 0);
  EXPECT_EQ(std::distance(it, event.unknown_fields().end()), 3);
  EXPECT_TRUE(it != event.unknown_fields().begin());
  EXPECT_TRUE(it == ++event.unknown_fields().begin());

  const std::string malformed = FromHex("20 01 08 01 28 01 00 30 01");
  const Event stopped(malformed);
  EXPECT_EQ(stopped.unknown_fields().end() - stopped.unknown_fields().begin(),
            2);
  const Event empty((std::string_view()));
  EXPECT_EQ(empty.unknown_fields().end() - empty.unknown_fields().begin(), 0);
}

// Oneofs

uint32_t Which(const std::string& hex) {
  const std::string bytes = FromHex(hex);
  return MessageDecoder<1, 2, 3, 500>(bytes).WhichOneof({1, 3, 500});
}

TEST(WhichOneofTest, TellsTheMemberThatIsThere) {
  EXPECT_EQ(Which(""), 0u);
  EXPECT_EQ(Which("10 01"), 0u);
  EXPECT_EQ(Which("08 01"), 1u);
  EXPECT_EQ(Which("08 00 10 01"), 1u);
  EXPECT_EQ(Which("10 01 18 01"), 3u);
  EXPECT_EQ(Which("a0 1f 01"), 500u);
}

TEST(WhichOneofTest, TheLastMemberCounts) {
  EXPECT_EQ(Which("08 01 18 01"), 3u);
  EXPECT_EQ(Which("18 01 08 01"), 1u);
  EXPECT_EQ(Which("08 01 18 01 08 01 10 01"), 1u);
  EXPECT_EQ(Which("10 01 a0 1f 01 08 01 18 01 1a 00 10 01"), 3u);
  EXPECT_EQ(Which("08 01 18 01 a0 1f 01"), 500u);
  // Fields after an error are absent.
  EXPECT_EQ(Which("08 01 18 01 0f 08 01"), 3u);
}

TEST(WhichOneofTest, UnknownIdsAreNotThere) {
  const std::string bytes = FromHex("08 01 20 01");
  const Event event(bytes);
  EXPECT_EQ(event.WhichOneof({4}), 0u);
  EXPECT_EQ(event.WhichOneof({1, 4}), 1u);
  EXPECT_EQ(event.WhichOneof({}), 0u);
}

// Perfetto's templates.

TEST(TypedProtoDecoderTest, KnowsAllFieldsUpToTheLargest) {
  const std::string bytes = FromHex("08 07 92 03 02 61 62 98 03 01");
  const TypedProtoDecoder<50, true> decoder(bytes);
  EXPECT_EQ(decoder.at<1>().as_int32(), 7);
  EXPECT_EQ(decoder.at<50>().as_std_string(), "ab");
  EXPECT_FALSE(decoder.at<49>().valid());
  EXPECT_TRUE(decoder.HasField(50));
  EXPECT_FALSE(decoder.HasField(51));
  EXPECT_EQ(UnknownIds(decoder), (std::vector<uint32_t>{51}));
  const TypedProtoDecoder<50, true> copy = decoder;
  EXPECT_EQ(copy.at<50>().as_std_string(), "ab");
}

TEST(SelectiveTypedProtoDecoderTest, KnowsTheSelectedFields) {
  const std::string bytes = FromHex("08 01 10 02 18 03 20 04 28 05 a0 1f 06");
  const SelectiveTypedProtoDecoder<5> decoder(
      reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
      SelectiveDecodeMask<2, 4>());
  EXPECT_FALSE(decoder.at<1>().valid());
  EXPECT_EQ(decoder.at<2>().as_int32(), 2);
  EXPECT_FALSE(decoder.at<3>().valid());
  EXPECT_EQ(decoder.at<4>().as_int32(), 4);
  EXPECT_FALSE(decoder.HasField(5));
  EXPECT_EQ(UnknownIds(decoder), (std::vector<uint32_t>{1, 3, 5, 500}));

  std::string rest;
  for (const Field& field : decoder.unknown_fields())
    field.SerializeAndAppendTo(&rest);
  EXPECT_EQ(test::Hex(rest), "08 01 18 03 28 05 a0 1f 06");
}

TEST(SelectiveTypedProtoDecoderTest, TakesIdsInAnyOrder) {
  const std::string bytes = FromHex("08 01 10 02 18 03 40 04 28 05 a0 1f 06");
  using Mask = SelectiveDecodeMask<8, 3, 1, 3>;
  static_assert(Mask::kMaxFieldId == 8);
  static_assert(Mask::contains(8) && Mask::contains(3) && Mask::contains(1));
  static_assert(!Mask::contains(0) && !Mask::contains(4));
  static constexpr Mask kMask{};
  const SelectiveTypedProtoDecoder<static_cast<int>(Mask::kMaxFieldId)> decoder(
      bytes.data(), bytes.size(), kMask);
  EXPECT_EQ(decoder.at<1>().as_int32(), 1);
  EXPECT_FALSE(decoder.at<2>().valid());
  EXPECT_EQ(decoder.at<3>().as_int32(), 3);
  EXPECT_EQ(decoder.at<8>().as_int32(), 4);
  EXPECT_EQ(UnknownIds(decoder), (std::vector<uint32_t>{2, 5, 500}));

  static_assert(SelectiveDecodeMask<>::kMaxFieldId == 0);
  static_assert(!SelectiveDecodeMask<>::contains(1));
  const SelectiveTypedProtoDecoder<5> none(bytes.data(), bytes.size(),
                                           SelectiveDecodeMask<>());
  EXPECT_EQ(UnknownIds(none), (std::vector<uint32_t>{1, 2, 3, 8, 5, 500}));
}

TEST(SelectiveTypedProtoDecoderTest, CanBeCopied) {
  const std::string bytes = FromHex("08 01 10 02");
  SelectiveTypedProtoDecoder<5> decoder(bytes.data(), bytes.size(),
                                        SelectiveDecodeMask<1>());
  const SelectiveTypedProtoDecoder<5> copy = decoder;
  decoder = SelectiveTypedProtoDecoder<5>(bytes.data(), bytes.size(),
                                          SelectiveDecodeMask<2>());
  EXPECT_EQ(copy.at<1>().as_int32(), 1);
  EXPECT_FALSE(copy.at<2>().valid());
  EXPECT_FALSE(decoder.at<1>().valid());
  EXPECT_EQ(decoder.at<2>().as_int32(), 2);
}

}  // namespace
}  // namespace protozero
