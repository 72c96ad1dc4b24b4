// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// AppendFields(), AppendMessage() and EncodeMessage(): they write exact bytes,
// over every delegate and chunk size, and the same bytes as single setters.

#include "protozero/append_fields.h"

#include <stdlib.h>

#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
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

// Writes every kind of field, with tags of every size.
template <uint32_t id>
void ExpectEveryKind(uint64_t bits, const std::string& bytes) {
  using F = FieldsAt<id>;
  const uint32_t low = static_cast<uint32_t>(bits);
  const int32_t low_signed = static_cast<int32_t>(low);
  const int64_t bits_signed = static_cast<int64_t>(bits);
  const bool flag = bits % 2 == 1;
  float real32;
  double real64;
  memcpy(&real32, &low, sizeof(low));
  memcpy(&real64, &bits, sizeof(bits));
  const MessageTree tree{
      NumberField(Kind::kSigned32, id, low_signed),
      NumberField(Kind::kUnsigned, id, bits),
      BytesField(id, bytes, Kind::kString),
      NumberField(Kind::kSigned, id, bits_signed),
      NumberField(Kind::kUnsigned32, id, low),
      NumberField(Kind::kZigZag32, id, low_signed),
      BytesField(id, bytes),
      NumberField(Kind::kZigZag64, id, bits_signed),
      NumberField(Kind::kTiny, id, flag ? 1 : 0),
      NumberField(Kind::kSigned32, id, low_signed),
      NumberField(Kind::kFixed32, id, low),
      NumberField(Kind::kFixed64, id, bits),
      NumberField(Kind::kFixed32, id, low),
      NumberField(Kind::kFixed64, id, bits),
      NumberField(Kind::kFloat, id, low),
      NumberField(Kind::kDouble, id, bits),
  };
  ExpectWrites(tree, [&](Message* m) {
    AppendFields(
        static_cast<F*>(m), F::kInt32(low_signed), F::kUint64(bits),
        F::kString(bytes), F::kInt64(bits_signed), F::kUint32(low),
        F::kSint32(low_signed),
        F::kBytes(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()),
        F::kSint64(bits_signed), F::kBool(flag),
        F::kEnum(static_cast<test::Number>(low_signed)), F::kFixed32(low),
        F::kFixed64(bits), F::kSfixed32(low_signed), F::kSfixed64(bits_signed),
        F::kFloat(real32), F::kDouble(real64));
  });
  EXPECT_TRUE(test::ParsesAs(test::EncodeTreeCanonically(tree), tree));
}

TEST(AppendFieldsTest, EveryKindWithEveryTagAndBoundaryValue) {
  std::vector<uint64_t> numbers{0, ~uint64_t{0}, 0x8000000080000000,
                                0x7fffffff7fffffff};
  for (uint32_t bit = 6; bit < 64; bit += 7) {
    numbers.push_back(uint64_t{1} << bit);
    numbers.push_back((uint64_t{2} << bit) - 1);
    numbers.push_back(uint64_t{2} << bit);
  }
  for (const uint64_t number : numbers) {
    ExpectEveryKind<1>(number, "");
    ExpectEveryKind<16>(number, "a");
    ExpectEveryKind<2048>(number, "bytes");
    ExpectEveryKind<262144>(number, "0123456789abcdef");
    ExpectEveryKind<536870911>(number, std::string(33, 'x'));
  }
}

// Writes each kind alone and as the last field: the kinds differ in how far
// they may write beyond their end.
template <typename FieldValue>
void ExpectLast(const MessageTree& tree, FieldValue value) {
  ExpectWrites(
      tree, [=](Message* m) { AppendFields(static_cast<Fields*>(m), value); });
  MessageTree twice = tree;
  twice.push_back(tree[0]);
  ExpectWrites(twice, [=](Message* m) {
    AppendFields(static_cast<Fields*>(m), value, value);
  });
}

TEST(AppendFieldsTest, EachKindAtTheEnd) {
  ExpectLast({NumberField(Kind::kSigned32, 1, -1)}, Fields::kInt32(-1));
  ExpectLast({NumberField(Kind::kSigned32, 1, 0)}, Fields::kInt32(0));
  ExpectLast({NumberField(Kind::kUnsigned, 1, ~uint64_t{0})},
             Fields::kUint64(~uint64_t{0}));
  ExpectLast({NumberField(Kind::kTiny, 1, 1)}, Fields::kBool(true));
  ExpectLast({NumberField(Kind::kFixed32, 1, 7)}, Fields::kFixed32(7));
  ExpectLast({NumberField(Kind::kFixed64, 1, 7)}, Fields::kFixed64(7));
  ExpectLast({BytesField(1, "abc")}, Fields::kString("abc"));
  ExpectLast({BytesField(1, "")}, Fields::kString(""));
}

