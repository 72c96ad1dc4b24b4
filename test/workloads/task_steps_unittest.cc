// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/task_steps.h"

#include <stddef.h>
#include <stdint.h>

#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "protozero/tracing/task.h"
#include "protozero/tracing/trace.h"
#include "test/workloads/recording.h"
#include "test/workloads/shared_value.h"

namespace protozero::workloads {
namespace {

// The steps that the service's process has read.
struct ReadSteps {
  static constexpr size_t kMaxSteps = 32;
  struct Step {
    TaskStep::Kind kind;
    uint64_t task;
    uint64_t other;
    bool has_result;
    bool has_new_ids;
    bool is_first_site;
    size_t bytes;
  };
  size_t count = 0;
  Step steps[kMaxSteps];
};

constexpr char kFirst[] = "first";
constexpr char kSecond[] = "second";

uint64_t NumberInTrace(Task task) {
  return task.number() & ((uint64_t{1} << 52) - 1);
}

TEST(TaskStepReaderTest, ReadsWhatWasWritten) {
  const SharedValue<ReadSteps> read;
  Recording::Options options;
  options.has_track_events = true;
  options.digest = [read = read.get(), reader = TaskStepReader()](
                       ConstBytes packet) mutable -> uint64_t {
    const TaskStep step = reader.Read(packet);
    if (read->count < ReadSteps::kMaxSteps) {
      read->steps[read->count++] = {
          step.kind,        step.task,           step.other, step.has_result,
          step.has_new_ids, step.site == kFirst, step.bytes};
    }
    return 0;
  };
  std::string problem;
  const auto recording = Recording::Start(options, &problem);
  ASSERT_NE(recording, nullptr) << problem;
  const Task first = Task::Spawn(PROTOZERO_TASK_SITE(kFirst));
  SwitchTask(first);
  const Task second = Task::Spawn(PROTOZERO_TASK_SITE(kSecond));
  const Task third = Task::SpawnFrom(Task(), PROTOZERO_TASK_SITE(kSecond));
  SwitchTask(second);
  SwitchTask(first);
  first.Wake();
  third.End(TaskResult::kDestroyed);
  SwitchTask(second, TaskResult::kDone);
  SwitchTask(Task());
  EXPECT_EQ(recording->Stop().problem, "");

  const uint64_t a = NumberInTrace(first);
  const uint64_t b = NumberInTrace(second);
  const uint64_t c = NumberInTrace(third);
  const struct {
    TaskStep::Kind kind;
    uint64_t task;
    uint64_t other;
  } expected[] = {
      {TaskStep::kSpawn, a, 0},  {TaskStep::kSwitch, a, 0},
      {TaskStep::kSpawn, b, a},  {TaskStep::kSpawn, c, 0},
      {TaskStep::kSwitch, b, a}, {TaskStep::kSwitch, a, b},
      {TaskStep::kWake, a, 0},   {TaskStep::kEnd, c, 0},
      {TaskStep::kSwitch, b, a}, {TaskStep::kSwitch, 0, b},
  };
  ASSERT_EQ(read.get()->count, std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    const ReadSteps::Step& step = read.get()->steps[i];
    EXPECT_EQ(step.kind, expected[i].kind) << i;
    EXPECT_EQ(step.task, expected[i].task) << i;
    EXPECT_EQ(step.other, expected[i].other) << i;
    EXPECT_EQ(step.has_result, i == 8) << i;
    EXPECT_EQ(step.has_new_ids, i < 5) << i;
    if (step.kind == TaskStep::kSpawn || step.kind == TaskStep::kSwitch)
      EXPECT_EQ(step.is_first_site, step.task == a) << i;
  }
  // The size in front, and the fields of src/tracing/track_event/tasks.cc.
  EXPECT_GE(read.get()->steps[5].bytes, 11u);
  EXPECT_LE(read.get()->steps[5].bytes, 13u);
}

TaskStep Switch(uint64_t task, size_t bytes, bool has_new_ids = false) {
  TaskStep step;
  step.kind = TaskStep::kSwitch;
  step.task = task;
  step.site = kFirst;
  step.bytes = bytes;
  step.has_new_ids = has_new_ids;
  return step;
}

TEST(TaskSwitchSumsTest, SwitchesAreCounted) {
  TaskSwitchSums sums;
  EXPECT_NE(sums.FindProblem(0), "");
  sums.Count(Switch(1, 50, /*has_new_ids=*/true), kFirst);
  sums.Count(Switch(2, 12), kFirst);
  sums.Count(Switch(0, 50), kFirst);
  TaskStep goes_on = Switch(2, 12);
  goes_on.kind = TaskStep::kGoesOn;
  sums.Count(goes_on, kFirst);
  sums.Count(Switch(1, 12), kSecond);
  EXPECT_EQ(sums.FindProblem(2), "");
  EXPECT_NE(sums.FindProblem(3), "");
  TaskSwitchSums large = sums;
  large.Count(Switch(1, 13), kFirst);
  EXPECT_NE(large.FindProblem(3), "");
  sums.Count(TaskStep(), kFirst);
  EXPECT_NE(sums.FindProblem(2), "");
}

TEST(MeasureTaskSwitchTest, TakesTime) {
  EXPECT_GT(MeasureTaskSwitch(2), 0);
}

}  // namespace
}  // namespace protozero::workloads
