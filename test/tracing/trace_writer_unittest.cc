// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/trace_writer.h"
#include "protozero/config.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "test/testing/allocation_monitor.h"
#include "test/testing/expect_mistake.h"
#include "test/testing/field_classes.h"
#include "test/testing/hex.h"
#include "test/tracing/fake_service.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;
using testing::Test;

// A message type like those that the plugin makes.
class Event : public Message {
 public:
  void set_id(uint32_t id) { AppendVarInt(1, id); }
  void set_name(std::string_view name) { AppendString(2, name); }
  Event* set_nested() { return BeginNestedMessage<Event>(3); }
};

constexpr BufferID kBuffer = 9;

// A producer with a few chunks of 292 bytes, and its service.
class TraceWriterTest : public Test {
 protected:
  explicit TraceWriterTest(size_t num_pages = 4,
                           ABI::PageLayout layout = ABI::kPageDiv14)
      : memory_(num_pages * kPageSize), service_(memory_, kPageSize) {
    Start(layout);
  }

  void Start(ABI::PageLayout layout,
             size_t commit_batch_bytes = 0,
             uint32_t stall_timeout_ms = 0) {
    SharedMemoryArbiter::Options options;
    options.page_layout = layout;
    options.commit_batch_bytes = commit_batch_bytes;
    options.stall_timeout_ms = stall_timeout_ms;
    options.process_barrier = [] {
      on_barrier();
      return barrier_works;
    };
    arbiter_ = std::make_unique<SharedMemoryArbiter>(
        memory_.start(), memory_.size(), kPageSize, &service_, options);
  }

  ~TraceWriterTest() override {
    EXPECT_EQ(service_.complaints(), "");
    on_barrier = [] {};
    barrier_works = true;
  }

  uint8_t* Chunk(size_t index) {
    return memory_.start() + 8 + index * ABI::ChunkSize(kPageSize, layout());
  }
  ABI::PageLayout layout() {
    return ABI::LayoutOf(service_abi().GetPageWord(0));
  }
  ABI service_abi() { return ABI(memory_.start(), memory_.size(), kPageSize); }

  // Takes all free chunks, like other writers, and gives them back.
  void TakeAllChunks() {
    for (size_t page = 0; page < service_abi().num_pages(); ++page) {
      const ABI::PageLayout taken_layout = arbiter_layout();
      service_abi().TryPartitionPage(page, taken_layout);
      for (;;) {
        const ABI::Chunk chunk =
            service_abi().TryAcquireChunkForWriting(page, taken_layout);
        if (!chunk.is_valid())
          break;
        taken_.push_back(chunk);
      }
    }
  }
  void FreeTakenChunks(size_t count = SIZE_MAX) {
    for (; count > 0 && !taken_.empty(); --count) {
      const ABI::Chunk chunk = taken_.back();
      taken_.pop_back();
      service_abi().ReleaseChunkAsComplete(chunk);
      service_abi().ReleaseChunkAsFree(service_abi().TryAcquireChunkForReading(
          chunk.page_idx(), chunk.chunk_idx()));
    }
  }
  // The barrier does nothing, because there is one thread.
  static inline std::function<void()> on_barrier = [] {};
  static inline bool barrier_works = true;

  ABI::PageLayout arbiter_layout() {
    for (uint32_t i = 0; i < ABI::kNumPageLayouts; ++i) {
      if (ABI::kNumChunksForLayout[i] * service_abi().num_pages() ==
          arbiter_->num_chunks())
        return static_cast<ABI::PageLayout>(i);
    }
    return ABI::kPageNotPartitioned;
  }

  std::vector<std::string> Drain(WriterID writer_id = 1) {
    service_.DrainAll();
    return service_.PacketsOf(writer_id);
  }
  const FakeService::Sequence& SequenceOf(WriterID writer_id) {
    return *service_.sequences().at(writer_id);
  }
  uint64_t PacketsLostOf(WriterID writer_id) {
    return SequenceOf(writer_id).buffer.stats().trace_writer_packet_loss();
  }

  SharedMemory memory_;
  FakeService service_;
  std::unique_ptr<SharedMemoryArbiter> arbiter_;
  std::vector<ABI::Chunk> taken_;
};

std::string NamedEvent(size_t name_size) {
  std::string bytes = FromHex("12");
  size_t size = name_size;
  for (; size >= 0x80; size >>= 7)
    bytes += static_cast<char>(size | 0x80);
  bytes += static_cast<char>(size);
  return bytes + std::string(name_size, 'n');
}

TEST_F(TraceWriterTest, ExactBytesOfSmallPackets) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  writer->NewTracePacket<Event>()->set_id(150);
  writer->NewTracePacket<Event>()->set_nested()->set_name("abc");
  const std::string before_return = HexOfChunk(Chunk(0), 20);
  EXPECT_EQ(before_return,
            "00 00 00 00 01 00 03 00 "
            "03 08 96 01 "
            "07 1a 05 12 03 61 62 63");
  EXPECT_EQ(HexOfChunk(memory_.start(), 8), "01 00 00 50 00 00 00 00");
  writer->Flush();
  // An empty packet replaces the one that was announced.
  EXPECT_EQ(HexOfChunk(Chunk(0), 21), before_return + " 00");
  EXPECT_EQ(HexOfChunk(memory_.start(), 8), "03 00 00 50 00 00 00 00");
  EXPECT_EQ(Drain(), (std::vector<std::string>{FromHex("08 96 01"),
                                               FromHex("1a 05 12 03 616263")}));
  EXPECT_EQ(SequenceOf(1).target_buffer, kBuffer);
  EXPECT_EQ(HexOfChunk(memory_.start(), 8), "00 00 00 00 00 00 00 00");
}

