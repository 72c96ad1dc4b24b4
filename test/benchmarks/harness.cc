// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/harness.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/benchmarks/cold_code.h"

namespace protozero {
namespace bench {

namespace {

// A batch of large messages has fewer of them, down to one.
constexpr size_t kMaxBatchBytes = 1024 * 1024;

// Rows with the same sizes or the same inputs share them. So all use the same
// memory, and the 64 MiB exist once.
OutputRing& SharedRing(size_t bytes, size_t slot_size) {
  static std::map<std::pair<size_t, size_t>, std::unique_ptr<OutputRing>> rings;
  std::unique_ptr<OutputRing>& ring = rings[{bytes, slot_size}];
  if (!ring)
    ring = std::make_unique<OutputRing>(bytes, slot_size);
  return *ring;
}

const AnyInputCycle& SharedInputs(const Workload& workload, bool random) {
  static std::map<std::pair<std::string, bool>, std::unique_ptr<AnyInputCycle>>
      shared;
  std::unique_ptr<AnyInputCycle>& inputs =
      shared[{workload.name + workload.argument, random}];
  if (!inputs)
    inputs = workload.make_inputs(random);
  return *inputs;
}

bool IsCold(const Harness& harness) {
  return harness.code_in != CodeIn::kL1;
}

Batch MakeBatch(const Workload& workload, const Harness& harness) {
  const size_t ring_size = std::max(harness.ring_size, workload.slot_size);
  Batch batch = {};
  batch.inputs = &SharedInputs(workload, harness.random_inputs);
  batch.ring = &SharedRing(ring_size, workload.slot_size);
  batch.slot_size = workload.slot_size;
  batch.count = std::max<size_t>(
      1, std::min(kMaxBatchSize, kMaxBatchBytes / workload.slot_size));
  batch.reads_back = harness.reads_back;
  return batch;
}

void ReportBytes(::benchmark::State& state, size_t bytes) {
  state.counters["bytes"] =
      static_cast<double>(bytes) / static_cast<double>(state.iterations());
}

void Run(::benchmark::State& state,
         const Workload& workload,
         const EncoderEntry& entry,
         const Harness& harness) {
  std::unique_ptr<Encoder> encoder = entry.create();
  Batch batch = MakeBatch(workload, harness);
  size_t bytes = 0;
  while (state.KeepRunningBatch(static_cast<int64_t>(batch.count))) {
    // Hides the batch from link-time optimization, which could know all of it.
    ::benchmark::DoNotOptimize(batch);
    bytes += encoder->EncodeBatch(batch);
    batch.first += batch.count;
  }
  ReportBytes(state, bytes);
}

// Returns the mean of all samples but the slowest hundredth, in which another
// program used the processor.
double MeanWithoutOutliers(std::vector<uint64_t>* samples) {
  const size_t kept = samples->size() - samples->size() / 100;
  std::nth_element(samples->begin(),
                   samples->begin() + static_cast<ptrdiff_t>(kept) - 1,
                   samples->end());
  double sum = 0;
  for (size_t i = 0; i < kept; ++i)
    sum += static_cast<double>((*samples)[i]);
  return sum / static_cast<double>(kept);
}

// Measures messages whose code is not in the first-level cache. Each message is
// written by other code than the one before. Eviction takes many times as long
// as a message, so the difference of two rows would be noise. Only the message
// is timed, and the result is the counter "message_ns". It includes the clock
// and the call; the Empty row has nothing else.
void RunCold(::benchmark::State& state,
             const Workload& workload,
             const EncoderEntry& entry,
             const Harness& harness) {
  using std::chrono::steady_clock;
  std::unique_ptr<Encoder> encoder = entry.create();
  const Batch batch = MakeBatch(workload, harness);
  const auto evict_code =
      harness.code_in == CodeIn::kBeyond ? EvictCodeFromL2 : EvictCodeFromL1;
  size_t bytes = 0;
  std::vector<uint64_t> ticks;
  ticks.reserve(static_cast<size_t>(state.max_iterations));
  const steady_clock::time_point begin = steady_clock::now();
  const uint64_t begin_ticks = ReadTicks();
  for (auto _ : state) {
    const size_t index = ticks.size();
    const CallSite call_site = (*entry.call_sites)[index % kCallSites];
    uint8_t* slot = batch.ring->At(index);
    evict_code();
    const uint64_t before = ReadTicks();
    bytes +=
        call_site(encoder.get(), *batch.inputs, index, slot, batch.slot_size);
    ticks.push_back(ReadTicks() - before);
  }
  const uint64_t all_ticks = ReadTicks() - begin_ticks;
  const std::chrono::duration<double, std::nano> all =
      steady_clock::now() - begin;
  const double ns_per_tick = all.count() / static_cast<double>(all_ticks);
  state.counters["message_ns"] = MeanWithoutOutliers(&ticks) * ns_per_tick;
  ReportBytes(state, bytes);
}

void Register(const Workload& workload,
              const EncoderEntry& entry,
              const Harness& harness) {
  const std::string name = "BM_Protozero_" + workload.name + "_" +
                           entry.implementation + harness.suffix +
                           workload.argument;
  const auto run = IsCold(harness) ? RunCold : Run;
  ::benchmark::RegisterBenchmark(
      name.c_str(), [run, workload, entry, &harness](::benchmark::State& s) {
        run(s, workload, entry, harness);
      });
}

}  // namespace

void RegisterBenchmarks(const std::vector<Workload>& workloads,
                        const EncoderList& encoders) {
  for (const Workload& workload : workloads) {
    for (const Harness* harness : workload.harnesses) {
      for (const EncoderEntry& entry : encoders) {
        if (entry.workload != workload.name ||
            (IsCold(*harness) && (!CanEvictCode() || !entry.call_sites))) {
          continue;
        }
        Register(workload, entry, *harness);
      }
    }
  }
}

}  // namespace bench
}  // namespace protozero
