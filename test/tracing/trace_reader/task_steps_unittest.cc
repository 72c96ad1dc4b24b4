// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Takes steps of tasks, and expects the same steps from the reader.

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/proto_decoder.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/trace_reader.h"

namespace {

using protozero::BufferExhaustedPolicy;
using protozero::LocalTrace;
using protozero::SwitchTask;
using protozero::Task;
using protozero::TaskPlace;
using protozero::TaskResult;
using protozero::TaskStep;
using protozero::TraceReader;

uint64_t NumberOf(Task task) {
  return task.number() & ((uint64_t{1} << 52) - 1);
}

std::string PlaceText(const TaskPlace* place) {
  if (place == nullptr)
    return "unknown";
  const std::string file = "task_steps_unittest.cc";
  EXPECT_EQ(place->file.substr(place->file.size() - file.size()), file);
  EXPECT_GT(place->line, 0u);
  return place->name;
}

// The steps that were read, as lines of text, by thread.
struct ReadSteps {
  std::map<uint64_t, std::vector<std::string>> threads;
  std::vector<std::string> rows;  // The slices on rows of tasks.
  size_t num_clears = 0;          // The beginnings of sequences.
};

class TaskStepsTest : public testing::Test {
 protected:
  using Lines = std::vector<std::string>;

  std::unique_ptr<LocalTrace> Record(std::string* bytes) {
    LocalTrace::Options options;
    options.sink = [bytes](const uint8_t* data, size_t size) {
      bytes->append(reinterpret_cast<const char*>(data), size);
      return true;
    };
    options.exhausted_policy = BufferExhaustedPolicy::kStall;
    return std::make_unique<LocalTrace>(std::move(options));
  }
  // Makes |name| stand for the task in lines.
  Task Named(Task task, std::string name) {
    names_[NumberOf(task)] = std::move(name);
    return task;
  }

  std::string LineOf(const TaskStep& step) {
    const std::string task = step.task == 0 ? "nothing" : names_[step.task];
    switch (step.kind) {
      case TaskStep::Kind::kSwitch: {
        std::string line = "run " + task;
        if (step.task != 0)
          line += " of " + PlaceText(step.spawned_at);
        if (step.stop == TaskStep::Stop::kWaits)
          line += ", waits at " + PlaceText(step.waits_at);
        else if (step.stop == TaskStep::Stop::kEnds)
          line += ", ends with " + std::to_string(step.result);
        return line;
      }
      case TaskStep::Kind::kSpawn: {
        std::string line =
            "spawn " + task + " of " + PlaceText(step.spawned_at);
        if (!step.text.empty())
          line += " named " + std::string(step.text);
        if (step.parent)
          line += " below " +
                  (*step.parent == 0 ? "nothing" : names_[*step.parent]);
        return line;
      }
      case TaskStep::Kind::kWake:
        return "wake " + task;
      case TaskStep::Kind::kEnd:
        return "end " + task + " with " + std::to_string(step.result);
      case TaskStep::Kind::kRequest:
        return "request " + std::string(step.text);
      case TaskStep::Kind::kLoss:
        return "loss";
    }
    return "";
  }

  ReadSteps Read(const std::string& bytes) {
    ReadSteps result;
    std::map<uint64_t, uint64_t> last_ns;
    TraceReader* reader_address = nullptr;
    TraceReader::Callbacks callbacks;
    callbacks.on_task_step = [&](const TaskStep& step) {
      EXPECT_GE(step.time_ns, last_ns[step.thread]);
      last_ns[step.thread] = step.time_ns;
      const auto thread = reader_address->tracks().Find(step.thread);
      EXPECT_TRUE(thread && thread->tid != 0 && thread->parent == step.process);
      result.threads[step.thread].push_back(LineOf(step));
    };
    callbacks.on_slice = [&](const protozero::Slice& slice) {
      if (reader_address->tracks().Find(slice.track)->name == "tasks")
        result.rows.push_back(slice.text->name);
    };
    TraceReader reader(std::move(callbacks));
    reader_address = &reader;
    EXPECT_TRUE(reader.Read(
        {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}));
    reader.Finish();
    protozero::ProtoDecoder decoder(bytes);
    for (auto field = decoder.ReadField(); field.valid();
         field = decoder.ReadField()) {
      const protozero::trace::TracePacket::Decoder packet(field.as_bytes());
      result.num_clears +=
          (packet.sequence_flags() &
           protozero::trace::TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) != 0;
    }
    return result;
  }
  // Returns the steps of a trace with one thread.
  Lines ReadOnly(const std::string& bytes) {
    const ReadSteps steps = Read(bytes);
    EXPECT_EQ(steps.threads.size(), 1u);
    return steps.threads.empty() ? Lines() : steps.threads.begin()->second;
  }

