// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests which task a thread runs: for the program, and in the trace.

#include <stddef.h>
#include <stdint.h>

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/task.h"
#include "test/tracing/track_event/trace_reader.h"

namespace {

using protozero::LocalTrace;
using protozero::SwitchTask;
using protozero::Task;
using protozero::TaskResult;
using protozero::trace::InternedData;
using protozero::trace::Trace;
using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;

// A session whose trace is kept in memory.
class Session {
 public:
  explicit Session(LocalTrace::Options options = {}) {
    options.sink = [this](const uint8_t* data, size_t size) {
      bytes_.append(reinterpret_cast<const char*>(data), size);
      return true;
    };
    trace_ = std::make_unique<LocalTrace>(std::move(options));
    EXPECT_EQ(trace_->error(), "");
  }
  const std::string& Finish() {
    EXPECT_TRUE(trace_->Stop()) << trace_->error();
    EXPECT_EQ(Read(bytes_).errors, std::vector<std::string>());
    return bytes_;
  }

 private:
  std::string bytes_;
  std::unique_ptr<LocalTrace> trace_;
};

TEST(TaskSwitchesTest, RunningTaskIsTheOneSwitchedTo) {
  Session session;
  const Task a = Task::Spawn(PROTOZERO_TASK_SITE("a"));
  const Task b = Task::Spawn(PROTOZERO_TASK_SITE("b"));
  // The second round finds all tasks known.
  for (int i = 0; i < 2; ++i) {
    for (const Task task : {a, Task(), b, a, Task(), Task(), b}) {
      SwitchTask(task);
      EXPECT_EQ(Task::Running(), task);
      SwitchTask(Task(), PROTOZERO_TASK_SITE("waits"));
      EXPECT_EQ(Task::Running(), Task());
      SwitchTask(task, TaskResult::kDone);
      EXPECT_EQ(Task::Running(), task);
    }
  }
  session.Finish();
}

TEST(TaskSwitchesTest, RunningTaskIsKnownWhileStepsAreLost) {
  LocalTrace::Options options;
  options.shared_memory_size = 32 << 10;
  Session session(std::move(options));
  const Task tasks[] = {Task::Spawn(PROTOZERO_TASK_SITE("a")), Task(),
                        Task::Spawn(PROTOZERO_TASK_SITE("b"))};
  bool is_right = true;
  for (size_t i = 0; i < 100'000; ++i) {
    const Task task = tasks[i % std::size(tasks)];
    SwitchTask(task);
    is_right = is_right && Task::Running() == task;
  }
  EXPECT_TRUE(is_right);
  session.Finish();
}

// The switches of a trace of one thread.
struct ReadSwitches {
  // The tasks' numbers, and 0 for none.
  std::vector<uint64_t> tasks;
  std::vector<std::string> names;
  size_t num_packets = 0;
};

ReadSwitches ReadAllSwitches(const std::string& bytes) {
  ReadSwitches read;
  std::map<uint64_t, uint64_t> tasks;
  std::map<uint64_t, std::string> names;
  const Trace::Decoder trace(bytes);
  for (const protozero::ConstBytes packet_bytes : trace.packet()) {
    const TracePacket::Decoder packet(packet_bytes);
    if (packet.sequence_flags() & TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) {
      tasks.clear();
      names.clear();
    }
    ++read.num_packets;
    const InternedData::Decoder data(packet.interned_data());
    for (const protozero::ConstBytes name_bytes : data.event_names()) {
      const protozero::trace::EventName::Decoder name(name_bytes);
      names[name.iid()] = name.name().ToStdString();
    }
    for (const protozero::ConstBytes run_bytes : data.task_runs()) {
      const protozero::trace::TaskRun::Decoder run(run_bytes);
      tasks[run.iid()] = run.task();
      EXPECT_NE(run.site_iid(), 0u);
    }
    const TrackEvent::Decoder event(packet.track_event());
    if (event.type() != TrackEvent::TYPE_STATE)
      continue;
    read.tasks.push_back(event.has_name_iid() ? tasks.at(event.name_iid()) : 0);
    read.names.push_back(names[event.name_iid()]);
  }
  return read;
}

uint64_t NumberInTrace(Task task) {
  return task.number() & ((uint64_t{1} << 52) - 1);
}

// The first switch to a task takes one packet, whichever way it is written:
// with a name of any size, at the end of a chunk, and when ids are long.
TEST(TaskSwitchesTest, FirstSwitchIsOnePacketThatSaysTheTask) {
  static constexpr char kName[] =
      "0123456789012345678901234567890123456789012345678901234567890123456789"
      "0123456789012345678901234567890123456789012345678901234567890123456789";
  static protozero::TaskSite sites[] = {{kName + sizeof(kName) - 1, "f", 1},
                                        {kName + sizeof(kName) - 5, "f", 2},
                                        {kName + sizeof(kName) - 30, "f", 3},
                                        {kName + sizeof(kName) - 40, "f", 4},
                                        {kName + sizeof(kName) - 60, "f", 5},
                                        {kName, "f", 6}};
  constexpr size_t kTasks = 30'000;
  Session session;
  std::vector<uint64_t> tasks;
  std::vector<std::string> names;
  for (size_t i = 0; i < kTasks; ++i) {
    protozero::TaskSite& site = sites[i % std::size(sites)];
    const Task task = Task::SpawnFrom(Task(), site);
    switch (i / std::size(sites) % 3) {
      case 0:
        SwitchTask(task);
        break;
      case 1:
        SwitchTask(task, PROTOZERO_TASK_SITE("waits"));
        break;
      case 2:
        SwitchTask(task, TaskResult::kFailed);
        break;
    }
    tasks.push_back(NumberInTrace(task));
    names.push_back(site.name);
  }
  const ReadSwitches read = ReadAllSwitches(session.Finish());
  // A sequence that starts over repeats the task that is running.
  size_t next = 0;
  for (size_t i = 0; i < read.tasks.size(); ++i) {
    if (next < kTasks && read.tasks[i] == tasks[next]) {
      EXPECT_EQ(read.names[i], names[next]);
      ++next;
    } else {
      ASSERT_GT(next, 0u);
      EXPECT_EQ(read.tasks[i], tasks[next - 1]);
    }
  }
  EXPECT_EQ(next, kTasks);
  EXPECT_LT(read.num_packets, 2 * kTasks + kTasks / 10);
}

}  // namespace
