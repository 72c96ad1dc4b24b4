// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "perfetto.h"
#include "test/benchmarks/tracers/tracer.h"
#include "test/benchmarks/track_event/rows.h"

PERFETTO_DEFINE_CATEGORIES(perfetto::Category("rows"));
PERFETTO_TRACK_EVENT_STATIC_STORAGE();

namespace {

std::unique_ptr<perfetto::TracingSession> g_session;

void Initialize(perfetto::BackendType backend) {
  static const bool is_initialized = [backend] {
    perfetto::TracingInitArgs args;
    args.backends = backend;
    args.shmem_size_hint_kb = 8 << 10;
    perfetto::Tracing::Initialize(args);
    return perfetto::TrackEvent::Register();
  }();
  (void)is_initialized;
}

void Start() {
  Initialize(perfetto::kInProcessBackend);
  perfetto::TraceConfig config;
  config.add_buffers()->set_size_kb(64 << 10);
  config.add_data_sources()->mutable_config()->set_name("track_event");
  g_session = perfetto::Tracing::NewTrace(perfetto::kInProcessBackend);
  g_session->Setup(config);
  g_session->StartBlocking();
}
TrackEventRows::Outcome Stop() {
  TrackEventRows::Outcome outcome;
  perfetto::TrackEvent::Flush();
  g_session->StopBlocking();
  const auto bytes = g_session->GetTraceStatsBlocking();
  perfetto::protos::gen::TraceStats stats;
  if (stats.ParseFromArray(bytes.trace_stats_data.data(),
                           bytes.trace_stats_data.size())) {
    for (const auto& buffer : stats.buffer_stats())
      outcome.events_lost += buffer.trace_writer_packet_loss();
  }
  outcome.bytes = g_session->ReadTraceBlocking().size();
  g_session.reset();
  return outcome;
}

bool Connect() {
  Initialize(perfetto::kSystemBackend);
  for (int i = 0; i < 1000; ++i) {
    if (TRACE_EVENT_CATEGORY_ENABLED("rows"))
      return true;
    usleep(10000);
  }
  return false;
}

void Instant(int count) {
  for (int i = 0; i < count; ++i)
    TRACE_EVENT_INSTANT("rows", "instant");
}
void Slice(int count) {
  for (int i = 0; i < count; ++i) {
    TRACE_EVENT("rows", "slice");
  }
}
void SliceWith1(int count) {
  for (int i = 0; i < count; ++i) {
    TRACE_EVENT("rows", "slice 1", "i", i);
  }
}
void SliceWith3(int count) {
  for (int i = 0; i < count; ++i) {
    TRACE_EVENT("rows", "slice 3", "i", i, "b", true, "s", "text");
  }
}
void Counter(int count) {
  for (int i = 0; i < count; ++i)
    TRACE_COUNTER("rows", "counter", i);
}
void DynamicName(int count) {
  const std::string name = "a name";
  for (int i = 0; i < count; ++i)
    TRACE_EVENT_INSTANT("rows", perfetto::DynamicString(name));
}

void InstantWith1(int count) {
  for (int i = 0; i < count; ++i)
    TRACE_EVENT_INSTANT("rows", "instant 1", "i", i);
}
void SliceWith3Ints(int count) {
  for (int i = 0; i < count; ++i) {
    TRACE_EVENT("rows", "slice 3 ints", "i", i, "j", i + 1, "k", i + 2);
  }
}
void SliceWithString(int count) {
  for (int i = 0; i < count; ++i) {
    TRACE_EVENT("rows", "slice string", "s", kTracedText);
  }
}

}  // namespace

const TrackEventRows& PerfettoRows() {
  static const TrackEventRows rows = {
      "perfetto", &Start,      &Stop,       &Connect, &Instant,
      &Slice,     &SliceWith1, &SliceWith3, &Counter, &DynamicName};
  return rows;
}

const Tracer& PerfettoTracer() {
  static const Tracer tracer = {
      "Perfetto",
      "Perfetto SDK v48.1, 8 MB of shared memory, a buffer of 64 MB",
      &Start,
      &Stop,
      &SettleBriefly,
      nullptr,
      nullptr,
      true,
      &Instant,
      &InstantWith1,
      &Slice,
      &SliceWith1,
      &SliceWith3Ints,
      &SliceWithString,
      &Counter,
  };
  return tracer;
}