TEST(AppendFieldsTest, StringsOfEverySize) {
  std::vector<size_t> sizes;
  for (size_t size = 0; size <= 70; ++size)
    sizes.push_back(size);
  sizes.insert(sizes.end(), {126, 127, 128, 129, 300, 16383, 16384});
  for (const size_t size : sizes) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<char>(i * 7 + 1);
    const std::string_view view = bytes;
    ExpectWrites({BytesField(1, bytes), NumberField(Kind::kTiny, 1, 1),
                  BytesField(1, bytes), BytesField(1, bytes)},
                 [&](Message* m) {
                   AppendFields(static_cast<Fields*>(m), Fields::kString(view),
                                Fields::kBool(true), Fields::kBytes(bytes),
                                Fields::kString(bytes.data(), bytes.size()));
                 });
  }
}

// Strings whose size the compiler knows take a path of their own.
TEST(AppendFieldsTest, Literals) {
  ExpectWrites(
      {BytesField(1, ""), BytesField(1, "a"), BytesField(1, "0123456789"),
       BytesField(1, std::string(64, 'b')), BytesField(1, std::string(65, 'c')),
       BytesField(1, std::string(128, 'd'))},
      [](Message* m) {
#define TEN(x) x x x x x x x x x x
        AppendFields(static_cast<Fields*>(m), Fields::kString(""),
                     Fields::kString("a"), Fields::kBytes("0123456789"),
                     Fields::kString(TEN("bbbbbb") "bbbb"),
                     Fields::kString(TEN("cccccc") "ccccc"),
                     Fields::kString(TEN("dddddddddddd") "dddddddd"));
#undef TEN
      });
}

TEST(AppendFieldsTest, EverythingThatStringAndBytesSettersTake) {
  const uint8_t array[] = {'a', 'b'};
  const std::vector<uint8_t> vector(array, array + 2);
  ExpectWrites({BytesField(1, "ab"), BytesField(1, "ab"), BytesField(1, "ab"),
                BytesField(1, "ab"), BytesField(1, "ab"), BytesField(1, "ab"),
                BytesField(1, ""), BytesField(1, "")},
               [&](Message* m) {
                 AppendFields(
                     static_cast<Fields*>(m), Fields::kString("abc", 2),
                     Fields::kString(ConstChars{"ab", 2}),
                     Fields::kBytes(array, 2), Fields::kBytes(vector),
                     Fields::kBytes(ConstBytes{array, 2}),
                     Fields::kBytes(std::string_view("ab")),
                     Fields::kString(nullptr, 0), Fields::kBytes(nullptr, 0));
               });
}

TEST(AppendFieldsTest, AfterAnOpenChild) {
  ExpectWrites(
      {NestedField(5, {NumberField(Kind::kTiny, 1, 1), BytesField(1, "child"),
                       NestedField(6, {NumberField(Kind::kSigned32, 1, -2)})}),
       NumberField(Kind::kSigned32, 1, 300), BytesField(1, "parent"),
       NestedField(5, {NumberField(Kind::kDouble, 1, 0.5)}),
       NumberField(Kind::kZigZag32, 1, -1)},
      [](Message* m) {
        auto* parent = static_cast<Fields*>(m);
        auto* child = parent->BeginNestedMessage<Fields>(5);
        AppendFields(child, Fields::kBool(true), Fields::kString("child"));
        AppendFields(child->BeginNestedMessage<Fields>(6), Fields::kInt32(-2));
        AppendFields(parent, Fields::kInt32(300), Fields::kString("parent"));
        AppendFields(parent->BeginNestedMessage<Fields>(5),
                     Fields::kDouble(0.5));
        AppendFields(parent, Fields::kSint32(-1));
      });
}