TEST_F(TraceWriterTest, PacketIsAnnouncedBeforeItIsWritten) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  {
    auto packet = writer->NewTracePacket<Event>();
    EXPECT_EQ(HexOfChunk(Chunk(0), 8), "00 00 00 00 01 00 01 00");
    packet->set_id(1);
    EXPECT_EQ(HexOfChunk(Chunk(0), 8), "00 00 00 00 01 00 01 00");
  }
  EXPECT_EQ(HexOfChunk(Chunk(0), 8), "00 00 00 00 01 00 02 00");
  {
    auto packet = writer->NewTracePacket<Event>();
    EXPECT_EQ(HexOfChunk(Chunk(0), 8), "00 00 00 00 01 00 02 00");
  }
  EXPECT_EQ(HexOfChunk(Chunk(0), 8), "00 00 00 00 01 00 03 00");
}

TEST_F(TraceWriterTest, PacketWrittenAtOnceIsAsAnyOther) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  writer->WriteTracePacket<Fields>(Fields::kUint64(150));
  writer->WriteTracePacket<Fields>(Fields::kUint64(1), Fields::kString("abc"));
  writer->NewTracePacket<Event>()->set_id(2);
  writer->WriteTracePacket<Fields>(Fields::kUint64(3));
  EXPECT_EQ(HexOfChunk(Chunk(0), 8 + 4 + 8 + 6),
            "00 00 00 00 01 00 05 00 "
            "03 08 96 01 "
            "07 08 01 0a 03 61 62 63 "
            "02 08 02 02 08 03");
}

// The packets cross the ends of chunks, at all distances from them.
TEST_F(TraceWriterTest, PacketsWrittenAtOnceAreAsAllOthers) {
  auto one_by_one = arbiter_->CreateTraceWriter(kBuffer);
  auto at_once = arbiter_->CreateTraceWriter(kBuffer);
  auto mixed = arbiter_->CreateTraceWriter(kBuffer);
  const std::string text(700, 't');
  uint64_t number = 1;
  for (size_t i = 0; i < 2000; ++i) {
    // Most texts are short. Varints have all lengths.
    number = number * 6364136223846793005u + 1442695040888963407u;
    const auto id = Fields::kUint64(number >> (number & 63));
    const auto name = Fields::kString(std::string_view(
        text.data(),
        static_cast<size_t>(number >> 32) % (i % 16 == 0 ? text.size() : 20)));
    const auto child = Fields::kMessage(FieldList(id, name));
    {
      auto packet = one_by_one->NewTracePacket<Fields>();
      AppendFields(packet.get(), id, name);
      AppendFields(packet->BeginNestedMessage<Fields>(1), id, name);
    }
    at_once->WriteTracePacket<Fields>(id, name, child);
    if (i % 3 == 0) {
      auto packet = mixed->NewTracePacket<Fields>();
      AppendFields(packet.get(), id, name, child);
    } else {
      mixed->WriteTracePacket<Fields>(id, name, child);
    }
    if (i % 5 == 0) {
      arbiter_->FlushPendingCommitDataRequests();
      service_.DrainAll();
    }
  }
  one_by_one->Flush();
  at_once->Flush();
  mixed->Flush();
  EXPECT_EQ(at_once->packets_lost(), 0u);
  service_.DrainAll();
  const std::vector<std::string> packets = service_.PacketsOf(1);
  EXPECT_EQ(packets.size(), 2000u);
  EXPECT_TRUE(service_.PacketsOf(2) == packets);
  EXPECT_TRUE(service_.PacketsOf(3) == packets);
}

TEST_F(TraceWriterTest, BehindPacketsWrittenAtOnceNoOtherHasBegun) {
  memset(memory_.start() + 16, 0x55, 200);
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  const uint8_t* const payload = Chunk(0) + sizeof(ABI::ChunkHeader);
  writer->WriteTracePacket<Fields>(Fields::kUint64(1));
  EXPECT_EQ(Hex(payload, 5), "02 08 01 00 00");
  writer->WriteTracePacket<Fields>(Fields::kUint64(2));
  EXPECT_EQ(Hex(payload + 3, 5), "02 08 02 00 00");
  writer->WriteTracePacket<Fields>(Fields::kString(std::string(20, 's')));
  EXPECT_EQ(Hex(payload + 6, 2), "16 0a");
  EXPECT_EQ(Hex(payload + 6 + 22, 3), "73 00 00");
}

TEST_F(TraceWriterTest, PacketsWrittenAtOnceAreLostAsAllOthers) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  TakeAllChunks();
  writer->WriteTracePacket<Fields>(Fields::kUint64(1));
  writer->WriteTracePacket<Fields>(Fields::kUint64(2));
  EXPECT_EQ(writer->packets_lost(), 2u);
  EXPECT_EQ(writer->bytes_lost(), 4u);
  FreeTakenChunks();
  writer->WriteTracePacket<Fields>(Fields::kUint64(3));
  writer->Flush();
  EXPECT_EQ(Drain(), std::vector<std::string>{FromHex("d0 02 01 08 03")});
}

TEST_F(TraceWriterTest, LengthTakesFourBytesWhereOneIsTooShort) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  for (size_t name_size : {125u, 126u})
    writer->NewTracePacket<Event>()->set_name(std::string(name_size, 'n'));
  EXPECT_EQ(Hex(Chunk(0) + 8, 3), "7f 12 7d");
  EXPECT_EQ(Hex(Chunk(0) + 8 + 128, 6), "80 81 80 00 12 7e");
  writer->Flush();
  EXPECT_EQ(Drain(),
            (std::vector<std::string>{NamedEvent(125), NamedEvent(126)}));
}

