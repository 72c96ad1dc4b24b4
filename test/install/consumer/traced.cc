// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A program that traces itself, with a field of its own.

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/track_event.h"
#include "sensors/query.pbzero.h"

using consumer::PROTOZERO_TRACE_NAMESPACE::QueryEvent;
using protozero::trace::TrackEvent;

int main(int, char** argv) {
  protozero::LocalTrace trace(argv[1]);
  PROTOZERO_TRACE_EVENT("app", "main", "answer", 42, [](TrackEvent* event) {
    protozero::AppendFields(event, QueryEvent::kQuery("select"));
  });
  return trace.error().empty() ? 0 : 1;
}
