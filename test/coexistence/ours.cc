// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/scattered_heap_buffer.h"
#include "protozero/static_buffer.h"
#include "src/tracing/protos/perfetto_trace.pbzero.h"
#include "test/coexistence/writers.h"

// The second of two builds has another name, and is otherwise the same.
#if !defined(WRITE_BY_OURS)
#define WRITE_BY_OURS WriteByOurs
#endif

std::string WRITE_BY_OURS() {
  using ::perfetto::protos::ours::TracePacket;
  return WriteMessages<protozero::StaticBuffered<TracePacket>,
                       protozero::HeapBuffered<TracePacket>>();
}
