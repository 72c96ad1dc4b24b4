// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Messages in streams that end too early, and messages that grow too long.

#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/message.h"
#include "protozero/root_message.h"
#include "test/testing/chunked_delegate.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/delegates.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"
#include "test/testing/message_tree.h"

namespace protozero {
namespace {

using proto_utils::kMaxMessageLength;
using proto_utils::kMaxRootMessageLength;
using test::ChunkedDelegate;
using test::ChunkedStream;
using test::Hex;
using test::kSeriesStep;
using test::MessageTree;

// Streams that end too early

// Tests streams that end after every number of chunks. The bytes until then are
// those of a complete message, except for the sizes. No other byte is touched.
void ExpectEndsCleanly(const MessageTree& tree,
                       size_t chunk_size,
                       ChunkedDelegate::Patches patches) {
  for (size_t max_chunks = 0;; ++max_chunks) {
    SCOPED_TRACE(std::to_string(max_chunks) + " chunks of " +
                 std::to_string(chunk_size) + " bytes");
    ChunkedStream stream({chunk_size}, patches, max_chunks);
    RootMessage<> message;
    message.Reset(&stream.writer);
    WriteTree(tree, &message);
    const uint32_t size = message.Finalize();
    ASSERT_EQ(stream.delegate.Complaints(), "");
    EXPECT_TRUE(message.is_finalized());
    EXPECT_LE(stream.delegate.Bytes().size(), max_chunks * chunk_size);
    if (stream.writer.ok()) {
      EXPECT_EQ(size, stream.writer.written());
      EXPECT_EQ(stream.delegate.num_refusals(), 0u);
      return;
    }
    ASSERT_EQ(stream.writer.status(), WriteStatus::kOutOfBuffer);
    EXPECT_EQ(size, 0u);
    EXPECT_EQ(stream.delegate.num_refusals(), 1u);
    EXPECT_GT(stream.writer.written(), stream.delegate.Bytes().size());

    // The stream can be used again.
    uint8_t buffer[8];
    stream.writer.Reset({buffer, buffer + sizeof(buffer)});
    message.Reset(&stream.writer);
    message.AppendVarInt(1, 1);
    EXPECT_EQ(message.Finalize(), 2u);
    EXPECT_EQ(Hex(buffer, 2), "08 01");
  }
}

TEST(MessageErrorTest, ADelegateThatGivesUpAfterAnyChunk) {
  std::mt19937_64 random(7);
  for (size_t i = 0; i < 60; i += kSeriesStep) {
    const MessageTree tree = test::RandomTree(random, 4, 4);
    for (size_t chunk_size : {4u, 5u, 9u, 16u, 33u, 100u}) {
      for (const auto patches : {ChunkedDelegate::Patches::kInPlace,
                                 ChunkedDelegate::Patches::kRedirect,
                                 ChunkedDelegate::Patches::kUnwanted}) {
        ExpectEndsCleanly(tree, chunk_size, patches);
      }
      if (HasFailure())
        return;
    }
  }
}

TEST(MessageErrorTest, SettersAfterTheEndDropEverything) {
  ChunkedStream stream(8, 1);
  RootMessage<> message;
  message.Reset(&stream.writer);
  message.AppendVarInt(1, 1);
  // This does not fit. After it, nothing fits, however small it is.
  message.BeginNestedMessage<Message>(1)->AppendFixed(1, uint64_t{0});
  const std::string chunk = stream.delegate.CurrentChunk();
  const std::string bytes(1000, 'a');
  for (int i = 0; i < 200; ++i) {  // More messages than the arena holds itself.
    message.AppendVarInt(1, 1);
    message.AppendTinyVarInt(1, 1);
    message.AppendSignedVarInt(1, -1);
    message.AppendFixed(1, 1.0f);
    message.AppendString(1, bytes);
    message.AppendBytes(1, nullptr, 0);
    message.AppendRawProtoBytes(bytes.data(), bytes.size());
    Message* nested = &message;
    for (int depth = 0; depth < i; ++depth) {
      nested = nested->BeginNestedMessage<Message>(1);
      ASSERT_NE(nested, nullptr);
      nested->AppendVarInt(1, 1);
    }
  }
  EXPECT_EQ(message.Finalize(), 0u);
  EXPECT_EQ(Hex(stream.delegate.CurrentChunk()), Hex(chunk));
  EXPECT_EQ(stream.delegate.Complaints(), "");
  EXPECT_EQ(stream.delegate.num_refusals(), 1u);
}

TEST(MessageErrorTest, AChunkTooSmallForASizeFieldEndsTheStream) {
  for (size_t tiny = 1; tiny < 4; ++tiny) {
    ChunkedStream stream(std::vector<size_t>{5, tiny});
    RootMessage<> message;
    message.Reset(&stream.writer);
    message.AppendTinyVarInt(1, 1);
    Message* nested = message.BeginNestedMessage<Message>(1);
    EXPECT_EQ(stream.writer.status(), WriteStatus::kOutOfBuffer);
    nested->AppendTinyVarInt(1, 1);
    EXPECT_EQ(nested->Finalize(), 0u);
    EXPECT_EQ(message.Finalize(), 0u);
    EXPECT_EQ(stream.delegate.Complaints(), "");
  }
}

TEST(MessageErrorTest, SizesAreNotWrittenAfterTheEnd) {
  ChunkedStream stream(16, 1);
  RootMessage<> message;
  message.Reset(&stream.writer);
  Message* nested = message.BeginNestedMessage<Message>(1);
  nested->AppendVarInt(1, 1);
  nested->AppendString(1, "0123456789");
  EXPECT_FALSE(stream.writer.ok());
  EXPECT_EQ(nested->Finalize(), 0u);
  EXPECT_EQ(message.Finalize(), 0u);
  // A reader sees an empty message rather than one that ends too early.
  EXPECT_EQ(Hex(stream.delegate.CurrentChunk().substr(0, 9)),
            "0a 00 00 00 00 08 01 0a 0a");
}

// Messages that grow too long

// A stream that hands out one large chunk again and again. No byte of it is
// touched, so a message of any length takes no time. Size fields have memory of
// their own.
class EndlessStream : public ScatteredStreamWriter::Delegate {
 public:
  static constexpr size_t kChunkSize = 1 << 24;

