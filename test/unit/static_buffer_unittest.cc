// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/static_buffer.h"

#include <stdint.h>

#include <algorithm>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "test/testing/hex.h"
#include "test/testing/message_tree.h"

namespace protozero {
namespace {

using test::BytesField;
using test::EncodeTree;
using test::Hex;
using test::MessageTree;
using test::NestedField;
using test::NumberField;
using test::OneLargeChunk;
using test::WriteTree;
using Kind = test::Field::Kind;

static_assert(!std::is_copy_constructible<StaticBuffered<Message>>::value);
static_assert(!std::is_move_constructible<StaticBuffered<Message>>::value);

TEST(StaticBufferDelegateTest, HandsItsBufferOutOnce) {
  uint8_t buffer[4];
  StaticBufferDelegate delegate(buffer, sizeof(buffer));
  EXPECT_EQ(delegate.range().begin, buffer);
  EXPECT_EQ(delegate.range().end, buffer + 4);
  EXPECT_EQ(delegate.GetNewBuffer().begin, buffer);
  EXPECT_FALSE(delegate.GetNewBuffer().is_valid());
  EXPECT_FALSE(delegate.GetNewBuffer().is_valid());
  EXPECT_EQ(delegate.range().begin, buffer);
}

// A message written to a buffer of |size| bytes between guards.
class GuardedWrite {
 public:
  static constexpr size_t kGuardSize = 64;
  static constexpr uint8_t kGuard = 0xa5;

  GuardedWrite(const MessageTree& tree, size_t size)
      : memory_(size + 2 * kGuardSize, kGuard) {
    StaticBuffered<Message> message(&memory_[kGuardSize], size);
    WriteTree(tree, message.get());
    result = message.Finalize();
    status = message.status();
    ok = message.ok();
    bytes_needed = message.bytes_needed();
    EXPECT_EQ(message.Finalize(), result);
  }

  bool GuardsAreIntact() const {
    const auto is_guard = [](uint8_t byte) { return byte == kGuard; };
    return std::all_of(memory_.begin(), memory_.begin() + kGuardSize,
                       is_guard) &&
           std::all_of(memory_.end() - kGuardSize, memory_.end(), is_guard);
  }
  std::string Bytes() const { return Hex(&memory_[kGuardSize], result); }

  size_t result;
  WriteStatus status;
  bool ok;
  size_t bytes_needed;

