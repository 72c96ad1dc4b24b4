// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_SIMULATED_SYSTEM_H_
#define TEST_TRACING_SIMULATED_SYSTEM_H_

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "test/tracing/simulated_calls.h"

namespace protozero::test {

// A machine whose processes and threads run in one thread of the test, in an
// order that follows from a number. Each thread is a fiber: it runs until it
// waits. The linker has been told to call the functions of
// simulated_calls.cc instead of poll(), sendmsg() and others, so a thread waits
// in what it calls anyway:
//
//   code of the library ---> poll()   sendmsg()   nanosleep()   the clocks
//                              |         |            |            |
//   SimulatedSystem          waits   cuts short     waits      has its own
//                              |         |
//   kernel                  sockets and memory
//
// Code outside of a fiber is the recorder's process. It does not wait.
//
// A process can die at any call: from then on the others see its memory as it
// was, and the end of its connections. Its fibers run to their end as ghosts,
// so that nothing leaks: their calls fail, and they have a copy of the memory.
class SimulatedSystem final : private SystemCalls {
 public:
  // A process of the machine.
  struct Process {
    uid_t uid;
    pid_t pid;
    std::string name;
    bool is_dead = false;
    // True if the process may die in the middle of a call.
    bool is_doomed = false;
    // True if the process gives up its turn before each message that it sends.
    bool waits_to_send = false;
    // Called when it dies, perhaps with a lock held.
    std::function<void()> on_death;
    // The memory that it shares, and its connections.
    struct Mapping {
      void* address;
      size_t size;
    };
    std::vector<Mapping> mappings;
    std::vector<int> sockets;
    // The time that a ghost is ahead of the others, so that it waits for
    // nothing.
    int64_t ghost_ns = 0;
  };

  explicit SimulatedSystem(uint64_t seed, bool prints_history);
  // REQUIRES: all fibers have ended.
  ~SimulatedSystem();

  SimulatedSystem(const SimulatedSystem&) = delete;
  SimulatedSystem& operator=(const SimulatedSystem&) = delete;

  // Return random numbers.
  uint64_t Random();
  uint32_t Below(uint64_t limit) {
    return static_cast<uint32_t>(Random() % limit);
  }
  bool OneIn(uint64_t number) { return Random() % number == 0; }

  // Prints a line of the history, with the time and the name of the process.
  void Note(const char* format, ...) __attribute__((format(printf, 2, 3)));
  // Returns a number that follows from all steps so far.
  uint64_t digest() const { return digest_; }

  // The time since the machine has started.
  int64_t now_ns() const { return now_ns_; }
  void Advance(int64_t ns) { now_ns_ += ns; }
  // Sets the number of bytes that files may still take, all together.
  void set_disk_room(uint64_t bytes) { disk_room_ = bytes; }
  // Lets the rest of the run be without disturbances: everything arrives, and
  // no process dies any more by itself.
  void CalmDown() { is_calm_ = true; }

  // Adds a process, of a user of its own.
  Process* AddProcess(const std::string& name);
  // Starts a thread.
  void StartThread(Process* process, std::function<void()> body);
  // Ends a process at once. Any fiber may do it.
  void Kill(Process* process);
  // Returns whether a thread of the process has not ended.
  bool IsRunning(const Process* process) const;
  bool has_fibers() const { return !fibers_.empty(); }
  // Runs some thread until it waits. Does nothing if all are asleep.
  void RunSomeThread();
  // Runs each thread once that is awake.
  void RunAllThreads();

  // For threads. Waits for other threads, or until the time.
  void Yield();
  void SleepUntil(int64_t time_ns);

 private:
  struct Fiber;

  // SystemCalls:
  int Connect(int fd, const sockaddr* address, socklen_t size) override;
  bool GetPeer(uid_t* uid, pid_t* pid) override;
  int Poll(pollfd* fds, nfds_t count, int timeout_ms) override;
  ssize_t Receive(int fd, msghdr* message, int flags) override;
  ssize_t Send(int fd, const msghdr* message, int flags) override;
  ssize_t Write(int fd, const void* data, size_t size) override;
  void Sleep(int64_t ns) override;
  int64_t ClockNs() override;
  void OnMapped(void* address, size_t size) override;
  void OnUnmapped(void* address) override;
  void OnClosed(int fd) override;

  // The process of the fiber that runs; null in the recorder.
  Process* current_process() const;
  bool is_ghost() const;
  // Runs a thread if it is awake. Returns false if it is asleep.
  bool RunThread(size_t index);
  static void Switch(Fiber* from, Fiber* to);
  static void RunFiber();
  // Ends the process that calls, now and then, if it is doomed.
  void MayDie();

  uint64_t state_;
  uint64_t digest_ = 0;
  const bool prints_history_;
  // Not 0, so that no time of the library looks unset.
  int64_t now_ns_ = 1000000000;
  bool is_calm_ = false;
  uint64_t disk_room_ = UINT64_MAX;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* current_ = nullptr;
  // The code outside of all fibers.
  const std::unique_ptr<Fiber> main_;
  // The processes whose connections wait to be accepted, in their order.
  std::deque<Process*> connecting_;
};

}  // namespace protozero::test

#endif  // TEST_TRACING_SIMULATED_SYSTEM_H_
