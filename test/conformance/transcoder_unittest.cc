// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Bytewise tests of the transcoder. The conformance tests parse the testee's
// output, and so miss most of a parser's work: if a field is written twice, the
// last one counts anyway.

#include "test/conformance/transcoder.h"

#include <memory>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "protozero/decode_status.h"
#include "protozero/scattered_heap_buffer.h"
#include "test/pbz/testing.h"
#include "test/testing/hex.h"

namespace protozero::conformance {
namespace {

constexpr char kProto3[] = R"(
  syntax = "proto3";
  enum E { ZERO = 0; ONE = 1; }
  message M {
    int32 int32 = 1;
    string string = 2;
    M message = 3;
    repeated sint32 packed = 4;
    repeated sint32 unpacked = 5 [packed = false];
    map<string, M> map = 6;
    oneof oneof {
      int32 number = 7;
      M child = 8;
    }
    optional int32 optional = 10;
    double double = 11;
    map<int32, E> enums = 12;
  }
)";

constexpr char kProto2[] = R"(
  syntax = "proto2";
  enum E { ZERO = 0; ONE = 1; }
  message M {
    optional E enum = 1;
    repeated E packed = 2 [packed = true];
    map<int32, E> map = 3;
    optional string string = 4;
    optional group Group = 5 { optional int32 a = 1; optional int32 b = 2; }
    optional Set set = 6;
  }
  message Set {
    option message_set_wire_format = true;
    extensions 4 to max;
  }
  extend Set { optional M extension = 1000; }
)";

class TranscoderTest : public testing::Test {
 protected:
  // Transcodes hexadecimal digits. Returns such digits or the error.
  static std::string Transcode(const char* schema_text,
                               std::string_view hex,
                               bool drops_unknown_fields = false) {
    const std::unique_ptr<pbz::Schema> schema = pbz::ParseSchema(schema_text);
    const std::string in = test::FromHex(hex);
    Transcoder transcoder(drops_unknown_fields);
    HeapBuffered<Message> out;
    if (!transcoder.Transcode(*schema->FindMessage("M"), pbz::AsBytes(in),
                              out.get())) {
      return transcoder.error();
    }
    return test::Hex(out.SerializeAsString());
  }
  static std::string Proto3(std::string_view hex) {
    return Transcode(kProto3, hex);
  }
  static std::string Proto2(std::string_view hex) {
    return Transcode(kProto2, hex);
  }
};

TEST_F(TranscoderTest, OfSingularFieldsTheLastIsWritten) {
  EXPECT_EQ(Proto3("08 01 12 01 61 08 02 12 01 62"), "08 02 12 01 62");
}

TEST_F(TranscoderTest, NumbersLoseWhatTheirTypeDoesNotHold) {
  EXPECT_EQ(Proto3("08 81 80 80 80 10"), "08 01");
  EXPECT_EQ(Proto3("08 80 80 80 80 10"), "");
}

TEST_F(TranscoderTest, ZerosAreWrittenWherePresenceIsKnown) {
  EXPECT_EQ(Proto3("08 00 12 00 1a 00 38 00 50 00"), "1a 00 38 00 50 00");
  EXPECT_EQ(Proto3("59 00 00 00 00 00 00 00 00"), "");
  EXPECT_EQ(Proto3("59 00 00 00 00 00 00 00 80"), "59 00 00 00 00 00 00 00 80");
  EXPECT_EQ(Proto2("08 00 22 00"), "08 00 22 00");
}

TEST_F(TranscoderTest, MessagesAndGroupsAreMerged) {
  EXPECT_EQ(Proto3("1a 04 08 01 20 02 08 07 1a 04 50 03 20 04"),
            "08 07 1a 08 08 01 22 02 02 04 50 03");
  EXPECT_EQ(Proto2("2b 08 01 10 01 2c 2b 10 02 2c"), "2b 08 01 10 02 2c");
}

TEST_F(TranscoderTest, RepeatedNumbersAreReadEitherWayAndWrittenAsDeclared) {
  EXPECT_EQ(Proto3("20 02 22 02 04 01 20 03 28 02 2a 02 04 01 28 03"),
            "22 04 02 04 01 03 28 02 28 04 28 01 28 03");
  EXPECT_EQ(Proto3("22 00 2a 00"), "");
}

TEST_F(TranscoderTest, OfOneofsTheLastMemberIsWritten) {
  EXPECT_EQ(Proto3("42 02 08 01 38 05"), "38 05");
  EXPECT_EQ(Proto3("38 05 42 02 08 01 42 02 50 02"), "42 04 08 01 50 02");
  EXPECT_EQ(Proto3("42 02 08 01 38 05 42 02 50 02"), "42 02 50 02");
}

