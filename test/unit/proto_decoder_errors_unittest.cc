// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stddef.h>
#include <stdint.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "test/testing/hex.h"

// Bytes that are not a message. Every decoder gets them in memory of exactly
// their size, so that AddressSanitizer notices each read beyond them.

namespace protozero {
namespace {

using proto_utils::ProtoSchemaType;
using proto_utils::ProtoWireType;
using test::FromHex;

class ExactBytes {
 public:
  explicit ExactBytes(const std::string& bytes)
      : data_(new uint8_t[bytes.size()]), size_(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), data_.get());
  }
  const uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  std::unique_ptr<uint8_t[]> data_;
  size_t size_;
};

// Reads all of a field, so that sanitizers check the memory it refers to.
uint64_t Use(const Field& field) {
  uint64_t sum = field.as_uint64() + field.as_bool();
  for (size_t i = 0; i < field.size(); ++i)
    sum += field.data()[i];
  return sum;
}

struct Outcome {
  size_t fields;
  DecodeStatus status;
  size_t offset;
};

Outcome ReadAll(const ExactBytes& bytes) {
  ProtoDecoder decoder(bytes.data(), bytes.size());
  Outcome outcome{};
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    Use(field);
    ++outcome.fields;
  }
  outcome.status = decoder.status();
  outcome.offset = decoder.error_offset();
  EXPECT_EQ(decoder.bytes_left() == 0, outcome.status == DecodeStatus::kOk);
  // The decoder stays at the error.
  const size_t offset = decoder.read_offset();
  EXPECT_FALSE(decoder.ReadField().valid());
  EXPECT_EQ(decoder.status(), outcome.status);
  EXPECT_EQ(decoder.error_offset(), outcome.offset);
  EXPECT_EQ(decoder.read_offset(), offset);
  // After Reset(), it starts again.
  decoder.Reset();
  EXPECT_EQ(decoder.status(), DecodeStatus::kOk);
  EXPECT_EQ(decoder.error_offset(), 0u);
  EXPECT_EQ(decoder.ReadField().valid(), outcome.fields > 0);
  return outcome;
}

using Typed = MessageDecoder<1, 2, 3, 4, 5, 500, 536870911>;

// Calls all functions of a typed decoder on any bytes.
uint64_t ReadTyped(const ExactBytes& bytes) {
  const Typed decoder(bytes.data(), bytes.size());
  uint64_t sum = 0;
  for (const uint32_t id : {1u, 2u, 3u, 4u, 5u, 6u, 500u, 536870911u}) {
    sum += Use(decoder.Get(id));
    for (auto it = decoder.GetRepeated<ConstBytes>(id); it; ++it)
      sum += Use(it.field());
    for (auto it = decoder.GetRepeated<int32_t>(id); it; ++it)
      sum += static_cast<uint32_t>(*it);
    bool error = false;
    for (auto value :
         decoder.GetRepeatedScalar<ProtoSchemaType::kSint64>(id, &error)) {
      sum += static_cast<uint64_t>(value);
    }
    for (auto value :
         decoder.GetRepeatedScalar<ProtoSchemaType::kFixed32>(id, &error)) {
      sum += value;
    }
    for (auto it = decoder.GetPackedRepeated<ProtoWireType::kFixed64, uint64_t>(
             id, nullptr);
         it; ++it) {
      sum += *it;
    }
  }
  for (const Field& field : decoder.unknown_fields())
    sum += Use(field);
  sum += decoder.WhichOneof({1, 2, 3, 4, 5, 500, 536870911});
  return sum;
}

