// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_TRACER_H_
#define INCLUDE_PROTOZERO_OTLP_TRACER_H_

#include <stdint.h>

#include <atomic>
#include <string_view>

#include "protozero/otlp/pipeline.h"
#include "protozero/otlp/span.h"
#include "protozero/otlp/trace_context.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

namespace internal {
// A tracer or logger of a pipeline: its instrumentation scope, serialized.
struct ScopeState {
  constexpr explicit ScopeState(PipelineState* owner)
      : pipeline(owner), is_enabled(owner != nullptr) {}
  PipelineState* const pipeline;
  // A flag. Compilers test a bool that is atomic in two instructions.
  std::atomic<uint8_t> is_enabled;
  // Its number in the records of the pipeline.
  uint16_t number = 0;
};

// The scope of tracers and loggers that write nothing.
inline ScopeState no_scope(nullptr);

// Registers a scope, or returns the one that is registered with these texts.
// It is no_scope for the 65,537th.
ScopeState* AddScope(PipelineState*,
                     std::string_view name,
                     std::string_view version,
                     std::string_view schema_url);
}  // namespace internal

// The settings of a span that most spans have no need of.
struct SpanOptions {
  SpanKind kind = SpanKind::kInternal;
  // The parent. Null stands for the thread's current span, and an invalid
  // context for none: the span begins a new trace.
  const SpanContext* parent = nullptr;
  // The beginning, as Unix time in nanoseconds; 0 for now.
  uint64_t start_unix_time_ns = 0;
};

// Begins spans. Make one for each library or part of a program, and keep it: a
// copy is as good.
class Tracer {
 public:
  // Makes a tracer whose spans are never recorded.
  Tracer() = default;
  explicit Tracer(const Pipeline& pipeline,
                  std::string_view name,
                  std::string_view version = {},
                  std::string_view schema_url = {})
      : scope_(
            internal::AddScope(pipeline.state(), name, version, schema_url)) {}

  // Begins a span whose parent is the thread's current one, if there is one.
  PROTOZERO_ALWAYS_INLINE Span
  StartSpan(std::string_view name,
            SpanKind kind = SpanKind::kInternal) const noexcept {
    return PROTOZERO_LIKELY(IsEnabled()) ? Span(scope_, name, kind, nullptr)
                                         : Span();
  }
  // Begins a span of this parent.
  PROTOZERO_ALWAYS_INLINE Span
  StartSpan(std::string_view name,
            SpanKind kind,
            const SpanContext& parent) const noexcept {
    return PROTOZERO_LIKELY(IsEnabled()) ? Span(scope_, name, kind, &parent)
                                         : Span();
  }
  PROTOZERO_ALWAYS_INLINE Span
  StartSpan(std::string_view name, const SpanOptions& options) const noexcept {
    return PROTOZERO_LIKELY(IsEnabled())
               ? Span(scope_, name, options.kind, options.parent,
                      options.start_unix_time_ns)
               : Span();
  }

  // Returns false if spans are not recorded.
  bool IsEnabled() const {
    return scope_->is_enabled.load(std::memory_order_relaxed) != 0;
  }

 private:
  internal::ScopeState* scope_ = &internal::no_scope;
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_TRACER_H_
