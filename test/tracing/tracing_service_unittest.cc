// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/tracing_service.h"

#include <stdint.h>
#include <stdio.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "src/tracing/service/trace_buffer.h"
#include "test/testing/hex.h"
#include "test/tracing/test_producer.h"

namespace protozero::test {
namespace {

using ABI = SharedMemoryABI;
using Strings = std::vector<std::string>;

class TestConsumer : public TracingService::Consumer {
 public:
  void OnAllDataSourcesStarted(TracingSessionID) override {
    calls += "started ";
  }
  void OnProducerWithoutMemory(TracingSessionID,
                               const TracingService::ProducerInfo& info,
                               const std::string& reason) override {
    calls += info.name + ":" + std::to_string(info.pid) + ":" + reason + " ";
  }
  void OnTracingStopped(TracingSessionID) override { calls += "stopped "; }
  void OnTraceWritten(TracingSessionID, bool complete) override {
    calls += complete ? "written " : "lost ";
  }
  bool OnTraceData(TracingSessionID,
                   const uint8_t* data,
                   size_t size) override {
    if (refuses)
      return false;
    trace.append(reinterpret_cast<const char*>(data), size);
    return true;
  }

  std::string calls;
  std::string trace;
  bool refuses = false;
};

// A test with one producer, which is "test" unless it says otherwise, and has a
// data source "source".
class TracingServiceTest : public testing::Test {
 protected:
  TracingServiceTest() : service_([this] { return now_; }) {
    config_.buffers.push_back({1 << 20, BufferFillPolicy::kRingBuffer});
    config_.clock_snapshot_period_ms = 0;
    AddDataSource("source");
  }

  void AddDataSource(const std::string& name, BufferID target_buffer = 0) {
    TraceConfig::DataSource source;
    source.config.name = name;
    source.config.target_buffer = target_buffer;
    config_.data_sources.push_back(source);
  }
  static TracingService::ProducerInfo Info(bool scrapes = false) {
    TracingService::ProducerInfo info;
    info.name = "test";
    info.uid = 1000;
    info.pid = 77;
    if (scrapes)
      info.scraping_mode = TracingService::ScrapingMode::kEnabled;
    return info;
  }
  void Start() {
    std::string error;
    session_ = service_.StartTracing(config_, &consumer_, &error);
    ASSERT_NE(session_, 0u) << error;
  }
  void ConnectAndStart(bool scrapes = false) {
    producer_.Connect(&service_, "source", Info(scrapes));
    Start();
  }
  // Connects a producer with a second data source, which notifies when it has
  // stopped.
  void ConnectSlowProducer() {
    DataSourceDescriptor descriptor;
    descriptor.name = "slow";
    descriptor.will_notify_on_stop = true;
    producer_.Connect(&service_, "source", Info());
    producer_.connection()->RegisterDataSource(descriptor);
    AddDataSource("slow");
  }
  void PassTime(uint64_t milliseconds) {
    now_ += milliseconds;
    service_.RunDue();
  }
  // Ends the session.
  void Stop() {
    service_.StopTracing(session_);
    producer_.AcknowledgeFlush(UINT64_MAX);
    ASSERT_EQ(service_.GetState(session_), TracingService::kStopped);
  }
  // Returns the packets, with an exclamation mark in front of each that follows
  // a loss.
  Strings Packets() {
    Strings packets;
    for (const TracedPacket& packet :
         PacketsOfTrace(ReadTrace(&service_, session_))) {
      packets.push_back((packet.previous_packet_dropped ? "!" : "") +
                        Hex(packet.bytes));
    }
    return packets;
  }
  TraceStats Stats() { return service_.GetStats(session_); }

  // Completes a chunk that holds the bytes, and returns its place.
  CommitDataRequest::ChunkToMove WriteChunk(WriterID writer_id,
                                            ChunkID chunk_id,
                                            uint16_t packets,
                                            std::string_view hex) {
    const ABI abi = producer_.abi();
    abi.TryPartitionPage(0, ABI::kPageDiv4);
    const ABI::Chunk chunk = abi.TryAcquireChunkForWriting(0, ABI::kPageDiv4);
    EXPECT_TRUE(chunk.is_valid());
    ABI::InitChunkForWriting(chunk, writer_id, chunk_id, packets);
    const std::string bytes = FromHex(hex);
    std::copy(bytes.begin(), bytes.end(), chunk.payload_begin());
    abi.ReleaseChunkAsComplete(chunk);
    return {static_cast<uint32_t>(chunk.page_idx()),
            static_cast<uint32_t>(chunk.chunk_idx()), producer_.buffer()};
  }
  bool Move(const CommitDataRequest::ChunkToMove& move) {
    return producer_.connection()->CommitDataIfSetUp({&move, 1, nullptr, 0});
  }

  uint64_t now_ = 1000;
  TracingService service_;
  TestConsumer consumer_;
  TestProducer producer_;
  TraceConfig config_;
  TracingSessionID session_ = 0;
};

TEST_F(TracingServiceTest, SizesAreGrantedOrReplaced) {
  const auto clamp = [](size_t page_size, size_t size) {
    const TracingService::ShmSizes sizes =
        TracingService::ClampShmSizes(page_size, size);
    return std::make_pair(sizes.page_size, sizes.size);
  };
  using Sizes = std::pair<size_t, size_t>;
  constexpr size_t kKb = 1024;
  const Sizes kDefault(16 * kKb, 32 << 20);
  EXPECT_EQ(clamp(0, 0), kDefault);
  EXPECT_EQ(clamp(8 * kKb, 0), Sizes(8 * kKb, 32 << 20));
  EXPECT_EQ(clamp(0, 128 * kKb), Sizes(16 * kKb, 128 * kKb));
  EXPECT_EQ(clamp(0, 4 * kKb), Sizes(4 * kKb, 4 * kKb));
  EXPECT_EQ(clamp(0, 1028 * kKb), Sizes(4 * kKb, 1028 * kKb));
  EXPECT_EQ(clamp(32 * kKb, 2048 * kKb), Sizes(32 * kKb, 2048 * kKb));
  EXPECT_EQ(clamp(64 * kKb, 1024 * kKb), Sizes(32 * kKb, 1024 * kKb));
  EXPECT_EQ(clamp(4 * kKb, 64 << 20), Sizes(4 * kKb, 32 << 20));
  EXPECT_EQ(clamp(SIZE_MAX, SIZE_MAX), Sizes(32 * kKb, 32 << 20));
  EXPECT_EQ(clamp(12 * kKb, 120 * kKb), kDefault);
  EXPECT_EQ(clamp(5000, 5000), kDefault);
  EXPECT_EQ(clamp(8 * kKb, 4 * kKb), kDefault);
  EXPECT_EQ(clamp(8 * kKb, 20 * kKb), kDefault);
  EXPECT_EQ(clamp(1, 1), kDefault);
}

TEST_F(TracingServiceTest, SessionRunsItsCourse) {
  producer_.Connect(&service_, "other", Info());
  DataSourceDescriptor descriptor;
  descriptor.name = "source";
  descriptor.will_notify_on_start = true;
  descriptor.will_notify_on_stop = true;
  producer_.connection()->RegisterDataSource(descriptor);
  EXPECT_EQ(producer_.TakeCalls(), "");
  config_.data_sources[0].config.raw_fields = "raw";
  config_.duration_ms = 5555;
  Start();
  EXPECT_EQ(producer_.TakeCalls(), "memory33554432/16384 setup1 start1");
  EXPECT_EQ(producer_.last_config().raw_fields, "raw");
  EXPECT_EQ(producer_.last_config().tracing_session_id, session_);
  EXPECT_EQ(producer_.last_config().trace_duration_ms, 5555u);
  EXPECT_EQ(producer_.last_config().stop_timeout_ms, 5000u);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStarting);
  producer_.connection()->NotifyDataSourceStarted(2);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStarting);
  producer_.connection()->NotifyDataSourceStarted(1);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStarted);
  EXPECT_EQ(consumer_.calls, "started ");

  service_.StopTracing(session_);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopping);
  EXPECT_EQ(producer_.TakeCalls(), "flush1[1]:18");
  producer_.AcknowledgeFlush(1);
  EXPECT_EQ(producer_.TakeCalls(), "stop1");
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopping);
  // The producer may still commit.
  Move(WriteChunk(1, 0, 1, "03 92 3f 00"));
  producer_.connection()->NotifyDataSourceStopped(1);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopped);
  EXPECT_EQ(consumer_.calls, "started stopped ");
  EXPECT_EQ(Packets(), Strings{"92 3f 00"});
  EXPECT_TRUE(Stats().final_flush_succeeded);
  service_.CloseSession(session_);
  EXPECT_EQ(service_.GetState(session_), TracingService::kNone);
  EXPECT_FALSE(service_.ReadPackets(session_, nullptr));
  EXPECT_EQ(producer_.TakeCalls(), "");
}

