// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests the parts of the service, each without those above it.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/tracing/shared_memory.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/service/buffer_table.h"
#include "src/tracing/service/chunk_collector.h"
#include "src/tracing/service/data_sources.h"
#include "src/tracing/service/flushes.h"
#include "src/tracing/service/producer_record.h"
#include "src/tracing/service/producer_table.h"
#include "src/tracing/service/service_packets.h"
#include "src/tracing/service/session.h"

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
  service::ChunkCollector chunks_{&buffers_};
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
  EXPECT_FALSE(have_drifted(9999999, -9999999));
  EXPECT_TRUE(have_drifted(10000000, 0));
  EXPECT_TRUE(have_drifted(-10000000, 0));
  // The system was suspended.
  EXPECT_TRUE(have_drifted(3000000000, 3000000000));
  EXPECT_TRUE(have_drifted(0, 10000000));
}

}  // namespace
}  // namespace protozero::test
