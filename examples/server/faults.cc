// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "faults.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <mutex>
#include <utility>
#include <vector>

#include "protozero/tracing/track_event.h"

namespace faults {

namespace {

// The time that a fault takes: of the thread, or if it waits, of the clock.
constexpr uint64_t kTimeNs = 40000000;

uint64_t Now(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<uint64_t>(now.tv_nsec);
}

// Sorts numbers by exchanging neighbours.
__attribute__((noinline)) void SlowSort(uint32_t* numbers, size_t count) {
  for (size_t end = count; end > 1; --end) {
    for (size_t i = 1; i < end; ++i) {
      if (numbers[i - 1] > numbers[i])
        std::swap(numbers[i - 1], numbers[i]);
    }
  }
}

void SortFor(uint64_t nanoseconds) {
  const uint64_t end = Now(CLOCK_THREAD_CPUTIME_ID) + nanoseconds;
  while (Now(CLOCK_THREAD_CPUTIME_ID) < end) {
    // So few take a millisecond at most, in a debug build too.
    std::vector<uint32_t> numbers(400);
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<uint32_t>(i) * 2654435761;
    SlowSort(numbers.data(), numbers.size());
  }
}

// Writes to each page of memory that the program has not used before.
__attribute__((noinline)) void TouchPages(volatile char* memory, size_t size) {
  for (size_t i = 0; i < size; i += 4096)
    memory[i] = 1;
}

void UseNewMemory() {
  constexpr size_t kSize = 4 << 20;
  const uint64_t end = Now(CLOCK_THREAD_CPUTIME_ID) + kTimeNs;
  while (Now(CLOCK_THREAD_CPUTIME_ID) < end) {
    void* const memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return;
    madvise(memory, kSize, MADV_NOHUGEPAGE);
    TouchPages(static_cast<char*>(memory), kSize);
    munmap(memory, kSize);
  }
}

// Writes to a file in this folder, and waits for the disk each time.
void WriteToDisk() {
  const std::vector<char> page(64 * 1024, 'x');
  PROTOZERO_TRACE_EVENT("server", "write page", "file", "server.page");
  const int file =
      open("server.page", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const uint64_t end = Now(CLOCK_MONOTONIC) + kTimeNs;
  while (file >= 0 && Now(CLOCK_MONOTONIC) < end) {
    if (write(file, page.data(), page.size()) < 0 || fsync(file) != 0)
      break;
  }
  close(file);
  unlink("server.page");
}

}  // namespace

const char kFaultNames[] = "lock|neighbour|hot-function|page-faults|slow-disk";

bool FindFault(const std::string& name, Fault* fault) {
  static constexpr struct {
    const char* name;
    Fault fault;
  } kFaults[] = {{"lock", Fault::kLock},
                 {"neighbour", Fault::kNeighbour},
                 {"hot-function", Fault::kHotFunction},
                 {"page-faults", Fault::kPageFaults},
                 {"slow-disk", Fault::kSlowDisk}};
  for (const auto& known : kFaults) {
    if (name == known.name) {
      *fault = known.fault;
      return true;
    }
  }
  return false;
}

void MakePageSlow(Fault fault) {
  // One thread at a time has enough to do.
  static std::mutex mutex;
  const std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock)
    return;
  if (fault == Fault::kHotFunction)
    SortFor(kTimeNs);
  else if (fault == Fault::kNeighbour)
    SortFor(kTimeNs / 4);
  else if (fault == Fault::kPageFaults)
    UseNewMemory();
  else if (fault == Fault::kSlowDisk)
    WriteToDisk();
}

void HoldLock(Fault fault) {
  if (fault == Fault::kLock)
    SortFor(kTimeNs);
}

void ShareProcessor(Fault fault) {
  if (fault != Fault::kNeighbour)
    return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return;
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed))
    ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof(one), &one);
}

Neighbour::Neighbour(Fault fault) {
  if (fault != Fault::kNeighbour)
    return;
  for (pid_t& process : processes_) {
    process = fork();
    if (process != 0)
      continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "neighbour");
    ShareProcessor(fault);
    volatile uint64_t i = 0;
    for (;;)
      i = i + 1;
  }
}

Neighbour::~Neighbour() {
  for (const pid_t process : processes_) {
    if (process <= 0)
      continue;
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
}

}  // namespace faults
