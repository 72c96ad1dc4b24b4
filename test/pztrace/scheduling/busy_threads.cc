// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A program whose threads compute, sleep, wait for a pipe, and take a processor
// from each other. They write down how long they ran by their own clocks:
//
//   NAME TID BEGIN END RAN
//
// in nanoseconds, for each round. The last line of a round is "round". With
// --rounds, there is another round for each line of the standard input; with
// --switches, two threads wake each other very often, and write nothing; with
// --deep, a thread computes in many calls of a function; otherwise there is one
// round.
//
// With --local FILE HZ it records itself, and some of its threads are there
// before that. It prints to the standard error stream why not all is recorded,
// and how many packets were begun, read and lost.

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/track_event.h"

namespace {

constexpr uint64_t kMillisecond = 1000000;

uint64_t Now(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
         static_cast<uint64_t>(time.tv_nsec);
}

// Both clocks at one moment.
struct Moment {
  uint64_t time = 0;
  uint64_t ran = 0;
};

Moment TakeMoment() {
  // The thread must not be interrupted between the two.
  for (int tries = 0;; ++tries) {
    const Moment moment = {Now(CLOCK_BOOTTIME), Now(CLOCK_THREAD_CPUTIME_ID)};
    if (Now(CLOCK_BOOTTIME) - moment.time < 20000 || tries == 1000)
      return moment;
  }
}

// Takes most of its time itself, not in the clock: samples have to find it.
__attribute__((noinline)) void Compute(uint64_t nanoseconds) {
  const uint64_t end = Now(CLOCK_THREAD_CPUTIME_ID) + nanoseconds;
  while (Now(CLOCK_THREAD_CPUTIME_ID) < end) {
    for (volatile int i = 0; i < 10000;)
      i = i + 1;
  }
}

void PinToFirstProcessor() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed))
    ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof(one), &one);
}

std::mutex g_mutex;
std::condition_variable g_changed;
int g_round = 0;
int g_done = 0;
bool g_is_ended = false;

// Does |work| in each round.
template <typename Work>
void RunRounds(const char* name, Work work) {
  for (int round = 1;; ++round) {
    {
      std::unique_lock<std::mutex> lock(g_mutex);
      g_changed.wait(lock, [&] { return g_round >= round || g_is_ended; });
      if (g_round < round)
        return;
    }
    const Moment begin = TakeMoment();
    work();
    const Moment end = TakeMoment();
    const std::lock_guard<std::mutex> lock(g_mutex);
    printf("%s %ld %llu %llu %llu\n", name, syscall(SYS_gettid),
           static_cast<unsigned long long>(begin.time),
           static_cast<unsigned long long>(end.time),
           static_cast<unsigned long long>(end.ran - begin.ran));
    ++g_done;
    g_changed.notify_all();
  }
}

void Preempt() {
  PinToFirstProcessor();
  Compute(30 * kMillisecond);
}

// Sends a byte to and fro.
void Switch() {
  constexpr int kTimes = 20000;
  int there[2];
  int back[2];
  if (pipe(there) != 0 || pipe(back) != 0)
    return;
  std::thread other([&] {
    char byte = 0;
    for (int i = 0; i < kTimes; ++i) {
      if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
        return;
    }
  });
  char byte = 0;
  for (int i = 0; i < kTimes; ++i) {
    if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
      break;
  }
  other.join();
}

// Computes below more calls than the kernel looks for.
__attribute__((noinline)) int ComputeBelow(int num_calls) {
  if (num_calls == 0) {
    Compute(50 * kMillisecond);
    return 0;
  }
  // Not the last call, which would need no frame.
  volatile int num_done = ComputeBelow(num_calls - 1);
  return num_done + 1;
}

void DoRound(int num_threads) {
  std::unique_lock<std::mutex> lock(g_mutex);
  ++g_round;
  g_done = 0;
  g_changed.notify_all();
  g_changed.wait(lock, [&] { return g_done == num_threads; });
  puts("round");
  fflush(stdout);
}

int EndLocal(protozero::LocalTrace* local) {
  const bool is_done = local->Stop();
  const protozero::TraceStats stats = local->stats();
  fprintf(stderr, "%s\n%s\n%llu %llu %llu\n", local->error().c_str(),
          local->scheduling_error().c_str(),
          static_cast<unsigned long long>(stats.packets_begun()),
          static_cast<unsigned long long>(stats.packets_read()),
          static_cast<unsigned long long>(stats.lost().total()));
  return is_done ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_rounds = argc > 1 && strcmp(argv[1], "--rounds") == 0;
  if (argc > 1 && strcmp(argv[1], "--switches") == 0) {
    Switch();
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "--deep") == 0)
    return ComputeBelow(5000) == 5000 ? 0 : 1;
  const bool is_local = argc > 3 && strcmp(argv[1], "--local") == 0;
  std::unique_ptr<protozero::LocalTrace> local;
  protozero::Producer producer({});
  producer.RegisterDataSource(protozero::TrackEventDataSource());
  int ends[2];
  if (pipe(ends) != 0)
    return 1;
  std::vector<std::thread> threads;
  threads.emplace_back(
      [] { RunRounds("compute", [] { Compute(30 * kMillisecond); }); });
  threads.emplace_back([] {
    RunRounds("sleep", [] {
      for (int i = 0; i < 10; ++i) {
        Compute(kMillisecond);
        usleep(1000);
      }
    });
  });
  threads.emplace_back([&ends] {
    RunRounds("read", [&ends] {
      char byte = 0;
      if (read(ends[0], &byte, 1) == 1)
        Compute(kMillisecond);
    });
  });
  threads.emplace_back([&ends] {
    RunRounds("write", [&ends] {
      Compute(20 * kMillisecond);
      if (write(ends[1], "x", 1) == 1)
        Compute(kMillisecond);
    });
  });
  if (is_local) {
    protozero::LocalTrace::Options options;
    options.path = argv[2];
    options.scheduling = true;
    options.samples_hz = static_cast<uint32_t>(atoi(argv[3]));
    local = std::make_unique<protozero::LocalTrace>(options);
  }
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([] { RunRounds("preempt", Preempt); });
  const int num_threads = static_cast<int>(threads.size());
  if (!has_rounds)
    DoRound(num_threads);
  while (has_rounds && getchar() != EOF)
    DoRound(num_threads);
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    g_is_ended = true;
  }
  g_changed.notify_all();
  for (std::thread& thread : threads)
    thread.join();
  if (local != nullptr)
    return EndLocal(local.get());
  return 0;
}
