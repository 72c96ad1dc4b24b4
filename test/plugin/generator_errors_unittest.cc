// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// One test for each error message of the plugin, with its exact text: users see
// it, and it tells them what to do.

#include <string>

#include <google/protobuf/descriptor.pb.h>

#include "gtest/gtest.h"
#include "test/plugin/in_memory_protoc.h"

namespace protozero::plugin {
namespace {

TEST(GeneratorErrorsTest, FlattenedNameIsTaken) {
  const ProtocResult result = RunProtoc(R"(syntax = "proto2";
package p;
message A {
  message B {}
}
message A_B {})");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:6: p.A_B: its C++ name p::pbzero::A_B is also that of "
            "message p.A.B; rename one of them");
}

TEST(GeneratorErrorsTest, FlattenedNameIsTakenInImportedFile) {
  const ProtocResult result = RunProtoc({{"a.proto", R"(syntax = "proto2";
package p;
import "b.proto";
message A {
  enum B { ZERO = 0; }
})"},
                                         {"b.proto", R"(syntax = "proto2";
package p;
message A_B {})"}},
                                        {"a.proto"});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:5: p.A.B: its C++ name p::pbzero::A_B is also that of "
            "message p.A_B of b.proto; rename one of them");
}

// Without this error, two headers that never meet in a translation unit would
// go unnoticed.
TEST(GeneratorErrorsTest, FlattenedNameIsTakenInOtherFileOfTheRun) {
  const ProtocResult result = RunProtoc(
      {{"a.proto", "syntax = 'proto2'; package p; message A { message B {} }"},
       {"b.proto", "syntax = 'proto2'; package p; message A_B {}"}});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:1: p.A.B: its C++ name p::pbzero::A_B is also that of "
            "message p.A_B of b.proto; rename one of them\n"
            "b.proto:1: p.A_B: its C++ name p::pbzero::A_B is also that of "
            "message p.A.B of a.proto; rename one of them");
}

// Each file is generated alone, so a name can yield only to names in its own
// file.
TEST(GeneratorErrorsTest, DecoderIsTakenInImportedFile) {
  const ProtocResult result = RunProtoc({{"a.proto", R"(syntax = "proto2";
package p;
import "b.proto";
message A {})"},
                                         {"b.proto", R"(syntax = "proto2";
package p;
message A_Decoder {})"}},
                                        {"a.proto"});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:4: p.A: its C++ name p::pbzero::A_Decoder is also that of "
            "message p.A_Decoder of b.proto; rename one of them");
}

TEST(GeneratorErrorsTest, TopLevelEnumValueIsTaken) {
  const ProtocResult result = RunProtoc(R"(syntax = "proto2";
package p;
message A { message B {} }
enum E {
  ZERO = 0;
  A_B = 1;
})");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:3: p.A.B: its C++ name p::pbzero::A_B is also that of "
            "enum value p.A_B; rename one of them");
}

TEST(GeneratorErrorsTest, NameFunctionIsTakenInImportedFile) {
  const ProtocResult result = RunProtoc({{"a.proto", R"(syntax = "proto2";
package p;
import "b.proto";
enum E { ZERO = 0; })"},
                                         {"b.proto", R"(syntax = "proto2";
package p;
message E_Name {})"}},
                                        {"a.proto"});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:4: p.E: its C++ name p::pbzero::E_Name is also that of "
            "message p.E_Name of b.proto; rename one of them");
}

TEST(GeneratorErrorsTest, EscapedMessageIsTaken) {
  const ProtocResult result = RunProtoc(R"(syntax = "proto2";
package p;
message class {}
message class_ {})");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:4: p.class_: its C++ name p::pbzero::class_ is also that "
            "of message p.class; rename one of them");
}

TEST(GeneratorErrorsTest, EscapedEnumValueIsTaken) {
  const ProtocResult result = RunProtoc(R"(syntax = "proto2";
package p;
enum E {
  union = 0;
  union_ = 1;
})");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:5: p.union_: its C++ name p::pbzero::union_ is also that "
            "of enum value p.union; rename one of them");
}

