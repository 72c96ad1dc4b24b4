// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests the parts of the service, each without those above it.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/tracing/shared_memory.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/service/buffer_table.h"
#include "src/tracing/service/chunk_collector.h"
#include "src/tracing/service/data_sources.h"
#include "src/tracing/service/flushes.h"
#include "src/tracing/service/producer_record.h"
#include "src/tracing/service/producer_table.h"
#include "src/tracing/service/service_packets.h"
#include "src/tracing/service/session.h"
#include "src/tracing/service/session_reader.h"
#include "src/tracing/service/trace_buffer.h"
#include "src/tracing/shared_memory/chunk_reader.h"

namespace protozero::test {
namespace {

using service::ClockReadings;
using service::Flushes;
using service::kNever;
using service::ProducerRecord;
using service::Session;

class HeapMemory : public SharedMemory {
 public:
  explicit HeapMemory(size_t size)
      : size_(size), memory_(static_cast<uint8_t*>(aligned_alloc(4096, size))) {
    std::fill_n(memory_, size, uint8_t{0});
  }
  ~HeapMemory() override { free(memory_); }
  uint8_t* start() const override { return memory_; }
  size_t size() const override { return size_; }

 private:
  const size_t size_;
  uint8_t* const memory_;
};

// Notes down the service's requests.
class FakeProducer : public TracingService::RemoteProducer {
 public:
  std::string TakeCalls() { return std::exchange(calls_, ""); }

  std::unique_ptr<SharedMemory> SetupTracing(size_t size, size_t) override {
    return std::make_unique<HeapMemory>(size);
  }
  void SetupDataSource(DataSourceInstanceID id,
                       const DataSourceConfig&) override {
    Note("setup", id);
  }
  void StartDataSource(DataSourceInstanceID id,
                       const DataSourceConfig&) override {
    Note("start", id);
  }
  void StopDataSource(DataSourceInstanceID id) override { Note("stop", id); }
  void Flush(FlushRequestID id,
             const std::vector<DataSourceInstanceID>&,
             FlushFlags) override {
    Note("flush", id);
  }
  void ClearIncrementalState(
      const std::vector<DataSourceInstanceID>&) override {}

 private:
  void Note(const char* call, uint64_t id) {
    calls_ += (calls_.empty() ? "" : " ") + (call + std::to_string(id));
  }
  std::string calls_;
};

class ServicePartsTest : public testing::Test, public Flushes::Observer {
 public:
  // Connects a producer with the data source "x".
  ProducerRecord* Connect(FakeProducer* remote,
                          bool will_notify_on_stop = false) {
    ProducerRecord* const producer = producers_.Add(remote, {});
    DataSourceDescriptor descriptor;
    descriptor.name = "x";
    descriptor.will_notify_on_start = true;
    descriptor.will_notify_on_stop = will_notify_on_stop;
    data_sources_.Register(producer, descriptor, &sessions_);
    return producer;
  }
  // Starts a session that wants "x", and sets everything up.
  Session* StartSession() {
    const TracingSessionID id = sessions_.size() + 1;
    Session& session = sessions_[id];
    session.id = id;
    session.config.data_sources.resize(1);
    session.config.data_sources[0].config.name = "x";
    session.config.data_sources[0].config.stop_timeout_ms = 100;
    session.data_sources.wanted["x"] = {0};
    session.data_sources.num_instances = {0};
    session.buffer_ids = {
        buffers_.Add(&session, {4096, BufferFillPolicy::kRingBuffer})};
    data_sources_.SetupSession(&session);
    return &session;
  }
  std::string TakeEnds() { return std::exchange(ends_, ""); }

  // Flushes::Observer:
  void OnFlushEnd(const Flushes::Flush& flush, bool success) override {
    ends_ += success ? "+" : "-";
    if (flush.is_final)
      ends_ += "!";
  }

