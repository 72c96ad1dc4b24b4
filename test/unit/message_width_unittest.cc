// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The number of bytes that are reserved for the size of an open message: one,
// and four from the moment when one may not be enough. The written bytes do not
// show the difference.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/internal/bit_deposit.h"
#include "protozero/message.h"
#include "protozero/message_handle.h"
#include "protozero/root_message.h"
#include "protozero/scattered_stream_writer.h"
#include "test/testing/chunked_delegate.h"
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
using test::ChunkSizes;
using test::EncodeTree;
using test::ExpectWritesToChunks;
using test::Hex;
using test::kSeriesStep;
using test::MessageTree;
using test::NestedField;
using test::NumberField;
using test::WriteTree;
using Kind = test::Field::Kind;

// Sizes around the limits for a size field of one byte: a sealed message may
// have 127 bytes, an open one about 512.
constexpr size_t kSizesOfInterest[] = {0,   2,   3,   126, 127, 128, 129,
                                       510, 511, 512, 513, 514, 530};

// The way in which the bytes of a message are written.
enum class Fill {
  kTinyFields,  // By as many setters as possible.
  kLongFields,  // By fields of 15 bytes, the longest that a number takes.
  kOneField,
  kRaw,  // By AppendRawProtoBytes() of everything, one byte at a time.
};
constexpr Fill kFills[] = {Fill::kTinyFields, Fill::kLongFields,
                           Fill::kOneField, Fill::kRaw};

// The field before the tested messages: the first write asks for a chunk, and
// so begins a wide message. The field after them seals them.
const test::Field kFirst = NumberField(Kind::kTiny, 1, 1);
const test::Field kLast = NumberField(Kind::kTiny, 2, 2);

// Returns a field of |size| bytes. REQUIRES: size >= 2, and not 130, since a
// length of 127 takes one byte, and a length of 128 takes two.
test::Field FieldOfSize(size_t size) {
  return BytesField(1, std::string(size - (size < 130 ? 2 : 3), 'x'));
}

// Returns a message of |size| bytes. REQUIRES: size != 1.
MessageTree TreeOfSize(size_t size, Fill fill) {
  MessageTree tree;
  const auto add = [&](test::Field field, size_t field_size) {
    tree.push_back(std::move(field));
    size -= field_size;
  };
  if (fill == Fill::kLongFields) {
    while (size >= 15 && size != 16)
      add(NumberField(Kind::kSigned, 536870911, -1), 15);
  }
  const bool one_field = fill == Fill::kOneField && size != 130;
  while (!one_field && size >= 2 && size != 3)
    add(NumberField(Kind::kTiny, 1, 1), 2);
  if (size != 0)
    add(FieldOfSize(size), size);
  return tree;
}

// Writes |tree| as |fill| says. REQUIRES: |tree| has no nested message.
void WriteFilled(const MessageTree& tree, Fill fill, Message* message) {
  if (fill != Fill::kRaw)
    return WriteTree(tree, message);
  for (const char byte : test::EncodeTreeCanonically(tree))
    message->AppendRawProtoBytes(&byte, 1);
}

TEST(MessageWidthTest, EverySizeOfInterestAtEveryDistanceFromTheChunksEnd) {
  for (const Fill fill : kFills) {
    for (const size_t size : kSizesOfInterest) {
      const MessageTree child = TreeOfSize(size, fill);
      const MessageTree tree{kFirst, NestedField(1, child), kLast};
      // From room for nothing to room for the whole message, wide or narrow.
      for (size_t first = 4; first <= size + 40; first += kSeriesStep) {
        const ChunkSizes chunk_sizes{first, 5000};
        ChunkedStream stream(chunk_sizes);
        RootMessage<> message(&stream.writer);
        WriteTree({kFirst}, &message);
        WriteFilled(child, fill, message.BeginNestedMessage<Message>(1));
        WriteTree({kLast}, &message);
        const std::string expected = EncodeTree(tree, chunk_sizes);
        ASSERT_EQ(message.Finalize(), expected.size());
        ASSERT_EQ(stream.Bytes(), Hex(expected))
            << size << " bytes, first chunk " << first;
        ASSERT_EQ(stream.delegate.Complaints(), "");
      }
    }
  }
}

