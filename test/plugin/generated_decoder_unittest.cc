// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Reads the output of libprotobuf and of generated classes with generated
// decoders.

#include <stdint.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/packed_repeated_fields.h"
#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "test/plugin/dynamic_schema.h"
#include "test/protos/plugin/golden.pbzero.h"
#include "test/protos/plugin/golden_base.pbzero.h"
#include "test/protos/plugin/golden_import.pbzero.h"
#include "test/protos/plugin/golden_public.pbzero.h"

namespace protozero::plugin {
namespace {

namespace pz = ::golden::main::pbzero;

using Everything = pz::Everything;
using Decoder = Everything::Decoder;
using Choice = Everything::ChoiceCase;
using OtherChoice = Everything::OtherChoiceCase;

static_assert(std::is_same<Decoder, pz::Everything_Decoder>::value, "");
static_assert(std::is_same<Choice, Decoder::ChoiceCase>::value, "");
static_assert(std::is_same<pz::Wrapper::Decoder, pz::Wrapper_Decoder>::value,
              "");
static_assert(std::is_base_of<TypedProtoDecoderBase, Decoder>::value, "");

// The types that the code of Perfetto's users has for decoders.
static_assert(std::is_same<decltype(&Decoder::field_enum),
                           int32_t (Decoder::*)() const>::value,
              "");
static_assert(std::is_same<decltype(&Decoder::field_enum_enum),
                           pz::TopLevel (Decoder::*)() const>::value,
              "");
static_assert(std::is_same<decltype(&Decoder::field_string),
                           ConstChars (Decoder::*)() const>::value,
              "");
static_assert(std::is_same<decltype(&Decoder::field_message),
                           ConstBytes (Decoder::*)() const>::value,
              "");
static_assert(
    std::is_same<decltype(&Decoder::repeated_string),
                 RepeatedFieldIterator<ConstChars> (Decoder::*)() const>::value,
    "");
static_assert(std::is_same<decltype(std::declval<Decoder>().repeated_double()),
                           RepeatedFieldIterator<double>>::value,
              "");
static_assert(std::is_same<decltype(std::declval<Decoder>().repeated_sint64()),
                           RepeatedFieldIterator<int64_t>>::value,
              "");
static_assert(std::is_same<decltype(std::declval<Decoder>().repeated_enum()),
                           RepeatedFieldIterator<int32_t>>::value,
              "");
static_assert(
    std::is_same<
        decltype(std::declval<Decoder>().packed_int32()),
        PackedRepeatedFieldIterator<proto_utils::ProtoWireType::kVarInt,
                                    int32_t>>::value,
    "");

template <typename T>
T Copy(T value) {
  return value;
}
std::string Copy(ConstChars value) {
  return value.ToStdString();
}
std::string Copy(ConstBytes value) {
  return value.ToStdString();
}

// Returns true if these are the values of a repeated field. Not a matcher,
// because matchers take longer to compile than the rest of this file.
template <typename Iterator,
          typename T = decltype(Copy(*std::declval<Iterator>()))>
::testing::AssertionResult Are(Iterator it, const std::vector<T>& expected) {
  std::vector<T> values;
  for (; it; ++it)
    values.push_back(Copy(*it));
  if (values == expected)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << ::testing::PrintToString(values);
}

class GeneratedDecoderTest : public ::testing::Test {
 protected:
  std::string Encode(const std::string& text) {
    return schema_.FromText("golden.main.Everything", text);
  }

