// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/harness.h"

#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <string>

namespace protozero {
namespace bench {

namespace {

// How many messages are encoded between two looks at Google Benchmark's
// iteration count: enough to make those free.
constexpr size_t kBatchSize = 64;

// Inputs and outputs are shared by all rows that ask for the same size: equal
// memory for all, and 64 MiB once.
template <typename T>
T& SharedBySize(size_t size) {
  static std::map<size_t, std::unique_ptr<T>> shared;
  std::unique_ptr<T>& entry = shared[size];
  if (!entry)
    entry = std::make_unique<T>(size);
  return *entry;
}

void Run(::benchmark::State& state,
         const EncoderEntry& entry,
         const Harness& harness) {
  std::unique_ptr<Encoder> encoder = entry.create();
  Batch batch = {};
  batch.events = &SharedBySize<EventCycle>(harness.cycle_size);
  batch.ring = &SharedBySize<OutputRing>(harness.ring_size);
  batch.slot_size = kSlotSize;
  batch.count = kBatchSize;
  batch.reads_back = harness.reads_back;
  size_t bytes = 0;
  while (state.KeepRunningBatch(kBatchSize)) {
    // With link-time optimization the compiler could know all of it.
    ::benchmark::DoNotOptimize(batch);
    bytes += encoder->EncodeBatch(batch);
    batch.first += kBatchSize;
  }
  state.counters["bytes"] =
      static_cast<double>(bytes) / static_cast<double>(state.iterations());
}

}  // namespace

void RegisterBenchmarks(const EncoderList& encoders) {
  for (const Harness& harness : kHarnesses) {
    for (const EncoderEntry& entry : encoders) {
      const std::string name = "BM_Protozero_" + entry.workload + "_" +
                               entry.implementation + harness.suffix;
      ::benchmark::RegisterBenchmark(
          name.c_str(),
          [entry, &harness](::benchmark::State& s) { Run(s, entry, harness); });
    }
  }
}

}  // namespace bench
}  // namespace protozero
