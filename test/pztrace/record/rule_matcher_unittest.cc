// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/rule_matcher.h"

#include <stdint.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/trace.h"
#include "src/pztrace/record/recording_rule.h"

namespace {

using protozero::HeapBuffered;
using protozero::LocalTrace;
using protozero::SwitchTask;
using protozero::Task;
using protozero::TaskResult;
using protozero::trace::TaskEvent;
using protozero::trace::Trace;
using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;
using pztrace::ParseRecordingRule;
using pztrace::RecordingRule;
using pztrace::RuleMatcher;

using Lines = std::vector<std::string>;

RecordingRule Parse(const std::string& text) {
  RecordingRule rule;
  EXPECT_EQ(ParseRecordingRule(text, &rule), "");
  return rule;
}

std::string ProblemWith(const std::string& text) {
  RecordingRule rule;
  return ParseRecordingRule(text, &rule);
}

TEST(RecordingRuleTest, Rules) {
  RecordingRule rule = Parse("slice request > 50ms");
  EXPECT_EQ(rule.kind, RecordingRule::Kind::kSlice);
  EXPECT_EQ(rule.name, "request");
  EXPECT_EQ(rule.limit_ns, 50000000u);
  rule = Parse("  task  a > b>1.5s ");
  EXPECT_EQ(rule.kind, RecordingRule::Kind::kTask);
  EXPECT_EQ(rule.name, "a > b");
  EXPECT_EQ(rule.limit_ns, 1500000000u);
  EXPECT_EQ(rule.text, "task  a > b>1.5s");
  rule = Parse("counter queue length > -1.5e3");
  EXPECT_EQ(rule.kind, RecordingRule::Kind::kCounter);
  EXPECT_EQ(rule.name, "queue length");
  EXPECT_EQ(rule.limit, -1500);
  rule = Parse("category net.*");
  EXPECT_EQ(rule.kind, RecordingRule::Kind::kCategory);
  EXPECT_EQ(rule.name, "net.*");
}

TEST(RecordingRuleTest, Problems) {
  for (const char* text :
       {"", "slice", "slice >", "slice > 1s", "slice a", "slices a > 1s",
        "slice a < 1s", "counter > 5", "category", "category "}) {
    EXPECT_EQ(ProblemWith(text),
              "--when takes 'slice NAME > TIME', 'task NAME > TIME', "
              "'counter NAME > NUMBER' or 'category NAME', not '" +
                  std::string(text) + "'");
  }
  EXPECT_EQ(ProblemWith("slice a > 5"),
            "the limit of --when needs a unit, as in 5ms; ns, us, s, m and h "
            "are others");
  EXPECT_EQ(ProblemWith("slice a > 0"), "");
  EXPECT_EQ(ProblemWith("slice a > b"),
            "the limit of --when takes a time: a number of seconds, or one "
            "with ns, us, ms, s, m or h, not 'b'");
  for (const char* number : {"", "5ms", "nan", "inf"}) {
    EXPECT_EQ(ProblemWith("counter a > " + std::string(number)),
              "the limit of --when takes a number, not '" +
                  std::string(number) + "'");
  }
}

// A test with packets, and with what rules find in them, as "TIME TEXT".
class RuleMatcherTest : public testing::Test {
 protected:
  template <typename Fill>
  void Add(const Fill& fill, uint32_t sequence = 1) {
    HeapBuffered<Trace> trace;
    auto* const packet = trace->add_packet();
    packet->set_trusted_packet_sequence_id(sequence);
    fill(packet);
    packets_ += trace.SerializeAsString();
  }
  void AddEvent(uint64_t time_ns,
                TrackEvent::Type type,
                const char* name,
                uint64_t track = 5,
                uint32_t sequence = 1) {
    Add(
        [&](TracePacket* packet) {
          packet->set_timestamp(time_ns);
          auto* const event = packet->set_track_event();
          event->set_type(type);
          event->set_track_uuid(track);
          if (*name == 0)
            return;
          event->set_name(name);
          event->add_categories("app");
          event->add_categories("net.io");
        },
        sequence);
  }
  void Begin(uint64_t time_ns, const char* name, uint32_t sequence = 1) {
    AddEvent(time_ns, TrackEvent::TYPE_SLICE_BEGIN, name, 5, sequence);
  }
  void End(uint64_t time_ns, uint32_t sequence = 1) {
    AddEvent(time_ns, TrackEvent::TYPE_SLICE_END, "", 5, sequence);
  }
  void AddValue(uint64_t time_ns, uint64_t track, double value) {
    Add([&](TracePacket* packet) {
      packet->set_timestamp(time_ns);
      auto* const event = packet->set_track_event();
      event->set_type(TrackEvent::TYPE_COUNTER);
      event->set_track_uuid(track);
      event->set_double_counter_value(value);
    });
  }

