// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/schema.h"

#include <memory>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.pb.h>

#include "gtest/gtest.h"
#include "test/pbz/testing.h"

namespace pbz {

namespace {

// Returns the field. Fails the test if there is none.
FieldType FieldOf(const Schema& schema,
                  const std::string& message,
                  uint32_t id) {
  const MessageType* type = schema.FindMessage(message);
  const FieldType* field = type ? type->FindField(id) : nullptr;
  if (!field) {
    ADD_FAILURE() << message << " has no field " << id;
    return FieldType();
  }
  return *field;
}

std::string ErrorOf(const std::string& bytes) {
  std::string error;
  EXPECT_FALSE(Schema::Parse(AsBytes(bytes), &error));
  return error;
}

TEST(SchemaTest, TypesAreThoseOfTheFile) {
  const auto schema = ParseSchema(R"(
    syntax = "proto2"; package p.q;
    message M {
      required int32 a = 3;
      optional string b = 1 [default = "x\"y"];
      repeated sint64 c = 200;
      optional M d = 4;
      optional E e = 5;
      repeated group G = 6 { optional double f = 1; }
      enum E { A = 5; B = -1; option allow_alias = true; C = 5; }
    }
    message Set { option message_set_wire_format = true; extensions 4 to max; }
  )");
  const MessageType* message = schema->FindMessage("p.q.M");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->full_name, "p.q.M");
  ASSERT_EQ(message->fields.size(), 6u);
  EXPECT_EQ(message->fields[0].name, "b");  // The order is by id.
  EXPECT_EQ(message->FindField(2), nullptr);
  EXPECT_EQ(message->FindField(0), nullptr);
  EXPECT_EQ(message->FindField(201), nullptr);

  const FieldType a = FieldOf(*schema, "p.q.M", 3);
  EXPECT_EQ(a.type, SchemaType::kInt32);
  EXPECT_TRUE(a.is_required);
  EXPECT_TRUE(a.has_presence);
  const FieldType b = FieldOf(*schema, "p.q.M", 1);
  EXPECT_EQ(b.default_value, "x\"y");
  EXPECT_FALSE(b.is_required || b.is_repeated || b.is_utf8);
  const FieldType c = FieldOf(*schema, "p.q.M", 200);
  EXPECT_TRUE(c.is_repeated);
  EXPECT_FALSE(c.is_packed || c.has_presence);
  EXPECT_EQ(FieldOf(*schema, "p.q.M", 4).message, message);
  const FieldType g = FieldOf(*schema, "p.q.M", 6);
  EXPECT_EQ(g.type, SchemaType::kGroup);
  ASSERT_TRUE(g.message);
  EXPECT_EQ(g.message->full_name, "p.q.M.G");

  EXPECT_FALSE(message->is_message_set);
  EXPECT_TRUE(schema->FindMessage("Set")->is_message_set);

