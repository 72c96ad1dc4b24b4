// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_MODEL_WEAK_EXPLORATION_H_
#define TEST_MODEL_WEAK_EXPLORATION_H_

#include <stddef.h>
#include <stdint.h>

#include <array>
#include <vector>

namespace protozero::weak {

// The threads of a scenario are numbered from 1. Thread 0 begins and ends it.
inline constexpr int kMaxThreads = 5;

// A step of a thread that others can tell from its not having happened.
struct Step {
  enum Kind : uint8_t { kNone, kLoad, kStore, kLock, kBarrier };
  Kind kind = kNone;
  bool is_sequentially_consistent = false;
  uintptr_t address = 0;
  size_t size = 0;
};

// Decides which thread takes the next step, and which of its possible results
// the step has, so that all executions are seen in the end.
//
// It is a depth-first search that runs the program again for each execution.
// Two steps are independent if their order makes no difference. Of executions
// that differ only in the order of independent steps, one is enough: dynamic
// partial-order reduction (Flanagan and Godefroid, 2005) with sleep sets.
class Exploration {
 public:
  // Begins the next execution.
  void BeginExecution();
  // Returns the next thread, which then takes the step that it has in
  // |pending|; -1 if other executions cover everything from here on.
  // |enabled| is a mask of threads and not 0; |current| is preferred.
  int PickThread(const std::array<Step, kMaxThreads>& pending,
                 uint32_t enabled,
                 int current);
  // Returns a number less than |count|, a different one in each execution.
  int PickResult(int count);
  // Ends the execution. |pending| has the steps of threads that wait. Returns
  // false if it was the last one.
  bool EndExecution(const std::array<Step, kMaxThreads>& pending);

 private:
  // A choice on the way to the current execution.
  struct Node {
    // For a choice of a result: their number, and which. Otherwise 0.
    int count = 0;
    int chosen = 0;
    // For a choice of a thread: masks of threads.
    uint32_t enabled = 0;
    uint32_t to_do = 0;
    uint32_t done = 0;
    uint32_t sleeping = 0;
  };
  struct Event {
    Step step;
    int thread;
    size_t node;
    // The number of events of each thread that this one depends on.
    std::array<uint32_t, kMaxThreads> before;
  };

  static bool AreDependent(const Step& a, const Step& b);
  // Has other orders of |step|, the next one of |thread|, explored as well.
  void AddAlternatives(const Step& step, int thread);

  std::vector<Node> path_;
  size_t position_ = 0;
  std::vector<Event> events_;
  std::array<std::array<uint32_t, kMaxThreads>, kMaxThreads> before_ = {};
  std::array<uint32_t, kMaxThreads> num_events_ = {};
  uint32_t sleeping_ = 0;
};

}  // namespace protozero::weak

#endif  // TEST_MODEL_WEAK_EXPLORATION_H_
