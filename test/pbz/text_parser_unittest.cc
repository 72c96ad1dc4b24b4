// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/text_parser.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/proto_decoder.h"
#include "test/pbz/testing.h"

namespace pbz {

namespace {

using Strings = std::vector<std::string>;

class TextParserTest : public ::testing::Test {
 protected:
  EncodedText Encode(std::string_view text) {
    return EncodeText(text, *schema_->FindMessage("M"));
  }
  std::string ErrorOf(std::string_view text) { return Encode(text).error; }

  const std::unique_ptr<Schema> schema_ = ParseSchema(R"(
    syntax = "proto2"; package p;
    message M {
      optional int32 i32 = 1;
      optional int64 i64 = 2;
      optional uint32 u32 = 3;
      optional uint64 u64 = 4;
      optional bool b = 5;
      optional E e = 6;
      optional string s = 7;
      optional bytes y = 8;
      optional M m = 9;
      repeated uint32 us = 10;
      repeated M ms = 11;
      optional double d = 12;
    }
    enum E { ZERO = 0; ONE = 1; LEAST = -1; }
  )");
};

TEST_F(TextParserTest, Values) {
  for (const auto& [text, hex] :
       std::vector<std::pair<std::string, std::string>>{
           {"", ""},
           {" # only a comment", ""},
           {"i32: 5", "08 05"},
           {"i32:-1", "08 ff ff ff ff ff ff ff ff ff 01"},
           {"i32: - 2147483648", "08 80 80 80 80 f8 ff ff ff ff 01"},
           {"i64: 9223372036854775807", "10 ff ff ff ff ff ff ff ff 7f"},
           {"i64: -9223372036854775808", "10 80 80 80 80 80 80 80 80 80 01"},
           {"u32: 0xff", "18 ff 01"},
           {"u32: 017", "18 0f"},
           {"u32: 0", "18 00"},
           {"u64: 18446744073709551615", "20 ff ff ff ff ff ff ff ff ff 01"},
           {"b: true", "28 01"},
           {"b: f", "28 00"},
           {"b: 1", "28 01"},
           {"e: ONE", "30 01"},
           {"e: LEAST", "30 ff ff ff ff ff ff ff ff ff 01"},
           {"e: 7", "30 07"},
           {"s: 'a' \"b\"  # c\n 'd'", "3a 03 61 62 64"},
           {R"(y: "\n\013\xfF\"\'\u00e9\U0001F600")",
            "42 0b 0a 0b ff 22 27 c3 a9 f0 9f 98 80"},
           {"y: '\"#'", "42 02 22 23"},
           {"m { i32: 1 }", "4a 02 08 01"},
           {"m: < m {} >", "4a 02 4a 00"},
           {"us: 1 us: 2", "50 01 50 02"},
           {"us: [1, 2], us: []; us: 3;", "50 01 50 02 50 03"},
           {"ms: [{i32: 1}, <>]", "5a 02 08 01 5a 00"},
       }) {
    SCOPED_TRACE(text);
    const EncodedText encoded = Encode(text);
    EXPECT_EQ(encoded.error, "");
    EXPECT_EQ(encoded.bytes, Bytes(hex));
    EXPECT_EQ(encoded.left_out, Strings());
  }
}

TEST_F(TextParserTest, ErrorsNameTheLineAndWhatWasExpected) {
  for (const auto& [text, error] :
       std::vector<std::pair<std::string, std::string>>{
           {"i32: 1\n5", "2: expected the name of a field, not '5'"},
           {"m\n[", "2: expected ':' or '{' after 'm', not '['"},
           {"i32 5", "1: expected ':' or '{' after 'i32', not '5'"},
           {"i32: 2147483648",
            "1: expected a number from -2147483648 to 2147483647, not "
            "'2147483648'"},
           {"u32: -1", "1: expected a number from 0 to 4294967295, not '1'"},
           {"u32: 1.5", "1: expected a number from 0 to 4294967295, not '1.5'"},
           {"u32: 08", "1: expected a number from 0 to 4294967295, not '08'"},
           {"u64: 99999999999999999999",
            "1: expected a number from 0 to 18446744073709551615, not "
            "'99999999999999999999'"},
           {"b: yes", "1: expected true or false, not 'yes'"},
           {"e: TWO", "1: expected one of LEAST, ZERO, ONE, not 'TWO'"},
           {"s: text", "1: expected a string in quotes, not 'text'"},
           {"s: 'a\n",
            "1: expected a whole string, with the escapes of C, not "
            "''a'"},
           {"s: '\\q'",
            "1: expected a whole string, with the escapes of C, not "
            "''\\q''"},
           {"m: 1", "1: expected '{', not '1'"},
           {"i32: {}",
            "1: expected a number from -2147483648 to 2147483647, "
            "not '{'"},
           {"m {\n\n i32: 1",
            "3: expected '}' for the bracket in line 1, not "
            "the end of the text"},
           {"m < }", "1: expected the name of a field, not '}'"},
           {"\ni32: 1\ni32: 2", "3: expected one 'i32', not several"},
           {"i32: [1]", "1: expected one value of 'i32', not a list"},
           {"us: [1 2]", "1: expected ',' or ']', not '2'"},
           {"[a.b: 1", "1: expected ']', not the end of the text"},
           {"none: }", "1: expected a value, not '}'"},
           {"d: 1", "1: expected no field of this type, not '1'"},
       }) {
    SCOPED_TRACE(text);
    const EncodedText encoded = Encode(text);
    EXPECT_EQ(encoded.error, error);
    EXPECT_EQ(encoded.bytes, "");
  }
}

TEST_F(TextParserTest, FieldsThatTheSchemaLacksAreLeftOut) {
  const EncodedText encoded = Encode(
      "none: -1.5e+3 i32: 1\n"
      "m { other < a: 'b' 'c' d { } e: [1, {f: g}] > i32: 2 }\n"
      "[p.extension]: inf, [type.googleapis.com/p.M] { i32: text }");
  EXPECT_EQ(encoded.error, "");
  EXPECT_EQ(encoded.bytes, Bytes("08 01 4a 02 08 02"));
  EXPECT_EQ(
      encoded.left_out,
      (Strings{"1: 'none' is no field of M", "2: 'other' is no field of M",
               "3: '[p.extension]' is no field of M",
               "3: '[type.googleapis.com/p.M]' is no field of M"}));
}

TEST_F(TextParserTest, DepthIsLimited) {
  const auto nested = [](size_t depth) {
    std::string text;
    for (size_t i = 0; i < depth; ++i)
      text += "m{";
    return text + std::string(depth, '}');
  };
  EXPECT_EQ(ErrorOf(nested(100)), "");
  EXPECT_EQ(ErrorOf(nested(101)),
            "1: expected fewer messages within each other");
  EXPECT_NE(ErrorOf(nested(100000)), "");
}

TEST_F(TextParserTest, AnyBytesAreRead) {
  const std::string text =
      "m { s: 'a\\n\\x41\\u0041' us: [1, 0x2] } none: 1.5e+3 # end";
  // Returns whether there is a message. If not, the error names a line.
  const auto has_message = [this](const std::string& read) {
    const EncodedText encoded = Encode(read);
    if (encoded.error.empty()) {
      protozero::ProtoDecoder decoder(encoded.bytes.data(),
                                      encoded.bytes.size());
      while (decoder.ReadField()) {
      }
      EXPECT_EQ(decoder.bytes_left(), 0u) << read;
      return true;
    }
    EXPECT_TRUE(encoded.error.compare(0, 3, "1: ") == 0 ||
                encoded.error.compare(0, 3, "2: ") == 0)
        << encoded.error;
    return false;
  };
  const size_t last = text.size();
  for (size_t size = 0; size <= last; ++size) {
    // Between two fields it is whole, and so is it with a part of the number.
    const bool is_whole = size == 0 || size == text.find('}') + 1 ||
                          size == text.find("none") || size > text.find("1.5e");
    EXPECT_EQ(has_message(text.substr(0, size)), is_whole) << size;
  }
  size_t num_messages = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[i] = static_cast<char>(byte);
      num_messages += has_message(changed);
    }
  }
  EXPECT_GT(num_messages, 0u);
}

}  // namespace

}  // namespace pbz