// Returns |depth| nested messages. The outermost has |size| bytes after its
// child was sealed, if sizes take one byte.
MessageTree ChainOfSize(size_t depth, size_t size, Fill fill) {
  if (depth == 1)
    return TreeOfSize(size, fill);
  return {NestedField(1, ChainOfSize(depth - 1, size - 2, fill))};
}

TEST(MessageWidthTest, ManyLevelsCrossTheLimitsAtOnce) {
  for (const size_t limit : {127u, 512u}) {
    for (size_t depth = 2; depth <= 12; ++depth) {
      // The sizes range from "no level is too large" to "all levels are".
      for (size_t size = limit - 3; size <= limit + 2 * depth + 3;
           size += kSeriesStep) {
        for (const Fill fill :
             {Fill::kTinyFields, Fill::kLongFields, Fill::kOneField}) {
          const MessageTree tree{
              kFirst, NestedField(3, ChainOfSize(depth, size, fill)),
              NestedField(4, {NumberField(Kind::kTiny, 1, 1)})};
          ExpectWritesToChunks(tree, {10000});
          // The last field lies at the end of the chunk, too.
          for (size_t room = size + 5 * depth - 20;
               room <= size + 5 * depth + 20; room += 3) {
            ExpectWritesToChunks(tree, {room, 10000});
          }
          ASSERT_FALSE(HasFailure()) << depth << " levels, " << size;
        }
      }
    }
  }
}

TEST(MessageWidthTest, ChildrenOfEverySizeInsideParentsOfEverySize) {
  // The parent becomes large before, through, or after its child.
  for (const size_t before : {0u, 2u, 100u, 124u, 380u, 496u, 509u}) {
    for (const size_t inside : kSizesOfInterest) {
      for (const size_t after : {0u, 2u, 15u, 125u, 400u}) {
        MessageTree parent = TreeOfSize(before, Fill::kLongFields);
        parent.push_back(NestedField(1, TreeOfSize(inside, Fill::kOneField)));
        for (const test::Field& field : TreeOfSize(after, Fill::kLongFields))
          parent.push_back(field);
        const MessageTree tree{kFirst, NestedField(2, parent), kLast};
        const size_t size = EncodeTree(tree, test::OneLargeChunk()).size();
        for (const size_t more : {0u, 6u, 17u, 19u, 20u, 23u, 26u, 36u, 42u}) {
          ExpectWritesToChunks(tree,
                               {size + more > 24 ? size + more - 20 : 4, 5000});
        }
        ASSERT_FALSE(HasFailure()) << before << ", " << inside << ", " << after;
      }
    }
  }
}

// From 100 levels on, the arena has its blocks on the heap.
TEST(MessageWidthTest, DeepLevelsAreWidenedLikeAnyOther) {
  for (const size_t depth : {98u, 99u, 100u, 101u, 102u, 227u, 228u, 229u}) {
    for (const size_t size : {2u, 100u, 128u, 400u, 600u}) {
      MessageTree tree = TreeOfSize(size, Fill::kTinyFields);
      // There are siblings on both sides of the border between two blocks.
      for (size_t i = 0; i < depth; ++i) {
        MessageTree parent{NestedField(1, std::move(tree))};
        if (i < 6 || i % 40 == 0) {
          parent.push_back(NestedField(2, {NumberField(Kind::kTiny, 1, 1)}));
          parent.push_back(NumberField(Kind::kTiny, 1, 1));
        }
        tree = std::move(parent);
      }
      tree.insert(tree.begin(), kFirst);
      const size_t whole = EncodeTree(tree, test::OneLargeChunk()).size();
      for (const size_t room :
           {size_t{4}, size_t{16}, size_t{20}, whole / 2, whole - 10, whole,
            whole + 30, whole + 4 * depth}) {
        ExpectWritesToChunks(tree, {room, 97});
        ExpectWritesToChunks(tree, {room, 5000});
      }
      ASSERT_FALSE(HasFailure()) << depth << " levels, " << size;
    }
  }
}

