// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests the packets that steps of tasks are. The tests of TraceReader test what
// a reader makes of them.

#include "protozero/tracing/task.h"

#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/proto_decoder.h"
#include "protozero/proto_utils.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/trace_parent.h"
#include "src/pztrace/events/timeline_reader.h"
#include "test/testing/allocation_monitor.h"
#include "test/tracing/track_event/trace_reader.h"

namespace {

using protozero::AsyncSlice;
using protozero::LocalTrace;
using protozero::SwitchTask;
using protozero::Task;
using protozero::TaskResult;
using protozero::TaskScope;
using protozero::TraceParent;
namespace trace = protozero::trace;

// A packet of a sequence of tasks: its size, and what it says.
struct Step {
  size_t size = 0;
  uint32_t sequence = 0;
  // "run NAME", "run" for no task, or the name of another step; then the fields
  // of the TaskEvent.
  std::string text;
  // The bytes of the timestamp's value.
  size_t time_size = 0;
};

std::string TextOf(const trace::TaskEvent::Decoder& task,
                   const std::map<uint64_t, std::string>& sites) {
  std::string text;
  const auto add = [&](const char* name, bool has, const std::string& value) {
    if (has)
      text += std::string(" ") + name + "=" + value;
  };
  const auto site = [&](uint64_t iid) {
    const auto it = sites.find(iid);
    return it != sites.end() ? it->second : "unknown";
  };
  add("waits", task.has_wait_site_iid(), site(task.wait_site_iid()));
  add("result", task.has_result(), std::to_string(task.result()));
  add("spawned", task.has_spawned(), std::to_string(task.spawned()));
  add("site", task.has_site_iid(), site(task.site_iid()));
  add("name", task.has_name(), task.name().ToStdString());
  add("parent", task.has_parent(), std::to_string(task.parent()));
  add("woken", task.has_woken(), std::to_string(task.woken()));
  add("ended", task.has_ended(), std::to_string(task.ended()));
  add("request", task.has_request(), task.request().ToStdString());
  return text;
}

// Returns the steps of all threads. A viewer without tasks must understand
// them, too.
std::vector<Step> StepsOf(const std::string& bytes) {
  EXPECT_EQ(Read(bytes).errors, std::vector<std::string>());
  std::vector<Step> steps;
  std::map<uint32_t, std::map<uint64_t, std::string>> names, sites;
  std::map<uint32_t, std::map<uint64_t, uint64_t>> runs;
  protozero::ProtoDecoder decoder(bytes);
  for (auto field = decoder.ReadField(); field.valid();
       field = decoder.ReadField()) {
    const trace::TracePacket::Decoder packet(field.as_bytes());
    const uint32_t id = packet.trusted_packet_sequence_id();
    if (packet.sequence_flags() &
        trace::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) {
      names[id].clear();
      sites[id].clear();
      runs[id].clear();
    }
    const trace::InternedData::Decoder data(packet.interned_data());
    for (auto it = data.event_names(); it; ++it) {
      const trace::EventName::Decoder name(it->as_bytes());
      names[id][name.iid()] = name.name().ToStdString();
    }
    for (auto it = data.task_sites(); it; ++it) {
      const trace::TaskSite::Decoder site(it->as_bytes());
      EXPECT_TRUE(
          sites[id].emplace(site.iid(), site.name().ToStdString()).second)
          << "said twice";
      EXPECT_NE(site.file().ToStdString().find("task_unittest.cc"),
                std::string::npos);
      EXPECT_GT(site.line(), 0u);
    }
    for (auto it = data.task_runs(); it; ++it) {
      const trace::TaskRun::Decoder run(it->as_bytes());
      runs[id][run.iid()] = run.task();
    }
    if (!packet.has_track_event())
      continue;
    const trace::TrackEvent::Decoder event(packet.track_event());
    Step step;
    step.size = field.as_bytes().size;
    step.time_size = protozero::proto_utils::VarIntSize(packet.timestamp());
    step.sequence = id;
    const bool is_switch = event.type() == trace::TrackEvent::TYPE_STATE;
    if (!is_switch && !event.has_task())
      continue;
    EXPECT_EQ(event.has_track_uuid(), !is_switch);
    if (is_switch) {
      step.text = "run";
      if (event.has_name_iid()) {
        EXPECT_NE(runs[id][event.name_iid()], 0u);
        step.text += " " + names[id][event.name_iid()];
      }
    } else {
      step.text = names[id][event.name_iid()];
    }
    step.text += TextOf(trace::TaskEvent::Decoder(event.task()), sites[id]);
    steps.push_back(step);
  }
  return steps;
}

std::vector<std::string> TextsOf(const std::vector<Step>& steps) {
  std::vector<std::string> texts;
  for (const Step& step : steps)
    texts.push_back(step.text);
  return texts;
}

std::string NumberOf(Task task) {
  return std::to_string(task.number() & ((uint64_t{1} << 52) - 1));
}

class TaskTest : public testing::Test {
 protected:
  void Start(std::string categories = {}) {
    LocalTrace::Options options;
    options.categories = std::move(categories);
    options.sink = [this](const uint8_t* data, size_t size) {
      bytes_.append(reinterpret_cast<const char*>(data), size);
      return true;
    };
    options.exhausted_policy = protozero::BufferExhaustedPolicy::kStall;
    trace_ = std::make_unique<LocalTrace>(std::move(options));
  }
  std::vector<Step> Stop() {
    EXPECT_TRUE(trace_->Stop()) << trace_->error();
    trace_.reset();
    return StepsOf(std::exchange(bytes_, std::string()));
  }

