// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A program whose events have fields of its own. Its arguments are the file to
// write, and the number of threads that trace, one after the other; `ring`
// chooses a ring buffer, `flight` a flight recorder.

#include <stdlib.h>
#include <string.h>

#include <thread>

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/track_event.h"
#include "test/pztrace/query.pbzero.h"
#include "test/pztrace/query_plan.pbzero.h"

using protozero::trace::TrackEvent;
using test::PROTOZERO_TRACE_NAMESPACE::QueryEvent;
using test::PROTOZERO_TRACE_NAMESPACE::QueryPlan;

namespace {

void Trace(uint32_t number) {
  PROTOZERO_TRACE_EVENT("app", "query", [number](TrackEvent* message) {
    auto* const event = static_cast<QueryEvent*>(message);
    event->set_query("select 1");
    QueryPlan* const plan = event->set_plan();
    plan->set_method(test::PROTOZERO_TRACE_NAMESPACE::LOOKUP);
    plan->set_num_rows(number);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3)
    return 2;
  protozero::DescribeTraceExtensions<QueryEvent>();
  protozero::LocalTrace::Options options;
  options.path = argv[1];
  uint32_t num_events = 1;
  if (argc > 3 && strcmp(argv[3], "ring") == 0) {
    options.fill_policy = protozero::BufferFillPolicy::kRingBuffer;
    options.buffer_size = 64 * 1024;
    num_events = 10000;
  } else if (argc > 3 && strcmp(argv[3], "flight") == 0) {
    options.path.clear();
    options.flight_recorder = argv[1];
    options.buffer_size = 64 * 1024;
    num_events = 10000;
  }
  protozero::LocalTrace trace(std::move(options));
  for (int i = 0; i < atoi(argv[2]); ++i) {
    std::thread([&] {
      for (uint32_t n = 0; n < num_events; ++n)
        Trace(n);
    }).join();
  }
  return trace.Stop() ? 0 : 1;
}