// So it is not moved if it is long, too.
TEST_F(TraceWriterTest, APacketAfterALongOneBeginsAfterALengthOfFourBytes) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  writer->NewTracePacket<Event>()->set_name(std::string(126, 'n'));
  const uint8_t* const second = Chunk(0) + 8 + 4 + 128;
  {
    auto packet = writer->NewTracePacket<Event>();
    // This says that it has begun, and would be lost.
    EXPECT_EQ(Hex(second, 4), "ff ff ff 7f");
    packet->set_id(1);
    EXPECT_EQ(Hex(second, 6), "ff ff ff 7f 08 01");
  }
  EXPECT_EQ(Hex(second, 8), "82 80 80 00 08 01 00 00");
  // That one was short.
  writer->NewTracePacket<Event>()->set_id(2);
  EXPECT_EQ(Hex(second + 6, 5), "02 08 02 00 00");
  writer->NewTracePacket<Event>()->set_name(std::string(200, 'n'));
  writer->WriteTracePacket<Fields>(Fields::kUint64(3));
  writer->NewTracePacket<Event>()->set_name(std::string(200, 'm'));
  writer->Flush();
  EXPECT_EQ(Drain(), (std::vector<std::string>{
                         NamedEvent(126), FromHex("08 01"), FromHex("08 02"),
                         NamedEvent(200), FromHex("08 03"),
                         FromHex("12 c8 01") + std::string(200, 'm')}));
  EXPECT_EQ(writer->packets_lost(), 0u);
}

TEST_F(TraceWriterTest, AWriterThatDiesInAPacketAfterALongOneLosesIt) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  writer->NewTracePacket<Event>()->set_name(std::string(126, 'n'));
  ChunkCopy copy;
  ASSERT_TRUE(
      ScrapeChunk(service_abi(), 0, 0, WriterState::kGoneAndMarked, &copy));
  EXPECT_EQ(copy.open_packet, OpenPacket::kNone);
  auto packet = writer->NewTracePacket<Event>();
  ASSERT_TRUE(
      ScrapeChunk(service_abi(), 0, 0, WriterState::kGoneAndMarked, &copy));
  EXPECT_EQ(copy.num_packets, 1u);
  EXPECT_EQ(copy.open_packet, OpenPacket::kOne);
}

TEST_F(TraceWriterTest, ExactBytesOfAPacketThatSpansThreeChunks) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  writer->NewTracePacket<Event>()->set_id(5);
  writer->NewTracePacket<Event>()->set_name(std::string(600, 'n'));
  writer->NewTracePacket<Event>()->set_id(6);
  writer->Flush();
  // There are 284 bytes of payload: two of the first packet and its length,
  // four of this fragment's, two spare. The fragments have 276 + 275 + 52
  // bytes.
  EXPECT_EQ(HexOfChunk(Chunk(0), 18),
            "00 00 00 00 01 00 02 08 "
            "02 08 05 "
            "93 82 80 00 12 d8 04");
  EXPECT_EQ(HexOfChunk(Chunk(1), 14),
            "01 00 00 00 01 00 01 0c 93 82 80 00 6e 6e");
  EXPECT_EQ(HexOfChunk(Chunk(2), 13), "02 00 00 00 01 00 03 04 b5 80 80 00 6e");
  EXPECT_EQ(Hex(Chunk(2) + 8 + 4 + 0x35, 7), "82 80 80 00 08 06 00");
  EXPECT_EQ(Drain(), (std::vector<std::string>{
                         FromHex("08 05"), NamedEvent(600), FromHex("08 06")}));
  EXPECT_EQ(service_.num_patches(), 0u);
  EXPECT_EQ(writer->packets_lost(), 0u);
}

TEST_F(TraceWriterTest, SizesAreWrittenInPlaceWhileTheirChunkIsHeldBack) {
  Start(ABI::kPageDiv14, 1);  // It commits every chunk at once.
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  {
    auto packet = writer->NewTracePacket<Event>();
    Event* nested = packet->set_nested();
    nested->set_name(std::string(300, 'n'));
    EXPECT_EQ(service_.num_requests(), 0u);
    EXPECT_EQ(Hex(Chunk(0) + 8, 9), "96 82 80 00 1a 00 00 00 00");
    nested->set_nested()->set_name(std::string(300, 'm'));
  }
  writer->Flush();
  ASSERT_EQ(Drain().size(), 1u);
  EXPECT_EQ(service_.num_patches(), 0u);
  EXPECT_FALSE(service_.chunks()[0].needs_patching);
  EXPECT_EQ(Hex(service_.chunks()[0].payload.data(), 9),
            "96 82 80 00 1a e3 84 80 00");
  const std::string bytes = Drain()[0];
  ProtoDecoder packet(bytes);
  ProtoDecoder nested(packet.FindField(3).as_bytes());
  EXPECT_EQ(nested.FindField(2).as_std_string(), std::string(300, 'n'));
  ProtoDecoder innermost(nested.FindField(3).as_bytes());
  EXPECT_EQ(innermost.FindField(2).as_std_string(), std::string(300, 'm'));
}