TEST(GeneratorErrorsTest, EscapedAliasIsTaken) {
  const ProtocResult result = RunProtoc(R"(syntax = "proto2";
package p;
message M {
  message class {}
  message class_ {}
})");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:4: p.M.class: its C++ name class_ is also that of "
            "message p.M.class_; rename one of them");
}

TEST(GeneratorErrorsTest, NamespaceIsTaken) {
  const ProtocResult result =
      RunProtoc({{"a.proto", R"(syntax = "proto2";
package a;
import "b.proto";
message M {})"},
                 {"b.proto", "syntax = 'proto2'; package a.pbzero.M;"}},
                {"a.proto"});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:4: a.M: its C++ name a::pbzero::M is also that of "
            "namespace a::pbzero::M of b.proto; rename one of them");
}

TEST(GeneratorErrorsTest, NamespaceIsTakenByImportedMessage) {
  const ProtocResult result =
      RunProtoc({{"a.proto", R"(syntax = "proto2";

package a.pbzero.M;
import "b.proto";)"},
                 {"b.proto", "syntax = 'proto2'; package a; message M {}"}},
                {"a.proto"});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:3: a.pbzero.M: its C++ name a::pbzero::M is also that of "
            "message a.M of b.proto; rename one of them");
}

TEST(GeneratorErrorsTest, RawSetterIsTaken) {
  const ProtocResult result = RunProtoc(R"(syntax = "proto2";
package p;
message M {
  optional M x = 1 [lazy = true];
  optional bytes x_raw = 2;
})");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:5: p.M.x_raw: its C++ name set_x_raw is also that of "
            "field p.M.x; rename one of them");
}

TEST(GeneratorErrorsTest, SetterInLowerCaseIsTaken) {
  const ProtocResult result = RunProtoc(R"(syntax = "proto2";
package p;
message M {
  optional M x = 1 [lazy = true];
  optional bytes X_raw = 2;
})");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:5: p.M.X_raw: its C++ name set_x_raw is also that of "
            "field p.M.x; rename one of them");
}

TEST(GeneratorErrorsTest, SetterIsNamedLikeItsClass) {
  const ProtocResult result = RunProtoc(R"(syntax = "proto2";
package p;
message set_x {
  optional int32 x = 1;
})");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:4: p.set_x.x: its C++ name set_x is also that of the "
            "class itself; rename one of them");
}

TEST(GeneratorErrorsTest, ConstantIsNamedLikeItsClass) {
  const ProtocResult result = RunProtoc(R"(syntax = "proto2";
package p;
message kFooBar_2 {
  optional int32 foo_bar = 1;
  optional int32 fooBar = 2;
})");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:5: p.kFooBar_2.fooBar: its C++ name kFooBar_2 is also "
            "that of the class itself; rename one of them");
}

TEST(GeneratorErrorsTest, ExtensionClassIsTaken) {
  const ProtocResult result = RunProtoc(R"(syntax = "proto2";
package p;
message B { extensions 1 to 10; }
message M {
  optional int32 x = 1;
  extend B {
    optional M m = 1;
  }
}
message M_extends_B {})");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:10: p.M_extends_B: its C++ name p::pbzero::M_extends_B is "
            "also that of the class for extension p.M.m; rename one of them");
}

TEST(GeneratorErrorsTest, FieldOfImportedExtensionWrapper) {
  const ProtocResult result = RunProtoc({{"a.proto", R"(syntax = "proto2";
package p;
import "b.proto";
message M {
  optional Wrapper w = 1;
})"},
                                         {"b.proto", R"(syntax = "proto2";
package p;
message Base { extensions 1 to 10; }
message Wrapper {
  extend Base {
    optional int32 x = 1;
  }
})"}},
                                        {"a.proto"});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:5: p.M.w: its type p.Wrapper holds nothing but extensions "
            "of p.Base, so its class is for writing those; move them to "
            "another message of b.proto");
}