  // Begins the sequence of a thread's tasks, of which it knows task 70.
  void BeginTasks(bool is_behind_loss) {
    Add([&](TracePacket* packet) {
      packet->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
      packet->set_previous_packet_dropped(is_behind_loss);
      packet->set_trace_packet_defaults()
          ->set_track_event_defaults()
          ->set_track_uuid(12);
      auto* const data = packet->set_interned_data();
      auto* const site = data->add_task_sites();
      site->set_iid(1);
      site->set_name("worker");
      auto* const run = data->add_task_runs();
      run->set_iid(7);
      run->set_task(70);
      run->set_site_iid(1);
    });
  }
  void DescribeTasks() {
    Add([](TracePacket* packet) {
      auto* const track = packet->set_track_descriptor();
      track->set_uuid(10);
      track->set_process()->set_pid(1);
    });
    Add([](TracePacket* packet) {
      auto* const track = packet->set_track_descriptor();
      track->set_uuid(11);
      track->set_parent_uuid(10);
      auto* const thread = track->set_thread();
      thread->set_pid(1);
      thread->set_tid(2);
    });
    Add([](TracePacket* packet) {
      auto* const track = packet->set_track_descriptor();
      track->set_uuid(12);
      track->set_parent_uuid(11);
      track->set_name("tasks");
      track->set_state();
    });
  }
  template <typename Fill>
  void AddStep(uint64_t time_ns, TrackEvent::Type type, const Fill& fill) {
    Add([&](TracePacket* packet) {
      packet->set_timestamp(time_ns);
      packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
      auto* const event = packet->set_track_event();
      event->set_type(type);
      fill(event);
    });
  }
  // Spawns task 70, and runs it.
  void RunTask(uint64_t time_ns) {
    AddStep(time_ns, TrackEvent::TYPE_INSTANT, [](TrackEvent* event) {
      event->set_track_uuid(11);
      auto* const step = event->set_task();
      step->set_spawned(70);
      step->set_site_iid(1);
    });
    AddStep(time_ns + 1, TrackEvent::TYPE_STATE,
            [](TrackEvent* event) { event->set_name_iid(7); });
  }
  // Says that the running task has ended.
  void EndRunningTask(uint64_t time_ns) {
    AddStep(time_ns, TrackEvent::TYPE_STATE, [](TrackEvent* event) {
      event->set_task()->set_result(TaskEvent::RESULT_DONE);
    });
  }

  void Watch(const Lines& texts) {
    std::vector<RecordingRule> rules;
    for (const std::string& text : texts)
      rules.push_back(Parse(text));
    matcher_ = std::make_unique<RuleMatcher>(
        std::move(rules), [this](uint64_t end_ns, const std::string& text) {
          lines_.push_back(std::to_string(end_ns) + " " + text);
        });
  }
  // Reads the packets that were added. Returns what is found in this look.
  Lines Look(uint64_t known_ns = 0) {
    lines_.clear();
    matcher_->Read(
        {reinterpret_cast<const uint8_t*>(packets_.data()), packets_.size()});
    packets_.clear();
    matcher_->EndLook(known_ns);
    return lines_;
  }