// While messages are open

// Three nested open messages, in a chunk with room for much more.
struct OpenMessages {
  static constexpr uint32_t kLevels = 3;

  explicit OpenMessages(size_t chunk_size = 5000) : stream(chunk_size) {
    root.Reset(&stream.writer);
    levels.push_back(&root);
    for (uint32_t i = 0; i < kLevels; ++i) {
      levels.back()->AppendTinyVarInt(15, static_cast<int32_t>(i));
      levels.push_back(levels.back()->BeginNestedMessage<Message>(1));
    }
    leaf = levels.back();
    leaf->AppendTinyVarInt(2, 2);
  }

  // Returns the bytes of the chunk without asking the writer.
  std::string Chunk(size_t size) const {
    return Hex(stream.delegate.CurrentChunk().substr(0, size));
  }
  void ExpectAllAreWide() const {
    EXPECT_EQ(Chunk(23),
              "78 00 0a 00 00 00 00 78 01 0a 00 00 00 00 78 02 0a 00 00 00 00 "
              "10 02");
  }

  // Expects these fields. The leaf also has |more|, and its parent |after|.
  void ExpectFinalBytes(const MessageTree& more = {},
                        const MessageTree& after = {}) {
    MessageTree tree{NumberField(Kind::kTiny, 2, 2)};
    tree.insert(tree.end(), more.begin(), more.end());
    for (uint32_t i = kLevels; i-- > 0;) {
      tree = {NumberField(Kind::kTiny, 15, i), NestedField(1, std::move(tree))};
      if (i == kLevels - 1)
        tree.insert(tree.end(), after.begin(), after.end());
    }
    const std::string expected = EncodeTree(tree, test::OneLargeChunk());
    EXPECT_EQ(root.Finalize(), expected.size());
    EXPECT_EQ(stream.Bytes(), Hex(expected));
    EXPECT_EQ(stream.writer.written(), expected.size());
    EXPECT_EQ(stream.delegate.Complaints(), "");
  }

  ChunkedStream stream;
  RootMessage<> root;
  std::vector<Message*> levels;
  Message* leaf;
};

TEST(MessageWidthTest, OneByteIsReservedUntilSomebodyLooks) {
  if (internal::kInlineEncodingMask == 0)
    GTEST_SKIP() << "four bytes from the start, on this processor";
  OpenMessages open;
  EXPECT_EQ(open.Chunk(14), "78 00 0a 00 78 01 0a 00 78 02 0a 00 10 02");
  open.ExpectFinalBytes();
}

TEST(MessageWidthTest, EveryAccessorSeesFourBytes) {
  using Access = std::function<void(OpenMessages&, ScatteredStreamWriter&)>;
  std::vector<Access> accesses = {
      [](OpenMessages&, ScatteredStreamWriter& writer) {
        EXPECT_EQ(writer.write_ptr(), writer.cur_range().begin + 23);
      },
      [](OpenMessages&, ScatteredStreamWriter& writer) {
        EXPECT_EQ(writer.written(), 23u);
      },
      [](OpenMessages&, ScatteredStreamWriter& writer) {
        EXPECT_EQ(writer.bytes_available(), 5000u - 23);
      },
      [](OpenMessages&, ScatteredStreamWriter& writer) {
        writer.WriteBytes(nullptr, 0);
      },
      [](OpenMessages&, ScatteredStreamWriter& writer) {
        EXPECT_EQ(writer.ReserveBytes(0), writer.cur_range().begin + 23);
      },
      [](OpenMessages&, ScatteredStreamWriter& writer) { writer.Rewind(0, 0); },
      [](OpenMessages&, ScatteredStreamWriter& writer) {
        writer.set_write_ptr(writer.cur_range().begin + 23);
      },
  };
  for (size_t level = 1; level <= OpenMessages::kLevels; ++level) {
    accesses.push_back([=](OpenMessages& open, ScatteredStreamWriter& writer) {
      EXPECT_EQ(open.levels[level]->size_field(),
                writer.cur_range().begin + 7 * level - 4);
    });
    accesses.push_back([=](OpenMessages& open, ScatteredStreamWriter& writer) {
      open.levels[level]->set_size_field(writer.cur_range().begin + 7 * level -
                                         4);
    });
  }
  for (size_t i = 0; i < accesses.size(); ++i) {
    SCOPED_TRACE(i);
    OpenMessages open;
    // A second access finds the same bytes.
    for (int twice = 0; twice < 2; ++twice) {
      accesses[i](open, open.stream.writer);
      open.ExpectAllAreWide();
    }
    open.leaf->AppendTinyVarInt(3, 3);
    open.ExpectFinalBytes({NumberField(Kind::kTiny, 3, 3)});
  }
}

