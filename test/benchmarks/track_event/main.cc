// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// What trace events take, of this library and of Perfetto's SDK, in one run:
// nanoseconds an event, the median of rounds in which the libraries take turns.
// The clock alone is a row, too.

#include <stdio.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "test/benchmarks/track_event/rows.h"

namespace {

constexpr int kRounds = 15;
constexpr int kEvents = 20000;

double NowNs() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 +
         static_cast<double>(time.tv_nsec);
}

void ReadClock(int count) {
  timespec time = {};
  for (int i = 0; i < count; ++i)
    clock_gettime(CLOCK_BOOTTIME, &time);
}

using Function = void (*)(int);
using Samples = std::map<std::string, std::vector<double>>;

// In as many threads, each of which has written some before.
void Measure(const std::string& row,
             Function function,
             int num_threads,
             Samples* samples) {
  std::vector<double> ns(static_cast<size_t>(num_threads));
  std::vector<std::thread> threads;
  for (double& it : ns) {
    threads.emplace_back([&] {
      function(1000);
      const double begin = NowNs();
      function(kEvents);
      it = (NowNs() - begin) / kEvents;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const double it : ns)
    (*samples)[row].push_back(it);
}

void MeasureAll(const TrackEventRows& rows, Samples* samples) {
  const std::pair<const char*, Function> functions[] = {
      {"instant", rows.instant},
      {"slice", rows.slice},
      {"slice, 1 value", rows.slice_with_1},
      {"slice, 3 values", rows.slice_with_3},
      {"counter", rows.counter},
      {"name made at run time", rows.dynamic_name},
  };
  const std::string library = std::string(rows.library) + ": ";
  Measure(library + "off", rows.slice_with_1, 1, samples);
  uint64_t lost = 0;
  for (const auto& [name, function] : functions) {
    for (const int num_threads : {1, 2}) {
      rows.start();
      Measure(library + name + (num_threads == 2 ? ", 2 threads" : ""),
              function, num_threads, samples);
      lost += rows.stop();
    }
  }
  (*samples)[library + "packets lost in a round"].push_back(
      static_cast<double>(lost));
}

}  // namespace

int main() {
  Samples samples;
  for (int i = 0; i < kRounds; ++i) {
    Measure("clock_gettime()", &ReadClock, 1, &samples);
    MeasureAll(ProtozeroRows(), &samples);
    MeasureAll(PerfettoRows(), &samples);
  }
  for (auto& [row, values] : samples) {
    std::sort(values.begin(), values.end());
    printf("%-50s %8.1f\n", row.c_str(), values[values.size() / 2]);
  }
}