  std::map<uint64_t, std::string> names_;
};

TEST_F(TaskStepsTest, AllStepsOfALife) {
  std::string bytes;
  auto trace = Record(&bytes);
  const Task a =
      Named(Task::SpawnFrom(Task(), PROTOZERO_TASK_SITE("session")), "a");
  SwitchTask(a);
  protozero::SetTaskRequest("r-17");
  const Task b =
      Named(Task::Spawn(PROTOZERO_TASK_SITE("child"), "child 1"), "b");
  const Task c = Named(Task::SpawnFrom(b, PROTOZERO_TASK_SITE("leaf")), "c");
  b.Wake();
  SwitchTask(b, PROTOZERO_TASK_SITE("child's answer"));
  SwitchTask(a, TaskResult::kFailed);
  SwitchTask(a);
  SwitchTask(Task());
  SwitchTask(Task());
  a.End(TaskResult::kDestroyed);
  c.End(TaskResult::kCancelled);
  SwitchTask(a, PROTOZERO_TASK_SITE("nothing"));
  SwitchTask(Task(), TaskResult::kDone);
  ASSERT_TRUE(trace->Stop());
  const ReadSteps steps = Read(bytes);
  ASSERT_EQ(steps.threads.size(), 1u);
  EXPECT_EQ(steps.threads.begin()->second,
            (Lines{"spawn a of session below nothing", "run a of session",
                   "request r-17", "spawn b of child named child 1",
                   "spawn c of leaf below b", "wake b",
                   "run b of child, waits at child's answer",
                   "run a of session, ends with 2", "run a of session",
                   "run nothing", "run nothing", "end a with 4", "end c with 3",
                   "run a of session, waits at nothing",
                   "run nothing, ends with 1"}));
  // Viewers without tasks see slices.
  EXPECT_EQ(steps.rows,
            (Lines{"session", "child", "session", "session", "session"}));
}

TEST_F(TaskStepsTest, EachThreadHasItsSteps) {
  std::string bytes;
  auto trace = Record(&bytes);
  const Task task = Named(Task::Spawn(PROTOZERO_TASK_SITE("moving")), "a");
  std::thread([&] {
    SwitchTask(task);
    SwitchTask(Task(), PROTOZERO_TASK_SITE("move"));
  }).join();
  task.Wake();
  std::thread([&] {
    SwitchTask(task);
    // The thread ends while it runs the task.
  }).join();
  ASSERT_TRUE(trace->Stop());
  std::vector<Lines> threads;
  for (const auto& [uuid, lines] : Read(bytes).threads)
    threads.push_back(lines);
  std::sort(threads.begin(), threads.end());
  // The system may give both threads the same number.
  if (threads.size() == 2) {
    EXPECT_EQ(threads[0],
              (Lines{"run a of moving", "run nothing, waits at move", "loss",
                     "run a of moving"}));
  } else {
    ASSERT_EQ(threads.size(), 3u);
    EXPECT_EQ(threads[0], (Lines{"run a of moving"}));
    EXPECT_EQ(threads[1],
              (Lines{"run a of moving", "run nothing, waits at move"}));
  }
  EXPECT_EQ(threads.back(), (Lines{"spawn a of moving", "wake a"}));
}

TEST_F(TaskStepsTest, ASessionThatBeginsInTheMiddle) {
  std::string first, second;
  auto trace = Record(&first);
  const Task a = Named(Task::Spawn(PROTOZERO_TASK_SITE("long")), "a");
  SwitchTask(a);
  {
    auto inner = Record(&second);
    a.Wake();
    SwitchTask(Task(), PROTOZERO_TASK_SITE("more"));
  }
  SwitchTask(a);
  ASSERT_TRUE(trace->Stop());
  EXPECT_EQ(ReadOnly(second),
            (Lines{"run a of long", "wake a", "run nothing, waits at more"}));
  EXPECT_EQ(ReadOnly(first),
            (Lines{"spawn a of long", "run a of long", "wake a",
                   "run nothing, waits at more", "run a of long"}));
}

// A sequence that starts over says again which task runs.
TEST_F(TaskStepsTest, SequencesThatBeginAnewAreNotSeen) {
  std::string bytes;
  auto trace = Record(&bytes);
  Lines expected;
  std::vector<Task> tasks;
  for (int i = 0; i < 100; ++i) {
    const std::string name = std::to_string(i);
    tasks.push_back(
        Named(Task::Spawn(PROTOZERO_TASK_SITE("one of many")), name));
    expected.push_back("spawn " + name + " of one of many");
  }
  for (size_t i = 0; i < 60000; ++i) {
    const size_t number = i * i % tasks.size();
    const std::string run = "run " + std::to_string(number) + " of one of many";
    if (i % 3 == 0) {
      SwitchTask(tasks[number], PROTOZERO_TASK_SITE("turn"));
      expected.push_back(run + ", waits at turn");
    } else if (i % 3 == 1) {
      SwitchTask(tasks[number]);
      expected.push_back(run);
    } else {
      SwitchTask(Task());
      tasks[number].Wake();
      tasks[number].Wake();
      expected.push_back("run nothing");
      expected.insert(expected.end(), 2, "wake " + std::to_string(number));
    }
  }
  ASSERT_TRUE(trace->Stop());
  const ReadSteps steps = Read(bytes);
  EXPECT_GT(steps.num_clears, 5u);
  ASSERT_EQ(steps.threads.size(), 1u);
  const Lines& lines = steps.threads.begin()->second;
  ASSERT_EQ(lines.size(), expected.size());
  for (size_t i = 0; i < lines.size(); ++i)
    ASSERT_EQ(lines[i], expected[i]) << i;
}

TEST_F(TaskStepsTest, SeveralSessionsInOneFile) {
  std::string bytes;
  const Task a = Named(Task::Spawn(PROTOZERO_TASK_SITE("old")), "a");
  const Task b = Named(Task::Spawn(PROTOZERO_TASK_SITE("new")), "b");
  auto trace = Record(&bytes);
  SwitchTask(a);
  ASSERT_TRUE(trace->Stop());
  // This is not seen.
  SwitchTask(Task(), TaskResult::kDone);
  trace = Record(&bytes);
  SwitchTask(b);
  ASSERT_TRUE(trace->Stop());
  EXPECT_EQ(ReadOnly(bytes), (Lines{"run a of old", "loss", "run b of new"}));
}

}  // namespace