  const FieldType e = FieldOf(*schema, "p.q.M", 5);
  ASSERT_TRUE(e.enum_type);
  EXPECT_TRUE(e.enum_type->is_closed);
  EXPECT_EQ(*e.enum_type->FindName(5), "A");
  EXPECT_EQ(*e.enum_type->FindName(-1), "B");
  EXPECT_EQ(e.enum_type->FindName(0), nullptr);
}

TEST(SchemaTest, Proto3PacksAndHasOpenEnums) {
  const auto schema = ParseSchema(R"(
    syntax = "proto3";
    message M {
      repeated int32 a = 1;
      repeated int32 b = 2 [packed = false];
      repeated string c = 3;
      E d = 4;
      optional int32 e = 5;
      oneof which { int32 f = 6; M g = 7; }
      map<string, M> h = 8;
      M i = 9;
      enum E { ZERO = 0; }
    })");
  EXPECT_TRUE(FieldOf(*schema, "M", 1).is_packed);
  EXPECT_FALSE(FieldOf(*schema, "M", 2).is_packed);
  EXPECT_FALSE(FieldOf(*schema, "M", 3).is_packed);
  EXPECT_TRUE(FieldOf(*schema, "M", 3).is_utf8);
  EXPECT_FALSE(FieldOf(*schema, "M", 4).enum_type->is_closed);
  EXPECT_FALSE(FieldOf(*schema, "M", 4).has_presence);
  EXPECT_TRUE(FieldOf(*schema, "M", 5).has_presence);
  EXPECT_TRUE(FieldOf(*schema, "M", 6).has_presence);
  EXPECT_TRUE(FieldOf(*schema, "M", 9).has_presence);
  const MessageType* message = schema->FindMessage("M");
  EXPECT_EQ(message->oneofs, (std::vector<std::string>{"which", "_e"}));
  EXPECT_EQ(FieldOf(*schema, "M", 6).oneof_index, 0);
  EXPECT_EQ(FieldOf(*schema, "M", 7).oneof_index, 0);
  EXPECT_EQ(FieldOf(*schema, "M", 5).oneof_index, 1);
  EXPECT_EQ(FieldOf(*schema, "M", 1).oneof_index, -1);
  EXPECT_FALSE(message->is_map_entry);
  ASSERT_TRUE(FieldOf(*schema, "M", 8).message);
  EXPECT_TRUE(FieldOf(*schema, "M", 8).message->is_map_entry);
}

// The descriptor is made by hand, because protoc 3.21 has no other way to
// encode fields as groups.
TEST(SchemaTest, GroupsHaveTheNameOfTheirTypeInText) {
  google::protobuf::FileDescriptorSet set;
  const auto add_file = [&](const char* name) {
    auto* file = set.add_file();
    file->set_name(name);
    file->set_package("p");
    return file;
  };
  auto* message = add_file("m.proto")->add_message_type();
  message->set_name("M");
  message->add_nested_type()->set_name("Sub");
  set.mutable_file(0)->add_message_type()->set_name("Top");
  add_file("other.proto")->add_message_type()->set_name("Other");
  const auto add_field = [&](int number, const char* name, const char* type) {
    auto* field = message->add_field();
    field->set_name(name);
    field->set_number(number);
    field->set_type(google::protobuf::FieldDescriptorProto::TYPE_GROUP);
    field->set_type_name(type);
  };
  add_field(1, "sub", ".p.M.Sub");
  add_field(2, "Sub", ".p.M.Sub");
  add_field(3, "another", ".p.M.Sub");
  add_field(4, "top", ".p.Top");
  add_field(5, "other", ".p.Other");
  std::string error;
  const auto schema = Schema::Parse(AsBytes(set.SerializeAsString()), &error);
  ASSERT_TRUE(schema) << error;
  EXPECT_EQ(FieldOf(*schema, "p.M", 1).text_name, "Sub");
  EXPECT_EQ(FieldOf(*schema, "p.M", 2).text_name, "Sub");
  EXPECT_EQ(FieldOf(*schema, "p.M", 3).text_name, "another");
  EXPECT_EQ(FieldOf(*schema, "p.M", 4).text_name, "top");
  EXPECT_EQ(FieldOf(*schema, "p.M", 5).text_name, "other");
}

TEST(SchemaTest, RootMessagesAreInNoOther) {
  const auto roots = [](const std::string& proto) {
    return ParseSchema("syntax = 'proto3'; " + proto)->RootMessages();
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(roots("message A { B b = 1; A a = 2; } message B {}"), Names{"A"});
  EXPECT_EQ(roots("message A { map<int32, B> b = 1; map<int32, A> a = 2; }"
                  "message B { message C {} C c = 1; }"),
            Names{"A"});
  EXPECT_EQ(roots("message A { B b = 1; } message B { A a = 1; }"), Names{});
  EXPECT_EQ(roots("message A {} message B {}"), (Names{"A", "B"}));
}

TEST(SchemaTest, RootMessagesAreNotImportedOnes) {
  google::protobuf::FileDescriptorSet set;
  for (const char* name : {"A", "B", "C"}) {
    auto* file = set.add_file();
    file->set_name(name);
    file->add_message_type()->set_name(name);
  }
  const auto roots = [&] {
    std::string error;
    return Schema::Parse(AsBytes(set.SerializeAsString()), &error)
        ->RootMessages();
  };
  EXPECT_EQ(roots().size(), 3u);
  set.mutable_file(2)->add_dependency("A");
  set.mutable_file(2)->add_dependency("B");
  EXPECT_EQ(roots(), std::vector<std::string>{"C"});
  // Now all of them are roots.
  set.mutable_file(0)->add_dependency("C");
  EXPECT_EQ(roots().size(), 3u);
}

TEST(SchemaTest, ExtensionsAreFieldsOfWhatTheyExtend) {
  const auto schema = ParseSchema(R"(
    syntax = "proto2"; package p;
    message M { extensions 100 to max; optional int32 a = 1; }
    extend M { repeated int32 b = 100 [packed = true]; }
    message Scope { extend M { optional M c = 101; } })");
  const FieldType b = FieldOf(*schema, "p.M", 100);
  EXPECT_EQ(b.name, "p.b");
  EXPECT_TRUE(b.is_extension && b.is_packed);
  const FieldType c = FieldOf(*schema, "p.M", 101);
  EXPECT_EQ(c.name, "p.Scope.c");
  EXPECT_EQ(c.message, schema->FindMessage("p.M"));
  EXPECT_EQ(schema->FindMessage("p.Scope")->fields.size(), 0u);
}

// protoc 3.21 does not know editions, so the test has the features as bytes.
TEST(SchemaTest, EditionsChooseFeatures) {
  google::protobuf::FileDescriptorSet set;
  auto* file = set.add_file();
  file->set_syntax("editions");
  file->mutable_unknown_fields()->AddVarint(14, 1000);  // 2023.
  auto* message = file->add_message_type();
  message->set_name("M");
  const auto add_field = [&](int number, const std::string& features) {
    using Field = google::protobuf::FieldDescriptorProto;
    auto* field = message->add_field();
    field->set_number(number);
    field->set_label(Field::LABEL_OPTIONAL);
    field->set_type(Field::TYPE_INT32);
    if (!features.empty()) {
      field->mutable_options()->mutable_unknown_fields()->AddLengthDelimited(
          21, Bytes(features));
    }
    return field;
  };
  using Field = google::protobuf::FieldDescriptorProto;
  add_field(1, "")->set_label(Field::LABEL_REPEATED);
  add_field(2, "1802")->set_label(Field::LABEL_REPEATED);  // EXPANDED
  add_field(3, "");
  add_field(4, "0802");                    // IMPLICIT
  add_field(5, "0803");                    // LEGACY_REQUIRED
  auto* delimited = add_field(6, "2802");  // DELIMITED
  delimited->set_type(Field::TYPE_MESSAGE);
  delimited->set_type_name(".M");
  auto* open = add_field(7, "");
  open->set_type(Field::TYPE_ENUM);
  open->set_type_name(".Open");
  auto* closed = add_field(8, "");
  closed->set_type(Field::TYPE_ENUM);
  closed->set_type_name(".Closed");
  add_field(9, "")->set_type(Field::TYPE_STRING);
  add_field(10, "2003")->set_type(Field::TYPE_STRING);  // NONE
  file->add_enum_type()->set_name("Open");
  auto* closed_enum = file->add_enum_type();
  closed_enum->set_name("Closed");
  closed_enum->mutable_options()->mutable_unknown_fields()->AddLengthDelimited(
      7, Bytes("1002"));

  std::string error;
  const auto schema = Schema::Parse(AsBytes(set.SerializeAsString()), &error);
  ASSERT_TRUE(schema) << error;
  EXPECT_TRUE(FieldOf(*schema, "M", 1).is_packed);
  EXPECT_FALSE(FieldOf(*schema, "M", 2).is_packed);
  EXPECT_TRUE(FieldOf(*schema, "M", 3).has_presence);
  EXPECT_FALSE(FieldOf(*schema, "M", 4).has_presence);
  EXPECT_TRUE(FieldOf(*schema, "M", 5).is_required);
  EXPECT_EQ(FieldOf(*schema, "M", 6).type, SchemaType::kGroup);
  EXPECT_FALSE(FieldOf(*schema, "M", 7).enum_type->is_closed);
  EXPECT_TRUE(FieldOf(*schema, "M", 8).enum_type->is_closed);
  EXPECT_TRUE(FieldOf(*schema, "M", 9).is_utf8);
  EXPECT_FALSE(FieldOf(*schema, "M", 10).is_utf8);

  // A file's features are the defaults for everything in it, which may choose
  // again.
  file->mutable_options()->mutable_unknown_fields()->AddLengthDelimited(
      50, Bytes("0802 1002 1802 2802"));
  const auto other = Schema::Parse(AsBytes(set.SerializeAsString()), &error);
  ASSERT_TRUE(other) << error;
  EXPECT_FALSE(FieldOf(*other, "M", 1).is_packed);
  EXPECT_FALSE(FieldOf(*other, "M", 3).has_presence);
  EXPECT_TRUE(FieldOf(*other, "M", 5).is_required);
  EXPECT_TRUE(FieldOf(*other, "M", 7).enum_type->is_closed);
}

TEST(SchemaTest, FindsMessagesByTheEndOfTheirName) {
  const auto schema = ParseSchema(R"(
    syntax = "proto3"; package a.b;
    message M { message N {} }
    message L { message N {} }
    message XN {})");
  EXPECT_EQ(schema->FindMessage("a.b.M"), schema->FindMessage("M"));
  EXPECT_EQ(schema->FindMessage(".a.b.M"), schema->FindMessage("b.M"));
  EXPECT_TRUE(schema->FindMessage("M.N"));
  EXPECT_EQ(schema->FindMessage("N"), nullptr);
  EXPECT_EQ(schema->NamesEndingIn("N"),
            (std::vector<std::string>{"a.b.L.N", "a.b.M.N"}));
  EXPECT_EQ(schema->FindMessage(""), nullptr);
  EXPECT_EQ(schema->FindMessage("X"), nullptr);
}

TEST(SchemaTest, NamesTypesThatAreMissing) {
  google::protobuf::FileDescriptorSet set;
  auto* message = set.add_file()->add_message_type();
  message->set_name("M");
  for (int number : {1, 2}) {
    auto* field = message->add_field();
    field->set_number(number);
    field->set_type(google::protobuf::FieldDescriptorProto::TYPE_MESSAGE);
    field->set_type_name(".elsewhere.N");
  }
  std::string error;
  const auto schema = Schema::Parse(AsBytes(set.SerializeAsString()), &error);
  ASSERT_TRUE(schema) << error;
  EXPECT_EQ(schema->missing_types(), (std::vector<std::string>{"elsewhere.N"}));
  EXPECT_EQ(FieldOf(*schema, "M", 1).message, nullptr);
}

TEST(SchemaTest, RefusesWhatIsNoSchema) {
  EXPECT_EQ(ErrorOf(""), "not a descriptor set: it has no messages");
  EXPECT_NE(ErrorOf("\x7f\x45LF").find("not a descriptor set: "),
            std::string::npos);
  // The set is truncated.
  const std::string set = DescriptorSet("syntax = 'proto3'; message M {}");
  EXPECT_NE(ErrorOf(set.substr(0, set.size() - 1)), "");
}

TEST(SchemaTest, NestedTypesDoNotExhaustTheStack) {
  // Messages are nested 100,000 levels deep, with sizes of four bytes.
  std::string message;
  size_t size = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto byte = [&](int shift, uint8_t more) {
      return static_cast<char>((size >> shift & 0x7f) | more);
    };
    std::string header(1, i == 99999 ? '\x22' : '\x1a');
    header += byte(0, 0x80);
    header += byte(7, 0x80);
    header += byte(14, 0x80);
    header += byte(21, 0);
    size += header.size();
    message.append(header.rbegin(), header.rend());
  }
  std::string file(message.rbegin(), message.rend());
  std::string set = Bytes("0a");
  for (size_t rest = file.size(), i = 0; i < 4; ++i, rest >>= 7)
    set += static_cast<char>((rest & 0x7f) | (i < 3 ? 0x80 : 0));
  EXPECT_EQ(ErrorOf(set + file),
            "not a descriptor set: types are nested too deeply");
}

TEST(SchemaTest, NamesCannotFoolATerminal) {
  google::protobuf::FileDescriptorSet set;
  set.add_file()->add_message_type()->set_name("M\x1b[31m\n");
  std::string error;
  const auto schema = Schema::Parse(AsBytes(set.SerializeAsString()), &error);
  ASSERT_TRUE(schema) << error;
  EXPECT_TRUE(schema->FindMessage("M??31m?"));
}

// Traces have such sets, with the descriptions of several programs.
TEST(SchemaTest, FirstOfSeveralDefinitionsCounts) {
  const std::string first = DescriptorSet(R"(
    syntax = "proto2"; package p;
    message M { optional int32 a = 1; extensions 100 to 200; }
    extend M { optional int32 x = 100; }
    enum E { A = 0; B = 1; option allow_alias = true; C = 1; })");
  const std::string other = DescriptorSet(R"(
    syntax = "proto2"; package p;
    message M {
      optional string a = 1;
      optional int32 b = 2;
      optional int32 c = 100;
      extensions 101 to 200;
    }
    extend M { optional int32 x = 101; }
    enum E { A = 0; D = 1; F = 2; })");
  std::string error;
  auto schema = Schema::Parse(AsBytes(first + first), &error);
  ASSERT_TRUE(schema) << error;
  EXPECT_EQ(schema->num_conflicts(), 0u);
  schema = Schema::Parse(AsBytes(first + other), &error);
  ASSERT_TRUE(schema) << error;
  EXPECT_EQ(FieldOf(*schema, "M", 1).type, SchemaType::kInt32);
  EXPECT_EQ(FieldOf(*schema, "M", 2).name, "b");
  EXPECT_EQ(FieldOf(*schema, "M", 100).name, "p.x");
  EXPECT_EQ(schema->FindMessage("M")->FindField(101), nullptr);
  EXPECT_EQ(schema->num_conflicts(), 4u);  // p.M.a, p.M.c, p.x, p.E.D
  EXPECT_EQ(schema->first_conflict(), "p.M.a");
}

TEST(SchemaTest, LongNamesAreRefused) {
  const std::string longest(Schema::kMaxName, 'a');
  for (const std::string& name : {longest, longest + "a"}) {
    const auto is_read = [](const google::protobuf::FileDescriptorSet& set) {
      std::string error;
      return Schema::Parse(AsBytes(set.SerializeAsString()), &error) != nullptr;
    };
    google::protobuf::FileDescriptorSet set;
    auto* const message = set.add_file()->add_message_type();
    message->set_name(name);
    EXPECT_EQ(is_read(set), name == longest);
    message->set_name("M");
    message->add_field()->set_name(name);
    EXPECT_EQ(is_read(set), name == longest);
    message->clear_field();
    message->add_enum_type()->add_value()->set_name(name);
    EXPECT_EQ(is_read(set), name == longest);
  }
}

TEST(SchemaTest, LongNamesDoNotFillTheMemory) {
  google::protobuf::FileDescriptorSet set;
  auto* const outer = set.add_file()->add_message_type();
  outer->set_name(std::string(Schema::kMaxName - 10, 'a'));
  for (int i = 0; i < 10000; ++i)
    outer->add_nested_type()->set_name(std::to_string(i));
  EXPECT_EQ(ErrorOf(set.SerializeAsString()),
            "not a descriptor set: the names of its types are too long");
}

}  // namespace

}  // namespace pbz