TEST_F(TraceWriterTest, SizesOfAPacketLongerThanWhatIsHeldBackBecomePatches) {
  Start(ABI::kPageDiv14, 1);
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  {
    auto packet = writer->NewTracePacket<Event>();
    Event* nested = packet->set_nested();
    nested->set_name(std::string(10000, 'n'));
  }
  writer->Flush();
  service_.DrainAll();
  EXPECT_TRUE(service_.chunks()[0].needs_patching);
  EXPECT_EQ(Hex(service_.chunks()[0].payload.data(), 9),
            "96 82 80 00 1a 00 00 00 00");
  EXPECT_FALSE(service_.chunks()[1].needs_patching);
  EXPECT_EQ(service_.num_patches(), 1u);
  EXPECT_EQ(Drain(), (std::vector<std::string>{FromHex("1a 93 ce 80 00") +
                                               NamedEvent(10000)}));
}

TEST_F(TraceWriterTest, FullPacketWordEndsTheChunk) {
  Start(ABI::kPageDiv1);
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  for (int i = 0; i < 1500; ++i)
    writer->NewTracePacket<Event>()->set_id(1);
  writer->Flush();
  EXPECT_EQ(Drain().size(), 1500u);
  ASSERT_EQ(service_.chunks().size(), 2u);
  EXPECT_EQ(service_.chunks()[0].num_packets, 1023);
}

TEST_F(TraceWriterTest, DroppedPacketsAreCountedAndReported) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  TakeAllChunks();
  for (int i = 0; i < 3; ++i)
    writer->NewTracePacket<Event>()->set_name(std::string(5000, 'n'));
  EXPECT_EQ(writer->packets_lost(), 3u);
  EXPECT_EQ(writer->bytes_lost(), 3 * 5003u);
  FreeTakenChunks();
  writer->NewTracePacket<Event>()->set_id(1);
  writer->NewTracePacket<Event>()->set_id(2);
  writer->Flush();
  EXPECT_EQ(Drain(), (std::vector<std::string>{FromHex("d0 02 01 08 01"),
                                               FromHex("08 02")}));
  EXPECT_EQ(writer->packets_lost(), 3u);
  // A lost packet uses no chunk id.
  EXPECT_EQ(service_.chunks()[0].chunk_id, 0u);
}

TEST_F(TraceWriterTest, ThePacketAfterPacketsThatCouldNotBeBegunSaysSo) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  writer->NewTracePacket<Event>()->set_id(1);
  const uint32_t generation = writer->loss_generation();
  writer->LosePackets(LossReason::kMemoryFull, 0);
  EXPECT_EQ(writer->loss_generation(), generation);
  writer->LosePackets(LossReason::kMemoryFull, 5);
  writer->LosePackets(LossReason::kMemoryFull, 2);
  EXPECT_NE(writer->loss_generation(), generation);
  writer->NewTracePacket<Event>()->set_id(2);
  writer->NewTracePacket<Event>()->set_id(3);
  writer->Flush();
  EXPECT_EQ(Drain(), (std::vector<std::string>{FromHex("08 01"),
                                               FromHex("d0 02 01 08 02"),
                                               FromHex("08 03")}));
  EXPECT_EQ(writer->packets_lost(), 7u);
  EXPECT_EQ(writer->losses().of(LossReason::kMemoryFull), 7u);
  EXPECT_EQ(writer->bytes_lost(), 0u);
}

TEST_F(TraceWriterTest, WhereMemoryIsFullAPacketIsLostUnwritten) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  EXPECT_FALSE(writer->LoseNextPacketIfExhausted());
  const auto expect_lost = [&](uint64_t packets) {
    EXPECT_TRUE(writer->is_exhausted());
    EXPECT_TRUE(writer->LoseNextPacketIfExhausted());
    EXPECT_EQ(writer->packets_lost(), packets);
    EXPECT_EQ(
        writer->losses().packets[static_cast<size_t>(LossReason::kMemoryFull)],
        packets);
  };
  TakeAllChunks();
  writer->NewTracePacket<Event>()->set_id(1);
  expect_lost(2);
  FreeTakenChunks();
  EXPECT_FALSE(writer->LoseNextPacketIfExhausted());
  writer->NewTracePacket<Event>()->set_id(2);
  EXPECT_FALSE(writer->is_exhausted());
  // This time, the memory is full in the middle of a packet.
  TakeAllChunks();
  writer->NewTracePacket<Event>()->set_name(std::string(5000, 'n'));
  expect_lost(4);
}

// The writer looks at another page with each packet that it loses.
TEST_F(TraceWriterTest, AFreeChunkIsFoundOnWhicheverPageItIs) {
  const size_t num_pages = service_abi().num_pages();
  for (size_t page = 0; page < num_pages; ++page) {
    auto writer = arbiter_->CreateTraceWriter(kBuffer);
    TakeAllChunks();
    writer->NewTracePacket<Event>()->set_id(1);
    uint64_t lost = 1;
    for (size_t i = 0; i < 2 * num_pages; ++i)
      lost += writer->LoseNextPacketIfExhausted();
    EXPECT_EQ(lost, 1 + 2 * num_pages);
    std::stable_partition(
        taken_.begin(), taken_.end(),
        [page](const ABI::Chunk& chunk) { return chunk.page_idx() != page; });
    FreeTakenChunks(1);
    lost = 0;
    while (lost < num_pages && writer->LoseNextPacketIfExhausted())
      ++lost;
    EXPECT_LT(lost, num_pages);
    writer->NewTracePacket<Event>()->set_id(2);
    EXPECT_FALSE(writer->is_exhausted());
    writer->Flush();
    service_.DrainAll();
    FreeTakenChunks();
  }
}

