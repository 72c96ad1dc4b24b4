// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_SKYNET_TASK_CHECK_H_
#define TEST_WORKLOADS_SKYNET_TASK_CHECK_H_

#include <stddef.h>
#include <stdint.h>

#include <string>

#include "test/workloads/skynet_tree.h"
#include "test/workloads/task_steps.h"

namespace protozero::workloads {

// The tasks of a trace of Skynet, whose nodes are tasks of the site "node".
// Takes all steps, and says then whether these tasks are the tree. REQUIRES:
// its memory was zero, as that of a SharedValue is.
class SkynetTaskCheck {
 public:
  static constexpr char kSite[] = "node";

  // Counts a step.
  void Count(const TaskStep& step);

  // Returns an empty string if each node was spawned once by its parent, ran,
  // and ended once, and if the tree has the right number of nodes on each
  // level.
  std::string FindProblem(const SkynetTree& tree) const;

  // The number of nodes that were spawned, that have run, and that have ended.
  uint64_t events() const { return spawned_ + ran_ + ended_; }
  uint64_t steps() const { return steps_; }
  uint64_t wakes() const { return wakes_; }
  // The switches of MeasureTaskSwitch().
  const TaskSwitchSums& loop_switches() const { return loop_switches_; }

 private:
  struct Node {
    uint32_t parent;
    bool is_spawned;
    bool has_run;
    bool has_ended;
  };
  // A task has a number below this: threads take blocks of numbers.
  static constexpr size_t kMaxTasks = size_t{1} << 21;
  static_assert(kMillionFibers.num_nodes() < kMaxTasks / 3 * 2);
  // The largest number of levels of a tree.
  static constexpr size_t kMaxLevels = 7;

  // Returns the level of a node, from 0 for the root; kMaxLevels if its
  // ancestors are not in the trace.
  size_t LevelOf(size_t task) const;

  uint64_t steps_ = 0;
  uint64_t wakes_ = 0;
  uint64_t spawned_ = 0;
  uint64_t ran_ = 0;
  uint64_t ended_ = 0;
  uint64_t wrong_ = 0;
  TaskSwitchSums loop_switches_;
  // The index is the task's number. Zero by those who make this object.
  Node nodes_[kMaxTasks];
};

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_SKYNET_TASK_CHECK_H_
