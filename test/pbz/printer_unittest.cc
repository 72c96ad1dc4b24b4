// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/printer.h"

#include <algorithm>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "protozero/decode_status.h"
#include "src/pbz/walk.h"
#include "test/pbz/testing.h"

namespace pbz {

namespace {

std::string Decode(const std::string& bytes,
                   const MessageType* type = nullptr,
                   const Printer::Options& options = Printer::Options()) {
  return Printed([&](FILE* file) {
    Printer printer(file, options);
    Walk(AsBytes(bytes), 0, type, &printer);
  });
}

// Decodes hexadecimal digits, without a schema.
std::string Guess(std::string_view hex) {
  return Decode(Bytes(hex));
}

class PrinterTest : public ::testing::Test {
 protected:
  std::string DecodeTyped(std::string_view hex) {
    return Decode(Bytes(hex), schema_->FindMessage("M"));
  }

  const std::unique_ptr<Schema> schema_ = ParseSchema(R"(
    syntax = "proto2"; package p;
    message M {
      optional int32 i32 = 1;
      optional int64 i64 = 2;
      optional uint32 u32 = 3;
      optional uint64 u64 = 4;
      optional sint32 s32 = 5;
      optional sint64 s64 = 6;
      optional fixed32 f32 = 7;
      optional fixed64 f64 = 8;
      optional sfixed32 sf32 = 9;
      optional sfixed64 sf64 = 10;
      optional float f = 11;
      optional double d = 12;
      optional bool b = 13;
      optional E e = 14;
      optional string s = 15;
      optional bytes y = 16;
      optional M m = 17;
      optional group G = 18 { optional int32 x = 1; }
      repeated sint32 packed = 19 [packed = true];
      repeated fixed32 fixed = 20;
      map<int32, string> map = 21;
      map<int32, E> enums = 22;
      repeated E packed_enums = 23 [packed = true];
      optional Set set = 24;
      extensions 100 to 200;
      enum E { ZERO = 0; MINUS = -1; }
    }
    extend M { optional int32 ext = 100; }
    message Set {
      option message_set_wire_format = true;
      extensions 4 to max;
    }
    message Item {
      extend Set { optional Item item = 2147483646; }
      optional int32 x = 1;
    })");
};

TEST_F(PrinterTest, EveryTypeIsShownAsWhatItIs) {
  EXPECT_EQ(DecodeTyped("08ffffffffffffffffff01"), "i32: -1\n");
  EXPECT_EQ(DecodeTyped("10ffffffffffffffffff01"), "i64: -1\n");
  EXPECT_EQ(DecodeTyped("18ffffffffffffffffff01"), "u32: 4294967295\n");
  EXPECT_EQ(DecodeTyped("20ffffffffffffffffff01"),
            "u64: 18446744073709551615\n");
  EXPECT_EQ(DecodeTyped("2803"), "s32: -2\n");
  EXPECT_EQ(DecodeTyped("30ffffffffffffffffff01"),
            "s64: -9223372036854775808\n");
  EXPECT_EQ(DecodeTyped("3dffffffff"), "f32: 4294967295\n");
  EXPECT_EQ(DecodeTyped("41ffffffffffffffff"), "f64: 18446744073709551615\n");
  EXPECT_EQ(DecodeTyped("4dffffffff"), "sf32: -1\n");
  EXPECT_EQ(DecodeTyped("51ffffffffffffffff"), "sf64: -1\n");
  EXPECT_EQ(DecodeTyped("5d0000c03f"), "f: 1.5\n");
  EXPECT_EQ(DecodeTyped("61000000000000f8bf"), "d: -1.5\n");
  EXPECT_EQ(DecodeTyped("6800 6801 6802"), "b: false\nb: true\nb: true\n");
  EXPECT_EQ(DecodeTyped("7000 70ffffffffffffffffff01 7005"),
            "e: ZERO\ne: MINUS\n14: 5\n");
  EXPECT_EQ(DecodeTyped("7a03610a22"), R"(s: "a\n\"")"
                                       "\n");
  EXPECT_EQ(DecodeTyped("820102ff00"), R"(y: "\377\000")"
                                       "\n");
  EXPECT_EQ(DecodeTyped("8a010708018a01020802"),
            "m {\n  i32: 1\n  m {\n    i32: 2\n  }\n}\n");
  EXPECT_EQ(DecodeTyped("930108079401"), "G {\n  x: 7\n}\n");
  EXPECT_EQ(DecodeTyped("aa01050801120161"),
            "map {\n  key: 1\n  value: \"a\"\n}\n");
  EXPECT_EQ(DecodeTyped("a00605"), "[p.ext]: 5\n");
}

TEST_F(PrinterTest, RepeatedFieldsAreReadPackedAndUnpacked) {
  EXPECT_EQ(DecodeTyped("9a0103010203"), "packed: -1\npacked: 1\npacked: -2\n");
  EXPECT_EQ(DecodeTyped("980101 9a0100"), "packed: -1\n");
  EXPECT_EQ(DecodeTyped("a201080100000002000000"), "fixed: 1\nfixed: 2\n");
  EXPECT_EQ(DecodeTyped("a50101000000"), "fixed: 1\n");
}

TEST_F(PrinterTest, WhatTheSchemaDoesNotHaveIsUnknown) {
  EXPECT_EQ(DecodeTyped("b80c05"), "199: 5\n");
  EXPECT_EQ(DecodeTyped("0d01000000"), "1: 0x00000001\n");  // Not a varint.
  EXPECT_EQ(DecodeTyped("0a0161"), "1: \"a\"\n");           // Not repeated.
  EXPECT_EQ(DecodeTyped("8801 05"), "17: 5\n");             // Not a message.
  EXPECT_EQ(DecodeTyped("8b01 8c01"), "17 {\n}\n");
  EXPECT_EQ(DecodeTyped("9201 00"), "18: \"\"\n");  // Not a group.
}

// Unknown fields look as in protoc: without guesses, and only to a lower depth.
TEST_F(PrinterTest, UnknownFieldsAreMessagesIfTheyCanBe) {
  EXPECT_EQ(DecodeTyped("b80cffffffffffffffffff01"),
            "199: 18446744073709551615\n");
  EXPECT_EQ(DecodeTyped("bd0c0000c03f"), "199: 0x3fc00000\n");
  EXPECT_EQ(DecodeTyped("ba0c00"), "199: \"\"\n");
  EXPECT_EQ(DecodeTyped("ba0c026031"), "199 {\n  12: 49\n}\n");
  EXPECT_EQ(DecodeTyped("ba0c03ff0102"), "199: \"\\377\\001\\002\"\n");
  std::string bytes;
  std::string text;
  for (int i = 0; i < 12; ++i) {
    const auto size = static_cast<char>(bytes.size());
    bytes = Bytes(i < 11 ? "0a" : "ba0c") + size + bytes;
  }
  const std::string shown =
      Decode(bytes, schema_->FindMessage("M"), Printer::Options());
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '{'), 10);
  EXPECT_NE(shown.find("1: \"\\n\\000\"\n"), std::string::npos);
}

