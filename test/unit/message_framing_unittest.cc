// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Root messages that the caller frames: the tests check which bytes go to the
// stream while a message is open on it, and which the message's size counts.

#include <stdint.h>
#include <string.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/message_handle.h"
#include "protozero/root_message.h"
#include "protozero/scattered_stream_writer.h"
#include "test/testing/chunked_delegate.h"
#include "test/testing/hex.h"

namespace protozero {
namespace {

using test::ChunkedDelegate;
using test::Hex;

class FramingStream {
 public:
  explicit FramingStream(
      std::vector<size_t> chunk_sizes = {1000},
      ChunkedDelegate::Patches patches = ChunkedDelegate::Patches::kInPlace)
      : delegate(std::move(chunk_sizes), patches), writer(&delegate) {
    delegate.set_writer(&writer);
    message.Reset(&writer);
  }

  uint8_t* ReserveSizeField() {
    uint8_t* const size_field = writer.ReserveBytes(4);
    memset(size_field, 0, 4);
    return size_field;
  }
  void Write(std::initializer_list<uint8_t> bytes) {
    writer.WriteBytes(bytes.begin(), bytes.size());
  }
  void ExpectAmbiguousSize() {
    EXPECT_EQ(message.Finalize(), 0u);
    EXPECT_EQ(writer.status(), WriteStatus::kAmbiguousSize);
  }
  std::string Bytes() { return Hex(delegate.Bytes()); }

