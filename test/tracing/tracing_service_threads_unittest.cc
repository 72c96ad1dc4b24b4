// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests many writers, little memory, a service that takes its time, and
// producers that die or are malicious. The thread sanitizer runs it, too.

#include <stdint.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/ipc/process_barrier.h"
#include "test/testing/flags.h"
#include "test/tracing/fake_service.h"
#include "test/tracing/test_producer.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;

constexpr size_t kNumThreads = 8;
constexpr size_t kNumPages = 4;

struct Written {
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint64_t packets_lost = 0;
  uint64_t bytes_lost = 0;
  WriterID writer_id = 0;
};

// Writes a packet with a size from 2 bytes to a few chunks. Returns how many
// bytes were written.
size_t WritePacket(TraceWriter* writer, uint32_t number, bool is_nested) {
  MessageHandle<Message> packet = writer->NewTracePacket();
  packet->AppendVarInt(1, number);
  std::string payload(number % 97 == 0 ? 5000 : number % 61,
                      static_cast<char>('a' + number % 26));
  if (is_nested && number % 3 == 0) {
    Message* nested = packet->BeginNestedMessage<Message>(4);
    nested->AppendVarInt(1, number);
    nested->AppendString(2, payload);
  } else {
    packet->AppendString(2, payload);
  }
  return packet->Finalize();
}

// Checks that the packet is one of WritePacket(). Returns its number.
uint32_t CheckPacket(std::string_view bytes) {
  ProtoDecoder packet(bytes.data(), bytes.size());
  const uint32_t number = packet.FindField(1).as_uint32();
  Field nested_field = packet.FindField(4);
  std::string payload;
  if (nested_field.valid()) {
    ProtoDecoder nested(nested_field.as_bytes());
    EXPECT_EQ(nested.FindField(1).as_uint32(), number);
    payload = nested.FindField(2).as_std_string();
  } else {
    payload = packet.FindField(2).as_std_string();
  }
  EXPECT_EQ(payload, std::string(number % 97 == 0 ? 5000 : number % 61,
                                 static_cast<char>('a' + number % 26)));
  return number;
}

// Passes commits on, one request at a time, with pauses.
class SlowTransport : public ProducerEndpoint {
 public:
  explicit SlowTransport(ProducerEndpoint* service) : service_(service) {}

  // Passes on one request. Returns false if there is none.
  bool PassOn() {
    CopiedRequest request;
    {
      std::lock_guard<std::mutex> lock(lock_);
      if (queue_.empty())
        return false;
      request = std::move(queue_.front());
      queue_.pop_front();
    }
    service_->CommitData(request.Get());
    return true;
  }

  void CommitData(const CommitDataRequest& request) override {
    std::lock_guard<std::mutex> lock(lock_);
    queue_.emplace_back(request);
  }

 private:
  ProducerEndpoint* const service_;
  std::mutex lock_;
  std::deque<CopiedRequest> queue_;
};

// A test with the service, a session with a buffer that is large enough, and
// all that has been read of it.
class ServiceThreadsTest : public testing::Test {
 protected:
  explicit ServiceThreadsTest(size_t num_buffers = 1) {
    TraceConfig config;
    for (size_t i = 0; i < num_buffers; ++i) {
      // Each producer has its own buffer.
      config.buffers.push_back({64 << 20, BufferFillPolicy::kRingBuffer});
      TraceConfig::DataSource source;
      source.config.name = "source" + std::to_string(i);
      source.config.target_buffer = static_cast<BufferID>(i);
      config.data_sources.push_back(source);
    }
    session_ = service_.StartTracing(config, nullptr, nullptr);
  }

  static TracingService::ProducerInfo Info() {
    TracingService::ProducerInfo info;
    info.shm_page_size_hint = kPageSize;
    info.shm_size_hint = kNumPages * kPageSize;
    info.scraping_mode = TracingService::ScrapingMode::kEnabled;
    return info;
  }

  void Read() { trace_ += ReadTrace(&service_, session_); }
  // Returns all packets that have been read, by sequence, and forgets them.
  std::map<uint32_t, std::vector<TracedPacket>> TakePackets() {
    std::map<uint32_t, std::vector<TracedPacket>> packets;
    for (TracedPacket& packet : PacketsOfTrace(trace_))
      packets[packet.sequence_id].push_back(std::move(packet));
    trace_.clear();
    return packets;
  }
  // Returns 0 if nothing of the writer has been read.
  uint32_t SequenceOf(ProducerID producer_id, WriterID writer_id) {
    for (const TraceWriterStats& stats : service_.GetStats(session_).writers) {
      if (stats.producer_id == producer_id && stats.writer_id == writer_id)
        return stats.sequence_id;
    }
    return 0;
  }

