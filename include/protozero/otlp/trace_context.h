// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_TRACE_CONTEXT_H_
#define INCLUDE_PROTOZERO_OTLP_TRACE_CONTEXT_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

namespace internal {
struct UndecidedTrace;
struct SharedText;
}  // namespace internal

// Random bytes. Zeros are no id.
template <size_t kBytes>
struct RandomId {
  static constexpr size_t kSize = kBytes;

  // Returns false if all bytes are zeros.
  bool IsValid() const {
    uint8_t any = 0;
    for (const uint8_t byte : bytes)
      any = static_cast<uint8_t>(any | byte);
    return any != 0;
  }
  // Returns lower-case hexadecimal digits.
  std::string Hex() const {
    std::string text;
    for (const uint8_t byte : bytes) {
      text += "0123456789abcdef"[byte >> 4];
      text += "0123456789abcdef"[byte & 15];
    }
    return text;
  }
  friend bool operator==(const RandomId& a, const RandomId& b) {
    return memcmp(a.bytes, b.bytes, kBytes) == 0;
  }
  friend bool operator!=(const RandomId& a, const RandomId& b) {
    return !(a == b);
  }

  // The bytes, in the order of the protocol.
  alignas(8) uint8_t bytes[kBytes] = {};
};
// The id of a trace, and that of a span.
using TraceId = RandomId<16>;
using SpanId = RandomId<8>;

// The header `tracestate`: entries of vendors, which travel with the trace. It
// is immutable, and copies share its text. An empty one allocates nothing.
class TraceState {
 public:
  TraceState() = default;
  TraceState(const TraceState& other) : text_(other.text_) {
    if (PROTOZERO_UNLIKELY(text_ != nullptr))
      Share();
  }
  TraceState(TraceState&& other) noexcept : text_(other.text_) {
    other.text_ = nullptr;
  }
  // Takes the text of another one.
  TraceState& operator=(TraceState other) noexcept {
    internal::SharedText* text = text_;
    text_ = other.text_;
    other.text_ = text;
    return *this;
  }
  ~TraceState() {
    if (PROTOZERO_UNLIKELY(text_ != nullptr))
      Release();
  }

  // Returns the entries of a header. Several headers of that name are first put
  // together, with commas. Null if the text is malformed, has a key twice or
  // has more than 32 entries: then the whole header is to be ignored.
  static std::optional<TraceState> Parse(std::string_view header);

  // Returns the header; empty if there are no entries.
  std::string_view Text() const;
  bool empty() const { return text_ == nullptr; }
  // Returns the value of a key. The text lives as long as this.
  std::optional<std::string_view> Get(std::string_view key) const;
  // Returns a copy with the entry in front. The last one goes when there are
  // more than 32. Null if key or value are malformed.
  std::optional<TraceState> With(std::string_view key,
                                 std::string_view value) const;
  // Returns a copy without the key.
  TraceState Without(std::string_view key) const;

 private:
  static TraceState OfText(std::string_view text);
  void Share() const;
  void Release() noexcept;

  internal::SharedText* text_ = nullptr;
};

// The identity of a span, which its children and other programs know it by.
//
// It begins as the record that profilers read (OTEP 4947), so that the current
// context of a thread is published by its address alone:
//
//   0          16        24      25      26                28
//   | trace id | span id | valid | flags | attributes size | ours ...
class SpanContext {
 public:
  // The bit of |flags| that says that the trace is recorded.
  static constexpr uint8_t kSampled = 1;
  // The size of the header `traceparent`.
  static constexpr size_t kTraceParentSize = 55;

  SpanContext() = default;
  // Makes the context of a span of another program.
  SpanContext(const TraceId& trace, const SpanId& span, uint8_t trace_flags)
      : trace_id(trace), span_id(span), flags(trace_flags), is_remote(true) {}

  // Returns the context in a header `traceparent`, by the rules of W3C Trace
  // Context: null if it is malformed, or an id is zero. Of a version after 00,
  // it takes the parts that version 00 has. A malformed |trace_state| is
  // ignored.
  static std::optional<SpanContext> FromHeaders(
      std::string_view trace_parent,
      std::string_view trace_state = {});