  ChunkedDelegate delegate;
  ScatteredStreamWriter writer;
  RootMessage<> message;
};

TEST(MessageFramingTest, WhatComesBeforeTheFirstFieldIsNotCounted) {
  FramingStream stream;
  stream.writer.WriteByte(0x0a);
  stream.message.set_size_field(stream.ReserveSizeField());
  stream.message.AppendVarInt(1, 150);
  EXPECT_EQ(stream.message.Finalize(), 3u);
  EXPECT_EQ(stream.Bytes(), "0a 03 08 96 01");
  EXPECT_TRUE(stream.writer.ok());
}

TEST(MessageFramingTest, TheSizeFieldMayComeAfterTheFirstField) {
  FramingStream stream;
  stream.writer.WriteByte(0x0a);
  uint8_t* const size_field = stream.ReserveSizeField();
  stream.message.AppendVarInt(1, 150);
  stream.message.set_size_field(size_field);
  EXPECT_EQ(stream.message.Finalize(), 3u);
  EXPECT_EQ(stream.Bytes(), "0a 03 08 96 01");
}

TEST(MessageFramingTest, AnEmptyMessageHasSizeZero) {
  FramingStream stream;
  stream.writer.WriteByte(0x0a);
  stream.message.set_size_field(stream.ReserveSizeField());
  EXPECT_EQ(stream.message.Finalize(), 0u);
  EXPECT_EQ(stream.Bytes(), "0a 00");
}

TEST(MessageFramingTest, LongMessagesKeepFourBytes) {
  FramingStream stream;
  stream.writer.WriteByte(0x0a);
  stream.message.set_size_field(stream.ReserveSizeField());
  stream.message.BeginNestedMessage<Message>(1)->AppendString(
      2, std::string(200, 'a'));
  EXPECT_EQ(stream.message.Finalize(), 208u);
  EXPECT_EQ(stream.Bytes().substr(0, 32), "0a d0 81 80 00 0a cb 81 80 00 12");
}

TEST(MessageFramingTest, TheNextMessageOfTheStreamIsFramedLikewise) {
  FramingStream stream;
  for (int i = 0; i < 3; ++i) {
    stream.writer.WriteByte(0x0a);
    stream.message.set_size_field(stream.ReserveSizeField());
    stream.message.AppendVarInt(1, i);
    EXPECT_EQ(stream.message.Finalize(), 2u);
    stream.message.Reset(&stream.writer);
  }
  EXPECT_EQ(stream.Bytes(), "0a 02 08 00 0a 02 08 01 0a 02 08 02");
}

TEST(MessageFramingTest, AMessageWithoutASizeFieldCountsItsFieldsOnly) {
  FramingStream stream;
  stream.Write({0x0a, 0x03});
  stream.message.AppendVarInt(1, 150);
  EXPECT_EQ(stream.message.Finalize(), 3u);
  EXPECT_EQ(stream.Bytes(), "0a 03 08 96 01");
}

TEST(MessageFramingTest, WhatComesBeforeTheFirstFieldMayCrossChunks) {
  for (const bool is_redirected : {false, true}) {
    for (size_t chunk_size = 4; chunk_size < 30; ++chunk_size) {
      for (size_t before = 0; before < 2 * chunk_size; ++before) {
        SCOPED_TRACE(testing::Message() << chunk_size << " " << before);
        FramingStream stream(
            {chunk_size}, is_redirected ? ChunkedDelegate::Patches::kRedirect
                                        : ChunkedDelegate::Patches::kInPlace);
        for (size_t i = 0; i < before; ++i)
          stream.writer.WriteByte(0x01);
        stream.writer.WriteByte(0x0a);
        stream.message.set_size_field(stream.ReserveSizeField());
        stream.message.AppendString(1, "0123456789");
        stream.message.AppendVarInt(1, 150);
        EXPECT_EQ(stream.message.Finalize(), 15u);
        std::string header;
        for (size_t i = 0; i < before; ++i)
          header += "01 ";
        const std::string rest =
            " 0a 0a 30 31 32 33 34 35 36 37 38 39 08 96 01";
        const std::string bytes = stream.Bytes();
        EXPECT_TRUE(bytes == header + "0a 0f" + rest ||
                    bytes == header + "0a 8f 80 80 00" + rest)
            << bytes;
        EXPECT_EQ(stream.delegate.Complaints(), "");
      }
    }
  }
}

// Bytes in the middle of a message.

TEST(MessageFramingTest, WhatComesAfterTheFirstFieldIsCounted) {
  FramingStream stream;
  stream.writer.WriteByte(0x0a);
  stream.message.set_size_field(stream.ReserveSizeField());
  stream.message.AppendVarInt(1, 1);
  stream.Write({0x10, 0x02});
  stream.message.AppendVarInt(3, 3);
  stream.Write({0x20, 0x04});
  EXPECT_EQ(stream.message.Finalize(), 8u);
  EXPECT_EQ(stream.Bytes(), "0a 08 08 01 10 02 18 03 20 04");
}

TEST(MessageFramingTest, AStreamThatWasTakenFromAHandleIsTheMessages) {
  for (const bool has_size_field : {false, true}) {
    FramingStream stream;
    stream.writer.WriteByte(0x0a);
    uint8_t* const size_field = stream.ReserveSizeField();
    if (has_size_field)
      stream.message.set_size_field(size_field);
    ScatteredStreamWriter* const raw =
        MessageHandle<Message>(&stream.message).TakeStreamWriter();
    // This takes the cursor and writes nothing.
    stream.message.AppendRawProtoBytes(nullptr, 0);
    raw->WriteByte(0x08);
    raw->WriteByte(0x01);
    stream.message.AppendVarInt(2, 2);
    stream.message.set_size_field(size_field);
    EXPECT_EQ(stream.message.Finalize(), 4u);
    EXPECT_EQ(stream.Bytes(), "0a 04 08 01 10 02");
  }
}

// Errors, because it would be unclear which bytes the size counts.

TEST(MessageFramingTest, BytesBetweenTheSizeFieldAndTheFirstFieldAreAnError) {
  for (const size_t chunk_size : {size_t{4}, size_t{7}, size_t{100}}) {
    for (const bool has_field : {false, true}) {
      FramingStream stream({chunk_size});
      stream.writer.WriteByte(0x0a);
      stream.message.set_size_field(stream.ReserveSizeField());
      stream.Write({0x10, 0x02});
      if (has_field)
        stream.message.AppendVarInt(1, 150);
      stream.ExpectAmbiguousSize();
    }
  }
}

TEST(MessageFramingTest, BytesBehindASizeFieldElsewhereAreAnErrorAsWell) {
  for (const bool has_field : {false, true}) {
    FramingStream stream;
    uint8_t elsewhere[4] = {};
    stream.message.set_size_field(elsewhere);
    stream.Write({0x10, 0x02});
    if (has_field)
      stream.message.AppendVarInt(1, 150);
    stream.ExpectAmbiguousSize();
    EXPECT_EQ(Hex(elsewhere, 4), "00 00 00 00");
  }
}

TEST(MessageFramingTest, ASizeFieldThatIsGivenAgainIsTheLastOne) {
  FramingStream stream;
  uint8_t elsewhere[4] = {};
  stream.message.set_size_field(elsewhere);
  stream.writer.WriteByte(0x0a);
  stream.message.set_size_field(stream.ReserveSizeField());
  stream.message.AppendVarInt(1, 150);
  EXPECT_EQ(stream.message.Finalize(), 3u);
  EXPECT_EQ(stream.Bytes(), "0a 03 08 96 01");
  EXPECT_EQ(Hex(elsewhere, 4), "00 00 00 00");
}

TEST(MessageFramingTest, ASizeFieldInTheMidstOfAMessageIsAnError) {
  FramingStream stream;
  stream.message.AppendVarInt(1, 1);
  stream.writer.WriteByte(0x0a);
  stream.message.set_size_field(stream.ReserveSizeField());
  stream.message.AppendVarInt(1, 150);
  stream.ExpectAmbiguousSize();
}

TEST(MessageFramingTest, ASizeFieldInTheMidstOfANestedMessageIsAnError) {
  FramingStream stream;
  Message* const child = stream.message.BeginNestedMessage<Message>(1);
  Message* const grandchild = child->BeginNestedMessage<Message>(1);
  stream.writer.WriteByte(0x0a);
  child->set_size_field(stream.ReserveSizeField());
  grandchild->AppendVarInt(1, 150);
  stream.ExpectAmbiguousSize();
}

TEST(MessageFramingTest, ASizeFieldThatMayBeInAnEarlierChunkIsAnError) {
  FramingStream stream({8});
  stream.message.AppendVarInt(1, 1);
  stream.writer.WriteByte(0x0a);
  uint8_t* const size_field = stream.ReserveSizeField();
  stream.message.AppendString(1, "0123456789");
  stream.message.set_size_field(size_field);
  stream.ExpectAmbiguousSize();
}

// Messages around the two innermost ones are frozen when a chunk is left.
TEST(MessageFramingTest, AFrozenMessageKnowsWhichBytesItCounts) {
  struct Chunks : ScatteredStreamWriter::Delegate {
    ContiguousMemoryRange GetNewBuffer() override {
      next += 20;
      return {next - 20, next};
    }
    uint8_t memory[100] = {};
    uint8_t* next = memory + 4;
  };
  for (const bool is_inside : {false, true}) {
    for (int level = 0; level < 4; ++level) {
      Chunks chunks;
      ScatteredStreamWriter writer(&chunks);
      RootMessage<> root(&writer);
      Message* open[4] = {&root};
      for (size_t i = 1; i < 4; ++i)
        open[i] = open[i - 1]->BeginNestedMessage<Message>(1);
      open[3]->AppendString(1, "0123456789");
      // The other place is in front of all chunks.
      open[level]->set_size_field(is_inside ? writer.ReserveBytes(4)
                                            : chunks.memory);
      EXPECT_EQ(root.Finalize() == 0, is_inside);
      EXPECT_EQ(writer.status(),
                is_inside ? WriteStatus::kAmbiguousSize : WriteStatus::kOk);
      EXPECT_EQ(chunks.memory[0] != 0, !is_inside);
    }
  }
}

TEST(MessageFramingTest, ASizeFieldInFrontOfALongMessageMayComeLast) {
  FramingStream stream({8});
  stream.writer.WriteByte(0x0a);
  uint8_t* const size_field = stream.ReserveSizeField();
  stream.message.AppendString(1, "0123456789");
  stream.message.set_size_field(size_field);
  EXPECT_EQ(stream.message.Finalize(), 12u);
  EXPECT_EQ(stream.Bytes(),
            "0a 8c 80 80 00 0a 0a 30 31 32 33 34 35 36 37 38 39");
}

}  // namespace
}  // namespace protozero