  TracingService service_;
  TracingSessionID session_;
  std::string trace_;
};

class TraceWriterThreadsTest
    : public ServiceThreadsTest,
      public testing::WithParamInterface<ABI::PageLayout> {
 protected:
  TraceWriterThreadsTest() {
    producer_.Connect(&service_, "source0", Info());
    arbiter_ = producer_.MakeArbiter(GetParam(), &transport_);
  }

  // Each thread writes |num_packets|, while this one reads now and then.
  void Write(BufferExhaustedPolicy policy,
             uint32_t num_packets,
             bool are_nested) {
    written_.resize(kNumThreads);
    std::atomic<size_t> running{kNumThreads};
    // Some packets are lost at first, however fast the service is.
    std::atomic<bool> is_served{policy == BufferExhaustedPolicy::kStall};
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kNumThreads; ++i) {
      threads.emplace_back([&, i] {
        Written& written = written_[i];
        std::unique_ptr<TraceWriter> writer =
            arbiter_->CreateTraceWriter(producer_.buffer(), policy);
        for (uint32_t number = 1; number <= num_packets; ++number) {
          written.bytes += WritePacket(writer.get(), number, are_nested);
          ++written.packets;
          if (writer->packets_lost() > 0)
            is_served = true;
          if (number % 256 == 0)
            writer->ReturnChunk();
        }
        written.writer_id = writer->writer_id();
        written.packets_lost = writer->packets_lost();
        written.bytes_lost = writer->bytes_lost();
        writer.reset();
        --running;
      });
    }
    for (size_t i = 0; running > 0; ++i) {
      if (is_served)
        transport_.PassOn();
      // This is far more often than in any program.
      arbiter_->ReturnIdleChunks(/*even_if_recent=*/i % 2 == 0);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      if (i % 256 == 0)
        Read();
    }
    for (std::thread& thread : threads)
      thread.join();
    while (transport_.PassOn()) {
    }
    Read();
    packets_ = TakePackets();
    for (size_t page = 0; page < kNumPages; ++page)
      EXPECT_EQ(arbiter_->shmem_abi().GetPageWord(page), 0u);
    const TraceStats stats = service_.GetStats(session_);
    EXPECT_EQ(stats.buffers[0].abi_violations, 0u);
    EXPECT_EQ(stats.buffers[0].patches_failed, 0u);
    EXPECT_EQ(stats.buffers[0].chunks_overwritten, 0u);
    EXPECT_EQ(stats.buffers[0].chunks_committed_out_of_order, 0u);
    EXPECT_EQ(stats.buffers[0].chunks_read, stats.buffers[0].chunks_written);
    EXPECT_EQ(stats.invalid_packets, 0u);
    EXPECT_EQ(stats.chunks_discarded, 0u);
  }
  const std::vector<TracedPacket>& PacketsOf(const Written& written) {
    return packets_[SequenceOf(producer_.connection()->id(),
                               written.writer_id)];
  }

  TestProducer producer_;
  SlowTransport transport_{&producer_};
  SharedMemoryArbiter* arbiter_;
  std::vector<Written> written_;
  std::map<uint32_t, std::vector<TracedPacket>> packets_;
};

TEST_P(TraceWriterThreadsTest, StallLosesNothing) {
  constexpr uint32_t kNumPackets = 2000;
  Write(BufferExhaustedPolicy::kStall, kNumPackets, true);
  for (const Written& written : written_) {
    EXPECT_EQ(written.packets_lost, 0u);
    uint32_t next = 1;
    for (const TracedPacket& packet : PacketsOf(written)) {
      EXPECT_FALSE(packet.previous_packet_dropped);
      ASSERT_EQ(CheckPacket(packet.bytes), next++);
    }
    EXPECT_EQ(next, kNumPackets + 1);
  }
}

TEST_P(TraceWriterThreadsTest, DropIsCountedExactly) {
  // There are no nested messages, because their sizes may take one byte or
  // four.
  Write(BufferExhaustedPolicy::kDrop, 20000, false);
  uint64_t packets_lost = 0;
  for (const Written& written : written_) {
    packets_lost += written.packets_lost;
    uint64_t packets = 0;
    uint64_t bytes = 0;
    uint32_t last = 0;
    for (const TracedPacket& packet : PacketsOf(written)) {
      const uint32_t number = CheckPacket(packet.bytes);
      ASSERT_GT(number, last);
      const bool is_marked =
          ProtoDecoder(packet.bytes)
              .FindField(TraceWriter::kPreviousPacketDroppedFieldId)
              .valid();
      ASSERT_EQ(is_marked, number != last + 1);
      ASSERT_TRUE(is_marked || !packet.previous_packet_dropped);
      last = number;
      ++packets;
      bytes += packet.bytes.size();
    }
    EXPECT_EQ(written.packets, packets + written.packets_lost);
    EXPECT_EQ(written.bytes, bytes + written.bytes_lost);
  }
  EXPECT_GT(packets_lost, 0u);
}

