// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/c/pbz_decoder.h"

#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "protozero/proto_decoder.h"
#include "test/testing/hex.h"
#include "test/testing/message_tree.h"

#include <gtest/gtest.h>

namespace protozero::test {

namespace {

using FieldOfCpp = ::protozero::Field;

static_assert(int{PBZ_MAX_GROUP_DEPTH} == int{ProtoDecoder::kMaxGroupDepth});

void ExpectSameField(const pbz_field& field, const FieldOfCpp& expected) {
  ASSERT_EQ(field.number, expected.id());
  ASSERT_EQ(static_cast<int>(field.wire_type),
            static_cast<int>(expected.type()));
  ASSERT_EQ(field.data, expected.data());
  ASSERT_EQ(field.size, expected.size());
  ASSERT_EQ(pbz_field_uint64(&field), expected.as_uint64());
  ASSERT_EQ(pbz_field_int64(&field), expected.as_int64());
  ASSERT_EQ(pbz_field_uint32(&field), expected.as_uint32());
  ASSERT_EQ(pbz_field_int32(&field), expected.as_int32());
  ASSERT_EQ(pbz_field_sint64(&field), expected.as_sint64());
  ASSERT_EQ(pbz_field_sint32(&field), expected.as_sint32());
  ASSERT_EQ(pbz_field_bool(&field), expected.as_bool());
  const float a = pbz_field_float(&field);
  const float b = expected.as_float();
  ASSERT_EQ(memcmp(&a, &b, sizeof(a)), 0);
  const double c = pbz_field_double(&field);
  const double d = expected.as_double();
  ASSERT_EQ(memcmp(&c, &d, sizeof(c)), 0);
}

// Reads |bytes|, and the messages nested in it, with both decoders.
void ExpectSameReading(const std::string& input, int depth = 0) {
  // A copy of exactly this size, so that sanitizers see reads beyond its end.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  ProtoDecoder expected(bytes.data(), bytes.size());
  pbz_decoder decoder;
  pbz_field field;
  pbz_decoder_init(&decoder, bytes.data(), bytes.size());
  while (pbz_decoder_next(&decoder, &field)) {
    const FieldOfCpp expected_field = expected.ReadField();
    ASSERT_TRUE(expected_field.valid());
    ASSERT_NO_FATAL_FAILURE(ExpectSameField(field, expected_field));
    if (field.wire_type != PBZ_WIRE_BYTES && field.wire_type != PBZ_WIRE_GROUP)
      continue;
    if (depth < 5) {
      ASSERT_NO_FATAL_FAILURE(ExpectSameReading(
          std::string(field.data, field.data + field.size), depth + 1));
    }
    if (field.wire_type == PBZ_WIRE_BYTES) {
      pbz_packed packed;
      pbz_field number;
      for (const auto wire_type :
           {PBZ_WIRE_VARINT, PBZ_WIRE_FIXED32, PBZ_WIRE_FIXED64}) {
        pbz_packed_init(&packed, &field, wire_type);
        size_t count = 0;
        while (pbz_packed_next(&packed, &number)) {
          ASSERT_EQ(number.wire_type, wire_type);
          ASSERT_LE(++count, field.size);
        }
        if (wire_type == PBZ_WIRE_FIXED32 && packed.status == PBZ_DECODE_OK) {
          ASSERT_EQ(count * 4, field.size);
        }
      }
    }
  }
  ASSERT_FALSE(expected.ReadField().valid());
  ASSERT_EQ(static_cast<int>(decoder.status),
            static_cast<int>(expected.status()))
      << Hex(input);
  if (decoder.status != PBZ_DECODE_OK) {
    ASSERT_EQ(decoder.error_offset, expected.error_offset()) << Hex(input);
  }
  // The decoder stays at its end.
  ASSERT_FALSE(pbz_decoder_next(&decoder, &field));
}

TEST(PbzDecoderTest, RandomMessagesAsInCpp) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    ASSERT_NO_FATAL_FAILURE(
        ExpectSameReading(EncodeTree(RandomTree(random, 8, 5), {64})));
  }
}

TEST(PbzDecoderTest, EveryPrefixAsInCpp) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200; ++i) {
    const std::string bytes = EncodeTree(RandomTree(random, 5, 4), {64});
    for (size_t size = 0; size < std::min<size_t>(bytes.size(), 300); ++size)
      ASSERT_NO_FATAL_FAILURE(ExpectSameReading(bytes.substr(0, size)));
  }
}