TEST_F(PrinterTest, OtherValuesOfClosedEnumsAreUnknownFields) {
  EXPECT_EQ(DecodeTyped("ba0103000501"), "packed_enums: ZERO\n23: 5\n23: 1\n");
  EXPECT_EQ(DecodeTyped("b20104 0801 1000"),
            "enums {\n  key: 1\n  value: ZERO\n}\n");
  EXPECT_EQ(DecodeTyped("b20104 0801 1005"), "22 {\n  1: 1\n  2: 5\n}\n");
}

TEST_F(PrinterTest, ItemsOfMessageSetsAreExtensions) {
  const std::string item = "0b 10feffffff07 1a020805 0c";
  EXPECT_EQ(DecodeTyped("c2010c" + item),
            "set {\n  [p.Item] {\n    x: 5\n  }\n}\n");
  // The fields in the other order; unknown items; fields that are not items.
  EXPECT_EQ(DecodeTyped("c2010c 0b 1a020805 10feffffff07 0c"),
            "set {\n  [p.Item] {\n    x: 5\n  }\n}\n");
  EXPECT_EQ(DecodeTyped("c20108 0b 1005 1a020805 0c"),
            "set {\n  5 {\n    1: 5\n  }\n}\n");
  EXPECT_EQ(DecodeTyped("c20104 0b 1005 0c"),
            "set {\n  1 {\n    2: 5\n  }\n}\n");
  Printer::Options options;
  options.offsets = true;
  EXPECT_EQ(Decode(Bytes("c2010c" + item), schema_->FindMessage("M"), options),
            "          0         15  set {\n"
            "          3         12    [p.Item] {\n"
            "         12          2      x: 5\n"
            "                          }\n"
            "                        }\n");
}

TEST_F(PrinterTest, TextIsEscapedAsByProtoc) {
  EXPECT_EQ(DecodeTyped("7a04c3a92722"), R"(s: "\303\251\'\"")"
                                         "\n");
}

TEST_F(PrinterTest, WhatIsMalformedIsSaidInPlace) {
  EXPECT_EQ(DecodeTyped("0801 8a01 03 0801 00 0802"),
            "i32: 1\n"
            "m {\n"
            "  i32: 1\n"
            "  # malformed: " +
                std::string(protozero::DecodeStatusToString(
                    protozero::DecodeStatus::kBadFieldId)) +
                " (at offset 7, 1 byte)\n"
                "}\n"
                "i32: 2\n");
  EXPECT_EQ(DecodeTyped("9a0102 0180"),
            "# malformed: a packed field has a bad varint (at offset 0, 5 "
            "bytes)\n");
  EXPECT_EQ(DecodeTyped("a20103 010000"),
            "# malformed: a packed field ends within a value (at offset 0, 6 "
            "bytes)\n");
}

