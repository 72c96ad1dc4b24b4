// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// This file is compiled for each build of ours, with
//   WRITE_BY    the name of the function
//   NAMESPACE   the namespace of the generated classes

#include "include/protozero/tracing/trace.pbzero.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/static_buffer.h"
#include "test/coexistence/writers.h"

std::string WRITE_BY() {
  using ::perfetto::protos::NAMESPACE::TracePacket;
  return WriteMessages<protozero::StaticBuffered<TracePacket>,
                       protozero::HeapBuffered<TracePacket>>();
}