  DynamicSchema schema_{"test/protos/plugin/golden.proto"};
};

TEST_F(GeneratedDecoderTest, EveryScalar) {
  const std::string bytes = Encode(R"(
      field_double: -0.5 field_float: 1.5 field_int64: -9223372036854775808
      field_uint64: 18446744073709551615 field_int32: -2147483648
      field_fixed64: 18446744073709551615 field_fixed32: 4294967295
      field_bool: true field_string: "chars" field_bytes: "\000\377"
      field_uint32: 4294967295 field_enum: LOWEST field_sfixed32: -2147483648
      field_sfixed64: -9223372036854775808 field_sint32: -2147483648
      field_sint64: -9223372036854775808 largest_id: -7)");
  const Decoder d(bytes);
  EXPECT_EQ(d.status(), DecodeStatus::kOk);
  EXPECT_EQ(d.field_double(), -0.5);
  EXPECT_EQ(d.field_float(), 1.5f);
  EXPECT_EQ(d.field_int64(), INT64_MIN);
  EXPECT_EQ(d.field_uint64(), UINT64_MAX);
  EXPECT_EQ(d.field_int32(), INT32_MIN);
  EXPECT_EQ(d.field_fixed64(), UINT64_MAX);
  EXPECT_EQ(d.field_fixed32(), UINT32_MAX);
  EXPECT_TRUE(d.field_bool());
  EXPECT_EQ(d.field_string().ToStdString(), "chars");
  EXPECT_EQ(d.field_bytes().ToStdString(), std::string("\0\xff", 2));
  EXPECT_EQ(d.field_uint32(), UINT32_MAX);
  EXPECT_EQ(d.field_enum(), INT32_MIN);
  EXPECT_EQ(d.field_enum_enum(), pz::LOWEST);
  EXPECT_EQ(d.field_sfixed32(), INT32_MIN);
  EXPECT_EQ(d.field_sfixed64(), INT64_MIN);
  EXPECT_EQ(d.field_sint32(), INT32_MIN);
  EXPECT_EQ(d.field_sint64(), INT64_MIN);
  EXPECT_EQ(d.largest_id(), -7);
  EXPECT_TRUE(d.has_field_double());
  EXPECT_TRUE(d.has_field_bytes());
  EXPECT_TRUE(d.has_largest_id());
  EXPECT_FALSE(d.has_field_message());
  EXPECT_FALSE(d.has_repeated_double());
  // The string is not a copy.
  EXPECT_GE(d.field_string().data, bytes.data());
  EXPECT_LT(d.field_string().data, bytes.data() + bytes.size());
}

TEST_F(GeneratedDecoderTest, EveryConstructor) {
  const std::string bytes = Encode("field_int32: 5");
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  EXPECT_EQ(Decoder(data, bytes.size()).field_int32(), 5);
  EXPECT_EQ(Decoder(bytes).field_int32(), 5);
  EXPECT_EQ(Decoder(std::string_view(bytes)).field_int32(), 5);
  EXPECT_EQ(Decoder(ConstBytes(data, bytes.size())).field_int32(), 5);
  const Decoder original(bytes);
  const Decoder copy = original;
  EXPECT_EQ(copy.field_int32(), 5);
}

TEST_F(GeneratedDecoderTest, AbsentFieldsAreZeroOrNothing) {
  const Decoder d{std::string_view()};
  EXPECT_FALSE(d.has_field_int32());
  EXPECT_EQ(d.field_int32(), 0);
  EXPECT_EQ(d.field_double(), 0);
  EXPECT_FALSE(d.field_bool());
  EXPECT_EQ(d.field_string().size, 0u);
  EXPECT_EQ(d.field_bytes().size, 0u);
  EXPECT_EQ(d.field_message().size, 0u);
  EXPECT_EQ(d.field_enum_enum(), pz::ZERO);
  EXPECT_TRUE(Are(d.repeated_double(), {}));
  EXPECT_TRUE(Are(d.packed_int32(), {}));
  EXPECT_TRUE(Are(d.string_to_message(), {}));
}

TEST_F(GeneratedDecoderTest, AbsentFieldsHaveTheDefaultOfTheSchema) {
  const Decoder d{std::string_view()};
  EXPECT_FALSE(d.has_default_int32());
  EXPECT_EQ(d.default_int32(), INT32_MIN);
  EXPECT_EQ(d.default_int64(), INT64_MIN);
  EXPECT_EQ(d.default_uint32(), UINT32_MAX);
  EXPECT_EQ(d.default_uint64(), UINT64_MAX);
  EXPECT_EQ(d.default_sint32(), -1);
  EXPECT_EQ(d.default_fixed64(), 7u);
  EXPECT_TRUE(d.default_bool());
  EXPECT_EQ(d.default_float(), 0.1f);
  EXPECT_EQ(d.default_double(), -1e300);
  EXPECT_EQ(d.infinite_float(), std::numeric_limits<float>::infinity());
  EXPECT_EQ(d.infinite_double(), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(d.nan_double()));
  EXPECT_EQ(d.negative_zero(), 0);
  EXPECT_TRUE(std::signbit(d.negative_zero()));
  EXPECT_EQ(d.default_string().ToStdString(),
            std::string("\"a\\b?\?/\n\xc3\xa9\0"
                        "7",
                        12));
  EXPECT_EQ(d.default_bytes().ToStdString(), std::string("\xff\0x", 3));
  EXPECT_EQ(d.default_enum(), -1);
  EXPECT_EQ(d.default_enum_enum(), pz::MINUS_ONE);
  // If an enum has no default, the default is its first value, which is not 0.
  EXPECT_EQ(d.first_enum_enum(), ::golden::imported::pbzero::LOW);
  EXPECT_EQ(d.with_default(), 7);

  // A default does not replace a value that is present, even if it is zero.
  const std::string bytes = Encode(
      "default_int32: 0 default_bool: false default_string: '' "
      "default_double: 0 default_enum: ZERO with_default: 0");
  const Decoder zeros(bytes);
  EXPECT_EQ(zeros.default_int32(), 0);
  EXPECT_TRUE(zeros.has_default_int32());
  EXPECT_FALSE(zeros.default_bool());
  EXPECT_EQ(zeros.default_string().size, 0u);
  EXPECT_EQ(zeros.default_double(), 0);
  EXPECT_EQ(zeros.default_enum_enum(), pz::ZERO);
  EXPECT_EQ(zeros.with_default(), 0);
}

TEST_F(GeneratedDecoderTest, LastOfSeveralValuesCounts) {
  HeapBuffered<Everything> m;
  m->set_field_int32(1);
  m->set_field_string("a");
  m->set_field_int32(2);
  m->set_field_string("b");
  const std::string bytes = m.SerializeAsString();
  const Decoder d(bytes);
  EXPECT_EQ(d.field_int32(), 2);
  EXPECT_EQ(d.field_string().ToStdString(), "b");
}

TEST_F(GeneratedDecoderTest, RepeatedFields) {
  const std::string bytes = Encode(R"(
      repeated_double: 1 repeated_double: 2.5 repeated_string: "a"
      repeated_string: "" repeated_bytes: "\001" repeated_sint64: -1
      repeated_sint64: 1 repeated_enum: SOME repeated_enum: NONE
      repeated_message { deep { kind: SOME } } repeated_message {})");
  const Decoder d(bytes);
  EXPECT_TRUE(d.has_repeated_double());
  EXPECT_TRUE(Are(d.repeated_double(), {1, 2.5}));
  EXPECT_TRUE(Are(d.repeated_string(), {"a", ""}));
  EXPECT_TRUE(Are(d.repeated_bytes(), {"\x01"}));
  EXPECT_TRUE(Are(d.repeated_sint64(), {-1, 1}));
  EXPECT_EQ(d.repeated_sint64()->as_sint64(), -1);
  EXPECT_EQ(d.repeated_sint64().field().as_int64(), 1);
  EXPECT_TRUE(Are(d.repeated_enum(), {1, 0}));
  EXPECT_TRUE(Are(d.repeated_enum_enum(), {pz::Everything_Nested_Deep::SOME,
                                           pz::Everything_Nested_Deep::NONE}));
  std::vector<int32_t> kinds;
  for (const ConstBytes message : d.repeated_message()) {
    const pz::Everything_Nested::Decoder nested(message);
    kinds.push_back(pz::Everything_Nested_Deep::Decoder(nested.deep()).kind());
  }
  EXPECT_EQ(kinds, (std::vector<int32_t>{1, 0}));
}

TEST_F(GeneratedDecoderTest, PackedFieldsOfEveryType) {
  const std::string bytes = Encode(
      "packed_double: 0.5 packed_double: -0.5 packed_float: 0.25 "
      "packed_int64: -9223372036854775808 packed_int64: 9223372036854775807 "
      "packed_uint64: 18446744073709551615 packed_int32: -2147483648 "
      "packed_fixed64: 18446744073709551615 packed_fixed32: 4294967295 "
      "packed_bool: true packed_bool: false packed_uint32: 4294967295 "
      "packed_enum: LOWEST packed_enum: ZERO packed_sfixed32: -2147483648 "
      "packed_sfixed64: -9223372036854775808 packed_sint32: -2147483648 "
      "packed_sint32: -1 packed_sint32: 1 packed_sint64: -1");
  const Decoder d(bytes);
  bool error = false;
  EXPECT_TRUE(Are(d.packed_double(&error), {0.5, -0.5}));
  EXPECT_TRUE(Are(d.packed_float(&error), {0.25f}));
  EXPECT_TRUE(Are(d.packed_int64(&error), {INT64_MIN, INT64_MAX}));
  EXPECT_TRUE(Are(d.packed_uint64(&error), {UINT64_MAX}));
  EXPECT_TRUE(Are(d.packed_int32(&error), {INT32_MIN}));
  EXPECT_TRUE(Are(d.packed_fixed64(&error), {UINT64_MAX}));
  EXPECT_TRUE(Are(d.packed_fixed32(&error), {UINT32_MAX}));
  EXPECT_TRUE(Are(d.packed_bool(&error), {true, false}));
  EXPECT_TRUE(Are(d.packed_uint32(&error), {UINT32_MAX}));
  EXPECT_TRUE(Are(d.packed_enum(&error), {INT32_MIN, 0}));
  EXPECT_TRUE(Are(d.packed_enum_enum(&error), {pz::LOWEST, pz::ZERO}));
  EXPECT_TRUE(Are(d.packed_sfixed32(&error), {INT32_MIN}));
  EXPECT_TRUE(Are(d.packed_sfixed64(&error), {INT64_MIN}));
  EXPECT_TRUE(Are(d.packed_sint32(&error), {INT32_MIN, -1, 1}));
  EXPECT_TRUE(Are(d.packed_sint64(&error), {-1}));
  EXPECT_FALSE(error);
}

// The specification of protobuf demands this: packed, not packed, or mixed.
TEST_F(GeneratedDecoderTest, EitherEncodingOfRepeatedNumbers) {
  HeapBuffered<Message> m;
  const int32_t numbers[] = {2, 3};
  m->AppendVarInt(Everything::kPackedInt32FieldNumber, 1);
  PackedVarInt::AppendField(m.get(), Everything::kPackedInt32FieldNumber,
                            numbers, 2);
  m->AppendVarInt(Everything::kPackedInt32FieldNumber, 4);
  const double doubles[] = {5, 6};
  m->AppendBytes(Everything::kRepeatedDoubleFieldNumber, doubles,
                 sizeof(doubles));
  m->AppendFixed(Everything::kRepeatedDoubleFieldNumber, 7.0);
  const std::string bytes = m.SerializeAsString();
  const Decoder d(bytes);
  EXPECT_TRUE(Are(d.packed_int32(), {1, 2, 3, 4}));
  EXPECT_TRUE(Are(d.repeated_double(), {5, 6, 7}));
}

TEST_F(GeneratedDecoderTest, MalformedPackedFieldIsReported) {
  HeapBuffered<Message> m;
  m->AppendBytes(Everything::kPackedInt32FieldNumber, "\x01\x80", 2);
  const std::string bytes = m.SerializeAsString();
  const Decoder d(bytes);
  bool error = false;
  EXPECT_TRUE(Are(d.packed_int32(&error), {1}));
  EXPECT_TRUE(error);
}

TEST_F(GeneratedDecoderTest, Maps) {
  const std::string bytes = Encode(R"(
      string_to_message { key: "k" value { deep { kind: SOME } } }
      sint_to_enum { key: -7 value: HIGHEST }
      uint_to_bytes { key: 1 value: "\377" } bool_to_double { key: true }
      fixed_to_string { value: "x" })");
  const Decoder d(bytes);
  const Everything::StringToMessageEntry::Decoder entry(*d.string_to_message());
  EXPECT_EQ(entry.key().ToStdString(), "k");
  const pz::Everything_Nested::Decoder value(entry.value());
  EXPECT_TRUE(value.has_deep());
  const Everything::SintToEnumEntry::Decoder other(*d.sint_to_enum());
  EXPECT_EQ(other.key(), -7);
  EXPECT_EQ(other.value_enum(), pz::HIGHEST);
}

TEST_F(GeneratedDecoderTest, Groups) {
  const std::string bytes = Encode(R"(
      OneGroup { x: 1 } ManyGroups { inner { x: 2 } } ManyGroups {}
      field_int32: 3 ChosenGroup { x: 4 })");
  const Decoder d(bytes);
  EXPECT_EQ(d.status(), DecodeStatus::kOk);
  EXPECT_TRUE(d.has_onegroup());
  EXPECT_EQ(Everything::OneGroup::Decoder(d.onegroup()).x(), 1);
  std::vector<int32_t> inner;
  for (const ConstBytes group : d.manygroups()) {
    const Everything::ManyGroups::Decoder many(group);
    inner.push_back(Everything::OneGroup::Decoder(many.inner()).x());
  }
  EXPECT_EQ(inner, (std::vector<int32_t>{2, 0}));
  EXPECT_EQ(d.field_int32(), 3);
  EXPECT_EQ(d.other_choice_case(), OtherChoice::kChosengroup);
  EXPECT_EQ(Everything::ChosenGroup::Decoder(d.chosengroup()).x(), 4);
}

TEST_F(GeneratedDecoderTest, OneofIsItsLastMember) {
  const Decoder none{std::string_view()};
  EXPECT_EQ(none.choice_case(), Choice::kNotSet);
  EXPECT_FALSE(none.has_number());

  HeapBuffered<Everything> m;
  m->set_number(1);
  const std::string number = m.SerializeAsString();
  EXPECT_EQ(Decoder(number).choice_case(), Choice::kNumber);
  EXPECT_TRUE(Decoder(number).has_number());
  EXPECT_EQ(Decoder(number).number(), 1);

  m.Reset();
  m->set_number(1);
  m->set_text("last");
  m->set_chosen_double(7);
  m->set_chosen_enum(pz::ZERO);
  const std::string text = m.SerializeAsString();
  const Decoder d(text);
  EXPECT_EQ(d.choice_case(), Choice::kText);
  EXPECT_FALSE(d.has_number());
  EXPECT_EQ(d.number(), 0);
  EXPECT_TRUE(d.has_text());
  EXPECT_EQ(d.text().ToStdString(), "last");
  // The other oneof is independent, and its members have their defaults.
  EXPECT_EQ(d.other_choice_case(), OtherChoice::kChosenEnum);
  EXPECT_EQ(d.chosen_enum_enum(), pz::ZERO);
  EXPECT_EQ(d.chosen_double(), 2.5);
  EXPECT_EQ(none.chosen_enum_enum(), pz::HIGHEST);
  EXPECT_EQ(d.chosen_bytes().size, 0u);
  // libprotobuf agrees.
  EXPECT_EQ(schema_.ToText("golden.main.Everything", text),
            "text: \"last\" chosen_enum: ZERO");
}

TEST_F(GeneratedDecoderTest, Extensions) {
  const std::string bytes = Encode(R"(
      field_int32: 1 [golden.main.Wrapper.extra]: 2
      [golden.main.Wrapper.extras]: [-1, 1] [golden.main.at_file_level]: "x"
      [golden.main.Mixed.mixed] { name: "n" }
      [golden.main.Mixed.extragroup] { x: 3 })");
  const pz::Wrapper::Decoder wrapper(bytes);
  EXPECT_TRUE(wrapper.has_extra());
  EXPECT_EQ(wrapper.extra(), 2);
  EXPECT_TRUE(Are(wrapper.extras(), {-1, 1}));
  EXPECT_FALSE(wrapper.has_extra_enum());
  EXPECT_EQ(wrapper.extra_enum_enum(), pz::HIGHEST);
  const pz::Mixed_extends_Everything::Decoder mixed(bytes);
  EXPECT_EQ(pz::Mixed::Decoder(mixed.mixed()).name().ToStdString(), "n");
  const pz::test_protos_plugin_golden_extends_Everything::Decoder file(bytes);
  EXPECT_EQ(file.at_file_level().ToStdString(), "x");
  // The message's own decoder reads the message's own fields.
  EXPECT_EQ(Decoder(bytes).field_int32(), 1);
}

TEST_F(GeneratedDecoderTest, MessageSets) {
  const std::string bytes = schema_.FromText(
      "golden.main.MessageSet", "[golden.main.SetItems.item] { x: 7 }");
  const pz::SetItems_extends_MessageSet::Decoder d(bytes);
  EXPECT_TRUE(d.has_item());
  EXPECT_FALSE(d.has_other());
  EXPECT_EQ(pz::SetItems::Decoder(d.item()).x(), 7);
  EXPECT_EQ(d.other().size, 0u);
}

// Proto3: an absent value is zero; `optional` shows that it was set.
TEST_F(GeneratedDecoderTest, Proto3) {
  using Shared = ::golden::shared::pbzero::Shared;
  const std::string bytes = schema_.FromText(
      "golden.shared.Shared",
      "maybe: 0 packed: [1, 2] unpacked: [3, 4] colors: GREEN names: 'n'");
  const Shared::Decoder d(bytes);
  EXPECT_TRUE(d.has_maybe());
  EXPECT_EQ(d.maybe(), 0);
  EXPECT_TRUE(Are(d.packed(), {1, 2}));
  EXPECT_TRUE(Are(d.unpacked(), {3, 4}));
  EXPECT_TRUE(Are(d.colors_enum(), {Shared::GREEN}));
  EXPECT_TRUE(Are(d.names(), {"n"}));
}

// The getter returns a number that the schema does not have.
TEST_F(GeneratedDecoderTest, UnknownEnumValue) {
  HeapBuffered<Message> m;
  m->AppendVarInt(Everything::kFieldEnumFieldNumber, 99);
  const std::string bytes = m.SerializeAsString();
  const Decoder d(bytes);
  EXPECT_EQ(d.field_enum(), 99);
  EXPECT_FALSE(pz::TopLevel_IsValid(d.field_enum()));
  EXPECT_STREQ(pz::TopLevel_Name(d.field_enum_enum()),
               "PBZERO_UNKNOWN_ENUM_VALUE");
}

TEST_F(GeneratedDecoderTest, TruncatedInputIsReported) {
  const std::string bytes = Encode(
      "field_int32: 300 field_string: 'abc' field_double: 1 OneGroup { x: 1 }");
  size_t complete = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Decoder d(bytes.substr(0, size));
    complete += d.status() == DecodeStatus::kOk ? 1 : 0;
  }
  // The empty message is complete, and so are prefixes that end between two of
  // the four fields.
  EXPECT_EQ(complete, 4u);
  EXPECT_EQ(Decoder(bytes).status(), DecodeStatus::kOk);
}

// The setter of each field takes the value that its getter returned.
TEST_F(GeneratedDecoderTest, WhatWasReadCanBeWritten) {
  const std::string bytes = Encode(
      "field_double: 0.5 field_string: 'chars' field_bytes: '\\000' "
      "field_enum: HIGHEST field_sint64: -5 repeated_string: 'r' "
      "lazy { field_int32: 1 } uint_to_bytes { key: 1 value: 'v' } "
      "fixed_to_string { key: 2 value: 'w' }");
  const Decoder d(bytes);
  HeapBuffered<Everything> m;
  m->set_field_double(d.field_double());
  m->set_field_string(d.field_string());
  m->set_field_bytes(d.field_bytes());
  m->set_field_enum(d.field_enum_enum());
  m->set_field_sint64(d.field_sint64());
  for (const ConstChars value : d.repeated_string())
    m->add_repeated_string(value);
  m->set_lazy_raw(d.lazy().ToStdStringView());
  for (const ConstBytes value : d.uint_to_bytes()) {
    const Everything::UintToBytesEntry::Decoder entry(value);
    m->add_uint_to_bytes(entry.key(), entry.value());
  }
  for (const ConstBytes value : d.fixed_to_string()) {
    const Everything::FixedToStringEntry::Decoder entry(value);
    m->add_fixed_to_string(entry.key(), entry.value());
  }
  EXPECT_EQ(m.SerializeAsString(), bytes);
}

}  // namespace
}  // namespace protozero::plugin