TEST(AppendFieldsTest, NestedMessages) {
  const MessageTree inner{NumberField(Kind::kUnsigned, 1, 300),
                          BytesField(1, "inner")};
  ExpectWrites(
      {NumberField(Kind::kTiny, 1, 1), NestedField(1, {}),
       NestedField(1, {NumberField(Kind::kSigned32, 1, -1), NestedField(1, {}),
                       NestedField(1, inner), NumberField(Kind::kTiny, 1, 0)}),
       NestedField(1, inner), NestedField(1, inner)},
      [](Message* m) {
        const auto list =
            FieldList(Fields::kUint64(300), Fields::kString("inner"));
        AppendFields(static_cast<Fields*>(m), Fields::kBool(true),
                     Fields::kMessage(FieldList()),
                     Fields::kMessage(FieldList(
                         Fields::kInt32(-1), Fields::kMessage(FieldList()),
                         Fields::kMessage(list), Fields::kBool(false))),
                     Fields::kMessage(list), Fields::kMessage(list));
      });
}

// A one-byte size goes up to 127. A string exceeds that alone or with others.
TEST(AppendFieldsTest, NestedMessagesOfEverySize) {
  std::vector<size_t> sizes{126, 127, 128, 129, 300, 520, 16384};
  for (size_t size = 100; size <= 126; ++size)
    sizes.push_back(size);
  for (const size_t size : sizes) {
    const std::string bytes(size, 'b');
    const MessageTree inner{BytesField(1, bytes),
                            NumberField(Kind::kUnsigned, 1, size)};
    ExpectWrites({NestedField(1, inner), NumberField(Kind::kTiny, 1, 1),
                  NestedField(1, {NestedField(1, inner), BytesField(1, bytes),
                                  NestedField(1, inner)})},
                 [&](Message* m) {
                   const auto list =
                       FieldList(Fields::kString(bytes), Fields::kUint64(size));
                   AppendFields(
                       static_cast<Fields*>(m), Fields::kMessage(list),
                       Fields::kBool(true),
                       Fields::kMessage(FieldList(Fields::kMessage(list),
                                                  Fields::kString(bytes),
                                                  Fields::kMessage(list))));
                 });
  }
}

// A size of one byte may be too small for numbers, but usually is not.
TEST(AppendFieldsTest, NestedMessagesOfManyNumbers) {
  for (uint32_t bits = 0; bits <= 63; ++bits) {
    const uint64_t number = uint64_t{1} << bits;
    const MessageTree half(8, NumberField(Kind::kUnsigned, 1, number));
    MessageTree all = half;
    all.push_back(NestedField(1, half));
    ExpectWrites({NestedField(1, all)}, [=](Message* m) {
      const auto field = Fields::kUint64(number);
      AppendFields(
          static_cast<Fields*>(m),
          Fields::kMessage(FieldList(
              field, field, field, field, field, field, field, field,
              Fields::kMessage(FieldList(field, field, field, field, field,
                                         field, field, field)))));
    });
  }
}

// No message stays open, with or without room for it in the chunk.
TEST(AppendFieldsTest, NestedMessagesAreSealed) {
  for (const size_t chunk_size : {16u, 256u}) {
    ChunkedStream stream(chunk_size);
    RootMessage<Fields> message(&stream.writer);
    AppendFields(&message, Fields::kMessage(FieldList(Fields::kInt32(-1))));
    EXPECT_FALSE(message.RollBackNestedMessage());
    EXPECT_EQ(message.Finalize(), 13u);
  }
}

TEST(AppendFieldsTest, ExtensionsAndBaseClasses) {
  const MessageTree tree{NumberField(Kind::kTiny, 1000, 1),
                         NumberField(Kind::kTiny, 1, 1)};
  ExpectWrites(tree, [](Message* m) {
    AppendFields(static_cast<Fields*>(m), Extension::kExtra(true),
                 Fields::kBool(true));
  });
  ExpectWrites(tree, [](Message* m) {
    AppendFields(static_cast<Extension*>(m), Extension::kExtra(true),
                 Fields::kBool(true));
  });
  ChunkedStream stream(64);
  RootMessage<Fields> root(&stream.writer);
  AppendFields(&root, Fields::kBool(true));
  EXPECT_EQ(root.Finalize(), 2u);
  EXPECT_EQ(stream.Bytes(), "08 01");
}

