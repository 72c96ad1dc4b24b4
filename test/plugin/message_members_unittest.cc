// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stdlib.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "src/protoc_plugin/c_family/reserved_words.h"

namespace protozero::plugin {
namespace {

// Returns the names of the functions in the public part of class Message. It
// relies on our formatting: declarations are indented by two columns, bodies by
// more.
std::set<std::string> PublicFunctionsOfMessage() {
  const char* root = getenv("PROTOZERO_SOURCE_ROOT");
  std::ifstream header(std::string(root != nullptr ? root : ".") +
                       "/include/protozero/message.h");
  const std::regex function("\\b([A-Za-z_][A-Za-z0-9_]*)\\(");
  std::set<std::string> names;
  bool is_public = false;
  std::string line;
  while (std::getline(header, line)) {
    if (line.rfind("class ", 0) == 0 && line.find("Message {") != line.npos)
      is_public = true;
    if (line == " private:")
      is_public = false;
    const bool is_declaration = line.size() > 2 && line.rfind("  ", 0) == 0 &&
                                line[2] != ' ' && line[2] != '/';
    std::smatch match;
    if (is_public && is_declaration &&
        std::regex_search(line, match, function)) {
      names.insert(match[1]);
    }
  }
  // These are constructors; `operator=` does not match.
  names.erase("Message");
  return names;
}

TEST(ReservedWordsTest, MessageMembersAreThoseOfTheHeader) {
  const std::set<std::string> names = PublicFunctionsOfMessage();
  EXPECT_GE(names.size(), 10u);
  EXPECT_EQ(names.count("Finalize"), 1u);
  for (const std::string& name : names)
    EXPECT_TRUE(IsMessageMember(name)) << name << " is not in kMessageMembers";
}

// Finds functions that getters in the golden file call by their unqualified
// name: a getter of that name would be called instead.
TEST(ReservedWordsTest, FunctionsUsedOfDecodersAreThoseOfTheGoldenFile) {
  const char* root = getenv("PROTOZERO_SOURCE_ROOT");
  std::ifstream header(std::string(root != nullptr ? root : ".") +
                       "/test/plugin/golden/golden.pbzero.h");
  const std::regex call("(?:^|[^:A-Za-z_])([A-Z][A-Za-z0-9]+)(?:\\(|<::)");
  std::set<std::string> names;
  bool is_decoder = false;
  std::string line;
  while (std::getline(header, line)) {
    if (line.rfind("class ", 0) == 0)
      is_decoder = line.find("_Decoder : ") != line.npos;
    std::smatch match;
    if (is_decoder && std::regex_search(line, match, call))
      names.insert(match[1]);
  }
  EXPECT_GE(names.size(), 5u);
  for (const std::string& name : names)
    EXPECT_TRUE(IsUsedOfDecoder(name)) << name << " is not in kUsedOfDecoder";
}

}  // namespace
}  // namespace protozero::plugin