TEST_F(TracingServiceTest, SessionWithoutProducersEndsAtOnce) {
  Start();
  EXPECT_EQ(service_.GetState(session_), TracingService::kStarted);
  service_.StopTracing(session_);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopped);
  service_.StopTracing(session_);
  EXPECT_EQ(consumer_.calls, "started stopped ");
  // There are the clock and a mark at the beginning, the clock and statistics
  // at the end.
  EXPECT_EQ(ServicePacketsOfTrace(ReadTrace(&service_, session_)).size(), 4u);
  EXPECT_EQ(ReadTrace(&service_, session_), "");
}

TEST_F(TracingServiceTest, ConfigIsInTheTrace) {
  config_.raw_config = "a config";
  Start();
  const Strings packets = ServicePacketsOfTrace(ReadTrace(&service_, session_));
  ASSERT_EQ(packets.size(), 3u);
  const Field snapshot = ProtoDecoder(packets[0]).FindField(6);
  ProtoDecoder clocks(snapshot.as_bytes());
  EXPECT_GE(
      ProtoDecoder(clocks.FindField(1).as_bytes()).FindField(2).as_uint64(),
      1u);
  EXPECT_EQ(ProtoDecoder(packets[1]).FindField(36).size(), 16u);
  EXPECT_EQ(ProtoDecoder(packets[2]).FindField(33).as_std_string(), "a config");
}

TEST_F(TracingServiceTest, InvalidConfigsAreRefused) {
  const TraceConfig valid = config_;
  const auto refuse = [this](const char* reason) {
    std::string error;
    EXPECT_EQ(service_.StartTracing(config_, nullptr, &error), 0u);
    EXPECT_EQ(error, reason);
  };
  config_.buffers.clear();
  refuse("there is no buffer");
  config_.buffers.resize(TracingLimits::kMaxBuffersPerSession + 1, {1});
  refuse("there are too many buffers");
  config_ = valid;
  config_.buffers[0].size_bytes = 0;
  refuse("a buffer has no size");
  config_ = valid;
  AddDataSource("");
  refuse("a data source has no name");
  config_ = valid;
  AddDataSource("a", 1);
  refuse("a data source is for a buffer that is not there");
  config_ = valid;
  config_.data_sources.resize(TracingLimits::kMaxDataSourcesPerSession + 1,
                              config_.data_sources[0]);
  refuse("there are too many data sources");
  config_ = valid;
  config_.write_period_ms = 1;
  refuse("there is no consumer to write to");
  config_ = valid;
  std::vector<TracingSessionID> sessions;
  for (size_t i = 0; i < TracingLimits::kMaxSessions; ++i) {
    sessions.push_back(service_.StartTracing(config_, nullptr, nullptr));
    EXPECT_NE(sessions.back(), 0u);
  }
  refuse("there are too many sessions");
  service_.CloseSession(sessions[3]);
  EXPECT_NE(service_.StartTracing(config_, nullptr, nullptr), 0u);
}

TEST_F(TracingServiceTest, DataSourcesAreChosenByTheirNamesAndProducers) {
  TestProducer other;
  auto other_info = Info();
  other_info.name = "other";
  other.Connect(&service_, "source", std::move(other_info));
  producer_.Connect(&service_, "nobody wants it", Info());
  DataSourceDescriptor descriptor;
  descriptor.name = "second";
  producer_.connection()->RegisterDataSource(descriptor);
  config_.buffers.push_back(config_.buffers[0]);
  config_.data_sources[0].producer_name_filter = {"x", "test"};
  AddDataSource("second", 1);
  AddDataSource("second", 0);
  Start();
  EXPECT_EQ(other.TakeCalls(), "");
  EXPECT_EQ(producer_.TakeCalls(),
            "memory33554432/16384 setup1 setup2 start1 start2");
  // A data source may come later.
  descriptor.name = "source";
  producer_.connection()->RegisterDataSource(descriptor);
  EXPECT_EQ(producer_.TakeCalls(), "setup3 start3");
  producer_.connection()->UnregisterDataSource("second");
  EXPECT_EQ(producer_.TakeCalls(), "stop1 stop2");
  Stop();
  EXPECT_EQ(producer_.TakeCalls(), "flush1[3]:18 stop3");
  EXPECT_EQ(other.TakeCalls(), "");
  // After the end, it is too late.
  descriptor.name = "second";
  producer_.connection()->RegisterDataSource(descriptor);
  EXPECT_EQ(producer_.TakeCalls(), "");
}

TEST_F(TracingServiceTest, DataSourcesAreLimited) {
  producer_.Connect(&service_, "source", Info());
  DataSourceDescriptor descriptor;
  const auto count = [&] { return Stats().producers[0].data_sources; };
  Start();
  EXPECT_EQ(count(), 1u);
  producer_.connection()->RegisterDataSource(descriptor);
  descriptor.name.assign(TracingLimits::kMaxDataSourceNameSize + 1, 'a');
  producer_.connection()->RegisterDataSource(descriptor);
  EXPECT_EQ(count(), 1u);
  descriptor.name.pop_back();
  descriptor.id = 5;
  producer_.connection()->RegisterDataSource(descriptor);
  producer_.connection()->RegisterDataSource(descriptor);
  EXPECT_EQ(count(), 2u);
  descriptor.id = 0;
  for (size_t i = 0; i < TracingLimits::kMaxDataSourcesPerProducer; ++i)
    producer_.connection()->RegisterDataSource(descriptor);
  EXPECT_EQ(count(), TracingLimits::kMaxDataSourcesPerProducer);
  // Instances that do not stop are limited, too.
  producer_.connection()->UnregisterDataSource(descriptor.name);
  descriptor.name = "source";
  descriptor.will_notify_on_stop = true;
  size_t num_setups = 0;
  for (size_t i = 0; i < TracingLimits::kMaxInstancesPerProducer + 10; ++i) {
    producer_.TakeCalls();
    producer_.connection()->RegisterDataSource(descriptor);
    num_setups += producer_.TakeCalls() != "";
    producer_.connection()->UnregisterDataSource(descriptor.name);
  }
  EXPECT_EQ(num_setups, TracingLimits::kMaxInstancesPerProducer);
}

TEST_F(TracingServiceTest, DescriptorsAreUpdated) {
  producer_.Connect(&service_, "other", Info());
  DataSourceDescriptor descriptor;
  descriptor.name = "source";
  descriptor.id = 1;
  producer_.connection()->RegisterDataSource(descriptor);
  descriptor.will_notify_on_start = true;
  producer_.connection()->UpdateDataSource(descriptor);
  Start();
  EXPECT_EQ(service_.GetState(session_), TracingService::kStarting);
}

TEST_F(TracingServiceTest, ProducersAreLimited) {
  TestProducer other;
  std::vector<std::unique_ptr<TracingService::ProducerConnection>> connections;
  for (size_t i = 0; i < TracingLimits::kMaxProducers; ++i)
    connections.push_back(service_.ConnectProducer(&other, {}));
  EXPECT_NE(connections.back(), nullptr);
  EXPECT_EQ(service_.ConnectProducer(&other, {}), nullptr);
  connections.pop_back();
  EXPECT_NE(service_.ConnectProducer(&other, {}), nullptr);
}

TEST_F(TracingServiceTest, WhoDoesNotAnswerIsNotWaitedForLong) {
  ConnectSlowProducer();
  config_.flush_timeout_ms = 300;
  config_.data_source_stop_timeout_ms = 200;
  Start();
  EXPECT_EQ(service_.NextDeadlineMs(), UINT64_MAX);
  service_.StopTracing(session_);
  EXPECT_EQ(service_.NextDeadlineMs(), now_ + 300);
  producer_.TakeCalls();
  PassTime(299);
  EXPECT_EQ(producer_.TakeCalls(), "");
  PassTime(1);
  EXPECT_EQ(producer_.TakeCalls(), "stop1 stop2");
  EXPECT_EQ(service_.NextDeadlineMs(), now_ + 200);
  EXPECT_FALSE(Stats().final_flush_succeeded);
  EXPECT_EQ(Stats().flushes_failed, 1u);
  PassTime(199);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopping);
  PassTime(1);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopped);
  EXPECT_EQ(service_.NextDeadlineMs(), UINT64_MAX);
}

TEST_F(TracingServiceTest, StopsWaitingWhenItIsAskedTo) {
  ConnectSlowProducer();
  for (const bool is_flushed : {false, true}) {
    Start();
    service_.StopWaiting(session_);
    EXPECT_EQ(service_.GetState(session_), TracingService::kStarted);
    Move(WriteChunk(1, 0, 1, "03 92 3f 00"));
    producer_.TakeCalls();
    service_.StopTracing(session_);
    if (is_flushed)
      producer_.AcknowledgeFlush(producer_.last_flush());
    producer_.TakeCalls();
    EXPECT_EQ(service_.GetState(session_), TracingService::kStopping);
    service_.StopWaiting(session_);
    EXPECT_EQ(service_.GetState(session_), TracingService::kStopped);
    EXPECT_EQ(service_.NextDeadlineMs(), UINT64_MAX);
    EXPECT_EQ(Stats().final_flush_succeeded, is_flushed);
    EXPECT_EQ(Packets(), Strings{"92 3f 00"});
    service_.CloseSession(session_);
  }
}

