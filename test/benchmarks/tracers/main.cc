// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Measures trace events of this library and of one other tracer, in turns:
//
//   tracer_rows_lttng --list             # names of the tracers, ours first
//   tracer_rows_lttng --peer=LTTng       # all rows, ours and LTTng's
//   tracer_rows_lttng --first=LTTng      # the beginning of a process, and
//   memory
//   tracer_rows_lttng --sustained=LTTng  # what it loses of many events for
//   long
//   ... --quick                          # that it works: too short to compare
//
// Prints an object of JSON a line. tools/bench --tracers makes a table of them.

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test/benchmarks/cold_code.h"
#include "test/benchmarks/tracers/samples.h"
#include "test/benchmarks/tracers/sustained.h"
#include "test/benchmarks/tracers/tracer.h"

namespace {

using protozero::bench::Disturbances;
using protozero::bench::ReadTicks;
using protozero::bench::Row;
using protozero::bench::Sample;
using protozero::bench::SingleCalls;

struct Effort {
  int rounds = 3;
  int events_in_sample = 1000;
  int samples = 20;
  // So few that 16 threads do not fill the buffers.
  int samples_of_16_threads = 5;
  // Together as many as touch all memory that a tracer uses in turn.
  int warm_up_portions = 12;
  int warm_up_events = 50000;
  int single_calls = 20000;
  int bursts = 50;
  int events_in_burst = 20000;
  int memory_portions = 20;
  double sustained_seconds = 3;
};

Effort QuickEffort() {
  Effort effort;
  effort.rounds = 1;
  effort.events_in_sample = 100;
  effort.samples = 3;
  effort.samples_of_16_threads = 2;
  effort.warm_up_portions = 1;
  effort.warm_up_events = 1000;
  effort.single_calls = 100;
  effort.bursts = 3;
  effort.events_in_burst = 1000;
  effort.memory_portions = 1;
  effort.sustained_seconds = 0.01;
  return effort;
}

constexpr size_t kOtherWork = 256 << 10;
constexpr double kPercents[] = {50, 99, 99.9, 99.99, 100};

double NowNs() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 +
         static_cast<double>(time.tv_nsec);
}

// Returns the number of ticks in a nanosecond.
double MeasureTicks() {
  const double begin_ns = NowNs();
  const uint64_t begin = ReadTicks();
  double ns;
  while ((ns = NowNs() - begin_ns) < 1e7) {
  }
  return static_cast<double>(ReadTicks() - begin) / ns;
}

// The clock that tracers read: without the fences of ReadTicks().
void ReadCounter(int count) {
  for (int i = 0; i < count; ++i) {
#if defined(__x86_64__)
    uint32_t low;
    uint32_t high;
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
#else
    ReadTicks();
#endif
  }
}

void ReadSystemClock(int count) {
  timespec time = {};
  for (int i = 0; i < count; ++i)
    clock_gettime(CLOCK_MONOTONIC, &time);
}

void DoNothing(int) {}

struct Kind {
  const char* name;
  Tracer::Emit emit;
};

std::vector<Kind> KindsOf(const Tracer& tracer) {
  std::vector<Kind> kinds;
  for (const Kind& kind : {
           Kind{"instant", tracer.instant},
           Kind{"instant, 1 int", tracer.instant_with_1},
           Kind{"slice", tracer.slice},
           Kind{"slice, 1 int", tracer.slice_with_1},
           Kind{"slice, 3 ints", tracer.slice_with_3},
           Kind{"slice, string of 20", tracer.slice_with_string},
           Kind{"counter", tracer.counter},
       }) {
    if (kind.emit)
      kinds.push_back(kind);
  }
  return kinds;
}

std::string Quoted(const std::string& text) {
  return '"' + text + '"';
}

class Measurement {
 public:
  explicit Measurement(const Effort& effort)
      : effort_(effort), ticks_per_ns_(MeasureTicks()) {}

  void MeasureRound(int round, const std::vector<const Tracer*>& tracers);
  // Measures the tracer in a process that has done nothing yet.
  void MeasureBeginning(const Tracer& tracer);
  void Print();

