// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Messages that the compiler encodes: their exact bytes, and appending them
// over every delegate and chunk size.

#include "protozero/constant_message.h"

#include <stdint.h>
#include <string.h>

#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/root_message.h"
#include "protozero/static_buffer.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/delegates.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/field_classes.h"
#include "test/testing/hex.h"
#include "test/testing/message_tree.h"
#include "test/testing/tree_parser.h"

namespace protozero {
namespace {

using test::BytesField;
using test::ChunkedStream;
using test::EncodeTreeCanonically;
using test::ExpectWrites;
using test::Extension;
using test::Fields;
using test::FieldsAt;
using test::Hex;
using test::MessageTree;
using test::NestedField;
using test::NumberField;
using Kind = test::Field::Kind;

template <typename T>
using Limits = std::numeric_limits<T>;

template <typename Constant>
constexpr bool Is(const Constant& constant,
                  std::initializer_list<uint8_t> bytes) {
  if (constant.size() != bytes.size())
    return false;
  const uint8_t* pos = constant.data();
  for (const uint8_t byte : bytes) {
    if (byte != *pos++)
      return false;
  }
  return true;
}

template <typename Constant>
std::string BytesOf(const Constant& constant) {
  return std::string(reinterpret_cast<const char*>(constant.data()),
                     constant.size());
}

// Returns a field for the tree of a constant, which stands for its bytes.
test::Field Raw(MessageTree fields) {
  test::Field field{0, Kind::kRaw, 0, {}, {}};
  field.fields = std::move(fields);
  return field;
}

// The compiler does all of this.

constexpr auto kEmpty = MakeConstantMessage<Fields>([] { return FieldList(); });
static_assert(Is(kEmpty, {}), "");

constexpr auto kOne =
    MakeConstantMessage<Fields>([] { return FieldList(Fields::kInt32(300)); });
static_assert(Is(kOne, {0x08, 0xac, 0x02}), "");
static_assert(
    std::is_same<decltype(kOne), const ConstantMessage<Fields, 3>>::value,
    "");

constexpr auto kNested = MakeConstantMessage<Fields>([] {
  return FieldList(Fields::kMessage(kEmpty), Fields::kMessage(kOne),
                   Fields::kMessage(FieldList(
                       Fields::kBool(true),
                       Fields::kMessage(FieldList(Fields::kMessage(kOne))))));
});
static_assert(Is(kNested,
                 {0x0a, 0x00,                          // kEmpty
                  0x0a, 0x03, 0x08, 0xac, 0x02,        // kOne
                  0x0a, 0x09, 0x08, 0x01, 0x0a, 0x05,  //
                  0x0a, 0x03, 0x08, 0xac, 0x02}),
              "");

constexpr uint8_t kByteArray[] = {0x00, 0xff};
constexpr auto kStrings = MakeConstantMessage<Fields>([] {
  return FieldList(Fields::kString("abc"), Fields::kString(""),
                   Fields::kString("abc", 2),
                   Fields::kString(std::string_view("\0\xff", 2)),
                   Fields::kBytes(kByteArray, 2), Fields::kBytes("\x80"));
});
static_assert(Is(kStrings, {0x0a, 0x03, 'a',  'b',  'c',  //
                            0x0a, 0x00,                   //
                            0x0a, 0x02, 'a',  'b',        //
                            0x0a, 0x02, 0x00, 0xff,       //
                            0x0a, 0x02, 0x00, 0xff,       //
                            0x0a, 0x01, 0x80}),
              "");

constexpr auto kFloats = MakeConstantMessage<Fields>([] {
  return FieldList(Fields::kFloat(-0.0f), Fields::kFloat(1.0f),
                   Fields::kFloat(Limits<float>::infinity()),
                   Fields::kDouble(1.5), Fields::kDouble(-0.0));
});
static_assert(Is(kFloats, {0x0d, 0x00, 0x00, 0x00, 0x80,  //
                           0x0d, 0x00, 0x00, 0x80, 0x3f,  //
                           0x0d, 0x00, 0x00, 0x80, 0x7f,  //
                           0x09, 0x00, 0x00, 0x00, 0x00,  //
                           0x00, 0x00, 0xf8, 0x3f,        //
                           0x09, 0x00, 0x00, 0x00, 0x00,  //
                           0x00, 0x00, 0x00, 0x80}),
              "");

constexpr auto kExtended = MakeConstantMessage<Extension>(
    [] { return FieldList(Extension::kExtra(true), Fields::kBool(false)); });
static_assert(Is(kExtended, {0xc0, 0x3e, 0x01, 0x08, 0x00}), "");

// Expects that |constant| has the fields of |tree|, also after appending it.
template <uint32_t id, typename Constant>
void ExpectConstant(const Constant& constant, const MessageTree& tree) {
  using F = FieldsAt<id>;
  const std::string bytes = BytesOf(constant);
  EXPECT_EQ(Hex(bytes), Hex(EncodeTreeCanonically(tree)));
  EXPECT_TRUE(test::ParsesAs(bytes, tree));
  // The message is larger than most chunks, so these tear it at every place.
  ExpectWrites({Raw(tree), NumberField(Kind::kTiny, 1, 1), Raw(tree)},
               [&](Message* m) {
                 AppendFields(static_cast<F*>(m), constant);
                 AppendFields(static_cast<Fields*>(m), Fields::kBool(true));
                 AppendFields(static_cast<F*>(m), constant);
               });
  ExpectWrites({BytesField(id, bytes), NumberField(Kind::kSigned32, id, -1)},
               [&](Message* m) {
                 AppendFields(static_cast<F*>(m), F::kMessage(constant),
                              F::kInt32(-1));
               });
}

// Boundary values of all types.

TEST(ConstantMessageTest, BoundaryValues) {
  constexpr uint32_t id = 1;
  using F = FieldsAt<id>;
  using I32 = Limits<int32_t>;
  using I64 = Limits<int64_t>;
  using U32 = Limits<uint32_t>;
  using U64 = Limits<uint64_t>;
  static constexpr auto kConstant = MakeConstantMessage<F>([] {
    return FieldList(
        F::kInt32(I32::min()), F::kInt32(-1), F::kInt32(0), F::kInt32(127),
        F::kInt32(128), F::kInt32(I32::max()), F::kInt64(I64::min()),
        F::kInt64(-1), F::kInt64(16383), F::kInt64(16384),
        F::kInt64(I64::max()), F::kUint32(0), F::kUint32(U32::max()),
        F::kUint64(0), F::kUint64(uint64_t{1} << 63), F::kUint64(U64::max()),
        F::kSint32(I32::min()), F::kSint32(-64), F::kSint32(64),
        F::kSint32(I32::max()), F::kSint64(I64::min()), F::kSint64(-1),
        F::kSint64(I64::max()), F::kBool(false), F::kBool(true),
        F::kEnum(test::MINUS_ONE), F::kEnum(test::ONE), F::kFixed32(0),
        F::kFixed32(U32::max()), F::kFixed64(1), F::kFixed64(U64::max()),
        F::kSfixed32(I32::min()), F::kSfixed32(-1), F::kSfixed64(I64::min()),
        F::kSfixed64(-2), F::kFloat(Limits<float>::denorm_min()),
        F::kFloat(Limits<float>::lowest()),
        F::kDouble(Limits<double>::quiet_NaN()),
        F::kDouble(Limits<double>::max()), F::kString("string"),
        F::kBytes("bytes"));
  });
  const auto i32 = [](int64_t n) {
    return NumberField(Kind::kSigned32, id, n);
  };
  const auto i64 = [](int64_t n) { return NumberField(Kind::kSigned, id, n); };
  const auto u32 = [](uint32_t n) {
    return NumberField(Kind::kUnsigned32, id, n);
  };
  const auto u64 = [](uint64_t n) {
    return NumberField(Kind::kUnsigned, id, n);
  };
  const auto s32 = [](int32_t n) {
    return NumberField(Kind::kZigZag32, id, n);
  };
  const auto s64 = [](int64_t n) {
    return NumberField(Kind::kZigZag64, id, n);
  };
  const auto f32 = [](auto n) { return NumberField(Kind::kFixed32, id, n); };
  const auto f64 = [](auto n) { return NumberField(Kind::kFixed64, id, n); };
  const MessageTree tree{
      i32(I32::min()),
      i32(-1),
      i32(0),
      i32(127),
      i32(128),
      i32(I32::max()),
      i64(I64::min()),
      i64(-1),
      i64(16383),
      i64(16384),
      i64(I64::max()),
      u32(0),
      u32(U32::max()),
      u64(0),
      u64(uint64_t{1} << 63),
      u64(U64::max()),
      s32(I32::min()),
      s32(-64),
      s32(64),
      s32(I32::max()),
      s64(I64::min()),
      s64(-1),
      s64(I64::max()),
      NumberField(Kind::kTiny, id, 0),
      NumberField(Kind::kTiny, id, 1),
      i32(-1),
      i32(1),
      f32(0u),
      f32(U32::max()),
      f64(uint64_t{1}),
      f64(U64::max()),
      f32(uint32_t{1} << 31),
      f32(U32::max()),
      f64(uint64_t{1} << 63),
      f64(U64::max() - 1),
      NumberField(Kind::kFloat, id, Limits<float>::denorm_min()),
      NumberField(Kind::kFloat, id, Limits<float>::lowest()),
      NumberField(Kind::kDouble, id, Limits<double>::quiet_NaN()),
      NumberField(Kind::kDouble, id, Limits<double>::max()),
      BytesField(id, "string"),
      BytesField(id, "bytes")};
  ExpectConstant<id>(kConstant, tree);
}

// All types, with tags of every size.

template <uint32_t id>
void ExpectAllTypes() {
  using F = FieldsAt<id>;
  static constexpr auto kConstant = MakeConstantMessage<F>([] {
    return FieldList(F::kInt32(-1), F::kInt64(16384), F::kUint32(128),
                     F::kUint64(Limits<uint64_t>::max()), F::kSint32(-65),
                     F::kSint64(64), F::kBool(true), F::kEnum(test::MINUS_ONE),
                     F::kFixed32(1), F::kFixed64(2), F::kSfixed32(-1),
                     F::kSfixed64(-2), F::kFloat(1.5f), F::kDouble(-0.0),
                     F::kString("string"), F::kBytes("bytes"));
  });
  ExpectConstant<id>(
      kConstant,
      {NumberField(Kind::kSigned32, id, -1),
       NumberField(Kind::kSigned, id, 16384),
       NumberField(Kind::kUnsigned32, id, 128u),
       NumberField(Kind::kUnsigned, id, Limits<uint64_t>::max()),
       NumberField(Kind::kZigZag32, id, -65),
       NumberField(Kind::kZigZag64, id, 64), NumberField(Kind::kTiny, id, 1),
       NumberField(Kind::kSigned32, id, -1),
       NumberField(Kind::kFixed32, id, 1u),
       NumberField(Kind::kFixed64, id, uint64_t{2}),
       NumberField(Kind::kFixed32, id, Limits<uint32_t>::max()),
       NumberField(Kind::kFixed64, id, Limits<uint64_t>::max() - 1),
       NumberField(Kind::kFloat, id, 1.5f),
       NumberField(Kind::kDouble, id, -0.0), BytesField(id, "string"),
       BytesField(id, "bytes")});
}

TEST(ConstantMessageTest, AllTypesWithEveryTag) {
  ExpectAllTypes<16>();
  ExpectAllTypes<2048>();
  ExpectAllTypes<262144>();
  ExpectAllTypes<536870911>();
}

// Sizes are minimal on both sides of every limit.

#define TEN(x) x x x x x x x x x x
#define FIFTY "01234567890123456789012345678901234567890123456789"
#define HUNDRED FIFTY FIFTY

constexpr auto k127 = MakeConstantMessage<Fields>([] {
  return FieldList(Fields::kString(HUNDRED "0123456789012345678901234"));
});
constexpr auto k128 = MakeConstantMessage<Fields>([] {
  return FieldList(Fields::kString(HUNDRED "01234567890123456789012345"));
});
// 16383 = 1 + 2 + 16380.
constexpr auto k16383 = MakeConstantMessage<Fields>([] {
  return FieldList(
      Fields::kString(TEN(TEN(HUNDRED FIFTY "0123456789012")) TEN("01234567")));
});
constexpr auto k16384 = MakeConstantMessage<Fields>([] {
  return FieldList(Fields::kString(TEN(TEN(HUNDRED FIFTY "0123456789012"))
                                       TEN("01234567") "x"));
});
static_assert(k16383.size() == 16383 && k16384.size() == 16384, "");
constexpr auto kSizes = MakeConstantMessage<Fields>([] {
  return FieldList(Fields::kMessage(k127), Fields::kMessage(k128),
                   Fields::kMessage(FieldList(Fields::kMessage(k128))));
});
static_assert(k127.size() == 127 && k128.size() == 128, "");

TEST(ConstantMessageTest, SizesOfNestedMessagesAreMinimal) {
  const std::string string127 = BytesOf(k127);
  const std::string string128 = BytesOf(k128);
  const MessageTree tree{BytesField(1, string127), BytesField(1, string128),
                         NestedField(1, {BytesField(1, string128)})};
  EXPECT_EQ(Hex(BytesOf(kSizes)), Hex(EncodeTreeCanonically(tree)));
  ExpectWrites({BytesField(1, string127), BytesField(1, string128),
                BytesField(1, BytesOf(k16383)), BytesField(1, BytesOf(k16384)),
                BytesField(1, string127)},
               [](Message* m) {
                 auto* fields = static_cast<Fields*>(m);
                 AppendFields(fields, Fields::kMessage(k127),
                              Fields::kMessage(k128));
                 AppendFields(fields, Fields::kMessage(k16383),
                              Fields::kMessage(k16384), Fields::kMessage(k127));
               });
}

#undef TEN
#undef FIFTY
#undef HUNDRED

TEST(ConstantMessageTest, AppendedAmongOtherFields) {
  const MessageTree one{NumberField(Kind::kSigned32, 1, 300)};
  const std::string one_bytes = EncodeTreeCanonically(one);
  ExpectWrites({NumberField(Kind::kSigned32, 1, -1), BytesField(1, one_bytes),
                Raw(one), BytesField(1, "abc"), BytesField(1, ""), Raw(one),
                Raw({}), BytesField(1, one_bytes)},
               [](Message* m) {
                 AppendFields(static_cast<Fields*>(m), Fields::kInt32(-1),
                              Fields::kMessage(kOne), kOne,
                              Fields::kString("abc"), Fields::kMessage(kEmpty),
                              kOne, kEmpty, Fields::kMessage(kOne));
               });
}

TEST(ConstantMessageTest, AfterAnOpenChildAndInIt) {
  const MessageTree one{NumberField(Kind::kSigned32, 1, 300)};
  ExpectWrites({NestedField(9, {Raw(one), BytesField(1, BytesOf(kOne))}),
                Raw(one), NestedField(9, {NumberField(Kind::kTiny, 1, 1)}),
                BytesField(1, BytesOf(kOne))},
               [](Message* m) {
                 auto* parent = static_cast<Fields*>(m);
                 auto* child = parent->BeginNestedMessage<Fields>(9);
                 AppendFields(child, kOne, Fields::kMessage(kOne));
                 AppendFields(parent, kOne);
                 child = parent->BeginNestedMessage<Fields>(9);
                 AppendFields(child, Fields::kBool(true));
                 AppendFields(parent, Fields::kMessage(kOne));
               });
}

TEST(ConstantMessageTest, ExtensionsOfTheMessage) {
  const MessageTree tree{NumberField(Kind::kTiny, 1000, 1),
                         NumberField(Kind::kTiny, 1, 0)};
  ExpectWrites({Raw(tree), BytesField(1, BytesOf(kExtended))}, [](Message* m) {
    AppendFields(static_cast<Fields*>(m), kExtended,
                 Fields::kMessage(kExtended));
  });
  ExpectWrites({Raw(tree), NumberField(Kind::kSigned32, 1, 300)},
               [](Message* m) {
                 AppendFields(static_cast<Extension*>(m), kExtended, kOne);
               });
}

TEST(ConstantMessageTest, IsDroppedAndCountedInTheErrorState) {
  ChunkedStream stream(4, 1);
  RootMessage<Fields> message(&stream.writer);
  AppendFields(&message, kNested);
  EXPECT_EQ(stream.writer.status(), WriteStatus::kOutOfBuffer);
  EXPECT_EQ(stream.writer.written(), kNested.size());
  AppendFields(&message, Fields::kMessage(kOne));
  EXPECT_EQ(stream.writer.written(), kNested.size() + 5);
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_EQ(stream.delegate.Complaints(), "");
}

// Stencils.

constexpr auto kStencil = MakeConstantMessage<Fields>([] {
  return FieldList(Fields::kInt32(3), Fields::kUint64(Hole()),
                   Fields::kMessage(FieldList(Fields::kFixed32(Hole()),
                                              Fields::kString("abc"))),
                   Fields::kBool(Hole()));
});
static_assert(Is(kStencil, {0x08, 0x03,                                      //
                            0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,  //
                            0x80, 0x80, 0x00,                                //
                            0x0a, 0x0a, 0x0d, 0x00, 0x00, 0x00, 0x00,        //
                            0x0a, 0x03, 'a',  'b',  'c',                     //
                            0x08, 0x00}),
              "");
static_assert(!std::is_convertible<decltype(kStencil),
                                   ConstantMessage<Fields, 25>>::value,
              "");

// Compilers need not evaluate a stencil that is no constant.
TEST(MessageStencilTest, HasTheSameBytesIfItIsMadeAtRunTime) {
  constexpr auto make = [] {
    return FieldList(Fields::kInt32(-1), Fields::kUint64(Hole()),
                     Fields::kSint32(-300), Fields::kUint32(Hole<1>()),
                     Fields::kFixed64(0x0102030405060708),
                     Fields::kMessage(FieldList(Fields::kFixed32(Hole()),
                                                Fields::kString("abc"),
                                                Fields::kMessage(k128))),
                     Fields::kBool(Hole()), Fields::kDouble(1.5));
  };
  static constexpr auto kMade = MakeConstantMessage<Fields>(make);
  auto made = MakeConstantMessage<Fields>(make);
  EXPECT_EQ(Hex(BytesOf(made)), Hex(BytesOf(kMade)));
  const auto filled = [](const auto& stencil) {
    StackBuffered<Fields, 512> message;
    AppendFields(message.get(), stencil(300, 5, 7, true));
    const size_t size = message.Finalize();
    return Hex(message.data(), size);
  };
  EXPECT_EQ(filled(made), filled(kMade));
}

// Returns the bytes of a stencil with one hole that is filled with |value|.
template <typename Stencil, typename Value>
std::string Filled(const Stencil& stencil, Value value) {
  StackBuffered<Fields, 128> message;
  AppendFields(message.get(), stencil(value), Fields::kBool(true));
  EXPECT_EQ(message.Finalize(), Stencil::size() + 2);
  EXPECT_EQ(message.data()[Stencil::size()], 0x08);
  EXPECT_EQ(message.data()[Stencil::size() + 1], 0x01);

  // The slow path must write the same bytes.
  ChunkedStream stream(4);
  RootMessage<Fields> torn(&stream.writer);
  AppendFields(&torn, stencil(value));
  torn.Finalize();
  const std::string hex = Hex(message.data(), Stencil::size());
  EXPECT_EQ(stream.Bytes(), hex);
  return hex;
}

TEST(MessageStencilTest, HolesForFixedSizes) {
  using F = Fields;
  static constexpr auto kFixed32 =
      MakeConstantMessage<F>([] { return FieldList(F::kFixed32(Hole())); });
  static constexpr auto kFixed64 =
      MakeConstantMessage<F>([] { return FieldList(F::kFixed64(Hole())); });
  static constexpr auto kSfixed32 =
      MakeConstantMessage<F>([] { return FieldList(F::kSfixed32(Hole())); });
  static constexpr auto kSfixed64 =
      MakeConstantMessage<F>([] { return FieldList(F::kSfixed64(Hole<8>())); });
  static constexpr auto kFloat =
      MakeConstantMessage<F>([] { return FieldList(F::kFloat(Hole())); });
  static constexpr auto kDouble =
      MakeConstantMessage<F>([] { return FieldList(F::kDouble(Hole())); });
  EXPECT_EQ(Filled(kFixed32, 0x01020304u), "0d 04 03 02 01");
  EXPECT_EQ(Filled(kFixed64, uint64_t{0x0102030405060708}),
            "09 08 07 06 05 04 03 02 01");
  EXPECT_EQ(Filled(kSfixed32, -2), "0d fe ff ff ff");
  EXPECT_EQ(Filled(kSfixed64, int64_t{-2}), "09 fe ff ff ff ff ff ff ff");
  EXPECT_EQ(Filled(kFloat, 1.0f), "0d 00 00 80 3f");
  EXPECT_EQ(Filled(kDouble, -1.5), "09 00 00 00 00 00 00 f8 bf");
}

TEST(MessageStencilTest, HolesForVarInts) {
  using F = Fields;
  static constexpr auto kBool =
      MakeConstantMessage<F>([] { return FieldList(F::kBool(Hole())); });
  EXPECT_EQ(Filled(kBool, true), "08 01");
  EXPECT_EQ(Filled(kBool, false), "08 00");

  static constexpr auto kUint32 =
      MakeConstantMessage<F>([] { return FieldList(F::kUint32(Hole())); });
  EXPECT_EQ(Filled(kUint32, 0u), "08 80 80 80 80 00");
  EXPECT_EQ(Filled(kUint32, 1u), "08 81 80 80 80 00");
  EXPECT_EQ(Filled(kUint32, 300u), "08 ac 82 80 80 00");
  EXPECT_EQ(Filled(kUint32, Limits<uint32_t>::max()), "08 ff ff ff ff 0f");

  static constexpr auto kInt32 =
      MakeConstantMessage<F>([] { return FieldList(F::kInt32(Hole())); });
  EXPECT_EQ(Filled(kInt32, 1), "08 81 80 80 80 00");
  EXPECT_EQ(Filled(kInt32, Limits<int32_t>::max()), "08 ff ff ff ff 07");
  EXPECT_EQ(Filled(kInt32, Limits<int32_t>::min()), "08 80 80 80 80 08");
  EXPECT_EQ(Filled(kInt32, -1), "08 ff ff ff ff 0f");

  static constexpr auto kEnum =
      MakeConstantMessage<F>([] { return FieldList(F::kEnum(Hole())); });
  EXPECT_EQ(Filled(kEnum, test::ONE), "08 81 80 80 80 00");
  EXPECT_EQ(Filled(kEnum, test::MINUS_ONE), "08 ff ff ff ff 0f");

  static constexpr auto kSint32 =
      MakeConstantMessage<F>([] { return FieldList(F::kSint32(Hole())); });
  EXPECT_EQ(Filled(kSint32, -1), "08 81 80 80 80 00");
  EXPECT_EQ(Filled(kSint32, Limits<int32_t>::min()), "08 ff ff ff ff 0f");

  static constexpr auto kUint64 =
      MakeConstantMessage<F>([] { return FieldList(F::kUint64(Hole())); });
  EXPECT_EQ(Filled(kUint64, uint64_t{0}), "08 80 80 80 80 80 80 80 80 80 00");
  EXPECT_EQ(Filled(kUint64, uint64_t{1} << 55),
            "08 80 80 80 80 80 80 80 c0 80 00");
  EXPECT_EQ(Filled(kUint64, uint64_t{1} << 56),
            "08 80 80 80 80 80 80 80 80 81 00");
  EXPECT_EQ(Filled(kUint64, uint64_t{1} << 63),
            "08 80 80 80 80 80 80 80 80 80 01");
  EXPECT_EQ(Filled(kUint64, ~uint64_t{0}), "08 ff ff ff ff ff ff ff ff ff 01");

  static constexpr auto kInt64 =
      MakeConstantMessage<F>([] { return FieldList(F::kInt64(Hole())); });
  EXPECT_EQ(Filled(kInt64, int64_t{-1}), "08 ff ff ff ff ff ff ff ff ff 01");
  EXPECT_EQ(Filled(kInt64, int64_t{5}), "08 85 80 80 80 80 80 80 80 80 00");

  static constexpr auto kSint64 =
      MakeConstantMessage<F>([] { return FieldList(F::kSint64(Hole())); });
  EXPECT_EQ(Filled(kSint64, int64_t{-1}), "08 81 80 80 80 80 80 80 80 80 00");
}

// Fills a hole with the smallest value, the largest value of its width, and one
// that has a different value in every group. Compares with a simple encoder.
template <size_t width>
void ExpectWidth() {
  static constexpr auto kStencil64 = MakeConstantMessage<Fields>(
      [] { return FieldList(Fields::kUint64(Hole<width>())); });
  static_assert(kStencil64.size() == 1 + width, "");
  const uint64_t most =
      width == 10 ? ~uint64_t{0} : (uint64_t{1} << (7 * width)) - 1;
  for (uint64_t value : {uint64_t{0}, uint64_t{1}, most, most / 2,
                         most & 0x8acdef0123456789, most - 1}) {
    std::string expected = "\x08";
    for (size_t i = 0; i < width; ++i) {
      const uint64_t group = value >> (7 * i) & 0x7f;
      expected += static_cast<char>(group | (i + 1 < width ? 0x80 : 0));
    }
    EXPECT_EQ(Filled(kStencil64, value), Hex(expected));
  }
  if (width < 10) {
    // This value has one bit too many.
    const uint64_t value = (most + 1) | 5;
    EXPECT_MISTAKE(Filled(kStencil64, value), "does not fit the hole");
    if (!PROTOZERO_DCHECK_IS_ON) {
      EXPECT_EQ(Filled(kStencil64, value), Filled(kStencil64, uint64_t{5}));
    }
  }
}

TEST(MessageStencilTest, HolesOfEveryWidth) {
  ExpectWidth<1>();
  ExpectWidth<2>();
  ExpectWidth<3>();
  ExpectWidth<4>();
  ExpectWidth<5>();
  ExpectWidth<6>();
  ExpectWidth<7>();
  ExpectWidth<8>();
  ExpectWidth<9>();
  ExpectWidth<10>();
}

TEST(MessageStencilTest, NarrowHolesForSignedTypes) {
  using F = Fields;
  static constexpr auto kInt32 =
      MakeConstantMessage<F>([] { return FieldList(F::kInt32(Hole<2>())); });
  EXPECT_EQ(Filled(kInt32, 16383), "08 ff 7f");
  EXPECT_MISTAKE(Filled(kInt32, -1), "does not fit the hole");
  static constexpr auto kSint64 =
      MakeConstantMessage<F>([] { return FieldList(F::kSint64(Hole<2>())); });
  EXPECT_EQ(Filled(kSint64, int64_t{-8192}), "08 ff 7f");
  EXPECT_MISTAKE(Filled(kSint64, int64_t{8192}), "does not fit the hole");
}

TEST(MessageStencilTest, AppendedAtEveryPlace) {
  // A tree has no padded numbers, so it has the filled stencil as bytes.
  const std::string filled = test::FromHex(
      "08 03 08 ff ff ff ff ff ff ff ff ff 01 "
      "0a 0a 0d 04 03 02 01 0a 03 61 62 63 08 01");
  const std::string zeros = test::FromHex(
      "08 03 08 80 80 80 80 80 80 80 80 80 00 "
      "0a 0a 0d 00 00 00 00 0a 03 61 62 63 08 00");
  ExpectWrites(
      {BytesField(1, filled), NumberField(Kind::kSigned32, 1, -1),
       NestedField(9, {BytesField(1, zeros)}), BytesField(1, filled),
       BytesField(1, zeros)},
      [](Message* m) {
        auto* fields = static_cast<Fields*>(m);
        AppendFields(fields,
                     Fields::kMessage(kStencil(~uint64_t{0}, 0x01020304, true)),
                     Fields::kInt32(-1));
        AppendFields(fields->BeginNestedMessage<Fields>(9),
                     Fields::kMessage(kStencil(0, 0, false)));
        AppendFields(fields,
                     Fields::kMessage(kStencil(~uint64_t{0}, 0x01020304, true)),
                     Fields::kMessage(kStencil(0, 0, false)));
      });

  std::string expected;
  for (int i = 0; i < 3; ++i)
    expected += Hex(filled) + " " + Hex(zeros) + " ";
  test::ExpectWritesHex(expected, [](Message* m) {
    for (int i = 0; i < 3; ++i) {
      AppendFields(static_cast<Fields*>(m),
                   kStencil(~uint64_t{0}, 0x01020304, true),
                   kStencil(0, 0, false));
    }
  });
}

TEST(MessageStencilTest, AsWholeMessages) {
  const auto filled = kStencil(~uint64_t{0}, 0x01020304, true);
  for (size_t chunk_size = 4; chunk_size < 100; ++chunk_size) {
    ChunkedStream at_once(chunk_size);
    ChunkedStream begun(chunk_size);
    RootMessage<Fields> message;
    for (int i = 0; i < 3; ++i) {
      message.Reset(&begun.writer);
      AppendFields(&message, kOne, filled, Fields::kMessage(kOne));
      EXPECT_EQ(AppendMessage<Fields>(&at_once.writer, kOne, filled,
                                      Fields::kMessage(kOne)),
                message.Finalize());
    }
    EXPECT_EQ(at_once.Chunks(), begun.Chunks()) << chunk_size;
    EXPECT_EQ(at_once.delegate.Complaints(), "");
  }
}

TEST(MessageStencilTest, FillsAStaticBufferToTheLastByte) {
  constexpr size_t kSize = kStencil.size() + kOne.size();
  for (size_t size = 0; size <= kSize + 20; ++size) {
    std::vector<uint8_t> buffer(size + 32, 0xa5);
    StaticBuffered<Fields> message(buffer.data(), size);
    AppendFields(message.get(), kOne, kStencil(~uint64_t{0}, ~0u, true));
    EXPECT_EQ(message.bytes_needed(), kSize);
    EXPECT_EQ(message.Finalize(), size >= kSize ? kSize : 0u);
    for (size_t i = size; i < buffer.size(); ++i)
      EXPECT_EQ(buffer[i], 0xa5) << size;
  }
}

}  // namespace
}  // namespace protozero
