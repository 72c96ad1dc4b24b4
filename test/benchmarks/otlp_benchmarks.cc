// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
//   otlp_benchmarks
//
// A span of OpenTelemetry with six attributes, from its beginning to the bytes
// that an exporter sends: by this library, and by libprotobuf's classes of the
// same schema, used as OpenTelemetry's SDK for C++ uses them. There, a span is
// an object with a map of attributes first, which becomes a message when it is
// exported.

#include <stdint.h>
#include <time.h>

#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <benchmark/benchmark.h>

#include "google/protobuf/arena.h"
#include "protozero/otlp/pipeline.h"
#include "src/otlp/protos/otlp.pb.h"
#include "test/benchmarks/otlp_rows.h"

namespace protozero::bench {
namespace {

namespace pb = opentelemetry::proto;

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

uint64_t Now() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 +
         static_cast<uint64_t>(now.tv_nsec);
}

using Value = std::variant<bool, int64_t, std::string>;

// A span as the SDK has it while it is open.
struct SpanData {
  uint64_t ids[3];
  uint64_t start;
  uint64_t end;
  std::string name;
  std::unordered_map<std::string, Value> attributes;
};

std::unique_ptr<SpanData> MakeSpan(std::mt19937_64* random) {
  auto span = std::make_unique<SpanData>();
  for (uint64_t& id : span->ids)
    id = (*random)();
  span->start = Now();
  span->name = "GET /api/users";
  span->attributes["http.request.method"] = std::string("GET");
  span->attributes["url.path"] = std::string("/api/users");
  span->attributes["http.response.status_code"] = int64_t{200};
  span->attributes["server.address"] = std::string("example.com");
  span->attributes["server.port"] = int64_t{8080};
  span->attributes["cache.hit"] = false;
  span->end = Now();
  return span;
}

void FillMessage(const SpanData& span, pb::Span* message) {
  message->set_trace_id(span.ids, 16);
  message->set_span_id(&span.ids[2], 8);
  message->set_name(span.name);
  message->set_kind(pb::Span::SPAN_KIND_SERVER);
  message->set_start_time_unix_nano(span.start);
  message->set_end_time_unix_nano(span.end);
  message->set_flags(0x101);
  for (const auto& [key, value] : span.attributes) {
    pb::KeyValue* const attribute = message->add_attributes();
    attribute->set_key(key);
    pb::AnyValue* const any = attribute->mutable_value();
    if (const auto* flag = std::get_if<bool>(&value))
      any->set_bool_value(*flag);
    else if (const auto* number = std::get_if<int64_t>(&value))
      any->set_int_value(*number);
    else
      any->set_string_value(std::get<std::string>(value));
  }
}

constexpr size_t kBatch = 512;

// The time of a span, with its part of the export of a batch.
template <bool kUsesArena>
void LibprotobufSpans(benchmark::State& state) {
  std::mt19937_64 random;
  std::vector<std::unique_ptr<SpanData>> spans;
  std::string bytes;
  for (auto _ : state) {
    spans.push_back(MakeSpan(&random));
    if (spans.size() < kBatch)
      continue;
    google::protobuf::Arena arena;
    std::unique_ptr<pb::ExportTraceServiceRequest> owned;
    pb::ExportTraceServiceRequest* request;
    if (kUsesArena) {
      request =
          google::protobuf::Arena::CreateMessage<pb::ExportTraceServiceRequest>(
              &arena);
    } else {
      owned = std::make_unique<pb::ExportTraceServiceRequest>();
      request = owned.get();
    }
    pb::ScopeSpans* const scope =
        request->add_resource_spans()->add_scope_spans();
    scope->mutable_scope()->set_name("benchmark");
    for (const auto& span : spans)
      FillMessage(*span, scope->add_spans());
    request->SerializeToString(&bytes);
    benchmark::DoNotOptimize(bytes.data());
    spans.clear();
  }
}

void BM_Otlp_Libprotobuf(benchmark::State& state) {
  LibprotobufSpans<false>(state);
}
BENCHMARK(BM_Otlp_Libprotobuf);

void BM_Otlp_LibprotobufArena(benchmark::State& state) {
  LibprotobufSpans<true>(state);
}
BENCHMARK(BM_Otlp_LibprotobufArena);

}  // namespace
}  // namespace protozero::bench

BENCHMARK_MAIN();
