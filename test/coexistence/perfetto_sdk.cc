// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <perfetto.h>

#include "test/coexistence/writers.h"

std::string WriteByPerfetto() {
  using ::perfetto::protos::pbzero::TracePacket;
  return WriteMessages<protozero::StaticBuffered<TracePacket>,
                       protozero::HeapBuffered<TracePacket>>();
}
