// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests the triggers of sessions.

#include <stdint.h>

#include <string>

#include <gtest/gtest.h>

#include "protozero/tracing/tracing_service.h"
#include "test/tracing/test_producer.h"

namespace protozero::test {
namespace {

using TriggerMode = TraceConfig::TriggerMode;

constexpr uint64_t kHourMs = 60 * 60 * 1000;

class TriggeredConsumer : public TracingService::Consumer {
 public:
  void OnCloneTrigger(TracingSessionID, const std::string& name) override {
    triggers += name + " ";
  }
  std::string triggers;
};

class SessionTriggersTest : public testing::Test {
 protected:
  SessionTriggersTest() : service_([this] { return now_; }) {
    config_.clock_snapshot_period_ms = 0;
    config_.buffers.push_back({1 << 16, BufferFillPolicy::kRingBuffer});
    config_.data_sources.emplace_back();
    config_.data_sources[0].config.name = "source";
    producer_.Connect(&service_, "source");
  }

  void Start(TriggerMode mode) {
    config_.trigger_mode = mode;
    session_ = service_.StartTracing(config_, &consumer_, nullptr);
    ASSERT_NE(session_, 0u);
  }
  void Activate(const char* name) {
    producer_.connection()->ActivateTrigger(name);
    service_.RunDue();
  }
  void PassTime(uint64_t milliseconds) {
    now_ += milliseconds;
    service_.RunDue();
  }
  TracingService::State State() { return service_.GetState(session_); }

  uint64_t now_ = 1000;
  TracingService service_;
  TriggeredConsumer consumer_;
  TestProducer producer_;
  TraceConfig config_;
  TracingSessionID session_ = 0;
};

TEST_F(SessionTriggersTest, WithoutAModeTriggersDoNothing) {
  config_.triggers.push_back({"trigger"});
  config_.trigger_timeout_ms = 100;
  Start(TriggerMode::kNone);
  EXPECT_EQ(State(), TracingService::kStarted);
  Activate("trigger");
  PassTime(200);
  EXPECT_EQ(State(), TracingService::kStarted);
  EXPECT_EQ(service_.NextDeadlineMs(), UINT64_MAX);
}

TEST_F(SessionTriggersTest, StartSetsUpDataSourcesAndStopsThemLater) {
  config_.triggers = {{"other", 0}, {"go", 500}};
  config_.duration_ms = 10;
  Start(TriggerMode::kStart);
  PassTime(1000);
  // A data source that comes now waits, too.
  DataSourceDescriptor descriptor;
  descriptor.name = "source";
  producer_.connection()->RegisterDataSource(descriptor);
  EXPECT_EQ(State(), TracingService::kStarting);
  EXPECT_EQ(producer_.TakeCalls(), "");
  Activate("unknown");
  EXPECT_EQ(producer_.TakeCalls(), "");
  Activate("go");
  EXPECT_EQ(State(), TracingService::kStarted);
  EXPECT_NE(producer_.TakeCalls().find("setup1 setup2"), std::string::npos);
  // It has started once.
  Activate("go");
  EXPECT_EQ(producer_.TakeCalls(), "");
  PassTime(499);
  EXPECT_EQ(State(), TracingService::kStarted);
  PassTime(1);
  EXPECT_EQ(State(), TracingService::kStopping);
}

TEST_F(SessionTriggersTest, SessionThatNothingStartsStops) {
  config_.triggers = {{"go", 0}};
  config_.trigger_timeout_ms = 300;
  Start(TriggerMode::kStart);
  EXPECT_EQ(service_.NextDeadlineMs(), now_ + 300);
  PassTime(300);
  EXPECT_EQ(State(), TracingService::kStopped);
}

TEST_F(SessionTriggersTest, SessionThatNothingStopsEndsWithItsDuration) {
  config_.triggers = {{"halt", 0}};
  config_.duration_ms = 300;
  Start(TriggerMode::kStop);
  PassTime(299);
  EXPECT_EQ(State(), TracingService::kStarted);
  PassTime(1);
  EXPECT_EQ(State(), TracingService::kStopping);
}

TEST_F(SessionTriggersTest, StopIsDelayed) {
  config_.triggers = {{"halt", 200}};
  config_.trigger_timeout_ms = 300;
  Start(TriggerMode::kStop);
  PassTime(250);
  Activate("halt");
  EXPECT_EQ(service_.NextDeadlineMs(), now_ + 200);
  PassTime(199);
  EXPECT_EQ(State(), TracingService::kStarted);
  PassTime(1);
  EXPECT_EQ(State(), TracingService::kStopping);
}

TEST_F(SessionTriggersTest, BurstIsOneClone) {
  config_.triggers = {{"a", 100}, {"b", 100}};
  Start(TriggerMode::kClone);
  for (const char* const name : {"a", "a", "c", "b"}) {
    Activate(name);
    PassTime(10);
  }
  EXPECT_EQ(consumer_.triggers, "");
  // The delay is that of the first one.
  PassTime(60);
  EXPECT_EQ(consumer_.triggers, "a ");
  PassTime(1000);
  Activate("b");
  PassTime(100);
  EXPECT_EQ(consumer_.triggers, "a b ");
  EXPECT_EQ(State(), TracingService::kStarted);
  EXPECT_EQ(service_.NextDeadlineMs(), UINT64_MAX);
}

TEST_F(SessionTriggersTest, CloneIsAskedForBeforeItsDelayIfTheSessionStops) {
  config_.triggers = {{"a", 100}};
  Start(TriggerMode::kClone);
  Activate("a");
  EXPECT_EQ(consumer_.triggers, "");
  service_.StopTracing(session_);
  EXPECT_EQ(consumer_.triggers, "a ");
  PassTime(1000);
  EXPECT_EQ(consumer_.triggers, "a ");
}

TEST_F(SessionTriggersTest, LimitIsForADay) {
  config_.triggers = {{"a", 0, 2}, {"b", 0}};
  Start(TriggerMode::kClone);
  for (int i = 0; i < 4; ++i) {
    Activate("a");
    PassTime(kHourMs);
  }
  EXPECT_EQ(consumer_.triggers, "a a ");
  Activate("b");
  EXPECT_EQ(consumer_.triggers, "a a b ");
  PassTime(20 * kHourMs);
  Activate("a");
  Activate("a");
  EXPECT_EQ(consumer_.triggers, "a a b a ");
}

TEST_F(SessionTriggersTest, ModeNeedsATrigger) {
  config_.trigger_mode = TriggerMode::kStop;
  std::string error;
  EXPECT_EQ(service_.StartTracing(config_, nullptr, &error), 0u);
  EXPECT_EQ(error, "there is no trigger");
}

TEST_F(SessionTriggersTest, ProducerThatOnlyActivatesOneIsNotSilent) {
  TestProducer other;
  other.Connect(&service_, "other");
  Start(TriggerMode::kNone);
  EXPECT_EQ(service_.GetStats(session_).silent_producers.number, 2u);
  other.connection()->ActivateTrigger("a");
  EXPECT_EQ(service_.GetStats(session_).silent_producers.number, 1u);
  other.Die();
  EXPECT_EQ(service_.GetStats(session_).silent_producers.number, 1u);
}

}  // namespace
}  // namespace protozero::test