TEST(MessageWidthTest, AccessorsOfConstObjectsMoveNothing) {
  OpenMessages open;
  const std::string before = open.Chunk(23);
  const ScatteredStreamWriter& writer = open.stream.writer;
  EXPECT_EQ(writer.write_ptr(), writer.cur_range().begin + 23);
  EXPECT_EQ(writer.written(), 23u);
  EXPECT_EQ(writer.bytes_available(), 5000u - 23);
  for (size_t level = 1; level <= OpenMessages::kLevels; ++level) {
    const Message& message = *open.levels[level];
    EXPECT_EQ(message.size_field(), writer.cur_range().begin + 7 * level - 4);
  }
  EXPECT_EQ(open.Chunk(23), before);
  open.stream.writer.write_ptr();
  open.ExpectAllAreWide();
  EXPECT_EQ(writer.written(), 23u);
  open.ExpectFinalBytes();
}

TEST(MessageWidthTest, RawWritesBelongToTheLeaf) {
  using Write = std::function<void(ScatteredStreamWriter&)>;
  const uint8_t field[] = {0x18, 0x03};
  const Write writes[] = {
      [&](ScatteredStreamWriter& writer) { writer.WriteBytes(field, 2); },
      [&](ScatteredStreamWriter& writer) {
        if (writer.bytes_available() >= 2)
          writer.WriteBytesUnsafe(field, 2);
      },
      [&](ScatteredStreamWriter& writer) {
        writer.WriteBytesSlowPath(field, 2);
      },
      [&](ScatteredStreamWriter& writer) {
        writer.WriteByte(field[0]);
        writer.WriteByte(field[1]);
      },
      [&](ScatteredStreamWriter& writer) {
        memcpy(writer.ReserveBytes(2), field, 2);
      },
      [&](ScatteredStreamWriter& writer) {
        memcpy(writer.write_ptr(), field, 2);
        writer.set_write_ptr(writer.write_ptr() + 2);
      },
      [&](ScatteredStreamWriter& writer) {
        const uint8_t more[] = {0xff, 0xff, 0xff, 0x18, 0x03};
        writer.WriteBytes(more, 5);
        writer.Rewind(2, 3);
      },
  };
  const test::Field same = NumberField(Kind::kTiny, 3, 3);
  for (size_t i = 0; i < std::size(writes); ++i) {
    SCOPED_TRACE(i);
    for (size_t j = 0; j < std::size(writes); ++j) {
      OpenMessages open;
      writes[i](open.stream.writer);
      open.leaf->AppendTinyVarInt(4, 4);
      // This begins another narrow message among wide ones.
      open.leaf->BeginNestedMessage<Message>(5)->AppendTinyVarInt(4, 4);
      writes[j](open.stream.writer);
      open.ExpectFinalBytes(
          {same, NumberField(Kind::kTiny, 4, 4),
           NestedField(5, {NumberField(Kind::kTiny, 4, 4), same})});
    }
  }
}

TEST(MessageWidthTest, ExtendCrossesTheChunkWithAllLevels) {
  OpenMessages open(30);
  open.stream.writer.Extend();
  EXPECT_EQ(open.stream.delegate.num_patches(), 3u);
  open.leaf->AppendTinyVarInt(3, 3);
  EXPECT_EQ(open.root.Finalize(), 25u);
  EXPECT_EQ(open.stream.Bytes(),
            "78 00 0a 92 80 80 00 78 01 0a 8b 80 80 00 78 02 0a 84 80 80 00 10 "
            "02 18 03");
  EXPECT_EQ(open.stream.delegate.Complaints(), "");
}

