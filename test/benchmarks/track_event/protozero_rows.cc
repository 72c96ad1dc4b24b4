// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <memory>
#include <string>

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/producer.h"
#include "protozero/tracing/track_event.h"
#include "test/benchmarks/tracers/tracer.h"
#include "test/benchmarks/track_event/rows.h"

namespace {

std::unique_ptr<protozero::LocalTrace> g_trace;
uint64_t g_bytes;

void Start() {
  g_bytes = 0;
  protozero::LocalTrace::Options options;
  options.buffer_size = 64 << 20;
  // Bursts take three times as long, so that they meet the service as it
  // writes.
  options.write_period_ms = 100;
  options.sink = [](const uint8_t*, size_t size) {
    g_bytes += size;
    return true;
  };
  g_trace.reset(new protozero::LocalTrace(std::move(options)));
}
TrackEventRows::Outcome Stop() {
  TrackEventRows::Outcome outcome;
  g_trace->Stop();
  for (const auto& buffer : g_trace->stats().buffers)
    outcome.events_lost += buffer.lost.total();
  outcome.bytes = g_bytes;
  g_trace.reset();
  return outcome;
}

bool Connect() {
  protozero::Producer::Options options;
  options.shared_memory_size = 8 << 20;
  static auto& producer = *new protozero::Producer(std::move(options));
  producer.RegisterDataSource(protozero::TrackEventDataSource());
  return producer.Sync(10000) && PROTOZERO_TRACE_CATEGORY_ENABLED("rows");
}

void Instant(int count) {
  for (int i = 0; i < count; ++i)
    PROTOZERO_TRACE_EVENT_INSTANT("rows", "instant");
}
void Slice(int count) {
  for (int i = 0; i < count; ++i) {
    PROTOZERO_TRACE_EVENT("rows", "slice");
  }
}
void SliceWith1(int count) {
  for (int i = 0; i < count; ++i) {
    PROTOZERO_TRACE_EVENT("rows", "slice 1", "i", i);
  }
}
void SliceWith3(int count) {
  for (int i = 0; i < count; ++i) {
    PROTOZERO_TRACE_EVENT("rows", "slice 3", "i", i, "b", true, "s", "text");
  }
}
void Counter(int count) {
  for (int i = 0; i < count; ++i)
    PROTOZERO_TRACE_COUNTER("rows", "counter", i);
}
void DynamicName(int count) {
  const std::string name = "a name";
  for (int i = 0; i < count; ++i)
    PROTOZERO_TRACE_EVENT_INSTANT("rows", protozero::DynamicString(name));
}

void InstantWith1(int count) {
  for (int i = 0; i < count; ++i)
    PROTOZERO_TRACE_EVENT_INSTANT("rows", "instant 1", "i", i);
}
void SliceWith3Ints(int count) {
  for (int i = 0; i < count; ++i) {
    PROTOZERO_TRACE_EVENT("rows", "slice 3 ints", "i", i, "j", i + 1, "k",
                          i + 2);
  }
}
void SliceWithString(int count) {
  for (int i = 0; i < count; ++i) {
    PROTOZERO_TRACE_EVENT("rows", "slice string", "s", kTracedText);
  }
}

}  // namespace

const TrackEventRows& ProtozeroRows() {
  static const TrackEventRows rows = {
      "protozero", &Start,      &Stop,       &Connect, &Instant,
      &Slice,      &SliceWith1, &SliceWith3, &Counter, &DynamicName};
  return rows;
}

const Tracer& ProtozeroTracer() {
  static const Tracer tracer = {
      "protozero",     "LocalTrace, 32 MB of shared memory, a buffer of 64 MB",
      &Start,          &Stop,
      &SettleBriefly,  nullptr,
      nullptr,         true,
      &Instant,        &InstantWith1,
      &Slice,          &SliceWith1,
      &SliceWith3Ints, &SliceWithString,
      &Counter,
  };
  return tracer;
}
