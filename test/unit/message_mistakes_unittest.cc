// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// What a caller must not do with messages: debug builds stop, release builds
// are as harmless as the comments say.

#include <stddef.h>
#include <stdint.h>

#include <string>

#include <gtest/gtest.h>

#include "protozero/contiguous_memory_range.h"
#include "protozero/message.h"
#include "protozero/packed_repeated_fields.h"
#include "protozero/root_message.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using test::ChunkedStream;
using test::Hex;

// Field ids that are known at run time only.

class FieldIdTest : public testing::TestWithParam<uint32_t> {
 protected:
  FieldIdTest() : stream_(size_t{100}) { message_.Reset(&stream_.writer); }

  // Compilers do not know it.
  uint32_t id() const { return GetParam(); }

  ChunkedStream stream_;
  RootMessage<> message_;
};

class BadFieldIdTest : public FieldIdTest {
 protected:
  // Of |append|, to the outermost message and to a nested one.
  template <typename Append>
  void ExpectMistake(const Append& append) {
    constexpr char kAdvice[] = "field ids are 1 to 536870911";
    EXPECT_MISTAKE(append(&message_), kAdvice);
    Message* const child = message_.BeginNestedMessage<Message>(1);
    EXPECT_MISTAKE(append(child), kAdvice);
    expected_ += "0a 00 ";
  }

  void TearDown() override {
    message_.AppendVarInt(2, 2);
    message_.Finalize();
    EXPECT_TRUE(stream_.writer.ok());
    EXPECT_EQ(stream_.Bytes(), expected_ + "10 02");
  }

  std::string expected_;
};

TEST_P(BadFieldIdTest, WritesNoNumber) {
  ExpectMistake([this](Message* m) { m->AppendVarInt(id(), 1); });
  ExpectMistake([this](Message* m) { m->AppendVarInt(id(), ~uint64_t{0}); });
  ExpectMistake([this](Message* m) { m->AppendSignedVarInt(id(), -1); });
  ExpectMistake([this](Message* m) { m->AppendTinyVarInt(id(), 1); });
  ExpectMistake([this](Message* m) { m->AppendBool(id(), true); });
  ExpectMistake([this](Message* m) { m->AppendFixed(id(), uint32_t{1}); });
  ExpectMistake([this](Message* m) { m->AppendDouble(id(), 1); });
}

TEST_P(BadFieldIdTest, WritesNoBytes) {
  const int32_t values[] = {1, -2, 300};
  uint8_t byte = 1;
  ExpectMistake([this](Message* m) { m->AppendString(id(), "abc"); });
  ExpectMistake(
      [this](Message* m) { m->AppendString(id(), std::string(1000, 'x')); });
  ExpectMistake([this](Message* m) { m->AppendBytes(id(), nullptr, 0); });
  ExpectMistake([this, &byte](Message* m) {
    ContiguousMemoryRange range{&byte, &byte + 1};
    EXPECT_EQ(m->AppendScatteredBytes(id(), &range, 1), 1u);
  });
  ExpectMistake([this, &values](Message* m) {
    PackedVarInt::AppendField(m, id(), values, 3);
  });
  ExpectMistake([this](Message* m) {
    const std::string many(10000, '\x01');
    PackedVarInt::AppendField(
        m, id(), reinterpret_cast<const uint8_t*>(many.data()), many.size());
  });
  ExpectMistake([this, &values](Message* m) {
    PackedFixedSizeInt<int32_t>::AppendField(m, id(), values, 3);
  });
}

TEST_P(BadFieldIdTest, BeginsNoMessage) {
  const auto use = [](Message* child) {
    ASSERT_NE(child, nullptr);
    child->AppendVarInt(1, 1);
    child->AppendString(1, "abc");
    Message* below = child->BeginNestedMessage<Message>(1);
    below->AppendFixed(1, 1.0);
    EXPECT_EQ(below->Finalize(), 0u);
    EXPECT_EQ(child->Finalize(), 0u);
  };
  ExpectMistake([&](Message* m) { use(m->BeginNestedMessage<Message>(id())); });
  ExpectMistake([&](Message* m) { use(m->BeginNestedGroup<Message>(id())); });
}

INSTANTIATE_TEST_SUITE_P(
    Ids,
    BadFieldIdTest,
    testing::Values(0, 536870912, 536870913, uint32_t{1} << 31, UINT32_MAX));

class GoodFieldIdTest : public FieldIdTest {};

TEST_P(GoodFieldIdTest, IsWritten) {
  message_.AppendTinyVarInt(id(), 1);
  message_.BeginNestedMessage<Message>(id());
  message_.AppendString(id(), "");
  const size_t tag_size = GetParam() < 16 ? 1 : 5;
  EXPECT_EQ(message_.Finalize(), 3 * (tag_size + 1));
  EXPECT_TRUE(stream_.writer.ok());
}

INSTANTIATE_TEST_SUITE_P(Ids,
                         GoodFieldIdTest,
                         testing::Values(1, 2, 536870910, 536870911));

// Root messages that take turns on one stream.

TEST(InterleavedMessagesTest, OnlyTheOneThatBeganLastIsOpen) {
  ChunkedStream stream(size_t{100});
  RootMessage<> messages[3];
  uint8_t size_fields[3][4] = {};
  for (int i = 0; i < 3; ++i) {
    messages[i].Reset(&stream.writer);
    messages[i].set_size_field(size_fields[i]);
    messages[i].AppendVarInt(1, i);
  }
  constexpr char kAdvice[] = "another one began on its stream";
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(messages[i].is_finalized());
      EXPECT_MISTAKE(messages[i].AppendVarInt(2, i), kAdvice);
      EXPECT_MISTAKE(messages[i].BeginNestedMessage<Message>(3), kAdvice);
    }
    messages[2].AppendVarInt(2, 2);
  }
  // Closed as they stood, without a size.
  EXPECT_EQ(messages[0].Finalize(), 0u);
  EXPECT_EQ(messages[1].Finalize(), 0u);
  EXPECT_EQ(messages[2].Finalize(), 6u);
  EXPECT_EQ(Hex(size_fields[0], 4), "00 00 00 00");
  EXPECT_EQ(Hex(size_fields[1], 4), "00 00 00 00");
  EXPECT_EQ(Hex(size_fields[2], 4), "86 80 80 00");
  EXPECT_EQ(stream.Bytes(), "08 00 08 01 08 02 10 02 10 02");
  EXPECT_TRUE(stream.writer.ok());
}

TEST(InterleavedMessagesTest, OneAfterTheOtherIsFine) {
  ChunkedStream stream(size_t{100});
  RootMessage<> messages[3];
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 3; ++i) {
      messages[i].Reset(&stream.writer);
      messages[i].AppendVarInt(1, i);
      EXPECT_EQ(messages[i].Finalize(), 2u);
    }
  }
  EXPECT_EQ(stream.Bytes(), "08 00 08 01 08 02 08 00 08 01 08 02");
}

}  // namespace
}  // namespace protozero
