// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The plugin with a second language: the model has all that a language needs,
// and one line makes the language known.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "src/protoc_plugin/languages.h"
#include "test/plugin/in_memory_protoc.h"
#include "test/plugin/listing_language.h"

namespace protozero::plugin {
namespace {

ProtocResult List(const std::string& schema, const std::string& parameter) {
  std::vector<Language> languages = Languages();
  languages.push_back({"listing", GenerateListing});
  return RunProtoc({{"a.proto", schema}}, {}, parameter, languages);
}

TEST(LanguageTest, SecondLanguageWritesItsOwnFiles) {
  const ProtocResult result = List(
      R"(syntax = "proto2";
message M {
  optional int32 class = 1 [default = -7];
  optional bool end = 2 [default = true];
  optional string text = 3 [default = "x"];
  repeated N n = 4;
  message N {}
})",
      "language=listing,title=All");
  EXPECT_EQ(result.error, "");
  ASSERT_EQ(result.files.size(), 1u);
  EXPECT_EQ(result.files.at("a.listing"), R"(All
M
  CLASS 1 -7
  END_ 2 YES
  TEXT 3 <x>
  N 4 N NOTHING
END
N
END
)");
}

TEST(LanguageTest, FirstLanguageIsTheDefault) {
  for (const std::string parameter : {"", "language=cpp"}) {
    const ProtocResult result = List("syntax = 'proto2';", parameter);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.files.count("a.pbzero.h"), 1u);
    EXPECT_EQ(result.files.size(), 2u);
  }
}

TEST(LanguageTest, LanguagesHaveOptionsOfTheirOwn) {
  EXPECT_EQ(List("syntax = 'proto2';", "language=listing,sdk=true").error,
            "unknown option 'sdk'; the known options are: title=TITLE, "
            "comments=false, lang=LANGUAGE");
}

TEST(LanguageTest, LanguagesHaveErrorsOfTheirOwn) {
  EXPECT_EQ(List("syntax = 'proto2';\nmessage Ab {}\nmessage AB {}",
                 "language=listing")
                .error,
            "a.proto:3: AB: is listed as is message Ab");
}

TEST(LanguageTest, UnknownLanguageIsRefused) {
  for (const std::string value : {"", "=", "=java"}) {
    const std::string shown = value.empty() ? value : value.substr(1);
    EXPECT_EQ(List("syntax = 'proto2';", "language" + value).error,
              "option 'language' has the value '" + shown +
                  "'; the languages are: cpp c listing");
  }
}

}  // namespace
}  // namespace protozero::plugin