// Appends the fields to buffers of every size. If the fields fit, all bytes are
// there. No byte after the buffer is ever touched.
TEST(AppendFieldsTest, FillsAStaticBufferToTheLastByte) {
  constexpr size_t kSize = 6 + 11 + 2 + 9;
  for (size_t size = 0; size <= kSize + 40; ++size) {
    std::vector<uint8_t> buffer(size + 32, 0xa5);
    StaticBuffered<Fields> message(buffer.data(), size);
    AppendFields(message.get(), Fields::kUint32(~0u), Fields::kInt32(-1),
                 Fields::kBool(false), Fields::kString("1234567"));
    EXPECT_EQ(message.bytes_needed(), kSize);
    EXPECT_EQ(message.ok(), size >= kSize) << size;
    EXPECT_EQ(message.Finalize(), size >= kSize ? kSize : 0u);
    for (size_t i = size; i < buffer.size(); ++i)
      EXPECT_EQ(buffer[i], 0xa5) << size;
  }
}

TEST(AppendFieldsTest, IsDroppedAndCountedInTheErrorState) {
  ChunkedStream stream(16, 1);
  RootMessage<Fields> message(&stream.writer);
  AppendFields(&message, Fields::kString("0123456789abcdef"));
  EXPECT_EQ(stream.writer.status(), WriteStatus::kOutOfBuffer);
  const std::string before = stream.delegate.CurrentChunk();
  AppendFields(&message, Fields::kInt32(1), Fields::kString("abc"));
  EXPECT_EQ(stream.delegate.CurrentChunk(), before);
  EXPECT_EQ(stream.writer.written(), 18u + 7u);
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_EQ(stream.delegate.Complaints(), "");
}

TEST(AppendFieldsTest, StringsThatAreTooLongAreAnError) {
  // No code reads the bytes. The sum of the sizes may overflow.
  const char* const data = "";
  for (const size_t size : {proto_utils::kMaxMessageLength + 1,
                            ~size_t{0} / 2 + 1, ~size_t{0}, ~size_t{0} - 10}) {
    StackBuffered<Fields, 256> message;
    EXPECT_MISTAKE(
        AppendFields(message.get(), Fields::kInt32(1),
                     Fields::kString(data, size), Fields::kString(data, size)),
        "split it");
    StackBuffered<Fields, 256> parent;
    EXPECT_MISTAKE(
        AppendFields(parent.get(),
                     Fields::kMessage(FieldList(Fields::kString(data, size),
                                                Fields::kString(data, size)))),
        "split it");
    if (!PROTOZERO_DCHECK_IS_ON) {
      EXPECT_EQ(message.status(), WriteStatus::kMessageTooLong);
      EXPECT_EQ(message.Finalize(), 0u);
      EXPECT_EQ(parent.status(), WriteStatus::kMessageTooLong);
      EXPECT_EQ(parent.Finalize(), 0u);
    }
  }
}

// While a child is open, the message's cursor is not in it but at an address
// that is past all others. Sizes that are allowed one by one must not carry it
// over the end.
TEST(AppendFieldsTest, NoSumOfSizesFitsWhileAChildIsOpen) {
  // AppendFields() copies the part of the first string that fits.
  const std::string bytes(256, 'x');
  const auto field =
      Fields::kString(bytes.data(), size_t{proto_utils::kMaxMessageLength});
  const auto expect_error = [&](const auto& append) {
    uint8_t buffer[256 + 16];
    memset(buffer, 0xee, sizeof(buffer));
    StaticBuffered<Fields> message(buffer, 256);
    message->BeginNestedMessage<Fields>(1)->AppendVarInt(1, 1);
    append(message.get());
    EXPECT_EQ(message.status(), WriteStatus::kOutOfBuffer);
    EXPECT_EQ(Hex(buffer + 256, 16), Hex(std::string(16, '\xee')));
  };
  expect_error([&](Fields* m) {
    AppendFields(m, field, field, field, field, field, field, field);
  });
  expect_error([&](Fields* m) {
    AppendFields(m, field, field, field, field, field, field, field, field);
  });
  expect_error([&](Fields* m) {
    AppendFields(m, field, field, field, field, field, field, field, field,
                 field, field, field, field, field, field, field, field, field);
  });
}

