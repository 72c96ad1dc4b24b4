// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Messages between a start and an end tag. message_model_unittest.cc tests
// random ones.

#include <stdint.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/message.h"
#include "protozero/message_handle.h"
#include "protozero/root_message.h"
#include "protozero/static_buffer.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/delegates.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"
#include "test/testing/message_tree.h"

namespace protozero {
namespace {

using test::BytesField;
using test::ChunkedDelegate;
using test::ChunkedStream;
using test::ExpectWrites;
using test::Hex;
using test::MessageTree;
using test::NestedField;
using test::NumberField;
using Kind = test::Field::Kind;

Message* BeginGroup(Message* parent, uint32_t field_id = 1) {
  return parent->BeginNestedGroup<Message>(field_id);
}

class MessageGroupTest : public testing::Test {
 protected:
  void Start(size_t chunk_size) {
    message_ = std::make_unique<RootMessage<>>();
    stream_ = std::make_unique<ChunkedStream>(
        test::ChunkSizes{chunk_size}, ChunkedDelegate::Patches::kRedirect);
    message_->Reset(&stream_->writer);
  }
  std::string Bytes() const {
    EXPECT_EQ(stream_->delegate.Complaints(), "");
    return Hex(stream_->delegate.Bytes());
  }

  std::unique_ptr<ChunkedStream> stream_;
  std::unique_ptr<RootMessage<>> message_;
};

TEST_F(MessageGroupTest, StandsBetweenItsTags) {
  Start(100);
  BeginGroup(message_.get(), 1)->AppendVarInt(2, 3);
  BeginGroup(message_.get(), 16);
  BeginGroup(message_.get(), 536870911)->AppendString(1, "a");
  EXPECT_EQ(message_->Finalize(), 4u + 4u + 13u);
  EXPECT_EQ(Bytes(),
            "0b 10 03 0c 83 01 84 01 fb ff ff ff 0f 0a 01 61 fc ff ff ff 0f");
}

TEST_F(MessageGroupTest, InEveryChunkSizeAmongMessages) {
  const MessageTree fields = {NumberField(Kind::kUnsigned, 1, 300),
                              BytesField(2, "abcdefgh")};
  ExpectWrites({NestedField(1, fields, Kind::kGroup)});
  ExpectWrites({NestedField(536870911, fields, Kind::kGroupAndDone),
                NestedField(3000, {}, Kind::kGroup)});
  ExpectWrites(
      {NestedField(1, {NestedField(2, {NestedField(3, fields, Kind::kGroup)},
                                   Kind::kGroup)}),
       NestedField(4, {NestedField(5, {NestedField(6, fields)})}, Kind::kGroup),
       NumberField(Kind::kTiny, 1, 1)});
}

// Some messages have more than 127 bytes, and so a longer size field, only
// because of the group's end tag in them.
TEST_F(MessageGroupTest, EndTagsCountForTheSizesAroundThem) {
  for (size_t size = 110; size < 130; ++size) {
    ExpectWrites({NestedField(
        1, {NestedField(3000, {BytesField(1, std::string(size, 'x'))},
                        Kind::kGroup)})});
  }
}

TEST_F(MessageGroupTest, HasASizeButNoSizeField) {
  Start(100);
  Message* group = BeginGroup(message_.get());
  EXPECT_EQ(group->size_field(), nullptr);
  uint8_t elsewhere[4] = {1, 2, 3, 4};
  group->set_size_field(elsewhere);
  EXPECT_EQ(group->size_field(), nullptr);
  group->AppendString(1, "abc");
  EXPECT_EQ(group->Finalize(), 5u);
  EXPECT_EQ(group->Finalize(), 5u);
  EXPECT_TRUE(group->is_finalized());
  EXPECT_EQ(message_->Finalize(), 7u);
  EXPECT_EQ(Bytes(), "0b 0a 03 61 62 63 0c");
  EXPECT_EQ(Hex(elsewhere, 4), "01 02 03 04");
}

TEST_F(MessageGroupTest, NothingIsPatched) {
  Start(8);
  Message* group = BeginGroup(BeginGroup(message_.get()), 2);
  group->AppendString(3, std::string(1000, 'x'));
  EXPECT_EQ(message_->Finalize(), 1003u + 4u);
  EXPECT_GT(stream_->delegate.num_chunks(), 100u);
  EXPECT_EQ(stream_->delegate.num_patches(), 0u);
}

TEST_F(MessageGroupTest, HandlesSealGroups) {
  Start(100);
  {
    MessageHandle<Message> group(BeginGroup(message_.get()));
    group->AppendVarInt(1, 1);
  }
  message_->AppendVarInt(2, 2);
  EXPECT_EQ(message_->Finalize(), 6u);
  EXPECT_EQ(Bytes(), "0b 08 01 0c 10 02");
}

TEST_F(MessageGroupTest, ManyLevelsCloseWithoutRecursion) {
  for (size_t chunk_size : {size_t{4096}, size_t{1} << 20}) {
    Start(chunk_size);
    Message* message = message_.get();
    // The time of debug builds grows with the square of the depth.
    constexpr uint32_t kDepth = PROTOZERO_DCHECK_IS_ON ? 10000 : 100000;
    for (uint32_t i = 0; i < kDepth; ++i)
      message = BeginGroup(message);
    EXPECT_EQ(message_->Finalize(), 2 * kDepth);
    EXPECT_TRUE(stream_->writer.ok());
    EXPECT_EQ(stream_->delegate.Bytes(),
              std::string(kDepth, '\x0b') + std::string(kDepth, '\x0c'));
  }
}

TEST_F(MessageGroupTest, CanBeTakenBack) {
  Start(100);
  Message* group = BeginGroup(message_.get(), 3000);
  BeginGroup(group)->AppendString(1, "abc");
  EXPECT_TRUE(message_->RollBackNestedMessage());
  EXPECT_TRUE(group->is_finalized());
  BeginGroup(message_.get())->AppendVarInt(1, 1);
  EXPECT_EQ(message_->Finalize(), 4u);
  EXPECT_FALSE(message_->RollBackNestedMessage());
  EXPECT_EQ(Bytes(), "0b 08 01 0c");
}

TEST_F(MessageGroupTest, SealedGroupsTakeNoFields) {
  Start(100);
  Message* group = BeginGroup(message_.get());
  message_->AppendVarInt(2, 2);
  EXPECT_MISTAKE(group->AppendVarInt(1, 1), "this message is sealed");
  EXPECT_MISTAKE(BeginGroup(group)->AppendVarInt(1, 1),
                 "this message is sealed");
  EXPECT_EQ(message_->Finalize(), 4u);
  EXPECT_EQ(Bytes(), "0b 0c 10 02");
}

TEST(MessageGroupErrorTest, ABufferThatEndsAnywhere) {
  const MessageTree tree = {
      NestedField(3000,
                  {NestedField(1, {BytesField(1, "abcdefgh")}, Kind::kGroup),
                   NumberField(Kind::kTiny, 1, 1)},
                  Kind::kGroup)};
  const std::string expected = test::EncodeTree(tree, test::OneLargeChunk());
  for (size_t size = 0; size <= expected.size(); ++size) {
    std::vector<uint8_t> buffer(size);
    StaticBuffered<Message> message(buffer.data(), buffer.size());
    test::WriteTree(tree, message.get());
    const bool fits = size == expected.size();
    EXPECT_EQ(message.Finalize(), fits ? size : 0u);
    EXPECT_EQ(message.ok(), fits);
    EXPECT_EQ(message.bytes_needed(), expected.size());
  }
}

}  // namespace
}  // namespace protozero
