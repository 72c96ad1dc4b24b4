// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// One file with another library's namespace `protozero` and ours, as `pz`, and
// with all of our headers. It replaces ours.cc and perfetto_sdk.cc, or one of
// them.

#if defined(WITH_PERFETTO)
#include <perfetto.h>
#endif
#if defined(WITH_MAPBOX)
#include "all_mapbox_headers.h"
#endif

#include "all_headers.h"
#include "include/protozero/tracing/trace.pbzero.h"
#include "test/coexistence/writers.h"

std::string WriteByOurs() {
  using ::perfetto::protos::in_one_file::TracePacket;
  return WriteMessages<pz::StaticBuffered<TracePacket>,
                       pz::HeapBuffered<TracePacket>>();
}

// Compiled, and never called: macros name everything from the outside.
inline void TraceByOurs() {
  PROTOZERO_TRACE_EVENT("category", "slice", "key", 1);
  PROTOZERO_TRACE_EVENT_BEGIN("category", "slice");
  PROTOZERO_TRACE_EVENT_INSTANT("category", "instant", "key", "value");
  PROTOZERO_TRACE_COUNTER("category", "counter", 2);
  PROTOZERO_TRACE_EVENT_END("category");
  PROTOZERO_TRACE_ASYNC_SLICE("category", "slice");
  PROTOZERO_TASK_SITE("task");
}

#if defined(WITH_PERFETTO)
std::string WriteByPerfetto() {
  using ::perfetto::protos::pbzero::TracePacket;
  return WriteMessages<protozero::StaticBuffered<TracePacket>,
                       protozero::HeapBuffered<TracePacket>>();
}
#endif

#if defined(WITH_MAPBOX)
std::string TagByMapbox() {
  std::string bytes;
  protozero::pbf_writer(bytes).add_bool(1, true);
  return bytes;
}
#endif