 private:
  using Key = std::pair<std::string, std::string>;  // tracer, row

  Sample Take(Tracer::Emit emit, int count) const;
  void TakeSamples(Tracer::Emit emit, int count, Row* row);
  void TakeSamplesInThreads(Tracer::Emit emit,
                            int num_threads,
                            int samples,
                            Row* row);
  void MeasureClocks();
  void MeasureFresh(const Tracer& tracer);
  void MeasureWarm(const Tracer& tracer);
  void MeasureSingleCalls(Tracer::Emit emit, const Key& key);
  void MeasureBursts(const Tracer& tracer);
  void WarmUp(const Tracer& tracer);
  Row* RowOf(const Tracer& tracer, const std::string& name) {
    return &rows_[{tracer.name, name}];
  }

  const Effort effort_;
  const double ticks_per_ns_;
  int round_ = 0;
  std::map<Key, Row> rows_;
  std::map<Key, SingleCalls> calls_;
  std::map<Key, std::pair<double, int>> means_;  // sum, number
};

Sample Measurement::Take(Tracer::Emit emit, int count) const {
  Sample sample;
  const Disturbances before = Disturbances::OfThisThread();
  const uint64_t begin = ReadTicks();
  emit(count);
  const uint64_t ticks = ReadTicks() - begin;
  sample.disturbances = Disturbances::OfThisThread().Since(before);
  sample.ns_per_event =
      static_cast<double>(ticks) / ticks_per_ns_ / static_cast<double>(count);
  return sample;
}

void Measurement::TakeSamples(Tracer::Emit emit, int count, Row* row) {
  emit(effort_.events_in_sample);
  for (int i = 0; i < count; ++i)
    row->Add(round_, Take(emit, effort_.events_in_sample));
}

