// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/track_event.h"
#include "test/benchmarks/track_event/rows.h"

namespace {

std::unique_ptr<protozero::LocalTrace> g_trace;

void Start() {
  protozero::LocalTrace::Options options;
  options.buffer_size = 64 << 20;
  options.fill_policy = protozero::BufferFillPolicy::kRingBuffer;
  options.sink = [](const uint8_t*, size_t) { return true; };
  g_trace.reset(new protozero::LocalTrace(std::move(options)));
}
uint64_t Stop() {
  g_trace->Stop();
  uint64_t lost = 0;
  for (const auto& buffer : g_trace->stats().buffers)
    lost += buffer.lost.of(protozero::LossReason::kMemoryFull);
  g_trace.reset();
  return lost;
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

}  // namespace

const TrackEventRows& ProtozeroRows() {
  static const TrackEventRows rows = {"protozero", &Start,   &Stop,
                                      &Instant,    &Slice,   &SliceWith1,
                                      &SliceWith3, &Counter, &DynamicName};
  return rows;
}