TEST_F(TracingServiceTest, ChunksAfterTheEndWereSeenIfTheMemoryWas) {
  for (const bool scrapes : {false, true}) {
    SCOPED_TRACE(scrapes);
    TestProducer stopped;
    stopped.Connect(&service_, "source", Info(true));
    producer_.Connect(&service_, "source", Info(scrapes));
    Start();
    Move(WriteChunk(1, 0, 1, "03 92 3f 00"));
    const auto before_end = WriteChunk(1, 1, 1, "03 9a 3f 00");
    service_.StopTracing(session_);
    producer_.AcknowledgeFlush(producer_.last_flush());
    service_.StopWaiting(session_);
    ASSERT_EQ(service_.GetState(session_), TracingService::kStopped);
    EXPECT_EQ(Packets(), scrapes ? (Strings{"92 3f 00", "9a 3f 00"})
                                 : (Strings{"92 3f 00"}));
    Move(before_end);
    Move(WriteChunk(1, 2, 1, "03 a2 3f 00"));
    const uint64_t num_unknown = scrapes ? 0 : 2;
    EXPECT_EQ(Stats().unknown_losses(), num_unknown);
    // Reported losses may be older than the end.
    CommitDataRequest::WriterLosses losses = {};
    losses.writer_id = 1;
    losses.target_buffer = producer_.buffer();
    losses.reason = LossReason::kMemoryFull;
    losses.packets = 1;
    CommitDataRequest request = {};
    request.losses = &losses;
    request.num_losses = 1;
    producer_.CommitData(request);
    EXPECT_EQ(Stats().unknown_losses(), num_unknown + 1);
    service_.CloseSession(session_);
    producer_.Die();
  }
}

TEST_F(TracingServiceTest, ProducersThatDoNotAnswerAreNamed) {
  ConnectSlowProducer();
  TestProducer other;
  other.Connect(&service_, "source", Info());
  Start();
  const auto awaited = [&] {
    const TraceStats stats = Stats();
    return std::vector<bool>{stats.producers[0].is_awaited,
                             stats.producers[1].is_awaited};
  };
  EXPECT_EQ(awaited(), (std::vector<bool>{false, false}));
  service_.StopTracing(session_);
  EXPECT_EQ(awaited(), (std::vector<bool>{true, true}));
  other.AcknowledgeFlush(UINT64_MAX);
  EXPECT_EQ(awaited(), (std::vector<bool>{true, false}));
  producer_.AcknowledgeFlush(UINT64_MAX);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopping);
  EXPECT_EQ(awaited(), (std::vector<bool>{true, false}));
  service_.StopWaiting(session_);
  EXPECT_EQ(awaited(), (std::vector<bool>{false, false}));
}

TEST_F(TracingServiceTest, ProducersThatOnlyTriggerAreNotCounted) {
  ConnectAndStart();
  TestProducer other;
  const auto trigger = service_.ConnectProducer(&other, Info());
  EXPECT_EQ(Stats().producers_seen, 2u);
  trigger->ActivateTrigger("any");
  EXPECT_EQ(Stats().producers_seen, 1u);
  producer_.connection()->ActivateTrigger("any");
  producer_.connection()->UnregisterDataSource("source");
  EXPECT_EQ(Stats().producers_seen, 1u);
  {
    const auto short_lived = service_.ConnectProducer(&other, Info());
    short_lived->ActivateTrigger("any");
  }
  EXPECT_EQ(Stats().producers_seen, 1u);
}

TEST_F(TracingServiceTest, FlushWaitsForAllProducers) {
  TestProducer other;
  other.Connect(&service_, "source", Info());
  TestProducer without_flush;
  without_flush.Connect(&service_, "unwanted", Info());
  DataSourceDescriptor descriptor;
  descriptor.name = "source";
  descriptor.no_flush = true;
  without_flush.connection()->RegisterDataSource(descriptor);
  ConnectAndStart();
  std::string results;
  const auto on_done = [&results](bool success) {
    results += success ? "yes " : "no ";
  };
  EXPECT_EQ(service_.Flush(session_, 0, 0x34, on_done), 1u);
  EXPECT_EQ(service_.Flush(session_, 100, 0x34, on_done), 2u);
  EXPECT_EQ(without_flush.TakeCalls(), "memory16777216/16384 setup2 start2");
  EXPECT_EQ(other.TakeCalls(),
            "memory33554432/16384 setup1 start1 flush1[1]:52 flush2[1]:52");
  other.AcknowledgeFlush(2);
  producer_.AcknowledgeFlush(1);
  EXPECT_EQ(results, "yes ");
  PassTime(100);
  EXPECT_EQ(results, "yes no ");
  producer_.AcknowledgeFlush(2);
  EXPECT_EQ(service_.Flush(session_, 100, 0, on_done), 3u);
  // A producer that is gone has nothing to say.
  producer_.AcknowledgeFlush(3);
  other.Die();
  EXPECT_EQ(results, "yes no yes ");
  service_.Flush(session_, 100, 0, on_done);
  service_.CloseSession(session_);
  EXPECT_EQ(results, "yes no yes no ");
  EXPECT_EQ(service_.Flush(session_, 100, 0, on_done), 0u);
}

TEST_F(TracingServiceTest, ClocksAreReadPeriodically) {
  EXPECT_EQ(TraceConfig().clock_snapshot_period_ms, 10000u);
  config_.clock_snapshot_period_ms = 10000;
  ConnectAndStart();
  const auto num_new_packets = [&] {
    return ServicePacketsOfTrace(ReadTrace(&service_, session_)).size();
  };
  const size_t num_at_start = num_new_packets();
  EXPECT_EQ(service_.NextDeadlineMs(), now_ + 10000);
  PassTime(9999);
  EXPECT_EQ(num_new_packets(), 0u);
  PassTime(1);
  EXPECT_EQ(num_new_packets(), 1u);
  EXPECT_EQ(num_new_packets(), 0u);
  EXPECT_EQ(service_.NextDeadlineMs(), now_ + 10000);
  // A snapshot that has been read cannot replace another one.
  PassTime(10000);
  const Strings packets = ServicePacketsOfTrace(ReadTrace(&service_, session_));
  ASSERT_EQ(packets.size(), 1u);
  ProtoDecoder packet(packets[0].data(), packets[0].size());
  EXPECT_TRUE(packet.FindField(6));  // clock_snapshot
  // There is no reader, so only snapshots that show a drift are kept, and not
  // all of them.
  for (int i = 0; i < 100; ++i)
    PassTime(10000);
  EXPECT_LE(num_new_packets(), 16u);
  Stop();
  EXPECT_EQ(num_new_packets(), num_at_start);
  PassTime(100000);
  EXPECT_EQ(num_new_packets(), 0u);
}

TEST_F(TracingServiceTest, PeriodsAreKept) {
  DataSourceDescriptor descriptor;
  descriptor.name = "clears";
  descriptor.handles_incremental_state_clear = true;
  producer_.Connect(&service_, "source", Info());
  producer_.connection()->RegisterDataSource(descriptor);
  AddDataSource("clears");
  config_.flush_period_ms = 100;
  config_.incremental_state_clear_period_ms = 250;
  config_.duration_ms = 500;
  Start();
  producer_.TakeCalls();
  PassTime(100);
  EXPECT_EQ(producer_.TakeCalls(), "flush1[1,2]:17");
  PassTime(90);
  EXPECT_EQ(producer_.TakeCalls(), "");
  EXPECT_EQ(service_.NextDeadlineMs(), now_ + 10);
  producer_.AcknowledgeFlush(1);
  PassTime(60);
  EXPECT_EQ(producer_.TakeCalls(), "clear[2] flush2[1,2]:17");
  producer_.AcknowledgeFlush(2);
  PassTime(250);
  EXPECT_EQ(producer_.TakeCalls(), "clear[2] flush3[1,2]:18");
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopping);
}

TEST_F(TracingServiceTest, QuietProducersAreAskedLessAndLessOften) {
  TracingService::ProducerInfo info = Info();
  info.commits_after_silence = true;
  producer_.Connect(&service_, "source", std::move(info));
  TestProducer silent;
  silent.Connect(&service_, "source", Info());
  config_.flush_period_ms = 250;
  Start();
  producer_.TakeCalls();
  silent.TakeCalls();
  // Returns the number of periods until the producer is asked, which answers.
  // The other one is asked in each.
  const auto periods_until_asked = [&] {
    for (int periods = 1; periods < 20; ++periods) {
      PassTime(250);
      EXPECT_NE(silent.TakeCalls(), "");
      silent.AcknowledgeFlush(silent.last_flush());
      if (producer_.TakeCalls().empty())
        continue;
      producer_.AcknowledgeFlush(producer_.last_flush());
      return periods;
    }
    return 0;
  };
  for (const int periods : {1, 2, 4, 8, 8})
    EXPECT_EQ(periods_until_asked(), periods);
  // A commit without content ends the silence.
  PassTime(250);
  producer_.connection()->CommitData({});
  for (const int periods : {1, 1, 2, 4})
    EXPECT_EQ(periods_until_asked(), periods);
  Move(WriteChunk(1, 0, 1, "01 aa"));
  EXPECT_EQ(periods_until_asked(), 1);
  // Other flushes ask everybody.
  service_.Flush(session_, 0, 0x34, nullptr);
  EXPECT_NE(producer_.TakeCalls(), "");
  producer_.AcknowledgeFlush(producer_.last_flush());
  silent.AcknowledgeFlush(silent.last_flush());
  service_.StopTracing(session_);
  EXPECT_NE(producer_.TakeCalls(), "");
}

