// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
//   otlp_benchmarks
//
// A span of OpenTelemetry with six attributes, from its beginning to the bytes
// that an exporter sends: by this library, and by libprotobuf's classes of the
// same schema, used as OpenTelemetry's SDK for C++ uses them (otlp_sdk.h).

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "protozero/otlp/pipeline.h"
#include "test/benchmarks/otlp_rows.h"
#include "test/benchmarks/otlp_sdk.h"

namespace protozero::bench {
namespace {

otlp::PipelineOptions Options() {
  otlp::PipelineOptions options;
  // The writers never rest, so that only the exporter limits them.
  options.export_interval_ms = 10;
  return options;
}

void CountLosses(benchmark::State& state, const otlp::Account& account) {
  if (state.thread_index() == 0) {
    state.counters["lost"] = static_cast<double>(account.dropped()) /
                             static_cast<double>(account.written + 1);
  }
}

NoSpans sink;
std::unique_ptr<otlp::Pipeline> pipeline;

// Threads write into one pipeline, which exports meanwhile.
void BM_Otlp_Protozero(benchmark::State& state) {
  if (state.thread_index() == 0)
    pipeline = std::make_unique<otlp::Pipeline>(Options(), &sink);
  otlp::Tracer tracer;
  for (auto _ : state) {
    if (!tracer.IsEnabled())
      tracer = otlp::Tracer(*pipeline, "benchmark");
    WriteServerSpan(tracer);
  }
  CountLosses(state, pipeline->Spans());
}
BENCHMARK(BM_Otlp_Protozero)->Threads(1)->Threads(2)->UseRealTime();

void BM_Otlp_ProtozeroNotSampled(benchmark::State& state) {
  otlp::PipelineOptions options = Options();
  options.sampler = otlp::Sampler::AlwaysOff();
  otlp::Pipeline own(options, &sink);
  const otlp::Tracer tracer(own, "benchmark");
  for (auto _ : state)
    WriteServerSpan(tracer);
}
BENCHMARK(BM_Otlp_ProtozeroNotSampled);

void BM_Otlp_ProtozeroDisabled(benchmark::State& state) {
  otlp::Pipeline own(Options(), &sink);
  const otlp::Tracer tracer(own, "benchmark");
  own.SetEnabled(false);
  for (auto _ : state)
    WriteServerSpan(tracer);
}
BENCHMARK(BM_Otlp_ProtozeroDisabled);

// Serializes batches, and throws them away.
class Serializer : public sdk::Processor {
 public:
  explicit Serializer(bool uses_arena) : uses_arena_(uses_arena) {}

  void OnEnd(std::unique_ptr<sdk::Recordable> recordable) override {
    spans_.push_back(std::move(recordable));
    if (spans_.size() < sdk::BatchProcessor::kBatchSize)
      return;
    const std::string bytes = sdk::SerializeSpans(spans_, uses_arena_);
    benchmark::DoNotOptimize(bytes.data());
    spans_.clear();
  }

 private:
  const bool uses_arena_;
  std::vector<std::unique_ptr<sdk::Recordable>> spans_;
};

// The time of a span, with its part of the export of a batch, on one thread.
void LibprotobufSpans(benchmark::State& state, bool uses_arena) {
  Serializer serializer(uses_arena);
  const sdk::Tracer tracer(&serializer);
  for (auto _ : state)
    WriteSpan(tracer);
}

void BM_Otlp_Libprotobuf(benchmark::State& state) {
  LibprotobufSpans(state, false);
}
BENCHMARK(BM_Otlp_Libprotobuf);

void BM_Otlp_LibprotobufArena(benchmark::State& state) {
  LibprotobufSpans(state, true);
}
BENCHMARK(BM_Otlp_LibprotobufArena);

}  // namespace
}  // namespace protozero::bench

BENCHMARK_MAIN();
