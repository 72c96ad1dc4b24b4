// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/trace_buffer.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "test/testing/hex.h"

namespace protozero::test {
namespace {

using service::TraceBuffer;
using Strings = std::vector<std::string>;
using Policy = BufferFillPolicy;

enum : int {
  kContinues = 1,
  kIsContinued = 2,
  kNeedsPatching = 4,
  kIncomplete = 8,
  kScraped = 16
};

ChunkCopy MakeChunk(WriterID writer_id,
                    ChunkID chunk_id,
                    uint16_t num_packets,
                    const std::string& payload,
                    int flags = 0) {
  ChunkCopy chunk;
  chunk.chunk_id = chunk_id;
  chunk.writer_id = writer_id;
  chunk.num_packets = num_packets;
  chunk.continues_from_previous = (flags & kContinues) != 0;
  chunk.continues_on_next = (flags & kIsContinued) != 0;
  chunk.needs_patching = (flags & kNeedsPatching) != 0;
  chunk.is_complete = (flags & kIncomplete) == 0;
  chunk.is_scraped = (flags & kScraped) != 0;
  chunk.payload.assign(payload.begin(), payload.end());
  return chunk;
}

// Returns a packet of |size| bytes, with a length of four.
std::string Fragment(size_t size, char fill) {
  std::string bytes;
  for (size_t i = 0; i < 4; ++i)
    bytes += static_cast<char>((size >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
  return bytes + std::string(size, fill);
}

class TraceBufferTest : public testing::Test {
 protected:
  TraceBufferTest() { Start(1 << 20, Policy::kRingBuffer); }

  void Start(size_t size, Policy policy) {
    buffer_ = std::make_unique<TraceBuffer>(size, policy);
  }

  void Add(ChunkID chunk_id,
           uint16_t num_packets,
           std::string_view hex,
           int flags = 0) {
    AddOf(1, chunk_id, num_packets, FromHex(hex), flags);
  }
  void AddOf(WriterID writer_id,
             ChunkID chunk_id,
             uint16_t num_packets,
             const std::string& payload,
             int flags = 0) {
    buffer_->AddChunk(
        kProducer, MakeChunk(writer_id, chunk_id, num_packets, payload, flags));
  }

  void Patch(ChunkID chunk_id, uint32_t offset, bool has_more = false) {
    const CommitDataRequest::Patch patch = {offset, {0x81, 0x80, 0x80, 0x00}};
    buffer_->PatchChunk(kProducer.id, {1, 1, chunk_id, &patch, 1, has_more});
  }
  void FinishPatching(ChunkID chunk_id) {
    buffer_->PatchChunk(kProducer.id, {1, 1, chunk_id, nullptr, 0});
  }

  // Returns the packets that can be read, with an exclamation mark in front of
  // each that follows a loss.
  Strings Packets(bool is_final = false) {
    Strings packets;
    const auto read = [&](const TraceBuffer::Packet& packet) {
      EXPECT_EQ(packet.producer.id, kProducer.id);
      packets.push_back((packet.previous_packet_dropped ? "!" : "") +
                        Hex(packet.bytes.ToStdStringView()));
      return true;
    };
    EXPECT_FALSE(buffer_->ReadPackets(SIZE_MAX, is_final, read));
    return packets;
  }
  // Returns only the first byte and the size of each.
  Strings ShortPackets(bool is_final = false) {
    Strings packets;
    buffer_->ReadPackets(
        SIZE_MAX, is_final, [&](const TraceBuffer::Packet& packet) {
          packets.push_back((packet.previous_packet_dropped ? "!" : "") +
                            std::string(1, char(packet.bytes.data[0])) +
                            std::to_string(packet.bytes.size));
          return true;
        });
    return packets;
  }
  TraceBufferStats stats() { return buffer_->stats(); }
  TraceWriterStats writer_stats() {
    std::vector<TraceWriterStats> writers;
    buffer_->AppendWriterStats(&writers);
    return writers.empty() ? TraceWriterStats() : writers.front();
  }

  static constexpr TraceBuffer::ProducerIdentity kProducer = {7, 1000, 1234};
  std::unique_ptr<TraceBuffer> buffer_;
  ChunkID chunk_id_ = 0;
};

TEST_F(TraceBufferTest, FragmentsAreCountedAndLengthsTakeAnyForm) {
  Add(0, 3, "01 aa 82 80 80 00 bb bb 81 00 cc 01 dd");
  EXPECT_EQ(Packets(), (Strings{"aa", "bb bb", "cc"}));
  EXPECT_EQ(Packets(), Strings{});
  EXPECT_EQ(buffer_->used_bytes(), 0u);
}

TEST_F(TraceBufferTest, EmptyFragmentsAreNoPackets) {
  Add(0, 4, "00 01 aa 00 00");
  Add(1, 0, "01 bb");
  Add(2, 1, "00", kIsContinued);
  Add(3, 1, "00", kContinues);
  Add(4, 1, "01 cc");
  EXPECT_EQ(Packets(), (Strings{"aa", "cc"}));
  EXPECT_EQ(stats().abi_violations, 0u);
  EXPECT_EQ(writer_stats().packets_written, 2u);
}

TEST_F(TraceBufferTest, FragmentsArePutTogether) {
  Add(0, 2, "01 aa 02 b1 b2", kIsContinued);
  EXPECT_EQ(Packets(), Strings{"aa"});
  Add(1, 1, "01 b3", kContinues | kIsContinued);
  EXPECT_EQ(Packets(), Strings{});
  Add(2, 2, "01 b4 01 cc", kContinues);
  EXPECT_EQ(Packets(), (Strings{"b1 b2 b3 b4", "cc"}));
  EXPECT_EQ(stats().readaheads_succeeded, 1u);
  EXPECT_EQ(stats().readaheads_failed, 0u);
  EXPECT_EQ(writer_stats().packets_written, 3u);
  EXPECT_EQ(writer_stats().packets_read, 3u);
}

TEST_F(TraceBufferTest, ChunkIdsWrapAround) {
  Add(UINT32_MAX, 1, "01 aa", kIsContinued);
  Add(0, 1, "01 ab", kContinues);
  Add(1, 1, "01 ac");
  EXPECT_EQ(Packets(), (Strings{"aa ab", "ac"}));
}

TEST_F(TraceBufferTest, ChunksOfLaterLapsAreNew) {
  // Three laps: each id comes again, with another packet.
  std::string packet = "00";
  for (uint32_t i = 0; i < 12; ++i) {
    packet[1] = static_cast<char>('0' + i % 10);
    Add((i % 4) << 30, 1, "01 " + packet);
    EXPECT_EQ(Packets(true), Strings{(i == 0 ? "" : "!") + packet});
    // A copy of an earlier chunk is no later one.
    if (i != 0)
      Add(((i - 1) % 4) << 30, 1, "01 ff");
    EXPECT_EQ(Packets(true), Strings{});
  }
  EXPECT_EQ(writer_stats().packets_written, 12u);
  EXPECT_EQ(writer_stats().losses, 11u);
}

TEST_F(TraceBufferTest, ChunksAroundTheWrapMayComeLateAndMayBeMissing) {
  Add(UINT32_MAX - 1, 1, "01 aa");
  Add(1, 1, "01 dd");
  Add(0, 1, "01 cc");
  EXPECT_EQ(Packets(), Strings{"aa"});
  Add(UINT32_MAX, 1, "01 bb");
  EXPECT_EQ(Packets(), (Strings{"bb", "cc", "dd"}));
  Start(1 << 20, Policy::kRingBuffer);
  Add(UINT32_MAX - 1, 1, "01 aa");
  Add(0, 1, "01 cc");
  EXPECT_EQ(Packets(true), (Strings{"aa", "!cc"}));
  EXPECT_EQ(writer_stats().losses, 1u);
}

TEST_F(TraceBufferTest, ChunksThatComeLateAreWaitedFor) {
  Add(1, 1, "01 bb");
  Add(0, 1, "01 aa");
  EXPECT_EQ(Packets(), (Strings{"aa", "bb"}));
  Add(4, 1, "01 ee");
  EXPECT_EQ(Packets(), Strings{});
  Add(3, 1, "01 dd");
  EXPECT_EQ(Packets(), Strings{});
  Add(2, 1, "01 cc");
  EXPECT_EQ(Packets(), (Strings{"cc", "dd", "ee"}));
  EXPECT_EQ(stats().chunks_committed_out_of_order, 3u);
}

TEST_F(TraceBufferTest, ScrapedChunkIsNotTheFirst) {
  // The chunk before this one is on its way.
  Add(6, 1, "01 bb", kContinues | kScraped);
  Add(7, 1, "01 cc", kIncomplete | kScraped);
  EXPECT_EQ(Packets(), Strings{});
  Add(5, 1, "01 aa", kIsContinued);
  EXPECT_EQ(Packets(), (Strings{"aa bb", "cc"}));
  // The chunks before this one are known.
  Add(8, 1, "01 ee", kScraped);
  EXPECT_EQ(Packets(), Strings{});
  Add(7, 2, "01 cc 01 dd");
  EXPECT_EQ(Packets(), (Strings{"dd", "ee"}));
}

TEST_F(TraceBufferTest, NothingComesBeforeChunkZero) {
  Add(1, 1, "01 bb", kScraped);
  EXPECT_EQ(Packets(), Strings{});
  Add(0, 1, "01 aa", kScraped);
  EXPECT_EQ(Packets(), (Strings{"aa", "bb"}));
}

TEST_F(TraceBufferTest, ScrapedChunksAreReadWithoutOthersAtTheEnd) {
  Add(6, 1, "01 bb", kScraped);
  EXPECT_EQ(Packets(), Strings{});
  EXPECT_EQ(Packets(/*is_final=*/true), Strings{"bb"});
  AddOf(2, 6, 1, FromHex("01 cc"), kScraped);
  EXPECT_EQ(Packets(), Strings{});
  buffer_->EndWriter(kProducer.id, 2);
  EXPECT_EQ(Packets(), Strings{"cc"});
}

TEST_F(TraceBufferTest, ScrapedChunksMayBeOverwritten) {
  const size_t size = TraceBuffer::kChunkOverhead + 104;
  Start(2 * size, Policy::kRingBuffer);
  AddOf(1, 6, 1, Fragment(100, 'a'), kScraped);
  AddOf(1, 7, 1, Fragment(100, 'b'), kScraped);
  EXPECT_EQ(ShortPackets(), Strings{});
  AddOf(1, 8, 1, Fragment(100, 'c'), kScraped);
  EXPECT_EQ(ShortPackets(), Strings{});
  AddOf(1, 7, 1, Fragment(100, 'b'));
  EXPECT_EQ(ShortPackets(), (Strings{"!b100", "c100"}));
}

TEST_F(TraceBufferTest, HolesAreGivenUpAtTheEnd) {
  Add(0, 1, "01 aa");
  Add(2, 2, "01 bb 01 cc");
  EXPECT_EQ(Packets(), Strings{"aa"});
  EXPECT_EQ(Packets(true), (Strings{"!bb", "cc"}));
  EXPECT_EQ(writer_stats().losses, 1u);
  // It comes when it is no longer waited for.
  Add(1, 1, "01 ab");
  EXPECT_EQ(Packets(true), Strings{});
}

TEST_F(TraceBufferTest, HolesAreGivenUpWhenTheWriterHasEnded) {
  Add(0, 1, "01 aa");
  Add(2, 1, "01 bb");
  EXPECT_EQ(Packets(), Strings{"aa"});
  buffer_->EndWriter(kProducer.id, 2);
  EXPECT_EQ(Packets(), Strings{});
  buffer_->EndWriter(kProducer.id, 1);
  // Another writer may have its id already.
  Add(0, 1, "01 cc");
  EXPECT_EQ(Packets(), (Strings{"!bb", "cc"}));
}

TEST_F(TraceBufferTest, TornPacketIsNotDelivered) {
  Add(0, 1, "01 aa", kIsContinued);
  Add(2, 2, "01 ab 01 cc", kContinues);
  EXPECT_EQ(Packets(), Strings{});
  EXPECT_EQ(Packets(true), Strings{"!cc"});
  Add(3, 1, "01 dd", kIsContinued);
  Add(4, 1, "01 ee");
  EXPECT_EQ(Packets(), Strings{"!ee"});
  Add(5, 2, "01 ff 01 11", kContinues);
  EXPECT_EQ(Packets(), Strings{"!11"});
  EXPECT_EQ(stats().readaheads_failed, 2u);
  EXPECT_EQ(writer_stats().losses, 3u);
}

TEST_F(TraceBufferTest, DropMarkerEndsPacketAndChunk) {
  Add(0, 2, "01 aa 01 bb", kIsContinued);
  Add(1, 2, "ff ff ff 7f 01 cc", kContinues);
  Add(2, 1, "01 dd");
  EXPECT_EQ(Packets(), (Strings{"aa", "!dd"}));
  EXPECT_EQ(stats().trace_writer_packet_loss(), 1u);
  EXPECT_EQ(stats().abi_violations, 0u);
}

TEST_F(TraceBufferTest, CorruptChunkCostsItsRest) {
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
  EXPECT_EQ(stats().abi_violations, 5u);
}

TEST_F(TraceBufferTest, CorruptContinuationCostsThePacket) {
  Add(0, 1, "01 aa", kIsContinued);
  Add(1, 2, "05 bb", kContinues);
  Add(2, 1, "01 cc");
  Add(3, 1, "01 dd", kIsContinued);
  Add(4, 0, "", kContinues);
  Add(5, 1, "01 ee");
  EXPECT_EQ(Packets(), (Strings{"!cc", "!ee"}));
}

TEST_F(TraceBufferTest, LastPacketWaitsForItsPatches) {
  Add(0, 1, "01 aa");
  Add(1, 2, "01 ab 05 1a 00 00 00 00", kNeedsPatching | kIsContinued);
  Add(2, 2, "01 bb 01 cc", kContinues);
  EXPECT_EQ(Packets(), (Strings{"aa", "ab"}));
  Patch(2, 1);  // This chunk needs none.
  Patch(1, 5);  // This patch is too far behind.
  EXPECT_EQ(stats().patches_failed, 2u);
  FinishPatching(3);
  EXPECT_EQ(stats().patches_succeeded, 0u);
  EXPECT_EQ(Packets(), (Strings{"1a 00 00 00 00 bb", "cc"}));
}

TEST_F(TraceBufferTest, PatchesComeOneAfterTheOther) {
  Add(0, 1, "09 00 00 00 00 00 00 00 00 00", kNeedsPatching | kIsContinued);
  Add(1, 1, "05 11 00 00 00 00", kContinues | kIsContinued | kNeedsPatching);
  Add(2, 1, "01 bb", kContinues);
  Patch(0, 6, true);
  Patch(0, 1, false);
  EXPECT_EQ(Packets(), Strings{});
  Patch(1, 2, true);
  EXPECT_EQ(Packets(), Strings{});
  FinishPatching(1);
  EXPECT_EQ(Packets(), Strings{"81 80 80 00 00 81 80 80 00 11 81 80 80 00 bb"});
  Patch(1, 2);
  EXPECT_EQ(stats().patches_succeeded, 3u);
  EXPECT_EQ(stats().patches_failed, 1u);
  EXPECT_EQ(writer_stats().patches_succeeded, 3u);
  EXPECT_EQ(writer_stats().patches_failed, 1u);
}

// A patch may turn a fragment into anything.
TEST_F(TraceBufferTest, PacketsThatAPatchMakesAreCounted) {
  Add(0, 7, "00 00 00 00 00 00 01 aa", kNeedsPatching);
  Patch(0, 0);
  EXPECT_EQ(Packets(), (Strings{"00", "aa"}));
  EXPECT_EQ(stats().packets_begun, 2u);
  EXPECT_EQ(stats().packets_read, 2u);
}

TEST_F(TraceBufferTest, PatchedLengthsAreChecked) {
  Add(0, 3, "01 aa 01 bb 01 cc 00 00 00", kNeedsPatching);
  EXPECT_EQ(Packets(), (Strings{"aa", "bb"}));
  const CommitDataRequest::Patch patch = {3, {0xbb, 0xff, 0xff, 0xff}};
  buffer_->PatchChunk(kProducer.id, {1, 1, 0, &patch, 1});
  EXPECT_EQ(stats().patches_failed, 1u) << "what is not used is not kept";
  const CommitDataRequest::Patch patch2 = {2, {0xff, 0xff, 0xff, 0xff}};
  Add(1, 3, "01 aa 01 bb 01 cc", kNeedsPatching);
  EXPECT_EQ(Packets(), (Strings{"cc", "aa", "bb"}));
  buffer_->PatchChunk(kProducer.id, {1, 1, 1, &patch2, 1});
  Add(2, 1, "01 dd");
  EXPECT_EQ(Packets(), Strings{"!dd"});
}

TEST_F(TraceBufferTest, UnpatchedPacketOfADeadProducerIsLostAlone) {
  Add(0, 2, "01 aa 05 1a 00 00 00 00", kNeedsPatching | kIsContinued);
  Add(1, 1, "01 bb", kContinues | kIsContinued | kNeedsPatching);
  Add(2, 2, "01 bb 01 cc", kContinues);
  EXPECT_EQ(Packets(), Strings{"aa"});
  buffer_->EndProducer(kProducer.id);
  EXPECT_EQ(Packets(), Strings{"!cc"});
  EXPECT_EQ(buffer_->used_bytes(), 0u);
}

TEST_F(TraceBufferTest, IncompleteChunkIsReadOnWhenItIsComplete) {
  Add(0, 2, "01 aa 01 bb", kIncomplete);
  Add(1, 1, "01 ee");
  EXPECT_EQ(Packets(), (Strings{"aa", "bb"}));
  Add(0, 2, "01 aa 01 bb", kIncomplete);
  EXPECT_EQ(Packets(), Strings{});
  Add(0, 3, "01 aa 01 bb 01 cc", kIncomplete);
  EXPECT_EQ(Packets(), Strings{"cc"});
  Add(0, 4, "01 aa 01 bb 01 cc 01 dd");
  EXPECT_EQ(Packets(), (Strings{"dd", "ee"}));
  // A late copy comes once more.
  Add(0, 4, "01 aa 01 bb 01 cc 01 dd");
  EXPECT_EQ(Packets(), Strings{});
  EXPECT_EQ(stats().chunks_rewritten, 2u);
  EXPECT_EQ(stats().abi_violations, 0u);
  EXPECT_EQ(writer_stats().packets_written, 5u);
}

TEST_F(TraceBufferTest, IncompleteChunkMayBeContinued) {
  Add(0, 1, "01 aa", kIncomplete);
  EXPECT_EQ(Packets(), Strings{"aa"});
  Add(0, 2, "01 aa 01 bb", kIsContinued);
  Add(1, 1, "01 bc", kContinues | kIncomplete);
  EXPECT_EQ(Packets(), Strings{"bb bc"});
  Add(1, 2, "01 bc 01 cc", kContinues);
  EXPECT_EQ(Packets(), Strings{"cc"});
}

TEST_F(TraceBufferTest, IncompleteChunkIsGivenUpAtTheEnd) {
  Add(0, 1, "01 aa", kIncomplete);
  Add(1, 1, "01 bb");
  EXPECT_EQ(Packets(), Strings{"aa"});
  EXPECT_EQ(Packets(true), Strings{"!bb"});
}

TEST_F(TraceBufferTest, CopiesMayNotShrink) {
  Add(0, 2, "01 aa 01 bb", kIncomplete | kContinues);
  Add(0, 1, "01 aa", kContinues);
  Add(0, 2, "01 aa 01 bb");
  EXPECT_EQ(stats().abi_violations, 2u);
  // A committed chunk does not change any more.
  Add(0, 2, "01 aa 01 bb", kContinues);
  Add(0, 3, "01 aa 01 bb 01 cc", kContinues);
  EXPECT_EQ(Packets(), Strings{"!bb"});
}

// A packet that was read already may be different in the next copy.
TEST_F(TraceBufferTest, RewrittenCopiesAreReadWithinTheirBounds) {
  Add(0, 2, "02 aa aa 03 bb bb bb", kIncomplete);
  EXPECT_EQ(Packets().size(), 2u);
  Add(0, 4, "01 aa 05");
  EXPECT_EQ(Packets(), Strings{});
  Add(1, 1, "01 cc");
  EXPECT_EQ(Packets(), Strings{"!cc"});
}

TEST_F(TraceBufferTest, WritersDoNotConcernEachOther) {
  AddOf(1, 0, 1, FromHex("01 aa"), kIsContinued);
  AddOf(2, 1, 1, FromHex("01 bb"), kContinues);
  AddOf(2, 2, 1, FromHex("01 bc"));
  buffer_->AddChunk(TraceBuffer::ProducerIdentity{8, 0, 0},
                    MakeChunk(1, 1, 1, FromHex("01 dd"), kContinues));
  AddOf(1, 1, 1, FromHex("01 ab"), kContinues);
  std::vector<std::string> packets;
  uint32_t next_id = 2;
  const auto read = [&](const TraceBuffer::Packet& packet) {
    if (*packet.sequence_id == 0)
      *packet.sequence_id = next_id++;
    packets.push_back(std::to_string(packet.producer.id) + "." +
                      std::to_string(packet.writer_id) + "." +
                      std::to_string(*packet.sequence_id) + " " +
                      Hex(packet.bytes.ToStdStringView()));
    return true;
  };
  buffer_->ReadPackets(SIZE_MAX, false, read);
  AddOf(2, 3, 1, FromHex("01 be"));
  buffer_->ReadPackets(SIZE_MAX, false, read);
  EXPECT_EQ(packets, (Strings{"7.1.2 aa ab", "7.2.3 bc", "7.2.3 be"}));
}

TEST_F(TraceBufferTest, RefusedPacketIsALoss) {
  Add(0, 3, "01 aa 01 bb 01 cc");
  Strings packets;
  buffer_->ReadPackets(SIZE_MAX, false, [&](const TraceBuffer::Packet& packet) {
    const std::string hex = Hex(packet.bytes.ToStdStringView());
    if (hex == "bb")
      return false;
    packets.push_back((packet.previous_packet_dropped ? "!" : "") + hex);
    return true;
  });
  EXPECT_EQ(packets, (Strings{"aa", "!cc"}));
  EXPECT_EQ(writer_stats().packets_read, 2u);
  EXPECT_EQ(writer_stats().losses, 1u);
}

TEST_F(TraceBufferTest, ReadingStopsWhenThereIsEnough) {
  Add(0, 3, "02 aa aa 02 bb bb 02 cc cc");
  Strings packets;
  const auto read = [&](const TraceBuffer::Packet& packet) {
    packets.push_back(Hex(packet.bytes.ToStdStringView()));
    return true;
  };
  EXPECT_TRUE(buffer_->ReadPackets(3, false, read));
  EXPECT_EQ(packets, (Strings{"aa aa", "bb bb"}));
  buffer_->ReadPackets(3, false, read);
  EXPECT_EQ(packets.size(), 3u);
}

constexpr size_t kOverhead = TraceBuffer::kChunkOverhead;

TEST_F(TraceBufferTest, RingOverwritesTheOldest) {
  Start(3 * (kOverhead + 104), Policy::kRingBuffer);
  for (ChunkID i = 0; i < 5; ++i) {
    AddOf(1, i, 1, Fragment(100, static_cast<char>('a' + i)));
    ASSERT_LE(buffer_->used_bytes(), 3 * (kOverhead + 104));
  }
  EXPECT_EQ(ShortPackets(), (Strings{"!c100", "d100", "e100"}));
  EXPECT_EQ(stats().chunks_overwritten, 2u);
  EXPECT_EQ(stats().bytes_overwritten, 2 * (8 + 104u));
  EXPECT_EQ(stats().chunks_written, 5u);
  EXPECT_EQ(stats().chunks_read, 3u);
  EXPECT_EQ(stats().bytes_written, 5 * (8 + 104u));
  EXPECT_EQ(stats().write_wrap_count, 0u);
  EXPECT_EQ(writer_stats().chunks_overwritten, 2u);
}

TEST_F(TraceBufferTest, DiscardKeepsTheOldest) {
  Start(3 * (kOverhead + 104), Policy::kDiscard);
  for (ChunkID i = 0; i < 5; ++i)
    AddOf(1, i, 1, Fragment(100, static_cast<char>('a' + i)));
  EXPECT_EQ(ShortPackets(), (Strings{"a100", "b100", "c100"}));
  EXPECT_EQ(stats().chunks_discarded, 2u);
  EXPECT_EQ(writer_stats().chunks_discarded, 2u);
  // Reading makes room.
  AddOf(1, 5, 1, Fragment(100, 'f'));
  EXPECT_EQ(ShortPackets(), Strings{"!f100"});
}

TEST_F(TraceBufferTest, OnlyWhatIsUsedTakesRoom) {
  Start(kOverhead + 4, Policy::kDiscard);
  AddOf(1, 0, 1, FromHex("03 aa bb cc") + std::string(4000, 'x'));
  EXPECT_EQ(Packets(), Strings{"aa bb cc"});
}

TEST_F(TraceBufferTest, ChunkLargerThanTheBufferIsDiscarded) {
  Start(kOverhead + 10, Policy::kRingBuffer);
  AddOf(1, 0, 1, FromHex("03 aa bb cc"));
  AddOf(1, 1, 1, Fragment(100, 'x'));
  EXPECT_EQ(stats().chunks_discarded, 1u);
  EXPECT_EQ(stats().chunks_overwritten, 0u);
  AddOf(1, 2, 1, FromHex("01 dd"));
  EXPECT_EQ(Packets(), Strings{"!dd"});
}

TEST_F(TraceBufferTest, OverwrittenHeadCostsThePacket) {
  Start(3 * (kOverhead + 104), Policy::kRingBuffer);
  AddOf(1, 0, 1, Fragment(100, 'a'), kIsContinued);
  AddOf(1, 1, 1, Fragment(100, 'a'), kContinues | kIsContinued);
  AddOf(1, 2, 1, Fragment(100, 'a'), kContinues | kIsContinued);
  EXPECT_EQ(ShortPackets(), Strings{});
  AddOf(1, 3, 2, Fragment(50, 'a') + Fragment(46, 'b'), kContinues);
  EXPECT_EQ(ShortPackets(), Strings{"!b46"});
}

TEST_F(TraceBufferTest, DiscardedTailCostsThePacket) {
  Start(2 * (kOverhead + 104), Policy::kDiscard);
  AddOf(1, 0, 1, Fragment(100, 'a'), kIsContinued);
  AddOf(1, 1, 1, Fragment(100, 'a'), kContinues | kIsContinued);
  AddOf(1, 2, 1, Fragment(100, 'a'), kContinues);
  EXPECT_EQ(ShortPackets(), Strings{});
  EXPECT_EQ(buffer_->used_bytes(), 0u);
  AddOf(1, 3, 1, Fragment(100, 'b'));
  EXPECT_EQ(ShortPackets(), Strings{"!b100"});
}

TEST_F(TraceBufferTest, NoRoomForTheRestOfAChunk) {
  Start(2 * (kOverhead + 104), Policy::kDiscard);
  AddOf(1, 0, 1, Fragment(100, 'a'), kIncomplete);
  AddOf(2, 0, 1, Fragment(100, 'b'));
  AddOf(1, 0, 2, Fragment(100, 'a') + Fragment(100, 'c'));
  EXPECT_EQ(stats().chunks_discarded, 1u);
  EXPECT_EQ(ShortPackets(), (Strings{"a100", "b100"}));
  AddOf(1, 1, 1, Fragment(100, 'd'));
  EXPECT_EQ(ShortPackets(), Strings{"!d100"});
}

// A chunk that waits for its patches for ever is overwritten some time.
TEST_F(TraceBufferTest, UnpatchedChunksAreOverwrittenToo) {
  Start(3 * (kOverhead + 104), Policy::kRingBuffer);
  for (ChunkID i = 0; i < 5; ++i) {
    AddOf(1, i, 1, Fragment(100, static_cast<char>('a' + i)),
          i == 1 ? kNeedsPatching : 0);
    ShortPackets();
  }
  EXPECT_EQ(buffer_->used_bytes(), 0u);
  EXPECT_EQ(stats().chunks_overwritten, 1u);
}

TEST_F(TraceBufferTest, PacketsAreLimited) {
  Start(size_t{160} << 20, Policy::kRingBuffer);
  constexpr size_t kFragment = 65000;
  constexpr size_t kMaxFragments = TraceBuffer::kMaxPacketSize / kFragment;
  const auto add = [&](size_t num_fragments) {
    for (size_t i = 0; i < num_fragments; ++i) {
      AddOf(1, chunk_id_++, 1, Fragment(kFragment, 'a'),
            (i != 0 ? kContinues : 0) |
                (i + 1 != num_fragments ? kIsContinued : 0));
    }
  };
  add(kMaxFragments);
  add(kMaxFragments + 1);
  add(1);
  EXPECT_EQ(ShortPackets(),
            (Strings{"a" + std::to_string(kMaxFragments * kFragment),
                     "!a" + std::to_string(kFragment)}));
  EXPECT_EQ(buffer_->used_bytes(), 0u);
}

// The producer makes up writers all the time.
TEST_F(TraceBufferTest, EndedWritersAreForgotten) {
  Start(10 * (kOverhead + 104), Policy::kRingBuffer);
  for (int i = 0; i < 1000; ++i) {
    AddOf(1, 0, 1, Fragment(100, 'a'));
    buffer_->EndWriter(kProducer.id, 1);
  }
  std::vector<TraceWriterStats> writers;
  buffer_->AppendWriterStats(&writers);
  EXPECT_EQ(writers.size(), TraceBuffer::kMaxEndedWriters + 10);
  EXPECT_EQ(ShortPackets(), Strings(10, "a100"));
}

// Tests the ledger: each packet has one fate. Losses are written as
// "reason:packets".
class TraceBufferLedgerTest : public TraceBufferTest {
 protected:
  void Report(LossReason reason,
              uint64_t packets,
              uint64_t begun,
              WriterID writer_id = 1) {
    buffer_->ReportLosses(kProducer,
                          {1, writer_id, reason, packets, begun, 10 * packets});
  }
  void AddOpen(ChunkID chunk_id,
               uint16_t num_packets,
               std::string_view hex,
               OpenPacket open) {
    ChunkCopy chunk = MakeChunk(1, chunk_id, num_packets, FromHex(hex),
                                kIncomplete | kScraped);
    chunk.open_packet = open;
    buffer_->AddChunk(kProducer, chunk);
  }
  std::string Ledger() {
    const TraceBufferStats stats = buffer_->stats();
    std::string text = std::to_string(stats.packets_begun) + " begun, " +
                       std::to_string(stats.packets_read) + " read";
    for (size_t i = 0; i < kNumLossReasons; ++i) {
      if (stats.lost.packets[i] != 0) {
        text += ", " + std::to_string(i) + ":" +
                std::to_string(stats.lost.packets[i]);
      }
    }
    if (stats.unknown_losses != 0)
      text += ", " + std::to_string(stats.unknown_losses) + " unknown";
    return text;
  }
};

TEST_F(TraceBufferLedgerTest, WhatWritersReportIsLost) {
  Add(0, 2, "01 aa 01 bb");
  Report(LossReason::kMemoryFull, 3, 0);
  Report(LossReason::kStallTimedOut, 1, 0);
  Packets();
  EXPECT_EQ(Ledger(), "6 begun, 2 read, 1:3, 2:1");
  EXPECT_EQ(stats().lost.bytes, 40u);
  EXPECT_EQ(stats().trace_writer_packet_loss(), 4u);
  EXPECT_EQ(writer_stats().packets_begun, 6u);
}

TEST_F(TraceBufferLedgerTest, WriterThatLostItsOnlyPacketIsKnown) {
  Report(LossReason::kMemoryFull, 1, 0);
  buffer_->EndWriter(kProducer.id, 1);
  Packets(true);
  EXPECT_EQ(Ledger(), "1 begun, 0 read, 1:1");
  EXPECT_EQ(stats().writers_seen, 1u);
  EXPECT_EQ(writer_stats().lost.of(LossReason::kMemoryFull), 1u);
}

TEST_F(TraceBufferLedgerTest, WritersThatHaveEndedStayInTheSums) {
  for (WriterID writer = 1; writer <= 1000; ++writer) {
    AddOf(writer, 0, 1, FromHex("01 aa"));
    Report(LossReason::kMemoryFull, 2, 0, writer);
    buffer_->EndWriter(kProducer.id, writer);
    Packets();
  }
  EXPECT_EQ(Ledger(), "3000 begun, 1000 read, 1:2000");
  EXPECT_EQ(stats().writers_seen, 1000u);
}

TEST_F(TraceBufferLedgerTest, WriterWithoutAnIdIsInTheSums) {
  Report(LossReason::kNoWriterID, 5, 0, 0);
  EXPECT_EQ(Ledger(), "5 begun, 0 read, 4:5");
}

TEST_F(TraceBufferLedgerTest, SumsOfUntrustedNumbersStopAtTheLargest) {
  for (uint64_t i = 0; i < 3; ++i)
    Report(LossReason::kMemoryFull, UINT64_MAX, UINT64_MAX / 2 + i);
  Report(LossReason::kUnknown, UINT64_MAX, 0, 0);
  Report(static_cast<LossReason>(200), 1, 1);
  EXPECT_EQ(stats().lost.total(), UINT64_MAX);
  EXPECT_EQ(stats().packets_begun, UINT64_MAX);
}

TEST_F(TraceBufferLedgerTest, PacketThatWasGivenUpInItsMiddleIsLostOnce) {
  // A drop marker in the next chunk says that the packet is lost, and the
  // writer says why.
  Add(0, 2, "01 aa 01 bb", kIsContinued);
  Add(1, 1, "ff ff ff 7f", kContinues);
  Packets();
  EXPECT_EQ(Ledger(), "2 begun, 1 read, 0:1");
  Report(LossReason::kStallTimedOut, 1, 1);
  EXPECT_EQ(Ledger(), "2 begun, 1 read, 2:1");
}

TEST_F(TraceBufferLedgerTest, WriterMayEndBeforeItsDropMarker) {
  Add(0, 2, "01 aa 01 bb", kIsContinued);
  Report(LossReason::kStallTimedOut, 1, 1);
  buffer_->EndWriter(kProducer.id, 1);
  Packets(true);
  EXPECT_EQ(Ledger(), "2 begun, 1 read, 2:1");
}

TEST_F(TraceBufferLedgerTest, PacketThatIsGivenUpAndOverwrittenIsLostOnce) {
  Start(TraceBuffer::kChunkOverhead + 4, Policy::kRingBuffer);
  Add(0, 1, "01 aa", kIsContinued);
  Report(LossReason::kStallTimedOut, 1, 1);
  Add(1, 1, "01 bb");
  Packets();
  EXPECT_EQ(Ledger(), "2 begun, 1 read, 6:1");
}

TEST_F(TraceBufferLedgerTest, PacketThatIsGivenUpAfterItWasScrapedIsLostOnce) {
  // A packet is open. Then its chunk is overwritten and passed over; or only
  // passed over; or the rest of it finds no room.
  Start(TraceBuffer::kChunkOverhead + 4, Policy::kRingBuffer);
  AddOpen(0, 1, "01 aa", OpenPacket::kOne);
  EXPECT_EQ(Packets(), Strings{"aa"});
  AddOf(2, 0, 1, FromHex("01 bb"));
  EXPECT_EQ(Packets(), Strings{"bb"});
  EXPECT_EQ(Ledger(), "3 begun, 2 read, 6:1");
  Add(0, 2, "01 aa ff ff ff 7f");
  Report(LossReason::kMemoryFull, 1, 0);
  EXPECT_EQ(Ledger(), "3 begun, 2 read, 1:1");

  Start(1 << 20, Policy::kRingBuffer);
  AddOpen(0, 1, "01 aa", OpenPacket::kOne);
  EXPECT_EQ(Packets(true), Strings{"aa"});
  EXPECT_EQ(Ledger(), "2 begun, 1 read, 8:1");
  Add(0, 2, "01 aa ff ff ff 7f");
  Report(LossReason::kMemoryFull, 1, 0);
  EXPECT_EQ(Ledger(), "2 begun, 1 read, 1:1");

  Start(TraceBuffer::kChunkOverhead + 4, Policy::kDiscard);
  AddOpen(0, 1, "01 aa", OpenPacket::kOne);
  Add(0, 2, "01 aa ff ff ff 7f");
  Report(LossReason::kMemoryFull, 1, 0);
  EXPECT_EQ(Packets(true), Strings{"aa"});
  EXPECT_EQ(Ledger(), "2 begun, 1 read, 1:1");

  Start(TraceBuffer::kChunkOverhead + 4, Policy::kDiscard);
  AddOpen(0, 1, "01 aa", OpenPacket::kOne);
  AddOpen(0, 3, "01 aa 01 bb 01 cc", OpenPacket::kOne);
  Add(0, 4, "01 aa 01 bb 01 cc ff ff ff 7f");
  Report(LossReason::kMemoryFull, 1, 0);
  EXPECT_EQ(Packets(true), Strings{"aa"});
  EXPECT_EQ(Ledger(), "4 begun, 1 read, 1:1, 7:2");
}

TEST_F(TraceBufferLedgerTest, DropMarkerOfAWriterThatReportsNothing) {
  TraceBuffer::ProducerIdentity producer = kProducer;
  producer.reports_losses = false;
  buffer_->AddChunk(producer, MakeChunk(1, 0, 2, FromHex("01 aa ff ff ff 7f")));
  Packets();
  EXPECT_EQ(Ledger(), "2 begun, 1 read, 0:1");
}

TEST_F(TraceBufferLedgerTest, OverwrittenPacketsAreCounted) {
  Start(2 * TraceBuffer::kChunkOverhead, Policy::kRingBuffer);
  Add(0, 3, "01 aa 01 bb 00");
  Add(1, 1, "01 cc");
  EXPECT_EQ(Packets(), (Strings{"!cc"}));
  EXPECT_EQ(Ledger(), "3 begun, 1 read, 6:2");
}

TEST_F(TraceBufferLedgerTest, PacketsWithoutRoomAreCounted) {
  Start(TraceBuffer::kChunkOverhead + 4, Policy::kDiscard);
  Add(0, 2, "01 aa 01 bb");
  Add(1, 3, "01 cc 01 dd 01 ee");
  EXPECT_EQ(Packets(), (Strings{"aa", "bb"}));
  EXPECT_EQ(Ledger(), "5 begun, 2 read, 7:3");
}

TEST_F(TraceBufferLedgerTest, WhatIsScrapedAndCommittedCountsOnce) {
  Start(TraceBuffer::kChunkOverhead + 4, Policy::kDiscard);
  Add(0, 2, "01 aa 01 bb");
  // Two chunks find no room, one in part and one complete, and so do their
  // later copies.
  Add(1, 1, "01 cc", kIncomplete | kScraped);
  Add(2, 2, "01 ee 01 ff", kScraped);
  EXPECT_EQ(Ledger(), "5 begun, 0 read, 7:3");
  EXPECT_EQ(Packets(), (Strings{"aa", "bb"}));
  Add(1, 2, "01 cc 01 dd");
  Add(2, 2, "01 ee 01 ff");
  Packets(true);
  EXPECT_EQ(Ledger(), "6 begun, 2 read, 7:4");
}

TEST_F(TraceBufferLedgerTest, ManyScrapedChunksThatAreOverwrittenCountOnce) {
  // The chunks are scraped and overwritten in the order of their pages, which
  // is any order. Then they are committed.
  constexpr ChunkID kChunks = 1000;
  Start(10 * TraceBuffer::kChunkOverhead, Policy::kRingBuffer);
  for (ChunkID i = 0; i < kChunks; ++i)
    Add(kChunks - 1 - i * 7 % kChunks, 1, "01 aa", kScraped);
  for (ChunkID id = 0; id < kChunks; ++id)
    Add(id, 1, "01 aa");
  Packets(true);
  EXPECT_EQ(stats().packets_begun, kChunks);
  EXPECT_EQ(stats().packets_read + stats().lost.total(), kChunks);
}

TEST_F(TraceBufferLedgerTest,
       ScrapedChunkThatWasReadAndIsOverwrittenCountsOnce) {
  Start(TraceBuffer::kChunkOverhead + 4, Policy::kRingBuffer);
  Add(0, 1, "01 aa", kScraped);
  // The whole chunk was read, and is still here.
  const auto read = [](const TraceBuffer::Packet&) { return true; };
  EXPECT_TRUE(buffer_->ReadPackets(1, false, read));
  AddOf(2, 0, 1, FromHex("01 bb"));
  EXPECT_EQ(Packets(), Strings{"bb"});
  Add(0, 1, "01 aa");
  EXPECT_EQ(Ledger(), "2 begun, 2 read");
}

// Chunks are scraped at any time, in any order, and committed in the order of
// their ids. The buffer has room for few of them, and is read at any time.
TEST_F(TraceBufferLedgerTest, EveryPacketCountsOnceInAnyOrder) {
  struct Written {
    ChunkID id;
    uint16_t num_packets;
  };
  constexpr size_t kMaxUncommitted = 16;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Start((1 + random() % 8) * (TraceBuffer::kChunkOverhead + 10),
          random() % 2 == 0 ? Policy::kRingBuffer : Policy::kDiscard);
    const auto add = [&](const Written& chunk, int flags) {
      std::string payload;
      for (uint16_t i = 0; i < chunk.num_packets; ++i)
        payload += "\x01p";
      AddOf(1, chunk.id, chunk.num_packets, payload, flags);
    };
    uint64_t written = 0;
    std::vector<Written> uncommitted = {{0, 0}};
    const auto commit_oldest = [&] {
      add(uncommitted.front(), 0);
      uncommitted.erase(uncommitted.begin());
    };
    const auto begin_chunk = [&] {
      uncommitted.push_back({uncommitted.back().id + 1, 0});
    };
    for (int step = 0; step < 300; ++step) {
      switch (random() % 6) {
        case 0:
        case 1:
          ++uncommitted.back().num_packets;
          ++written;
          break;
        case 2:
          if (uncommitted.size() < kMaxUncommitted)
            begin_chunk();
          break;
        case 3:
          if (uncommitted.size() > 1)
            commit_oldest();
          break;
        case 4: {
          std::vector<Written> scraped = uncommitted;
          std::shuffle(scraped.begin(), scraped.end(), random);
          for (const Written& chunk : scraped) {
            const bool is_complete = chunk.id != uncommitted.back().id;
            if (is_complete || chunk.num_packets != 0)
              add(chunk, is_complete ? kScraped : kScraped | kIncomplete);
          }
          break;
        }
        case 5:
          buffer_->ReadPackets(1 + random() % 4, false,
                               [](const TraceBuffer::Packet&) { return true; });
          break;
      }
    }
    while (!uncommitted.empty())
      commit_oldest();
    Packets(true);
    ASSERT_EQ(stats().packets_begun, written);
    ASSERT_EQ(stats().packets_read + stats().lost.total(), written);
    ASSERT_EQ(stats().unknown_losses, 0u);
    ASSERT_EQ(stats().abi_violations, 0u);
  }
}

TEST_F(TraceBufferLedgerTest, PacketOfADeadProcessIsLostIfItWasBegun) {
  AddOpen(0, 1, "01 aa", OpenPacket::kNone);
  buffer_->EndProducer(kProducer.id);
  EXPECT_EQ(Packets(), Strings{"aa"});
  EXPECT_EQ(Ledger(), "1 begun, 1 read");
  EXPECT_EQ(writer_stats().losses, 0u);

  Start(1 << 20, Policy::kRingBuffer);
  AddOpen(0, 1, "01 aa", OpenPacket::kOne);
  buffer_->EndProducer(kProducer.id);
  EXPECT_EQ(Packets(), Strings{"aa"});
  EXPECT_EQ(Ledger(), "2 begun, 1 read, 8:1");

  Start(1 << 20, Policy::kRingBuffer);
  AddOpen(0, 0, "", OpenPacket::kOne);
  buffer_->EndProducer(kProducer.id);
  Packets();
  EXPECT_EQ(Ledger(), "1 begun, 0 read, 8:1");

  // It is unknown, because its writers do not tell.
  Start(1 << 20, Policy::kRingBuffer);
  AddOpen(0, 1, "01 aa", OpenPacket::kUnknown);
  buffer_->EndProducer(kProducer.id);
  Packets();
  EXPECT_EQ(Ledger(), "1 begun, 1 read, 1 unknown");
}

TEST_F(TraceBufferLedgerTest, WriterThatGoesOnAtTheEndHasLostNothing) {
  AddOpen(0, 1, "01 aa", OpenPacket::kUnknown);
  EXPECT_EQ(Packets(true), Strings{"aa"});
  EXPECT_EQ(Ledger(), "1 begun, 1 read");
}

TEST_F(TraceBufferLedgerTest, ChunkThatNeverCameIsAnUnknownLoss) {
  Add(0, 1, "01 aa");
  Add(2, 1, "01 bb");
  EXPECT_EQ(Packets(true), (Strings{"aa", "!bb"}));
  EXPECT_EQ(Ledger(), "2 begun, 2 read, 1 unknown");
}

TEST_F(TraceBufferLedgerTest, RefusedPacketsAreNotValid) {
  Add(0, 2, "01 aa 01 bb");
  buffer_->ReadPackets(SIZE_MAX, false, [](const TraceBuffer::Packet& packet) {
    return packet.bytes.data[0] != 0xaa;
  });
  EXPECT_EQ(Ledger(), "2 begun, 1 read, 9:1");
}

}  // namespace
}  // namespace protozero::test