// No thread begins before all have written some events.
void Measurement::TakeSamplesInThreads(Tracer::Emit emit,
                                       int num_threads,
                                       int samples,
                                       Row* row) {
  std::vector<std::vector<Sample>> results(static_cast<size_t>(num_threads));
  std::vector<std::thread> threads;
  std::atomic<int> not_ready{num_threads};
  for (auto& result : results) {
    threads.emplace_back([&, samples] {
      emit(effort_.events_in_sample);
      result.reserve(static_cast<size_t>(samples));
      not_ready.fetch_sub(1);
      while (not_ready.load() > 0)
        std::this_thread::yield();
      for (int i = 0; i < samples; ++i)
        result.push_back(Take(emit, effort_.events_in_sample));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const auto& result : results) {
    for (const Sample& sample : result)
      row->Add(round_, sample);
  }
}

void Measurement::WarmUp(const Tracer& tracer) {
  for (int i = 0; i < effort_.warm_up_portions; ++i) {
    tracer.instant(effort_.warm_up_events);
    tracer.settle();
  }
}

void Measurement::MeasureFresh(const Tracer& tracer) {
  for (const Kind& kind : KindsOf(tracer)) {
    tracer.start();
    Row* row = RowOf(tracer, std::string("fresh: ") + kind.name);
    TakeSamples(kind.emit, effort_.samples, row);
    const Tracer::Outcome outcome = tracer.stop();
    const int events = (effort_.samples + 1) * effort_.events_in_sample;
    auto& [bytes, times] =
        means_[{tracer.name, std::string("bytes: ") + kind.name}];
    bytes += static_cast<double>(outcome.bytes) / events;
    ++times;
  }
}

void Measurement::MeasureWarm(const Tracer& tracer) {
  tracer.start();
  WarmUp(tracer);
  for (const Kind& kind : KindsOf(tracer)) {
    TakeSamples(kind.emit, effort_.samples,
                RowOf(tracer, std::string("warm: ") + kind.name));
    tracer.settle();
  }
  for (const Kind& kind :
       {Kind{"instant", tracer.instant}, Kind{"slice", tracer.slice}}) {
    for (const int num_threads : {2, 16}) {
      TakeSamplesInThreads(
          kind.emit, num_threads,
          num_threads == 16 ? effort_.samples_of_16_threads : effort_.samples,
          RowOf(tracer,
                std::to_string(num_threads) + " threads: " + kind.name));
      tracer.settle();
    }
  }
  MeasureSingleCalls(&DoNothing, {tracer.name, "nothing"});
  MeasureSingleCalls(tracer.instant, {tracer.name, "instant"});
  const Tracer::Outcome outcome = tracer.stop();
  auto& [lost, times] = means_[{tracer.name, "lost: warm"}];
  lost += static_cast<double>(outcome.events_lost);
  ++times;
}

void Measurement::MeasureSingleCalls(Tracer::Emit emit, const Key& key) {
  static std::vector<char> other_work(kOtherWork);
  for (int i = 0; i < effort_.single_calls; ++i) {
    for (size_t j = 0; j < other_work.size(); j += 64)
      ++reinterpret_cast<volatile char&>(other_work[j]);
    calls_[key].Add(Take(emit, 1));
  }
}

void Measurement::MeasureBursts(const Tracer& tracer) {
  tracer.start();
  WarmUp(tracer);
  const auto write = [&] {
    for (int i = 0; i < effort_.bursts; ++i) {
      tracer.instant(effort_.events_in_burst);
      usleep(3000);
    }
  };
  std::thread other(write);
  write();
  other.join();
  tracer.settle();
  const Tracer::Outcome outcome = tracer.stop();
  auto& [percent, times] = means_[{tracer.name, "lost: bursts, %"}];
  percent += 100. * static_cast<double>(outcome.events_lost) / 2 /
             effort_.bursts / effort_.events_in_burst;
  ++times;
}

void Measurement::MeasureClocks() {
  TakeSamples(&ReadCounter, effort_.samples, &rows_[{"", "rdtsc"}]);
  TakeSamples(&ReadSystemClock, effort_.samples, &rows_[{"", "clock_gettime"}]);
}

void Measurement::MeasureRound(int round,
                               const std::vector<const Tracer*>& tracers) {
  round_ = round;
  MeasureClocks();
  for (const Tracer* tracer : tracers) {
    if (tracer->can_be_off)
      TakeSamples(tracer->instant, effort_.samples, RowOf(*tracer, "off"));
    MeasureFresh(*tracer);
    MeasureWarm(*tracer);
    MeasureBursts(*tracer);
  }
}

// Returns the memory of this process, its share of what it shares with others.
double OwnMemory() {
  double kilobytes = 0;
  if (FILE* file = fopen("/proc/self/smaps_rollup", "r")) {
    char line[256];
    while (fgets(line, sizeof(line), file) &&
           sscanf(line, "Pss: %lf", &kilobytes) != 1) {
    }
    fclose(file);
  }
  return kilobytes * 1024;
}

// Writes a hundred events each 100 us: a busy program, whose buffers do not
// overflow.
void Measurement::MeasureBeginning(const Tracer& tracer) {
  constexpr int kEvents = 100;
  constexpr double kPeriodNs = 100e3;
  constexpr double kDurationNs = 20e6;
  const double memory_before = OwnMemory();
  tracer.start();
  Row* row = RowOf(tracer, "first 20 ms");
  const double begin = NowNs();
  for (double next = begin; next < begin + kDurationNs; next += kPeriodNs) {
    while (NowNs() < next) {
    }
    row->Add(0, Take(tracer.instant, kEvents));
  }
  for (int i = 0; i < effort_.memory_portions; ++i) {
    tracer.instant(effort_.warm_up_events);
    tracer.settle();
  }
  double memory = OwnMemory() - memory_before;
  if (tracer.memory_elsewhere)
    memory += static_cast<double>(tracer.memory_elsewhere());
  means_[{tracer.name, "memory, MB"}] = {memory / 1e6, 1};
  tracer.stop();
  MeasureClocks();
}

void PrintSustained(const Tracer& tracer, double seconds) {
  for (const int num_threads : {1, 2}) {
    for (const int millions : {1, 2, 5, 10, 20}) {
      const auto result = protozero::bench::MeasureSustained(
          tracer, millions * 1e6, num_threads, seconds);
      const auto events = static_cast<double>(result.events);
      printf(
          "{\"tracer\": \"%s\", \"row\": \"sustained: %d M/s, %d thread%s\", "
          "\"lost\": %.4f, \"millions\": %.3f, \"ns\": %.3f}\n",
          tracer.name, millions, num_threads, num_threads == 1 ? "" : "s",
          100 * static_cast<double>(result.events_lost) / events,
          events / result.seconds / 1e6,
          result.seconds_of_others / events * 1e9);
    }
  }
}

void Measurement::Print() {
  const auto begin = [](const Key& key) {
    return "{\"tracer\": " + Quoted(key.first) +
           ", \"row\": " + Quoted(key.second);
  };
  for (const auto& [key, row] : rows_) {
    const double ns = row.ns_per_event();
    printf(
        "%s, \"ns\": %s, \"faults\": %.3f, \"waits\": %lld, \"left_out\": "
        "%zu, \"samples\": %zu}\n",
        begin(key).c_str(), ns == ns ? std::to_string(ns).c_str() : "null",
        row.page_faults_per_sample(), static_cast<long long>(row.waits()),
        row.left_out(), row.size());
  }
  for (auto& [key, calls] : calls_) {
    printf("%s, \"left_out\": %zu, \"samples\": %zu",
           begin({key.first, "call: " + key.second}).c_str(), calls.left_out(),
           calls.size());
    for (const double percent : kPercents) {
      const double ns = calls.Percentile(percent);
      printf(", \"p%g\": %s", percent,
             ns == ns ? std::to_string(ns).c_str() : "null");
    }
    printf("}\n");
  }
  for (const auto& [key, mean] : means_) {
    printf("%s, \"mean\": %.3f}\n", begin(key).c_str(),
           mean.first / mean.second);
  }
}

std::vector<const Tracer*> AllTracers() {
  std::vector<const Tracer*> tracers = {&ProtozeroTracer()};
  for (const Tracer* const* peer = kPeers; *peer; ++peer)
    tracers.push_back(*peer);
  return tracers;
}

const Tracer* Find(const char* name) {
  for (const Tracer* tracer : AllTracers()) {
    if (strcmp(tracer->name, name) == 0)
      return tracer;
  }
  return nullptr;
}

// Returns the value of the option if |argument| is "--option=value".
const char* ValueOf(const char* argument, const char* option) {
  const size_t size = strlen(option);
  return strncmp(argument, option, size) == 0 ? argument + size : nullptr;
}

void List() {
  for (const Tracer* tracer : AllTracers()) {
    printf("{\"tracer\": \"%s\", \"description\": \"%s\"}\n", tracer->name,
           tracer->description);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Effort effort;
  const Tracer* peer = nullptr;
  const Tracer* first = nullptr;
  const Tracer* sustained = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--list") == 0) {
      List();
      return 0;
    }
    if (strcmp(argv[i], "--quick") == 0)
      effort = QuickEffort();
    else if (const char* name = ValueOf(argv[i], "--peer="))
      peer = Find(name);
    else if (const char* of_first = ValueOf(argv[i], "--first="))
      first = Find(of_first);
    else if (const char* of_sustained = ValueOf(argv[i], "--sustained="))
      sustained = Find(of_sustained);
  }
  if (!!peer + !!first + !!sustained != 1) {
    fprintf(stderr,
            "usage: %s --list | --peer=NAME | --first=NAME | --sustained=NAME "
            "[--quick]\n",
            argv[0]);
    return 2;
  }
  if (sustained) {
    PrintSustained(*sustained, effort.sustained_seconds);
    return 0;
  }
  Measurement measurement(effort);
  if (first) {
    measurement.MeasureBeginning(*first);
  } else {
    for (int i = 0; i < effort.rounds; ++i)
      measurement.MeasureRound(i, {&ProtozeroTracer(), peer});
  }
  measurement.Print();
  return 0;
}