TEST(GeneratorErrorsTest, NamespaceOfTheRuntime) {
  for (const std::string package :
       {"protozero", "protozero.internal", "protozero.proto_utils"}) {
    const ProtocResult result =
        RunProtoc({{"a.proto", "syntax = 'proto2'; package " + package +
                                   "; message Message {}"}},
                  {}, "");
    EXPECT_FALSE(result.ok);
    std::string name = package;
    if (name.size() > 9)
      name.replace(9, 1, "::");
    EXPECT_EQ(result.error,
              "a.proto:1: " + package +
                  ": the generated code would be in a namespace of the "
                  "runtime, " +
                  name +
                  "; set the option wrapper_namespace or rename the package");
  }
}

TEST(GeneratorErrorsTest, NamespaceOfTheStandardLibrary) {
  const ProtocResult result = RunProtoc({{"a.proto", "syntax = 'proto2';"}}, {},
                                        "wrapper_namespace=std::x");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:1: the namespace std is taken by the C or C++ library; "
            "set another wrapper_namespace or add a package");
}

TEST(GeneratorErrorsTest, UnknownOption) {
  const ProtocResult result =
      RunProtoc({{"a.proto", "syntax = 'proto2';"}}, {}, "lite=1");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "unknown option 'lite'; the known options are: "
            "wrapper_namespace=NAMESPACE, runtime_namespace=NAMESPACE, "
            "descriptors=true, "
            "comments=false, lang=LANGUAGE");
}

TEST(GeneratorErrorsTest, DescriptorsAreThereOrLeftOut) {
  for (const std::string option : {"descriptors", "descriptors=no"}) {
    const ProtocResult result =
        RunProtoc({{"a.proto", "syntax = 'proto2';"}}, {}, option);
    EXPECT_FALSE(result.ok);
    EXPECT_EQ(result.error,
              "option 'descriptors' takes 'true' only; leave it out otherwise");
  }
}

TEST(GeneratorErrorsTest, CommentsAreThereOrNot) {
  for (const std::string option : {"comments", "comments=", "comments=no"}) {
    const ProtocResult result =
        RunProtoc({{"a.proto", "syntax = 'proto2';"}}, {}, option);
    EXPECT_FALSE(result.ok);
    EXPECT_EQ(result.error, "option 'comments' takes 'true' or 'false'");
  }
}

TEST(GeneratorErrorsTest, OptionsOfPerfettosPlugins) {
  const std::string header =
      RunProtoc({{"a.proto", "syntax = 'proto2';"}}, {}, "wrapper_namespace=x")
          .files.at("a.pbzero.h");
  for (const std::string options :
       {"sdk=true,wrapper_namespace=x", "wrapper_namespace=x,sdk=1"}) {
    const ProtocResult result =
        RunProtoc({{"a.proto", "syntax = 'proto2';"}}, {}, options);
    EXPECT_TRUE(result.ok) << result.error;
    EXPECT_EQ(result.files.at("a.pbzero.h"), header);
  }
  for (const std::string option : {"sdk", "sdk=", "sdk=yes"}) {
    const ProtocResult result =
        RunProtoc({{"a.proto", "syntax = 'proto2';"}}, {}, option);
    EXPECT_FALSE(result.ok);
    EXPECT_EQ(result.error,
              "option 'sdk' is ignored, and takes 'true' or '1' only; leave it "
              "out");
  }
  for (const std::string option : {"invoker", "path_strip_prefix"}) {
    const ProtocResult result =
        RunProtoc({{"a.proto", "syntax = 'proto2';"}}, {}, option + "=x");
    EXPECT_FALSE(result.ok);
    EXPECT_EQ(result.error, "option '" + option +
                                "' is one of Perfetto's plugins for C and "
                                "Rust, and means nothing for a C++ header; "
                                "leave it out");
  }
}

TEST(GeneratorErrorsTest, UnknownOptionWithoutValue) {
  const ProtocResult result =
      RunProtoc({{"a.proto", "syntax = 'proto2';"}}, {}, "pbzero");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "unknown option 'pbzero'; the known options are: "
            "wrapper_namespace=NAMESPACE, runtime_namespace=NAMESPACE, "
            "descriptors=true, "
            "comments=false, lang=LANGUAGE");
}

