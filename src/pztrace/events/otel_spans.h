// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_OTEL_SPANS_H_
#define SRC_PZTRACE_EVENTS_OTEL_SPANS_H_

#include <stddef.h>
#include <stdint.h>

#include <array>
#include <deque>
#include <string>

#include "protozero/tracing/trace_reader.h"
#include "src/pztrace/events/arg_encoder.h"
#include "src/tracing/trace_reader/id_map.h"

namespace pztrace {

// The slices of a trace that are spans of OpenTelemetry, with what their
// arguments say of their place among others. A span takes 72 bytes, and 16 to
// 32 bytes to find it by its ids.
class OtelSpans {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  using TraceId = std::array<char, 16>;
  using SpanId = std::array<char, 8>;

  struct Span {
    uint64_t track;
    uint64_t begin_ns;
    uint64_t end_ns;
    const std::string* name;  // The reader keeps it.
    TraceId trace_id;
    SpanId id;
    SpanId parent_id;  // Zeros if there is none.
    uint32_t depth;    // On its track.
    bool is_client;
    bool is_failed;
  };
  static_assert(sizeof(void*) != 8 || sizeof(Span) == 72,
                "see the class comment");

  // Adds a slice, whose arguments an ArgEncoder with these texts has encoded,
  // unless it is no span.
  void Add(const protozero::Slice& slice, const ArgTexts& texts);

  size_t size() const { return spans_.size(); }
  const Span& operator[](size_t index) const { return spans_[index]; }
  // Returns the span that is the parent of that one; kNone if it has none, or
  // if that is missing.
  uint32_t ParentOf(uint32_t index) const;

 private:
  static uint64_t KeyOf(const TraceId& trace_id, const SpanId& id);

  std::deque<Span> spans_;
  protozero::internal::IdMap by_key_;  // The first span of each KeyOf().
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_OTEL_SPANS_H_
