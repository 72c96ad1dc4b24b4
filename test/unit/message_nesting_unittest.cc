// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Messages in messages: their sizes, the places of the size fields, and which
// messages are open or sealed.

#include <string.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/message.h"
#include "protozero/root_message.h"
#include "test/testing/chunked_delegate.h"
#include "test/testing/delegates.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"
#include "test/testing/message_tree.h"
#include "test/testing/tree_parser.h"

namespace protozero {
namespace {

using test::BytesField;
using test::ChunkedDelegate;
using test::ExpectWrites;
using test::Hex;
using test::MessageTree;
using test::NestedField;
using test::NumberField;
using test::WriteTree;
using Kind = test::Field::Kind;

static_assert(std::is_trivially_default_constructible<Message>::value);
static_assert(std::is_trivially_destructible<Message>::value);
static_assert(!std::is_copy_constructible<Message>::value);
static_assert(!std::is_copy_assignable<Message>::value);

// A root message on a delegate that is not the library's own.
class MessageNestingTest : public testing::Test {
 protected:
  void Start(
      std::vector<size_t> chunk_sizes,
      ChunkedDelegate::Patches patches = ChunkedDelegate::Patches::kInPlace) {
    message_ = std::make_unique<RootMessage<>>();
    writer_.reset();
    delegate_ =
        std::make_unique<ChunkedDelegate>(std::move(chunk_sizes), patches);
    writer_ = std::make_unique<ScatteredStreamWriter>(delegate_.get());
    delegate_->set_writer(writer_.get());
    message_->Reset(writer_.get());
  }
  Message* Begin(uint32_t id = 1) {
    return message_->BeginNestedMessage<Message>(id);
  }
  std::string Bytes() const { return Hex(delegate_->Bytes()); }

