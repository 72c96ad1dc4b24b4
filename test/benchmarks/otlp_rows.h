// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Spans of OpenTelemetry, for encode_rows and otlp_benchmarks.

#ifndef TEST_BENCHMARKS_OTLP_ROWS_H_
#define TEST_BENCHMARKS_OTLP_ROWS_H_

#include <stddef.h>

#include <vector>

#include "protozero/otlp/tracer.h"
#include "test/benchmarks/event_rows.h"

namespace protozero {
namespace bench {

// Takes batches, and throws them away.
class NoSpans : public otlp::BatchSink {
 public:
  otlp::ExportResult Export(const otlp::Batch& batch) override {
    return otlp::ExportResult::Exported(batch);
  }
};

// Writes a span with six attributes: texts, integers and a bool.
template <typename Tracer>
void WriteSpan(const Tracer& tracer) {
  tracer.StartSpan("GET /api/users", otlp::SpanKind::kServer)
      .SetAttribute("http.request.method", "GET")
      .SetAttribute("url.path", "/api/users")
      .SetAttribute("http.response.status_code", 200)
      .SetAttribute("server.address", "example.com")
      .SetAttribute("server.port", 8080)
      .SetAttribute("cache.hit", false);
}
void WriteServerSpan(const otlp::Tracer& tracer);

// Returns rows that write |count| spans each. Otlp_Empty has only the loop.
std::vector<EventRow> AllOtlpRows();

}  // namespace bench
}  // namespace protozero

#endif  // TEST_BENCHMARKS_OTLP_ROWS_H_
