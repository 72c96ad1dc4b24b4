// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests what is left of sessions and producers that have ended.

#include <stdint.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/tracing/trace_writer.h"
#include "protozero/tracing/tracing_service.h"
#include "test/tracing/test_producer.h"

namespace protozero::test {
namespace {

class CountingConsumer : public TracingService::Consumer {
 public:
  void OnTracingStopped(TracingSessionID) override { ++num_stopped; }
  int num_stopped = 0;
};

class SessionEndingsTest : public testing::Test {
 protected:
  SessionEndingsTest() : service_([this] { return now_; }) {
    config_.buffers.push_back({1 << 20, BufferFillPolicy::kRingBuffer});
    config_.clock_snapshot_period_ms = 0;
    config_.data_sources.emplace_back();
    config_.data_sources[0].config.name = "source";
  }

  TracingSessionID Start() {
    std::string error;
    const TracingSessionID session =
        service_.StartTracing(config_, &consumer_, &error);
    EXPECT_NE(session, 0u) << error;
    return session;
  }
  std::unique_ptr<TestProducer> Connect() {
    auto producer = std::make_unique<TestProducer>();
    TracingService::ProducerInfo info;
    info.name = "test";
    info.shm_page_size_hint = 4096;
    info.shm_size_hint = 4096;
    producer->Connect(&service_, "source", std::move(info));
    return producer;
  }

  uint64_t now_ = 1000;
  CountingConsumer consumer_;
  TraceConfig config_;
  TracingService service_;
};

TEST_F(SessionEndingsTest, WritersOfDeadProducersAreCountedAndForgotten) {
  constexpr size_t kNumProducers = 300;
  // More are not remembered of those that have ended.
  constexpr size_t kMaxEndedWriters = 256;
  const TracingSessionID session = Start();
  for (size_t i = 0; i < kNumProducers; ++i) {
    const auto producer = Connect();
    {
      const auto writer =
          producer->MakeArbiter()->CreateTraceWriter(producer->buffer());
      writer->NewTracePacket()->AppendVarInt(900, i);
      writer->Flush();
      // The process dies before the writer says that it has ended.
      producer->Die();
    }
  }
  EXPECT_EQ(PacketsOfTrace(ReadTrace(&service_, session)).size(),
            kNumProducers);
  const TraceStats stats = service_.GetStats(session);
  EXPECT_EQ(stats.producers.size(), 0u);
  EXPECT_EQ(stats.producers_seen, kNumProducers);
  EXPECT_EQ(stats.writers.size(), kMaxEndedWriters);
  EXPECT_EQ(stats.writers_seen(), kNumProducers);
  EXPECT_EQ(stats.packets_begun(), kNumProducers);
  EXPECT_EQ(stats.packets_read(), kNumProducers);
  EXPECT_EQ(stats.silent_producers.number, 0u);
}

TEST_F(SessionEndingsTest, ProducersThatHaveWrittenAreNotSilent) {
  const TracingSessionID session = Start();
  const auto num_silent = [&] {
    return service_.GetStats(session).silent_producers.number;
  };
  const auto announced = Connect();
  const auto lossy = Connect();
  const auto unannounced = Connect();
  EXPECT_EQ(num_silent(), 3u);
  const auto commit = [](TestProducer* producer,
                         const CommitDataRequest& request) {
    EXPECT_TRUE(producer->connection()->CommitDataIfSetUp(request));
  };
  const CommitDataRequest nothing{};
  commit(announced.get(), nothing);
  EXPECT_EQ(num_silent(), 3u);
  announced->connection()->RegisterTraceWriter(1, announced->buffer());
  EXPECT_EQ(num_silent(), 2u);
  // Its next request has no chunk, and only a later one does.
  commit(announced.get(), nothing);
  EXPECT_EQ(num_silent(), 2u);
  CommitDataRequest::WriterLosses losses{};
  losses.target_buffer = lossy->buffer();
  losses.packets = 1;
  CommitDataRequest lost{};
  lost.losses = &losses;
  lost.num_losses = 1;
  commit(lossy.get(), lost);
  EXPECT_EQ(num_silent(), 1u);
  const CommitDataRequest::ChunkToMove move{0, 0, unannounced->buffer()};
  commit(unannounced.get(), {&move, 1, nullptr, 0});
  EXPECT_EQ(num_silent(), 0u);
  commit(unannounced.get(), nothing);
  EXPECT_EQ(num_silent(), 0u);
}

TEST_F(SessionEndingsTest, AClosedSessionSaysNothingMore) {
  for (const bool is_ring : {false, true}) {
    config_.ring_ms = is_ring ? 100 : 0;
    config_.is_read_at_end = is_ring;
    const auto producer = Connect();
    const TracingSessionID session = Start();
    service_.StopTracing(session);
    producer->TakeCalls();
    // The final flush has not ended.
    service_.CloseSession(session);
    EXPECT_EQ(producer->TakeCalls().substr(0, 4), "stop");
    producer->AcknowledgeFlush(UINT64_MAX);
    EXPECT_EQ(consumer_.num_stopped, 0);
    EXPECT_EQ(service_.GetState(session), TracingService::kNone);
    EXPECT_EQ(service_.NextDeadlineMs(), UINT64_MAX);
  }
}

// There are no more ids for buffers than that.
TEST_F(SessionEndingsTest, SessionsLeaveNoBuffersBehind) {
  config_.buffers.resize(TracingLimits::kMaxBuffersPerSession,
                         config_.buffers[0]);
  for (size_t i = 0; i <= 65536; i += config_.buffers.size())
    service_.CloseSession(Start());
  EXPECT_EQ(service_.GetStats(Start()).tracing_sessions, 1u);
}

TEST_F(SessionEndingsTest, ACopyHasAHeaderEvenIfThatOfItsSourceIsRead) {
  config_.raw_config = "\x18\x05";
  config_.clock_snapshot_period_ms = 0;
  const TracingSessionID session = Start();
  const std::string whole = ReadTrace(&service_, session);
  const size_t size = ServicePacketsOfTrace(whole).size();
  EXPECT_GE(size, 3u);
  for (int i = 0; i < 2; ++i) {
    std::string error;
    const TracingSessionID copy = service_.CloneSession(session, &error);
    ASSERT_NE(copy, 0u) << error;
    while (service_.GetState(copy) == TracingService::kStopping)
      service_.RunDue();
    const std::string trace = ReadTrace(&service_, copy);
    // It ends with statistics, too.
    EXPECT_GE(ServicePacketsOfTrace(trace).size(), size);
    EXPECT_NE(trace.find(config_.raw_config), std::string::npos);
    service_.CloseSession(copy);
  }
}

}  // namespace
}  // namespace protozero::test
