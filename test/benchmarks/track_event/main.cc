// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Measures trace events of this library, and of Perfetto's SDK if that was
// there at build time, in one run: nanoseconds per event, the least and the
// median of rounds in which the libraries take turns. The clock alone is a row,
// too. track_event_rows_perfetto_c is the same program with Perfetto's C SDK.
//
//   track_event_rows                      # each records in the process
//   pztrace record --size 64M -o trace -- track_event_rows --service
//   track_event_rows --rounds=N           # of 15
//
// The rows "cold" measure one event after much other code has run. The last row
// of a library is no time: how many of a million events are lost when two
// threads write bursts for longer than the period of writing. tools/bench reads
// the output.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test/benchmarks/cold_code.h"
#include "test/benchmarks/track_event/rows.h"

namespace {

constexpr int kDefaultRounds = 15;
constexpr int kEvents = 20000;
constexpr int kEventsBefore = 1000;
constexpr int kColdEvents = 50;

// Each burst has kEvents.
constexpr int kBursts = 100;
constexpr double kBurstPeriodNs = 3e6;

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

// Measures as many threads at once, each of which has written some events
// before.
void Measure(const std::string& row,
             Function function,
             int num_threads,
             Samples* samples) {
  std::vector<double> ns(static_cast<size_t>(num_threads));
  std::vector<std::thread> threads;
  for (double& it : ns) {
    threads.emplace_back([&] {
      function(kEventsBefore);
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

// Returns the number of ticks in a nanosecond.
double MeasureTicks() {
  const double begin_ns = NowNs();
  const uint64_t begin = protozero::bench::ReadTicks();
  double ns;
  while ((ns = NowNs() - begin_ns) < 1e7) {
  }
  return static_cast<double>(protozero::bench::ReadTicks() - begin) / ns;
}

void WriteNothing(int) {}

void MeasureCold(const std::string& row,
                 Function function,
                 void (*evict)(),
                 double ticks_per_ns,
                 Samples* samples) {
  function(kEventsBefore);
  for (int i = 0; i < kColdEvents; ++i) {
    evict();
    const uint64_t begin = protozero::bench::ReadTicks();
    function(1);
    const uint64_t ticks = protozero::bench::ReadTicks() - begin;
    (*samples)[row].push_back(static_cast<double>(ticks) / ticks_per_ns);
  }
}

void MeasureAll(const TrackEventRows& rows,
                bool in_process,
                double ticks_per_ns,
                Samples* samples) {
  const std::pair<const char*, Function> functions[] = {
      {"instant", rows.instant},
      {"slice", rows.slice},
      {"slice, 1 value", rows.slice_with_1},
      {"slice, 3 values", rows.slice_with_3},
      {"counter", rows.counter},
      {"name made at run time", rows.dynamic_name},
  };
  const std::string library = std::string(rows.library) + ": ";
  const auto start = [&] {
    if (in_process)
      rows.start();
  };
  double lost = 0;
  const auto stop = [&] {
    const auto outcome = in_process ? rows.stop() : TrackEventRows::Outcome();
    lost += static_cast<double>(outcome.events_lost);
    return static_cast<double>(outcome.bytes);
  };
  if (in_process)
    Measure(library + "off", rows.slice_with_1, 1, samples);
  for (const auto& [name, function] : functions) {
    for (const int num_threads : {1, 2}) {
      start();
      Measure(library + name + (num_threads == 2 ? ", 2 threads" : ""),
              function, num_threads, samples);
      const double bytes = stop();
      if (in_process && num_threads == 1) {
        (*samples)[library + name + ", bytes"].push_back(
            bytes / (kEvents + kEventsBefore));
      }
    }
  }
  if (protozero::bench::CanEvictCode()) {
    start();
    MeasureCold(library + "instant, cold", rows.instant,
                &protozero::bench::EvictCodeFromL1, ticks_per_ns, samples);
    MeasureCold(library + "instant, cold in L2", rows.instant,
                &protozero::bench::EvictCodeFromL2, ticks_per_ns, samples);
    MeasureCold(library + "nothing, cold", &WriteNothing,
                &protozero::bench::EvictCodeFromL1, ticks_per_ns, samples);
    MeasureCold(library + "nothing, cold in L2", &WriteNothing,
                &protozero::bench::EvictCodeFromL2, ticks_per_ns, samples);
    stop();
  }
  if (in_process)
    (*samples)[library + "packets lost in a round"].push_back(lost);
}

std::vector<const TrackEventRows*> Libraries() {
  return {
      &ProtozeroRows(),
#if defined(WITH_PERFETTO_SDK)
      &PerfettoRows(),
#endif
#if defined(WITH_PERFETTO_C_SDK)
      &PerfettoCRows(),
#endif
  };
}

void WriteBursts(Function function) {
  double next = NowNs();
  for (int i = 0; i < kBursts; ++i) {
    function(kEvents);
    next += kBurstPeriodNs;
    const timespec pause = {0, static_cast<long>(next - NowNs())};
    // A thread that is late goes on at once.
    if (pause.tv_nsec > 0)
      nanosleep(&pause, nullptr);
    else
      next = NowNs();
  }
}

void MeasureBursts(const TrackEventRows& rows, Samples* samples) {
  constexpr int kThreads = 2;
  rows.start();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] { WriteBursts(rows.instant); });
  for (std::thread& thread : threads)
    thread.join();
  const double lost = static_cast<double>(rows.stop().events_lost);
  (*samples)[std::string(rows.library) + ": lost in bursts, of a million"]
      .push_back(1e6 * lost / (double{kEvents} * kBursts * kThreads));
}

struct Options {
  bool in_process = true;
  int rounds = kDefaultRounds;
};

// Returns false if the arguments are wrong.
bool Parse(int argc, char** argv, Options* options) {
  constexpr char kRoundsFlag[] = "--rounds=";
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--service") == 0)
      options->in_process = false;
    else if (strncmp(argv[i], kRoundsFlag, strlen(kRoundsFlag)) == 0)
      options->rounds = atoi(argv[i] + strlen(kRoundsFlag));
    else
      return false;
  }
  return options->rounds > 0;
}

void Print(Samples samples) {
  printf("%-50s %8s %8s\n", "ns", "least", "median");
  for (auto& [row, values] : samples) {
    std::sort(values.begin(), values.end());
    printf("%-50s %8.1f %8.1f\n", row.c_str(), values.front(),
           values[values.size() / 2]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    fprintf(stderr, "usage: track_event_rows [--service] [--rounds=N]\n");
    return 2;
  }
  const std::vector<const TrackEventRows*> libraries = Libraries();
  for (const auto* rows : libraries) {
    if (!options.in_process && !rows->connect()) {
      fprintf(stderr, "%s: there is no service that records\n", rows->library);
      return 1;
    }
  }
  Samples samples;
  const double ticks_per_ns = MeasureTicks();
  for (int i = 0; i < options.rounds; ++i) {
    Measure("clock_gettime()", &ReadClock, 1, &samples);
    for (const auto* rows : libraries)
      MeasureAll(*rows, options.in_process, ticks_per_ns, &samples);
  }
  for (const auto* rows : libraries) {
    if (options.in_process)
      MeasureBursts(*rows, &samples);
  }
  Print(std::move(samples));
}
