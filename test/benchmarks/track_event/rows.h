// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_BENCHMARKS_TRACK_EVENT_ROWS_H_
#define TEST_BENCHMARKS_TRACK_EVENT_ROWS_H_

#include "test/benchmarks/tracers/tracer.h"

// One library's trace events. Each function writes |count| of them.
struct TrackEventRows {
  // An event is a packet.
  using Outcome = Tracer::Outcome;

  const char* library;
  // Start and stop recording events in the process.
  void (*start)();
  Outcome (*stop)();
  // Connects for good to the service that the environment names. Returns true
  // when events are recorded, or false if that takes too long.
  bool (*connect)();

  void (*instant)(int count);
  void (*slice)(int count);
  void (*slice_with_1)(int count);
  void (*slice_with_3)(int count);
  void (*counter)(int count);
  void (*dynamic_name)(int count);
};

const TrackEventRows& ProtozeroRows();
// Defined only in programs with WITH_PERFETTO_SDK.
const TrackEventRows& PerfettoRows();
// Defined only in programs with WITH_PERFETTO_C_SDK. No program has both.
const TrackEventRows& PerfettoCRows();

#endif  // TEST_BENCHMARKS_TRACK_EVENT_ROWS_H_