// Expects an error, and all fields before it, in both decoders.
void ExpectError(const std::string& hex,
                 size_t fields,
                 DecodeStatus status,
                 size_t offset) {
  SCOPED_TRACE(hex);
  const ExactBytes bytes(FromHex(hex));
  const Outcome outcome = ReadAll(bytes);
  EXPECT_EQ(outcome.fields, fields);
  EXPECT_EQ(outcome.status, status)
      << DecodeStatusToString(outcome.status) << " instead of "
      << DecodeStatusToString(status);
  EXPECT_EQ(outcome.offset, offset);

  const Typed typed(bytes.data(), bytes.size());
  EXPECT_EQ(typed.status(), status);
  EXPECT_EQ(typed.error_offset(), offset);
  ReadTyped(bytes);

  ProtoDecoder finder(bytes.data(), bytes.size());
  EXPECT_FALSE(finder.FindField(100).valid());
  EXPECT_EQ(finder.status(), status);
  EXPECT_EQ(finder.error_offset(), offset);
  EXPECT_EQ(finder.read_offset(), 0u);
}

TEST(ProtoDecoderErrorTest, Truncated) {
  const auto expect = [](const std::string& hex, size_t fields, size_t offset) {
    ExpectError(hex, fields, DecodeStatus::kTruncated, offset);
  };
  expect("80", 0, 0);  // In a tag.
  expect("08 01 ff ff ff ff", 1, 2);
  expect("08", 0, 0);           // Before a varint.
  expect("08 01 10 80", 1, 2);  // In a varint.
  expect("08 ff ff ff ff ff ff ff ff ff", 0, 0);
  expect("0d 00 00 00", 0, 0);  // In a fixed32.
  expect("08 01 0d", 1, 2);
  expect("09 00 00 00 00 00 00 00", 0, 0);  // In a fixed64.
  expect("0a", 0, 0);                       // Before the size of a payload.
  expect("0a 80", 0, 0);                    // In the size.
  expect("0a 01", 0, 0);                    // Before the payload.
  expect("0a 05 61 62 63 64", 0, 0);
  expect("08 01 0a 7f 61", 1, 2);
  expect("0a 80 01 61", 0, 0);
  expect("0a ff ff ff ff 0f", 0, 0);                 // 2^32 - 1
  expect("0a 80 80 80 80 10", 0, 0);                 // 2^32
  expect("0a ff ff ff ff ff ff ff ff 7f", 0, 0);     // 2^63 - 1
  expect("0a ff ff ff ff ff ff ff ff ff 01", 0, 0);  // 2^64 - 1
  expect("0a fe ff ff ff ff ff ff ff ff 01", 0, 0);
}

TEST(ProtoDecoderErrorTest, TruncatedGroup) {
  const auto expect = [](const std::string& hex, size_t fields, size_t offset) {
    ExpectError(hex, fields, DecodeStatus::kTruncated, offset);
  };
  // In a group without an end, the error is at the outermost group's beginning.
  expect("0b", 0, 0);
  expect("08 01 0b 08 01", 1, 2);
  expect("0b 13 14", 0, 0);
  expect("0b 13", 0, 0);
  // A field in a group.
  expect("0b 08", 0, 1);
  expect("0b 08 01 0a 05 61", 0, 3);
  expect("0b 0b 80", 0, 2);
  expect("08 01 0b 0a 01 0c", 1, 2);  // The end is in the payload.
}

TEST(ProtoDecoderErrorTest, BadVarInt) {
  const auto expect = [](const std::string& hex, size_t fields, size_t offset) {
    ExpectError(hex, fields, DecodeStatus::kBadVarInt, offset);
  };
  expect("08 80 80 80 80 80 80 80 80 80 80 00", 0, 0);
  expect("08 80 80 80 80 80 80 80 80 80 80", 0, 0);
  expect("08 01 0a 80 80 80 80 80 80 80 80 80 80 00", 1, 2);
  expect("0b 08 80 80 80 80 80 80 80 80 80 80 00 0c", 0, 1);
  // Tags that are longer than five bytes, or have more than 32 bits.
  expect("88 80 80 80 80 00 01", 0, 0);
  expect("88 80 80 80 10 01", 0, 0);
  expect("80 80 80 80 80", 0, 0);
  expect("08 01 ff ff ff ff ff", 1, 2);
  expect("0b 88 80 80 80 80 00 01 0c", 0, 1);
}

