// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/proto_decoder.h"

#include <stdint.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/message.h"
#include "protozero/static_buffer.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using proto_utils::ProtoWireType;
using test::FromHex;

// Fields that are read one by one. The errors have a file of their own.

TEST(ProtoDecoderTest, ReadsEveryWireType) {
  const std::string bytes = FromHex(
      "08 96 01"                    // 1: varint 150
      "11 01 02 03 04 05 06 07 08"  // 2: fixed64
      "1a 03 61 62 63"              // 3: "abc"
      "25 01 02 03 04"              // 4: fixed32
      "2b 08 01 2c");               // 5: group {1: varint 1}
  ProtoDecoder decoder(bytes);

  Field field = decoder.ReadField();
  EXPECT_EQ(field.id(), 1u);
  EXPECT_EQ(field.type(), ProtoWireType::kVarInt);
  EXPECT_EQ(field.as_uint64(), 150u);

  field = decoder.ReadField();
  EXPECT_EQ(field.id(), 2u);
  EXPECT_EQ(field.type(), ProtoWireType::kFixed64);
  EXPECT_EQ(field.as_uint64(), 0x0807060504030201u);

  field = decoder.ReadField();
  EXPECT_EQ(field.id(), 3u);
  EXPECT_EQ(field.type(), ProtoWireType::kLengthDelimited);
  EXPECT_EQ(field.as_std_string(), "abc");
  // The field refers to the message's bytes, not to a copy.
  EXPECT_EQ(field.as_string().data, bytes.data() + 14);

  field = decoder.ReadField();
  EXPECT_EQ(field.id(), 4u);
  EXPECT_EQ(field.type(), ProtoWireType::kFixed32);
  EXPECT_EQ(field.as_uint64(), 0x04030201u);

  field = decoder.ReadField();
  EXPECT_EQ(field.id(), 5u);
  EXPECT_EQ(field.type(), ProtoWireType::kStartGroup);
  EXPECT_EQ(test::Hex(field.as_std_string()), "08 01");

  EXPECT_FALSE(decoder.ReadField().valid());
  EXPECT_FALSE(decoder.ReadField().valid());
  EXPECT_EQ(decoder.status(), DecodeStatus::kOk);
  EXPECT_EQ(decoder.error_offset(), 0u);
}

TEST(ProtoDecoderTest, TakesBytesInSeveralForms) {
  const std::string bytes = FromHex("08 07");
  const std::vector<uint8_t> vector(bytes.begin(), bytes.end());
  EXPECT_EQ(ProtoDecoder(bytes.data(), bytes.size()).ReadField().as_int32(), 7);
  EXPECT_EQ(ProtoDecoder(vector.data(), vector.size()).ReadField().as_int32(),
            7);
  EXPECT_EQ(ProtoDecoder(bytes).ReadField().as_int32(), 7);
  EXPECT_EQ(ProtoDecoder(std::string_view(bytes)).ReadField().as_int32(), 7);
  EXPECT_EQ(ProtoDecoder(ConstBytes(vector)).ReadField().as_int32(), 7);
}

TEST(ProtoDecoderTest, AnEmptyMessageHasNoFields) {
  for (ProtoDecoder decoder : {ProtoDecoder(nullptr, 0), ProtoDecoder("", 0),
                               ProtoDecoder(ConstBytes())}) {
    EXPECT_FALSE(decoder.ReadField().valid());
    EXPECT_FALSE(decoder.FindField(1).valid());
    EXPECT_EQ(decoder.status(), DecodeStatus::kOk);
    EXPECT_EQ(decoder.bytes_left(), 0u);
    EXPECT_EQ(decoder.read_offset(), 0u);
  }
}

TEST(ProtoDecoderTest, TellsWhereItIs) {
  const std::string bytes = FromHex("08 01 12 02 61 62 1d 00 00 00 00");
  ProtoDecoder decoder(bytes);
  EXPECT_EQ(decoder.begin(), reinterpret_cast<const uint8_t*>(bytes.data()));
  EXPECT_EQ(decoder.end(), decoder.begin() + bytes.size());
  const size_t kOffsets[] = {0, 2, 6, 11};
  for (const size_t offset : kOffsets) {
    EXPECT_EQ(decoder.read_offset(), offset);
    EXPECT_EQ(decoder.bytes_left(), bytes.size() - offset);
    decoder.ReadField();
  }
  EXPECT_EQ(decoder.bytes_left(), 0u);

  decoder.Reset();
  EXPECT_EQ(decoder.read_offset(), 0u);
  EXPECT_EQ(decoder.ReadField().id(), 1u);
  decoder.Reset(decoder.begin() + 6);
  EXPECT_EQ(decoder.ReadField().id(), 3u);
}

