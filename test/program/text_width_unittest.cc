// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/program/text_width.h"

#include "gtest/gtest.h"

namespace {

using program::CharacterSize;
using program::WidthOf;

TEST(TextWidthTest, CharactersTakeTheirColumns) {
  EXPECT_EQ(WidthOf(""), 0u);
  EXPECT_EQ(WidthOf("abc"), 3u);
  EXPECT_EQ(WidthOf("\u00e9\u20ac"), 2u);
  EXPECT_EQ(WidthOf("\u65e5\u672c"), 4u);                // Japan.
  EXPECT_EQ(WidthOf("\uff21\ud55c"), 4u);                // Full width, Korean.
  EXPECT_EQ(WidthOf("\U0001f600"), 2u);                  // A face.
  EXPECT_EQ(WidthOf("e\u0301x"), 2u);                    // A mark on the e.
  EXPECT_EQ(WidthOf("\U0001f44d\U0001f3fd"), 2u);        // A tone of the skin.
  EXPECT_EQ(WidthOf("\U0001f469\u200d\U0001f52c"), 2u);  // Joined.
}

TEST(TextWidthTest, AnyBytesHaveAWidth) {
  EXPECT_EQ(WidthOf("\xff\xc3"), 2u);
  EXPECT_EQ(WidthOf("a\xe2\x82"), 2u);
  EXPECT_EQ(CharacterSize("\xe2\x82"), 2u);
}

TEST(TextWidthTest, MarksBelongToTheirCharacter) {
  EXPECT_EQ(CharacterSize(""), 0u);
  EXPECT_EQ(CharacterSize("ab"), 1u);
  EXPECT_EQ(CharacterSize("e\u0301x"), 3u);
  EXPECT_EQ(CharacterSize("\u65e5\u672c"), 3u);
}

}  // namespace