TEST(AppendFieldsTest, AFinalizedMessageTakesNothing) {
  StackBuffered<Fields, 256> message;
  AppendFields(message.get(), Fields::kInt32(1));
  EXPECT_EQ(message.Finalize(), 2u);
  EXPECT_MISTAKE(AppendFields(message.get(), Fields::kInt32(1)), "sealed");
  EXPECT_EQ(message.bytes_needed(), 2u);

  RootMessage<Fields> unattached;
  EXPECT_MISTAKE(AppendFields(&unattached, Fields::kInt32(1)), "Reset");
  EXPECT_MISTAKE(AppendFields(&unattached, Fields::kBool(false)), "Reset");
}

// Sealed messages write nothing, even if they had a child themselves.
TEST(AppendFieldsTest, ChildrenThatAreSealedTakeNothing) {
  std::vector<uint8_t> buffer(256);
  StaticBuffered<Fields> message(buffer.data(), buffer.size());
  std::vector<Fields*> open{message.get()};
  while (open.size() < 4) {
    open.push_back(open.back()->BeginNestedMessage<Fields>(2));
    AppendFields(open.back(), Fields::kInt32(1));
  }
  EXPECT_EQ(message.Finalize(), 12u);
  const std::vector<uint8_t> written = buffer;
  const std::string long_string(100, 'x');
  for (Fields* sealed : open) {
    EXPECT_MISTAKE(AppendFields(sealed, Fields::kInt32(1)), "sealed");
    EXPECT_MISTAKE(AppendFields(sealed, Fields::kString(long_string)),
                   "sealed");
    EXPECT_MISTAKE(sealed->AppendFixed(3, 1.0), "sealed");
  }
  EXPECT_EQ(buffer, written);
  EXPECT_TRUE(message.ok());
  EXPECT_EQ(message.bytes_needed(), 12u);
}

// Makes random calls, mixed with setters and children.
TEST(AppendFieldsTest, SameBytesAsSetters) {
  std::mt19937_64 random(1);
  for (size_t round = 0; round < 2000; round += test::kSeriesStep) {
    const size_t chunk_size = 4 + random() % 100;
    ChunkedStream fused(chunk_size);
    ChunkedStream setters(chunk_size);
    RootMessage<Fields> a(&fused.writer);
    RootMessage<Fields> b(&setters.writer);
    Fields* child_a = &a;
    Fields* child_b = &b;
    for (int i = 0; i < 10; ++i) {
      const uint64_t bits = random() >> (random() % 64);
      const int32_t low = static_cast<int32_t>(bits);
      const std::string bytes(random() % 80, 'x');
      switch (random() % 4) {
        case 0:
          child_a = child_a->BeginNestedMessage<Fields>(9);
          child_b = child_b->BeginNestedMessage<Fields>(9);
          break;
        case 1:
          child_a = &a;
          child_b = &b;
          break;
        default:
          break;
      }
      AppendFields(child_a, Fields::kInt32(low), Fields::kUint64(bits),
                   Fields::kString(bytes),
                   Fields::kMessage(FieldList(
                       Fields::kUint64(bits), Fields::kString(bytes),
                       Fields::kMessage(FieldList(Fields::kString(bytes),
                                                  Fields::kInt32(low))))),
                   Fields::kFixed32(7), Fields::kSint64(-5));
      child_b->AppendVarInt(1, low);
      child_b->AppendVarInt(1, bits);
      child_b->AppendString(1, bytes);
      auto* nested = child_b->BeginNestedMessage<Fields>(1);
      nested->AppendVarInt(1, bits);
      nested->AppendString(1, bytes);
      nested = nested->BeginNestedMessage<Fields>(1);
      nested->AppendString(1, bytes);
      nested->AppendVarInt(1, low);
      child_b->AppendFixed(1, uint32_t{7});
      child_b->AppendSignedVarInt(1, int64_t{-5});
    }
    EXPECT_EQ(a.Finalize(), b.Finalize());
    ASSERT_EQ(fused.Chunks(), setters.Chunks());
    ASSERT_EQ(fused.delegate.Complaints(), "");
  }
}

// Calls |use| with a number, a string, a child that has both and a child of its
// own, and a number.
template <typename Use>
void WithRandomFields(std::mt19937_64& random, Use use) {
  const uint64_t bits = random() >> (random() % 64);
  const std::string bytes(random() % 80, 'x');
  const auto number = Fields::kUint64(bits);
  const auto string = Fields::kString(bytes);
  const auto child = Fields::kMessage(
      FieldList(string, Fields::kInt32(static_cast<int32_t>(bits)),
                Fields::kMessage(FieldList(number, string))));
  use(number, string, child, number);
}