 private:
  std::vector<uint8_t> memory_;
};

// Tests buffers of every size up to one that is certainly enough. Too small
// ones fail and touch no byte outside. All others give the same bytes.
void ExpectFailsOrFits(const MessageTree& tree) {
  const std::string expected = EncodeTree(tree, OneLargeChunk());
  size_t bytes_needed = 0;
  bool fitted = false;
  for (size_t size = 0; size <= expected.size() + 40; ++size) {
    SCOPED_TRACE("buffer of " + std::to_string(size) + " bytes");
    const GuardedWrite write(tree, size);
    EXPECT_TRUE(write.GuardsAreIntact());
    EXPECT_EQ(write.ok, write.status == WriteStatus::kOk);
    if (!write.ok) {
      EXPECT_FALSE(fitted) << "a smaller buffer was large enough";
      EXPECT_EQ(write.status, WriteStatus::kOutOfBuffer);
      EXPECT_EQ(write.result, 0u);
      EXPECT_GT(write.bytes_needed, size);
    } else {
      fitted = true;
      EXPECT_GE(size, expected.size());
      EXPECT_EQ(write.Bytes(), Hex(expected));
      EXPECT_EQ(write.result, expected.size());
    }
    // The reported number of bytes is really enough.
    if (!write.ok && write.bytes_needed != bytes_needed) {
      bytes_needed = write.bytes_needed;
      EXPECT_EQ(GuardedWrite(tree, bytes_needed).Bytes(), Hex(expected))
          << "bytes_needed(): " << bytes_needed;
    }
    if (testing::Test::HasFailure())
      return;
  }
  EXPECT_TRUE(fitted);
}

TEST(StaticBufferedTest, AnEmptyMessageNeedsNoBuffer) {
  StaticBuffered<Message> message(nullptr, 0);
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_TRUE(message.ok());
  EXPECT_EQ(message.bytes_needed(), 0u);
}

TEST(StaticBufferedTest, NumbersNeedTheirExactSize) {
  ExpectFailsOrFits({NumberField(Kind::kTiny, 1, 1)});
  ExpectFailsOrFits({NumberField(Kind::kUnsigned, 1, 300)});
  ExpectFailsOrFits({NumberField(Kind::kSigned, 536870911, -1)});
  ExpectFailsOrFits({NumberField(Kind::kFixed32, 3000, 1)});
  ExpectFailsOrFits({NumberField(Kind::kFixed64, 300000, 1)});
  ExpectFailsOrFits({NumberField(Kind::kTiny, 300000, 1),
                     NumberField(Kind::kDouble, 40000000, 1.5),
                     NumberField(Kind::kZigZag32, 20, -70)});
}

TEST(StaticBufferedTest, AFlatMessageFitsABufferOfExactlyItsSize) {
  const MessageTree tree{NumberField(Kind::kUnsigned, 1, 300),
                         NumberField(Kind::kTiny, 536870911, 1),
                         NumberField(Kind::kFloat, 3000, 1.0f),
                         BytesField(1, "abcdefghijklmnop")};
  const size_t size = EncodeTree(tree, OneLargeChunk()).size();
  EXPECT_TRUE(GuardedWrite(tree, size).ok);
  EXPECT_EQ(GuardedWrite(tree, size - 1).bytes_needed, size);
  EXPECT_EQ(GuardedWrite(tree, size).bytes_needed, size);
}

TEST(StaticBufferedTest, StringsFailWhereverTheyAreCut) {
  ExpectFailsOrFits({BytesField(1, "")});
  ExpectFailsOrFits({BytesField(1, "abc")});
  ExpectFailsOrFits({BytesField(1, std::string(127, 'a'))});
  ExpectFailsOrFits({BytesField(1, std::string(128, 'a'), Kind::kString)});
  ExpectFailsOrFits({BytesField(2048, std::string(300, 'a'), Kind::kScattered),
                     NumberField(Kind::kTiny, 1, 1)});
}

TEST(StaticBufferedTest, NestedMessagesFailWhereverTheyAreCut) {
  ExpectFailsOrFits({NestedField(1, {})});
  ExpectFailsOrFits({NestedField(1, {NumberField(Kind::kTiny, 1, 1)})});
  ExpectFailsOrFits({NestedField(1, {NestedField(2, {NestedField(3, {})})})});
  ExpectFailsOrFits(
      {NumberField(Kind::kUnsigned, 1, 300),
       NestedField(536870911, {BytesField(1, std::string(100, 'a')),
                               NestedField(2, {BytesField(3, "xyz")})}),
       NestedField(2, {NumberField(Kind::kTiny, 1, 1)}),
       NestedField(3, {BytesField(1, std::string(130, 'b'))})});
}

TEST(StaticBufferedTest, RandomMessagesFailOrFit) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 60; ++i) {
    // The tree has no fields that are taken back, because these need room only
    // for a while.
    MessageTree tree;
    EncodeTree(test::RandomTree(random, 4, 3), OneLargeChunk(), &tree);
    ExpectFailsOrFits(tree);
  }
}

TEST(StaticBufferedTest, AMessageThatFittedNeededItsSize) {
  for (const MessageTree& tree :
       {MessageTree{NumberField(Kind::kUnsigned, 1, 300)},
        MessageTree{NestedField(1, {NestedField(2, {})})},
        MessageTree{NestedField(1, {}), BytesField(1, "abcdefgh")}}) {
    const GuardedWrite write(tree, 1000);
    EXPECT_TRUE(write.ok);
    EXPECT_EQ(write.bytes_needed, write.result);
  }
}

TEST(StaticBufferedTest, WritingGoesOnHarmlesslyAfterTheEnd) {
  uint8_t buffer[3] = {0xee, 0xee, 0xee};
  StaticBuffered<Message> message(buffer, 2);
  for (int i = 0; i < 1000; ++i) {
    message->AppendVarInt(1, 1);
    Message* nested = message->BeginNestedMessage<Message>(2);
    ASSERT_NE(nested, nullptr);
    nested->AppendString(1, "abc");
    nested->BeginNestedMessage<Message>(3)->AppendFixed(1, 1.0);
  }
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_EQ(message.status(), WriteStatus::kOutOfBuffer);
  EXPECT_EQ(buffer[2], 0xee);
  // Two bytes, a header of five, five bytes, a header of five and nine bytes.
  // The headers have their size while the messages are open.
  EXPECT_EQ(message.bytes_needed(), 1000u * (2 + 5 + 5 + 5 + 9));
}

TEST(StackBufferedTest, HasABufferOfItsOwn) {
  StackBuffered<Message, 8> message;
  message->AppendFixed(1, uint32_t{1});
  message.get()->AppendString(2, "x");
  EXPECT_EQ(message.Finalize(), 8u);
  EXPECT_EQ(Hex(message.data(), 8), "0d 01 00 00 00 12 01 78");
  EXPECT_TRUE(message.ok());
}

TEST(StackBufferedTest, SaysThatItsBufferIsTooSmall) {
  StackBuffered<Message, 7> message;
  message->AppendFixed(1, uint32_t{1});
  message->AppendString(2, "x");
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_EQ(message.status(), WriteStatus::kOutOfBuffer);
  EXPECT_EQ(message.bytes_needed(), 8u);
}

}  // namespace
}  // namespace protozero