// A ring of three chunks loses one of four. Packets that refer to others have
// sequence_flags 2 ("68 02"), and one that refers to none has 1.
TEST_F(TracingServiceTest, RingThatIsReadAtTheEndHasNothingOfNoUse) {
  constexpr size_t kRingSize = 3 * (service::TraceBuffer::kChunkOverhead + 9);
  config_.buffers[0].size_bytes = kRingSize;
  config_.is_read_at_end = true;
  ConnectAndStart();
  EXPECT_EQ(producer_.last_config().ring_bytes, kRingSize);
  TestProducer other;
  other.Connect(&service_, "source", Info());
  EXPECT_EQ(other.last_config().ring_bytes, kRingSize / 2);

  Move(WriteChunk(1, 0, 1, "02 68 01"));
  Move(WriteChunk(1, 1, 2, "02 68 02 02 08 05"));
  Move(WriteChunk(1, 2, 3, "02 68 02 02 68 01 02 68 02"));
  Move(WriteChunk(1, 3, 1, "02 68 02"));
  service_.StopTracing(session_);
  other.AcknowledgeFlush(UINT64_MAX);
  producer_.AcknowledgeFlush(UINT64_MAX);
  EXPECT_EQ(Packets(), (Strings{"!08 05", "!68 01", "68 02", "68 02"}));
  const TraceStats stats = Stats();
  EXPECT_EQ(stats.packets_begun(), 7u);
  EXPECT_EQ(stats.packets_read(), 4u);
  EXPECT_EQ(stats.lost().packets[static_cast<size_t>(LossReason::kOverwritten)],
            3u);
}

TEST_F(TracingServiceTest, RingOfTimeForgetsWhatIsOlderAndNotReferredTo) {
  config_.is_read_at_end = true;
  config_.ring_ms = 1000;
  ConnectAndStart();
  Move(WriteChunk(1, 0, 1, "02 68 01"));
  PassTime(500);
  Move(WriteChunk(2, 0, 1, "02 08 05"));
  PassTime(500);
  Move(WriteChunk(1, 1, 3, "02 68 02 02 68 01 02 68 02"));
  PassTime(500);
  Move(WriteChunk(1, 2, 1, "02 68 02"));
  PassTime(1000);
  Move(WriteChunk(1, 3, 1, "02 68 02"));
  PassTime(100);
  Stop();
  // Only the packet that clears the state is left of what is older.
  EXPECT_EQ(Packets(), (Strings{"68 01", "68 02"}));
  const TraceStats stats = Stats();
  EXPECT_EQ(stats.lost().total(), 0u);
  EXPECT_EQ(stats.packets_begun(), 2u);
  EXPECT_EQ(stats.ring_ms_kept, 0u);
}

TEST_F(TracingServiceTest, RingThatIsTooSmallForItsTimeSaysWhatItHas) {
  config_.buffers[0].size_bytes =
      2 * (service::TraceBuffer::kChunkOverhead + 3);
  config_.is_read_at_end = true;
  config_.ring_ms = 5000;
  ConnectAndStart();
  for (ChunkID chunk_id = 0; chunk_id < 3; ++chunk_id) {
    Move(WriteChunk(1, chunk_id, 1, "02 68 01"));
    PassTime(500);
  }
  Stop();
  EXPECT_EQ(Stats().ring_ms_kept, 1000u);
  EXPECT_EQ(Packets(), (Strings{"!68 01", "68 01"}));
}

TEST_F(TracingServiceTest, OtherRingsKeepPacketsThatReferToLostOnes) {
  config_.buffers[0].size_bytes = service::TraceBuffer::kChunkOverhead + 3;
  ConnectAndStart();
  EXPECT_EQ(producer_.last_config().ring_bytes, 0u);
  Move(WriteChunk(1, 0, 1, "02 68 01"));
  Move(WriteChunk(1, 1, 1, "02 68 02"));
  Stop();
  EXPECT_EQ(Packets(), Strings{"!68 02"});
}

TEST_F(TracingServiceTest, WritersOfARingAreAskedToBeginAnew) {
  constexpr size_t kRingSize = 16 * 1024;
  config_.buffers[0].size_bytes = kRingSize;
  config_.is_read_at_end = true;
  AddDataSource("clears");
  for (const bool is_ours : {true, false}) {
    TracingService::ProducerInfo info = Info();
    info.reports_losses = is_ours;
    producer_.Connect(&service_, "source", std::move(info));
    DataSourceDescriptor descriptor;
    descriptor.name = "clears";
    descriptor.handles_incremental_state_clear = true;
    producer_.connection()->RegisterDataSource(descriptor);
    Start();
    producer_.TakeCalls();
    const size_t limit = kRingSize / (is_ours ? 8 : 128);
    ChunkID chunk_id = 0;
    uint64_t last_written = 0;
    for (int clears = 0; clears < 2; ++clears) {
      std::string calls;
      while (calls.empty()) {
        Move(WriteChunk(1, chunk_id++, 1, "02 68 02"));
        calls = producer_.TakeCalls();
      }
      EXPECT_EQ(calls, "clear[" + std::to_string(is_ours ? 2 : 4) + "]");
      const uint64_t written = Stats().buffers[0].bytes_written;
      EXPECT_GE(written - last_written, limit);
      EXPECT_LT(written - last_written, limit + 64);
      last_written = written;
    }
    service_.CloseSession(session_);
    producer_.Die();
  }
}

TEST_F(TracingServiceTest, WritersOfARingOfTimeAreAskedSixteenTimes) {
  DataSourceDescriptor descriptor;
  descriptor.name = "clears";
  descriptor.handles_incremental_state_clear = true;
  producer_.Connect(&service_, "source", Info());
  producer_.connection()->RegisterDataSource(descriptor);
  AddDataSource("clears");
  config_.is_read_at_end = true;
  config_.ring_ms = 1600;
  Start();
  producer_.TakeCalls();
  ChunkID chunk_id = 0;
  for (int i = 0; i < 3; ++i) {
    PassTime(99);
    Move(WriteChunk(1, chunk_id++, 1, "02 68 02"));
    EXPECT_EQ(producer_.TakeCalls(), "");
    PassTime(1);
    // A producer that is stopped is asked when it goes on.
    EXPECT_EQ(producer_.TakeCalls(), "");
    Move(WriteChunk(1, chunk_id++, 1, "02 68 02"));
    EXPECT_EQ(producer_.TakeCalls(), "clear[2]");
  }
}

TEST_F(TracingServiceTest, TraceBeginsAgain) {
  DataSourceDescriptor descriptor;
  descriptor.name = "clears";
  descriptor.handles_incremental_state_clear = true;
  producer_.Connect(&service_, "source", Info());
  producer_.connection()->RegisterDataSource(descriptor);
  AddDataSource("clears");
  config_.raw_config = "a config";
  EXPECT_FALSE(service_.RestartTrace(session_));
  Start();
  const Strings header = ServicePacketsOfTrace(ReadTrace(&service_, session_));
  EXPECT_EQ(ServicePacketsOfTrace(ReadTrace(&service_, session_)), Strings());
  producer_.TakeCalls();

  EXPECT_TRUE(service_.RestartTrace(session_));
  // Only data sources that can clear their state are asked to.
  EXPECT_EQ(producer_.TakeCalls(), "clear[2]");
  // Packets from before follow the header, as they are in the buffer.
  Move(WriteChunk(1, 0, 1, "02 0800"));
  const std::string trace = ReadTrace(&service_, session_);
  const Strings again = ServicePacketsOfTrace(trace);
  ASSERT_EQ(again.size(), 3u);
  EXPECT_EQ(again[1], header[1]);
  EXPECT_EQ(again[2], header[2]);
  EXPECT_TRUE(ProtoDecoder(again[0]).FindField(6).valid());
  EXPECT_EQ(PacketsOfTrace(trace).size(), 1u);

  Stop();
  EXPECT_FALSE(service_.RestartTrace(session_));
  EXPECT_EQ(producer_.TakeCalls().find("clear"), std::string::npos);
}