TEST_F(TraceWriterTest, SaysWhetherTheNextPacketContinuesTheChunk) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  EXPECT_FALSE(writer->continues_chunk());
  {
    auto packet = writer->NewTracePacket<Event>();
    EXPECT_FALSE(writer->continues_chunk());
    packet->set_id(1);
  }
  EXPECT_TRUE(writer->continues_chunk());
  EXPECT_EQ(writer->chunk_id(), 0u);
  writer->NewTracePacket<Event>()->set_id(2);
  EXPECT_TRUE(writer->continues_chunk());
  EXPECT_EQ(writer->chunk_id(), 0u);
  // Here the chunk has no room for another one.
  writer->NewTracePacket<Event>()->set_name(std::string(260, 'x'));
  EXPECT_FALSE(writer->continues_chunk());
  writer->NewTracePacket<Event>()->set_id(3);
  EXPECT_TRUE(writer->continues_chunk());
  // The arbiter takes the chunk, or is about to.
  bool is_kept = true;
  on_barrier = [&] { is_kept = writer->continues_chunk(); };
  arbiter_->ReturnIdleChunks(/*even_if_recent=*/true);
  EXPECT_FALSE(is_kept);
  EXPECT_FALSE(writer->continues_chunk());
  writer->NewTracePacket<Event>()->set_id(4);
  EXPECT_TRUE(writer->continues_chunk());
  writer->ReturnChunk();
  EXPECT_FALSE(writer->continues_chunk());
  TakeAllChunks();
  writer->NewTracePacket<Event>()->set_id(5);
  EXPECT_FALSE(writer->continues_chunk());
}

TEST_F(TraceWriterTest, PacketThatRunsOutOfChunksEndsInADropMarker) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  writer->NewTracePacket<Event>()->set_id(1);
  TakeAllChunks();
  FreeTakenChunks(1);
  {
    auto packet = writer->NewTracePacket<Event>();
    Event* nested = packet->set_nested()->set_nested();
    for (int i = 0; i < 5; ++i)
      nested->set_name(std::string(200, 'n'));
    nested->set_nested()->set_name("x");
  }
  EXPECT_EQ(writer->packets_lost(), 1u);
  EXPECT_EQ(writer->bytes_lost(), 2 * 5u + 5 * 203u + 2 + 3);
  FreeTakenChunks();
  writer->NewTracePacket<Event>()->set_id(2);
  writer->Flush();
  EXPECT_EQ(Drain(), (std::vector<std::string>{FromHex("08 01"),
                                               FromHex("d0 02 01 08 02")}));
  ASSERT_EQ(service_.chunks().size(), 3u);
  // The second chunk continued the packet, and gave it up.
  const ChunkCopy& chunk = service_.chunks()[1];
  EXPECT_TRUE(chunk.continues_from_previous);
  EXPECT_FALSE(chunk.continues_on_next);
  EXPECT_FALSE(chunk.needs_patching);
  EXPECT_EQ(Hex(chunk.payload.data(), 4), "ff ff ff 7f");
  EXPECT_EQ(PacketsLostOf(1), 1u);
  EXPECT_TRUE(service_.sequences().at(1)->packets[1].previous_packet_dropped);
  EXPECT_EQ(SequenceOf(1).buffer.used_bytes(), 0u);
}

TEST_F(TraceWriterTest, DropMarkerLeavesNothingToPatch) {
  // There are so few chunks that none is held back.
  Start(ABI::kPageDiv1);
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  writer->NewTracePacket<Event>()->set_id(1);
  TakeAllChunks();
  writer->NewTracePacket<Event>()->set_nested()->set_name(
      std::string(5000, 'n'));
  EXPECT_EQ(writer->packets_lost(), 1u);
  writer->Flush();
  EXPECT_EQ(Drain(), std::vector<std::string>{FromHex("08 01")});
  ASSERT_EQ(service_.chunks().size(), 1u);
  EXPECT_FALSE(service_.chunks()[0].needs_patching);
  EXPECT_FALSE(service_.chunks()[0].continues_on_next);
  EXPECT_EQ(Hex(service_.chunks()[0].payload.data(), 7),
            "02 08 01 ff ff ff 7f");
  EXPECT_EQ(service_.num_patches(), 0u);
}

TEST_F(TraceWriterTest, StallThatTimesOutLeavesAWholeSequence) {
  auto writer =
      arbiter_->CreateTraceWriter(kBuffer, BufferExhaustedPolicy::kStall);
  TakeAllChunks();
  FreeTakenChunks(2);
  {
    auto packet = writer->NewTracePacket<Event>();
    packet->set_nested()->set_name(std::string(1000, 'n'));
  }
  EXPECT_EQ(writer->packets_lost(), 1u);
  writer->NewTracePacket<Event>()->set_id(1);
  EXPECT_EQ(writer->packets_lost(), 2u);
  service_.DrainAll();
  EXPECT_EQ(service_.chunks().size(), 2u);
  FreeTakenChunks();
  writer->NewTracePacket<Event>()->set_id(2);
  writer->NewTracePacket<Event>()->set_id(3);
  writer->Flush();
  EXPECT_EQ(Drain(), (std::vector<std::string>{FromHex("d0 02 01 08 02"),
                                               FromHex("08 03")}));
  // No chunk is missing. The third one says that a packet is lost; the writer
  // has told the service of the other packet, and of the reason.
  EXPECT_EQ(PacketsLostOf(1), 2u);
  EXPECT_EQ(SequenceOf(1).buffer.stats().lost.of(LossReason::kStallTimedOut),
            2u);
  ASSERT_EQ(service_.chunks().size(), 4u);
  for (ChunkID i = 0; i < 4; ++i)
    EXPECT_EQ(service_.chunks()[i].chunk_id, i);
}