  std::string packets_;
  Lines lines_;
  std::unique_ptr<RuleMatcher> matcher_;
};

TEST_F(RuleMatcherTest, SlicesThatLastLonger) {
  Watch({"slice re*t > 2ms", "slice other > 1ns"});
  Begin(1000, "request");
  Begin(1000, "inner");
  End(9000000);
  EXPECT_EQ(Look(), Lines());
  End(9001000);
  Begin(9002000, "request");
  // This one is exactly as long.
  End(11002000);
  EXPECT_EQ(Look(), Lines());
  EXPECT_EQ(Look(), (Lines{"9001000 slice re*t > 2ms: request took 9.0 ms"}));
  EXPECT_EQ(Look(), Lines());
}

TEST_F(RuleMatcherTest, SlicesThatGoOn) {
  Watch({"slice request > 2ms", "slice other > 1ns"});
  Begin(1000000, "request");
  Begin(1500000, "inner");
  EXPECT_EQ(Look(2000000), Lines());
  EXPECT_FALSE(matcher_->has_open());
  // The next look uses what is known in this one: then the events are there.
  EXPECT_EQ(Look(4000000), Lines());
  EXPECT_TRUE(matcher_->has_open());
  EXPECT_EQ(Look(9000000),
            (Lines{"4000000 slice request > 2ms: request has not ended after "
                   "3.0 ms"}));
  EXPECT_FALSE(matcher_->has_open());
  // It is reported once, however long it lasts.
  EXPECT_EQ(Look(9000000), Lines());
  End(9000000);
  End(9001000);
  EXPECT_EQ(Look(), Lines());
  EXPECT_EQ(Look(), Lines());
  // Without an answer of all programs, it is not known that a slice goes on.
  Begin(10000000, "request");
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(Look(), Lines());
  EXPECT_TRUE(matcher_->has_open());
  End(15000000);
  EXPECT_EQ(Look(16000000), Lines());
  EXPECT_EQ(Look(17000000),
            (Lines{"15000000 slice request > 2ms: request took 5.0 ms"}));
}

TEST_F(RuleMatcherTest, EventsOfAThreadThatCommitsLater) {
  Watch({"slice a > 1ns"});
  Begin(100, "a", 1);
  End(400, 1);
  EXPECT_EQ(Look(), Lines());
  End(300, 2);
  EXPECT_EQ(Look(), (Lines{"300 slice a > 1ns: a took 0.2 us"}));
}

TEST_F(RuleMatcherTest, Categories) {
  Watch({"category net.*", "category ap"});
  AddEvent(100, TrackEvent::TYPE_INSTANT, "now");
  EXPECT_EQ(Look(), (Lines{"100 category net.*: now"}));
  Begin(200, "slow");
  End(300);
  Look();
  EXPECT_EQ(Look(), (Lines{"300 category net.*: slow"}));
}

TEST_F(RuleMatcherTest, CountersThatRise) {
  Watch({"counter queue > 10", "counter q* > 20.5"});
  for (const uint64_t track : {uint64_t{7}, uint64_t{8}}) {
    Add([track](TracePacket* packet) {
      auto* const descriptor = packet->set_track_descriptor();
      descriptor->set_uuid(track);
      descriptor->set_name(track == 7 ? "queue" : "other");
      descriptor->set_counter();
    });
  }
  AddValue(1, 8, 100);
  AddValue(1, 9, 100);  // Nothing describes this track.
  AddValue(2, 7, 10);
  EXPECT_EQ(Look(), Lines());
  AddValue(3, 7, 11.5);
  AddValue(4, 7, 12);
  AddValue(5, 7, 21);
  EXPECT_EQ(Look(), (Lines{"3 counter queue > 10: queue is 11.5",
                           "5 counter q* > 20.5: queue is 21"}));
  AddValue(6, 7, 11);
  AddValue(7, 7, 3);
  AddValue(8, 7, 11);
  EXPECT_EQ(Look(), (Lines{"8 counter queue > 10: queue is 11"}));
}

TEST_F(RuleMatcherTest, TasksThatLastLonger) {
  LocalTrace::Options options;
  options.sink = [this](const uint8_t* data, size_t size) {
    packets_.append(reinterpret_cast<const char*>(data), size);
    return true;
  };
  {
    LocalTrace trace(std::move(options));
    // They end on another thread, by themselves and without a run.
    const Task worker = Task::Spawn(PROTOZERO_TASK_SITE("worker"), "number 1");
    const Task closed = Task::Spawn(PROTOZERO_TASK_SITE("worker"));
    const Task other = Task::Spawn(PROTOZERO_TASK_SITE("other"));
    std::thread([&] {
      SwitchTask(worker);
      usleep(3000);
      SwitchTask(other, TaskResult::kDone);
      closed.End(TaskResult::kDestroyed);
      SwitchTask(Task(), TaskResult::kDone);
    }).join();
    Task::Spawn(PROTOZERO_TASK_SITE("worker")).End(TaskResult::kDone);
    ASSERT_TRUE(trace.Stop());
  }
  Watch({"task worker > 2ms", "task worker > 1h", "task number* > 1h",
         "task oth > 1ns"});
  EXPECT_EQ(Look(), Lines());
  EXPECT_EQ(Look(), Lines());
  const Lines lines = Look();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find(" task worker > 2ms: number 1 took "),
            std::string::npos);
  EXPECT_NE(lines[1].find(" task worker > 2ms: worker took "),
            std::string::npos);
}

TEST_F(RuleMatcherTest, TasksThatGoOn) {
  Watch({"task worker > 1us"});
  DescribeTasks();
  BeginTasks(false);
  RunTask(1000);
  EXPECT_EQ(Look(1500), Lines());
  EXPECT_EQ(Look(5000), Lines());
  EXPECT_EQ(Look(6000), Lines());
  EXPECT_TRUE(matcher_->has_open());
  EXPECT_EQ(Look(7000), (Lines{"5000 task worker > 1us: worker has not ended "
                               "after 4.0 us"}));
  EXPECT_FALSE(matcher_->has_open());
  EndRunningTask(9000);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(Look(9500), Lines());
}

TEST_F(RuleMatcherTest, ATaskThatRunsWhenStepsAreLostIsNotTakenForTheNextOne) {
  // Behind the loss, the thread may run another task, which is not known.
  for (const bool is_lossy : {false, true}) {
    Watch({"task worker > 1ns"});
    DescribeTasks();
    BeginTasks(false);
    RunTask(100);
    if (is_lossy)
      BeginTasks(true);
    EndRunningTask(500);
    Lines lines = Look();
    for (int i = 0; i < 2; ++i) {
      const Lines more = Look();
      lines.insert(lines.end(), more.begin(), more.end());
    }
    EXPECT_EQ(lines,
              is_lossy ? Lines()
                       : (Lines{"500 task worker > 1ns: worker took 0.4 us"}));
  }
}

}  // namespace
