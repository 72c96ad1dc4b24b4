// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests that take back nested messages that are still open.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/message.h"
#include "protozero/root_message.h"
#include "test/testing/chunked_delegate.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using test::AsHex;
using test::ChunkedDelegate;
using test::Hex;

// A root message over chunks of one size.
class Stream {
 public:
  explicit Stream(size_t chunk_size)
      : delegate_(std::vector<size_t>(kChunks, chunk_size),
                  ChunkedDelegate::Patches::kInPlace),
        writer_(&delegate_) {
    delegate_.set_writer(&writer_);
    message_.Reset(&writer_);
  }

  Message* message() { return &message_; }
  ScatteredStreamWriter* writer() { return &writer_; }

  // Finalizes the message and returns all its bytes.
  std::string Finish() {
    message_.Finalize();
    EXPECT_EQ(delegate_.Complaints(), "");
    return delegate_.Bytes();
  }

 private:
  static constexpr size_t kChunks = 1000;

  ChunkedDelegate delegate_;
  ScatteredStreamWriter writer_;
  RootMessage<> message_;
};

Message* Begin(Message* parent, uint32_t field_id = 3) {
  return parent->BeginNestedMessage<Message>(field_id);
}

void Append(Message* message, size_t size) {
  message->AppendString(1, std::string(size, 'x'));
}

// |levels| nested open messages with |before| bytes in each. The innermost one
// has a message with |inside| bytes, |deeper| levels deep. That message is
// taken back, or was never there, or stays.
struct Shape {
  size_t chunk_size;
  size_t levels;
  size_t before;
  size_t inside;
  size_t deeper;
  uint32_t field_id;
};

enum class What { kTakenBack, kNeverThere, kStays };

// Sets *in_reach to the result of RollBackNestedMessage().
std::string Write(const Shape& shape, What what, bool* in_reach) {
  Stream stream(shape.chunk_size);
  Message* parent = stream.message();
  for (size_t i = 0; i < shape.levels; ++i) {
    Append(parent, shape.before);
    parent = Begin(parent);
  }
  if (what != What::kNeverThere) {
    Message* child = Begin(parent, shape.field_id);
    Append(child, shape.inside);
    for (size_t i = 0; i < shape.deeper; ++i)
      child = Begin(child);
    child->AppendVarInt(1, uint64_t{1} << 40);
  }
  if (what == What::kTakenBack)
    *in_reach = parent->RollBackNestedMessage();
  parent->AppendVarInt(2, 300);
  Append(Begin(parent), shape.before);
  stream.message()->AppendVarInt(7, 1);
  return stream.Finish();
}