// AppendMessage() makes the same bytes, sizes and errors as a message that is
// begun, given the fields, and finalized.
TEST(AppendMessageTest, SameBytesAsAMessage) {
  std::mt19937_64 random(1);
  for (size_t round = 0; round < 2000; round += test::kSeriesStep) {
    const size_t chunk_size = 4 + random() % 300;
    ChunkedStream at_once(chunk_size);
    ChunkedStream begun(chunk_size);
    RootMessage<Fields> message;
    for (int i = 0; i < 10; ++i) {
      WithRandomFields(random, [&](const auto&... fields) {
        message.Reset(&begun.writer);
        AppendFields(&message, fields...);
        EXPECT_EQ(AppendMessage<Fields>(&at_once.writer, fields...),
                  message.Finalize());
        EXPECT_EQ(at_once.writer.written(), begun.writer.written());
      });
    }
    ASSERT_EQ(at_once.Chunks(), begun.Chunks());
    ASSERT_EQ(at_once.delegate.Complaints(), "");
  }
}

TEST(AppendMessageTest, FillsAChunkToTheLastByte) {
  constexpr size_t kSize = 11 + 2;
  for (size_t size = 0; size <= kSize + 40; ++size) {
    std::vector<uint8_t> buffer(size + 32, 0xa5);
    StaticBufferDelegate delegate(buffer.data(), size);
    ScatteredStreamWriter writer(&delegate);
    writer.Reset(delegate.GetNewBuffer());
    const uint32_t appended =
        AppendMessage<Fields>(&writer, Fields::kInt32(-1), Fields::kBool(true));
    EXPECT_EQ(writer.written(), kSize);
    EXPECT_EQ(writer.ok(), size >= kSize) << size;
    EXPECT_EQ(appended, size >= kSize ? kSize : 0u);
    for (size_t i = size; i < buffer.size(); ++i)
      EXPECT_EQ(buffer[i], 0xa5) << size;
  }
}

TEST(AppendMessageTest, ClosesWhatIsOpen) {
  for (const bool writer_has_cursor : {false, true}) {
    ChunkedStream stream(64);
    RootMessage<Fields> message(&stream.writer);
    auto* child = message.BeginNestedMessage<Fields>(2);
    child->AppendVarInt(1, 5);
    if (writer_has_cursor)
      stream.writer.WriteByte(0x28);
    const uint64_t before = stream.writer.written();
    EXPECT_EQ(AppendMessage<Fields>(&stream.writer, Fields::kInt32(7)), 2u);
    EXPECT_EQ(stream.writer.written(), before + 2);
    EXPECT_TRUE(message.is_finalized());
    EXPECT_MISTAKE(child->AppendVarInt(1, 5), "sealed");
    EXPECT_MISTAKE(message.AppendVarInt(1, 5), "sealed");
    EXPECT_EQ(stream.writer.written(), before + 2);
    const std::string bytes = stream.Bytes();
    EXPECT_EQ(bytes.substr(bytes.size() - 5), "08 07");
  }
}

TEST(AppendMessageTest, IsCountedInTheErrorState) {
  ChunkedStream stream(16, 1);
  EXPECT_EQ(AppendMessage<Fields>(&stream.writer,
                                  Fields::kString("0123456789abcdef")),
            0u);
  EXPECT_EQ(stream.writer.status(), WriteStatus::kOutOfBuffer);
  EXPECT_EQ(AppendMessage<Fields>(&stream.writer, Fields::kInt32(1)), 0u);
  EXPECT_EQ(stream.writer.written(), 18u + 2u);
  EXPECT_EQ(stream.delegate.Complaints(), "");
}

