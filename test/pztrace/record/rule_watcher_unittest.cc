// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests which matches of rules get a file, and when. The session is in this
// process, and its time is the test's.

#include "src/pztrace/record/rule_watcher.h"

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/trace_writer.h"
#include "protozero/tracing/tracing_service.h"
#include "protozero/tracing/track_event.h"
#include "src/pztrace/record/recording_rule.h"
#include "test/tracing/test_producer.h"

namespace {

using protozero::TraceConfig;
using protozero::TracingService;
using protozero::test::TestProducer;
using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;
using pztrace::RuleWatcher;
using pztrace::WatchedRules;

constexpr uint32_t kHourMs = 3600 * 1000;

// Counts the files that are asked for.
class FileCounter : public TracingService::Consumer {
 public:
  bool OnTraceData(protozero::TracingSessionID,
                   const uint8_t*,
                   size_t) override {
    return true;
  }
  void OnCloneTrigger(protozero::TracingSessionID,
                      const std::string&) override {
    ++num_files;
  }
  int num_files = 0;
};

class RuleWatcherTest : public testing::Test {
 protected:
  RuleWatcherTest() : service_([this] { return now_ms_; }) {}
  ~RuleWatcherTest() override { writer_.reset(); }

  void Start(uint32_t before_ms, uint32_t after_ms) {
    TraceConfig config;
    config.buffers.push_back(
        {64 << 20, protozero::BufferFillPolicy::kRingBuffer});
    config.data_sources.emplace_back();
    config.data_sources[0].config.name = "source";
    config.trigger_mode = TraceConfig::TriggerMode::kClone;
    config.triggers.emplace_back();
    config.triggers[0].name = "rules";
    config.trigger_timeout_ms = kHourMs;
    producer_.Connect(&service_, "source");
    session_ = service_.StartTracing(config, &consumer_, nullptr);
    ASSERT_NE(session_, 0u);
    writer_ = producer_.MakeArbiter()->CreateTraceWriter(producer_.buffer());

    WatchedRules rules;
    rules.rules.emplace_back();
    EXPECT_EQ(ParseRecordingRule("category app", &rules.rules[0]), "");
    rules.trigger = "rules";
    rules.before_ms = before_ms;
    rules.after_ms = after_ms;
    watcher_ = std::make_unique<RuleWatcher>(&service_, rules, nullptr);
    ASSERT_TRUE(watcher_->Start(session_));
  }
  void Write(uint64_t time_ns, const char* category, size_t padding = 0) {
    auto packet = writer_->NewTracePacket<TracePacket>();
    packet->set_timestamp(time_ns);
    auto* const event = packet->set_track_event();
    event->set_type(TrackEvent::TYPE_INSTANT);
    event->set_track_uuid(1);
    event->add_categories(category);
    event->set_name("event");
    if (padding != 0)
      event->AppendString(900, std::string(padding, 'x'));
  }
  void Match(uint64_t time_ns) {
    Write(time_ns, "app");
    writer_->Flush();
  }
  // Looks until a match of before is known. Returns what the watcher prints.
  std::string Look() {
    testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) {
      now_ms_ += 1000;
      while (watcher_->Run() == 0) {
      }
    }
    service_.RunDue();
    return testing::internal::GetCapturedStderr();
  }
  std::string LookLast(bool* is_due) {
    testing::internal::CaptureStderr();
    *is_due = watcher_->LookLast();
    return testing::internal::GetCapturedStderr();
  }
  std::string Losses() {
    testing::internal::CaptureStderr();
    watcher_->ReportLosses();
    return testing::internal::GetCapturedStderr();
  }

  uint64_t now_ms_ = 1000;
  FileCounter consumer_;
  TracingService service_;
  TestProducer producer_;
  protozero::TracingSessionID session_ = 0;
  std::unique_ptr<protozero::TraceWriter> writer_;
  std::unique_ptr<RuleWatcher> watcher_;
};

TEST_F(RuleWatcherTest, MatchesInAFileNeedNoOtherFile) {
  Start(0, kHourMs);
  Match(protozero::TraceTimeNs());
  EXPECT_EQ(Look(), "category app: event\n");
  Match(protozero::TraceTimeNs());
  EXPECT_EQ(Look(), "");
  bool is_due = true;
  EXPECT_EQ(LookLast(&is_due), "");
  EXPECT_FALSE(is_due);
}

TEST_F(RuleWatcherTest, TheNextFileBeginsWhereTheLastOneEnds) {
  Start(kHourMs, 0);
  Match(protozero::TraceTimeNs());
  EXPECT_EQ(Look(), "category app: event\n");
  EXPECT_EQ(consumer_.num_files, 1);
  // This one is not in the file, and the next file does not come at once.
  Match(protozero::TraceTimeNs());
  EXPECT_EQ(Look(), "");
  EXPECT_EQ(consumer_.num_files, 1);
  bool is_due = false;
  EXPECT_EQ(LookLast(&is_due), "category app: event\n");
  EXPECT_TRUE(is_due);
}

TEST_F(RuleWatcherTest, WithoutTimeBeforeTheNextFileComesAtOnce) {
  Start(0, 0);
  for (int i = 1; i <= 3; ++i) {
    Match(protozero::TraceTimeNs());
    EXPECT_EQ(Look(), "category app: event\n");
    EXPECT_EQ(consumer_.num_files, i);
  }
}

TEST_F(RuleWatcherTest, SeesMegabytesBetweenTwoLooks) {
  Start(0, 0);
  const uint64_t now_ns = protozero::TraceTimeNs();
  Match(now_ns);
  for (uint64_t i = 0; i < 8000; ++i) {
    Write(now_ns + i, "other", 1000);
    writer_->Flush();
  }
  EXPECT_EQ(Look(), "category app: event\n");
  EXPECT_EQ(Losses(), "");
}

TEST_F(RuleWatcherTest, SaysWhatItHasNotSeen) {
  Start(0, 0);
  const uint64_t now_ns = protozero::TraceTimeNs();
  Match(now_ns);
  for (uint64_t i = 0; i < 20000; ++i) {
    Write(now_ns + i, "other", 1000);
    writer_->Flush();
  }
  EXPECT_EQ(Look(), "");
  const std::string losses = Losses();
  EXPECT_EQ(losses.find("pztrace: --when has not seen "), 0u) << losses;
  EXPECT_NE(losses.find(" packets\n"), std::string::npos) << losses;
}

}  // namespace
