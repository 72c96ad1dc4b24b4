// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/otlp_rows.h"

#include <stddef.h>

#include <vector>

#include "protozero/otlp/pipeline.h"
#include "protozero/otlp/tracer.h"

namespace protozero {
namespace bench {

namespace {

enum class Kind { kEmpty, kSpan, kNotSampled, kDisabled };

// tools/measure_instructions counts the function of this name, and those that
// it calls.
template <Kind kKind>
__attribute__((noinline)) void EncodeOutOfLine(const otlp::Tracer& tracer) {
  if (kKind != Kind::kEmpty)
    WriteServerSpan(tracer);
  asm volatile("" : : : "memory");
}

template <Kind kKind>
bool Write(size_t count) {
  NoSpans sink;
  otlp::PipelineOptions options;
  // The pipeline's thread does nothing meanwhile, and the buffer has room.
  options.thread_buffer_size = 16 << 20;
  options.export_interval_ms = 1000000;
  if (kKind == Kind::kNotSampled)
    options.sampler = otlp::Sampler::AlwaysOff();
  otlp::Pipeline pipeline(options, &sink);
  const otlp::Tracer tracer(pipeline, "benchmark");
  pipeline.SetEnabled(kKind != Kind::kDisabled);
  for (size_t i = 0; i < count; ++i)
    EncodeOutOfLine<kKind>(tracer);
  return pipeline.Spans().written == (kKind == Kind::kSpan ? count : 0);
}

}  // namespace

void WriteServerSpan(const otlp::Tracer& tracer) {
  WriteSpan(tracer);
}

std::vector<EventRow> AllOtlpRows() {
  return {
      {"Otlp_Empty", &Write<Kind::kEmpty>},
      {"Otlp_Span", &Write<Kind::kSpan>},
      {"Otlp_NotSampled", &Write<Kind::kNotSampled>},
      {"Otlp_Disabled", &Write<Kind::kDisabled>},
  };
}

}  // namespace bench
}  // namespace protozero