TEST(ProtoDecoderErrorTest, BadFieldId) {
  for (const char* type : {"00", "01", "02", "03", "04", "05", "06", "07"}) {
    ExpectError(type, 0, DecodeStatus::kBadFieldId, 0);
    ExpectError(std::string("08 01") + type + "01", 1,
                DecodeStatus::kBadFieldId, 2);
    ExpectError(std::string("0b ") + type + "01 0c", 0,
                DecodeStatus::kBadFieldId, 1);
  }
  ExpectError("80 00 01", 0, DecodeStatus::kBadFieldId, 0);
  ExpectError("80 80 80 80 00 01", 0, DecodeStatus::kBadFieldId, 0);
}

TEST(ProtoDecoderErrorTest, BadWireType) {
  ExpectError("0e", 0, DecodeStatus::kBadWireType, 0);
  ExpectError("0f 01", 0, DecodeStatus::kBadWireType, 0);
  ExpectError("08 01 fe ff ff ff 0f", 1, DecodeStatus::kBadWireType, 2);
  ExpectError("0b 0f 0c", 0, DecodeStatus::kBadWireType, 1);
}

TEST(ProtoDecoderErrorTest, UnmatchedEndGroup) {
  const auto expect = [](const std::string& hex, size_t fields, size_t offset) {
    ExpectError(hex, fields, DecodeStatus::kUnmatchedEndGroup, offset);
  };
  expect("0c", 0, 0);
  expect("08 01 0c", 1, 2);
  expect("0b 0c 0c", 1, 2);
  // The end tag has another id than the group.
  expect("0b 14", 0, 1);
  expect("0b 08 01 13 0c 14", 0, 4);
}

TEST(ProtoDecoderErrorTest, TooDeep) {
  std::string hex;
  for (int i = 0; i < 101; ++i)
    hex += "0b";
  for (int i = 0; i < 101; ++i)
    hex += "0c";
  ExpectError(hex, 0, DecodeStatus::kTooDeep, 100);
  ExpectError("08 01" + hex, 1, DecodeStatus::kTooDeep, 102);
  std::string endless;
  for (int i = 0; i < 100000; ++i)
    endless += "0b";
  ExpectError(endless, 0, DecodeStatus::kTooDeep, 100);
}

#if defined(__linux__) && defined(__LP64__)
// Zeros that take no memory, with some bytes at the beginning.
class HugeInput {
 public:
  explicit HugeInput(size_t size) : size_(size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
  }
  ~HugeInput() {
    if (data_ != nullptr)
      munmap(data_, size_);
  }
  HugeInput(const HugeInput&) = delete;
  HugeInput& operator=(const HugeInput&) = delete;

  uint8_t* data() { return data_; }
  size_t size() const { return size_; }
  uint8_t* Put(uint8_t* pos, const std::string& hex) {
    const std::string bytes = FromHex(hex);
    std::copy(bytes.begin(), bytes.end(), pos);
    return pos + bytes.size();
  }

 private:
  uint8_t* data_;
  size_t size_;
};

constexpr size_t kGigabyte = size_t{1} << 30;

