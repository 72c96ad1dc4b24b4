// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Uses generated code with names that are taken. It must compile without a
// warning, have the documented names, and write the right bytes.

// The C library comes first, so that global names conflict with its names.
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "protozero/packed_repeated_fields.h"
#include "protozero/root_message.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/static_buffer.h"
#include "test/plugin/dynamic_schema.h"
#include "test/protos/plugin/hostile.pbzero.h"
#include "test/protos/plugin/hostile_global.pbzero.h"

namespace {

namespace hz = ::hostile::namespace_::protozero::std::pbzero;

using protozero::HeapBuffered;
using protozero::StackBuffered;

class HostileNamesTest : public ::testing::Test {
 protected:
  template <typename T>
  std::string Text(HeapBuffered<T>* message) {
    return schema_.ToText(T::GetName() + 1, message->SerializeAsString());
  }

  protozero::plugin::DynamicSchema schema_{"test/protos/plugin/hostile.proto"};
};

TEST_F(HostileNamesTest, Keywords) {
  HeapBuffered<hz::class_> m;
  m->set_class(1);
  m->set_operator("+");
  m->add_this()->set_class(2);
  m->set_and(true);
  m->set_not(hz::co_await_);
  m->set_double(0.5);
  protozero::PackedSignedVarInt packed;
  packed.Append(-1);
  m->set_union(packed);
  hz::class_::TemplateEntry* entry = m->add_template();
  entry->set_key("k");
  entry->set_value()->set_class(3);
  m->set_case(4);
  m->set_other();
  EXPECT_EQ(Text(&m),
            "class: 1 operator: \"+\" this { class: 2 } and: true not: "
            "co_await double: 0.5 union: -1 template { key: \"k\" value { "
            "class: 3 } } case: 4 other { }");

  HeapBuffered<hz::class_::struct_> nested;
  nested->set_typeid(hz::class_::struct_::protected_);
  EXPECT_EQ(Text(&nested), "typeid: protected");
  EXPECT_STREQ(hz::class_struct::typename_Name(hz::class_struct::public_),
               "public");
}

TEST_F(HostileNamesTest, Macros) {
  EXPECT_STREQ(hz::Macros_Name(hz::NULL_), "NULL");
  EXPECT_STREQ(hz::Macros_Name(hz::Macros::errno_), "errno");
  EXPECT_STREQ(hz::Macros_Name(hz::linux_), "linux");
  EXPECT_EQ(hz::NAN_::UINT64_MAX_, hz::NAN_::SIZE_MAX_::UINT64_MAX_);
  HeapBuffered<hz::NAN_> m;
  m->set_null(1);
  m->set_errno(2);
  EXPECT_EQ(Text(&m), "NULL: 1 errno: 2");
  EXPECT_EQ(hz::NAN_::kNULLFieldNumber, 1);
}

TEST_F(HostileNamesTest, TypesThatGeneratedCodeNamesBare) {
  HeapBuffered<hz::int32_t_> m;
  m->set_int32_t(-5);
  EXPECT_EQ(Text(&m), "int32_t: -5");

  HeapBuffered<hz::Unqualified> unqualified;
  unqualified->set_a()->set_size_t(1);
  unqualified->set_b(hz::Unqualified::uint64_t_);
  hz::Unqualified::T* t = unqualified->set_c();
  EXPECT_NE(t, nullptr);
  unqualified->set_d("d");
  unqualified->set_e("e");
  EXPECT_EQ(Text(&unqualified),
            "a { size_t: 1 } b: uint64_t c { } d: \"d\" e: \"e\"");
}

// The runtime and users call these functions of messages by name.
template <typename T>
void WorksInEveryBuffer() {
  HeapBuffered<T> heap;
  EXPECT_NE(heap.get(), nullptr);
  EXPECT_EQ(heap.SerializeAsString(), "");
  heap.Reset();

  StackBuffered<T, 16> stack;
  EXPECT_EQ(stack.Finalize(), 0u);

  protozero::ScatteredHeapBuffer buffer;
  protozero::ScatteredStreamWriter writer(&buffer);
  protozero::RootMessage<T> root;
  root.Reset(&writer);
  EXPECT_FALSE(root.is_finalized());
  EXPECT_EQ(root.Finalize(), 0u);
  EXPECT_TRUE(root.is_finalized());
}

TEST_F(HostileNamesTest, MembersOfTheBaseClass) {
  WorksInEveryBuffer<hz::Message>();
  WorksInEveryBuffer<hz::Finalize_>();
  WorksInEveryBuffer<hz::Reset_>();
  WorksInEveryBuffer<hz::GetName_>();
  WorksInEveryBuffer<hz::Members>();

  HeapBuffered<hz::Members> m;
  m->set_message();
  m->set_reset();
  m->set_finalize()->set_finalize(1);
  m->set_get_name();
  m->set_size_field(2);
  m->set_get("x");
  m->add_append_bytes("y");
  EXPECT_EQ(Text(&m),
            "message { } reset { } finalize { finalize: 1 } get_name { } "
            "size_field: 2 get: \"x\" append_bytes: \"y\"");

  HeapBuffered<hz::Message> nested;
  hz::Message* child = nested->set_message();
  child->set_message();
  child->Finalize();
  EXPECT_EQ(Text(&nested), "message { message { } }");
}

TEST_F(HostileNamesTest, MembersOfTheClassItself) {
  HeapBuffered<hz::kSelf> m;
  hz::kSelf::kFoo_* foo = m->set_foo();
  EXPECT_NE(foo, nullptr);
  m->add_bar(hz::kSelf::kFooFieldNumber_);
  m->add_bar(hz::kSelf_Kind::kBar);
  EXPECT_EQ(Text(&m), "foo { } bar: kFooFieldNumber bar: kBar");
  EXPECT_EQ(hz::kSelf::kFooFieldNumber, 1);
  EXPECT_EQ(hz::kSelf::kBar.kFieldId, 2u);
  EXPECT_EQ(hz::kSelf::Kind_Name, hz::kSelf_Kind::Kind_Name);
  EXPECT_STREQ(hz::kSelf::Kind_Name_(hz::kSelf::Kind_Name), "Kind_Name");

  HeapBuffered<hz::SameName> same;
  same->set_same_name(hz::SameName::SameName_::Other);
  EXPECT_EQ(Text(&same), "same_name: Other");
}

TEST_F(HostileNamesTest, Parameters) {
  HeapBuffered<hz::UsesParameters> m;
  m->set_value("v");
  m->set_data("d");
  m->set_size_raw("\x28\x01");
  protozero::PackedVarInt packed;
  packed.Append(7);
  m->set_raw(packed);
  m->set_parameters(hz::value);
  EXPECT_EQ(Text(&m),
            "value: \"v\" data: \"d\" size { parameters: data } raw: 7 "
            "parameters: value");
}

TEST_F(HostileNamesTest, CamelCase) {
  HeapBuffered<hz::CamelCase> m;
  m->set_foo_bar(10);
  m->set_fooBar(2);
  m->set_foo__bar(3);
  m->set_FooBar(4);
  m->set__(7);
  m->set___(8);
  EXPECT_EQ(Text(&m), "fooBar: 2 foo__bar: 3 FooBar: 4 _: 7 __: 8 foo_bar: 10");
  // The field with the lowest number has the plain name.
  EXPECT_EQ(hz::CamelCase::kFooBarFieldNumber, 2);
  EXPECT_EQ(hz::CamelCase::kFooBar_3FieldNumber, 3);
  EXPECT_EQ(hz::CamelCase::kFooBar_10FieldNumber, 10);
  EXPECT_EQ(hz::CamelCase::kField7FieldNumber, 7);
  EXPECT_EQ(hz::CamelCase::kField7_9FieldNumber, 9);
  EXPECT_EQ(hz::CamelCase::kAFieldNumber, 11);
  EXPECT_EQ(hz::CamelCase::kAFieldNumber_12.kFieldId, 12u);
}

TEST_F(HostileNamesTest, Capitals) {
  HeapBuffered<hz::Capitals> m;
  m->set_foobar(1);
  m->add_foo_baz("baz");
  m->set_level(hz::Capitals::HIGH);
  m->set_class(true);
  m->set_packedones(std::vector<int32_t>{-1});
  m->add_byname("k", 6);
  m->set_lazy_raw("\x08\x07");
  m->set_oneint(8);
  m->set_both(10);
  m->set_Both(11);
  m->set_NULL(12);
  m->set_null(13);
  EXPECT_EQ(Text(&m),
            "fooBar: 1 FOO_BAZ: \"baz\" Level: HIGH Class: true packedOnes: -1 "
            "byName { key: \"k\" value: 6 } Lazy { fooBar: 7 } oneInt: 8 "
            "both: 10 Both: 11 NULL: 12 null: 13");

  const std::string bytes = m.SerializeAsString();
  const hz::Capitals::Decoder d(bytes);
  EXPECT_TRUE(d.has_foobar());
  EXPECT_EQ(d.foobar(), 1);
  EXPECT_EQ((*d.foo_baz()).ToStdString(), "baz");
  EXPECT_EQ(d.level(), 1);
  EXPECT_EQ(d.level_enum(), hz::Capitals::HIGH);
  EXPECT_TRUE(d.has_class() && d.class_());
  EXPECT_EQ(*d.packedones(), -1);
  EXPECT_EQ(hz::Capitals::ByNameEntry::Decoder(*d.byname()).value(), 6);
  EXPECT_EQ(hz::Capitals::Decoder(d.lazy()).foobar(), 7);
  EXPECT_EQ(d.WhichOne_case(), hz::Capitals::WhichOneCase::kOneInt);
  EXPECT_EQ(d.oneint(), 8);
  EXPECT_FALSE(d.has_onestring());
  EXPECT_TRUE(d.has_both() && d.has_Both() && d.has_NULL() && d.has_null());
  EXPECT_EQ(d.both(), 10);
  EXPECT_EQ(d.Both(), 11);
  EXPECT_EQ(d.NULL_(), 12);
  EXPECT_EQ(d.null(), 13);

  EXPECT_EQ(hz::Capitals::kFooBarFieldNumber, 1);
  EXPECT_EQ(hz::Capitals::kFOOBAZ.kFieldId, 2u);
  EXPECT_EQ(hz::Capitals::FieldMetadata_Both::kFieldId, 10u);
  EXPECT_EQ(hz::Capitals::kBoth_11FieldNumber, 11);

  HeapBuffered<hz::CapitalsExtension> extended;
  extended->set_extraint(5);
  const std::string extended_bytes = extended.SerializeAsString();
  EXPECT_EQ(hz::CapitalsExtension::Decoder(extended_bytes).extraint(), 5);
}

static_assert(hz::Limits_MIN_ == hz::Limits_LOW, "");
static_assert(hz::Limits_MIN == 0 && hz::Limits_MAX == 5, "");
static_assert(hz::Extreme_MIN == INT32_MIN && hz::Extreme_MAX == INT32_MAX, "");
static_assert(hz::NegativeOnly_MIN == -3 && hz::NegativeOnly_MAX == -2, "");

TEST_F(HostileNamesTest, Enums) {
  EXPECT_STREQ(hz::Limits_Name_(hz::Limits_Name), "Limits_Name");
  EXPECT_STREQ(hz::Extreme_Name(hz::LOWEST_ALIAS), "LOWEST");
  EXPECT_STREQ(hz::NegativeOnly_Name(hz::NEGATIVE_TWO), "NEGATIVE_TWO");
}

// Reads the written bytes.
template <typename T>
typename T::Decoder Read(HeapBuffered<T>* message, std::string* bytes) {
  *bytes = message->SerializeAsString();
  return typename T::Decoder(*bytes);
}

// A getter has the name of its field, if C++ permits it.
TEST_F(HostileNamesTest, Getters) {
  HeapBuffered<hz::Readers> m;
  m->set_status(1);
  m->set_get("get");
  m->set_at(3);
  m->add_begin(4);
  m->set_end("end");
  m->set_class(true);
  m->set_Decoder(7);
  m->set_x(8);
  m->set_has_x(9);
  m->set_id(hz::Readers::KIND_ONE);
  m->set_id_enum(11);
  m->set_class_(12);
  m->set_MessageDecoder(13);
  m->set_Readers_Decoder(14);
  m->set_ReadField(15);
  m->set_Reset(16);
  m->set_assert(17);
  m->set_offsetof(18);
  m->set_int32_t(19);
  m->set_has_class(20);
  m->set_size(21);
  m->set_not_set(31);
  m->set_PickCase(33);
  std::string bytes;
  const hz::Readers_Decoder d = Read(&m, &bytes);
  EXPECT_EQ(d.status(), 1);
  EXPECT_EQ(d.get().ToStdString(), "get");
  EXPECT_EQ(d.at(), 3);
  EXPECT_EQ(*d.begin(), 4);
  EXPECT_EQ(d.end().ToStdString(), "end");
  EXPECT_EQ(d.Decoder(), 7);
  EXPECT_EQ(d.ReadField(), 15);
  EXPECT_EQ(d.Reset(), 16);
  EXPECT_EQ(d.size(), 21);
  // Names of fields take precedence over names made for other fields.
  EXPECT_EQ(d.has_x(), 9);
  EXPECT_TRUE(d.has_x_());
  EXPECT_TRUE(d.has_has_x());
  EXPECT_EQ(d.id(), 1);
  EXPECT_EQ(d.id_enum(), 11);
  EXPECT_EQ(d.id_enum_(), hz::Readers::KIND_ONE);
  EXPECT_EQ(d.has_class(), 20);
  EXPECT_TRUE(d.has_class_());
  // Keywords, macros, and names that the class needs.
  EXPECT_EQ(d.class_(), 12);
  EXPECT_TRUE(d.class__());
  EXPECT_EQ(d.MessageDecoder_(), 13);
  EXPECT_EQ(d.Readers_Decoder_(), 14);
  EXPECT_EQ(d.assert_(), 17);
  EXPECT_EQ(d.offsetof_(), 18);
  EXPECT_EQ(d.int32_t_(), 19);
  // The hidden functions of the base are still available.
  EXPECT_EQ(d.ProtoDecoder::status(), protozero::DecodeStatus::kOk);
  // The oneof and its case.
  EXPECT_EQ(d.PickCase(), 33);
  EXPECT_EQ(d.pick_case(), 0);
  EXPECT_EQ(d.pick_case_(), hz::Readers_Decoder::PickCase_::kPickCase_33);
  EXPECT_EQ(hz::Readers_Decoder(std::string_view()).pick_case_(),
            hz::Readers_Decoder::PickCase_::kNotSet_);
  EXPECT_EQ(hz::Readers_Decoder(std::string_view()).assert_(), 5);
}

TEST_F(HostileNamesTest, GettersThatHideWhatGettersCall) {
  HeapBuffered<hz::Slots> m;
  m->set_Slot(1);
  m->set_Has(2);
  m->add_GetRepeated("r");
  m->add_GetRepeatedScalar(-4);
  m->add_GetUnifiedRepeated(hz::Readers::KIND_ONE);
  m->set_b("b");
  std::string bytes;
  const hz::Slots_Decoder d = Read(&m, &bytes);
  EXPECT_EQ(d.Slot(), 1);
  EXPECT_EQ(d.Has(), 2);
  EXPECT_EQ((*d.GetRepeated()).ToStdString(), "r");
  EXPECT_EQ(*d.GetRepeatedScalar(), -4);
  EXPECT_EQ(*d.GetUnifiedRepeated_enum(), hz::Readers::KIND_ONE);
  EXPECT_EQ(d.WhichOneof_case(), hz::Slots::WhichOneofCase::kB);
  EXPECT_EQ(d.a(), 3);
}

TEST_F(HostileNamesTest, MadeUpNamesYield) {
  // The nested message keeps its names. The decoder of a message
  // `Taken_Decoder_` conflicts, too.
  HeapBuffered<hz::Taken> m;
  hz::Taken::Decoder* nested = m->set_decoder();
  nested->set_x(1);
  const std::string bytes = m.SerializeAsString();
  const hz::Taken::Decoder_ d(bytes);
  const hz::Taken_Decoder__& same = d;
  EXPECT_EQ(hz::Taken_Decoder_Decoder(same.decoder()).x(), 1);

  hz::Taken::E e{};
  EXPECT_TRUE(hz::Taken::E_Parse_("E_IsValid", &e));
  EXPECT_EQ(e, hz::Taken::E_IsValid);
  EXPECT_TRUE(hz::Taken::E_IsValid_(1));
  EXPECT_STREQ(hz::Taken_E_Name_(e), "E_IsValid");
  EXPECT_STREQ(hz::TakenEnum_Name_(hz::TakenEnum_Values), "TakenEnum_Values");
  EXPECT_TRUE(hz::TakenEnum_IsValid_(2));
  hz::TakenEnum value = hz::TakenEnum_Parse;
  EXPECT_TRUE(hz::TakenEnum_Parse_("TakenEnum_IsValid", &value));
}

TEST_F(HostileNamesTest, Recursion) {
  HeapBuffered<hz::A> m;
  m->set_b();
  m->set_a()->set_a()->set_d()->set_c()->set_a()->set_e(hz::B::C::NONE);
  EXPECT_EQ(Text(&m), "b { } a { a { d { c { a { e: NONE } } } } }");
}

TEST_F(HostileNamesTest, Extensions) {
  HeapBuffered<hz::Wrapper> m;
  m->set_class(1);
  m->set_null()->set_x(2);
  m->add_value("v");
  EXPECT_EQ(Text(&m),
            "[hostile.namespace.protozero.std.Wrapper.class]: 1 "
            "[hostile.namespace.protozero.std.Wrapper.NULL] { x: 2 } "
            "[hostile.namespace.protozero.std.Wrapper.value]: \"v\"");

  HeapBuffered<hz::test_protos_plugin_hostile_extends_B> b;
  b->set_unsigned(3);
  EXPECT_EQ(Text(&b), "[hostile.namespace.protozero.std.unsigned]: 3");

  HeapBuffered<hz::test_protos_plugin_hostile_extends_E> e;
  e->set_goto()->set_e("e");
  e->set_goto_raw("\x2a\x01x");
  EXPECT_EQ(Text(&e), "[hostile.namespace.protozero.std.goto] { e: \"x\" }");

  // An extension with the name of a field.
  HeapBuffered<hz::test_protos_plugin_hostile_extends_E> hidden;
  hidden->set_hidden("extension");
  hidden->hz::E::set_hidden(1);
  EXPECT_EQ(Text(&hidden),
            "hidden: 1 [hostile.namespace.protozero.std.hidden]: "
            "\"extension\"");
}

// This is the global namespace, where even `time` and `std` are taken.
TEST(HostileGlobalNamesTest, NamesOfTheCLibrary) {
  protozero::plugin::DynamicSchema schema(
      "test/protos/plugin/hostile_global.proto");

  HeapBuffered<::log_> log;
  log->set_clock(::system_);
  log->set_text("t");
  EXPECT_EQ(schema.ToText("log", log.SerializeAsString()),
            "clock: system text: \"t\"");
  EXPECT_STREQ(::time_Name(::signal_), "signal");

  HeapBuffered<::protozero_> outer;
  ::std_* inner = outer->add_std();
  inner->set_size(1);
  EXPECT_EQ(schema.ToText("protozero", outer.SerializeAsString()),
            "std { size: 1 }");

  HeapBuffered<::FILE_> file;
  file->set_stat_field(::FILE_::close);
  EXPECT_EQ(schema.ToText("FILE", file.SerializeAsString()),
            "stat_field: close");

  HeapBuffered<::size_t_> sizes;
  protozero::PackedSignedVarInt packed;
  packed.Append(-1);
  sizes->set_values(packed);
  EXPECT_EQ(schema.ToText("size_t", sizes.SerializeAsString()), "values: -1");
}

}  // namespace
