// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests which task a thread runs: for the program, and in the trace.

#include <stddef.h>
#include <stdint.h>

#include <iterator>
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

}  // namespace
