// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Writes with generated classes. libprotobuf reads the result.

#include <stdint.h>

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/packed_repeated_fields.h"
#include "protozero/root_message.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/static_buffer.h"
#include "test/plugin/dynamic_schema.h"
#include "test/protos/plugin/golden.pbzero.h"
#include "test/protos/plugin/golden_import.pbzero.h"

namespace protozero::plugin {
namespace {

namespace pz = ::golden::main::pbzero;

class GeneratedCodeTest : public ::testing::Test {
 protected:
  template <typename T>
  std::string Text(HeapBuffered<T>* message) {
    // GetName() has a dot in front, like a type in a descriptor.
    return schema_.ToText(T::GetName() + 1, message->SerializeAsString());
  }

  DynamicSchema schema_{"test/protos/plugin/golden.proto"};
};

TEST_F(GeneratedCodeTest, EveryScalar) {
  HeapBuffered<pz::Everything> m;
  m->set_field_double(-0.5);
  m->set_field_float(1.5f);
  m->set_field_int64(INT64_MIN);
  m->set_field_uint64(UINT64_MAX);
  m->set_field_int32(INT32_MIN);
  m->set_field_fixed64(UINT64_MAX);
  m->set_field_fixed32(UINT32_MAX);
  m->set_field_bool(true);
  m->set_field_uint32(UINT32_MAX);
  m->set_field_enum(pz::TopLevel::MINUS_ONE);
  m->set_field_sfixed32(INT32_MIN);
  m->set_field_sfixed64(INT64_MIN);
  m->set_field_sint32(INT32_MIN);
  m->set_field_sint64(INT64_MIN);
  m->set_with_default(0);
  m->set_largest_id(1);
  EXPECT_EQ(
      Text(&m),
      "field_double: -0.5 field_float: 1.5 field_int64: -9223372036854775808 "
      "field_uint64: 18446744073709551615 field_int32: -2147483648 "
      "field_fixed64: 18446744073709551615 field_fixed32: 4294967295 "
      "field_bool: true field_uint32: 4294967295 field_enum: MINUS_ONE "
      "field_sfixed32: -2147483648 field_sfixed64: -9223372036854775808 "
      "field_sint32: -2147483648 field_sint64: -9223372036854775808 "
      "with_default: 0 largest_id: 1");
}

TEST_F(GeneratedCodeTest, StringSetters) {
  const char* const chars = "abc";
  const std::string string = "de";
  HeapBuffered<pz::Everything> m;
  m->add_repeated_string(chars, 2);
  m->add_repeated_string(ConstChars{chars, 3});
  m->add_repeated_string(std::string_view("x\0y", 3));
  m->add_repeated_string(string);
  m->add_repeated_string(std::string("temporary"));
  m->add_repeated_string("literal");
  m->add_repeated_string(chars);
  m->add_repeated_string(nullptr, 0);
  m->add_repeated_string(std::string_view());
  m->set_field_string("singular");
  EXPECT_EQ(Text(&m),
            "field_string: \"singular\" "
            "repeated_string: \"ab\" repeated_string: \"abc\" "
            "repeated_string: \"x\\000y\" repeated_string: \"de\" "
            "repeated_string: \"temporary\" repeated_string: \"literal\" "
            "repeated_string: \"abc\" repeated_string: \"\" "
            "repeated_string: \"\"");
}

TEST_F(GeneratedCodeTest, BytesSetters) {
  const uint8_t array[] = {0, 1, 0xff};
  const std::vector<uint8_t> vector = {'v'};
  const std::vector<std::byte> bytes = {std::byte{'b'}};
  HeapBuffered<pz::Everything> m;
  m->add_repeated_bytes(array, sizeof(array));
  m->add_repeated_bytes(ConstBytes{array, 2});
  m->add_repeated_bytes(vector);
  m->add_repeated_bytes(bytes);
  m->add_repeated_bytes(std::string("string"));
  m->add_repeated_bytes(std::string_view("view"));
  m->add_repeated_bytes("literal");
  m->add_repeated_bytes(nullptr, 0);
  m->set_field_bytes("singular");
  EXPECT_EQ(Text(&m),
            "field_bytes: \"singular\" "
            "repeated_bytes: \"\\000\\001\\377\" "
            "repeated_bytes: \"\\000\\001\" "
            "repeated_bytes: \"v\" repeated_bytes: \"b\" "
            "repeated_bytes: \"string\" repeated_bytes: \"view\" "
            "repeated_bytes: \"literal\" repeated_bytes: \"\"");
}

TEST_F(GeneratedCodeTest, RepeatedScalars) {
  HeapBuffered<pz::Everything> m;
  m->add_repeated_double(1);
  m->add_repeated_double(2);
  m->add_repeated_enum(pz::Everything_Nested_Deep::SOME);
  m->add_repeated_enum(pz::Everything_Nested_Deep_Kind::NONE);
  m->add_repeated_sint64(-1);
  EXPECT_EQ(Text(&m),
            "repeated_double: 1 repeated_double: 2 repeated_enum: SOME "
            "repeated_enum: NONE repeated_sint64: -1");
}

template <typename Packed, typename... Values>
void Fill(Packed* packed, Values... values) {
  packed->Reset();
  (packed->Append(values), ...);
}

constexpr char kEveryPackedType[] =
    "packed_double: 0.5 packed_double: -0.5 packed_float: 0.25 "
    "packed_float: -0.25 packed_int64: -9223372036854775808 "
    "packed_int64: 9223372036854775807 packed_uint64: 18446744073709551615 "
    "packed_uint64: 0 packed_int32: -2147483648 packed_int32: 2147483647 "
    "packed_fixed64: 18446744073709551615 packed_fixed32: 4294967295 "
    "packed_bool: true packed_bool: false packed_bool: true "
    "packed_uint32: 4294967295 packed_enum: LOWEST packed_enum: ZERO "
    "packed_sfixed32: -2147483648 packed_sfixed64: -9223372036854775808 "
    "packed_sint32: -2147483648 packed_sint32: -1 packed_sint32: 1 "
    "packed_sint64: -9223372036854775808 packed_sint64: -1";

TEST_F(GeneratedCodeTest, EveryPackedType) {
  PackedVarInt varints;
  PackedSignedVarInt zigzag;
  PackedFixedSizeInt<double> doubles;
  PackedFixedSizeInt<float> floats;
  PackedFixedSizeInt<uint64_t> fixed64;
  PackedFixedSizeInt<uint32_t> fixed32;
  PackedFixedSizeInt<int64_t> sfixed64;
  PackedFixedSizeInt<int32_t> sfixed32;

  HeapBuffered<pz::Everything> m;
  Fill(&doubles, 0.5, -0.5);
  m->set_packed_double(doubles);
  Fill(&floats, 0.25f, -0.25f);
  m->set_packed_float(floats);
  Fill(&varints, INT64_MIN, INT64_MAX);
  m->set_packed_int64(varints);
  Fill(&varints, UINT64_MAX, uint64_t{0});
  m->set_packed_uint64(varints);
  Fill(&varints, INT32_MIN, INT32_MAX);
  m->set_packed_int32(varints);
  Fill(&fixed64, UINT64_MAX);
  m->set_packed_fixed64(fixed64);
  Fill(&fixed32, UINT32_MAX);
  m->set_packed_fixed32(fixed32);
  Fill(&varints, true, false, true);
  m->set_packed_bool(varints);
  Fill(&varints, UINT32_MAX);
  m->set_packed_uint32(varints);
  Fill(&varints, pz::TopLevel::LOWEST, pz::TopLevel::ZERO);
  m->set_packed_enum(varints);
  Fill(&sfixed32, INT32_MIN);
  m->set_packed_sfixed32(sfixed32);
  Fill(&sfixed64, INT64_MIN);
  m->set_packed_sfixed64(sfixed64);
  Fill(&zigzag, INT32_MIN, -1, 1);
  m->set_packed_sint32(zigzag);
  Fill(&zigzag, INT64_MIN, int64_t{-1});
  m->set_packed_sint64(zigzag);
  EXPECT_EQ(Text(&m), kEveryPackedType);
}

TEST_F(GeneratedCodeTest, EveryPackedTypeFromAnArray) {
  const double doubles[] = {0.5, -0.5};
  const float floats[] = {0.25f, -0.25f};
  const int64_t int64[] = {INT64_MIN, INT64_MAX};
  const uint64_t uint64[] = {UINT64_MAX, 0};
  const int32_t int32[] = {INT32_MIN, INT32_MAX};
  const uint32_t uint32[] = {UINT32_MAX};
  const bool bools[] = {true, false, true};
  const pz::TopLevel enums[] = {pz::TopLevel::LOWEST, pz::TopLevel::ZERO};
  const int32_t sint32[] = {INT32_MIN, -1, 1};
  const int64_t sint64[] = {INT64_MIN, -1};

  HeapBuffered<pz::Everything> m;
  m->set_packed_double(doubles, 2);
  m->set_packed_float(floats, 2);
  m->set_packed_int64(int64, 2);
  m->set_packed_uint64(uint64, 2);
  m->set_packed_int32(int32, 2);
  m->set_packed_fixed64(uint64, 1);
  m->set_packed_fixed32(uint32, 1);
  m->set_packed_bool(bools, 3);
  m->set_packed_uint32(uint32, 1);
  m->set_packed_enum(enums, 2);
  m->set_packed_sfixed32(int32, 1);
  m->set_packed_sfixed64(int64, 1);
  m->set_packed_sint32(sint32, 3);
  m->set_packed_sint64(sint64, 2);
  EXPECT_EQ(Text(&m), kEveryPackedType);
}

TEST_F(GeneratedCodeTest, PackedFieldsFromContiguousRanges) {
  const std::vector<double> doubles = {0.5, -0.5};
  const std::array<float, 2> floats = {0.25f, -0.25f};
  const int64_t int64[] = {INT64_MIN, INT64_MAX};
  const std::vector<uint64_t> uint64 = {UINT64_MAX, 0};
  const std::vector<int32_t> int32 = {INT32_MIN, INT32_MAX};
  const std::array<bool, 3> bools = {true, false, true};
  const std::vector<pz::TopLevel> enums = {pz::TopLevel::LOWEST, pz::ZERO};
  const int64_t sint64[] = {INT64_MIN, -1};

  HeapBuffered<pz::Everything> m;
  m->set_packed_double(doubles);
  m->set_packed_float(floats);
  m->set_packed_int64(int64);
  m->set_packed_uint64(uint64);
  m->set_packed_int32(int32);
  m->set_packed_fixed64({uint64.data(), 1});
  m->set_packed_fixed32(std::vector<uint32_t>{UINT32_MAX});
  m->set_packed_bool(bools);
  m->set_packed_uint32(std::array<uint32_t, 1>{UINT32_MAX});
  m->set_packed_enum(enums);
  m->set_packed_sfixed32({int32.data(), 1});
  m->set_packed_sfixed64({int64, 1});
  m->set_packed_sint32(std::vector<int32_t>{INT32_MIN, -1, 1});
  m->set_packed_sint64(sint64);
  EXPECT_EQ(Text(&m), kEveryPackedType);
}

TEST_F(GeneratedCodeTest, EmptyPackedField) {
  HeapBuffered<pz::Everything> m;
  m->set_packed_int32(PackedVarInt());
  m->set_packed_int32(nullptr, 0);
  EXPECT_EQ(Text(&m), "");
}

TEST_F(GeneratedCodeTest, NestedMessages) {
  HeapBuffered<pz::Everything> m;
  pz::Everything::Nested* nested = m->set_field_message();
  nested->set_deep()->set_kind(pz::Everything_Nested_Deep::Kind::SOME);
  nested->set_up()->set_field_message()->set_up()->set_field_int32(3);
  m->add_repeated_message();
  m->add_repeated_message()->set_deep();
  EXPECT_EQ(Text(&m),
            "field_message { up { field_message { up { field_int32: 3 } } } "
            "deep { kind: SOME } } repeated_message { } repeated_message { "
            "deep { } }");
}

TEST_F(GeneratedCodeTest, Maps) {
  HeapBuffered<pz::Everything> m;
  pz::Everything::StringToMessageEntry* entry = m->add_string_to_message();
  entry->set_key("k");
  entry->set_value()->set_deep();
  pz::Everything_SintToEnumEntry* other = m->add_sint_to_enum();
  other->set_key(-7);
  other->set_value(pz::HIGHEST);
  EXPECT_EQ(Text(&m),
            "string_to_message { key: \"k\" value { deep { } } } "
            "sint_to_enum { key: -7 value: HIGHEST }");
}

TEST_F(GeneratedCodeTest, MapEntriesInOneCall) {
  HeapBuffered<pz::Everything> m;
  m->add_string_to_message("k")->set_deep()->set_kind(
      pz::Everything_Nested_Deep::SOME);
  m->add_string_to_message(std::string("other"));
  m->add_sint_to_enum(-7, pz::HIGHEST);
  m->add_sint_to_enum(INT32_MIN, pz::ZERO);
  m->add_uint_to_bytes(UINT64_MAX, "a");
  m->add_uint_to_bytes(1, std::vector<uint8_t>{'b', 0});
  m->add_bool_to_double(true, -0.5);
  m->add_fixed_to_string(7, std::string_view("seven"));
  EXPECT_EQ(Text(&m),
            "string_to_message { key: \"k\" value { deep { kind: SOME } } } "
            "string_to_message { key: \"other\" value { } } "
            "sint_to_enum { key: -2147483648 value: ZERO } "
            "sint_to_enum { key: -7 value: HIGHEST } "
            "uint_to_bytes { key: 1 value: \"b\\000\" } "
            "uint_to_bytes { key: 18446744073709551615 value: \"a\" } "
            "bool_to_double { key: true value: -0.5 } "
            "fixed_to_string { key: 7 value: \"seven\" }");
}

TEST_F(GeneratedCodeTest, Groups) {
  HeapBuffered<pz::Everything> m;
  m->set_onegroup()->set_x(1);
  pz::Everything::ManyGroups* group = m->add_manygroups();
  group->set_inner()->set_x(2);
  m->add_manygroups();
  m->set_chosengroup()->set_x(3);
  m->set_field_int32(4);
  EXPECT_EQ(Text(&m),
            "field_int32: 4 OneGroup { x: 1 } ManyGroups { inner { x: 2 } } "
            "ManyGroups { } ChosenGroup { x: 3 }");

  HeapBuffered<pz::Mixed_extends_Everything> extension;
  extension->add_extragroup()->set_x(5);
  EXPECT_EQ(Text(&extension), "[golden.main.Mixed.extragroup] { x: 5 }");
}

// An extension of a message set is an item with its number.
TEST_F(GeneratedCodeTest, MessageSets) {
  HeapBuffered<pz::SetItems_extends_MessageSet> m;
  m->set_item()->set_x(1);
  m->set_other();
  // Text shows the type of an item if the extension is in the type's scope.
  EXPECT_EQ(Text(&m),
            "[golden.main.SetItems.other] { } [golden.main.SetItems] { x: 1 }");
  const std::string libprotobuf = schema_.FromText(
      "golden.main.MessageSet",
      "[golden.main.SetItems.other] {} [golden.main.SetItems.item] { x: 1 }");
  HeapBuffered<pz::SetItems_extends_MessageSet> other_order;
  other_order->set_other();
  other_order->set_item()->set_x(1);
  EXPECT_EQ(other_order.SerializeAsString(), libprotobuf);
}

// If several members were written, a reader takes the last one.
TEST_F(GeneratedCodeTest, Oneof) {
  HeapBuffered<pz::Everything> m;
  m->set_number(1);
  m->set_text("last");
  EXPECT_EQ(Text(&m), "text: \"last\"");
}

TEST_F(GeneratedCodeTest, RawSettersOfLazyMessages) {
  HeapBuffered<pz::Everything> inner;
  inner->set_field_int32(5);
  const std::string raw = inner.SerializeAsString();

  HeapBuffered<pz::Everything> m;
  m->set_lazy_raw(raw);
  m->add_lazies_raw("");
  m->add_lazies()->set_deep();
  EXPECT_EQ(Text(&m), "lazy { field_int32: 5 } lazies { } lazies { deep { } }");
}

TEST_F(GeneratedCodeTest, TypesOfOtherFiles) {
  HeapBuffered<pz::Foreign> m;
  m->set_imported()->set_id(1);
  m->set_inner()->set_flag(false);
  m->set_nested_kind(golden::imported::pbzero::Imported::EVEN);
  m->set_level(golden::imported::pbzero::HIGH);
  golden::shared::pbzero::Shared* shared = m->set_shared();
  shared->set_maybe(0);
  PackedVarInt packed;
  packed.Append(golden::shared::pbzero::Shared::GREEN);
  shared->set_colors(packed);
  shared->add_unpacked(9);
  golden::shared::pbzero::Shared::BlobsEntry* blob = shared->add_blobs();
  blob->set_key(1);
  blob->set_value("b");
  m->add_colors(golden::shared::pbzero::Shared::GREEN);
  m->set_base()->set_id(2);
  EXPECT_EQ(Text(&m),
            "imported { id: 1 } inner { flag: false } nested_kind: EVEN "
            "level: HIGH shared { maybe: 0 unpacked: 9 colors: GREEN "
            "blobs { key: 1 value: \"b\" } } colors: GREEN base { id: 2 }");
}

TEST_F(GeneratedCodeTest, ExtensionsOfWrapperMessage) {
  HeapBuffered<pz::Wrapper> m;
  m->set_field_int32(1);
  m->set_extra(2);
  PackedSignedVarInt packed;
  packed.Append(-3);
  m->set_extras(packed);
  EXPECT_EQ(Text(&m),
            "field_int32: 1 [golden.main.Wrapper.extra]: 2 "
            "[golden.main.Wrapper.extras]: -3");
}

TEST_F(GeneratedCodeTest, ExtensionsInNestedMessage) {
  HeapBuffered<pz::Everything> m;
  m->set_field_message()->set_up<pz::Wrapper>()->set_extra(1);
  m->set_lazy<pz::Mixed_extends_Everything>()->set_mixed()->set_name("n");
  EXPECT_EQ(Text(&m),
            "field_message { up { [golden.main.Wrapper.extra]: 1 } } lazy { "
            "[golden.main.Mixed.mixed] { name: \"n\" } }");
}

TEST_F(GeneratedCodeTest, ExtensionsNextToFields) {
  HeapBuffered<pz::Mixed> m;
  m->set_name("plain");
  EXPECT_EQ(Text(&m), "name: \"plain\"");

  HeapBuffered<pz::Mixed_extends_golden_base_Base> base;
  base->set_id(1);
  base->set_mixed_too()->set_name("x");
  EXPECT_EQ(Text(&base), "id: 1 [golden.main.Mixed.mixed_too] { name: \"x\" }");
}

TEST_F(GeneratedCodeTest, ExtensionsAtFileLevel) {
  HeapBuffered<pz::test_protos_plugin_golden_extends_Everything> m;
  m->set_field_bool(true);
  m->set_at_file_level("here");
  EXPECT_EQ(Text(&m), "field_bool: true [golden.main.at_file_level]: \"here\"");
}

TEST_F(GeneratedCodeTest, ExtensionsOfSeveralClassesInOneMessage) {
  HeapBuffered<pz::Everything> m;
  m->set_field_bool(true);
  static_cast<pz::Wrapper*>(m.get())->set_extra(1);
  static_cast<pz::test_protos_plugin_golden_extends_Everything*>(m.get())
      ->set_at_file_level("here");
  EXPECT_EQ(Text(&m),
            "field_bool: true [golden.main.Wrapper.extra]: 1 "
            "[golden.main.at_file_level]: \"here\"");
}

TEST_F(GeneratedCodeTest, AllBuffersTakeGeneratedClasses) {
  uint8_t bytes[64];
  StaticBuffered<pz::Everything> fixed(bytes, sizeof(bytes));
  fixed->set_field_int32(1);
  const size_t size = fixed.Finalize();
  EXPECT_EQ(schema_.ToText("golden.main.Everything",
                           std::string(bytes, bytes + size)),
            "field_int32: 1");

  StackBuffered<pz::Everything, 64> stack;
  stack->set_field_message()->set_deep();
  EXPECT_EQ(stack.Finalize(), 4u);
  EXPECT_TRUE(stack.ok());

  ScatteredHeapBuffer heap;
  ScatteredStreamWriter writer(&heap);
  RootMessage<pz::Everything> root;
  root.Reset(&writer);
  root.set_field_int32(1);
  EXPECT_EQ(root.Finalize(), 2u);
}

// All values below are known at compile time.

using Everything = pz::Everything;

static_assert(sizeof(Everything) == sizeof(Message), "");
static_assert(sizeof(pz::Wrapper) == sizeof(Message), "");
static_assert(std::is_base_of<Everything, pz::Wrapper>::value, "");

static_assert(Everything::kFieldDoubleFieldNumber == 1, "");
static_assert(Everything::kLargestIdFieldNumber == 536870911, "");
static_assert(pz::Wrapper::kExtraFieldNumber == 1000, "");
static_assert(std::string_view(Everything::Nested::GetName()) ==
                  ".golden.main.Everything.Nested",
              "");
// An extension class writes messages of the extended type.
static_assert(std::string_view(pz::Wrapper::GetName()) ==
                  ".golden.main.Everything",
              "");

template <typename Metadata,
          uint32_t id,
          proto_utils::RepetitionType repetition,
          proto_utils::ProtoSchemaType type,
          typename CppType,
          typename MessageType>
constexpr bool IsMetadata() {
  return Metadata::kFieldId == id && Metadata::kRepetitionType == repetition &&
         Metadata::kProtoFieldType == type &&
         std::is_same<typename Metadata::cpp_field_type, CppType>::value &&
         std::is_same<typename Metadata::message_type, MessageType>::value;
}

using proto_utils::ProtoSchemaType;
using proto_utils::RepetitionType;

static_assert(IsMetadata<Everything::FieldMetadata_FieldInt32,
                         5,
                         RepetitionType::kNotRepeated,
                         ProtoSchemaType::kInt32,
                         int32_t,
                         Everything>(),
              "");
static_assert(IsMetadata<Everything::FieldMetadata_RepeatedBytes,
                         33,
                         RepetitionType::kRepeatedNotPacked,
                         ProtoSchemaType::kBytes,
                         std::string,
                         Everything>(),
              "");
static_assert(IsMetadata<Everything::FieldMetadata_PackedSint64,
                         54,
                         RepetitionType::kRepeatedPacked,
                         ProtoSchemaType::kSint64,
                         int64_t,
                         Everything>(),
              "");
static_assert(IsMetadata<Everything::FieldMetadata_FieldEnum,
                         13,
                         RepetitionType::kNotRepeated,
                         ProtoSchemaType::kEnum,
                         pz::TopLevel,
                         Everything>(),
              "");
static_assert(IsMetadata<Everything::FieldMetadata_StringToMessage,
                         61,
                         RepetitionType::kRepeatedNotPacked,
                         ProtoSchemaType::kMessage,
                         Everything::StringToMessageEntry,
                         Everything>(),
              "");
static_assert(IsMetadata<pz::Wrapper::FieldMetadata_Extra,
                         1000,
                         RepetitionType::kNotRepeated,
                         ProtoSchemaType::kInt32,
                         int32_t,
                         pz::Wrapper>(),
              "");
static_assert(std::is_same<decltype(Everything::kFieldInt32),
                           const Everything::FieldMetadata_FieldInt32>::value,
              "");

static_assert(pz::TopLevel_MIN == INT32_MIN, "");
static_assert(pz::TopLevel_MAX == INT32_MAX, "");
static_assert(pz::TopLevel_MIN == pz::LOWEST, "");
static_assert(pz::ZERO == pz::TopLevel::NULL_OBJECT, "");
static_assert(std::string_view(pz::TopLevel_Name(pz::NULL_OBJECT)) == "ZERO",
              "");
static_assert(std::string_view(pz::TopLevel_Name(pz::TopLevel(77))) ==
                  "PBZERO_UNKNOWN_ENUM_VALUE",
              "");
static_assert(sizeof(pz::TopLevel) == sizeof(int32_t), "");

constexpr bool ParsesAs(std::string_view name, pz::TopLevel expected) {
  pz::TopLevel value = pz::MINUS_ONE;
  return pz::TopLevel_Parse(name, &value) && value == expected;
}
static_assert(ParsesAs("ZERO", pz::ZERO), "");
static_assert(ParsesAs("NULL_OBJECT", pz::ZERO), "");
static_assert(ParsesAs("LOWEST", pz::LOWEST), "");
static_assert(!ParsesAs("zero", pz::MINUS_ONE), "");
static_assert(pz::TopLevel_IsValid(INT32_MIN), "");
static_assert(!pz::TopLevel_IsValid(INT32_MIN + 1), "");
static_assert(!pz::TopLevel_IsValid(1), "");
static_assert(Everything::Nested::Deep::Kind_IsValid(1), "");
static_assert(!Everything::Nested::Deep::Kind_IsValid(2), "");

TEST_F(GeneratedCodeTest, NestedEnumsParseInTheirClass) {
  Everything::Nested::Deep::Kind kind = Everything::Nested::Deep::NONE;
  EXPECT_TRUE(Everything::Nested::Deep::Kind_Parse("SOME", &kind));
  EXPECT_EQ(kind, Everything::Nested::Deep::SOME);
  EXPECT_FALSE(Everything::Nested::Deep::Kind_Parse("OTHER", &kind));
  EXPECT_EQ(kind, Everything::Nested::Deep::SOME);
}

// A nested enum has two names.
static_assert(std::is_same<Everything::Nested::Deep::Kind,
                           pz::Everything_Nested_Deep_Kind>::value,
              "");
static_assert(pz::Everything_Nested_Deep::SOME ==
                  pz::Everything_Nested_Deep_Kind::SOME,
              "");
static_assert(pz::Everything_Nested_Deep_Kind_MAX ==
                  Everything::Nested::Deep::Kind::SOME,
              "");
static_assert(std::string_view(Everything::Nested::Deep::Kind_Name(
                  Everything::Nested::Deep::SOME)) == "SOME",
              "");

}  // namespace
}  // namespace protozero::plugin