TEST_F(TranscoderTest, EntriesOfMapsHaveKeyAndValueAndNoDuplicates) {
  EXPECT_EQ(Proto3("32 03 0a 01 61  32 04 12 02 08 01"
                   "32 07 12 02 08 02 0a 01 61"),
            "32 06 0a 00 12 02 08 01 32 07 0a 01 61 12 02 08 02");
  // The entry has its key and its value twice, and another field.
  EXPECT_EQ(Proto3("32 10 12 02 08 01 0a 01 61 12 02 50 02 0a 01 62 18 01"),
            "32 09 0a 01 62 12 04 08 01 50 02");
}

TEST_F(TranscoderTest, NumbersThatClosedEnumsLackAreUnknownFields) {
  EXPECT_EQ(Proto2("08 63 08 01"), "08 01 08 63");
  EXPECT_EQ(Proto2("12 02 01 63 10 00"), "12 02 01 00 10 63");
  EXPECT_EQ(Proto2("1a 04 08 01 10 63 1a 04 08 02 10 01"),
            "1a 04 08 02 10 01 1a 04 08 01 10 63");
  EXPECT_EQ(Proto3("62 04 08 01 10 63"), "62 04 08 01 10 63");
}

TEST_F(TranscoderTest, UnknownFieldsFollowInTheirOrder) {
  EXPECT_EQ(Proto3("a8 06 01 ab 06 08 01 ac 06 08 01 aa 06 01 61"),
            "08 01 a8 06 01 ab 06 08 01 ac 06 aa 06 01 61");
  // These fields have other wire types than the schema's.
  EXPECT_EQ(Proto3("0a 01 61 10 01 1b 1c 08 01"), "08 01 0a 01 61 10 01 1b 1c");
  EXPECT_EQ(Transcode(kProto2, "12 02 01 63 a8 06 01", true), "12 01 01");
}

TEST_F(TranscoderTest, Proto3StringsAreUtf8) {
  EXPECT_EQ(Proto3("12 02 c3 a4"), "12 02 c3 a4");
  EXPECT_EQ(Proto3("12 03 ed 9f bf"), "12 03 ed 9f bf");
  EXPECT_EQ(Proto3("12 04 f4 8f bf bf"), "12 04 f4 8f bf bf");
  for (const char* malformed :
       {"80", "c3", "c3 28", "c1 bf", "e0 9f bf", "f0 8f bf bf", "ed a0 80",
        "f4 90 80 80", "f8 88 80 80 80", "ff"}) {
    const std::string bytes = test::FromHex(malformed);
    const std::string size =
        test::Hex(std::string(1, static_cast<char>(bytes.size())));
    EXPECT_EQ(Proto3("12" + size + malformed), "field 2 is not UTF-8");
    EXPECT_EQ(Proto3("12" + size + malformed + "12 00"),
              "field 2 is not UTF-8");
    EXPECT_EQ(Proto2("22" + size + malformed), "22 " + size + " " + malformed);
  }
}

TEST_F(TranscoderTest, ItemsOfMessageSetsAreMerged) {
  // The type comes before or after the message, or as in other messages.
  EXPECT_EQ(Proto2("32 16 0b 10 e8 07 1a 02 08 01 0c"
                   "0b 1a 03 22 01 61 10 e8 07 0c c2 3e 00"),
            "32 0c 0b 10 e8 07 1a 05 08 01 22 01 61 0c");
  // This type is unknown.
  EXPECT_EQ(Proto2("32 09 0b 10 e9 07 1a 02 08 01 0c"),
            "32 09 0b 10 e9 07 1a 02 08 01 0c");
}

TEST_F(TranscoderTest, WhatIsMalformedIsSaid) {
  const std::string truncated = DecodeStatusToString(DecodeStatus::kTruncated);
  EXPECT_EQ(Proto3("08 01 08"), truncated + ", at byte 2");
  EXPECT_EQ(Proto3("1a 01 08"), truncated + ", at byte 0");
  EXPECT_EQ(Proto3("32 01 08"), truncated);
  EXPECT_EQ(Proto2("32 01 08"), truncated);
  EXPECT_EQ(Proto3("22 02 01 80"), "packed field 4 is malformed");
}

TEST_F(TranscoderTest, MessagesInAHundredOthersAreRead) {
  const auto nested = [](int depth) {
    std::string bytes;
    for (int i = 0; i < depth; ++i) {
      std::string size;
      for (size_t n = bytes.size();; n >>= 7) {
        size += static_cast<char>(n < 0x80 ? n : (n & 0x7f) | 0x80);
        if (n < 0x80)
          break;
      }
      bytes = '\x1a' + size + bytes;
    }
    return test::Hex(bytes);
  };
  EXPECT_EQ(Proto3(nested(20)), nested(20));
  EXPECT_EQ(Proto3(nested(101)), "messages are nested too deeply");
  EXPECT_NE(Proto3(nested(100)), "messages are nested too deeply");
}

}  // namespace
}  // namespace protozero::conformance
