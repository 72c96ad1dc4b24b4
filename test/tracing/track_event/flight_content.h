// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_TRACK_EVENT_FLIGHT_CONTENT_H_
#define TEST_TRACING_TRACK_EVENT_FLIGHT_CONTENT_H_

#include <stdint.h>

#include <string>
#include <vector>

#include "protozero/tracing/trace_stats.h"

// The content of a flight recorder's file, as it is on the disk.
std::vector<uint8_t> FlightContent(const std::string& path);

// The trace that is recovered of it.
struct RecoveredFlight {
  std::string trace;
  protozero::TraceBufferStats stats;
  int32_t pid = 0;
};
RecoveredFlight RecoverFlight(const std::string& path);

#endif  // TEST_TRACING_TRACK_EVENT_FLIGHT_CONTENT_H_
