// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/track_event.h"

int main() {
  protozero::LocalTrace trace("out.pftrace");
  PROTOZERO_TRACE_EVENT("app", "main", "answer", 42);
}  // out.pftrace opens in the Perfetto UI.
