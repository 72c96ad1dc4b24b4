// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/utf8.h"

#include <stdint.h>

#include <string>
#include <string_view>

#include "gtest/gtest.h"

namespace ninja_trace {

namespace {

// Returns the UTF-8 form of |code_point|, by definition.
std::string Encode(uint32_t code_point) {
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  const auto tail = [&](int shift) {
    return byte(0x80 | ((code_point >> shift) & 0x3f));
  };
  if (code_point < 0x80)
    return {byte(code_point)};
  if (code_point < 0x800)
    return {byte(0xc0 | code_point >> 6), tail(0)};
  if (code_point < 0x10000)
    return {byte(0xe0 | code_point >> 12), tail(6), tail(0)};
  return {byte(0xf0 | code_point >> 18), tail(12), tail(6), tail(0)};
}

TEST(MakeValidUtf8Test, EveryCharacterIsKeptAndSurrogatesAreNot) {
  for (uint32_t code_point = 0; code_point <= 0x10ffff; ++code_point) {
    const std::string text = Encode(code_point);
    const bool is_surrogate = code_point >= 0xd800 && code_point < 0xe000;
    ASSERT_EQ(MakeValidUtf8(text) == text, !is_surrogate) << code_point;
  }
}

TEST(MakeValidUtf8Test, CharactersBeyondUnicodeAreReplaced) {
  for (uint32_t code_point = 0x110000; code_point < 0x200000;
       code_point += 0xfff) {
    const std::string text = Encode(code_point);
    ASSERT_NE(MakeValidUtf8(text), text) << code_point;
  }
}

TEST(MakeValidUtf8Test, EachByteThatIsWrongIsReplaced) {
  const struct {
    std::string_view text;
    std::string_view expected;
  } cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"a\x80z", "a\uFFFDz"},
      {"a\xff", "a\uFFFD"},
      {"\xfe\xfe", "\uFFFD\uFFFD"},
      // These are cut short, at the end and before another character.
      {"\xc3", "\uFFFD"},
      {"\xe2\x82", "\uFFFD\uFFFD"},
      {"\xe2\x82z", "\uFFFD\uFFFDz"},
      {"\xf0\x9f\x98", "\uFFFD\uFFFD\uFFFD"},
      {"\xc3\xc3\xa9", "\uFFFD\u00E9"},
      // These are longer than necessary.
      {"\xc0\xaf", "\uFFFD\uFFFD"},
      {"\xc1\xbf", "\uFFFD\uFFFD"},
      {"\xe0\x9f\xbf", "\uFFFD\uFFFD\uFFFD"},
      {"\xf0\x8f\xbf\xbf", "\uFFFD\uFFFD\uFFFD\uFFFD"},
  };
  for (const auto& test_case : cases)
    EXPECT_EQ(MakeValidUtf8(test_case.text), test_case.expected);
}

}  // namespace

}  // namespace ninja_trace