TEST(ProtoDecoderTest, FindsTheFirstFieldOfAnId) {
  const std::string bytes = FromHex("08 01 10 02 08 03");
  ProtoDecoder decoder(bytes);
  decoder.ReadField();
  EXPECT_EQ(decoder.FindField(1).as_int32(), 1);
  EXPECT_EQ(decoder.FindField(2).as_int32(), 2);
  EXPECT_FALSE(decoder.FindField(3).valid());
  EXPECT_FALSE(decoder.FindField(0).valid());
  EXPECT_EQ(decoder.status(), DecodeStatus::kOk);
  // The offset does not move.
  EXPECT_EQ(decoder.read_offset(), 2u);
  EXPECT_EQ(decoder.ReadField().id(), 2u);
}

// Values on both sides of every power of two, with each allowed number of
// bytes.
TEST(ProtoDecoderTest, ReadsVarIntsOfEverySize) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value :
         {(uint64_t{1} << bit) - 1, uint64_t{1} << bit,
          (uint64_t{1} << bit) + 1, ~(uint64_t{1} << bit)}) {
      const size_t shortest = proto_utils::VarIntSize(value);
      for (size_t size = shortest; size <= 10; ++size) {
        std::string bytes = "\x08";
        for (size_t i = 0; i < size; ++i) {
          const uint64_t group = i < 10 ? value >> (7 * i) & 0x7f : 0;
          bytes += static_cast<char>(group | (i + 1 < size ? 0x80 : 0));
        }
        // The value is at the end of the buffer, or has bytes after it.
        for (const char* rest : {"", "\x10\x01", "\x12\x07xxxxxxx"}) {
          const std::string message = bytes + rest;
          const std::vector<char> exact(message.begin(), message.end());
          ProtoDecoder decoder(exact.data(), exact.size());
          const Field field = decoder.ReadField();
          ASSERT_TRUE(field.valid()) << test::Hex(message);
          EXPECT_EQ(field.as_uint64(), value) << test::Hex(message);
          EXPECT_EQ(decoder.read_offset(), bytes.size());
        }
      }
    }
  }
}

TEST(ProtoDecoderTest, DropsBitsBeyondThe64th) {
  ProtoDecoder decoder(FromHex("08 ff ff ff ff ff ff ff ff ff 7f 10 05"));
  const std::string bytes = FromHex("08 ff ff ff ff ff ff ff ff ff 7f 10 05");
  decoder = ProtoDecoder(bytes);
  EXPECT_EQ(decoder.ReadField().as_uint64(), ~uint64_t{0});
  EXPECT_EQ(decoder.ReadField().as_uint64(), 5u);
}

TEST(ProtoDecoderTest, ReadsIdsOfEverySize) {
  for (int bit = 0; bit < 29; ++bit) {
    for (const uint32_t id : {(1u << bit) - 1, 1u << bit, 536870911u >> bit}) {
      if (id == 0)
        continue;
      const uint32_t tag = proto_utils::MakeTagVarInt(id);
      for (size_t size = proto_utils::VarIntSize(tag); size <= 5; ++size) {
        uint8_t head[6];
        proto_utils::WriteRedundantVarInt(tag, head, size);
        head[size] = 9;
        const std::vector<uint8_t> exact(head, head + size + 1);
        ProtoDecoder decoder(exact.data(), exact.size());
        const Field field = decoder.ReadField();
        EXPECT_EQ(field.id(), id);
        EXPECT_EQ(field.as_uint32(), 9u);
        EXPECT_EQ(decoder.bytes_left(), 0u);
      }
    }
  }
}

TEST(ProtoDecoderTest, ReadsPayloadsOfEverySize) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{127}, size_t{128},
                            size_t{16383}, size_t{16384}, size_t{300000}}) {
    const std::string payload(size, 'p');
    for (size_t width = proto_utils::VarIntSize(size); width <= 10; ++width) {
      std::string bytes = "\x0a";
      for (size_t i = 0; i < width; ++i) {
        const uint64_t group = uint64_t{size} >> (7 * i) & 0x7f;
        bytes += static_cast<char>(group | (i + 1 < width ? 0x80 : 0));
      }
      bytes += payload;
      ProtoDecoder decoder(bytes);
      const Field field = decoder.ReadField();
      ASSERT_TRUE(field.valid()) << size << " " << width;
      EXPECT_EQ(field.as_string().data, bytes.data() + 1 + width);
      EXPECT_EQ(field.size(), size);
      EXPECT_EQ(decoder.bytes_left(), 0u);
    }
  }
}