TEST(PbzDecoderTest, ChangedBytesAsInCpp) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = EncodeTree(RandomTree(random, 5, 4), {64});
    for (uint64_t j = 0; j < 1 + random() % 4 && !bytes.empty(); ++j) {
      bytes[random() % bytes.size()] =
          static_cast<char>(random() % 3 ? random() : 0xff);
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSameReading(bytes));
  }
}

TEST(PbzDecoderTest, RandomBytesAsInCpp) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 200000; ++i) {
    std::string bytes(random() % 24, '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random() % 4 ? random() % 16 : random());
    ASSERT_NO_FATAL_FAILURE(ExpectSameReading(bytes));
  }
}

TEST(PbzDecoderTest, LongVarintsAsInCpp) {
  for (size_t size = 0; size < 13; ++size) {
    for (const char last : {'\0', '\1', '\2', '\x7f'}) {
      const std::string varint = std::string(size, '\xff') + last;
      const std::string zeros = std::string(size, '\x80') + last;
      for (const std::string& number : {varint, zeros}) {
        for (const char* tag : {"\x08", "\x0a", "\x0b\x08", ""}) {
          ASSERT_NO_FATAL_FAILURE(ExpectSameReading(tag + number));
          ASSERT_NO_FATAL_FAILURE(
              ExpectSameReading(tag + number + "123456789"));
        }
      }
    }
  }
}

TEST(PbzDecoderTest, DeepGroupsAsInCpp) {
  for (const size_t depth : {1u, 2u, 99u, 100u, 101u, 1000u}) {
    const std::string begin(depth, '\x0b');
    const std::string end(depth, '\x0c');
    ASSERT_NO_FATAL_FAILURE(ExpectSameReading(begin));
    ASSERT_NO_FATAL_FAILURE(ExpectSameReading(begin + end));
    ASSERT_NO_FATAL_FAILURE(ExpectSameReading(begin + "\x14" + end));
    ASSERT_NO_FATAL_FAILURE(ExpectSameReading(begin + end + "\x0c"));
  }
}

TEST(PbzDecoderTest, NoBytes) {
  pbz_decoder decoder;
  pbz_field field;
  pbz_decoder_init(&decoder, nullptr, 0);
  EXPECT_FALSE(pbz_decoder_next(&decoder, &field));
  EXPECT_EQ(decoder.status, PBZ_DECODE_OK);
}

TEST(PbzDecoderTest, PackedAndSingleElements) {
  const uint8_t bytes[] = {0x0a, 0x03, 0x01, 0x96, 0x01, 0x08, 0x05, 0x0d,
                           0x01, 0x00, 0x00, 0x00, 0x0a, 0x02, 0x07, 0x80};
  pbz_decoder decoder;
  pbz_field field;
  pbz_field number;
  pbz_packed packed;
  std::vector<uint64_t> numbers;
  std::vector<pbz_decode_status> statuses;
  pbz_decoder_init(&decoder, bytes, sizeof(bytes));
  while (pbz_decoder_next(&decoder, &field)) {
    pbz_packed_init(&packed, &field, PBZ_WIRE_VARINT);
    while (pbz_packed_next(&packed, &number))
      numbers.push_back(pbz_field_uint64(&number));
    EXPECT_FALSE(pbz_packed_next(&packed, &number));
    statuses.push_back(packed.status);
  }
  // The fixed32 field is not a packed field of varints.
  EXPECT_EQ(numbers, (std::vector<uint64_t>{1, 150, 5, 7}));
  EXPECT_EQ(statuses, (std::vector<pbz_decode_status>{
                          PBZ_DECODE_OK, PBZ_DECODE_OK, PBZ_DECODE_OK,
                          PBZ_DECODE_TRUNCATED}));
}

TEST(PbzDecoderTest, EveryStatusHasItsOwnText) {
  std::vector<std::string> texts;
  for (int i = PBZ_DECODE_OK; i <= PBZ_DECODE_TOO_LONG; ++i)
    texts.push_back(
        pbz_decode_status_string(static_cast<pbz_decode_status>(i)));
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::unique(texts.begin(), texts.end()), texts.end());
}

}  // namespace

}  // namespace protozero::test