  EndlessStream() : chunk_(new uint8_t[kChunkSize]), writer(this) {
    message.Reset(&writer);
  }
  ~EndlessStream() override = default;

  ContiguousMemoryRange GetNewBuffer() override {
    return {chunk_.get(), chunk_.get() + kChunkSize};
  }
  uint8_t* AnnotatePatch(uint8_t*) override {
    size_fields.emplace_back(new uint8_t[kPatchSize]());
    return size_fields.back().get();
  }

  // Appends |size| bytes to the open message, without writing any.
  void Skip(uint64_t size) {
    while (size > 0) {
      const auto piece =
          static_cast<size_t>(std::min<uint64_t>(size, kChunkSize));
      EXPECT_NE(writer.ReserveBytes(piece), nullptr);
      size -= piece;
    }
  }
  // Skips bytes that belong to the root message.
  void SkipInMessage(uint64_t size) {
    message.AppendTinyVarInt(1, 1);
    Skip(size - 2);
  }

 private:
  const std::unique_ptr<uint8_t[]> chunk_;

 public:
  std::vector<std::unique_ptr<uint8_t[]>> size_fields;
  ScatteredStreamWriter writer;
  RootMessage<> message;
};

TEST(MessageLengthTest, TheLongestMessageIsWhole) {
  EndlessStream stream;
  Message* nested = stream.message.BeginNestedMessage<Message>(1);
  stream.Skip(kMaxMessageLength);
  EXPECT_EQ(nested->Finalize(), kMaxMessageLength);
  EXPECT_TRUE(stream.writer.ok());
  EXPECT_EQ(Hex(stream.size_fields.at(0).get(), 4), "ff ff ff 7f");
  // This is not too long for the root message, which has no size field.
  EXPECT_EQ(stream.message.Finalize(), 5 + kMaxMessageLength);
  EXPECT_TRUE(stream.writer.ok());
}

TEST(MessageLengthTest, TheLongestMessageIsTooLongForAParentWithASize) {
  EndlessStream stream;
  Message* parent = stream.message.BeginNestedMessage<Message>(1);
  Message* nested = parent->BeginNestedMessage<Message>(1);
  stream.Skip(kMaxMessageLength);
  EXPECT_EQ(nested->Finalize(), kMaxMessageLength);
  EXPECT_TRUE(stream.writer.ok());
  EXPECT_EQ(parent->Finalize(), 0u);
  EXPECT_EQ(stream.writer.status(), WriteStatus::kMessageTooLong);
}

TEST(MessageLengthTest, TheLongestRootMessageIsWhole) {
  EndlessStream stream;
  stream.SkipInMessage(kMaxRootMessageLength);
  EXPECT_EQ(stream.message.Finalize(), 0x7fffffffu);
  EXPECT_TRUE(stream.writer.ok());
}

TEST(MessageLengthTest, ManyMessagesMakeALongRootMessage) {
  EndlessStream stream;
  for (int i = 0; i < 2000; ++i) {
    stream.message.BeginNestedMessage<Message>(1);
    stream.Skip(1 << 20);
  }
  EXPECT_EQ(stream.message.Finalize(), 2000u * (5 + (1 << 20)));
  EXPECT_TRUE(stream.writer.ok());
}

TEST(MessageLengthTest, AGroupMayBeAsLongAsARootMessage) {
  for (const bool is_too_long : {false, true}) {
    EndlessStream stream;
    Message* group = stream.message.BeginNestedGroup<Message>(1);
    stream.Skip(kMaxRootMessageLength + is_too_long);
    EXPECT_EQ(group->Finalize(), is_too_long ? 0u : kMaxRootMessageLength);
    EXPECT_EQ(stream.writer.ok(), !is_too_long);
    // The group and its tags are always too long for the root message.
    EXPECT_EQ(stream.message.Finalize(), 0u);
    EXPECT_EQ(stream.writer.status(), WriteStatus::kMessageTooLong);
  }
}

TEST(MessageLengthTest, ARootMessageWithASizeFieldIsNoLongerThanItCanSay) {
  for (const bool is_too_long : {false, true}) {
    EndlessStream stream;
    uint8_t size_field[4] = {};
    // The delegate of this stream puts size fields elsewhere.
    stream.message.set_size_field(size_field);
    stream.SkipInMessage(kMaxMessageLength + is_too_long);
    EXPECT_EQ(stream.message.Finalize(), is_too_long ? 0u : kMaxMessageLength);
    EXPECT_EQ(stream.writer.ok(), !is_too_long);
  }
}

TEST(MessageLengthTest, OneByteMoreIsTooLong) {
  for (bool seal_by_parent : {false, true}) {
    EndlessStream stream;
    Message* nested = stream.message.BeginNestedMessage<Message>(1);
    stream.Skip(kMaxMessageLength + 1);
    EXPECT_TRUE(stream.writer.ok());
    if (seal_by_parent)
      stream.message.AppendVarInt(1, 1);
    else {
      EXPECT_EQ(nested->Finalize(), 0u);
    }
    EXPECT_EQ(stream.writer.status(), WriteStatus::kMessageTooLong);
    EXPECT_EQ(Hex(stream.size_fields.at(0).get(), 4), "00 00 00 00");
    const uint64_t written = stream.writer.written();
    stream.message.AppendVarInt(1, 1);
    stream.writer.WriteByte(1);
    EXPECT_EQ(stream.writer.written(), written + 3);
    EXPECT_EQ(stream.writer.bytes_available(), 0u);
    EXPECT_EQ(stream.message.Finalize(), 0u);
    EXPECT_EQ(stream.writer.status(), WriteStatus::kMessageTooLong);
  }
}

// The third message is expected to be long, since those before it were.
TEST(MessageLengthTest, OneByteMoreInOneChunkIsTooLong) {
  constexpr size_t kChunkSize = kMaxMessageLength + 100;
  const std::unique_ptr<uint8_t[]> chunk(new uint8_t[kChunkSize]);
  for (const bool is_too_long : {false, true}) {
    RootMessage<> message;
    for (int i = 0; i < 3; ++i) {
      ScatteredStreamWriter writer(nullptr,
                                   {chunk.get(), chunk.get() + kChunkSize});
      message.Reset(&writer);
      Message* nested = message.BeginNestedMessage<Message>(1);
      nested->AppendTinyVarInt(1, 1);
      // Touches none of the bytes.
      writer.ReserveBytes(kMaxMessageLength + is_too_long - 4);
      nested->AppendTinyVarInt(1, 1);
      EXPECT_EQ(message.Finalize(), is_too_long ? 0 : 5 + kMaxMessageLength);
      EXPECT_EQ(writer.status(),
                is_too_long ? WriteStatus::kMessageTooLong : WriteStatus::kOk);
      EXPECT_EQ(Hex(chunk.get(), 7),
                is_too_long ? "0a 00 00 00 00 08 01" : "0a ff ff ff 7f 08 01");
    }
  }
}

TEST(MessageLengthTest, ARootMessageThatIsTooLong) {
  EndlessStream stream;
  stream.SkipInMessage(kMaxRootMessageLength + 1);
  EXPECT_EQ(stream.message.Finalize(), 0u);
  EXPECT_EQ(stream.message.Finalize(), 0u);
  EXPECT_EQ(stream.writer.status(), WriteStatus::kMessageTooLong);
  // The error does not affect the next message.
  stream.writer.Reset(stream.GetNewBuffer());
  stream.message.Reset(&stream.writer);
  stream.message.AppendVarInt(1, 1);
  EXPECT_EQ(stream.message.Finalize(), 2u);
  EXPECT_TRUE(stream.writer.ok());
}

TEST(MessageLengthTest, LengthsBeyond32BitsDoNotWrapAround) {
  for (uint64_t more : {uint64_t{0}, uint64_t{5}, uint64_t{1} << 25}) {
    for (uint64_t length : {uint64_t{1} << 32, uint64_t{1} << 33}) {
      EndlessStream stream;
      Message* nested = stream.message.BeginNestedMessage<Message>(1);
      stream.Skip(length + more);
      EXPECT_EQ(nested->Finalize(), 0u);
      EXPECT_EQ(stream.writer.status(), WriteStatus::kMessageTooLong);
      EndlessStream flat;
      flat.SkipInMessage(length + more);
      EXPECT_EQ(flat.message.Finalize(), 0u);
      EXPECT_EQ(flat.writer.status(), WriteStatus::kMessageTooLong);
    }
  }
}

TEST(MessageLengthTest, AMessageThatIsTooLongSpoilsItsAncestors) {
  EndlessStream stream;
  Message* nested = stream.message.BeginNestedMessage<Message>(1);
  Message* inner = nested->BeginNestedMessage<Message>(1);
  stream.Skip(kMaxMessageLength + 1);
  EXPECT_EQ(stream.message.Finalize(), 0u);
  EXPECT_EQ(inner->Finalize(), 0u);
  EXPECT_EQ(nested->Finalize(), 0u);
  for (const auto& size_field : stream.size_fields) {
    EXPECT_EQ(Hex(size_field.get(), 4), "00 00 00 00");
  }
}

TEST(MessageLengthTest, TheLongestFieldIsWritten) {
  const std::unique_ptr<void, decltype(&free)> zeros(
      calloc(kMaxMessageLength, 1), free);  // The kernel's page of zeros.
  EndlessStream stream;
  stream.message.AppendBytes(1, zeros.get(), kMaxMessageLength);
  EXPECT_TRUE(stream.writer.ok());
  EXPECT_EQ(stream.writer.written(), 5 + kMaxMessageLength);
}

TEST(MessageLengthTest, AFieldThatIsTooLongIsNeitherReadNorWritten) {
  // An address that must not be read.
  uint8_t* const nowhere = reinterpret_cast<uint8_t*>(16);
  const auto expect_mistake = [&](size_t written_before, auto append) {
    EndlessStream stream;
    stream.writer.Extend();
    const uint8_t* chunk = stream.writer.write_ptr();
    const auto append_to_stream = [&] { append(&stream.message); };
    EXPECT_MISTAKE(append_to_stream(), "at most 268435455 bytes");
#if !PROTOZERO_DCHECK_IS_ON
    EXPECT_EQ(stream.writer.status(), WriteStatus::kMessageTooLong);
    EXPECT_EQ(stream.writer.write_ptr(), chunk + written_before);
    EXPECT_EQ(stream.message.Finalize(), 0u);
#else
    static_cast<void>(chunk);
    static_cast<void>(written_before);
#endif
  };
  for (size_t size : {kMaxMessageLength + 1, size_t{1} << 31, SIZE_MAX / 2,
                      SIZE_MAX - 20, SIZE_MAX}) {
    expect_mistake(0, [=](Message* m) { m->AppendBytes(1, nowhere, size); });
    expect_mistake(5, [=](Message* m) {
      Message* nested = m->BeginNestedMessage<Message>(1);
      nested->AppendBytes(536870911, nowhere, size);
    });
  }
  expect_mistake(0, [=](Message* m) {
    ContiguousMemoryRange ranges[] = {{nowhere, nowhere + kMaxMessageLength},
                                      {nowhere, nowhere + 1}};
    m->AppendScatteredBytes(1, ranges, 2);
  });
}

}  // namespace
}  // namespace protozero
