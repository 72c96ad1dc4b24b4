// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The names of the plugin's C output, and one test per error message.

#include <string>

#include "test/plugin/in_memory_protoc.h"

#include <gtest/gtest.h>

namespace protozero::plugin {
namespace {

ProtocResult RunC(const std::string& schema,
                  const std::string& parameter = "lang=c") {
  return RunProtoc({{"a.proto", schema}}, {}, parameter);
}

bool Declares(const ProtocResult& result, const std::string& text) {
  return result.ok &&
         result.header("a.pbzero_c.h").find(text) != std::string::npos;
}

TEST(CNamesTest, BothNamesOfTheOption) {
  const std::string schema = "syntax = 'proto2'; package p; message M {}";
  EXPECT_EQ(RunC(schema, "lang=c").files, RunC(schema, "language=c").files);
  EXPECT_EQ(RunC(schema, "lang=c").files.size(), 1u);
  EXPECT_EQ(RunC(schema, "lang=cpp").files, RunC(schema, "").files);
}

TEST(CNamesTest, KeywordsAndMacrosGetAnUnderscore) {
  const ProtocResult result = RunC(R"(syntax = "proto2";
message restrict {}
message class {}
message time {}
enum ERROR { EOF = 0; O_RDONLY = 1; }
message static { enum E { assert = 0; } }
message _Bool {}
message timespec {}
enum Kind { simple = 0; complex = 1; noreturn = 2; tss_t = 3; nullptr = 4; })");
  EXPECT_TRUE(result.ok) << result.error;
  for (const char* name :
       {"} restrict_;", "} class_;", "} time_;", "int32_t ERROR_;",
        "  EOF_ = 0", "  O_RDONLY_ = 1", "  static_assert_ = 0", "} _Bool_;",
        "} timespec_;", "  simple = 0", "  complex_ = 1", "  noreturn_ = 2",
        "  tss_t_ = 3", "  nullptr_ = 4"}) {
    EXPECT_TRUE(Declares(result, name)) << name;
  }
}

TEST(CNamesTest, MadeUpNamesYieldToThoseOfTheSchema) {
  const ProtocResult result = RunC(R"(syntax = "proto2";
package p;
message M {
  optional string x = 1;
  message set_x {}
  message begin {}
  enum E { x_number = 0; }
})");
  EXPECT_TRUE(result.ok) << result.error;
  EXPECT_TRUE(Declares(result, "void p_M_set_x_(p_M* message, "));
  EXPECT_TRUE(Declares(result, "void p_M_begin_(p_M* message, "));
  EXPECT_TRUE(Declares(result, "  p_M_x_number_ = 1\n"));
}

TEST(CNamesTest, ParametersDoNotHideTypes) {
  const ProtocResult result = RunC(R"(syntax = "proto2";
message value { optional int32 x = 1; }
message child_ {})");
  EXPECT_TRUE(Declares(result,
                       "void value_set_x(value* message__, "
                       "int32_t value__)"));
}

TEST(CNamesTest, FlattenedNameIsTaken) {
  EXPECT_EQ(RunC(R"(syntax = "proto2";
package p;
message A {
  message B {}
}
message A_B {})")
                .error,
            "a.proto:6: p.A_B: its C name p_A_B is also that of message "
            "p.A.B; rename one of them\n"
            "a.proto:6: p.A_B: its C name p_A_B_begin is also that of the "
            "beginning of message p.A.B; rename one of them\n"
            "a.proto:6: p.A_B: its C name p_A_B_end is also that of the end of "
            "message p.A.B; rename one of them");
}

TEST(CNamesTest, PackagesThatBecomeOne) {
  const ProtocResult result =
      RunProtoc({{"a.proto", "syntax = 'proto2'; package a; message b_M {}"},
                 {"b.proto", "syntax = 'proto2'; package a.b; message M {}"}},
                {}, "lang=c");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error.substr(0, result.error.find('\n')),
            "a.proto:1: a.b_M: its C name a_b_M is also that of message a.b.M "
            "of b.proto; rename one of them");
}

TEST(CNamesTest, FunctionsOfTwoFields) {
  EXPECT_EQ(RunC(R"(syntax = "proto2";
package p;
message M {
  optional string x = 1;
  optional int32 x_n = 2;
})")
                .error,
            "a.proto:5: p.M.x_n: its C name p_M_set_x_n is also that of the "
            "setter with a size of field p.M.x; rename one of them");
}

TEST(CNamesTest, NamesOfTheRuntime) {
  EXPECT_EQ(RunC("syntax = 'proto2';\nenum E {\n pbz_begin = 0; }").error,
            "a.proto:3: pbz_begin: its C name pbz_begin begins like those of "
            "the runtime; rename the element");
  EXPECT_EQ(
      RunC("syntax = 'proto2';\npackage pbz;\nmessage M {}\nmessage N {}")
          .error,
      "a.proto:3: pbz.M: its C name pbz_M begins like those of the runtime; "
      "rename the package");
}

TEST(CNamesTest, Options) {
  EXPECT_EQ(RunC("syntax = 'proto2';", "lang=c,lite=1").error,
            "unknown option 'lite'; the known options are: comments=false, "
            "lang=LANGUAGE");
  for (const std::string name :
       {"wrapper_namespace", "runtime_namespace", "descriptors", "sdk"}) {
    EXPECT_EQ(RunC("syntax = 'proto2';", "lang=c," + name + "=x").error,
              "option '" + name + "' means nothing for C; leave it out");
  }
  EXPECT_EQ(RunC("syntax = 'proto2';", "lang=java").error,
            "option 'lang' has the value 'java'; the languages are: cpp c");
}

TEST(CNamesTest, CommentsCanBeLeftOut) {
  const std::string schema =
      "syntax = 'proto2'; package p;\n// Of M.\nmessage M {}";
  EXPECT_TRUE(Declares(RunC(schema), "/// Of M.\ntypedef struct p_M {"));
  EXPECT_FALSE(Declares(RunC(schema, "lang=c,comments=false"), "Of M."));
}

}  // namespace
}  // namespace protozero::plugin