TEST(ProtoDecoderErrorTest, TooLong) {
  HugeInput input(6 * kGigabyte);
  if (input.data() == nullptr)
    GTEST_SKIP() << "no address space";
  // The longest payload that a field can have, and one byte more.
  input.Put(input.data(), "0a ff ff ff ff 0f");
  ProtoDecoder longest(input.data(), input.size());
  EXPECT_EQ(longest.ReadField().size(), UINT32_MAX);
  input.Put(input.data(), "0a 80 80 80 80 10");
  ProtoDecoder too_long(input.data(), input.size());
  EXPECT_FALSE(too_long.ReadField().valid());
  EXPECT_EQ(too_long.status(), DecodeStatus::kTooLong);
  // It is too long even if its last byte is the last one of all, and cut off
  // without that.
  ProtoDecoder whole(input.data(), 6 + 4 * kGigabyte);
  EXPECT_FALSE(whole.ReadField().valid());
  EXPECT_EQ(whole.status(), DecodeStatus::kTooLong);
  ProtoDecoder cut_off(input.data(), 5 + 4 * kGigabyte);
  EXPECT_FALSE(cut_off.ReadField().valid());
  EXPECT_EQ(cut_off.status(), DecodeStatus::kTruncated);

  // The longest group, and one byte more.
  for (const bool is_longer : {false, true}) {
    uint8_t* const payload =
        input.Put(input.data(),
                  is_longer ? "0b 0a fa ff ff ff 0f" : "0b 0a f9 ff ff ff 0f");
    input.Put(payload + (UINT32_MAX - 6) + is_longer, "0c");
    ProtoDecoder group(input.data(), input.size());
    EXPECT_EQ(group.ReadField().size(), is_longer ? 0 : UINT32_MAX);
    EXPECT_EQ(group.status(),
              is_longer ? DecodeStatus::kTooLong : DecodeStatus::kOk);
  }

  // A group of two payloads of 2.5 GB.
  uint8_t* const second =
      input.Put(input.data(), "0b 0a 80 80 80 80 0a") + 5 * kGigabyte / 2;
  input.Put(input.Put(second, "0a 80 80 80 80 0a") + 5 * kGigabyte / 2, "0c");
  ProtoDecoder group(input.data(), input.size());
  EXPECT_FALSE(group.ReadField().valid());
  EXPECT_EQ(group.status(), DecodeStatus::kTooLong);
  EXPECT_EQ(group.error_offset(), 0u);
}

// The decoder keeps offsets below 2^31.
TEST(ProtoDecoderErrorTest, FieldsOnBothSidesOfTwoGigabytes) {
  HugeInput input(3 * kGigabyte);
  if (input.data() == nullptr)
    GTEST_SKIP() << "no address space";
  for (size_t offset = 2 * kGigabyte - 3; offset < 2 * kGigabyte + 2;
       ++offset) {
    for (const bool has_two : {false, true}) {
      input.Put(input.data(), "12");
      proto_utils::WriteRedundantVarInt(static_cast<uint32_t>(offset - 6),
                                        input.data() + 1, 5);
      input.Put(input.data() + offset, "18 05 18 06");
      const Typed decoder(input.data(), offset + (has_two ? 4 : 2));
      std::vector<int32_t> values;
      for (const int32_t value : decoder.GetRepeated<int32_t>(3))
        values.push_back(value);
      EXPECT_EQ(values, has_two ? std::vector<int32_t>({5, 6})
                                : std::vector<int32_t>({5}));
      EXPECT_EQ(decoder.WhichOneof({1, 3}), 3u);
      EXPECT_EQ(decoder.WhichOneof({2, 3}), 3u);
    }
  }
}

// Fields begin at offsets that do not fit 32 bits.
TEST(ProtoDecoderErrorTest, ReadsBeyondFourGigabytes) {
  HugeInput input(6 * kGigabyte);
  if (input.data() == nullptr)
    GTEST_SKIP() << "no address space";
  uint8_t* pos = input.Put(input.data(), "08 01 12 80 80 80 80 0a");
  pos = input.Put(pos + 5 * kGigabyte / 2, "12 80 80 80 80 0a");
  pos = input.Put(pos + 5 * kGigabyte / 2, "18 05 08 02 18 06");
  const Typed decoder(input.data(), static_cast<size_t>(pos - input.data()));
  EXPECT_EQ(decoder.status(), DecodeStatus::kOk);
  std::vector<int32_t> values;
  for (const int32_t value : decoder.GetRepeated<int32_t>(3))
    values.push_back(value);
  EXPECT_EQ(values, (std::vector<int32_t>{5, 6}));
  values.clear();
  for (const int32_t value : decoder.GetRepeated<int32_t>(1))
    values.push_back(value);
  EXPECT_EQ(values, (std::vector<int32_t>{1, 2}));
}
#endif

