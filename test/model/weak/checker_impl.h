// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_MODEL_WEAK_CHECKER_IMPL_H_
#define TEST_MODEL_WEAK_CHECKER_IMPL_H_

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/model/weak/checker.h"
#include "test/model/weak/exploration.h"
#include "test/model/weak/memory.h"

namespace protozero::weak {

// Runs scenarios. The threads are contexts of one system thread, which take
// turns at their atomic operations.
class Checker {
 public:
  // Returns the one that is running a scenario; null if none is, or if the
  // checker itself is at work.
  static Checker* Current();

  // Keeps what the checker does from being taken for a step of the scenario.
  class AtWork {
   public:
    AtWork();
    ~AtWork();
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;
  };

  Checker(const Scenario& scenario, const std::vector<Weakening>& weakenings);
  ~Checker();
  Result Run();

  // Answer the calls before plain accesses to memory.
  void OnRead(uintptr_t address, size_t size);
  void OnWrite(uintptr_t address, size_t size);
  // Answer the calls in place of accesses. |pc| is after the call.
  uint64_t OnLoad(uintptr_t pc, uintptr_t address, size_t size, int order);
  void OnStore(uintptr_t pc,
               uintptr_t address,
               size_t size,
               int order,
               uint64_t value);
  template <typename Function>
  uint64_t OnModify(uintptr_t pc,
                    const char* operation,
                    uintptr_t address,
                    size_t size,
                    int order,
                    int failure_order,
                    const uint64_t* expected,
                    Function function) {
    const int weak_order = OrderAt(pc, operation, order, failure_order, false);
    const int weak_failure_order =
        OrderAt(pc, operation, order, failure_order, true);
    Step step = BeginStep(Step::kStore, address, size, weak_order);
    Wait(pc, step);
    uint64_t value = 0;
    const char* const error = memory_.Modify(
        thread_, address, size, static_cast<std::memory_order>(weak_order),
        static_cast<std::memory_order>(weak_failure_order), expected, function,
        &value);
    Note(operation, pc, address, value, error);
    return value;
  }
  void OnFence(uintptr_t pc, int order);
  void OnLock(uintptr_t address);
  bool OnTryLock(uintptr_t address);
  void OnUnlock(uintptr_t address);
  void OnBarrier();

  void Fail(const char* text);
  // Stops the calling thread for the rest of this execution.
  void Block();
  void Observe(const std::string& outcome);
  void DeclareBytes(uintptr_t address, size_t size, bool may_race) {
    memory_.DeclareBytes(address, size, may_race);
  }

  void* Allocate(size_t size);
  static bool IsAllocated(const void* pointer);

 private:
  struct Context {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool is_done = false;
    bool is_blocked = false;
    std::vector<char> thread_locals;
  };

  static void RunThread();
  int OrderAt(uintptr_t pc,
              const char* operation,
              int order,
              int failure_order,
              bool wants_failure_order);
  static Step BeginStep(Step::Kind kind,
                        uintptr_t address,
                        size_t size,
                        int order);
  // Swaps to the context of |next|, with its thread-local variables.
  void SwitchTo(int next);
  // Lets others run until it is this thread's turn to take |step|.
  void Wait(uintptr_t pc, const Step& step);
  void SwitchToNext();
  void Note(const char* operation,
            uintptr_t pc,
            uintptr_t address,
            uint64_t value,
            const char* error);
  void RunExecution();
  // Leaves the execution for good.
  void Leave();

  const Scenario scenario_;
  const std::vector<Weakening> weakenings_;
  Exploration exploration_;
  Memory memory_;
  Result result_;
  std::map<uintptr_t, Site> sites_;
  std::set<std::string> outcomes_;
  std::string outcome_;

  int thread_ = 0;
  void* state_ = nullptr;
  bool is_starting_ = false;
  bool is_over_ = false;
  bool is_redundant_ = false;
  std::array<Context, kMaxThreads> contexts_;
  std::array<Step, kMaxThreads> pending_;
  // By the operation and its address.
  std::array<std::map<std::pair<uintptr_t, uintptr_t>, int>, kMaxThreads>
      visits_;
  std::set<uintptr_t> locked_;
  size_t allocated_ = 0;
  // The program's variables as they were before the first execution.
  std::vector<char> globals_;
  std::vector<char> thread_locals_;
};

}  // namespace protozero::weak

#endif  // TEST_MODEL_WEAK_CHECKER_IMPL_H_
