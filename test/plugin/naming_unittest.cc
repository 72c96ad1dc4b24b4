// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/naming.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "src/protoc_plugin/c_family/identifiers.h"
#include "src/protoc_plugin/c_family/reserved_words.h"
#include "src/protoc_plugin/c_family/system_macros.h"
#include "src/protoc_plugin/options.h"

namespace protozero::plugin {
namespace {

TEST(NamingTest, IsIdentifier) {
  for (const char* name : {"a", "_", "A9", "_9", "snake_case", "CamelCase"})
    EXPECT_TRUE(IsIdentifier(name)) << name;
  for (const char* name : {"", "9", "a-b", "a.b", "a b", "a::b", "\xc3\xa9"})
    EXPECT_FALSE(IsIdentifier(name)) << name;
}

TEST(NamingTest, ToCamelCase) {
  EXPECT_EQ(ToCamelCase("foo"), "Foo");
  EXPECT_EQ(ToCamelCase("foo_bar"), "FooBar");
  EXPECT_EQ(ToCamelCase("fooBar"), "FooBar");
  EXPECT_EQ(ToCamelCase("FOO_BAR"), "FOOBAR");
  EXPECT_EQ(ToCamelCase("foo_1"), "Foo1");
  EXPECT_EQ(ToCamelCase("foo_1st"), "Foo1st");
  EXPECT_EQ(ToCamelCase("_foo__bar_"), "FooBar");
  EXPECT_EQ(ToCamelCase("___"), "");
}

TEST(NamingTest, ToLowerCase) {
  EXPECT_EQ(ToLowerCase("fooBar_9Z"), "foobar_9z");
}

TEST(NamingTest, EscapesWordsOfEveryTable) {
  for (const char* word :
       {"alignas", "and",     "char8_t",        "co_yield", "typeof",
        "xor_eq",  "EOF",     "NULL",           "errno",    "INT32_MAX",
        "EINVAL",  "SIGKILL", "CLOCK_REALTIME", "linux",    "unix",
        "major",   "minor",   "LITTLE_ENDIAN",  "int32_t",  "size_t"}) {
    EXPECT_EQ(EscapeName(word), std::string(word) + "_");
    EXPECT_EQ(EscapeName(word, /*is_global=*/true), std::string(word) + "_");
  }
  for (const char* word :
       {"FILE", "abs", "log", "main", "std", "protozero", "time", "yn"}) {
    EXPECT_EQ(EscapeName(word), word);
    EXPECT_EQ(EscapeName(word, /*is_global=*/true), std::string(word) + "_");
  }
  // Contextual keywords, and macros of other systems and libraries.
  for (const char* word : {"final", "override", "import", "module", "TRUE",
                           "DEBUG", "ERROR", "Class", "class_", ""}) {
    EXPECT_EQ(EscapeName(word), word);
    EXPECT_EQ(EscapeName(word, /*is_global=*/true), word);
  }
}

TEST(NamingTest, MacrosOfSystems) {
  for (const char* word : {"AF_INET",
                           "DELETE",
                           "ERROR",
                           "ERROR_SUCCESS",
                           "FALSE",
                           "GetMessage",
                           "I",
                           "IN",
                           "LOG_INFO",
                           "OUT",
                           "O_RDONLY",
                           "POLLIN",
                           "PROT_READ",
                           "SA_SIGINFO",
                           "S_IFREG",
                           "TRUE",
                           "far",
                           "interface",
                           "near",
                           "si_pid",
                           "small",
                           "st_mtime",
                           "xt_synproxy_info"}) {
    EXPECT_TRUE(IsSystemMacro(word)) << word;
    EXPECT_FALSE(IsSystemFunctionMacro(word)) << word;
  }
  for (const char* word : {"max", "min", "roundup", "S_ISDIR", "LOWORD"}) {
    EXPECT_FALSE(IsSystemMacro(word)) << word;
    EXPECT_TRUE(IsSystemFunctionMacro(word)) << word;
  }
  // Words without a macro, parts of names, and words of other tables.
  for (const char* word : {"", "_", "AF_", "INET", "AF_INE", "AF_INET_", "RO",
                           "ERROR ", "TRUE FALSE", "_IOFBF", "bool", "errno",
                           "EINVAL", "major", "uint32_t", "pid"}) {
    EXPECT_FALSE(IsSystemMacro(word)) << word;
    EXPECT_FALSE(IsSystemFunctionMacro(word)) << word;
  }
}

std::vector<std::string> Names(const std::string_view* rows, size_t size) {
  std::vector<std::string> names;
  for (size_t i = 0; i < size; ++i) {
    std::string name;
    for (const char c : rows[i]) {
      const size_t shared = kSharedLengths.find(c);
      if (shared == std::string_view::npos)
        names.back() += c;
      else
        names.push_back(shared == 0 ? "" : names.back().substr(0, shared));
    }
  }
  return names;
}

TEST(NamingTest, TablesHaveTheirNamesAndNoOthers) {
  const std::vector<std::string> values =
      Names(kSystemValueMacros, kSystemValueMacrosSize);
  const std::vector<std::string> functions =
      Names(kSystemFunctionMacros, kSystemFunctionMacrosSize);
  const std::vector<std::string> of_c = Names(kNamesOfC, kNamesOfCSize);
  std::map<std::string, const void*> tables;
  for (const auto* names : {&values, &functions, &of_c}) {
    EXPECT_GT(names->size(), 1000u);
    EXPECT_TRUE(std::is_sorted(names->begin(), names->end()));
    for (const std::string& name : *names)
      EXPECT_TRUE(tables.emplace(name, names).second) << name;
  }
  for (const auto& [name, table] : tables) {
    for (const std::string& word :
         {name, name.substr(1), name.substr(0, name.size() - 1), name + "0"}) {
      if (IsKeyword(word) || IsCommonMacro(word) || IsBareName(word))
        continue;
      const auto found = tables.find(word);
      const void* expected = found == tables.end() ? nullptr : found->second;
      EXPECT_EQ(IsSystemMacro(word), expected == &values) << word;
      EXPECT_EQ(IsSystemFunctionMacro(word), expected == &functions) << word;
      EXPECT_EQ(IsNameOfC(word), expected != nullptr) << word;
    }
  }
}

TEST(NamingTest, Paths) {
  EXPECT_EQ(HeaderPath("a/b.proto"), "a/b.pbzero.h");
  EXPECT_EQ(SourcePath("a/b.proto"), "a/b.pbzero.cc");
  EXPECT_EQ(HeaderPath("a.protodevel"), "a.pbzero.h");
  EXPECT_EQ(HeaderPath("a.proto.txt"), "a.proto.txt.pbzero.h");
  EXPECT_EQ(HeaderPath(".proto"), ".proto.pbzero.h");
  EXPECT_EQ(PathIdentifier("a/b-2.proto"), "a_b_2");
  EXPECT_EQ(PathIdentifier("2.proto"), "_2");
}

TEST(NamingTest, IncludeGuardIsAnIdentifierThatIsNotReserved) {
  for (const char* path :
       {"a.pbzero.h", "1.pbzero.h", "_/__a--b.pbzero.h", "\xc3\xa9.pbzero.h"}) {
    const std::string guard = IncludeGuard(path, {"p", "pbzero"});
    EXPECT_TRUE(IsIdentifier(guard)) << guard;
    EXPECT_EQ(guard.find("__"), std::string::npos) << guard;
    EXPECT_NE(guard[0], '_') << guard;
  }
}

TEST(OptionsTest, EmptyOptionsAreSkipped) {
  const std::vector<Option> options =
      SplitOptions(",,wrapper_namespace=a::b,sdk,x=,y==z,");
  std::vector<std::string> names;
  std::vector<std::string> values;
  for (const Option& option : options) {
    names.push_back(option.name);
    values.push_back(option.value.value_or("none"));
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"wrapper_namespace", "sdk", "x", "y"}));
  EXPECT_EQ(values, (std::vector<std::string>{"a::b", "none", "", "=z"}));
}

}  // namespace
}  // namespace protozero::plugin