// Reads every prefix of a message that has all kinds of fields.
TEST(ProtoDecoderErrorTest, EveryPrefixIsReadAndKnownAsTruncated) {
  const std::vector<std::string> fields = {
      FromHex("08 01"),
      FromHex("08 ff ff ff ff ff ff ff ff ff 01"),
      FromHex("11 01 02 03 04 05 06 07 08"),
      FromHex("1a 00"),
      FromHex("1a 05 08 01 10 96 01"),
      FromHex("22 81 00 61"),
      FromHex("25 01 02 03 04"),
      FromHex("2b 08 01 13 1a 01 61 14 2c"),
      FromHex("a0 1f 07"),
      FromHex("a2 1f 03 96 01 05"),
      FromHex("f8 ff ff ff 0f 01"),
      FromHex("fd ff ff ff 0f 01 02 03 04"),
      FromHex("fb ff ff ff 0f fb ff ff ff 0f fc ff ff ff 0f fc ff ff ff 0f"),
      "\x1a\xc8\x01" + std::string(200, 'x'),
  };
  std::string message;
  for (const std::string& field : fields)
    message += field;

  size_t complete = 0;  // fields in the prefix
  size_t begin = 0;     // of the first incomplete field
  for (size_t size = 0; size <= message.size(); ++size) {
    SCOPED_TRACE(size);
    while (complete < fields.size() &&
           begin + fields[complete].size() <= size) {
      begin += fields[complete++].size();
    }
    const ExactBytes prefix(message.substr(0, size));
    const Outcome outcome = ReadAll(prefix);
    EXPECT_EQ(outcome.fields, complete);
    EXPECT_EQ(outcome.status,
              size == begin ? DecodeStatus::kOk : DecodeStatus::kTruncated);
    if (size != begin) {
      EXPECT_GE(outcome.offset, begin);
      EXPECT_LT(outcome.offset, size);
    }
    ReadTyped(prefix);
    const Typed typed(prefix.data(), prefix.size());
    EXPECT_EQ(typed.status(), outcome.status);
    EXPECT_EQ(typed.error_offset(), outcome.offset);
    EXPECT_EQ(typed.at<500>().valid(), complete >= 9);
  }
  EXPECT_EQ(complete, fields.size());
}

// Reads any bytes. Sanitizers look for errors, and the two decoders must agree.
// Most of the bytes are such that a decoder can read something.
TEST(ProtoDecoderErrorTest, AnyBytesAreRead) {
  std::mt19937 random(20261121);
  const auto below = [&](uint32_t limit) { return random() % limit; };
  const uint8_t kTags[] = {0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x10, 0x12,
                           0x1a, 0x1b, 0x1c, 0x22, 0x25, 0x2a, 0x2b, 0x2c};
  size_t ok = 0;
  size_t malformed = 0;
  for (int i = 0; i < 50000; ++i) {
    std::string message;
    const size_t size = below(40);
    while (message.size() < size) {
      switch (below(4)) {
        case 0:
          message += static_cast<char>(below(256));
          break;
        case 1:
          message += static_cast<char>(below(8));
          break;
        default:
          message += static_cast<char>(kTags[below(sizeof(kTags))]);
          break;
      }
    }
    const ExactBytes bytes(message);
    const Outcome outcome = ReadAll(bytes);
    ReadTyped(bytes);
    const Typed typed(bytes.data(), bytes.size());
    ASSERT_EQ(typed.status(), outcome.status) << test::Hex(message);
    ASSERT_EQ(typed.error_offset(), outcome.offset) << test::Hex(message);
    ++(outcome.status == DecodeStatus::kOk ? ok : malformed);
  }
  EXPECT_GT(ok, 1000u);
  EXPECT_GT(malformed, 10000u);
}

}  // namespace
}  // namespace protozero
