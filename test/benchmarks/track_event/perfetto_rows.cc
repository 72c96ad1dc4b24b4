// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <vector>

#include "perfetto.h"
#include "test/benchmarks/track_event/rows.h"

PERFETTO_DEFINE_CATEGORIES(perfetto::Category("rows"));
PERFETTO_TRACK_EVENT_STATIC_STORAGE();

namespace {

std::unique_ptr<perfetto::TracingSession> g_session;

void Start() {
  static const bool is_initialized = [] {
    perfetto::TracingInitArgs args;
    args.backends = perfetto::kInProcessBackend;
    args.shmem_size_hint_kb = 8 << 10;
    perfetto::Tracing::Initialize(args);
    return perfetto::TrackEvent::Register();
  }();
  (void)is_initialized;
  perfetto::TraceConfig config;
  config.add_buffers()->set_size_kb(64 << 10);
  config.add_data_sources()->mutable_config()->set_name("track_event");
  g_session = perfetto::Tracing::NewTrace(perfetto::kInProcessBackend);
  g_session->Setup(config);
  g_session->StartBlocking();
}
uint64_t Stop() {
  perfetto::TrackEvent::Flush();
  g_session->StopBlocking();
  const auto bytes = g_session->GetTraceStatsBlocking();
  uint64_t lost = 0;
  perfetto::protos::gen::TraceStats stats;
  if (stats.ParseFromArray(bytes.trace_stats_data.data(),
                           bytes.trace_stats_data.size())) {
    for (const auto& buffer : stats.buffer_stats())
      lost += buffer.trace_writer_packet_loss();
  }
  g_session.reset();
  return lost;
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

}  // namespace

const TrackEventRows& PerfettoRows() {
  static const TrackEventRows rows = {"perfetto",  &Start,   &Stop,
                                      &Instant,    &Slice,   &SliceWith1,
                                      &SliceWith3, &Counter, &DynamicName};
  return rows;
}
