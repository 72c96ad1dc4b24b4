// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Fused and constant fields of generated classes. libprotobuf reads the bytes.

#include <stdint.h>

#include <string>

#include "gtest/gtest.h"
#include "protozero/append_fields.h"
#include "protozero/constant_message.h"
#include "protozero/scattered_heap_buffer.h"
#include "test/plugin/dynamic_schema.h"
#include "test/protos/plugin/golden.pbzero.h"
#include "test/protos/plugin/golden_import.pbzero.h"

namespace protozero::plugin {
namespace {

namespace pz = ::golden::main::pbzero;
using pz::Everything;

class ConstantMessageTest : public ::testing::Test {
 protected:
  template <typename T>
  std::string Text(HeapBuffered<T>* message) {
    // GetName() has a dot in front, like a type in a descriptor.
    return schema_.ToText(T::GetName() + 1, message->SerializeAsString());
  }

  DynamicSchema schema_{"test/protos/plugin/golden.proto"};
};

constexpr auto kScalars = MakeConstantMessage<Everything>([] {
  return FieldList(
      Everything::kFieldDouble(-0.5), Everything::kFieldFloat(1.5f),
      Everything::kFieldInt64(INT64_MIN), Everything::kFieldUint64(UINT64_MAX),
      Everything::kFieldInt32(INT32_MIN), Everything::kFieldFixed64(UINT64_MAX),
      Everything::kFieldFixed32(UINT32_MAX), Everything::kFieldBool(true),
      Everything::kFieldString("string"), Everything::kFieldBytes("\x01"),
      Everything::kFieldUint32(UINT32_MAX),
      Everything::kFieldEnum(pz::TopLevel::MINUS_ONE),
      Everything::kFieldSfixed32(INT32_MIN),
      Everything::kFieldSfixed64(INT64_MIN),
      Everything::kFieldSint32(INT32_MIN), Everything::kFieldSint64(INT64_MIN),
      Everything::kRepeatedDouble(1), Everything::kRepeatedDouble(2),
      Everything::kRepeatedString("a"), Everything::kRepeatedString("b"),
      Everything::kLargestId(1));
});

constexpr char kScalarsText[] =
    "field_double: -0.5 field_float: 1.5 field_int64: -9223372036854775808 "
    "field_uint64: 18446744073709551615 field_int32: -2147483648 "
    "field_fixed64: 18446744073709551615 field_fixed32: 4294967295 "
    "field_bool: true field_string: \"string\" field_bytes: \"\\001\" "
    "field_uint32: 4294967295 field_enum: MINUS_ONE "
    "field_sfixed32: -2147483648 field_sfixed64: -9223372036854775808 "
    "field_sint32: -2147483648 field_sint64: -9223372036854775808 "
    "repeated_double: 1 repeated_double: 2 repeated_string: \"a\" "
    "repeated_string: \"b\" largest_id: 1";

TEST_F(ConstantMessageTest, EveryScalar) {
  HeapBuffered<Everything> m;
  AppendFields(m.get(), kScalars);
  EXPECT_EQ(Text(&m), kScalarsText);
}

TEST_F(ConstantMessageTest, EveryScalarFused) {
  HeapBuffered<Everything> m;
  AppendFields(
      m.get(), Everything::kFieldDouble(-0.5), Everything::kFieldFloat(1.5f),
      Everything::kFieldInt64(INT64_MIN), Everything::kFieldUint64(UINT64_MAX),
      Everything::kFieldInt32(INT32_MIN), Everything::kFieldFixed64(UINT64_MAX),
      Everything::kFieldFixed32(UINT32_MAX), Everything::kFieldBool(true),
      Everything::kFieldString("string"), Everything::kFieldBytes("\x01"),
      Everything::kFieldUint32(UINT32_MAX),
      Everything::kFieldEnum(pz::TopLevel::MINUS_ONE),
      Everything::kFieldSfixed32(INT32_MIN),
      Everything::kFieldSfixed64(INT64_MIN),
      Everything::kFieldSint32(INT32_MIN), Everything::kFieldSint64(INT64_MIN),
      Everything::kRepeatedDouble(1), Everything::kRepeatedDouble(2),
      Everything::kRepeatedString("a"), Everything::kRepeatedString("b"),
      Everything::kLargestId(1));
  EXPECT_EQ(Text(&m), kScalarsText);
}

using Nested = Everything::Nested;
using Deep = pz::Everything_Nested_Deep;
using Entry = Everything::StringToMessageEntry;

constexpr auto kNested = MakeConstantMessage<Nested>([] {
  return FieldList(Nested::kDeep(FieldList(Deep::kKind(Deep::SOME))));
});
constexpr auto kMessages = MakeConstantMessage<Everything>([] {
  return FieldList(Everything::kFieldMessage(kNested),
                   Everything::kRepeatedMessage(FieldList()),
                   Everything::kRepeatedMessage(kNested),
                   Everything::kStringToMessage(
                       FieldList(Entry::kKey("k"), Entry::kValue(kNested))),
                   Everything::kText("last"));
});
constexpr char kMessagesText[] =
    "field_message { deep { kind: SOME } } repeated_message { } "
    "repeated_message { deep { kind: SOME } } "
    "string_to_message { key: \"k\" value { deep { kind: SOME } } } "
    "text: \"last\"";

TEST_F(ConstantMessageTest, NestedMessagesAndMaps) {
  HeapBuffered<Everything> m;
  AppendFields(m.get(), kMessages);
  EXPECT_EQ(Text(&m), kMessagesText);

  HeapBuffered<Everything> n;
  AppendFields(n.get(), Everything::kFieldMessage(kNested),
               Everything::kRepeatedMessage(kNested));
  AppendFields(n->set_lazy(), kMessages);
  EXPECT_EQ(Text(&n),
            "field_message { deep { kind: SOME } } "
            "repeated_message { deep { kind: SOME } } lazy { " +
                std::string(kMessagesText) + " }");
}

TEST_F(ConstantMessageTest, Extensions) {
  using Base = golden::base::pbzero::Base;
  using BaseExtension = pz::Mixed_extends_golden_base_Base;
  static constexpr auto kExtended = MakeConstantMessage<Everything>([] {
    return FieldList(
        Everything::kFieldInt32(1), pz::Wrapper::kExtra(2),
        pz::Mixed_extends_Everything::kMixed(FieldList(pz::Mixed::kName("n"))));
  });
  HeapBuffered<Everything> m;
  AppendFields(m.get(), kExtended);
  EXPECT_EQ(Text(&m),
            "field_int32: 1 [golden.main.Wrapper.extra]: 2 "
            "[golden.main.Mixed.mixed] { name: \"n\" }");

  static constexpr auto kMixed = MakeConstantMessage<pz::Mixed>(
      [] { return FieldList(pz::Mixed::kName("x")); });
  HeapBuffered<Base> base;
  AppendFields(base.get(), Base::kId(1), BaseExtension::kMixedToo(kMixed));
  EXPECT_EQ(Text(&base), "id: 1 [golden.main.Mixed.mixed_too] { name: \"x\" }");
}

// The stencil has padded varints, and negative ones without their upper half.
constexpr auto kStencil = MakeConstantMessage<Everything>([] {
  return FieldList(
      Everything::kFieldDouble(Hole()), Everything::kFieldFloat(Hole()),
      Everything::kFieldInt64(Hole()), Everything::kFieldUint64(Hole()),
      Everything::kFieldInt32(Hole()), Everything::kFieldFixed64(Hole()),
      Everything::kFieldFixed32(Hole()), Everything::kFieldBool(Hole()),
      Everything::kFieldString("string"), Everything::kFieldBytes("\x01"),
      Everything::kFieldUint32(Hole()), Everything::kFieldEnum(Hole()),
      Everything::kFieldSfixed32(Hole()), Everything::kFieldSfixed64(Hole()),
      Everything::kFieldSint32(Hole()), Everything::kFieldSint64(Hole()),
      Everything::kRepeatedDouble(1), Everything::kRepeatedDouble(2),
      Everything::kRepeatedString("a"), Everything::kRepeatedString("b"),
      Everything::kLargestId(Hole<2>()));
});

TEST_F(ConstantMessageTest, HolesForEveryScalar) {
  HeapBuffered<Everything> m;
  AppendFields(m.get(),
               kStencil(-0.5, 1.5f, INT64_MIN, UINT64_MAX, INT32_MIN,
                        UINT64_MAX, UINT32_MAX, true, UINT32_MAX, pz::MINUS_ONE,
                        INT32_MIN, INT64_MIN, INT32_MIN, INT64_MIN, 1));
  EXPECT_EQ(Text(&m), kScalarsText);

  HeapBuffered<Everything> small;
  AppendFields(small.get(),
               Everything::kLazy(kStencil(0, 0, 1, 300, -1, 2, 3, false, 4,
                                          pz::ZERO, -1, -2, -1, 1, 16383)));
  EXPECT_EQ(Text(&small),
            "lazy { field_double: 0 field_float: 0 field_int64: 1 "
            "field_uint64: 300 field_int32: -1 field_fixed64: 2 "
            "field_fixed32: 3 field_bool: false field_string: \"string\" "
            "field_bytes: \"\\001\" field_uint32: 4 field_enum: ZERO "
            "field_sfixed32: -1 field_sfixed64: -2 field_sint32: -1 "
            "field_sint64: 1 repeated_double: 1 repeated_double: 2 "
            "repeated_string: \"a\" repeated_string: \"b\" "
            "largest_id: 16383 }");
}

}  // namespace
}  // namespace protozero::plugin