TEST(MessageWidthTest, ResetContinuesInAnotherRangeWithAllLevels) {
  OpenMessages open;
  uint8_t range[100];
  // The field goes to the leaf, which is wide because of its earlier chunk.
  const std::string before = open.stream.delegate.CurrentChunk();
  open.stream.writer.Reset({range, range + sizeof(range)});
  open.leaf->AppendTinyVarInt(3, 3);
  EXPECT_EQ(open.stream.writer.written(), 25u);
  EXPECT_EQ(open.root.Finalize(), 25u);
  EXPECT_EQ(Hex(range, 2), "18 03");
  EXPECT_EQ(open.Chunk(23),
            "78 00 0a 92 80 80 00 78 01 0a 8b 80 80 00 78 02 0a 84 80 80 00 10 "
            "02");
}

TEST(MessageWidthTest, SizeFieldsMaySetElsewhereOnAnyLevel) {
  for (size_t level = 1; level <= OpenMessages::kLevels; ++level) {
    OpenMessages open;
    uint8_t size_field[4] = {};
    open.levels[level]->set_size_field(size_field);
    open.leaf->AppendTinyVarInt(3, 3);
    // The sizes that were not asked for shrink to one byte. Four zeros stay in
    // the place of this one.
    const uint32_t size = open.root.Finalize();
    EXPECT_EQ(size, 16u + 3);
    EXPECT_EQ(Hex(size_field, 4), level == 1   ? "8c 80 80 00"
                                  : level == 2 ? "88 80 80 00"
                                               : "84 80 80 00");
    EXPECT_EQ(open.stream.delegate.Complaints(), "");
  }
}

// A message of more than 512 bytes is wide when its next field is written.
TEST(MessageWidthTest, LargeOpenMessagesAreWide) {
  const auto append = [](Message* message, int fields) {
    for (int i = 0; i < fields; ++i)
      message->AppendVarInt(536870911, int64_t{-1});  // 15 bytes
  };
  for (size_t depth = 1; depth <= 5; ++depth) {
    for (size_t size = 470; size <= 520; ++size) {
      for (int fields = 0; fields <= 2; ++fields) {
        ChunkedStream stream(10000);
        RootMessage<> root(&stream.writer);
        WriteTree({kFirst}, &root);
        Message* const outermost = root.BeginNestedMessage<Message>(1);
        Message* message = outermost;
        for (size_t i = 1; i < depth; ++i)
          message = message->BeginNestedMessage<Message>(1);
        // Most of the bytes are in the innermost message.
        const std::string bytes(size - 2 * (depth - 1), '\0');
        message->AppendRawProtoBytes(bytes.data(), bytes.size());
        append(message, fields);
        // That message becomes wide only when it is sealed.
        outermost->AppendRawProtoBytes(nullptr, 0);
        append(outermost, 10);
        ASSERT_EQ(Hex(stream.delegate.CurrentChunk().substr(2, 5)),
                  "0a 00 00 00 00")
            << depth << " levels, " << size << " bytes, " << fields;
      }
    }
  }
}

// Messages that are finalized before their parents continue.

TEST(MessageWidthTest, AHandleFinalizesANarrowMessage) {
  class CallCounter : public MessageFinalizationListener {
   public:
    void OnMessageFinalized(Message* message) override {
      EXPECT_TRUE(message->is_finalized());
      ++calls_;
    }
    int calls() const { return calls_; }

   private:
    int calls_ = 0;
  };
  // Takes the innermost message, or one that has open messages inside.
  for (size_t level = 1; level <= OpenMessages::kLevels; ++level) {
    OpenMessages open;
    CallCounter listener;
    {
      MessageHandle<Message> handle(open.levels[level]);
      handle.set_finalization_listener(&listener);
    }
    EXPECT_EQ(listener.calls(), 1);
    EXPECT_EQ(open.levels[level]->Finalize(), 10u - 4 * (level - 1));
    EXPECT_EQ(open.levels[level]->size_field(), nullptr);
    open.ExpectFinalBytes();
  }
}