// The requests are kept for the producer that does not answer.
TEST_F(TracingServiceTest, WhoHasNotAnsweredAFlushIsNotAskedAgain) {
  TestProducer other;
  other.Connect(&service_, "source", Info());
  config_.flush_period_ms = 100;
  config_.flush_timeout_ms = 250;
  ConnectAndStart();
  producer_.TakeCalls();
  other.TakeCalls();
  PassTime(100);
  other.AcknowledgeFlush(1);
  EXPECT_EQ(Stats().flushes_succeeded, 0u);
  PassTime(100);
  EXPECT_EQ(other.TakeCalls(), "flush1[1]:17 flush2[1]:17");
  EXPECT_EQ(producer_.TakeCalls(), "flush1[2]:17");
  // The other producers do not wait for it.
  other.AcknowledgeFlush(2);
  EXPECT_EQ(Stats().flushes_succeeded, 1u);
  // A stop is for all producers, and so is a flush after the time-out.
  PassTime(150);
  EXPECT_EQ(Stats().flushes_failed, 1u);
  EXPECT_EQ(producer_.TakeCalls(), "flush3[2]:17");
  service_.StopTracing(session_);
  EXPECT_EQ(producer_.TakeCalls(), "flush4[2]:18");
}

TEST_F(TracingServiceTest, ProducersGetTheMemoryTheyAskForOrAreGiven) {
  auto info = Info();
  info.shm_page_size_hint = 8192;
  info.shm_size_hint = 65536;
  producer_.Connect(&service_, "source", std::move(info));
  TestProducer other;
  auto other_info = Info();
  other_info.name = "other";
  other.Connect(&service_, "source", std::move(other_info));
  config_.producers.push_back({"other", 1 << 20, 16384});
  Start();
  EXPECT_EQ(producer_.TakeCalls(), "memory65536/8192 setup1 start1");
  EXPECT_EQ(other.TakeCalls(), "memory1048576/16384 setup2 start2");
  // Each producer has one memory for all sessions.
  const TracingSessionID second =
      service_.StartTracing(config_, nullptr, nullptr);
  EXPECT_EQ(producer_.TakeCalls(), "setup3 start3");
  EXPECT_NE(second, session_);
}

TEST_F(TracingServiceTest, ProducersMayBringTheirMemory) {
  const auto connect = [this](size_t page_size, size_t size) {
    auto info = Info();
    info.shm_page_size_hint = page_size;
    info.memory = std::make_unique<SharedMemory>(size);
    return service_.ConnectProducer(&producer_, std::move(info))
        ->uses_provided_memory();
  };
  EXPECT_TRUE(connect(4096, 8192));
  EXPECT_TRUE(connect(32768, 32768));
  EXPECT_FALSE(connect(0, 8192));
  EXPECT_FALSE(connect(65536, 65536));
  EXPECT_FALSE(connect(4096, 8193));
  EXPECT_FALSE(connect(8192, 4096));
  EXPECT_FALSE(connect(12288, 12288));

  SharedMemory* memory;
  auto info = Info();
  info.shm_page_size_hint = 4096;
  auto owned = std::make_unique<SharedMemory>(8192);
  memory = owned.get();
  info.memory = std::move(owned);
  auto connection = service_.ConnectProducer(&producer_, std::move(info));
  // The producer has written to the memory before it knew its buffer.
  SharedMemoryArbiter arbiter(memory->start(), memory->size(), 4096,
                              connection.get());
  DataSourceDescriptor descriptor;
  descriptor.name = "source";
  connection->RegisterDataSource(descriptor);
  Start();
  EXPECT_EQ(producer_.TakeCalls(), "setup1 start1");
  auto writer = arbiter.CreateTraceWriter(producer_.buffer());
  writer->NewTracePacket()->AppendVarInt(1, 1u);
  writer->Flush();
  EXPECT_EQ(Packets(), Strings{"08 01"});
}

TEST_F(TracingServiceTest, NoMemoryNoDataSources) {
  class PoorProducer : public TestProducer {
    std::unique_ptr<protozero::SharedMemory> SetupTracing(size_t,
                                                          size_t) override {
      return nullptr;
    }
    std::string SetupTracingError() const override { return "poor"; }
  } producer;
  producer.Connect(&service_, "source", Info());
  Start();
  EXPECT_EQ(producer.TakeCalls(), "");
  EXPECT_FALSE(producer.connection()->CommitDataIfSetUp({}));
  // The consumer is told once.
  producer.connection()->RegisterDataSource({"source", 2});
  EXPECT_EQ(consumer_.calls, "test:77:poor started ");
  EXPECT_EQ(Stats().producers_without_memory, 1u);
  // Other producers record.
  producer_.Connect(&service_, "source", Info());
  EXPECT_EQ(producer_.TakeCalls(), "memory33554432/16384 setup1 start1");
  EXPECT_EQ(Stats().producers_without_memory, 1u);
  producer_.Die();
  service_.StopTracing(session_);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopped);
}

TEST_F(TracingServiceTest, EachOfThreeListsSelectsProducers) {
  TestProducer producers[4];
  const char* const names[] = {"server", "server-2", "client", "other"};
  for (int i = 0; i < 4; ++i) {
    auto info = Info();
    info.name = names[i];
    info.pid = 100 + i;
    producers[i].Connect(&service_, "source", std::move(info));
  }
  using Source = TraceConfig::DataSource;
  const auto selected = [&](void (*select)(Source*)) {
    config_.data_sources.resize(1);
    Source& source = config_.data_sources[0];
    source.producer_name_filter.clear();
    source.producer_name_patterns.clear();
    source.producer_pids.clear();
    select(&source);
    Start();
    Strings result;
    for (int i = 0; i < 4; ++i) {
      if (!producers[i].TakeCalls().empty())
        result.push_back(names[i]);
    }
    service_.CloseSession(session_);
    for (TestProducer& producer : producers)
      producer.TakeCalls();
    return result;
  };
  EXPECT_EQ(selected([](Source*) {}),
            (Strings{"server", "server-2", "client", "other"}));
  EXPECT_EQ(
      selected([](Source* it) { it->producer_name_patterns = {"serv*"}; }),
      (Strings{"server", "server-2"}));
  EXPECT_EQ(selected([](Source* it) { it->producer_name_patterns = {"serv"}; }),
            Strings());
  EXPECT_EQ(selected([](Source* it) { it->producer_pids = {102, 7}; }),
            Strings{"client"});
  EXPECT_EQ(selected([](Source* it) {
              it->producer_name_filter = {"other"};
              it->producer_name_patterns = {"c*t", "x*"};
              it->producer_pids = {100};
            }),
            (Strings{"server", "client", "other"}));
}

TEST_F(TracingServiceTest, InstanceBeyondTheLimitIsAnUnknownLoss) {
  producer_.Connect(&service_, "source", Info());
  config_.data_sources.resize(TracingLimits::kMaxDataSourcesPerSession,
                              config_.data_sources[0]);
  constexpr size_t kFullSessions = TracingLimits::kMaxInstancesPerProducer /
                                   TracingLimits::kMaxDataSourcesPerSession;
  for (size_t i = 0; i < kFullSessions; ++i) {
    Start();
    EXPECT_EQ(Stats().buffers[0].unknown_losses, 0u);
  }
  const TracingSessionID first = session_;
  config_.data_sources.resize(1);
  config_.data_sources[0].producer_name_filter = {"another"};
  Start();
  EXPECT_EQ(Stats().buffers[0].unknown_losses, 0u);
  config_.data_sources[0].producer_name_filter = {};
  Start();
  EXPECT_EQ(Stats().buffers[0].unknown_losses, 1u);
  EXPECT_EQ(Stats().data_source_instances[0], 0u);
  // There is room when other instances have ended.
  service_.CloseSession(first);
  Start();
  EXPECT_EQ(Stats().buffers[0].unknown_losses, 0u);
  EXPECT_EQ(Stats().data_source_instances[0], 1u);
}

TEST_F(TracingServiceTest, OffersAreComparedWithWishes) {
  AddDataSource("another");
  config_.data_sources[1].producer_name_filter = {"other"};
  AddDataSource("no such");
  producer_.Connect(&service_, "source", Info());
  Start();
  using Counts = std::vector<uint32_t>;
  EXPECT_EQ(Stats().data_source_instances, (Counts{1, 0, 0}));
  EXPECT_EQ(Stats().names_offered, Strings{"source"});
  // The session does not want it from this producer.
  producer_.connection()->RegisterDataSource({"another"});
  producer_.connection()->RegisterDataSource({"source", 2});
  EXPECT_EQ(Stats().data_source_instances, (Counts{2, 0, 0}));
  EXPECT_EQ(Stats().names_offered, (Strings{"another", "source"}));
  // The names of a producer that is gone stay offered.
  producer_.Die();
  EXPECT_EQ(Stats().data_source_instances, (Counts{2, 0, 0}));
  EXPECT_EQ(Stats().names_offered, (Strings{"another", "source"}));
  TestProducer other;
  other.Connect(&service_, "0", Info());
  for (int i = 1; i < 100; ++i)
    other.connection()->RegisterDataSource({std::to_string(i)});
  EXPECT_EQ(Stats().names_offered.size(), TraceStats::kMaxNamesOffered);
}