TEST(GeneratorErrorsTest, OptionWithoutValue) {
  for (const std::string name : {"wrapper_namespace", "runtime_namespace"}) {
    for (const char* value : {"", "="}) {
      const ProtocResult result =
          RunProtoc({{"a.proto", "syntax = 'proto2';"}}, {}, name + value);
      EXPECT_FALSE(result.ok);
      EXPECT_EQ(result.error, "option '" + name + "' has no value; write " +
                                  name + "=NAMESPACE, or leave it out");
    }
  }
}

TEST(GeneratorErrorsTest, BadRuntimeNamespace) {
  for (const std::string value : {"a::b", "9a", "class", "std", "size_t"}) {
    const ProtocResult result = RunProtoc({{"a.proto", "syntax = 'proto2';"}},
                                          {}, "runtime_namespace=" + value);
    EXPECT_FALSE(result.ok);
    EXPECT_EQ(result.error,
              "option 'runtime_namespace' has the value '" + value +
                  "', which cannot name a namespace; use one identifier that "
                  "is not a reserved word");
  }
}

TEST(GeneratorErrorsTest, WrapperNamespaceOfTheRuntime) {
  const ProtocResult result =
      RunProtoc({{"a.proto", "syntax = 'proto2';"}}, {},
                "wrapper_namespace=pz,runtime_namespace=pz");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:1: the namespace pz is the library's; set another "
            "wrapper_namespace or runtime_namespace");
}

TEST(GeneratorErrorsTest, OptionGivenTwice) {
  const ProtocResult result =
      RunProtoc({{"a.proto", "syntax = 'proto2';"}}, {},
                "wrapper_namespace=a,wrapper_namespace=b");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "option 'wrapper_namespace' is given twice; remove one of them");
}

TEST(GeneratorErrorsTest, OptionWithBadValue) {
  for (const std::string value : {"a.b", "9a", "a::", "::a", "class",
                                  "a::namespace", "a b", "a=b", "a::size_t"}) {
    const ProtocResult result = RunProtoc({{"a.proto", "syntax = 'proto2';"}},
                                          {}, "wrapper_namespace=" + value);
    EXPECT_FALSE(result.ok);
    EXPECT_EQ(result.error,
              "option 'wrapper_namespace' has the value '" + value +
                  "', which is not a C++ namespace; use identifiers that are "
                  "not reserved words, joined by '::'");
  }
}