  // Writes the header `traceparent`, kTraceParentSize characters without a
  // zero at the end. The first form allocates nothing.
  void WriteTraceParent(char* text) const;
  std::string TraceParent() const;

  // Return true if both ids are ids, and if the trace is recorded.
  bool IsValid() const { return trace_id.IsValid() && span_id.IsValid(); }
  bool IsSampled() const { return (flags & kSampled) != 0; }

  // The ids.
  TraceId trace_id;
  SpanId span_id;
  // Says to profilers that the record is whole: always 1.
  uint8_t valid = 1;
  // The flags of W3C Trace Context.
  uint8_t flags = 0;
  // The size of attributes for profilers: always 0.
  uint16_t attributes_size = 0;
  // It came from another program.
  bool is_remote = false;
  // In this order, the zeros of an empty context are whole words: a span of a
  // disabled tracer is one.
  TraceState trace_state;
  // The record, number and pipeline of a trace that a KeepRule decides.
  internal::UndecidedTrace* undecided = nullptr;
  uint32_t undecided_number = 0;
  uint32_t undecided_pipeline = 0;
};
static_assert(offsetof(SpanContext, trace_id) == 0 &&
                  offsetof(SpanContext, span_id) == 16 &&
                  offsetof(SpanContext, valid) == 24 &&
                  offsetof(SpanContext, flags) == 25 &&
                  offsetof(SpanContext, attributes_size) == 26,
              "the record of OTEP 4947");

namespace internal {
#define PROTOZERO_OTLP_TEXT_(text) #text
#define PROTOZERO_OTLP_SYMBOL_(prefix) \
  PROTOZERO_OTLP_TEXT_(prefix) "_otlp_current_context"
// The context of the span that the thread works for; null for none. Profilers
// know it as `otel_thread_ctx_v1`. It is no thread_local, whose users would
// call a function that looks if it has a constructor.
extern PROTOZERO_HIDDEN __thread const SpanContext* current_context __asm__(
    PROTOZERO_OTLP_SYMBOL_(PROTOZERO_ABI_NAMESPACE));
#undef PROTOZERO_OTLP_TEXT_
#undef PROTOZERO_OTLP_SYMBOL_

// Sets it. A profiler interrupts the thread at any instruction, so the compiler
// must not move what is written before or after.
PROTOZERO_ALWAYS_INLINE void SetCurrentContext(const SpanContext* context) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  current_context = context;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
}  // namespace internal

// Returns the context of the span that the calling thread works for; an invalid
// one if there is none. It is a copy.
inline SpanContext CurrentContext() {
  return internal::current_context != nullptr ? *internal::current_context
                                              : SpanContext();
}

// Makes a span the one that the calling thread works for: the parent of those
// that begin while the scope lives, and the span of logs. It ends in the
// reverse order of beginning, on the same thread or in the same TaskContext.
class Scope {
 public:
  // Begins the scope.
  explicit Scope(const SpanContext& context)
      : context_(context), before_(internal::current_context) {
    internal::SetCurrentContext(&context_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {
    // A task that is destroyed while it does not run changes no thread.
    if (PROTOZERO_LIKELY(internal::current_context == &context_))
      internal::SetCurrentContext(before_);
  }

 private:
  const SpanContext context_;
  const SpanContext* before_;
};

// The current span of a coroutine, fiber or other task, which moves between
// threads: call Resume() where a thread begins to run the task, and Suspend()
// where it stops, on the same thread. The scopes that the task has opened are
// then those of whichever thread runs it. A new one begins with no span, or
// with a given one, such as CurrentContext() of its creator.
class TaskContext {
 public:
  TaskContext() = default;
  // Makes the context of a task that works for a span.
  explicit TaskContext(const SpanContext& first)
      : first_(first), current_(&first_) {}
  TaskContext(const TaskContext&) = delete;
  TaskContext& operator=(const TaskContext&) = delete;

  // Bring the context to the calling thread, and take it away again.
  void Resume() { Swap(); }
  void Suspend() { Swap(); }

 private:
  void Swap() {
    const SpanContext* const other = internal::current_context;
    internal::SetCurrentContext(current_);
    current_ = other;
  }

  const SpanContext first_;
  const SpanContext* current_ = nullptr;
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_TRACE_CONTEXT_H_
