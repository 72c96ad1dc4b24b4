// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_THREAD_STATES_H_
#define SRC_TRACING_SCHEDULING_THREAD_STATES_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <string>
#include <unordered_map>

#include "src/tracing/scheduling/kernel_record.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Follows the states of threads from the kernel's records, whatever records
// there are. Each thread's states alternate, and a processor has one running
// thread at most. Where records are missing, states are unknown.
class ThreadStates {
 public:
  // The numbers of GenericKernelTaskStateEvent.
  enum State : uint8_t {
    kUnknown = 0,
    kCreated = 1,
    kRunnable = 2,
    kRunning = 3,
    kWaiting = 4,
    kDead = 7,
  };
  struct Thread {
    int32_t pid = 0;
    std::string name;
    State state = kUnknown;
    uint32_t cpu = 0;
    // True if the thread has events of its own, besides those that it may have
    // inherited.
    bool has_own_events = false;
  };
  struct Process {
    int32_t parent = 0;
    // The process whose threads were attached to. Its events count this process
    // as well.
    int32_t root = 0;
    size_t num_threads = 0;
  };

  // Takes what is found out, in order of time.
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void OnState(uint64_t time, int32_t tid, const Thread& thread) = 0;
    // Called when |thread| was woken, which |record| says. Its time may be that
    // of an earlier call, but not of another one about the thread.
    virtual void OnWaking(const KernelRecord& record, const Thread& thread) = 0;
    virtual void OnThread(int32_t tid, const Thread& thread) = 0;
    virtual void OnProcess(int32_t pid, const Process& process) = 0;
    virtual void OnRename(uint64_t time,
                          int32_t tid,
                          const std::string& name) = 0;
    // Called when all threads of a process are gone.
    virtual void OnProcessGone(int32_t pid) = 0;
    // Called when all threads are gone that the events of |root| count.
    virtual void OnRootGone(int32_t root) = 0;
  };

  explicit ThreadStates(Observer* observer) : observer_(observer) {}

  // Adds a thread that runs already. Its state is unknown.
  void AddThread(int32_t tid, const Thread& thread, int32_t parent);
  // Takes the next record. REQUIRES: their times do not decrease.
  void Add(const KernelRecord& record);
  // Removes a thread that has ended without a record of it.
  void Remove(uint64_t time, int32_t tid);

  bool Contains(int32_t tid) const { return threads_.count(tid) != 0; }
  const std::unordered_map<int32_t, Thread>& threads() const {
    return threads_;
  }
  const std::map<int32_t, Process>& processes() const { return processes_; }

 private:
  // Finds a thread, or adds one whose beginning was lost.
  Thread* Find(const KernelRecord& record);
  void SetState(uint64_t time, int32_t tid, Thread* thread, State state);
  // Lets a thread run on a processor, whose last thread has left it.
  void Run(const KernelRecord& record, Thread* thread);
  void Leave(const KernelRecord& record, Thread* thread);
  void Wake(const KernelRecord& record);
  void AddFound(const KernelRecord& record, Thread* thread);
  void AddFork(const KernelRecord& record);
  // Removes the threads that end when another one of their process calls
  // exec(), and then has the process's number.
  void RemoveOthers(const KernelRecord& exec);
  void ForgetStates(const KernelRecord& loss);

  Observer* const observer_;
  std::unordered_map<int32_t, Thread> threads_;
  std::map<int32_t, Process> processes_;
  std::map<int32_t, size_t> threads_of_root_;
  std::unordered_map<uint32_t, int32_t> running_;
  // The last waking of each thread that ran then. Another processor may wake a
  // thread that has begun to wait, but has not left its own processor.
  std::unordered_map<int32_t, KernelRecord> early_wakings_;
  // The time until which records are missing somewhere.
  uint64_t lost_until_ = 0;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_THREAD_STATES_H_
