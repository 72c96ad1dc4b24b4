// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests TracingService::FollowSession().

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "protozero/message.h"
#include "protozero/tracing/loss_reason.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "protozero/tracing/tracing_service.h"
#include "test/tracing/test_producer.h"

namespace protozero::test {
namespace {

// A session with one producer and one writer, and another one that follows it.
class SessionFollowingTest : public testing::Test {
 protected:
  SessionFollowingTest() {
    TraceConfig config;
    config.clock_snapshot_period_ms = 0;
    config.is_read_at_end = true;
    config.buffers.push_back({1 << 20, BufferFillPolicy::kRingBuffer});
    config.data_sources.emplace_back();
    config.data_sources[0].config.name = "source";
    producer_.Connect(&service_, "source");
    session_ = service_.StartTracing(config, nullptr, nullptr);
    writer_ = producer_.MakeArbiter()->CreateTraceWriter(producer_.buffer());
  }
  ~SessionFollowingTest() override { writer_.reset(); }

  void Follow(size_t buffer_bytes = 1 << 20) {
    std::string error;
    follower_ = service_.FollowSession(session_, buffer_bytes, &error);
    ASSERT_NE(follower_, 0u) << error;
  }
  void Write(int count, size_t size = 0) {
    const std::string text(size, 'x');
    for (; count > 0; --count) {
      auto packet = writer_->NewTracePacket<Message>();
      packet->BeginNestedMessage<Message>(900)->AppendString(1, text);
    }
    writer_->Flush();
  }
  size_t NumPackets(TracingSessionID session) {
    return PacketsOfTrace(ReadTrace(&service_, session)).size();
  }
  void Stop() {
    service_.StopTracing(session_);
    writer_->Flush();
    producer_.AcknowledgeFlush(UINT64_MAX);
    ASSERT_EQ(service_.GetState(session_), TracingService::kStopped);
  }

  TracingService service_;
  TestProducer producer_;
  TracingSessionID session_ = 0;
  TracingSessionID follower_ = 0;
  std::unique_ptr<TraceWriter> writer_;
};

TEST_F(SessionFollowingTest, FollowerIsReadAndTakesNothing) {
  producer_.TakeCalls();
  Follow();
  Write(100);
  EXPECT_EQ(NumPackets(follower_), 100u);
  EXPECT_EQ(NumPackets(follower_), 0u);
  // This packet has many chunks. The first one needs a patch.
  Write(1, 50000);
  const auto packets = PacketsOfTrace(ReadTrace(&service_, follower_));
  ASSERT_EQ(packets.size(), 1u);
  EXPECT_GT(packets[0].bytes.size(), 50000u);
  EXPECT_FALSE(packets[0].previous_packet_dropped);
  EXPECT_EQ(service_.GetStats(session_).packets_read(), 0u);
  EXPECT_EQ(service_.GetStats(follower_).packets_read(), 101u);
  // The producer was asked for nothing.
  EXPECT_EQ(producer_.TakeCalls(), "");
  service_.CloseSession(follower_);
  Write(10);
  Stop();
  EXPECT_EQ(NumPackets(session_), 111u);
}

TEST_F(SessionFollowingTest, FollowerReadsTheClocksAsOftenAsTheOther) {
  EXPECT_EQ(service_.NextDeadlineMs(), UINT64_MAX);
  Follow();
  EXPECT_EQ(service_.NextDeadlineMs(), UINT64_MAX);
}

TEST_F(SessionFollowingTest, FollowerLosesOnlyItsOwnPackets) {
  Follow(1 << 14);
  Write(1000, 100);
  EXPECT_LT(NumPackets(follower_), 1000u);
  const TraceBufferStats buffer = service_.GetStats(follower_).buffers[0];
  EXPECT_EQ(buffer.lost.of(LossReason::kOverwritten) + buffer.packets_read,
            1000u);
  Stop();
  EXPECT_EQ(service_.GetStats(session_).buffers[0].lost.total(), 0u);
  EXPECT_EQ(NumPackets(session_), 1000u);
}

TEST_F(SessionFollowingTest, FollowerHasTheLossesOfWriters) {
  Follow();
  Write(1);
  CommitDataRequest::WriterLosses losses = {};
  losses.writer_id = writer_->writer_id();
  losses.target_buffer = producer_.buffer();
  losses.reason = LossReason::kMemoryFull;
  losses.packets = 7;
  CommitDataRequest request = {};
  request.losses = &losses;
  request.num_losses = 1;
  producer_.CommitData(request);
  producer_.connection()->ReportUnknownLoss();
  for (const TracingSessionID id : {session_, follower_}) {
    const TraceBufferStats buffer = service_.GetStats(id).buffers[0];
    EXPECT_EQ(buffer.lost.total(), 7u);
    EXPECT_EQ(buffer.unknown_losses, 1u);
  }
}

TEST_F(SessionFollowingTest, SessionsEndInAnyOrder) {
  Follow();
  std::string error;
  EXPECT_EQ(service_.FollowSession(session_, 4096, &error), 0u);
  EXPECT_EQ(error, "another session follows it");
  EXPECT_EQ(service_.FollowSession(1000, 4096, &error), 0u);
  EXPECT_EQ(error, "there is no such session");
  Write(5);
  service_.CloseSession(session_);
  EXPECT_EQ(NumPackets(follower_), 5u);
  EXPECT_EQ(service_.FollowSession(follower_, 0, &error), 0u);
  EXPECT_EQ(error, "a buffer has no size");
  service_.CloseSession(follower_);
  EXPECT_EQ(service_.GetState(follower_), TracingService::kNone);
}

}  // namespace
}  // namespace protozero::test
