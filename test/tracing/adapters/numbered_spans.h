// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACING_ADAPTERS_NUMBERED_SPANS_H_
#define TEST_TRACING_ADAPTERS_NUMBERED_SPANS_H_

#include <stdint.h>

#include "protozero/tracing/adapters/task_spans.h"

namespace protozero::test {

// Returns the context of a span that is known by its number.
inline otlp::SpanContext NumberedSpan(uint8_t number) {
  otlp::TraceId trace;
  otlp::SpanId span;
  trace.bytes[0] = 1;
  span.bytes[0] = number;
  return otlp::SpanContext(trace, span, 1);
}

// Returns the number of the current span, 0 for none.
inline int CurrentSpan() {
  return otlp::CurrentContext().span_id.bytes[0];
}

}  // namespace protozero::test

#endif  // TEST_TRACING_ADAPTERS_NUMBERED_SPANS_H_
