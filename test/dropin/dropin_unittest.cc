// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The differences in differences.txt that need no change: these calls are
// written as users of Perfetto's protozero write them.

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/packed_repeated_fields.h"
#include "protozero/proto_decoder.h"
#include "protozero/proto_utils.h"
#include "protozero/scattered_heap_buffer.h"
#include "test/benchmarks/perfetto_trace.pbzero.h"

namespace protozero {
namespace {

using perfetto::protos::pbzero::CounterDescriptor;
using perfetto::protos::pbzero::TrackDescriptor;
using perfetto::protos::pbzero::TrackEvent;
using proto_utils::ProtoWireType;

TEST(DropinTest, StringsOfAllKindsAreAppended) {
  HeapBuffered<> message;
  const std::string string = "ab";
  message->AppendString(1, "ab");
  message->AppendString(1, string);
  message->AppendString(1, std::string("ab"));
  EXPECT_EQ(message.SerializeAsString(),
            "\x0a\x02"
            "ab"
            "\x0a\x02"
            "ab"
            "\x0a\x02"
            "ab");
}

TEST(DropinTest, StringSettersTakeWhatTheyTookAsOverloads) {
  HeapBuffered<TrackEvent> event;
  const std::string name = "name";
  const ConstChars chars{name.data(), name.size()};
  event->set_name(name);
  event->set_name(std::string(name));
  event->set_name(chars);
  event->set_name("name");
  event->set_name(name.data(), name.size());
  event->add_categories(chars);
  event->add_categories(name);
  const std::string bytes = event.SerializeAsString();
  const TrackEvent::Decoder decoder(bytes);
  EXPECT_EQ(decoder.name().ToStdString(), name);
  int categories = 0;
  for (auto it = decoder.categories(); it; ++it) {
    EXPECT_EQ((*it).ToStdString(), name);
    ++categories;
  }
  EXPECT_EQ(categories, 2);
}

TEST(DropinTest, DecodersTakePointersToBytesAndMove) {
  const uint8_t bytes[] = {0x08, 0x07};
  const uint8_t* const data = bytes;
  const size_t size = sizeof(bytes);
  TypedProtoDecoder<3, false> decoder(data, size);
  TypedProtoDecoder<3, false> moved(std::move(decoder));
  EXPECT_EQ(moved.at<1>().as_int32(), 7);
  const TrackEvent::Decoder event(data, size);
  EXPECT_FALSE(event.has_name());
}

TEST(DropinTest, NamesOfEnumValuesAreThoseOfTheClass) {
  EXPECT_STREQ(TrackEvent::Type_Name(TrackEvent::TYPE_SLICE_BEGIN),
               "TYPE_SLICE_BEGIN");
  const char* (*const name)(CounterDescriptor::Unit) =
      &CounterDescriptor::Unit_Name;
  EXPECT_STREQ(name(CounterDescriptor::UNIT_COUNT), "UNIT_COUNT");
}

TEST(DropinTest, RepeatedNumbersHaveTheIteratorOfTheirType) {
  using Ids = decltype(std::declval<TrackEvent::Decoder>().flow_ids());
  static_assert(std::is_same<Ids, RepeatedFieldIterator<uint64_t>>::value);
}

TEST(DropinTest, PackedIteratorsAreUsedByTheirName) {
  const uint8_t bytes[] = {0x01, 0x96, 0x01};
  bool error = false;
  PackedRepeatedFieldIterator<ProtoWireType::kVarInt, int32_t> it(
      bytes, sizeof(bytes), &error);
  std::vector<int32_t> values;
  for (; it; it++)
    values.push_back(*it);
  EXPECT_EQ(values, (std::vector<int32_t>{1, 150}));
  EXPECT_FALSE(error);
}

TEST(DropinTest, UnifiedIteratorsAndDecodersAreAssigned) {
  HeapBuffered<Message> message;
  message->AppendVarInt(3, 7);
  const std::vector<uint8_t> bytes = message.SerializeAsArray();
  UnifiedRepeatedFieldIterator<proto_utils::ProtoWireType::kVarInt, int32_t> it;
  EXPECT_FALSE(it);
  TypedProtoDecoder<5, true> decoder(nullptr, 0);
  decoder = TypedProtoDecoder<5, true>(bytes.data(), bytes.size());
  it = decoder.GetUnifiedRepeated<proto_utils::ProtoWireType::kVarInt, int32_t>(
      3);
  ASSERT_TRUE(it);
  EXPECT_EQ(*it++, 7);
  EXPECT_FALSE(it);
}

TEST(DropinTest, SelectiveMasksAreAsked) {
  static constexpr SelectiveDecodeMask<8, 3> kMask{};
  EXPECT_TRUE(kMask.contains(3));
  EXPECT_FALSE(kMask.contains(4));
}

TEST(DropinTest, TotalSizesAreAskedFor) {
  ScatteredHeapBuffer buffer(16, 16);
  EXPECT_EQ(buffer.GetTotalSize(), 0u);
}

TEST(DropinTest, FieldsAreDescribedByTypes) {
  using Name = TrackEvent::FieldMetadata_Name;
  static_assert(std::is_base_of<proto_utils::FieldMetadataBase, Name>::value);
  static_assert(std::is_same<std::remove_const_t<decltype(TrackEvent::kName)>,
                             Name>::value);
  static_assert(Name::kFieldId == TrackEvent::kNameFieldNumber);
  static_assert(std::is_same<Name::cpp_field_type, std::string>::value);
  static_assert(std::is_same<Name::message_type, TrackEvent>::value);
}

}  // namespace
}  // namespace protozero