TEST_F(TraceWriterTest, StallGoesOnWhenTheServiceFreesAChunk) {
  service_.DrainOnCommit();
  auto writer =
      arbiter_->CreateTraceWriter(kBuffer, BufferExhaustedPolicy::kStall);
  for (int i = 0; i < 100; ++i)
    writer->NewTracePacket<Event>()->set_name(std::string(20000, 'n'));
  writer->Flush();
  EXPECT_EQ(Drain(), std::vector<std::string>(100, NamedEvent(20000)));
  EXPECT_EQ(writer->packets_lost(), 0u);
}

TEST_F(TraceWriterTest, DeeperThanThereArePatchesIsLostAndCounted) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  constexpr size_t kDepth = PatchPool::kNumPatches + 10;
  const auto write = [&] {
    auto packet = writer->NewTracePacket<Event>();
    Event* nested = packet.get();
    for (size_t i = 0; i < kDepth; ++i)
      nested = nested->set_nested();
    nested->set_name(std::string(1000, 'n'));
  };
  write();
  write();
  EXPECT_EQ(writer->packets_lost(), 2u);
  EXPECT_EQ(writer->losses().of(LossReason::kTooLarge), 2u);
  writer->NewTracePacket<Event>()->set_id(1);
  writer->Flush();
  EXPECT_EQ(Drain(), (std::vector<std::string>{FromHex("d0 02 01 08 01")}));
  EXPECT_EQ(PacketsLostOf(1), 2u);
  EXPECT_EQ(SequenceOf(1).buffer.used_bytes(), 0u);
}

// The service is in the process, and frees chunks when they are committed.
TEST_F(TraceWriterTest, AChunkIsCommittedWhereItIsNeeded) {
  service_.DrainOnCommit();
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  writer->NewTracePacket<Event>()->set_id(1);
  writer->ReturnChunk();
  EXPECT_EQ(service_.num_requests(), 0u);
  TakeAllChunks();
  writer->NewTracePacket<Event>()->set_id(2);
  EXPECT_EQ(writer->packets_lost(), 0u);
  // So it is in the middle of a packet.
  writer->NewTracePacket<Event>()->set_name(std::string(200, 'n'));
  FreeTakenChunks(1);
  writer->NewTracePacket<Event>()->set_name(std::string(500, 'n'));
  EXPECT_EQ(writer->packets_lost(), 0u);
  writer->Flush();
  EXPECT_EQ(Drain().size(), 4u);
}

TEST_F(TraceWriterTest, PatchesAreReusedForever) {
  Start(ABI::kPageDiv14, 1);
  service_.DrainOnCommit();
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  for (int i = 0; i < 100; ++i) {
    auto packet = writer->NewTracePacket<Event>();
    Event* nested = packet.get();
    for (size_t depth = 0; depth < 20; ++depth) {
      nested = nested->set_nested();
      nested->set_name(std::string(200, 'n'));
    }
  }
  EXPECT_EQ(writer->packets_lost(), 0u);
  writer->Flush();
  EXPECT_EQ(Drain().size(), 100u);
  EXPECT_GT(service_.num_patches(), 1000u);
}

TEST_F(TraceWriterTest, ChunkOfQuietWriterIsReturned) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  const auto return_chunk = [&] {
    arbiter_->ReturnIdleChunks(/*even_if_recent=*/false);
    return Drain().size();
  };
  EXPECT_EQ(return_chunk(), 0u);
  writer->NewTracePacket<Event>()->set_id(1);
  EXPECT_EQ(return_chunk(), 0u);
  writer->NewTracePacket<Event>()->set_id(2);
  EXPECT_EQ(return_chunk(), 0u);
  {
    auto packet = writer->NewTracePacket<Event>();
    EXPECT_EQ(return_chunk(), 0u);
    EXPECT_EQ(return_chunk(), 0u);
    packet->set_id(3);
  }
  EXPECT_EQ(return_chunk(), 0u);
  EXPECT_EQ(return_chunk(), 3u);
  EXPECT_EQ(return_chunk(), 3u);
  writer->NewTracePacket<Event>()->set_id(4);
  EXPECT_EQ(return_chunk(), 3u);
  EXPECT_EQ(return_chunk(), 4u);
  EXPECT_EQ(service_.num_chunks_of(writer->writer_id()), 2u);
  EXPECT_EQ(Drain(),
            (std::vector<std::string>{FromHex("08 01"), FromHex("08 02"),
                                      FromHex("08 03"), FromHex("08 04")}));
}

TEST_F(TraceWriterTest, ChunksOfAllIdleWritersAreReturned) {
  auto first = arbiter_->CreateTraceWriter(kBuffer);
  auto second = arbiter_->CreateTraceWriter(kBuffer);
  auto third = arbiter_->CreateTraceWriter(kBuffer);
  first->NewTracePacket<Event>()->set_id(1);
  second->NewTracePacket<Event>()->set_id(2);
  // This packet leaves no room for another one.
  third->NewTracePacket<Event>()->set_name(std::string(260, 'x'));
  auto open = first->NewTracePacket<Event>();
  arbiter_->ReturnIdleChunks(/*even_if_recent=*/true);
  EXPECT_EQ(Drain(first->writer_id()).size(), 0u);
  EXPECT_EQ(Drain(second->writer_id()).size(), 1u);
  EXPECT_EQ(Drain(third->writer_id()).size(), 1u);
  open->set_id(3);
  open = MessageHandle<Event>();
  for (auto* writer : {&first, &second, &third})
    (*writer)->NewTracePacket<Event>()->set_id(4);
  arbiter_->ReturnIdleChunks(/*even_if_recent=*/true);
  EXPECT_EQ(Drain(first->writer_id()).size(), 3u);
  EXPECT_EQ(Drain(second->writer_id()).size(), 2u);
  EXPECT_EQ(Drain(third->writer_id()).size(), 2u);
  for (auto* writer : {&first, &second, &third})
    EXPECT_EQ((*writer)->packets_lost(), 0u);
}

