// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Traces a few hundred events, and exits even if they are not recorded: for
// tests in which the recording may fail.

#include <stdint.h>

#include <memory>
#include <string>

#include "protozero/tracing/producer.h"
#include "protozero/tracing/trace.h"

int main() {
  using protozero::trace::TracePacket;
  protozero::Producer::Options options;
  options.name = "brief_tracer";
  protozero::Producer producer(options);
  const auto source = std::make_shared<protozero::DataSource>(
      protozero::DataSourceDescriptor{"track_event"});
  producer.RegisterDataSource(source);
  // The service may never answer.
  producer.Sync(/*timeout_ms=*/200);
  protozero::DataSourceWriters writers(source);
  for (uint64_t i = 0; i < 500; ++i) {
    writers.Trace([&](protozero::TraceContext& context) {
      auto packet = context.NewTracePacket<TracePacket>();
      packet->set_timestamp(i);
      packet->set_track_event()->set_name(std::string(i, 'x'));
    });
  }
  return 0;
}