TEST_F(TracingServiceTest, PacketsAreStamped) {
  TestProducer other;
  auto other_info = Info();
  other_info.uid = -2;
  other_info.pid = 99;
  ConnectAndStart();
  other.Connect(&service_, "source", std::move(other_info));
  auto first = producer_.MakeArbiter()->CreateTraceWriter(producer_.buffer());
  auto second =
      other.MakeArbiter(ABI::kPageDiv14)->CreateTraceWriter(other.buffer());
  for (uint32_t i = 0; i < 3; ++i) {
    first->NewTracePacket()->AppendVarInt(1, i);
    second->NewTracePacket()->AppendString(900, std::string(5000, 'x'));
  }
  first->Flush();
  second->Flush();
  std::string trace = ReadTrace(&service_, session_);
  first->NewTracePacket()->AppendVarInt(1, 3u);
  first.reset();
  second.reset();
  service_.StopTracing(session_);
  other.AcknowledgeFlush(UINT64_MAX);
  Stop();
  trace += ReadTrace(&service_, session_);
  const std::vector<TracedPacket> packets = PacketsOfTrace(trace);
  ASSERT_EQ(packets.size(), 7u);
  for (size_t i = 0; i < packets.size(); ++i) {
    const TracedPacket& packet = packets[i];
    const bool is_first = i < 3 || i == 6;
    EXPECT_EQ(packet.uid, is_first ? 1000 : -2);
    EXPECT_EQ(packet.pid, is_first ? 77 : 99);
    EXPECT_EQ(packet.sequence_id, is_first ? 2u : 3u);
    EXPECT_FALSE(packet.previous_packet_dropped);
    EXPECT_EQ(packet.bytes.size(), is_first ? 2u : 5004u);
  }
  const TraceStats stats = Stats();
  ASSERT_EQ(stats.writers.size(), 2u);
  EXPECT_EQ(stats.writers[0].packets_written, 4u);
  EXPECT_EQ(stats.writers[0].packets_read, 4u);
  EXPECT_EQ(stats.writers[0].sequence_id, 2u);
  EXPECT_EQ(stats.writers[1].packets_read, 3u);
  EXPECT_EQ(stats.producers.size(), 2u);
  EXPECT_EQ(stats.producers[1].pid, 99);
}

TEST_F(TracingServiceTest, StatisticsAreInTheTrace) {
  ConnectAndStart();
  auto writer = producer_.MakeArbiter()->CreateTraceWriter(producer_.buffer());
  writer->NewTracePacket()->AppendVarInt(1, 1u);
  writer->NewTracePacket()->AppendVarInt(3, 1u);
  writer.reset();
  Stop();
  const Strings packets = ServicePacketsOfTrace(ReadTrace(&service_, session_));
  ASSERT_EQ(packets.size(), 4u);
  const Field statistics = ProtoDecoder(packets.back()).FindField(35);
  ProtoDecoder stats(statistics.as_bytes());
  ProtoDecoder buffer(stats.FindField(1).as_bytes());
  EXPECT_EQ(buffer.FindField(12).as_uint64(), 1u << 20);
  EXPECT_EQ(buffer.FindField(2).as_uint64(), 1u);
  EXPECT_EQ(buffer.FindField(17).as_uint64(), 1u);
  EXPECT_EQ(stats.FindField(2).as_uint64(), 1u);
  EXPECT_EQ(stats.FindField(10).as_uint64(), 1u);
  EXPECT_EQ(stats.FindField(15).as_uint64(), 1u);
}

TEST_F(TracingServiceTest, ReservedAndMalformedPacketsAreRefused) {
  ConnectAndStart();
  const auto& move = WriteChunk(
      1, 0, 18,
      "02 18 01 02 50 01 02 52 00 03 8a 02 00 03 9a 02 00 03 a2 02 00 "
      "03 92 03 00 03 aa 04 00 03 fa 04 01 03 92 06 00 03 e2 07 00 "
      "03 ea 07 00 02 08 01 01 08 02 0b 0c 02 0a 05 02 00 01 02 10 01");
  EXPECT_TRUE(Move(move));
  EXPECT_EQ(Packets(), (Strings{"!08 01", "!10 01"}));
  EXPECT_EQ(Stats().invalid_packets, 16u);
  // Writers may write field 42, too. If the service adds it as well, the packet
  // has it twice.
  Move(WriteChunk(1, 1, 3,
                  "05 d0 02 01 08 03 00 09 09 01 02 03 04 05 06 07 08"));
  EXPECT_EQ(Packets(),
            (Strings{"d0 02 01 08 03", "09 01 02 03 04 05 06 07 08"}));
}

TEST_F(TracingServiceTest, FieldsThatOnlyTheServiceWritesAreRefused) {
  ConnectAndStart();
  uint64_t num_refused = 0;
  ChunkID chunk = 0;
  // trusted_uid, trusted_packet_sequence_id and trusted_pid come first.
  for (const uint32_t id :
       {3u, 10u, 79u, 33u, 35u, 36u, 50u, 69u, 98u, 124u, 125u, 133u}) {
    // A well-formed field of each type: varint, 64 bits, bytes, 32 bits.
    for (const auto& [type, value] :
         {std::pair(0u, "01"), std::pair(1u, "00 00 00 00 00 00 00 00"),
          std::pair(2u, "00"), std::pair(5u, "00 00 00 00")}) {
      const uint32_t tag = id << 3 | type;
      char hex[64];
      const int size = tag < 0x80
                           ? snprintf(hex, sizeof(hex), "%02x %s", tag, value)
                           : snprintf(hex, sizeof(hex), "%02x %02x %s",
                                      tag % 0x80 + 0x80, tag / 0x80, value);
      char packet[80];
      snprintf(packet, sizeof(packet), "%02x %s", (size + 1) / 3, hex);
      EXPECT_TRUE(Move(WriteChunk(1, chunk++, 1, packet))) << packet;
      ++num_refused;
    }
  }
  EXPECT_EQ(Packets(), Strings());
  EXPECT_EQ(Stats().invalid_packets, num_refused);
}

TEST_F(TracingServiceTest, ChunksForOthersAreFreedAndForgotten) {
  config_.buffers.push_back(config_.buffers[0]);
  TestProducer other;
  AddDataSource("other", 1);
  other.Connect(&service_, "other", Info());
  ConnectAndStart();
  ASSERT_NE(other.buffer(), producer_.buffer());
  auto move = WriteChunk(1, 0, 1, "02 08 01");
  for (const BufferID buffer : {BufferID{0}, other.buffer(), BufferID{1000}}) {
    move = WriteChunk(1, 0, 1, "02 08 01");
    move.target_buffer = buffer;
    EXPECT_TRUE(Move(move));
  }
  // No writer has the id 0, or one above the limit.
  Move(WriteChunk(0, 0, 1, "02 08 01"));
  Move(WriteChunk(kMaxWriterID + 1, 0, 1, "02 08 01"));
  // A writer that is registered for a buffer has to stay there.
  producer_.connection()->RegisterTraceWriter(2, other.buffer());
  Move(WriteChunk(2, 0, 1, "02 08 01"));
  EXPECT_EQ(Packets(), Strings{});
  EXPECT_EQ(Stats().chunks_discarded, 6u);
  // All chunks are free but the first, which is still there.
  EXPECT_EQ(producer_.abi().GetPageWord(0), 0x30000003u);
  const CommitDataRequest::Patch patch{};
  for (const WriterID writer : {WriterID{0}, WriterID{2}, WriterID{40000}}) {
    const CommitDataRequest::ChunkToPatch patches = {producer_.buffer(), writer,
                                                     0, &patch, 1};
    producer_.connection()->CommitData({nullptr, 0, &patches, 1});
  }
  EXPECT_EQ(Stats().patches_discarded, 3u);
}

TEST_F(TracingServiceTest, ImpossibleMovesDoNothing) {
  ConnectAndStart();
  auto move = WriteChunk(1, 0, 1, "02 08 01");
  for (const uint32_t index : {4u, 7u, 14u, 1000u, UINT32_MAX}) {
    EXPECT_TRUE(Move({0, index, producer_.buffer()}));
    EXPECT_TRUE(Move({index + 64, 0, producer_.buffer()}));
  }
  // This chunk is not complete.
  EXPECT_TRUE(Move({0, 1, producer_.buffer()}));
  EXPECT_EQ(Packets(), Strings{});
  EXPECT_TRUE(Move(move));
  EXPECT_TRUE(Move(move));
  EXPECT_EQ(Packets(), Strings{"08 01"});
}

