// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/otel_spans.h"

#include <string.h>

#include <algorithm>

#include "src/pztrace/events/arg_decoder.h"
#include "src/pztrace/events/otel_args.h"

namespace pztrace {

void OtelSpans::Add(const protozero::Slice& slice, const ArgTexts& texts) {
  constexpr uint32_t kClientKind = 3;
  constexpr uint32_t kErrorStatus = 2;
  const std::string& args = slice.details->args;
  // The other slices need not be decoded. Names as short as this one are not
  // shared.
  static_assert(ArgTexts::kMaxShort >= 13, "");
  if (args.find("otel.trace_id") == std::string::npos)
    return;
  OtelArgs otel;
  OtelArgsSink sink(&otel);
  DecodeArgs(args, texts, UniqueNames::kByText, &sink);
  if (otel.trace_id.empty() || otel.span_id.empty())
    return;
  Span span{};
  span.track = slice.track;
  span.begin_ns = slice.begin_ns;
  span.end_ns = slice.begin_ns + slice.duration_ns;
  span.name = &slice.text->name;
  std::copy(otel.trace_id.begin(), otel.trace_id.end(), span.trace_id.begin());
  std::copy(otel.span_id.begin(), otel.span_id.end(), span.id.begin());
  std::copy(otel.parent_id.begin(), otel.parent_id.end(),
            span.parent_id.begin());
  span.depth = slice.depth;
  span.is_client = otel.kind == kClientKind;
  span.is_failed = otel.status == kErrorStatus;
  by_key_.Insert(KeyOf(span.trace_id, span.id),
                 static_cast<uint32_t>(spans_.size()));
  spans_.push_back(span);
}

uint32_t OtelSpans::ParentOf(uint32_t index) const {
  const Span& span = spans_[index];
  if (span.parent_id == SpanId{})
    return kNone;
  const uint32_t found = by_key_.Find(KeyOf(span.trace_id, span.parent_id));
  // Keys may collide, and a span may claim to be its own parent.
  if (found == kNone || found == index || spans_[found].id != span.parent_id ||
      spans_[found].trace_id != span.trace_id) {
    return kNone;
  }
  return found;
}

uint64_t OtelSpans::KeyOf(const TraceId& trace_id, const SpanId& id) {
  uint64_t words[3];
  memcpy(words, trace_id.data(), 16);
  memcpy(words + 2, id.data(), 8);
  using protozero::internal::HashOfId;
  return HashOfId(HashOfId(words[0]) ^ words[1]) ^ words[2];
}

}  // namespace pztrace
