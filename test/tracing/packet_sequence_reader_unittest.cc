// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/packet_sequence_reader.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "test/testing/hex.h"

namespace protozero::test {
namespace {

class PacketSequenceReaderTest : public testing::Test {
 protected:
  enum : int { kContinues = 1, kIsContinued = 2, kNeedsPatching = 4 };

  void Add(ChunkID chunk_id,
           uint16_t num_packets,
           std::string_view hex,
           int flags = 0) {
    ChunkCopy chunk;
    chunk.chunk_id = chunk_id;
    chunk.writer_id = 1;
    chunk.num_packets = num_packets;
    chunk.continues_from_previous = (flags & kContinues) != 0;
    chunk.continues_on_next = (flags & kIsContinued) != 0;
    chunk.needs_patching = (flags & kNeedsPatching) != 0;
    const std::string bytes = FromHex(hex);
    chunk.payload.assign(bytes.begin(), bytes.end());
    reader_.AddChunk(std::move(chunk));
  }

  // What came out since the last call; an exclamation mark in front of what
  // follows a loss.
  std::vector<std::string> Packets() {
    std::vector<std::string> packets;
    packets.swap(packets_);
    return packets;
  }
  using Strings = std::vector<std::string>;

  std::vector<std::string> packets_;
  PacketSequenceReader reader_{[this](std::string_view bytes, bool dropped) {
    packets_.push_back((dropped ? "!" : "") + Hex(bytes));
  }};
};

TEST_F(PacketSequenceReaderTest, RecordsAreCountedAndLengthsTakeAnyForm) {
  Add(0, 3, "01 aa 82 80 80 00 bb bb 81 00 cc 01 dd");
  EXPECT_EQ(Packets(), (Strings{"aa", "bb bb", "cc"}));
}

TEST_F(PacketSequenceReaderTest, EmptyRecordsAreNoPackets) {
  Add(0, 4, "00 01 aa 00 00");
  EXPECT_EQ(Packets(), Strings{"aa"});
  EXPECT_EQ(reader_.stats().corrupt_chunks, 0u);
}

TEST_F(PacketSequenceReaderTest, FragmentsArePutTogether) {
  Add(0, 2, "01 aa 02 b1 b2", kIsContinued);
  EXPECT_EQ(Packets(), Strings{"aa"});
  Add(1, 1, "01 b3", kContinues | kIsContinued);
  EXPECT_EQ(Packets(), Strings{});
  Add(2, 2, "01 b4 01 cc", kContinues);
  EXPECT_EQ(Packets(), (Strings{"b1 b2 b3 b4", "cc"}));
}

TEST_F(PacketSequenceReaderTest, ChunkIdsWrapAround) {
  Add(UINT32_MAX, 1, "01 aa", kIsContinued);
  Add(0, 1, "01 ab", kContinues);
  EXPECT_EQ(Packets(), Strings{"aa ab"});
  EXPECT_EQ(reader_.stats().gaps, 0u);
}

TEST_F(PacketSequenceReaderTest, GapIsReportedOnce) {
  Add(0, 1, "01 aa");
  Add(2, 2, "01 bb 01 cc");
  EXPECT_EQ(Packets(), (Strings{"aa", "!bb", "cc"}));
  EXPECT_EQ(reader_.stats().gaps, 1u);
}

TEST_F(PacketSequenceReaderTest, TornPacketIsNotDelivered) {
  Add(0, 1, "01 aa", kIsContinued);
  Add(2, 2, "01 ab 01 cc", kContinues);
  EXPECT_EQ(Packets(), Strings{"!cc"});
  Add(3, 1, "01 dd", kIsContinued);
  Add(4, 1, "01 ee");
  EXPECT_EQ(Packets(), Strings{"!ee"});
  Add(5, 2, "01 ff 01 11", kContinues);
  EXPECT_EQ(Packets(), Strings{"!11"});
  EXPECT_EQ(reader_.stats().orphans, 2u);
}

TEST_F(PacketSequenceReaderTest, DropMarkerEndsPacketAndChunk) {
  Add(0, 2, "01 aa 01 bb", kIsContinued);
  Add(1, 2, "ff ff ff 7f 01 cc", kContinues);
  Add(2, 1, "01 dd");
  EXPECT_EQ(Packets(), (Strings{"aa", "!dd"}));
  EXPECT_EQ(reader_.stats().drop_markers, 1u);
  EXPECT_EQ(reader_.stats().corrupt_chunks, 0u);
}

TEST_F(PacketSequenceReaderTest, CorruptChunkCostsItsRest) {
  const char* const kCorrupt[] = {
      "01 aa 03 bb bb", "01 aa 80 80 80 80 00", "01 aa",
      "01 aa 80",       "01 aa fe ff ff 7f bb",
  };
  ChunkID chunk_id = 0;
  for (const char* hex : kCorrupt) {
    Add(chunk_id++, 2, hex);
    Add(chunk_id++, 1, "01 cc");
    const Strings packets = Packets();
    ASSERT_EQ(packets.size(), 2u) << hex;
    EXPECT_EQ(packets[1], "!cc");
  }
  EXPECT_EQ(reader_.stats().corrupt_chunks, 5u);
}

TEST_F(PacketSequenceReaderTest, ChunkWaitsForItsPatches) {
  Add(0, 1, "01 aa");
  Add(1, 1, "05 1a 00 00 00 00", kNeedsPatching | kIsContinued);
  Add(2, 2, "01 bb 01 cc", kContinues);
  EXPECT_EQ(Packets(), Strings{"aa"});
  const uint8_t size[] = {0x81, 0x80, 0x80, 0x00};
  EXPECT_FALSE(reader_.AddPatch(2, 1, size));
  EXPECT_FALSE(reader_.AddPatch(1, 3, size));
  EXPECT_TRUE(reader_.AddPatch(1, 2, size));
  EXPECT_EQ(Packets(), Strings{});
  EXPECT_FALSE(reader_.FinishPatching(3));
  EXPECT_TRUE(reader_.FinishPatching(1));
  EXPECT_EQ(Packets(), (Strings{"1a 81 80 80 00 bb", "cc"}));
  EXPECT_FALSE(reader_.FinishPatching(1));
  EXPECT_EQ(reader_.stats().failed_patches, 2u);
}

TEST_F(PacketSequenceReaderTest, PacketsAreLimited) {
  ChunkCopy chunk;
  chunk.num_packets = 1;
  chunk.continues_on_next = true;
  chunk.payload.assign(4 + 65000, 0);
  const uint8_t length[] = {0xe8, 0xfb, 0x83, 0x00};
  chunk.ApplyPatch(0, length);
  for (size_t i = 0; i < 1100; ++i) {
    chunk.chunk_id = static_cast<ChunkID>(i);
    chunk.continues_from_previous = i != 0;
    reader_.AddChunk(chunk);
  }
  EXPECT_EQ(reader_.stats().oversized_packets, 1u);
  Add(1100, 2, "01 aa 01 bb", kContinues);
  EXPECT_EQ(Packets(), Strings{"!bb"});
}

TEST_F(PacketSequenceReaderTest, ChunksThatWaitAreLimited) {
  ChunkCopy chunk;
  chunk.payload.assign(65000, 0);
  chunk.num_packets = 1;
  for (size_t i = 0; i < 1100; ++i) {
    chunk.chunk_id = static_cast<ChunkID>(i);
    chunk.needs_patching = i % 500 == 0;
    reader_.AddChunk(chunk);
    ASSERT_LE(reader_.num_waiting_chunks(),
              PacketSequenceReader::kMaxWaitingBytes / 65000 + 1);
  }
  EXPECT_EQ(reader_.stats().unpatched_chunks, 1u);
}

}  // namespace
}  // namespace protozero::test