TEST(MessageWidthTest, AHandleMayGiveAwayTheStreamOfANarrowMessage) {
  OpenMessages open;
  MessageHandle<Message> handle(open.leaf);
  ScatteredStreamWriter* writer = handle.TakeStreamWriter();
  writer->WriteByte(0x18);
  writer->WriteByte(0x03);
  open.ExpectFinalBytes({NumberField(Kind::kTiny, 3, 3)});
}

// A finalized message stays sealed, whatever happens to the stream and to its
// parents.
TEST(MessageWidthTest, AFinalizedMessageStaysSealedWhenItsParentsAreWidened) {
  const std::function<void(OpenMessages&)> widenings[] = {
      [](OpenMessages& open) { EXPECT_EQ(open.stream.writer.written(), 20u); },
      [](OpenMessages& open) {
        EXPECT_NE(open.levels[1]->size_field(), nullptr);
      },
      [](OpenMessages& open) {
        EXPECT_NE(open.levels[2]->size_field(), nullptr);
      },
      [](OpenMessages& open) { open.stream.writer.WriteBytes(nullptr, 0); },
      [](OpenMessages& open) {
        open.stream.writer.WriteBytes(nullptr, 0);
        EXPECT_EQ(open.leaf->Finalize(), 2u);
      },
  };
  constexpr char kAdvice[] = "this message is sealed";
  for (size_t i = 0; i < std::size(widenings); ++i) {
    SCOPED_TRACE(i);
    OpenMessages open;
    EXPECT_EQ(open.leaf->Finalize(), 2u);
    widenings[i](open);
    EXPECT_MISTAKE(open.leaf->AppendTinyVarInt(7, 7), kAdvice);
    EXPECT_MISTAKE(open.leaf->AppendVarInt(7, 7), kAdvice);
    EXPECT_MISTAKE(open.leaf->AppendFixed(7, 7.0), kAdvice);
    EXPECT_MISTAKE(open.leaf->AppendString(7, "seven"), kAdvice);
    EXPECT_MISTAKE(open.leaf->BeginNestedMessage<Message>(7), kAdvice);
    open.levels[2]->AppendTinyVarInt(3, 3);
    EXPECT_MISTAKE(open.leaf->AppendTinyVarInt(7, 7), kAdvice);
    EXPECT_MISTAKE(open.leaf->AppendString(7, "seven"), kAdvice);
    open.ExpectFinalBytes({}, {NumberField(Kind::kTiny, 3, 3)});
    EXPECT_MISTAKE(open.leaf->AppendTinyVarInt(7, 7), kAdvice);
  }
}

TEST(MessageWidthTest, RawBytesBehindAFinalizedMessageAreItsParents) {
  OpenMessages open;
  open.leaf->Finalize();
  open.stream.Write("18 03");
  open.levels[2]->AppendTinyVarInt(4, 4);
  open.ExpectFinalBytes(
      {}, {NumberField(Kind::kTiny, 3, 3), NumberField(Kind::kTiny, 4, 4)});
}

// Ends of streams

