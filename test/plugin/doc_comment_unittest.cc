// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/c_family/doc_comment.h"

#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace protozero::plugin {
namespace {

TEST(DocCommentTest, LinesStayAsTheyAre) {
  EXPECT_EQ(DocComment(" One.\n\n   - two\n", "  "),
            "  /// One.\n"
            "  ///\n"
            "  ///   - two\n");
  EXPECT_EQ(DocComment("None\tof\r\nthe spaces.", ""),
            "/// None of\n/// the spaces.\n");
}

TEST(DocCommentTest, NothingForABlankComment) {
  EXPECT_EQ(DocComment("", ""), "");
  EXPECT_EQ(DocComment("\n \n\t\r\n", ""), "");
}

TEST(DocCommentTest, BlankLinesAroundItAreRemoved) {
  EXPECT_EQ(DocComment("\n \n x \n\n \n", ""), "/// x\n");
}

TEST(DocCommentTest, DocCommentsOfTheSchema) {
  EXPECT_EQ(DocComment("/ One.\n/ Two.\n", ""), "/// One.\n/// Two.\n");
  EXPECT_EQ(DocComment("* One.\n * two\n", ""), "/// One.\n/// * two\n");
  EXPECT_EQ(DocComment("< x", ""), "/// < x\n");
}

TEST(DocCommentTest, NothingContinuesInTheNextLine) {
  EXPECT_EQ(DocComment("a\\\nb \\  \n", ""), "/// a?\n/// b ?\n");
  EXPECT_EQ(DocComment("\\", ""), "/// ?\n");
  EXPECT_EQ(DocComment("a?\?/\n?\?/ b", ""), "/// a?\?\?\n/// ?\?/ b\n");
  EXPECT_EQ(DocComment("C:\\d a\\b", ""), "/// C:\\d a\\b\n");
}

TEST(DocCommentTest, MarksOfCommentsAreText) {
  EXPECT_EQ(DocComment("*/ int x; /* // \" '", ""),
            "/// / int x; /* // \" '\n");
  EXPECT_EQ(DocComment(" */ int x;", ""), "/// */ int x;\n");
}

TEST(DocCommentTest, CharactersThatWouldDoHarm) {
  // UTF-8 characters of two, three and four bytes stay unchanged.
  const std::string text = "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80";
  EXPECT_EQ(DocComment(text, ""), "/// " + text + "\n");
  // Malformed UTF-8: a lone byte, overlong bytes, a surrogate, a character
  // beyond Unicode, and a cut one.
  EXPECT_EQ(DocComment("\xff|\xa9|\xc0\x80|\xe0\x80\x80|\xed\xa0\x80|"
                       "\xf4\x90\x80\x80|\xe2\x82",
                       ""),
            "/// ?|?|?\?|?\?\?|?\?\?|?\?\?\?|?\?\n");
  // Control characters, of ASCII and others, and those that reverse text.
  EXPECT_EQ(DocComment(std::string("\0\x1b\x7f\f\r|", 6), ""), "/// ?????|\n");
  EXPECT_EQ(DocComment("\xc2\x85|\xe2\x80\xae|\xe2\x81\xa6|\xe2\x80\xa8", ""),
            "/// ?|?|?|?\n");
}

TEST(DocCommentTest, LongLinesAreBroken) {
  std::string words;
  for (int i = 0; i < 100; ++i)
    words += " word" + std::to_string(i);
  // Lines break even without a space, but only between characters.
  for (const std::string& text :
       {words, std::string(1000, 'x'), std::string(500, '\\'),
        "  " + std::string(300, 'x') + " " + std::string(300, 'y'), [] {
          std::string euros = "x";
          for (int i = 0; i < 200; ++i)
            euros += "\xe2\x82\xac";
          return euros;
        }()}) {
    std::istringstream lines(DocComment(text, "  "));
    std::string joined;
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 100u) << line;
      EXPECT_NE(line.back(), '\\');
      ASSERT_EQ(line.substr(0, 6), "  /// ");
      // Formatting it again changes nothing, so no character was cut.
      EXPECT_EQ(DocComment(line.substr(5), "  "), line + "\n");
      joined += line.substr(6);
    }
    EXPECT_GT(joined.size(), text.size() - 120);
  }
}

}  // namespace
}  // namespace protozero::plugin