TEST_F(TracingServiceTest, ChunksMayBePartOfTheRequest) {
  ConnectAndStart();
  const std::string bytes = WithLittleEndianHeader(
      FromHex("00 00 00 00 01 00 02 00 02 08 01 02 08 02"));
  CommitDataRequest::ChunkToMove move{};
  move.target_buffer = producer_.buffer();
  move.data = reinterpret_cast<const uint8_t*>(bytes.data());
  move.data_size = bytes.size();
  move.is_incomplete = true;
  Move(move);
  EXPECT_EQ(Packets(), Strings{"08 01"});
  move.is_incomplete = false;
  Move(move);
  EXPECT_EQ(Packets(), Strings{"08 02"});
  move.data_size = 7;
  Move(move);
  EXPECT_EQ(Stats().chunks_discarded, 1u);
}

TEST_F(TracingServiceTest, FlushFindsWhatHasNotBeenCommitted) {
  ConnectAndStart(true);
  auto* const arbiter = producer_.MakeArbiter();
  auto writer = arbiter->CreateTraceWriter(producer_.buffer());
  writer->NewTracePacket()->AppendVarInt(1, 1u);
  {
    auto packet = writer->NewTracePacket();
    packet->AppendVarInt(1, 2u);
    EXPECT_EQ(Packets(), Strings{});
    service_.Flush(session_, 0, 0, nullptr);
    producer_.AcknowledgeFlush(producer_.last_flush());
    EXPECT_EQ(Packets(), Strings{"08 01"});
    packet->AppendVarInt(1, 3u);
  }
  service_.Flush(session_, 10, 0, nullptr);
  PassTime(10);
  EXPECT_EQ(Packets(), Strings{"08 02 08 03"});
  // This chunk is on its way to be committed.
  writer->NewTracePacket()->AppendVarInt(1, 4u);
  writer->ReturnChunk();
  service_.Flush(session_, 10, 0, nullptr);
  PassTime(10);
  EXPECT_EQ(Packets(), Strings{"08 04"});
  writer->NewTracePacket()->AppendVarInt(1, 5u);
  writer->Flush();
  EXPECT_EQ(Packets(), Strings{"08 05"});
  writer->NewTracePacket()->AppendVarInt(1, 6u);
  // The end is a flush, and another look at the memory.
  Stop();
  EXPECT_EQ(Packets(), Strings{"08 06"});
  writer.reset();
}

TEST_F(TracingServiceTest, FlushMayFindTheSecondChunkFirst) {
  ConnectAndStart(true);
  producer_.connection()->RegisterTraceWriter(1, producer_.buffer());
  const auto second =
      WriteChunk(1, 6, 1 | ABI::kFirstPacketContinuesFromPrevChunk, "02 08 02");
  service_.Flush(session_, 0, 0, nullptr);
  producer_.AcknowledgeFlush(producer_.last_flush());
  EXPECT_EQ(Packets(), Strings{});
  // The first chunk was begun where the service had looked already.
  Move(WriteChunk(1, 5, 2 | ABI::kLastPacketContinuesOnNextChunk,
                  "02 08 01 02 08 01"));
  Move(second);
  EXPECT_EQ(Packets(), (Strings{"08 01", "08 01 08 02"}));
}

TEST_F(TracingServiceTest, EndOfASessionIsTheLastLook) {
  DataSourceDescriptor descriptor;
  descriptor.name = "source";
  descriptor.will_notify_on_stop = true;
  producer_.Connect(&service_, "unwanted", Info(true));
  producer_.connection()->RegisterDataSource(descriptor);
  Start();
  auto writer = producer_.MakeArbiter()->CreateTraceWriter(producer_.buffer());
  service_.StopTracing(session_);
  producer_.AcknowledgeFlush(UINT64_MAX);
  writer->NewTracePacket()->AppendVarInt(1, 1u);
  EXPECT_EQ(Packets(), Strings{});
  producer_.connection()->NotifyDataSourceStopped(1);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopped);
  EXPECT_EQ(Packets(), Strings{"08 01"});
}

TEST_F(TracingServiceTest, OnlyWhoAgreesAndIsKnownIsScraped) {
  for (const bool scrapes : {false, true}) {
    TestProducer producer;
    producer.Connect(&service_, "source", Info(scrapes));
    Start();
    const ABI abi = producer.abi();
    const auto write = [&](WriterID writer_id) {
      abi.TryPartitionPage(0, ABI::kPageDiv4);
      const ABI::Chunk chunk = abi.TryAcquireChunkForWriting(0, ABI::kPageDiv4);
      ABI::InitChunkForWriting(chunk, writer_id, 0, 2);
      const std::string bytes = FromHex("02 08 0" + std::to_string(writer_id));
      std::copy(bytes.begin(), bytes.end(), chunk.payload_begin());
    };
    producer.connection()->RegisterTraceWriter(1, producer.buffer());
    producer.connection()->RegisterTraceWriter(2, 1000);
    write(1);
    write(2);
    write(3);
    service_.StopTracing(session_);
    producer.AcknowledgeFlush(UINT64_MAX);
    EXPECT_EQ(Packets(), scrapes ? Strings{"08 01"} : Strings{});
  }
}

TEST_F(TracingServiceTest, UnannouncedWritersOfADeadProducerAreCounted) {
  for (const size_t num_buffers : {size_t{1}, size_t{2}}) {
    SCOPED_TRACE(num_buffers);
    TestProducer producer;
    TracingService::ProducerInfo info = Info(/*scrapes=*/true);
    info.reports_losses = true;
    producer.Connect(&service_, "source", std::move(info));
    Start();
    const TracingSessionID session = session_;
    if (num_buffers == 2)
      Start();
    const ABI abi = producer.abi();
    abi.TryPartitionPage(0, ABI::kPageDiv4);
    const ABI::Chunk chunk = abi.TryAcquireChunkForWriting(0, ABI::kPageDiv4);
    ABI::InitChunkForWriting(chunk, 3, 0, 2);
    const std::string bytes = FromHex("02 08 03");
    std::copy(bytes.begin(), bytes.end(), chunk.payload_begin());
    producer.Die();
    service_.StopTracing(session);
    const protozero::TraceStats stats = service_.GetStats(session);
    EXPECT_EQ(stats.unknown_losses(), num_buffers - 1);
    EXPECT_EQ(stats.packets_begun(), 2 - num_buffers);
    EXPECT_EQ(stats.silent_producers.number, 0u);
  }
}

TEST_F(TracingServiceTest, WholePacketsOfADeadProducerSurvive) {
  ConnectAndStart(true);
  // There are so many chunks that the writer keeps some back, and so little
  // room in them that it has to let them go.
  auto* const arbiter = producer_.MakeArbiter(ABI::kPageDiv14);
  auto writer = arbiter->CreateTraceWriter(producer_.buffer());
  writer->NewTracePacket()->AppendVarInt(1, 1u);
  auto second = arbiter->CreateTraceWriter(producer_.buffer());
  {
    auto packet = writer->NewTracePacket();
    packet->BeginNestedMessage<Message>(2)->AppendString(
        3, std::string(20000, 'x'));
    arbiter->FlushPendingCommitDataRequestsAndWait();
    second->NewTracePacket()->AppendVarInt(1, 2u);
    EXPECT_EQ(Packets(), Strings{"08 01"});
    EXPECT_GT(Stats().buffers[0].chunks_written, 10u);
    producer_.Die();
  }
  EXPECT_EQ(Packets(), Strings{"08 02"});
  EXPECT_EQ(Stats().buffers[0].readaheads_succeeded, 0u);
  EXPECT_EQ(Stats().producers.size(), 0u);
  // The next producer is another one.
  TestProducer other;
  other.Connect(&service_, "source", Info());
  auto third = other.MakeArbiter()->CreateTraceWriter(other.buffer());
  third->NewTracePacket()->AppendVarInt(1, 3u);
  third->Flush();
  EXPECT_EQ(Packets(), Strings{"08 03"});
  third.reset();
  service_.StopTracing(session_);
  other.AcknowledgeFlush(UINT64_MAX);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopped);
}

TEST_F(TracingServiceTest, SessionEndsWithTheDeathOfItsProducer) {
  ConnectAndStart();
  service_.StopTracing(session_);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopping);
  producer_.Die();
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopped);
}

TEST_F(TracingServiceTest, SessionStartsWithTheDeathOfWhomItWaitsFor) {
  DataSourceDescriptor descriptor;
  descriptor.name = "slow";
  descriptor.will_notify_on_start = true;
  producer_.Connect(&service_, "source", Info());
  producer_.connection()->RegisterDataSource(descriptor);
  AddDataSource("slow");
  Start();
  EXPECT_EQ(service_.GetState(session_), TracingService::kStarting);
  producer_.Die();
  EXPECT_EQ(service_.GetState(session_), TracingService::kStarted);
}