TEST_P(TraceWriterThreadsTest, DroppedPacketsMayBeNested) {
  Write(BufferExhaustedPolicy::kDrop, 5000, true);
  for (const Written& written : written_) {
    const std::vector<TracedPacket>& packets = PacketsOf(written);
    EXPECT_EQ(written.packets, packets.size() + written.packets_lost);
    uint32_t last = 0;
    for (const TracedPacket& packet : packets) {
      const uint32_t number = CheckPacket(packet.bytes);
      ASSERT_GT(number, last);
      last = number;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts,
    TraceWriterThreadsTest,
    testing::Values(ABI::kPageDiv1, ABI::kPageDiv4, ABI::kPageDiv14),
    [](const testing::TestParamInfo<ABI::PageLayout>& i) {
      return "Div" + std::to_string(ABI::kNumChunksForLayout[i.param]);
    });

// Some threads write little, and one takes their chunks whenever they do
// nothing. No packet is lost, out of order, or written to a chunk that is no
// longer the writer's.
TEST(SharedMemoryArbiterThreadsTest, IdleChunksAreTakenBetweenPackets) {
  SharedMemoryArbiter::Options options;
  options.process_barrier = GetProcessBarrier();
  if (options.process_barrier == nullptr)
    GTEST_SKIP() << "the kernel has no membarrier()";
  const uint32_t num_packets = static_cast<uint32_t>(Flag("packets", 20000));
  SharedMemory memory(64 * kPageSize);
  FakeService service(memory, kPageSize);
  service.DrainOnCommit();
  SharedMemoryArbiter arbiter(memory.start(), memory.size(), kPageSize,
                              &service, options);
  std::atomic<size_t> running{2};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      auto writer =
          arbiter.CreateTraceWriter(BufferID{1}, BufferExhaustedPolicy::kStall);
      for (uint32_t number = 1; number <= num_packets; ++number) {
        WritePacket(writer.get(), number, true);
        if (number % 64 == 0)
          std::this_thread::yield();
      }
      EXPECT_EQ(writer->packets_lost(), 0u);
      --running;
    });
  }
  while (running > 0)
    arbiter.ReturnIdleChunks(/*even_if_recent=*/true);
  for (std::thread& thread : threads)
    thread.join();
  service.DrainAll();
  EXPECT_EQ(service.complaints(), "");
  EXPECT_EQ(service.sequences().size(), 2u);
  for (const auto& sequence : service.sequences()) {
    uint32_t next = 1;
    for (const FakeService::Packet& packet : sequence.second->packets)
      ASSERT_EQ(CheckPacket(packet.bytes), next++);
    EXPECT_EQ(next, num_packets + 1);
  }
}

// All threads and the owner commit at once, and no commit is lost.
TEST(SharedMemoryArbiterThreadsTest, FlushReturnsWhenTheServiceHasIt) {
  SharedMemory memory(64 * kPageSize);
  FakeService service(memory, kPageSize);
  service.DrainOnCommit();
  SharedMemoryArbiter arbiter(memory.start(), memory.size(), kPageSize,
                              &service);
  std::atomic<size_t> running{kNumThreads};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kNumThreads; ++i) {
    threads.emplace_back([&] {
      auto writer = arbiter.CreateTraceWriter(BufferID{1});
      for (uint32_t number = 1; number <= 500; ++number) {
        const size_t before = service.num_chunks_of(writer->writer_id());
        WritePacket(writer.get(), 1, false);
        writer->Flush();
        ASSERT_EQ(service.num_chunks_of(writer->writer_id()), before + 1);
      }
      --running;
    });
  }
  while (running > 0) {
    arbiter.FlushPendingCommitDataRequests();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads)
    thread.join();
}