// A message may be longer than any field of it.
TEST(AppendMessageTest, MessagesMayBeLongerThanTheLongestField) {
  constexpr size_t kHeader = 5;  // tag and size of the string
  constexpr size_t kRoom = proto_utils::kMaxMessageLength + size_t{64};
  const auto free_memory = [](void* memory) { free(memory); };
  using Memory = std::unique_ptr<void, decltype(free_memory)>;
  const Memory zeros(calloc(kRoom, 1), free_memory);
  const Memory chunk(calloc(kRoom, 1), free_memory);
  ASSERT_TRUE(zeros && chunk);
  auto* const begin = static_cast<uint8_t*>(chunk.get());
  StaticBufferDelegate delegate(begin, kRoom);
  ScatteredStreamWriter writer(&delegate);
  for (const size_t more : {size_t{0}, size_t{1}}) {
    writer.Reset({begin, begin + kRoom});
    const size_t size = proto_utils::kMaxMessageLength - kHeader - 2 + more;
    const uint32_t appended = AppendMessage<Fields>(
        &writer, Fields::kInt32(1),
        Fields::kString(static_cast<const char*>(zeros.get()), size));
    EXPECT_EQ(appended, proto_utils::kMaxMessageLength + more);
    EXPECT_EQ(writer.status(), WriteStatus::kOk);
    EXPECT_EQ(EncodeMessage<Fields>(
                  begin, kRoom, Fields::kInt32(1),
                  Fields::kString(static_cast<const char*>(zeros.get()), size)),
              appended);
  }
}

// EncodeMessage() makes the same bytes in a buffer of any size, and touches no
// other byte.
TEST(EncodeMessageTest, SameBytesAsAMessage) {
  std::mt19937_64 random(1);
  for (size_t round = 0; round < 2000; round += test::kSeriesStep) {
    WithRandomFields(random, [&](const auto&... fields) {
      StackBuffered<Fields, 512> message;
      AppendFields(message.get(), fields...);
      const size_t expected_size = message.Finalize();
      const std::string expected = Hex(message.data(), expected_size);
      // Until they are sealed, children may need three more bytes each.
      constexpr size_t kSpare = 2 * 3;
      for (const size_t room : {size_t{0}, expected_size - 1, expected_size,
                                expected_size + 1, expected_size + kSpare,
                                expected_size + random() % 60, size_t{512}}) {
        std::vector<uint8_t> buffer(room + 32, 0xa5);
        const size_t size =
            EncodeMessage<Fields>(buffer.data(), room, fields...);
        if (room < expected_size) {
          ASSERT_EQ(size, 0u);
        } else if (size != 0 || room >= expected_size + kSpare) {
          ASSERT_EQ(Hex(buffer.data(), size), expected) << room;
        }
        for (size_t i = room; i < buffer.size(); ++i)
          ASSERT_EQ(buffer[i], 0xa5) << room;
      }
    });
  }
}

TEST(EncodeMessageTest, NoBuffer) {
  EXPECT_EQ(EncodeMessage<Fields>(nullptr, 0, Fields::kInt32(1)), 0u);
  EXPECT_EQ(EncodeMessage<Fields>(nullptr, 0, Fields::kString("abc")), 0u);
}

TEST(EncodeMessageTest, StringsThatAreTooLong) {
  uint8_t buffer[64];
  for (const size_t size : {proto_utils::kMaxMessageLength + 1, ~size_t{0} - 10,
                            ~size_t{0} / 2 + 1, ~size_t{0}}) {
    size_t encoded = 0;
    EXPECT_MISTAKE(encoded = EncodeMessage<Fields>(
                       buffer, sizeof(buffer), Fields::kInt32(1),
                       Fields::kString("", size), Fields::kString("", size)),
                   "split it");
    EXPECT_EQ(encoded, 0u);
  }
}

// Field values are literal types that know their field.

template <typename Field, typename T>
constexpr bool IsValueOf(const Field&, FieldValue<Field, T>) {
  return true;
}
static_assert(IsValueOf(Fields::kInt32, Fields::kInt32(7)), "");
static_assert(Fields::kInt32(-7).value == -7, "");
static_assert(Fields::kInt64(7).value == 7, "");
static_assert(Fields::kFloat(1.5f).value == 1.5f, "");
static_assert(Fields::kBool(true).value, "");
static_assert(Fields::kEnum(test::MINUS_ONE).value == -1, "");
static_assert(Fields::kString("abc").value == "abc", "");
static_assert(Fields::kString("abc", 2).value == "ab", "");
static_assert(Fields::kBytes("abc").value == "abc", "");
static_assert(std::is_same<decltype(Fields::kUint64(1).value), uint64_t>::value,
              "");
static_assert(std::is_empty<decltype(Fields::kInt32)>::value, "");
static_assert(std::is_trivially_copyable<decltype(Fields::kString("a"))>::value,
              "");

}  // namespace
}  // namespace protozero
