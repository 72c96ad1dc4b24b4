// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/tracers/sustained.h"

#include <time.h>

#include <chrono>
#include <thread>
#include <vector>

namespace protozero {
namespace bench {

namespace {

double SecondsOf(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) / 1e9;
}

// Returns the processor time of all of the tracer and this process.
double SecondsOfAll(const Tracer& tracer) {
  return SecondsOf(CLOCK_PROCESS_CPUTIME_ID) +
         (tracer.seconds_elsewhere ? tracer.seconds_elsewhere() : 0);
}

}  // namespace

Sustained MeasureSustained(const Tracer& tracer,
                           double events_per_second,
                           int num_threads,
                           double seconds) {
  constexpr std::chrono::milliseconds kPeriod{1};
  const int portions = static_cast<int>(seconds * 1000);
  const int events = static_cast<int>(events_per_second / 1000 / num_threads);
  tracer.start();
  const double all_before = SecondsOfAll(tracer);
  const double caller_before = SecondsOf(CLOCK_THREAD_CPUTIME_ID);
  const double begin = SecondsOf(CLOCK_MONOTONIC);
  std::vector<double> seconds_of(static_cast<size_t>(num_threads));
  std::vector<std::thread> threads;
  for (double& its_seconds : seconds_of) {
    threads.emplace_back([&tracer, &its_seconds, kPeriod, portions, events] {
      auto next = std::chrono::steady_clock::now();
      for (int i = 0; i < portions; ++i) {
        std::this_thread::sleep_until(next += kPeriod);
        tracer.instant(events);
      }
      its_seconds = SecondsOf(CLOCK_THREAD_CPUTIME_ID);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  Sustained result;
  result.seconds = SecondsOf(CLOCK_MONOTONIC) - begin;
  result.events = static_cast<uint64_t>(num_threads) *
                  static_cast<uint64_t>(portions) *
                  static_cast<uint64_t>(events);
  tracer.settle();
  result.events_lost = tracer.stop().events_lost;
  result.seconds_of_others =
      SecondsOfAll(tracer) - all_before -
      (SecondsOf(CLOCK_THREAD_CPUTIME_ID) - caller_before);
  for (const double its_seconds : seconds_of)
    result.seconds_of_others -= its_seconds;
  return result;
}

}  // namespace bench
}  // namespace protozero
