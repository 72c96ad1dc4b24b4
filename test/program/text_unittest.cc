// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/program/text.h"

#include <math.h>

#include <iterator>
#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace program {

namespace {

std::string Quoted(std::string_view bytes) {
  std::string out;
  AppendQuoted(bytes, &out);
  return out;
}

std::string Double(double value) {
  std::string out;
  AppendDouble(value, &out);
  return out;
}

std::string Float(float value) {
  std::string out;
  AppendFloat(value, &out);
  return out;
}

TEST(TextTest, TextIsUtf8WithoutControlCharacters) {
  for (const char* text : {"", "plain", "two\r\n\tlines", "\xc3\xa9",
                           "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_TRUE(IsText(text)) << text;
  }
  for (const char* bytes : {
           "\x01",
           "\x1b[31m",
           "\x7f",
           "\xc2\x80",      // A control character of two bytes.
           "\xe2\x80\xae",  // Shows the following text from right to left.
           "\x80",
           "\xc3",              // Half a character each.
           "\xc0\xaf",          // '/', longer than necessary.
           "\xe0\x9f\xbf",      // Longer than necessary, too.
           "\xed\xa0\x80",      // Half a surrogate pair.
           "\xf4\x90\x80\x80",  // Beyond U+10FFFF.
           "\xf8\x88\x80\x80\x80",
       }) {
    EXPECT_FALSE(IsText(bytes)) << Quoted(bytes);
  }
  EXPECT_FALSE(IsText(std::string_view("\0", 1)));
}

TEST(TextTest, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(MadeUtf8("a\xc3\xa9\xc3"), "a\xc3\xa9\xef\xbf\xbd");
  EXPECT_EQ(MadeUtf8("\xed\xa0\x80"), MadeUtf8("\xff\xff\xff"));
}

TEST(TextTest, CutTextEndsWithAWholeCharacter) {
  EXPECT_EQ(CutAtCharacter("abc", 3), "abc");
  EXPECT_EQ(CutAtCharacter("abcd", 3), "abc");
  EXPECT_EQ(CutAtCharacter("abc", 0), "");
  // One character each of two, three and four bytes.
  const std::string_view text = "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  constexpr size_t kSizes[] = {0, 0, 2, 2, 2, 5, 5, 5, 5, 9, 9};
  for (size_t i = 0; i < std::size(kSizes); ++i)
    EXPECT_EQ(CutAtCharacter(text, i), text.substr(0, kSizes[i])) << i;
}

TEST(TextTest, BytesThatAreNoUtf8AreCutAnywhere) {
  const std::string_view bytes = "\x80\x80\x80\x80\x80\x80";
  EXPECT_EQ(CutAtCharacter(bytes, 5), bytes.substr(0, 5));
  EXPECT_EQ(CutAtCharacter(bytes, 2), bytes.substr(0, 2));
}

TEST(TextTest, JsonStringsAreEscaped) {
  std::string json;
  AppendJsonString(std::string_view("\"a\\\n\0\x7f\xc3\xa9\xc3", 9), &json);
  EXPECT_EQ(json, "\"\\\"a\\\\\\u000a\\u0000\\u007f\xc3\xa9\xef\xbf\xbd\"");
}

TEST(TextTest, WhatTerminalsObeyIsEscapedInJson) {
  std::string json;
  // U+0080, U+009F, U+00A0, U+2028, U+202E, U+FEFF, and a surrogate.
  AppendJsonString(
      "\xc2\x80\xc2\x9f\xc2\xa0\xe2\x80\xa8\xe2\x80\xae\xef\xbb\xbf\xed\xa0"
      "\x80",
      &json);
  std::string copied;
  AppendShownJson("\"\xc2\x9b\\n\xc3\xa9\x7f\"", &copied);
  EXPECT_EQ(copied, "\"\\u009b\\n\xc3\xa9\\u007f\"");
  EXPECT_EQ(json,
            "\"\\u0080\\u009f\xc2\xa0\\u2028\\u202e\\ufeff"
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(TextTest, AByteOrderMarkIsNoText) {
  using program::WithoutByteOrderMark;
  EXPECT_EQ(WithoutByteOrderMark("\xef\xbb\xbf"
                                 "a\xef\xbb\xbf"),
            "a\xef\xbb\xbf");
  EXPECT_EQ(WithoutByteOrderMark("\xef\xbb"), "\xef\xbb");
  EXPECT_EQ(WithoutByteOrderMark(""), "");
}

TEST(TextTest, QuotesAreEscaped) {
  EXPECT_EQ(Quoted("a \"b\" \\"), R"("a \"b\" \\")");
  EXPECT_EQ(Quoted("\n\r\t"), R"("\n\r\t")");
  EXPECT_EQ(Quoted("caf\xc3\xa9"), "\"caf\xc3\xa9\"");
  EXPECT_EQ(Quoted("it's"), R"("it's")");
}

TEST(TextTest, WhatProtocEscapesIsEscapedIfWanted) {
  std::string out;
  AppendQuoted("it's a caf\xc3\xa9\n", &out, Escape::kAsProtoc);
  EXPECT_EQ(out, R"("it\'s a caf\303\251\n")");
}

TEST(TextTest, NothingThatTerminalsObeyIsLeft) {
  EXPECT_EQ(Quoted("\x1b[31m"), R"("\033[31m")");
  EXPECT_EQ(Quoted("\xc2\x9b"
                   "1"),
            R"("\302\2331")");
  EXPECT_EQ(Quoted("\xe2\x80\xae"), R"("\342\200\256")");
  EXPECT_EQ(Quoted("\xff\xc3"), R"("\377\303")");
}

TEST(TextTest, NumbersReadBackAsTheSame) {
  EXPECT_EQ(Double(0.1), "0.1");
  EXPECT_EQ(Double(1), "1");
  EXPECT_EQ(Double(1.0 / 3), "0.33333333333333331");
  EXPECT_EQ(Double(1e300), "1e+300");
  EXPECT_EQ(Double(-0.0), "-0");
  EXPECT_EQ(Double(HUGE_VAL), "inf");
  EXPECT_EQ(Double(-HUGE_VAL), "-inf");
  EXPECT_EQ(Double(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(Double(-std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(Float(0.1f), "0.1");
  EXPECT_EQ(Float(1.0f / 3), "0.333333343");
  EXPECT_EQ(Float(-HUGE_VALF), "-inf");
  // Six digits would be enough, but protoc writes more.
  EXPECT_EQ(Float(ldexpf(1, -140)), "7.17464814e-43");
  EXPECT_EQ(Float(std::numeric_limits<float>::min()), "1.17549435e-38");
}

}  // namespace

}  // namespace program
