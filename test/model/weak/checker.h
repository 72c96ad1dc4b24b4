// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_MODEL_WEAK_CHECKER_H_
#define TEST_MODEL_WEAK_CHECKER_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

// Runs compiled C++ in every way that its memory model allows. README.md, one
// folder up, says how.

namespace protozero::weak {

// A small program: |begin| makes its objects, |num_threads| threads call
// |thread|, and |end| runs when all of them are done.
struct Scenario {
  const char* name;
  int num_threads;
  void* (*begin)();
  void (*thread)(void* state, int index);
  void (*end)(void* state);
  // An execution is left out in which a thread comes more often to the same
  // atomic operation on the same memory. It bounds loops that wait.
  int max_visits;
};

// Returns the scenario of a class with a function Run(int thread), counted from
// 0, and a function End().
template <typename T>
Scenario MakeScenario(const char* name, int num_threads, int max_visits = 4) {
  return {name,
          num_threads,
          [] { return static_cast<void*>(new T); },
          [](void* state, int index) { static_cast<T*>(state)->Run(index); },
          [](void* state) { static_cast<T*>(state)->End(); },
          max_visits};
}

// Functions for scenarios.

// Fails the scenario, with |text|, if |ok| is false.
void Check(bool ok, const char* text);
// Leaves out this execution if |ok| is false: it is of no interest, or a loop
// waits in it for something that has not happened yet.
void Assume(bool ok);
// Adds to the list of what happened in this execution.
void Observe(const std::string& outcome);
// Says that these bytes are loaded in pieces of any size. With |may_race|,
// other threads may store to them meanwhile, and plain stores count as relaxed
// ones.
void DeclareBytes(const void* begin, size_t size, bool may_race);
// Executes a full memory barrier on all threads, as membarrier(2).
bool ProcessBarrier();

// A place in the program where an atomic operation or a fence is.
struct Site {
  uintptr_t pc;
  const char* operation;
  // Values of std::memory_order. |failure_order| is -1 except for
  // compare-and-swap.
  int order;
  int failure_order;
};

// The result of a scenario.
struct Result {
  uint64_t executions = 0;
  // Executions that were left out because of Scenario::max_visits or Assume().
  uint64_t cut = 0;
  // Empty if nothing has failed.
  std::string failure;
  // The last steps before the failure.
  std::vector<std::string> steps;
  // All different outcomes, sorted.
  std::vector<std::string> outcomes;
  // The sites that some execution has come to.
  std::vector<Site> sites;
};

// Replaces the order of a site, or the order in which it fails.
struct Weakening {
  uintptr_t pc;
  bool is_failure_order;
  int order;
};

// Explores all executions, or up to the first one that fails.
Result Explore(const Scenario& scenario,
               const std::vector<Weakening>& weakenings);
}  // namespace protozero::weak

#endif  // TEST_MODEL_WEAK_CHECKER_H_