  std::unique_ptr<ChunkedDelegate> delegate_;
  std::unique_ptr<ScatteredStreamWriter> writer_;
  std::unique_ptr<RootMessage<>> message_;
};

// Returns a message of |size| bytes, as one field if that is possible.
MessageTree TreeOfSize(size_t size) {
  if (size == 0)
    return {};
  if (size == 1)
    ADD_FAILURE() << "no field takes one byte";
  if (size == 130)  // A length of 127 takes one byte, of 128 two.
    return {NumberField(Kind::kTiny, 1, 1),
            BytesField(1, std::string(126, 'x'))};
  return {BytesField(1, std::string(size - (size < 130 ? 2 : 3), 'x'))};
}

TEST_F(MessageNestingTest, SizesUpTo127BytesTakeOneByte) {
  for (size_t size : {0u, 2u, 3u, 125u, 126u, 127u}) {
    Start({1000});
    WriteTree(TreeOfSize(size), Begin());
    EXPECT_EQ(message_->Finalize(), 2 + size);
    const std::string bytes = delegate_->Bytes();
    EXPECT_EQ(Hex(bytes.substr(0, 1)), "0a");
    EXPECT_EQ(static_cast<uint8_t>(bytes[1]), size);
    EXPECT_EQ(bytes.size(), 2 + size);
  }
}

TEST_F(MessageNestingTest, LargerSizesTakeFour) {
  const struct {
    size_t size;
    const char* header;
  } kCases[] = {{128, "0a 80 81 80 00"},    {129, "0a 81 81 80 00"},
                {130, "0a 82 81 80 00"},    {16383, "0a ff ff 80 00"},
                {16384, "0a 80 80 81 00"},  {2097151, "0a ff ff ff 00"},
                {2097152, "0a 80 80 80 01"}};
  for (const auto& c : kCases) {
    Start({3000000});
    // The bytes are raw, because no field has exactly this size.
    const std::string bytes(c.size, '\0');
    Begin()->AppendRawProtoBytes(bytes.data(), bytes.size());
    EXPECT_EQ(message_->Finalize(), 5 + c.size);
    EXPECT_EQ(Hex(delegate_->Bytes().substr(0, 5)), c.header);
    EXPECT_EQ(delegate_->Complaints(), "");
  }
}

TEST(MessageNestingModelTest, EverySizeAroundTheLimitInEveryChunkSize) {
  for (size_t size = 120; size <= 134; ++size) {
    ExpectWrites({NestedField(1, TreeOfSize(size)),
                  NestedField(536870911, TreeOfSize(size)),
                  NumberField(Kind::kTiny, 1, 1)});
  }
}

TEST(MessageNestingModelTest, CompactedChildrenMakeTheirParentFit) {
  // The parent has 127 bytes only after its children have moved.
  for (size_t size = 100; size < 125; ++size) {
    ExpectWrites(
        {NestedField(1, {NestedField(1, {NestedField(1, {NestedField(1, {})})}),
                         NestedField(2, TreeOfSize(size))})});
  }
}

TEST(MessageNestingModelTest, AChunkBoundaryAtEveryOffset) {
  const MessageTree tree{
      NumberField(Kind::kSigned, 1, -1),
      NestedField(2, {BytesField(3, "abcdefgh"),
                      NestedField(2048, {NumberField(Kind::kFixed64, 1, 1)}),
                      NestedField(4, {}, Kind::kNestedAndDone)}),
      NestedField(5, {NestedField(6, {NumberField(Kind::kTiny, 1, 1)})}),
      BytesField(7, std::string(20, 'z'))};
  const size_t size = test::EncodeTree(tree, {4}).size();
  for (size_t first = 4; first <= size + 4; ++first) {
    // Tests one boundary, and then a second one close to it.
    test::ExpectWritesToChunks(tree, {first, 1000});
    for (size_t second = 4; second <= 20; ++second)
      test::ExpectWritesToChunks(tree, {first, second, 1000});
  }
}

TEST(MessageNestingModelTest, EmptyMessagesEverywhere) {
  ExpectWrites({});
  ExpectWrites({NestedField(1, {}), NestedField(1, {}), NestedField(2, {})});
  ExpectWrites({NestedField(1, {NestedField(1, {}), NestedField(1, {})})});
  ExpectWrites({NestedField(1, {}, Kind::kNestedAndDone),
                NumberField(Kind::kTiny, 1, 1),
                NestedField(536870911, {NestedField(536870911, {})}),
                BytesField(1, "")});
}

MessageTree Chain(uint32_t depth) {
  MessageTree tree{NumberField(Kind::kUnsigned, 1, depth)};
  for (uint32_t i = 0; i < depth; ++i) {
    tree = {NestedField(i % 20 + 1, std::move(tree)),
            NumberField(Kind::kTiny, 2, 2)};
  }
  return tree;
}

TEST(MessageNestingModelTest, EveryDepthTo300) {
  // Slow builds test all depths only up to the end of the arena's own memory.
  constexpr uint32_t kStep = test::kIsSlowBuild ? 17 : 1;
  for (uint32_t depth = 1; depth <= 300; depth += depth < 130 ? 1 : kStep) {
    const MessageTree tree = Chain(depth);
    for (size_t chunk_size : {4u, 16u, 100u, 1000u, 100000u})
      test::ExpectWritesToChunks(tree, {chunk_size});
    if (depth < 100) {  // libprotobuf's limit.
      EXPECT_TRUE(test::ParsesAs(test::EncodeTree(tree, {64}), tree));
    }
  }
}

TEST_F(MessageNestingTest, ManyLevelsCloseWithoutRecursion) {
  Start({1 << 20});
  Message* message = message_.get();
  // The time of debug builds grows with the square of the depth.
  constexpr int kDepth = PROTOZERO_DCHECK_IS_ON ? 10000 : 100000;
  for (int i = 0; i < kDepth; ++i)
    message = message->BeginNestedMessage<Message>(1);
  message->AppendVarInt(1, 1);
  // All messages except the innermost ones have sizes of four bytes.
  EXPECT_GT(message_->Finalize(), 5u * (kDepth - 100));
  EXPECT_TRUE(writer_->ok());
  EXPECT_EQ(delegate_->Complaints(), "");
}

TEST_F(MessageNestingTest, AWriteToAnyAncestorSealsEverythingBelowIt) {
  for (int ancestor = 0; ancestor <= 3; ++ancestor) {
    Start({100});
    std::vector<Message*> messages{message_.get()};
    for (int i = 0; i < 4; ++i)
      messages.push_back(messages.back()->BeginNestedMessage<Message>(1));
    messages[4]->AppendVarInt(2, 2);
    EXPECT_EQ(messages[3]->nested_message(), messages[4]);
    messages[static_cast<size_t>(ancestor)]->AppendVarInt(3, 3);
    for (int i = 0; i <= 4; ++i) {
      EXPECT_EQ(messages[static_cast<size_t>(i)]->is_finalized(), i > ancestor);
    }
    EXPECT_EQ(messages[static_cast<size_t>(ancestor)]->nested_message(),
              nullptr);
  }
}

TEST_F(MessageNestingTest, EveryAppenderOfTheParentSealsTheChild) {
  uint8_t byte = 0;
  ContiguousMemoryRange range{&byte, &byte + 1};
  const std::vector<std::function<void(Message*)>> appends = {
      [](Message* m) { m->AppendVarInt(1, 1); },
      [](Message* m) { m->AppendSignedVarInt(1, 1); },
      [](Message* m) { m->AppendTinyVarInt(1, 1); },
      [](Message* m) { m->AppendFixed(1, 1.0); },
      [](Message* m) { m->AppendString(1, "abc"); },
      [](Message* m) { m->AppendString(1, ""); },
      [](Message* m) { m->AppendBytes(1, nullptr, 0); },
      [&](Message* m) { m->AppendScatteredBytes(1, &range, 1); },
      [&](Message* m) { m->AppendScatteredBytes(1, &range, 0); },
      [](Message* m) { m->AppendBorrowedBytes(1, "abc", 3); },
      [](Message* m) { m->AppendBorrowedBytes(1, nullptr, 0); },
      [](Message* m) { m->AppendRawProtoBytes("\x08\x01", 2); },
      [](Message* m) { m->AppendRawProtoBytes(nullptr, 0); },
      [](Message* m) { m->Finalize(); },
  };
  for (size_t i = 0; i < appends.size(); ++i) {
    Start({100});
    Message* child = Begin();
    child->AppendVarInt(1, 1);
    Message* grandchild = child->BeginNestedMessage<Message>(1);
    appends[i](message_.get());
    EXPECT_TRUE(child->is_finalized()) << i;
    EXPECT_TRUE(grandchild->is_finalized()) << i;
    EXPECT_EQ(message_->nested_message(), nullptr) << i;
  }
  // In release builds, the next sibling takes the memory of a child.
  Start({100});
  Message* child = Begin();
  Message* grandchild = child->BeginNestedMessage<Message>(1);
  Message* sibling = Begin();
  EXPECT_EQ(sibling == child, !PROTOZERO_DCHECK_IS_ON);
  EXPECT_TRUE(grandchild->is_finalized());
  EXPECT_FALSE(sibling->is_finalized());
}

TEST_F(MessageNestingTest, SealedChildrenTakeNoFields) {
  Start({100});
  Message* child = Begin();
  child->AppendVarInt(1, 1);
  message_->AppendVarInt(2, 2);
  uint8_t byte = 0;
  ContiguousMemoryRange range{&byte, &byte + 1};
  constexpr char kAdvice[] = "this message is sealed";
  EXPECT_MISTAKE(child->AppendVarInt(3, 3), kAdvice);
  EXPECT_MISTAKE(child->AppendSignedVarInt(3, 3), kAdvice);
  EXPECT_MISTAKE(child->AppendTinyVarInt(3, 3), kAdvice);
  EXPECT_MISTAKE(child->AppendFixed(3, uint32_t{3}), kAdvice);
  EXPECT_MISTAKE(child->AppendString(3, "3"), kAdvice);
  EXPECT_MISTAKE(child->AppendString(3, std::string(1000, '3')), kAdvice);
  EXPECT_MISTAKE(child->AppendBytes(3, nullptr, 0), kAdvice);
  EXPECT_MISTAKE(child->AppendScatteredBytes(3, &range, 1), kAdvice);
  EXPECT_MISTAKE(child->AppendBorrowedBytes(3, "abc", 3), kAdvice);
  EXPECT_MISTAKE(child->AppendRawProtoBytes("3", 1), kAdvice);
  EXPECT_MISTAKE(child->BeginNestedMessage<Message>(3)->AppendVarInt(3, 3),
                 kAdvice);
  EXPECT_EQ(child->Finalize(), 2u);
  message_->AppendVarInt(4, 4);
  EXPECT_EQ(message_->Finalize(), 8u);
  EXPECT_MISTAKE(message_->AppendVarInt(3, 3), kAdvice);
  EXPECT_MISTAKE(child->AppendVarInt(3, 3), kAdvice);
  EXPECT_EQ(Bytes(), "0a 02 08 01 10 02 20 04");
  EXPECT_TRUE(writer_->ok());
}

TEST_F(MessageNestingTest, LongChildrenAreSealedAsWell) {
  const std::string bytes(200, 'x');
  // If nothing was written, the child begins with a size field of four bytes.
  for (const bool has_chunk : {false, true}) {
    Start({1000});
    if (has_chunk)
      message_->AppendVarInt(2, 1);
    Message* const child = Begin();
    Message* const grandchild = child->BeginNestedMessage<Message>(1);
    grandchild->AppendString(1, bytes);
    message_->AppendVarInt(2, 2);
    EXPECT_TRUE(child->is_finalized());
    EXPECT_TRUE(grandchild->is_finalized());
    EXPECT_MISTAKE(child->AppendVarInt(3, 3), "sealed");
    EXPECT_MISTAKE(grandchild->AppendVarInt(3, 3), "sealed");
    EXPECT_EQ(child->Finalize(), 208u);
    EXPECT_EQ(grandchild->Finalize(), 203u);
    EXPECT_EQ(message_->Finalize(), 5 + 208 + 2 + (has_chunk ? 2u : 0u));
    EXPECT_TRUE(writer_->ok());
  }
}

// In release builds a sealed message hands out children that drop everything.
TEST_F(MessageNestingTest, ChildrenOfASealedMessageDropEverything) {
  Start({100});
  Message* child = Begin();
  message_->AppendVarInt(2, 2);
  const auto use_sealed_child = [&] {
    Message* dropping = child->BeginNestedMessage<Message>(1);
    ASSERT_NE(dropping, nullptr);
    dropping->AppendVarInt(1, 1);
    dropping->AppendString(1, "abc");
    dropping->AppendRawProtoBytes("abc", 3);
    Message* below = dropping->BeginNestedMessage<Message>(1);
    ASSERT_NE(below, nullptr);
    below->AppendFixed(1, 1.0);
    EXPECT_EQ(below->Finalize(), 0u);
    EXPECT_EQ(dropping->Finalize(), 0u);
  };
  EXPECT_MISTAKE(use_sealed_child(), "sealed");
  EXPECT_EQ(message_->Finalize(), 4u);
  EXPECT_EQ(Bytes(), "0a 00 10 02");
}

// Messages that were sealed together with a child take no fields either.
TEST_F(MessageNestingTest, AMessageThatWasSealedWithItsChildTakesNoFields) {
  // If nothing was written, there is no chunk for a short message to begin in.
  for (int i = 0; i < 8; ++i) {
    const int levels = i / 2 + 1;
    const bool has_chunk = i % 2 != 0;
    Start({100});
    if (has_chunk)
      message_->AppendVarInt(2, 1);
    std::vector<Message*> open{Begin()};
    while (static_cast<int>(open.size()) < levels)
      open.push_back(open.back()->BeginNestedMessage<Message>(1));
    message_->AppendVarInt(2, 2);
    const std::string sealed = Bytes();
    for (Message* message : open) {
      EXPECT_MISTAKE(message->AppendVarInt(3, 3), "sealed");
      EXPECT_MISTAKE(message->AppendString(3, "abc"), "sealed");
      EXPECT_MISTAKE(message->BeginNestedMessage<Message>(3), "sealed");
      EXPECT_MISTAKE(message->BeginNestedGroup<Message>(3), "sealed");
      EXPECT_FALSE(message->RollBackNestedMessage());
    }
    for (int level = 0; level < levels; ++level) {
      EXPECT_EQ(open[static_cast<size_t>(level)]->Finalize(),
                2 * static_cast<uint32_t>(levels - 1 - level));
    }
    EXPECT_EQ(Bytes(), sealed);
    EXPECT_EQ(message_->Finalize(),
              2 * static_cast<uint32_t>(levels) + (has_chunk ? 4 : 2));
    EXPECT_TRUE(writer_->ok());
  }
}

TEST_F(MessageNestingTest, AChildMayBeFinalizedByHand) {
  for (size_t chunk_size : {8u, 100u}) {
    Start({chunk_size});
    Message* child = Begin();
    child->AppendVarInt(1, 1);
    Message* grandchild = child->BeginNestedMessage<Message>(2);
    grandchild->AppendVarInt(1, 1);
    EXPECT_EQ(grandchild->Finalize(), 2u);
    EXPECT_EQ(grandchild->Finalize(), 2u);
    child->AppendVarInt(3, 3);
    const uint32_t size = child->Finalize();
    EXPECT_EQ(size, 8u);
    EXPECT_EQ(child->Finalize(), size);
    EXPECT_MISTAKE(child->AppendVarInt(4, 4), "sealed");
    // Raw bytes now belong to the parent.
    writer_->WriteByte(0x20);
    writer_->WriteByte(0x04);
    Begin(5)->AppendVarInt(1, 1);
    message_->Finalize();
    // Chunks of 8 bytes end after the tags of the nested messages.
    EXPECT_EQ(Bytes(),
              std::string(chunk_size == 8 ? "0a 88 80 80 00" : "0a 08") +
                  " 08 01 12 02 08 01 18 03 20 04 2a 02 08 01");
    EXPECT_EQ(delegate_->Complaints(), "");
  }
}

TEST_F(MessageNestingTest, FinalizingAChildSealsWhatIsOpenInIt) {
  Start({100});
  Message* child = Begin();
  Message* grandchild = child->BeginNestedMessage<Message>(2);
  grandchild->AppendVarInt(1, 1);
  EXPECT_EQ(child->Finalize(), 4u);
  EXPECT_TRUE(grandchild->is_finalized());
  EXPECT_EQ(message_->Finalize(), 6u);
  EXPECT_EQ(Bytes(), "0a 04 12 02 08 01");
}

TEST_F(MessageNestingTest, AFinalizedChildStaysOutOfLaterChunks) {
  // The child was finalized directly and is still its parent's latest one. The
  // stream continues in further chunks, but the child's size is final.
  Start({8, 8, 100}, ChunkedDelegate::Patches::kRedirect);
  Message* child = Begin();
  child->AppendVarInt(1, 1);
  child->Finalize();
  const std::string bytes(20, 'a');
  writer_->WriteBytes(reinterpret_cast<const uint8_t*>(bytes.data()),
                      bytes.size());
  EXPECT_EQ(delegate_->num_patches(), 0u);
  EXPECT_EQ(message_->Finalize(), 24u);
  EXPECT_EQ(Hex(delegate_->Bytes().substr(0, 4)), "0a 02 08 01");
}

// Patches

TEST_F(MessageNestingTest, EveryOpenMessageIsPatchedOncePerLife) {
  Start({12}, ChunkedDelegate::Patches::kRedirect);
  Message* child = Begin(1);  // In chunk 0
  Message* grandchild = child->BeginNestedMessage<Message>(2);
  EXPECT_EQ(delegate_->num_patches(), 0u);
  grandchild->AppendFixed(1, uint64_t{0});  // Into chunk 1
  EXPECT_EQ(delegate_->num_patches(), 2u);
  grandchild->AppendString(1, std::string(50, 'a'));  // 2, 3, ...
  EXPECT_EQ(delegate_->num_patches(), 2u);
  child->AppendVarInt(1, 1);
  message_->AppendString(1, std::string(50, 'a'));
  EXPECT_EQ(delegate_->num_patches(), 2u);
  message_->Finalize();
  EXPECT_EQ(delegate_->Complaints(), "");
}

TEST_F(MessageNestingTest, MessagesWithinAChunkAreNotPatched) {
  Start({10}, ChunkedDelegate::Patches::kRedirect);
  for (int i = 0; i < 50; ++i) {
    // A child takes five bytes while it is open, and two when it is sealed.
    Begin(1);
    message_->AppendTinyVarInt(1, 1);
    writer_->Extend();
  }
  message_->Finalize();
  EXPECT_EQ(delegate_->num_patches(), 0u);
  EXPECT_EQ(delegate_->num_chunks(), 51u);
}

TEST_F(MessageNestingTest, ASizeFieldAtTheVeryEndOfAChunk) {
  for (const auto patches : {ChunkedDelegate::Patches::kInPlace,
                             ChunkedDelegate::Patches::kRedirect}) {
    // It is sealed before anything else is written, so it moves within the
    // chunk.
    Start({5, 100}, patches);
    Begin();
    EXPECT_EQ(message_->Finalize(), 2u);
    EXPECT_EQ(Bytes(), "0a 00");
    EXPECT_EQ(delegate_->num_patches(), 0u);

    Start({5, 100}, patches);
    Begin()->AppendTinyVarInt(1, 1);
    EXPECT_EQ(message_->Finalize(), 7u);
    EXPECT_EQ(Bytes(), "0a 82 80 80 00 08 01");
    EXPECT_EQ(delegate_->num_patches(), 1u);
    EXPECT_EQ(delegate_->Complaints(), "");
  }
}

TEST_F(MessageNestingTest, AnUnwantedSizeIsNotWrittenAnywhere) {
  Start({8, 8}, ChunkedDelegate::Patches::kUnwanted);
  Message* child = Begin();
  child->AppendFixed(1, uint64_t{0});
  EXPECT_EQ(child->size_field(), nullptr);
  EXPECT_EQ(child->Finalize(), 9u);
  message_->Finalize();
  EXPECT_EQ(Bytes(), "0a 00 00 00 00 09 00 00 00 00 00 00 00 00");
  EXPECT_EQ(delegate_->Complaints(), "");
}

// When a chunk is full, a writer of shared-memory chunks looks at every open
// message and moves the size fields to a list of its own.
TEST_F(MessageNestingTest, GetNewBufferMayMoveTheSizeFieldsItself) {
  Start({16});
  Message* child = Begin(1);
  Message* grandchild = child->BeginNestedMessage<Message>(2);
  std::vector<std::unique_ptr<uint8_t[]>> patches;
  std::vector<const uint8_t*> patched;
  delegate_->set_on_new_buffer([&] {
    EXPECT_EQ(writer_->bytes_available(), 0u);
    for (Message* m = message_->nested_message(); m; m = m->nested_message()) {
      const ContiguousMemoryRange chunk = writer_->cur_range();
      uint8_t* size_field = m->size_field();
      if (chunk.begin <= size_field && size_field < chunk.end) {
        EXPECT_EQ(Hex(size_field, 4), "00 00 00 00");
        patched.push_back(size_field);
        patches.emplace_back(new uint8_t[4]());
        m->set_size_field(patches.back().get());
      }
    }
  });
  // There are 10 bytes of headers. The second field crosses the chunk.
  grandchild->AppendFixed(1, uint32_t{1});
  grandchild->AppendFixed(1, uint32_t{2});
  ASSERT_EQ(patched.size(), 2u);
  grandchild->AppendString(1, std::string(30, 'a'));
  EXPECT_EQ(patched.size(), 2u);
  EXPECT_EQ(message_->Finalize(), 10u + 10 + 32);
  EXPECT_EQ(Hex(patches[0].get(), 4), "af 80 80 00");
  EXPECT_EQ(Hex(patches[1].get(), 4), "aa 80 80 00");
  for (const uint8_t* size_field : patched) {
    EXPECT_EQ(Hex(size_field, 4), "00 00 00 00");
  }
}

TEST_F(MessageNestingTest, ASizeFieldThatWasMovedStaysWhereItIs) {
  // The message does not move up, even within one chunk.
  for (const size_t size : {size_t{2}, size_t{127}, size_t{200}}) {
    uint8_t elsewhere[5] = {0xee, 0xee, 0xee, 0xee, 0xee};
    for (uint8_t* size_field :
         {&elsewhere[0], static_cast<uint8_t*>(nullptr)}) {
      Start({1000});
      Message* child = Begin();
      WriteTree(TreeOfSize(size), child);
      child->set_size_field(size_field);
      EXPECT_EQ(message_->Finalize(), 5 + size);
      EXPECT_EQ(Hex(delegate_->Bytes().substr(0, 6)), "0a 00 00 00 00 0a");
      EXPECT_EQ(child->Finalize(), size);
    }
    EXPECT_EQ(Hex(elsewhere, 5), size == 2     ? "82 80 80 00 ee"
                                 : size == 127 ? "ff 80 80 00 ee"
                                               : "c8 81 80 00 ee");
  }
}

// Size fields of root messages

TEST_F(MessageNestingTest, ARootMessageHasNoSizeFieldUnlessItIsGivenOne) {
  Start({100});
  EXPECT_EQ(message_->size_field(), nullptr);
  uint8_t size_field[5] = {0xee, 0xee, 0xee, 0xee, 0xee};
  message_->set_size_field(size_field);
  EXPECT_EQ(message_->size_field(), size_field);
  message_->AppendString(1, std::string(10, 'a'));
  EXPECT_EQ(message_->Finalize(), 12u);
  // The size field is somewhere else, so it cannot shrink.
  EXPECT_EQ(Hex(size_field, 5), "8c 80 80 00 ee");
}

TEST_F(MessageNestingTest, ASizeFieldInFrontOfARootMessageShrinks) {
  for (size_t size : {0u, 2u, 126u, 127u, 128u, 1000u}) {
    Start({2000});
    message_->Finalize();
    uint8_t* size_field = writer_->ReserveBytes(4);
    memset(size_field, 0, 4);
    message_->Reset(writer_.get());
    message_->set_size_field(size_field);
    WriteTree(TreeOfSize(size), message_.get());
    EXPECT_EQ(message_->Finalize(), size);
    const std::string bytes = delegate_->Bytes();
    if (size <= 127) {
      EXPECT_EQ(static_cast<uint8_t>(bytes[0]), size);
      EXPECT_EQ(bytes.size(), 1 + size);
    } else {
      EXPECT_EQ(Hex(bytes.substr(0, 4)),
                size == 128 ? "80 81 80 00" : "e8 87 80 00");
      EXPECT_EQ(bytes.size(), 4 + size);
    }
  }
}

TEST_F(MessageNestingTest, ASizeFieldOfARootMessageCrossesChunksLikeAnyOther) {
  Start({8, 100}, ChunkedDelegate::Patches::kRedirect);
  message_->Finalize();
  uint8_t* size_field = writer_->ReserveBytes(4);
  memset(size_field, 0, 4);
  message_->Reset(writer_.get());
  message_->set_size_field(size_field);
  message_->AppendFixed(1, uint64_t{0});
  EXPECT_NE(message_->size_field(), size_field);
  EXPECT_EQ(delegate_->num_patches(), 1u);
  EXPECT_EQ(message_->Finalize(), 9u);
  EXPECT_EQ(Bytes(), "89 80 80 00 09 00 00 00 00 00 00 00 00");
  EXPECT_EQ(delegate_->Complaints(), "");
}

TEST_F(MessageNestingTest, ChunksThatTouchEachOtherAreStillTwoChunks) {
  // A delegate of adjacent chunks: a size field is in the last four bytes of
  // one chunk, and its message begins in the next, with no gap in memory.
  class Adjacent : public ScatteredStreamWriter::Delegate {
   public:
    ContiguousMemoryRange GetNewBuffer() override {
      uint8_t* begin = buffer_ + 5 * next_++;
      return {begin, begin + 5};
    }
    std::string Bytes(size_t size) const { return Hex(buffer_, size); }

   private:
    uint8_t buffer_[50] = {};
    size_t next_ = 0;
  };
  Adjacent delegate;
  ScatteredStreamWriter writer(&delegate);
  RootMessage<> message;
  message.Reset(&writer);
  message.BeginNestedMessage<Message>(1)->AppendTinyVarInt(1, 1);
  message.AppendTinyVarInt(2, 2);
  EXPECT_EQ(message.Finalize(), 9u);
  EXPECT_EQ(delegate.Bytes(9), "0a 82 80 80 00 08 01 10 02");
}

TEST_F(MessageNestingTest, TwoMessagesOnTwoWritersDoNotMeet) {
  Start({7});
  ChunkedDelegate other_delegate(9);
  ScatteredStreamWriter other_writer(&other_delegate);
  other_delegate.set_writer(&other_writer);
  RootMessage<> other;
  other.Reset(&other_writer);
  // The messages are written by turns, level by level.
  Message* a = message_.get();
  Message* b = &other;
  for (int i = 0; i < 20; ++i) {
    a = a->BeginNestedMessage<Message>(1);
    b = b->BeginNestedMessage<Message>(1);
    a->AppendVarInt(2, 300);
    b->AppendVarInt(2, 300);
  }
  message_->Finalize();
  other.Finalize();
  MessageTree expected;
  for (int i = 0; i < 20; ++i) {
    expected.insert(expected.begin(), NumberField(Kind::kUnsigned, 2, 300));
    expected = {NestedField(1, std::move(expected))};
  }
  EXPECT_EQ(Bytes(), Hex(test::EncodeTree(expected, {7})));
  EXPECT_EQ(Hex(other_delegate.Bytes()), Hex(test::EncodeTree(expected, {9})));
}

TEST_F(MessageNestingTest, WhatLiesBehindTheCursorIsNeverPartOfTheMessage) {
  // Moving a message up leaves old bytes after it. The next write covers them.
  Start({5000});
  for (size_t size = 2; size < 60; ++size) {
    WriteTree({BytesField(1, std::string(size, 'a'))}, Begin());
    Begin();
  }
  message_->Finalize();
  MessageTree expected;
  for (size_t size = 2; size < 60; ++size) {
    expected.push_back(NestedField(1, {BytesField(1, std::string(size, 'a'))}));
    expected.push_back(NestedField(1, {}));
  }
  EXPECT_EQ(Bytes(), Hex(EncodeTree(expected, test::OneLargeChunk())));
}

}  // namespace
}  // namespace protozero