// Producers die in the middle of everything. All that was committed has
// arrived, and no unfinished packet has.
TEST_F(ServiceThreadsTest, ProducersDieUnderLoad) {
  constexpr size_t kWriters = 3;
  const uint64_t kills = Flag("kills", 40);
  std::mt19937_64 random(Flag("seed", 1));
  for (uint64_t kill = 0; kill < kills; ++kill) {
    TestProducer producer;
    TracingService::ProducerInfo info = Info();
    // Its threads go on for a while, unlike those of a dead process.
    info.reports_losses = false;
    producer.Connect(&service_, "source0", std::move(info));
    constexpr ABI::PageLayout kLayouts[] = {ABI::kPageDiv1, ABI::kPageDiv4,
                                            ABI::kPageDiv14};
    SharedMemoryArbiter* const arbiter =
        producer.MakeArbiter(kLayouts[random() % 3]);
    std::atomic<bool> is_dead{false};
    std::atomic<uint32_t> total{0};
    std::atomic<uint32_t> progress[kWriters] = {};
    std::vector<std::thread> threads;
    for (std::atomic<uint32_t>& committed : progress) {
      threads.emplace_back([&, seed = random()] {
        std::mt19937_64 writer_random(seed);
        auto writer = arbiter->CreateTraceWriter(producer.buffer(),
                                                 BufferExhaustedPolicy::kStall);
        for (uint32_t number = 1; !is_dead && number < 20000; ++number) {
          WritePacket(writer.get(), number, true);
          ++total;
          if (writer_random() % 64 == 0) {
            writer->Flush();
            if (!is_dead)
              committed = number;
          }
        }
        // Its chunks are not freed any more.
        writer.reset();
      });
    }
    const uint32_t lifetime = static_cast<uint32_t>(random() % 5000);
    while (total < lifetime)
      std::this_thread::yield();
    is_dead = true;
    producer.Die();
    for (std::thread& thread : threads)
      thread.join();
    Read();
    const auto packets = TakePackets();
    // The number of packets of each writer before the first one that is
    // missing.
    std::vector<uint32_t> received;
    for (const auto& sequence : packets) {
      uint32_t last = 0;
      uint32_t whole = 0;
      for (const TracedPacket& packet : sequence.second) {
        const uint32_t number = CheckPacket(packet.bytes);
        // The producer may have died when it had begun to hand over a packet,
        // and not finished.
        ASSERT_EQ(packet.previous_packet_dropped, number != last + 1);
        ASSERT_GT(number, last);
        last = number;
        whole += number == whole + 1;
      }
      received.push_back(whole);
    }
    received.resize(kWriters);
    // The order of writers does not matter: each is known by its number of
    // packets.
    const TraceStats stats = service_.GetStats(session_);
    std::vector<uint32_t> committed(progress, progress + kWriters);
    std::sort(received.begin(), received.end());
    std::sort(committed.begin(), committed.end());
    for (size_t i = 0; i < kWriters; ++i)
      ASSERT_GE(received[i], committed[i]) << "kill " << kill;
    ASSERT_TRUE(stats.producers.empty());
    ASSERT_LE(stats.writers.size(), 256u);
    ASSERT_EQ(stats.buffers[0].abi_violations, 0u);
  }
}

class HostileProducerTest : public ServiceThreadsTest {
 protected:
  HostileProducerTest() : ServiceThreadsTest(2) {}
};

