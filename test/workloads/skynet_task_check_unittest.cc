// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/skynet_task_check.h"

#include <stdint.h>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace protozero::workloads {
namespace {

constexpr SkynetTree kTaskTree(100);

TaskStep Spawn(uint64_t task, uint64_t parent) {
  TaskStep step;
  step.kind = TaskStep::kSpawn;
  step.task = task;
  step.site = SkynetTaskCheck::kSite;
  step.other = parent;
  return step;
}
TaskStep RunOf(uint64_t task) {
  TaskStep step;
  step.kind = TaskStep::kSwitch;
  step.task = task;
  step.site = SkynetTaskCheck::kSite;
  return step;
}
TaskStep End(uint64_t task) {
  TaskStep step;
  step.kind = TaskStep::kSwitch;
  step.other = task;
  step.other_site = SkynetTaskCheck::kSite;
  step.has_result = true;
  return step;
}

// Returns the steps of a tree whose tasks have the numbers of its nodes.
std::vector<TaskStep> CompleteSteps() {
  std::vector<TaskStep> steps;
  for (uint64_t id = 0; id < kTaskTree.end_of_ids(); ++id) {
    if (kTaskTree.HasNode(id)) {
      // Ends may be read before the rest.
      steps.push_back(End(id));
      steps.push_back(Spawn(id, id / SkynetTree::kBranches));
      steps.push_back(RunOf(id));
      steps.push_back(RunOf(id));
    }
  }
  return steps;
}

std::string FindProblem(const std::vector<TaskStep>& steps) {
  const auto check = std::make_unique<SkynetTaskCheck>();
  for (const TaskStep& step : steps)
    check->Count(step);
  return check->FindProblem(kTaskTree);
}

TEST(SkynetTaskCheckTest, CompleteTraceIsRight) {
  const auto check = std::make_unique<SkynetTaskCheck>();
  for (const TaskStep& step : CompleteSteps())
    check->Count(step);
  EXPECT_EQ(check->FindProblem(kTaskTree), "");
  EXPECT_EQ(check->events(), 3 * kTaskTree.num_nodes());
  EXPECT_EQ(check->steps(), 4 * kTaskTree.num_nodes());
  EXPECT_NE(check->FindProblem(SkynetTree(10)), "");
  EXPECT_NE(check->FindProblem(SkynetTree(1000)), "");
}

TEST(SkynetTaskCheckTest, MissingStepIsNoticed) {
  for (const size_t i :
       std::vector<size_t>{0, 1, 4, 5, 40, 41, 437, 440, 441}) {
    std::vector<TaskStep> steps = CompleteSteps();
    steps.erase(steps.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_NE(FindProblem(steps), "") << i;
  }
}

TEST(SkynetTaskCheckTest, OtherStepIsNoticed) {
  const size_t num_steps = CompleteSteps().size();
  // A node has another parent, on its level and on others, or none.
  for (const uint64_t parent : std::vector<uint64_t>{11, 1, 100, 0, 5000}) {
    std::vector<TaskStep> steps = CompleteSteps();
    ASSERT_EQ(steps[num_steps - 3].kind, TaskStep::kSpawn);
    steps[num_steps - 3].other = parent;
    EXPECT_NE(FindProblem(steps), "") << parent;
  }
  // A step comes twice, or is of no task, or makes no sense.
  for (const TaskStep& step :
       {Spawn(100, 10), End(100), Spawn(300, 100), RunOf(301), End(302),
        RunOf(uint64_t{1} << 40), TaskStep()}) {
    std::vector<TaskStep> steps = CompleteSteps();
    steps.push_back(step);
    EXPECT_NE(FindProblem(steps), "");
  }
}

// The tasks of the loop that measures a switch are no nodes.
TEST(SkynetTaskCheckTest, OtherTasksAreNotCounted) {
  std::vector<TaskStep> steps = CompleteSteps();
  for (TaskStep step : {Spawn(300, 0), RunOf(300), End(300)}) {
    step.site = kLoopSite;
    step.other_site = kLoopSite;
    steps.push_back(step);
  }
  EXPECT_EQ(FindProblem(steps), "");
}

}  // namespace
}  // namespace protozero::workloads