TEST_F(TraceWriterTest, OnlyTheChunksOfQuietWritersAreReturned) {
  auto quiet = arbiter_->CreateTraceWriter(kBuffer);
  auto busy = arbiter_->CreateTraceWriter(kBuffer);
  quiet->NewTracePacket<Event>()->set_id(1);
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(quiet->continues_chunk());
    busy->NewTracePacket<Event>()->set_id(1);
    arbiter_->ReturnIdleChunks(/*even_if_recent=*/false);
    EXPECT_TRUE(busy->continues_chunk());
  }
  EXPECT_FALSE(quiet->continues_chunk());
  EXPECT_EQ(Drain(quiet->writer_id()).size(), 1u);
  EXPECT_EQ(Drain(busy->writer_id()).size(), 0u);
}

TEST_F(TraceWriterTest, WritersGoOnWhileChunksOfOthersAreTaken) {
  auto idle = arbiter_->CreateTraceWriter(kBuffer);
  auto other = arbiter_->CreateTraceWriter(kBuffer);
  idle->NewTracePacket<Event>()->set_id(1);
  on_barrier = [&] {
    // It had no chunk when this began.
    other->NewTracePacket<Event>()->set_id(2);
    other->NewTracePacket<Event>()->set_id(3);
    EXPECT_TRUE(other->continues_chunk());
  };
  arbiter_->ReturnIdleChunks(/*even_if_recent=*/true);
  EXPECT_TRUE(other->continues_chunk());
  EXPECT_EQ(Drain(idle->writer_id()).size(), 1u);
  other->Flush();
  EXPECT_EQ(Drain(other->writer_id()).size(), 2u);
}

TEST_F(TraceWriterTest, NoBarrierIsNeededWhereNoWriterHasAChunk) {
  size_t num_barriers = 0;
  on_barrier = [&] { ++num_barriers; };
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  arbiter_->ReturnIdleChunks(/*even_if_recent=*/true);
  EXPECT_EQ(num_barriers, 0u);
  writer->NewTracePacket<Event>()->set_id(1);
  arbiter_->ReturnIdleChunks(/*even_if_recent=*/true);
  EXPECT_EQ(num_barriers, 1u);
  arbiter_->ReturnIdleChunks(/*even_if_recent=*/true);
  EXPECT_EQ(num_barriers, 1u);
}

TEST_F(TraceWriterTest, IdleWritersLeaveTheMemoryToOthers) {
  service_.DrainOnCommit();
  std::vector<std::unique_ptr<TraceWriter>> writers;
  for (size_t i = 0; i <= arbiter_->num_chunks(); ++i) {
    writers.push_back(arbiter_->CreateTraceWriter(kBuffer));
    writers.back()->NewTracePacket<Event>()->set_id(1);
  }
  EXPECT_EQ(writers.back()->packets_lost(), 1u);
  arbiter_->ReturnIdleChunks(/*even_if_recent=*/true);
  for (auto& writer : writers) {
    writer->NewTracePacket<Event>()->set_id(2);
    writer->ReturnChunk();
  }
  arbiter_->FlushPendingCommitDataRequests();
  EXPECT_EQ(writers.back()->packets_lost(), 1u);
  for (size_t i = 0; i < writers.size(); ++i) {
    EXPECT_EQ(Drain(writers[i]->writer_id()).size(),
              i + 1 == writers.size() ? 1u : 2u);
  }
}

TEST_F(TraceWriterTest, WhoWaitsTakesChunksOfIdleWriters) {
  Start(ABI::kPageDiv14, 0, /*stall_timeout_ms=*/600 * 1000);
  service_.DrainOnCommit();
  std::vector<std::unique_ptr<TraceWriter>> writers;
  for (size_t i = 0; i < 3 * arbiter_->num_chunks(); ++i) {
    writers.push_back(
        arbiter_->CreateTraceWriter(kBuffer, BufferExhaustedPolicy::kStall));
    writers.back()->NewTracePacket<Event>()->set_id(1);
    ASSERT_EQ(writers.back()->packets_lost(), 0u);
  }
  writers.clear();
  for (size_t i = 1; i <= 3 * arbiter_->num_chunks(); ++i)
    EXPECT_EQ(Drain(static_cast<WriterID>(i)).size(), 1u);
}

// If the barrier fails, threads may be writing to the chunks.
TEST_F(TraceWriterTest, NoChunkIsTakenWhereTheBarrierFails) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  writer->NewTracePacket<Event>()->set_id(1);
  barrier_works = false;
  for (uint32_t id = 2; id < 5; ++id) {
    arbiter_->ReturnIdleChunks(/*even_if_recent=*/true);
    EXPECT_TRUE(Drain().empty());
    writer->NewTracePacket<Event>()->set_id(id);
  }
  barrier_works = true;
  arbiter_->ReturnIdleChunks(/*even_if_recent=*/true);
  EXPECT_EQ(Drain().size(), 4u);
}

// A child process has no thread that goes on with taking a chunk. A thread that
// waits for that when it begins a packet would wait for ever.
TEST_F(TraceWriterTest, NobodyWaitsAfterAForkForAChunkThatIsBeingTaken) {
  int status = -1;
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  writer->NewTracePacket<Event>()->set_id(1);
  on_barrier = [&] {
    const pid_t child = fork();
    if (child == 0) {
      arbiter_->ResetAfterFork();
      for (int i = 0; i < 1000; ++i)
        writer->NewTracePacket<Event>()->set_name(std::string(100, 'x'));
      _exit(0);
    }
    waitpid(child, &status, 0);
  };
  arbiter_->ReturnIdleChunks(/*even_if_recent=*/true);
  EXPECT_EQ(status, 0);
  writer->NewTracePacket<Event>()->set_id(2);
  writer->Flush();
  EXPECT_EQ(Drain().size(), 2u);
}