// Reads the output of Message.
TEST(ProtoDecoderTest, ReadsWhatMessagesWrite) {
  uint8_t buffer[1024];
  StaticBuffered<Message> message(buffer, sizeof(buffer));
  message->AppendVarInt(1, std::numeric_limits<int32_t>::min());
  message->AppendSignedVarInt(2, std::numeric_limits<int64_t>::min());
  message->AppendFixed(3, 1.5f);
  message->AppendFixed(4, -2.5);
  message->AppendString(536870911, "name");
  Message* child = message->BeginNestedMessage<Message>(6);
  child->AppendVarInt(1, 7);
  child->AppendString(2, std::string(200, 'x'));
  message->AppendTinyVarInt(7, 1);

  ProtoDecoder decoder(buffer, message.Finalize());
  EXPECT_EQ(decoder.ReadField().as_int32(),
            std::numeric_limits<int32_t>::min());
  EXPECT_EQ(decoder.ReadField().as_sint64(),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(decoder.ReadField().as_float(), 1.5f);
  EXPECT_EQ(decoder.ReadField().as_double(), -2.5);
  const Field name = decoder.ReadField();
  EXPECT_EQ(name.id(), 536870911u);
  EXPECT_EQ(name.as_std_string(), "name");
  ProtoDecoder nested(decoder.ReadField().as_bytes());
  EXPECT_EQ(nested.ReadField().as_int32(), 7);
  EXPECT_EQ(nested.ReadField().size(), 200u);
  EXPECT_FALSE(nested.ReadField().valid());
  EXPECT_TRUE(decoder.ReadField().as_bool());
  EXPECT_FALSE(decoder.ReadField().valid());
  EXPECT_EQ(decoder.status(), DecodeStatus::kOk);
}

// Groups

TEST(ProtoDecoderGroupTest, CanBeEntered) {
  const std::string bytes = FromHex(
      "0b"           // 1: group
      "08 05"        //   1: 5
      "13"           //   2: group
      "1a 02 14 0c"  //     3: bytes that look like ends of groups
      "14"           //
      "0c"           //
      "10 06");      // 2: 6
  ProtoDecoder decoder(bytes);
  const Field group = decoder.ReadField();
  EXPECT_EQ(group.id(), 1u);
  EXPECT_EQ(group.type(), ProtoWireType::kStartGroup);
  EXPECT_EQ(decoder.ReadField().as_int32(), 6);

  ProtoDecoder outer(group.as_bytes());
  EXPECT_EQ(outer.ReadField().as_int32(), 5);
  const Field inner_group = outer.ReadField();
  EXPECT_EQ(inner_group.id(), 2u);
  EXPECT_FALSE(outer.ReadField().valid());
  EXPECT_EQ(outer.status(), DecodeStatus::kOk);

  ProtoDecoder inner(inner_group.as_bytes());
  EXPECT_EQ(test::Hex(inner.ReadField().as_std_string()), "14 0c");
  EXPECT_FALSE(inner.ReadField().valid());
  EXPECT_EQ(inner.status(), DecodeStatus::kOk);
}

TEST(ProtoDecoderGroupTest, MayBeEmptyAndHaveTheSameIdInside) {
  const std::string bytes = FromHex("0b 0b 0c 0b 0c 0c 0b 0c");
  ProtoDecoder decoder(bytes);
  EXPECT_EQ(decoder.ReadField().size(), 4u);
  EXPECT_EQ(decoder.ReadField().size(), 0u);
  EXPECT_FALSE(decoder.ReadField().valid());
  EXPECT_EQ(decoder.status(), DecodeStatus::kOk);
}

TEST(ProtoDecoderGroupTest, HoldsEveryWireType) {
  const std::string contents = FromHex(
      "08 96 01 11 01 02 03 04 05 06 07 08 1a 03 61 62 63 25 01 02 03 04");
  const std::string bytes =
      FromHex("fb ff ff ff 0f") + contents + FromHex("fc ff ff ff 0f");
  ProtoDecoder decoder(bytes);
  const Field group = decoder.ReadField();
  EXPECT_EQ(group.id(), 536870911u);
  EXPECT_EQ(group.as_std_string(), contents);
  std::string again;
  group.SerializeAndAppendTo(&again);
  EXPECT_EQ(again, bytes);
}

TEST(ProtoDecoderGroupTest, AreSkippedToADepthOf100) {
  const std::string bytes =
      std::string(100, '\x0b') + std::string(100, '\x0c') + "\x10\x01";
  ProtoDecoder decoder(bytes);
  EXPECT_EQ(decoder.ReadField().size(), 198u);
  EXPECT_EQ(decoder.ReadField().as_int32(), 1);
  EXPECT_EQ(decoder.status(), DecodeStatus::kOk);
  EXPECT_EQ(ProtoDecoder::kMaxGroupDepth, 100u);
}

// The number of siblings does not matter.
TEST(ProtoDecoderGroupTest, AreCountedByDepthOnly) {
  std::string contents;
  for (int i = 0; i < 1000; ++i)
    contents += "\x13\x14";
  const std::string bytes = "\x0b" + contents + "\x0c";
  ProtoDecoder decoder(bytes);
  EXPECT_EQ(decoder.ReadField().as_std_string(), contents);
}

}  // namespace
}  // namespace protozero
