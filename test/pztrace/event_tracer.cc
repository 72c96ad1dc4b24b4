// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A program with trace events of several categories.

#include "protozero/tracing/producer.h"
#include "protozero/tracing/track_event.h"

PROTOZERO_TRACE_CATEGORY("net.slow", "Seldom wanted", "slow");

int main() {
  protozero::Producer::Options options;
  options.name = "event_tracer";
  protozero::Producer producer(std::move(options));
  producer.RegisterDataSource(protozero::TrackEventDataSource());
  if (!producer.Sync(10000))
    return 1;
  {
    PROTOZERO_TRACE_EVENT("app", "of app");
    PROTOZERO_TRACE_EVENT("net.io", "of net.io", "bytes", 7);
    PROTOZERO_TRACE_EVENT("net.dns", "of net.dns");
    PROTOZERO_TRACE_EVENT("net.slow", "of net.slow");
  }
  return 0;
}