TEST(MessageWidthTest, ChunksOfAnySizeHoldWhatTheyHoldAndNothingElse) {
  MessageTree tree{NumberField(Kind::kSigned, 536870911, -1)};
  for (uint32_t i = 1; i <= 4; ++i) {
    tree = {NumberField(Kind::kTiny, i, i), NestedField(i, std::move(tree)),
            BytesField(i, "abcdefghij")};
  }
  for (size_t chunk_size = 4; chunk_size <= 40; ++chunk_size) {
    const std::string expected = EncodeTree(tree, {chunk_size});
    for (size_t chunks = 0; chunks <= 12; ++chunks) {
      ChunkedStream stream(chunk_size, chunks);
      RootMessage<> root(&stream.writer);
      WriteTree(tree, &root);
      const uint32_t size = root.Finalize();
      EXPECT_EQ(stream.delegate.Complaints(), "");
      if (stream.writer.ok()) {
        EXPECT_EQ(size, expected.size());
        EXPECT_EQ(stream.Bytes(), Hex(expected));
      } else {
        EXPECT_EQ(size, 0u);
        EXPECT_EQ(stream.writer.status(), WriteStatus::kOutOfBuffer);
        EXPECT_EQ(stream.delegate.num_chunks(), chunks);
      }
    }
  }
  // Chunks smaller than a patch are not allowed. No byte outside is touched.
  for (size_t chunk_size = 1; chunk_size < 4; ++chunk_size) {
    ChunkedStream stream(chunk_size, 1000);
    RootMessage<> root(&stream.writer);
    WriteTree(tree, &root);
    EXPECT_EQ(root.Finalize(), 0u);
    EXPECT_EQ(stream.writer.status(), WriteStatus::kOutOfBuffer);
    EXPECT_EQ(stream.delegate.Complaints(), "");
  }
}

TEST(MessageWidthTest, AnErrorOnAnyLevelSealsAllLevels) {
  for (size_t chunk_size = 23; chunk_size < 60; ++chunk_size) {
    ChunkedStream stream(chunk_size, 1);
    RootMessage<> root(&stream.writer);
    WriteTree({kFirst}, &root);
    Message* child = root.BeginNestedMessage<Message>(1);
    Message* grandchild = child->BeginNestedMessage<Message>(2);
    while (stream.writer.ok())
      grandchild->AppendVarInt(3, 300);
    grandchild->AppendString(1, std::string(1000, 'x'));
    child->AppendVarInt(4, 4);
    child->BeginNestedMessage<Message>(2)->AppendString(1, "abc");
    root.AppendVarInt(5, 5);
    EXPECT_GT(stream.writer.written(), 1000u);
    EXPECT_EQ(root.Finalize(), 0u);
    EXPECT_EQ(stream.delegate.Complaints(), "");
  }
}

TEST(MessageWidthTest, OpenMessagesEndWithTheirRootAsTheyStand) {
  for (const bool look : {false, true}) {
    // On some processors, all messages are wide from the start.
    const bool are_wide = look || internal::kInlineEncodingMask == 0;
    OpenMessages open;
    if (look) {
      EXPECT_EQ(open.stream.writer.written(), 23u);
    }
    open.root.Reset(&open.stream.writer);
    for (size_t level = 1; level <= OpenMessages::kLevels; ++level)
      EXPECT_TRUE(open.levels[level]->is_finalized());
    EXPECT_MISTAKE(open.leaf->AppendTinyVarInt(7, 7), "sealed");
    // The messages are not widened any more, because their chunk may be gone.
    EXPECT_EQ(open.stream.writer.written(), are_wide ? 23u : 14u);
    if (are_wide)
      open.ExpectAllAreWide();
    open.root.BeginNestedMessage<Message>(1)->AppendTinyVarInt(1, 1);
    EXPECT_EQ(open.root.Finalize(), 4u);
    EXPECT_EQ(open.stream.delegate.Complaints(), "");
  }
}

// Runs in static initialization, perhaps before the library's own.
std::string WriteAtStartup() {
  ChunkedStream stream(64);
  RootMessage<> root(&stream.writer);
  root.AppendVarInt(1, 1);
  Message* child = root.BeginNestedMessage<Message>(1);
  child->AppendVarInt(1, uint64_t{1} << 40);
  child->AppendString(2, "startup");
  child->BeginNestedMessage<Message>(3)->AppendString(4, std::string(50, 'x'));
  root.Finalize();
  return stream.Bytes();
}
// NOLINTNEXTLINE(cert-err58-cpp): the point of it.
const std::string written_at_startup = WriteAtStartup();

TEST(MessageWidthTest, TheSameBytesAreWrittenBeforeMain) {
  EXPECT_EQ(written_at_startup, WriteAtStartup());
}

}  // namespace
}  // namespace protozero