TEST_F(TracingServiceTest, SessionsDoNotConcernEachOther) {
  ConnectAndStart();
  const BufferID first_buffer = producer_.buffer();
  const TracingSessionID first = session_;
  Start();
  ASSERT_NE(producer_.buffer(), first_buffer);
  auto* const arbiter = producer_.MakeArbiter();
  auto writer = arbiter->CreateTraceWriter(first_buffer);
  auto other_writer = arbiter->CreateTraceWriter(producer_.buffer());
  writer->NewTracePacket()->AppendVarInt(1, 1u);
  other_writer->NewTracePacket()->AppendVarInt(1, 2u);
  writer->Flush();
  other_writer->Flush();
  EXPECT_EQ(Packets(), Strings{"08 02"});
  service_.CloseSession(first);
  writer->NewTracePacket()->AppendVarInt(1, 3u);
  other_writer->NewTracePacket()->AppendVarInt(1, 4u);
  writer->Flush();
  other_writer->Flush();
  EXPECT_EQ(Packets(), Strings{"08 04"});
  EXPECT_EQ(Stats().chunks_discarded, 1u);
  writer.reset();
  other_writer.reset();
}

TEST_F(TracingServiceTest, ConsumerIsGivenWhatComes) {
  config_.write_period_ms = 100;
  ConnectAndStart();
  auto writer = producer_.MakeArbiter()->CreateTraceWriter(producer_.buffer());
  PassTime(100);
  const size_t header_size = consumer_.trace.size();
  EXPECT_GT(header_size, 0u);
  PassTime(100);
  EXPECT_EQ(consumer_.trace.size(), header_size);
  writer->NewTracePacket()->AppendVarInt(1, 1u);
  writer->Flush();
  PassTime(99);
  EXPECT_EQ(PacketsOfTrace(consumer_.trace).size(), 0u);
  PassTime(1);
  EXPECT_EQ(PacketsOfTrace(consumer_.trace).size(), 1u);
  writer->NewTracePacket()->AppendVarInt(1, 1u);
  writer.reset();
  Stop();
  EXPECT_EQ(service_.NextDeadlineMs(), now_);
  PassTime(0);
  EXPECT_EQ(PacketsOfTrace(consumer_.trace).size(), 2u);
  EXPECT_EQ(ServicePacketsOfTrace(consumer_.trace).size(), 4u);
  EXPECT_EQ(consumer_.calls, "started stopped written ");
  EXPECT_EQ(service_.NextDeadlineMs(), UINT64_MAX);
}

// Meanwhile producers could not commit.
TEST_F(TracingServiceTest, ConsumerIsGivenOneBatchAtATime) {
  constexpr size_t kPacketSize = 900;
  constexpr size_t kNumPackets = 1000;
  config_.buffers[0].size_bytes = 4 << 20;
  config_.write_period_ms = 100;
  ConnectAndStart();
  auto writer = producer_.MakeArbiter()->CreateTraceWriter(producer_.buffer());
  const auto write = [&](size_t num_packets) {
    for (size_t i = 0; i < num_packets; ++i)
      writer->NewTracePacket()->AppendString(900,
                                             std::string(kPacketSize, 'x'));
    writer->Flush();
  };
  write(kNumPackets);
  PassTime(100);
  size_t calls = 1;
  while (service_.NextDeadlineMs() == now_) {
    // Later packets are written in the next period.
    write(1);
    const size_t size = consumer_.trace.size();
    PassTime(0);
    EXPECT_LT(consumer_.trace.size() - size, kNumPackets * kPacketSize / 2);
    ASSERT_LT(++calls, kNumPackets);
  }
  EXPECT_GT(calls, 2u);
  EXPECT_EQ(service_.NextDeadlineMs(), now_ + 100);
  const size_t num_packets = PacketsOfTrace(consumer_.trace).size();
  EXPECT_GE(num_packets, kNumPackets);
  EXPECT_LT(num_packets, kNumPackets + calls);
  // The session ends in the middle of a write.
  write(kNumPackets / 2);
  PassTime(100);
  EXPECT_EQ(service_.NextDeadlineMs(), now_);
  writer.reset();
  Stop();
  while (service_.NextDeadlineMs() != UINT64_MAX)
    PassTime(0);
  EXPECT_EQ(consumer_.calls, "started stopped written ");
  EXPECT_EQ(service_.GetStats(session_).packets_begun(),
            PacketsOfTrace(consumer_.trace).size());
}

// The period is far longer than the time in which the buffer is full.
TEST_F(TracingServiceTest, BufferThatIsHalfFullIsWritten) {
  constexpr int kNumPackets = 10000;
  config_.buffers[0] = {256 << 10, BufferFillPolicy::kDiscard};
  config_.write_period_ms = 3600 * 1000;
  ConnectAndStart();
  auto writer = producer_.MakeArbiter()->CreateTraceWriter(producer_.buffer());
  int num_early = 0;
  for (int i = 0; i < kNumPackets; ++i) {
    writer->NewTracePacket()->AppendString(900, std::string(900, 'x'));
    writer->Flush();
    const bool is_half_full = service_.has_become_half_full();
    EXPECT_EQ(service_.NextDeadlineMs() == now_, is_half_full);
    if (!is_half_full)
      continue;
    ++num_early;
    PassTime(0);
    EXPECT_FALSE(service_.has_become_half_full());
    while (service_.NextDeadlineMs() == now_)
      PassTime(0);
  }
  // Each time, it was half full, and is empty. A chunk of one packet takes some
  // bytes more.
  constexpr int kMostPacketsInHalf = (128 << 10) / 900;
  EXPECT_GE(num_early, kNumPackets / kMostPacketsInHalf);
  EXPECT_LE(num_early, 2 * kNumPackets / kMostPacketsInHalf);
  writer.reset();
  Stop();
  while (service_.NextDeadlineMs() != UINT64_MAX)
    PassTime(0);
  EXPECT_EQ(PacketsOfTrace(consumer_.trace).size(), size_t{kNumPackets});
  EXPECT_EQ(service_.GetStats(session_).lost().total(), 0u);
}

// Otherwise each commit would read all writers in vain.
TEST_F(TracingServiceTest, WhatCannotBeReadIsNotReadForEachCommit) {
  config_.buffers[0] = {256 << 10, BufferFillPolicy::kDiscard};
  config_.write_period_ms = 3600 * 1000;
  ConnectAndStart();
  auto* const arbiter = producer_.MakeArbiter();
  auto waiting = arbiter->CreateTraceWriter(producer_.buffer());
  // Nothing after the open packet's first chunk can be read.
  auto open = waiting->NewTracePacket();
  auto* const nested = open->BeginNestedMessage<Message>(1);
  int num_early = 0;
  for (int i = 0; i < 250; ++i) {
    nested->AppendString(900, std::string(900, 'x'));
    arbiter->FlushPendingCommitDataRequests();
    num_early += service_.has_become_half_full();
    PassTime(0);
  }
  // At a half, three quarters, seven eighths, and so on.
  EXPECT_GE(num_early, 2);
  EXPECT_LE(num_early, 10);
  nested->Finalize();
  open->Finalize();
}

// Otherwise the data would be two periods old when it is written.
TEST_F(TracingServiceTest, WhatIsFlushedIsWrittenAtOnce) {
  config_.flush_period_ms = 100;
  config_.write_period_ms = 100;
  ConnectAndStart(/*scrapes=*/true);
  auto writer = producer_.MakeArbiter()->CreateTraceWriter(producer_.buffer());
  writer->NewTracePacket()->AppendVarInt(1, 1u);
  // The second packet makes the first one complete.
  writer->NewTracePacket()->AppendVarInt(1, 2u);
  PassTime(100);
  EXPECT_EQ(PacketsOfTrace(consumer_.trace).size(), 0u);
  producer_.AcknowledgeFlush(1);
  EXPECT_EQ(service_.NextDeadlineMs(), now_);
  PassTime(0);
  EXPECT_GE(PacketsOfTrace(consumer_.trace).size(), 1u);
  EXPECT_EQ(service_.NextDeadlineMs(), now_ + 100);
  writer.reset();
}

TEST_F(TracingServiceTest, WhatCanNotBeWrittenEndsTheSession) {
  config_.write_period_ms = 100;
  ConnectAndStart();
  consumer_.refuses = true;
  PassTime(100);
  EXPECT_EQ(service_.GetState(session_), TracingService::kStopping);
  producer_.AcknowledgeFlush(UINT64_MAX);
  PassTime(0);
  EXPECT_EQ(consumer_.calls, "started stopped lost ");
  EXPECT_EQ(service_.NextDeadlineMs(), UINT64_MAX);
}

TEST_F(TracingServiceTest, SinkThatRefusesIsNotCalledAgain) {
  ConnectAndStart();
  auto writer = producer_.MakeArbiter()->CreateTraceWriter(producer_.buffer());
  for (int i = 0; i < 1000; ++i)
    writer->NewTracePacket()->AppendString(900, std::string(900, 'x'));
  writer.reset();
  size_t calls = 0;
  EXPECT_FALSE(service_.ReadPackets(
      session_, [&](const uint8_t*, size_t) { return ++calls < 2; }));
  EXPECT_EQ(calls, 2u);
  EXPECT_GT(Packets().size(), 100u);
}

}  // namespace
}  // namespace protozero::test