TEST_F(TraceWriterTest, EndOfTheWriterCommitsWhatItWrote) {
  arbiter_->CreateTraceWriter(kBuffer)->NewTracePacket<Event>()->set_id(1);
  EXPECT_EQ(Drain(), std::vector<std::string>{FromHex("08 01")});
  EXPECT_TRUE(service_.registered_writers().empty());
}

TEST_F(TraceWriterTest, StreamCanBeTakenFromTheHandle) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  const std::string bytes = NamedEvent(500);
  ScatteredStreamWriter* stream =
      writer->NewTracePacket<Event>().TakeStreamWriter();
  stream->WriteBytes(reinterpret_cast<const uint8_t*>(bytes.data()),
                     bytes.size());
  writer->NewTracePacket<Event>()->set_id(1);
  writer->Flush();
  EXPECT_EQ(Drain(), (std::vector<std::string>{bytes, FromHex("08 01")}));
}

TEST_F(TraceWriterTest, BytesBehindThePacketAreNoPacket) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  ScatteredStreamWriter* const stream =
      writer->NewTracePacket<Event>().TakeStreamWriter();
  const std::string packet = FromHex("08 01");
  const std::string more = FromHex("05 06 07");
  stream->WriteBytes(reinterpret_cast<const uint8_t*>(packet.data()),
                     packet.size());
  // Ends the packet of the stream, and another one.
  writer->NewTracePacket<Event>()->set_id(2);
  stream->WriteBytes(reinterpret_cast<const uint8_t*>(more.data()),
                     more.size());
  writer->Flush();
  EXPECT_EQ(Drain(), (std::vector<std::string>{packet, FromHex("08 02")}));
}

TEST_F(TraceWriterTest, OneHandleServesForAllPackets) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  auto packet = writer->NewTracePacket<Event>();
  std::vector<std::string> expected;
  for (const bool is_finalized : {true, false, false, true}) {
    packet->set_id(1);
    if (is_finalized)
      packet->Finalize();
    // If it was not finalized, the next packet ends this one.
    packet = writer->NewTracePacket<Event>();
    packet->set_name(std::string(300, 'n'));
    packet->Finalize();
    packet = writer->NewTracePacket<Event>();
    expected.push_back(FromHex("08 01"));
    expected.push_back(NamedEvent(300));
  }
  packet->set_id(2);
  packet = MessageHandle<Event>();
  expected.push_back(FromHex("08 02"));
  writer->Flush();
  EXPECT_EQ(Drain(), expected);
  EXPECT_EQ(writer->packets_lost(), 0u);
}

TEST_F(TraceWriterTest, HandleThatOutlivesItsPacketDoesNoHarm) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  EXPECT_MISTAKE(
      {
        auto first = writer->NewTracePacket<Event>();
        first->set_id(1);
        auto second = writer->NewTracePacket<Event>();
        second->set_id(2);
        first = MessageHandle<Event>();
      },
      "this handle's message was reset");
  writer->NewTracePacket<Event>()->set_id(3);
  writer->Flush();
  EXPECT_EQ(Drain().back(), FromHex("08 03"));
}

// In release builds, the stale message writes to the new packet's message at
// the same depth.
TEST_F(TraceWriterTest, NestedMessageThatOutlivesItsPacketIsNoticed) {
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  Event* const stale = writer->NewTracePacket<Event>()->set_nested();
  {
    auto packet = writer->NewTracePacket<Event>();
    EXPECT_MISTAKE(stale->set_id(1), "this message is sealed");
    packet->set_nested()->set_id(2);
    EXPECT_MISTAKE(stale->set_id(3), "this message is sealed");
    packet->set_id(4);
    EXPECT_MISTAKE(stale->set_id(5), "this message is sealed");
  }
  writer->Flush();
  EXPECT_EQ(Drain(),
            (std::vector<std::string>{
                FromHex("1a 00"),
                FromHex(PROTOZERO_DCHECK_IS_ON ? "1a 02 08 02 08 04"
                                               : "1a 04 08 02 08 03 08 04")}));
}

TEST_F(TraceWriterTest, AllocatesNothingOnceItExists) {
  Start(ABI::kPageDiv14, SIZE_MAX);
  auto writer = arbiter_->CreateTraceWriter(kBuffer);
  size_t count = 0;
  for (int round = 0; round < 3; ++round) {
    {
      // This writes to memory that there is, so that the fake service, which
      // allocates, is not called.
      AllocationCounter counter;
      for (uint32_t i = 0; i < 100; ++i)
        writer->NewTracePacket<Event>()->set_id(i);
      {
        auto packet = writer->NewTracePacket<Event>();
        Event* nested = packet->set_nested();
        for (int i = 0; i < 4; ++i) {
          nested->set_name("0123456789012345678901234567890123456789012345");
          nested = nested->set_nested();
        }
        for (int i = 0; i < 12; ++i)
          nested->set_name("0123456789012345678901234567890123456789012345");
      }
      writer->ReturnChunk();
      count += counter.count();
    }
    arbiter_->FlushPendingCommitDataRequests();
    service_.DrainAll();
  }
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(Drain().size(), 303u);
  EXPECT_EQ(writer->packets_lost(), 0u);
}

}  // namespace
}  // namespace protozero::test
