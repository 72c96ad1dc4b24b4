// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/skynet_task_check.h"

#include <vector>

namespace protozero::workloads {

void SkynetTaskCheck::Count(const TaskStep& step) {
  ++steps_;
  loop_switches_.Count(step, kLoopSite);
  if (step.kind == TaskStep::kWake)
    ++wakes_;
  if (step.kind == TaskStep::kWrong || step.task >= kMaxTasks ||
      step.other >= kMaxTasks) {
    ++wrong_;
    return;
  }
  Node& node = nodes_[step.task];
  if (step.kind == TaskStep::kSpawn && step.site == kSite) {
    wrong_ += node.is_spawned;
    node.is_spawned = true;
    node.parent = static_cast<uint32_t>(step.other);
    ++spawned_;
  } else if (step.kind == TaskStep::kSwitch) {
    if (step.site == kSite && !node.has_run) {
      node.has_run = true;
      ++ran_;
    }
    if (step.has_result && step.other_site == kSite) {
      wrong_ += nodes_[step.other].has_ended;
      nodes_[step.other].has_ended = true;
      ++ended_;
    }
  }
}

size_t SkynetTaskCheck::LevelOf(size_t task) const {
  size_t level = 0;
  for (size_t parent = nodes_[task].parent; parent != 0;
       parent = nodes_[parent].parent) {
    if (++level >= kMaxLevels || !nodes_[parent].is_spawned)
      return kMaxLevels;
  }
  return level;
}

std::string SkynetTaskCheck::FindProblem(const SkynetTree& tree) const {
  if (wrong_ != 0)
    return std::to_string(wrong_) + " steps are wrong";
  std::vector<uint32_t> children(kMaxTasks);
  std::vector<uint64_t> levels(kMaxLevels + 1);
  for (size_t task = 1; task < kMaxTasks; ++task) {
    const Node& node = nodes_[task];
    if (node.is_spawned != node.has_run || node.has_run != node.has_ended)
      return "task " + std::to_string(task) + " has not lived its life";
    if (!node.is_spawned)
      continue;
    ++levels[LevelOf(task)];
    ++children[node.parent];
  }
  uint64_t expected = 1;
  for (const uint64_t nodes : levels) {
    if (nodes != expected)
      return std::to_string(nodes) + " nodes are on a level of the tree, not " +
             std::to_string(expected);
    expected =
        expected < tree.num_leaves() ? expected * SkynetTree::kBranches : 0;
  }
  for (size_t task = 1; task < kMaxTasks; ++task) {
    if (children[task] != 0 && children[task] != SkynetTree::kBranches)
      return "task " + std::to_string(task) + " has too few children";
  }
  return "";
}

}  // namespace protozero::workloads
