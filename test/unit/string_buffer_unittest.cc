// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/string_buffer.h"

#include <stdint.h>

#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/message_handle.h"
#include "test/testing/hex.h"
#include "test/testing/message_tree.h"
#include "test/testing/tree_parser.h"

namespace protozero {
namespace {

using test::BytesField;
using test::Hex;
using test::MessageTree;
using test::NestedField;
using test::ParsesAs;

static_assert(!std::is_copy_constructible<StringBuffered<>>::value);
static_assert(!std::is_move_constructible<StringBuffered<>>::value);

template <typename Bytes>
std::string_view AsText(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns |tree| without the fields that are taken back: whether they are there
// afterwards depends on the ends of chunks.
MessageTree WithoutTakenBack(const MessageTree& tree) {
  MessageTree kept;
  for (const test::Field& field : tree) {
    if (field.is_taken_back())
      continue;
    kept.push_back(field);
    kept.back().fields = WithoutTakenBack(field.fields);
  }
  return kept;
}

template <typename Bytes>
class ContainerBufferedTest : public testing::Test {
 protected:
  using Buffered = ContainerBuffered<Message, Bytes>;

  // Writes |tree| after |before| bytes, in a container that has room for
  // |spare| more.
  static void ExpectWritten(const MessageTree& tree,
                            size_t before,
                            size_t spare) {
    SCOPED_TRACE(testing::Message() << before << " bytes, room " << spare);
    Bytes bytes;
    bytes.reserve(before + spare);
    bytes.assign(before, 'b');
    Buffered message(&bytes);
    test::WriteTree(tree, message.get());
    const size_t size = message.Finalize();
    ASSERT_TRUE(message.ok());
    ASSERT_EQ(bytes.size(), before + size);
    EXPECT_EQ(AsText(bytes).substr(0, before), std::string(before, 'b'));
    EXPECT_TRUE(ParsesAs(AsText(bytes).substr(before), tree));
  }
};

using Containers = testing::Types<std::string, std::vector<uint8_t>>;
TYPED_TEST_SUITE(ContainerBufferedTest, Containers, );

TYPED_TEST(ContainerBufferedTest, AppendsToTheContainer) {
  TypeParam bytes = {'a', 'b'};
  {
    ContainerBuffered<Message, TypeParam> message(&bytes);
    message->AppendVarInt(1, 1);
    message.get()->template BeginNestedMessage<Message>(2)->AppendVarInt(1, 1);
    EXPECT_EQ(message.Finalize(), 6u);
    EXPECT_EQ(Hex(AsText(bytes)), "61 62 08 01 12 02 08 01");
    bytes.push_back('c');
    EXPECT_EQ(message.Finalize(), 6u);
    message.Reset();
    message->AppendVarInt(1, 2);
    EXPECT_EQ(message.Finalize(), 2u);
  }
  EXPECT_EQ(Hex(AsText(bytes)), "61 62 08 01 12 02 08 01 63 08 02");
}

TYPED_TEST(ContainerBufferedTest, AnEmptyMessageAddsNothing) {
  TypeParam bytes = {'a'};
  ContainerBuffered<Message, TypeParam> message(&bytes);
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_EQ(bytes, TypeParam{'a'});
  message.Reset();
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_EQ(bytes, TypeParam{'a'});
}

TYPED_TEST(ContainerBufferedTest, WithoutFinalizeTheContainerIsAsBefore) {
  TypeParam bytes = {'a'};
  {
    ContainerBuffered<Message, TypeParam> message(&bytes);
    message->AppendString(1, std::string(1000, 'x'));
    message.get()->template BeginNestedMessage<Message>(2)->AppendVarInt(1, 1);
    message.Reset();
    EXPECT_EQ(bytes.size() >= 1, true);
    message->AppendString(1, std::string(1000, 'x'));
    message.get()->template BeginNestedMessage<Message>(2)->AppendVarInt(1, 1);
  }
  EXPECT_EQ(bytes, TypeParam{'a'});
}

// Whatever field is at the end of a chunk: sizes of one byte and of four, and
// places of sizes that move with the container.
TYPED_TEST(ContainerBufferedTest, MessagesOfAllSizesAreWhole) {
  for (size_t size = 0; size < 1200; ++size) {
    const MessageTree tree = {
        BytesField(1, std::string(size / 2, 'x')),
        NestedField(2, {BytesField(1, std::string(size - size / 2, 'y')),
                        NestedField(3, {BytesField(1, "z")})}),
        NestedField(4, {NestedField(5, {})})};
    this->ExpectWritten(tree, size % 7, 0);
    if (this->HasFailure())
      return;
  }
}

TYPED_TEST(ContainerBufferedTest, ChunksOfAllSizesAreFilled) {
  MessageTree tree;
  for (uint32_t i = 1; i <= 5; ++i) {
    tree = {BytesField(i, std::string(50, 'x')), NestedField(i, tree),
            BytesField(i, "y")};
  }
  for (size_t spare = 0; spare < 400; ++spare) {
    this->ExpectWritten(tree, 3, spare);
    if (this->HasFailure())
      return;
  }
}

TYPED_TEST(ContainerBufferedTest, RandomMessagesAreWhole) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    const MessageTree tree = WithoutTakenBack(
        test::RandomTreeOfSize(random, 1u << (random() % 14),
                               static_cast<uint32_t>(1 + random() % 6)));
    this->ExpectWritten(tree, random() % 600, random() % 600);
    if (this->HasFailure())
      return;
  }
}

// More than kPlaces sizes are unknown when the container grows, several times.
TYPED_TEST(ContainerBufferedTest, DeepMessagesAreWhole) {
  for (uint32_t depth : {1u, 15u, 16u, 17u, 32u, 33u, 90u}) {
    MessageTree tree = {BytesField(1, std::string(3000, 'x'))};
    for (uint32_t i = 0; i < depth; ++i) {
      tree = {BytesField(2, std::string(20, 'a')), NestedField(1, tree),
              BytesField(3, std::string(40, 'b'))};
    }
    this->ExpectWritten(tree, 0, 0);
  }
}

TYPED_TEST(ContainerBufferedTest, AfterAnErrorTheContainerIsAsBefore) {
  TypeParam bytes = {'a'};
  ContainerBuffered<Message, TypeParam> message(&bytes);
  message->AppendString(1, std::string(1000, 'x'));
  // No chunk has that many bytes.
  ScatteredStreamWriter* writer =
      MessageHandle<Message>(message.get()).TakeStreamWriter();
  EXPECT_EQ(writer->ReserveBytes(1 << 20), nullptr);
  EXPECT_EQ(message.status(), WriteStatus::kOutOfBuffer);
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_FALSE(message.ok());
  EXPECT_EQ(bytes, TypeParam{'a'});
  message.Reset();
  EXPECT_TRUE(message.ok());
  message->AppendVarInt(1, 1);
  EXPECT_EQ(message.Finalize(), 2u);
  EXPECT_EQ(Hex(AsText(bytes)), "61 08 01");
}

TYPED_TEST(ContainerBufferedTest, RawBytesAreInTheContainer) {
  TypeParam bytes;
  ContainerBuffered<Message, TypeParam> message(&bytes);
  message->AppendVarInt(1, 1);
  const std::string raw(600, '\x08');
  ScatteredStreamWriter* writer =
      MessageHandle<Message>(message.get()).TakeStreamWriter();
  writer->WriteBytes(reinterpret_cast<const uint8_t*>(raw.data()), raw.size());
  EXPECT_EQ(message.Finalize(), 602u);
  EXPECT_EQ(AsText(bytes), "\x08\x01" + raw);
}

// A size field elsewhere stays there.
TYPED_TEST(ContainerBufferedTest, SizesOfTheCallersAreWritten) {
  TypeParam bytes;
  uint8_t size_field[4] = {};
  ContainerBuffered<Message, TypeParam> message(&bytes);
  message->set_size_field(size_field);
  message->AppendString(1, std::string(400, 'x'));
  EXPECT_EQ(message.Finalize(), 403u);
  EXPECT_EQ(Hex(size_field, 4), "93 83 80 00");
  EXPECT_EQ(bytes.size(), 403u);
}

}  // namespace
}  // namespace protozero