TEST(MessageRollbackTest, LeavesNoTraceOrDoesNothing) {
  size_t taken_back = 0;
  size_t out_of_reach = 0;
  for (size_t chunk_size :
       {4u, 5u, 7u, 16u, 23u, 40u, 64u, 129u, 300u, 517u, 800u, 1100u, 4096u}) {
    for (size_t levels : {0u, 1u, 3u}) {
      for (size_t before : {0u, 3u, 50u, 120u, 500u}) {
        for (size_t inside : {0u, 20u, 126u, 128u, 511u, 700u}) {
          for (size_t deeper : {0u, 1u, 4u}) {
            for (uint32_t field_id : {1u, 1u << 28}) {
              const Shape shape = {chunk_size, levels, before,
                                   inside,     deeper, field_id};
              bool in_reach = false;
              const std::string bytes =
                  Write(shape, What::kTakenBack, &in_reach);
              ++(in_reach ? taken_back : out_of_reach);
              ASSERT_EQ(AsHex(bytes),
                        AsHex(Write(shape,
                                    in_reach ? What::kNeverThere : What::kStays,
                                    nullptr)))
                  << "chunk " << chunk_size << " levels " << levels
                  << " before " << before << " inside " << inside << " deeper "
                  << deeper << " field " << field_id;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(taken_back, 1000u);
  EXPECT_GT(out_of_reach, 1000u);
}

TEST(MessageRollbackTest, IsInReachAsLongAsTheChunkIs) {
  for (size_t before = 0; before < 64; ++before) {
    Stream stream(64);
    stream.message()->AppendRawProtoBytes(std::string(before, 'x').data(),
                                          before);
    Begin(stream.message());
    const bool is_whole = 64 - before >= 5;  // tag and size field
    EXPECT_EQ(stream.message()->RollBackNestedMessage(), is_whole) << before;
  }
}

TEST(MessageRollbackTest, OutOfReachOnceTheChunkIsLeft) {
  Stream stream(32);
  Message* child = Begin(stream.message());
  Append(child, 40);
  EXPECT_FALSE(stream.message()->RollBackNestedMessage());
  child->AppendTinyVarInt(1, 1);  // still open
  EXPECT_EQ(stream.message()->nested_message(), child);
  EXPECT_FALSE(child->is_finalized());
}

TEST(MessageRollbackTest, NothingToTakeBack) {
  Stream stream(64);
  EXPECT_FALSE(stream.message()->RollBackNestedMessage());
  Begin(stream.message());
  EXPECT_TRUE(stream.message()->RollBackNestedMessage());
  EXPECT_FALSE(stream.message()->RollBackNestedMessage());
  Begin(stream.message());
  stream.message()->AppendTinyVarInt(1, 1);  // seals it
  EXPECT_FALSE(stream.message()->RollBackNestedMessage());
  Begin(stream.message())->Finalize();
  EXPECT_FALSE(stream.message()->RollBackNestedMessage());
  stream.message()->Finalize();
  EXPECT_FALSE(stream.message()->RollBackNestedMessage());
}

TEST(MessageRollbackTest, NotAfterAnError) {
  uint8_t buffer[32];
  class Delegate : public ScatteredStreamWriter::Delegate {
    ContiguousMemoryRange GetNewBuffer() override { return {}; }
  } delegate;
  ScatteredStreamWriter writer(&delegate, {buffer, buffer + sizeof(buffer)});
  RootMessage<> message(&writer);
  Append(Begin(&message), 100);
  ASSERT_FALSE(writer.ok());
  EXPECT_FALSE(message.RollBackNestedMessage());
  EXPECT_EQ(message.Finalize(), 0u);
}

TEST(MessageRollbackTest, TakesBackRawBytesOfTheStream) {
  Stream stream(64);
  stream.message()->AppendTinyVarInt(1, 1);
  Begin(stream.message());
  const uint8_t raw[] = {0x08, 0x05};
  stream.writer()->WriteBytes(raw, sizeof(raw));
  EXPECT_EQ(stream.writer()->written(), 9u);
  EXPECT_TRUE(stream.message()->RollBackNestedMessage());
  EXPECT_EQ(stream.writer()->written(), 2u);
  stream.message()->AppendTinyVarInt(1, 2);
  EXPECT_EQ(Hex(stream.Finish()), "08 01 08 02");
}

TEST(MessageRollbackTest, MessagesThatWereTakenBackTakeNoFields) {
  Stream stream(64);
  Message* child = Begin(stream.message());
  Message* grandchild = Begin(child);
  ASSERT_TRUE(stream.message()->RollBackNestedMessage());
  for (Message* message : {child, grandchild}) {
    EXPECT_TRUE(message->is_finalized());
    EXPECT_MISTAKE(message->AppendVarInt(1, 1), "sealed");
  }
  EXPECT_EQ(Hex(stream.Finish()), "");
}

TEST(MessageRollbackTest, FreesTheMessagesInTheArena) {
  Stream stream(4096);
  Message* first = Begin(stream.message());
  ASSERT_TRUE(stream.message()->RollBackNestedMessage());
  for (int i = 0; i < 1000; ++i) {
    Message* child = Begin(stream.message());
    // Debug builds keep the memory in quarantine.
    EXPECT_EQ(child == first, !PROTOZERO_DCHECK_IS_ON);
    Message* deepest = child;
    for (int level = 0; level < 150; ++level)
      deepest = Begin(deepest);
    ASSERT_TRUE(stream.message()->RollBackNestedMessage());
  }
  EXPECT_EQ(Hex(stream.Finish()), "");
}

}  // namespace
}  // namespace protozero