  std::string bytes_;
  std::unique_ptr<LocalTrace> trace_;
};

TEST_F(TaskTest, AllStepsOfALife) {
  Start();
  const Task reader = Task::SpawnFrom(Task(), PROTOZERO_TASK_SITE("reader"));
  SwitchTask(reader);
  protozero::SetTaskRequest("r-17");
  const Task child = Task::Spawn(PROTOZERO_TASK_SITE("child"), "child 1");
  child.Wake();
  SwitchTask(child, PROTOZERO_TASK_SITE("child's answer"));
  SwitchTask(reader, TaskResult::kFailed);
  SwitchTask(Task());
  reader.End(TaskResult::kDestroyed);
  const Task read = Task::SpawnWaiting(PROTOZERO_TASK_SITE("read"));
  EXPECT_EQ(TextsOf(Stop()),
            (std::vector<std::string>{
                "spawn spawned=" + NumberOf(reader) + " site=reader parent=0",
                "run reader", "request request=r-17",
                "spawn spawned=" + NumberOf(child) + " site=child name=child 1",
                "wake woken=" + NumberOf(child),
                "run child waits=child's answer", "run reader result=2", "run",
                "end result=4 ended=" + NumberOf(reader),
                "spawn waits=read spawned=" + NumberOf(read) + " site=read"}));
}

TEST_F(TaskTest, ASwitchIsOnePacketOfTenBytes) {
  Start();
  const Task a = Task::Spawn(PROTOZERO_TASK_SITE("a"));
  const Task b = Task::Spawn(PROTOZERO_TASK_SITE("b"));
  constexpr int kSwitches = 20000;
  for (int i = 0; i < kSwitches; ++i)
    SwitchTask(i % 2 == 0 ? a : b);
  const std::vector<Step> steps = Stop();
  size_t num_switches = 0, num_small = 0;
  for (const Step& step : steps) {
    if (step.text.rfind("run ", 0) != 0)
      continue;
    ++num_switches;
    // The service adds trusted_uid and trusted_packet_sequence_id. A slow
    // machine takes one byte more for the time.
    num_small += step.size <= 12 + 4;
  }
  // A sequence that starts over says again which task runs.
  EXPECT_GE(num_switches, size_t{kSwitches});
  EXPECT_LT(num_switches, size_t{kSwitches} + 100);
  EXPECT_GT(num_small, num_switches - 300);
}

// docs/wire-format.md and docs/tasks.md have these sizes.
TEST_F(TaskTest, SizesOfSwitchesInAFile) {
  Start();
  const Task a = Task::Spawn(PROTOZERO_TASK_SITE("a"));
  const Task b = Task::Spawn(PROTOZERO_TASK_SITE("b"));
  for (int i = 0; i < 1000; ++i) {
    SwitchTask(a);
    SwitchTask(b);
    SwitchTask(a, PROTOZERO_TASK_SITE("place"));
    SwitchTask(b, TaskResult::kDone);
    SwitchTask(Task());
  }
  // The smallest of each kind, with one byte for the time: a slow machine takes
  // more.
  std::map<std::string, size_t> sizes;
  for (const Step& step : Stop()) {
    const size_t end = step.text.find_first_of("=");
    size_t& size =
        sizes.emplace(step.text.substr(0, end), SIZE_MAX).first->second;
    // With the tag and the size of the packet.
    size = std::min(size, step.size + 3 - step.time_size);
  }
  EXPECT_EQ(sizes["run a"], 16u);
  EXPECT_EQ(sizes["run b"], 16u);
  EXPECT_EQ(sizes["run"], 14u);
  EXPECT_EQ(sizes["run a waits"], 22u);
  EXPECT_EQ(sizes["run b result"], 22u);
}

TEST_F(TaskTest, NothingIsWrittenToSessionsThatDoNotWantTasks) {
  Start("te");
  const Task task = Task::Spawn(PROTOZERO_TASK_SITE("unwanted"));
  SwitchTask(task);
  EXPECT_EQ(Task::Running(), Task());
  task.Wake();
  PROTOZERO_TRACE_EVENT_INSTANT("te", "wanted");
  EXPECT_EQ(TextsOf(Stop()), std::vector<std::string>());
}

TEST_F(TaskTest, TasksThatAreOlderThanTheSessionHaveNames) {
  const Task task = Task::Spawn(PROTOZERO_TASK_SITE("old"));
  EXPECT_TRUE(task);
  SwitchTask(task);
  Start();
  EXPECT_EQ(Task::Running(), Task());
  SwitchTask(task);
  EXPECT_EQ(Task::Running(), task);
  Stop();
  // It is unknown what the thread does now.
  EXPECT_EQ(Task::Running(), Task());
  Start();
  {
    const TaskScope scope(task);
  }
  EXPECT_EQ(TextsOf(Stop()), (std::vector<std::string>{"run old", "run"}));
}

TEST_F(TaskTest, ASessionInTheMiddleKnowsWhichTaskRuns) {
  Start();
  const Task task = Task::Spawn(PROTOZERO_TASK_SITE("long"));
  SwitchTask(task);
  std::string bytes;
  {
    LocalTrace::Options options;
    options.sink = [&](const uint8_t* data, size_t size) {
      bytes.append(reinterpret_cast<const char*>(data), size);
      return true;
    };
    LocalTrace second(std::move(options));
    task.Wake();
  }
  EXPECT_EQ(
      TextsOf(StepsOf(bytes)),
      (std::vector<std::string>{"run long", "wake woken=" + NumberOf(task)}));
  Stop();
}

TEST_F(TaskTest, ScopesGoBackToTheTaskBefore) {
  Start();
  const Task outer = Task::Spawn(PROTOZERO_TASK_SITE("outer"));
  const Task inner = Task::Spawn(PROTOZERO_TASK_SITE("inner"));
  {
    TaskScope scope(outer);
    {
      TaskScope nested(inner);
      EXPECT_EQ(Task::Running(), inner);
      nested.Ends(TaskResult::kCancelled);
    }
    EXPECT_EQ(Task::Running(), outer);
    scope.WaitsAt(PROTOZERO_TASK_SITE("input"));
  }
  EXPECT_EQ(Task::Running(), Task());
  std::vector<std::string> texts = TextsOf(Stop());
  texts.erase(texts.begin(), texts.begin() + 2);
  EXPECT_EQ(texts, (std::vector<std::string>{"run outer", "run inner",
                                             "run outer result=3",
                                             "run waits=input"}));
}

TEST_F(TaskTest, NumbersAreUniqueInTheProcess) {
  constexpr int kThreads = 8;
  constexpr size_t kTasks = 10000;
  std::vector<uint64_t> numbers[kThreads];
  std::vector<std::thread> threads;
  for (auto& of_thread : numbers) {
    threads.emplace_back([&of_thread] {
      for (size_t i = 0; i < kTasks; ++i) {
        of_thread.push_back(Task::Spawn(PROTOZERO_TASK_SITE("many")).number());
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  std::set<uint64_t> all;
  for (const auto& of_thread : numbers)
    all.insert(of_thread.begin(), of_thread.end());
  EXPECT_EQ(all.size(), kThreads * kTasks);
  EXPECT_EQ(all.count(0), 0u);
}

TEST_F(TaskTest, SwitchesAllocateNothing) {
  Start();
  std::vector<Task> tasks;
  for (int i = 0; i < 300; ++i)
    tasks.push_back(Task::Spawn(PROTOZERO_TASK_SITE("pooled")));
  SwitchTask(tasks[0]);
  const protozero::test::AllocationCounter counter;
  for (int round = 0; round < 20; ++round) {
    for (const Task task : tasks) {
      SwitchTask(task, PROTOZERO_TASK_SITE("turn"));
      task.Wake();
      Task::Spawn(PROTOZERO_TASK_SITE("leaf")).End(TaskResult::kDone);
    }
  }
  EXPECT_EQ(counter.count(), 0u);
  Stop();
}

std::atomic<int> g_num_handled{0};
std::atomic<uint64_t> g_task{0};

// A step within the writing of another one is lost, and leaves that one whole.
TEST_F(TaskTest, ASignalHandlerMayTakeSteps) {
  Start();
  const Task task = Task::Spawn(PROTOZERO_TASK_SITE("handled"));
  SwitchTask(task);
  g_task = task.number();
  g_num_handled = 0;
  signal(SIGALRM, [](int) {
    ++g_num_handled;
    Task::FromNumber(g_task).Wake();
  });
  itimerval timer = {};
  timer.it_interval.tv_usec = timer.it_value.tv_usec = 200;
  setitimer(ITIMER_REAL, &timer, nullptr);
  size_t num_switches = 0;
  while (g_num_handled < 100) {
    SwitchTask(task, PROTOZERO_TASK_SITE("signal"));
    ++num_switches;
  }
  timer = {};
  setitimer(ITIMER_REAL, &timer, nullptr);
  signal(SIGALRM, SIG_DFL);
  size_t num_waits = 0, num_wakes = 0;
  for (const std::string& text : TextsOf(Stop())) {
    num_waits += text == "run handled waits=signal";
    num_wakes += text.rfind("wake ", 0) == 0;
  }
  EXPECT_EQ(num_waits, num_switches);
  EXPECT_GT(num_wakes, 0u);
  EXPECT_LE(num_wakes, static_cast<size_t>(g_num_handled));
}

TEST(TraceParentTest, IsParsedAndPrinted) {
  constexpr std::string_view kText =
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const auto parent = TraceParent::Parse(kText);
  ASSERT_TRUE(parent.has_value());
  EXPECT_EQ(parent->Text().view(), kText);
  EXPECT_EQ(parent->TraceId().view(), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_TRUE(parent->is_sampled());
  EXPECT_EQ(parent->WithParent(0x0102030405060708).Text().view(),
            "00-0af7651916cd43dd8448eb211c80319c-0102030405060708-01");
  // A later version may have more flags and more fields.
  const auto later = TraceParent::Parse(
      "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-fe-more");
  ASSERT_TRUE(later.has_value());
  EXPECT_EQ(later->Text().view(),
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00");
}

TEST(TraceParentTest, AnythingElseIsNone) {
  const std::string text =
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(TraceParent::Parse(text.substr(0, size))) << size;
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char letter : {'A', 'F', 'g', ' ', '_', '\0', '\xff'}) {
      std::string wrong = text;
      wrong[i] = letter;
      EXPECT_FALSE(TraceParent::Parse(wrong)) << wrong;
    }
  }
  for (const char* wrong :
       {"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
        "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x"}) {
    EXPECT_FALSE(TraceParent::Parse(wrong)) << wrong;
  }
}

struct SliceOfTask {
  std::string name;
  std::string args;
  uint64_t track;
  bool is_finished;
};

std::vector<SliceOfTask> SlicesOf(const std::string& bytes) {
  std::vector<SliceOfTask> slices;
  const pztrace::TimelineReader* reading = nullptr;
  pztrace::TimelineReader::Callbacks callbacks;
  callbacks.reads_details = true;
  callbacks.on_slice = [&](const pztrace::Slice& slice) {
    std::string args;
    reading->AppendArgs(*slice.details, &args);
    slices.push_back({slice.text->name, args, slice.track, true});
  };
  pztrace::TimelineReader reader(std::move(callbacks));
  reading = &reader;
  EXPECT_TRUE(reader.Read(
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
  reader.Finish();
  EXPECT_EQ(reader.unfinished(), 0u);
  EXPECT_EQ(reader.unbegun(), 0u);
  return slices;
}

class AsyncSliceTest : public TaskTest {
 protected:
  std::vector<SliceOfTask> StopAndReadSlices() {
    EXPECT_TRUE(trace_->Stop()) << trace_->error();
    trace_.reset();
    EXPECT_EQ(Read(bytes_).errors, std::vector<std::string>());
    return SlicesOf(bytes_);
  }
};

TEST_F(AsyncSliceTest, EndsOnAnotherThreadAndOutOfOrder) {
  static_assert(sizeof(AsyncSlice) == 16, "as promised");
  Start();
  AsyncSlice a = PROTOZERO_TRACE_ASYNC_SLICE("te", "a", "n", 1);
  AsyncSlice b = PROTOZERO_TRACE_ASYNC_SLICE("te", "b");
  std::thread([moved = std::move(a)]() mutable {
    AsyncSlice last = std::move(moved);
    moved.End();  // Nothing.
  }).join();
  b = PROTOZERO_TRACE_ASYNC_SLICE("te", protozero::DynamicString("c"));
  b.End();
  b.End();
  const std::vector<SliceOfTask> slices = StopAndReadSlices();
  ASSERT_EQ(slices.size(), 3u);
  std::set<uint64_t> tracks;
  std::set<std::string> names;
  for (const SliceOfTask& slice : slices) {
    tracks.insert(slice.track);
    names.insert(slice.name + slice.args);
  }
  EXPECT_EQ(tracks.size(), 3u);
  EXPECT_EQ(names, (std::set<std::string>{"a\"n\":1", "b", "c"}));
}

TEST_F(AsyncSliceTest, IsNothingWhileNoSessionWantsIt) {
  int evaluated = 0;
  {
    AsyncSlice slice =
        PROTOZERO_TRACE_ASYNC_SLICE("te", "off", "n", ++evaluated);
    Start();
  }
  EXPECT_EQ(evaluated, 0);
  EXPECT_EQ(StopAndReadSlices().size(), 0u);
}

TEST_F(AsyncSliceTest, ASessionThatHasNotItsBeginningGetsNoEnd) {
  Start("other");
  {
    LocalTrace::Options options;
    options.sink = [](const uint8_t*, size_t) { return true; };
    options.categories = "te";
    const LocalTrace second(std::move(options));
    AsyncSlice slice = PROTOZERO_TRACE_ASYNC_SLICE("te", "a");
  }
  EXPECT_EQ(StopAndReadSlices().size(), 0u);
  EXPECT_EQ(Read(bytes_).events.size(), 0u);
}

}  // namespace