 protected:
  uint64_t now_ = 1000;
  const TracingService::Clock clock_ = [this] { return now_; };
  service::BufferTable buffers_;
  service::ChunkCollector chunks_{&clock_, &buffers_};
  service::ProducerTable producers_{&chunks_};
  service::DataSources data_sources_{&clock_, &buffers_, &producers_};
  Flushes flushes_{&clock_, &producers_, &data_sources_, this};
  service::SessionMap sessions_;

 private:
  std::string ends_;
};

TEST_F(ServicePartsTest, BufferIDsAreReusedAsLateAsPossible) {
  const TraceConfig::BufferConfig config{4096, BufferFillPolicy::kDiscard};
  EXPECT_EQ(buffers_.Add(nullptr, config), 1);
  for (uint32_t id = 2; id <= UINT16_MAX; ++id) {
    ASSERT_EQ(buffers_.Add(nullptr, config), id);
    buffers_.Remove(static_cast<BufferID>(id));
  }
  // The id is neither 0, which means none, nor 1, which is in use.
  EXPECT_EQ(buffers_.Add(nullptr, config), 2);
}

TEST_F(ServicePartsTest, InstancesStartAndStop) {
  FakeProducer remote;
  ProducerRecord* const producer =
      Connect(&remote, /*will_notify_on_stop=*/true);
  Session* const session = StartSession();
  EXPECT_EQ(remote.TakeCalls(), "setup1 start1");
  EXPECT_EQ(session->data_sources.num_starting, 1u);
  EXPECT_EQ(data_sources_.NotifyStarted(producer, 1), session);
  EXPECT_EQ(session->data_sources.num_starting, 0u);
  EXPECT_EQ(data_sources_.NotifyStarted(producer, 1), nullptr);

  data_sources_.StopAll(session);
  EXPECT_EQ(remote.TakeCalls(), "stop1");
  EXPECT_EQ(data_sources_.NextStopDeadline(), now_ + 100);
  EXPECT_EQ(session->data_sources.instances.size(), 1u);
  EXPECT_EQ(data_sources_.NotifyStopped(producer, 1), session);
  EXPECT_TRUE(session->data_sources.instances.empty());
  EXPECT_EQ(data_sources_.NextStopDeadline(), kNever);
}

TEST_F(ServicePartsTest, InstancesThatDoNotStopHaveADeadline) {
  FakeProducer remote;
  Connect(&remote, /*will_notify_on_stop=*/true);
  Session* const session = StartSession();
  data_sources_.StopAll(session);
  EXPECT_EQ(data_sources_.StopOverdue(now_ + 99), nullptr);
  EXPECT_EQ(data_sources_.StopOverdue(now_ + 100), session);
  EXPECT_TRUE(session->data_sources.instances.empty());
  EXPECT_TRUE(session->data_sources.has_changed);
}

TEST_F(ServicePartsTest, InstancesOfProducersThatEndAreErased) {
  FakeProducer remote;
  ProducerRecord* const producer = Connect(&remote);
  Session* const session = StartSession();
  remote.TakeCalls();
  data_sources_.EraseAll(producer);
  EXPECT_EQ(remote.TakeCalls(), "");
  EXPECT_TRUE(session->data_sources.instances.empty());
  EXPECT_EQ(session->data_sources.num_starting, 0u);
}

TEST_F(ServicePartsTest, FlushEndsWhenAllHaveAnswered) {
  FakeProducer first, second;
  ProducerRecord* const producers[] = {Connect(&first), Connect(&second)};
  Session* const session = StartSession();
  const FlushRequestID id =
      flushes_.Begin(session, 50, kFlushReasonExplicit, true, nullptr);
  EXPECT_TRUE(session->flushes.has_final);
  flushes_.Acknowledge(producers[0], id);
  EXPECT_EQ(TakeEnds(), "");
  flushes_.Acknowledge(producers[1], id);
  EXPECT_EQ(TakeEnds(), "+!");
  EXPECT_TRUE(session->flushes.pending.empty());
  EXPECT_EQ(flushes_.NextDeadline(), kNever);
}

TEST_F(ServicePartsTest, AnAnswerIsForEarlierFlushesToo) {
  FakeProducer remote;
  ProducerRecord* const producer = Connect(&remote);
  Session* const session = StartSession();
  flushes_.Begin(session, 50, kFlushReasonExplicit, false, nullptr);
  const FlushRequestID last =
      flushes_.Begin(session, 50, kFlushReasonExplicit, false, nullptr);
  flushes_.Acknowledge(producer, last);
  EXPECT_EQ(TakeEnds(), "++");
}

TEST_F(ServicePartsTest, FlushFailsWhenItsTimeIsOver) {
  FakeProducer remote;
  ProducerRecord* const producer = Connect(&remote);
  Session* const session = StartSession();
  const FlushRequestID id =
      flushes_.Begin(session, 50, kFlushReasonExplicit, false, nullptr);
  EXPECT_EQ(flushes_.NextDeadline(), now_ + 50);
  flushes_.FailOverdue(now_ + 49);
  EXPECT_EQ(TakeEnds(), "");
  flushes_.FailOverdue(now_ + 50);
  EXPECT_EQ(TakeEnds(), "-");
  // This is too late.
  flushes_.Acknowledge(producer, id);
  EXPECT_EQ(TakeEnds(), "");
}

TEST_F(ServicePartsTest, AProducerHasOnePeriodicFlushAtATime) {
  FakeProducer remote;
  Connect(&remote);
  Session* const session = StartSession();
  remote.TakeCalls();
  flushes_.Begin(session, 50, service::kPeriodicFlush, false, nullptr);
  EXPECT_EQ(remote.TakeCalls(), "flush1");
  flushes_.Begin(session, 50, service::kPeriodicFlush, false, nullptr);
  EXPECT_EQ(remote.TakeCalls(), "");
  EXPECT_EQ(TakeEnds(), "+");
  flushes_.FailAll(session);
  EXPECT_EQ(TakeEnds(), "-");
}

TEST_F(ServicePartsTest, NoWriterGetsTheSequenceIDOfAnother) {
  Session* const session = StartSession();
  session->output.next_sequence_id = UINT32_MAX;
  service::TraceBuffer& buffer = buffers_.Get(session->buffer_ids[0]);
  const auto add = [&](WriterID writer_id, ChunkID chunk_id) {
    ChunkCopy chunk;
    chunk.writer_id = writer_id;
    chunk.chunk_id = chunk_id;
    chunk.num_packets = 1;
    chunk.is_complete = true;
    chunk.payload = {2, 0x40, 1};
    buffer.AddChunk({7, 1000, 1234}, chunk);
  };
  for (ChunkID i = 0; i < 3; ++i) {
    add(1, i);
    add(2, i);
  }
  service::SessionReader reader(&buffers_, nullptr);
  std::vector<uint8_t> bytes;
  bool has_more = false;
  EXPECT_TRUE(reader.ReadBatch(session, &bytes, &has_more));
  size_t num_packets = 0;
  for (const ConstBytes packet : trace::Trace::Decoder(bytes).packet()) {
    ++num_packets;
    EXPECT_EQ(trace::TracePacket::Decoder(packet).trusted_packet_sequence_id(),
              UINT32_MAX);
  }
  EXPECT_EQ(num_packets, 3u);
  EXPECT_EQ(buffer.stats().lost.of(LossReason::kNoWriterID), 3u);
}

TEST(ServicePacketsTest, ClocksAreThoseOfTheSystem) {
  const auto read = [](clockid_t clock) {
    timespec time;
    EXPECT_EQ(clock_gettime(clock, &time), 0);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
           static_cast<uint64_t>(time.tv_nsec);
  };
  const uint64_t boottime = read(CLOCK_BOOTTIME);
  const uint64_t monotonic = read(CLOCK_MONOTONIC);
  const uint64_t realtime = read(CLOCK_REALTIME);
  const ClockReadings clocks = service::ReadClocks();
  EXPECT_GE(clocks.boottime, boottime);
  EXPECT_LE(clocks.boottime, read(CLOCK_BOOTTIME));
  EXPECT_GE(clocks.monotonic, monotonic);
  EXPECT_LE(clocks.monotonic, read(CLOCK_MONOTONIC));
  // Anyone may set this one.
  EXPECT_GE(clocks.realtime + 3600000000000, realtime);
}

// Returns the snapshot in a trace, as "clock=time ... of primary at timestamp".
std::string SnapshotIn(const std::vector<uint8_t>& bytes) {
  std::string text;
  for (const ConstBytes packet : trace::Trace::Decoder(bytes).packet()) {
    const trace::TracePacket::Decoder decoder(packet);
    if (!decoder.has_clock_snapshot())
      continue;
    const trace::ClockSnapshot::Decoder snapshot(decoder.clock_snapshot());
    for (const ConstBytes clock : snapshot.clocks()) {
      const trace::ClockSnapshot::Clock::Decoder reading(clock);
      text += std::to_string(reading.clock_id()) + "=" +
              std::to_string(reading.timestamp()) + " ";
    }
    text += "of " + std::to_string(snapshot.primary_trace_clock()) + " at " +
            std::to_string(decoder.timestamp());
  }
  return text;
}

// By the numbers of Perfetto's clocks: 1 for real time, 3 for monotonic time, 6
// for boot time.
TEST(ServicePacketsTest, SnapshotsHaveAllClocks) {
  ClockReadings clocks{};
  clocks.realtime = 100;
  clocks.monotonic = 20;
  clocks.boottime = 30;
  std::vector<uint8_t> bytes;
  ASSERT_TRUE(service::AppendClockSnapshot(clocks, &bytes));
  EXPECT_EQ(SnapshotIn(bytes), "1=100 3=20 6=30 of 6 at 30");
  // Some systems have no boot clock.
  clocks.boottime = 0;
  bytes.clear();
  ASSERT_TRUE(service::AppendClockSnapshot(clocks, &bytes));
  EXPECT_EQ(SnapshotIn(bytes), "1=100 3=20 of 3 at 20");
  // A snapshot of one clock relates none.
  bytes.clear();
  ASSERT_TRUE(service::AppendClockSnapshot({0, 0, 30}, &bytes));
  EXPECT_EQ(SnapshotIn(bytes), "6=30 of 6 at 30");
  bytes.clear();
  ASSERT_TRUE(service::AppendTraceHeader(clocks, "", &bytes));
  EXPECT_EQ(SnapshotIn(bytes), "1=100 3=20 of 3 at 20");
  bytes.clear();
  ASSERT_TRUE(service::AppendTraceTrailer(clocks, TraceStats(), &bytes));
  EXPECT_EQ(SnapshotIn(bytes), "1=100 3=20 of 3 at 20");
}

TEST(ServicePacketsTest, TheTrailerHasAllFiguresOfABuffer) {
  TraceStats stats;
  stats.buffers.resize(1);
  TraceBufferStats& buffer = stats.buffers[0];
  uint64_t number = 0;
  buffer.buffer_size = ++number;
  buffer.bytes_written = ++number;
  buffer.bytes_overwritten = ++number;
  buffer.bytes_read = ++number;
  buffer.chunks_written = ++number;
  buffer.chunks_rewritten = ++number;
  buffer.chunks_overwritten = ++number;
  buffer.chunks_discarded = ++number;
  buffer.chunks_read = ++number;
  buffer.chunks_committed_out_of_order = ++number;
  buffer.write_wrap_count = ++number;
  buffer.patches_succeeded = ++number;
  buffer.patches_failed = ++number;
  buffer.readaheads_succeeded = ++number;
  buffer.readaheads_failed = ++number;
  buffer.abi_violations = ++number;
  buffer.packets_begun = ++number;
  buffer.packets_read = ++number;
  buffer.unknown_losses = ++number;
  for (size_t i = 0; i < kNumLossReasons; ++i)
    buffer.lost.packets[i] = 1000 + i;
  buffer.lost.bytes = 77;
  std::vector<uint8_t> bytes;
  ASSERT_TRUE(service::AppendTraceTrailer({}, stats, &bytes));

  ConstBytes message;
  for (const ConstBytes packet : trace::Trace::Decoder(bytes).packet()) {
    const trace::TracePacket::Decoder decoder(packet);
    if (decoder.has_trace_stats())
      message = decoder.trace_stats();
  }
  const trace::TraceStats::Decoder decoder(message);
  ASSERT_TRUE(decoder.has_buffer_stats());
  const trace::TraceStats::BufferStats::Decoder read(*decoder.buffer_stats());
  number = 0;
  EXPECT_EQ(read.buffer_size(), ++number);
  EXPECT_EQ(read.bytes_written(), ++number);
  EXPECT_EQ(read.bytes_overwritten(), ++number);
  EXPECT_EQ(read.bytes_read(), ++number);
  EXPECT_EQ(read.chunks_written(), ++number);
  EXPECT_EQ(read.chunks_rewritten(), ++number);
  EXPECT_EQ(read.chunks_overwritten(), ++number);
  EXPECT_EQ(read.chunks_discarded(), ++number);
  EXPECT_EQ(read.chunks_read(), ++number);
  EXPECT_EQ(read.chunks_committed_out_of_order(), ++number);
  EXPECT_EQ(read.write_wrap_count(), ++number);
  EXPECT_EQ(read.patches_succeeded(), ++number);
  EXPECT_EQ(read.patches_failed(), ++number);
  EXPECT_EQ(read.readaheads_succeeded(), ++number);
  EXPECT_EQ(read.readaheads_failed(), ++number);
  EXPECT_EQ(read.abi_violations(), ++number);
  EXPECT_EQ(read.packets_begun(), ++number);
  EXPECT_EQ(read.packets_read(), ++number);
  EXPECT_EQ(read.unknown_losses(), ++number);
  EXPECT_EQ(read.bytes_lost(), 77u);
  EXPECT_EQ(read.trace_writer_packet_loss(), 6 * 1000u + 15);
  size_t reason = 0;
  for (const ConstBytes lost : read.packets_lost()) {
    const trace::TraceStats::PacketsLost::Decoder losses(lost);
    EXPECT_EQ(static_cast<size_t>(losses.reason()), reason);
    EXPECT_EQ(losses.packets(), 1000 + reason);
    ++reason;
  }
  EXPECT_EQ(reason, kNumLossReasons);
}

TEST(ServicePacketsTest, TheTrailerHasAllFiguresOfTheSession) {
  TraceStats stats;
  stats.buffers.resize(3);
  stats.producers.resize(2);
  stats.producers_seen = 4;
  stats.data_sources_registered = 5;
  stats.tracing_sessions = 6;
  stats.chunks_discarded = 7;
  stats.patches_discarded = 8;
  stats.invalid_packets = 9;
  stats.flushes_requested = 10;
  stats.flushes_succeeded = 11;
  stats.flushes_failed = 12;
  using Read = trace::TraceStats;
  for (const bool is_flushed : {false, true}) {
    stats.final_flush_succeeded = is_flushed;
    std::vector<uint8_t> bytes;
    ASSERT_TRUE(service::AppendTraceTrailer({1, 2, 3}, stats, &bytes));
    size_t num_found = 0;
    for (const ConstBytes packet : trace::Trace::Decoder(bytes).packet()) {
      const trace::TracePacket::Decoder decoder(packet);
      if (!decoder.has_trace_stats())
        continue;
      ++num_found;
      // The boot clock's time.
      EXPECT_EQ(decoder.timestamp(), 3u);
      const Read::Decoder read(decoder.trace_stats());
      EXPECT_EQ(read.producers_connected(), 2u);
      EXPECT_EQ(read.total_buffers(), 3u);
      EXPECT_EQ(read.producers_seen(), 4u);
      EXPECT_EQ(read.data_sources_registered(), 5u);
      EXPECT_EQ(read.tracing_sessions(), 6u);
      EXPECT_EQ(read.chunks_discarded(), 7u);
      EXPECT_EQ(read.patches_discarded(), 8u);
      EXPECT_EQ(read.invalid_packets(), 9u);
      EXPECT_EQ(read.flushes_requested(), 10u);
      EXPECT_EQ(read.flushes_succeeded(), 11u);
      EXPECT_EQ(read.flushes_failed(), 12u);
      EXPECT_EQ(read.final_flush_outcome(), is_flushed
                                                ? Read::FINAL_FLUSH_SUCCEEDED
                                                : Read::FINAL_FLUSH_FAILED);
    }
    EXPECT_EQ(num_found, 1u);
  }
}

TEST(ChunkCollectorTest, WritersThatCannotBeTakeNoMemory) {
  const TracingService::Clock clock = [] { return uint64_t{1000}; };
  service::BufferTable buffers;
  service::ChunkCollector collector(&clock, &buffers);
  ProducerRecord producer;
  collector.RegisterTraceWriter(&producer, kMaxWriterID, 1);
  EXPECT_EQ(producer.chunks.writers.Get(kMaxWriterID), 1u);
  // The table has a row for each id up to the highest.
  for (const WriterID writer :
       {WriterID{0}, WriterID{kMaxWriterID + 1}, WriterID{UINT16_MAX}}) {
    collector.RegisterTraceWriter(&producer, writer, 1);
    EXPECT_EQ(producer.chunks.writers.Get(writer), 0u) << writer;
  }
}

TEST(ServicePacketsTest, ClocksThatDriftApart) {
  const ClockReadings earlier = {1000000000, 5000000000, 7000000000};
  const auto have_drifted = [&](int64_t realtime, int64_t boottime) {
    const uint64_t passed = 60000000000;
    ClockReadings later = earlier;
    later.realtime += passed + static_cast<uint64_t>(realtime);
    later.monotonic += passed;
    later.boottime += passed + static_cast<uint64_t>(boottime);
    return HaveDrifted(earlier, later);
  };
  EXPECT_FALSE(have_drifted(0, 0));
  EXPECT_FALSE(have_drifted(999999, -999999));
  EXPECT_TRUE(have_drifted(1000000, 0));
  EXPECT_TRUE(have_drifted(-1000000, 0));
  // The system was suspended.
  EXPECT_TRUE(have_drifted(3000000000, 3000000000));
  EXPECT_TRUE(have_drifted(0, 1000000));
}

TEST(ServicePacketsTest, SnapshotsOfATraceAgree) {
  const ClockReadings first = service::ReadClocksAfter({});
  for (int i = 0; i < 1000; ++i) {
    const ClockReadings clocks = service::ReadClocksAfter(first);
    EXPECT_GE(clocks.monotonic, first.monotonic);
    // Anyone may set this one.
    if (!HaveDrifted(first, clocks)) {
      EXPECT_EQ(clocks.realtime - first.realtime,
                clocks.monotonic - first.monotonic);
    }
    EXPECT_EQ(clocks.boottime - first.boottime,
              clocks.monotonic - first.monotonic);
  }
  // The clock was set.
  ClockReadings other = first;
  other.realtime -= 3600000000000;
  const ClockReadings clocks = service::ReadClocksAfter(other);
  EXPECT_TRUE(HaveDrifted(other, clocks));
}

}  // namespace
}  // namespace protozero::test