// Writes anything anywhere in its memory, and asks for anything, until it is
// told to stop.
void BeHostile(TestProducer* producer, uint64_t seed, std::atomic<bool>* stop) {
  std::mt19937_64 random(seed);
  TracingService::ProducerConnection* const connection = producer->connection();
  uint8_t* const memory = producer->abi().start();
  constexpr size_t kNumWords = kNumPages * kPageSize / sizeof(uint32_t);
  const auto word = [&](size_t index) -> std::atomic<uint32_t>& {
    return reinterpret_cast<std::atomic<uint32_t>*>(memory)[index];
  };
  // Returns a number that makes sense, often enough.
  const auto small_random = [&](uint32_t limit) {
    return static_cast<uint32_t>(random() % 8 != 0 ? random() % limit
                                                   : random());
  };
  while (!*stop) {
    for (int i = 0; i < 32; ++i) {
      word(random() % kNumWords) = static_cast<uint32_t>(
          random() & (random() % 2 == 0 ? 0x8303018303 : UINT32_MAX));
    }
    // This page looks as if there was something to be read.
    const size_t page = random() % kNumPages;
    const ABI::PageLayout layout = static_cast<ABI::PageLayout>(random() % 8);
    word(page * kPageSize / 4) = static_cast<uint32_t>(
        layout << ABI::kLayoutShift | (random() & ABI::kAllChunksMask));
    const size_t chunk_size = ABI::ChunkSize(kPageSize, layout);
    for (size_t i = 0; i < ABI::kNumChunksForLayout[layout]; ++i) {
      const size_t header = (page * kPageSize + 8 + i * chunk_size) / 4;
      word(header) = small_random(10);
      word(header + 1) = small_random(5) | small_random(64) << 16;
    }
    std::vector<CommitDataRequest::ChunkToMove> moves(
        static_cast<size_t>(random() % 20));
    for (CommitDataRequest::ChunkToMove& move : moves) {
      move.page = small_random(kNumPages);
      move.chunk = small_random(14);
      move.target_buffer = random() % 8 != 0 ? producer->buffer()
                                             : static_cast<BufferID>(random());
      if (random() % 8 == 0) {
        move.data = memory;
        move.data_size = small_random(100) % (kPageSize * kNumPages);
        // This thread has its own copy: no thread writes to a request in the
        // meantime.
        static thread_local uint8_t bytes[kPageSize * kNumPages];
        for (size_t i = 0; i < 64; ++i)
          bytes[random() % sizeof(bytes)] = static_cast<uint8_t>(random());
        move.data = bytes;
        move.is_incomplete = random() % 2 == 0;
      }
    }
    std::vector<CommitDataRequest::Patch> patches(
        static_cast<size_t>(random() % 5));
    for (CommitDataRequest::Patch& patch : patches)
      patch = {small_random(300), {1, 2, 3, 4}};
    const CommitDataRequest::ChunkToPatch chunk = {
        producer->buffer(), static_cast<WriterID>(small_random(5)),
        small_random(10),   patches.data(),
        patches.size(),     random() % 2 == 0};
    connection->CommitData(
        {moves.data(), moves.size(), &chunk, 1, random() % 100});
    const WriterID writer_id = static_cast<WriterID>(small_random(5));
    switch (random() % 64) {
      case 0:
        connection->RegisterTraceWriter(writer_id, producer->buffer());
        break;
      case 1:
        connection->UnregisterTraceWriter(writer_id);
        break;
      case 2:
        connection->RegisterDataSource({"source1"});
        break;
      case 3:
        connection->UnregisterDataSource("source1");
        break;
      case 4:
        connection->NotifyDataSourceStopped(random() % 100);
        break;
      case 5:
        connection->NotifyDataSourceStarted(random() % 100);
        break;
    }
  }
}

TEST_F(HostileProducerTest, HarmsNobodyElse) {
  const uint32_t num_packets = static_cast<uint32_t>(Flag("packets", 20000));
  TestProducer hostile;
  hostile.Connect(&service_, "source1", Info());
  TestProducer victim;
  victim.Connect(&service_, "source0", Info());
  SharedMemoryArbiter* const arbiter = victim.MakeArbiter();
  const ProducerID victim_id = victim.connection()->id();

  std::atomic<bool> stop{false};
  std::thread hostile_thread(
      [&] { BeHostile(&hostile, Flag("seed", 1), &stop); });
  std::atomic<size_t> running{2};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      auto writer = arbiter->CreateTraceWriter(victim.buffer(),
                                               BufferExhaustedPolicy::kStall);
      for (uint32_t number = 1; number <= num_packets; ++number)
        WritePacket(writer.get(), number, true);
      writer->Flush();
      --running;
      while (!stop)
        std::this_thread::yield();
    });
  }
  const auto has_done_harm = [&] {
    const TraceBufferStats harmed = service_.GetStats(session_).buffers[1];
    return harmed.chunks_written > 100 && harmed.abi_violations > 0;
  };
  while (running > 0 || !has_done_harm()) {
    Read();
    service_.Flush(session_, 1, 0, nullptr);
    service_.RunDue();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  Read();
  const uint32_t sequences[] = {SequenceOf(victim_id, 1),
                                SequenceOf(victim_id, 2)};
  const TraceStats stats = service_.GetStats(session_);
  stop = true;
  hostile_thread.join();
  for (std::thread& thread : threads)
    thread.join();

  auto packets = TakePackets();
  for (const uint32_t sequence : sequences) {
    uint32_t next = 1;
    for (const TracedPacket& packet : packets[sequence]) {
      ASSERT_FALSE(packet.previous_packet_dropped);
      ASSERT_EQ(CheckPacket(packet.bytes), next++);
    }
    EXPECT_EQ(next, num_packets + 1);
  }
  EXPECT_EQ(stats.buffers[0].abi_violations, 0u);
  EXPECT_EQ(stats.buffers[0].chunks_overwritten, 0u);
  const TraceBufferStats& harmed = stats.buffers[1];
  EXPECT_LE(harmed.bytes_written - harmed.bytes_read - harmed.bytes_overwritten,
            harmed.buffer_size);
  EXPECT_LE(stats.writers.size(), 2u * (kMaxWriterID + 256u));
}

}  // namespace
}  // namespace protozero::test