TEST_F(PrinterTest, DepthIsLimited) {
  std::string bytes;
  for (int i = 0; i < 99;
       ++i)  // A message that is short enough for a size of one byte.
    bytes = bytes.size() < 124
                ? Bytes("8a01") + static_cast<char>(bytes.size()) + bytes
                : Bytes("8a01") + static_cast<char>(bytes.size() % 128 + 128) +
                      static_cast<char>(bytes.size() / 128) + bytes;
  const MessageType* type = schema_->FindMessage("M");
  const std::string text = Decode(bytes, type);
  EXPECT_EQ(text.find("malformed"), std::string::npos);
  EXPECT_NE(text.find(std::string(2 * 98, ' ') + "m {"), std::string::npos);
  const std::string deeper = Bytes("8a01") +
                             static_cast<char>(bytes.size() % 128 + 128) +
                             static_cast<char>(bytes.size() / 128) + bytes;
  EXPECT_NE(Decode(deeper, type)
                .find("malformed: messages are nested deeper than 100 levels"),
            std::string::npos);
  // If a guess is wrong, nothing is malformed.
  EXPECT_EQ(Decode(deeper).find("malformed"), std::string::npos);
}

TEST(GuessTest, Numbers) {
  EXPECT_EQ(Guess("089601"), "1: 150\n");
  EXPECT_EQ(Guess("08ffffffffffffffffff01"), "1: 18446744073709551615  # -1\n");
  EXPECT_EQ(Guess("0d0000c03f"), "1: 0x3fc00000  # 1.5?\n");
  EXPECT_EQ(Guess("0d01000000"), "1: 0x00000001\n");
  EXPECT_EQ(Guess("09000000000000f8bf"), "1: 0xbff8000000000000  # -1.5?\n");
  EXPECT_EQ(Guess("0b08010c"), "1 {  # group\n  1: 1\n}\n");
}

TEST(GuessTest, TextIsAString) {
  EXPECT_EQ(Guess("0a0568656c6c6f"), "1: \"hello\"\n");
  EXPECT_EQ(Guess("0a00"), "1: \"\"\n");
  // These bytes could also be {12: 49}.
  EXPECT_EQ(Guess("0a026031"), "1: \"`1\"\n");
}

TEST(GuessTest, WhatParsesIsAMessage) {
  EXPECT_EQ(Guess("0a03089601"), "1 {  # message?\n  1: 150\n}\n");
  // Field 1 is a string of 32 bytes. All of the bytes could be text.
  EXPECT_EQ(Decode(Bytes("0a220a20") + std::string(32, 'x')),
            "1 {  # message?\n  1: \"" + std::string(32, 'x') + "\"\n}\n");
}

TEST(GuessTest, OtherBytesAreNumbersOfAKindOrBytes) {
  EXPECT_EQ(Guess("0a0401029601"), "1: [1, 2, 150]  # packed?\n");
  EXPECT_EQ(Guess("0a0701ffffffff0f00"),
            "1: \"\\001\\377\\377\\377\\377\\017\\000\"  # bytes?\n");
  EXPECT_EQ(Guess("0a02ff80"), "1: \"\\377\\200\"  # bytes?\n");
  // The varint is longer than necessary.
  EXPECT_EQ(Guess("0a028000"), "1: \"\\200\\000\"  # bytes?\n");
}

TEST(GuessTest, TruncatedPrefixesAreMalformedAtTheLastField) {
  const std::string bytes = Bytes("089601 1203616263 1b 08011c 2d01000000");
  const std::string whole = Decode(bytes);
  EXPECT_EQ(whole,
            "1: 150\n2: \"abc\"\n3 {  # group\n  1: 1\n}\n"
            "5: 0x00000001\n");
  for (size_t size = 1; size < bytes.size(); ++size) {
    const std::string text = Decode(bytes.substr(0, size));
    const bool is_whole = size == 3 || size == 8 || size == 12;
    const size_t end = text.find("# malformed: ");
    EXPECT_EQ(end == std::string::npos, is_whole) << size;
    // The fields before the error are printed.
    const std::string before = text.substr(0, end);
    EXPECT_EQ(whole.substr(0, before.size()), before) << size;
  }
}

TEST(PrinterOptionsTest, OffsetsAreThoseOfTheFile) {
  Printer::Options options;
  options.offsets = true;
  EXPECT_EQ(Decode(Bytes("0801 1202 0802"), nullptr, options),
            "          0          2  1: 1\n"
            "          2          4  2 {  # message?\n"
            "          4          2    1: 2\n"
            "                        }\n");
}

TEST(PrinterOptionsTest, ElementsHaveOffsetsToo) {
  const auto schema =
      ParseSchema("syntax = 'proto3'; message M { repeated int32 a = 1; }");
  Printer::Options options;
  options.offsets = true;
  EXPECT_EQ(Decode(Bytes("0a0301 9601"), schema->FindMessage("M"), options),
            "          2          1  a: 1\n"
            "          3          2  a: 150\n");
}

TEST(PrinterOptionsTest, ColorsEnd) {
  Printer::Options options;
  options.color = true;
  EXPECT_EQ(Decode(Bytes("0801"), nullptr, options),
            "\033[36m1\033[0m: \033[33m1\033[0m\n");
}

}  // namespace

}  // namespace pbz