// Returns a schema that uses each kind of name once. The name of |kind| is one
// that no parser accepts.
google::protobuf::FileDescriptorProto Named(const std::string& kind) {
  const auto name = [&](const char* of, const char* otherwise) {
    return kind == of ? std::string("1") + otherwise : otherwise;
  };
  google::protobuf::FileDescriptorProto file;
  file.set_name("a.proto");
  file.set_package(name("package", "p") + ".q");
  google::protobuf::DescriptorProto* message = file.add_message_type();
  message->set_name(name("message", "M"));
  message->add_extension_range()->set_start(100);
  message->mutable_extension_range(0)->set_end(200);
  google::protobuf::FieldDescriptorProto* field = message->add_field();
  field->set_name(name("field", "f"));
  field->set_number(1);
  field->set_type(google::protobuf::FieldDescriptorProto::TYPE_INT32);
  field->set_label(google::protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
  field->set_oneof_index(0);
  message->add_oneof_decl()->set_name(name("oneof", "o"));
  message->add_nested_type()->set_name("Nested");
  google::protobuf::EnumDescriptorProto* entry = file.add_enum_type();
  entry->set_name(name("enum", "E"));
  entry->add_value()->set_name(name("enum value", "V"));
  entry->mutable_value(0)->set_number(0);
  google::protobuf::FieldDescriptorProto* extension = file.add_extension();
  *extension = *field;
  extension->clear_oneof_index();
  extension->set_name(name("extension", "x"));
  extension->set_number(100);
  extension->set_extendee("." + file.package() + "." + message->name());
  return file;
}

TEST(GeneratorErrorsTest, NameBeginsWithADigit) {
  const struct {
    const char* kind;
    const char* element;
    const char* name;
  } cases[] = {
      {"package", "1p.q", "1p"},     {"message", "p.q.1M", "1M"},
      {"field", "p.q.M.1f", "1f"},   {"oneof", "p.q.M.1o", "1o"},
      {"enum", "p.q.1E", "1E"},      {"enum value", "p.q.1V", "1V"},
      {"extension", "p.q.1x", "1x"},
  };
  for (const char* parameter : {"wrapper_namespace=pbzero", "lang=c"}) {
    EXPECT_TRUE(RunOnDescriptor(Named(""), parameter).ok);
    for (const auto& [kind, element, name] : cases) {
      const ProtocResult result = RunOnDescriptor(Named(kind), parameter);
      EXPECT_EQ(result.error,
                "a.proto:1: " + std::string(element) + ": the " + kind +
                    " name '" + name +
                    "' begins with a digit, which no identifier of C or C++ "
                    "does; rename it");
      EXPECT_TRUE(result.files.empty());
    }
  }
}

// libprotobuf accepts these names, so the plugin must refuse them.
TEST(GeneratorErrorsTest, NameHasOtherCharacters) {
  for (const char* name : {"", "a-b", "a b", "a.b", "\xc3\xa4", "a\nb", "a*/b",
                           "a\"b", "a/b", "a$"}) {
    google::protobuf::FileDescriptorProto file = Named("");
    file.mutable_enum_type(0)->set_name(name);
    EXPECT_NE(RunOnDescriptor(file, "lang=c").error, "") << name;
    file = Named("");
    file.mutable_message_type(0)->mutable_nested_type(0)->set_name(name);
    EXPECT_NE(RunOnDescriptor(file, "").error, "") << name;
  }
}

TEST(GeneratorErrorsTest, PathCannotStandInAnInclude) {
  for (const char* path : {"", "a\nb.proto", "a\"b.proto", "a\x7f.proto"}) {
    google::protobuf::FileDescriptorProto file = Named("");
    file.set_name(path);
    for (const char* parameter : {"", "lang=c"}) {
      const std::string error = RunOnDescriptor(file, parameter).error;
      EXPECT_NE(error.find("cannot stand in an #include"), std::string::npos)
          << error;
      EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    }
  }
  for (const char* path :
       {"a b.proto", "a*/b.proto", "a'b.proto", "1.proto", "\xc3\xa4.proto"}) {
    google::protobuf::FileDescriptorProto file = Named("");
    file.set_name(path);
    EXPECT_TRUE(RunOnDescriptor(file, "").ok) << path;
    EXPECT_TRUE(RunOnDescriptor(file, "lang=c").ok) << path;
  }
}

// The code names the types of imports, too.
TEST(GeneratorErrorsTest, PathOfAnImportCannotStandInAnInclude) {
  const ProtocResult result =
      RunProtoc({{"a.proto", "syntax = 'proto3'; import 'b\\\"c.proto';"},
                 {"b\"c.proto", "syntax = 'proto3'; message M {}"}},
                {"a.proto"});
  EXPECT_EQ(result.error.find("b\"c.proto:1: the path of this file"), 0u)
      << result.error;
}

TEST(GeneratorErrorsTest, AllErrorsOfAllFilesInOrderOfLines) {
  const ProtocResult result =
      RunProtoc({{"a.proto", R"(syntax = "proto2";
message set_x {
  optional int32 x = 1;
}
message A { message B {} }
message A_B {})"},
                 {"b.proto",
                  "syntax = 'proto2'; message set_y { optional int32 y = 1; }"},
                 {"c.proto", "syntax = 'proto2'; message Fine {}"}});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error,
            "a.proto:3: set_x.x: its C++ name set_x is also that of the class "
            "itself; rename one of them\n"
            "a.proto:6: A_B: its C++ name pbzero::A_B is also that of message "
            "A.B; rename one of them\n"
            "b.proto:1: set_y.y: its C++ name set_y is also that of the class "
            "itself; rename one of them");
  // No file is written, not even the one without errors.
  EXPECT_TRUE(result.files.empty());
}

}  // namespace
}  // namespace protozero::plugin
