// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_SPAN_H_
#define INCLUDE_PROTOZERO_OTLP_SPAN_H_

#include <stdint.h>

#include <exception>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "protozero/otlp/attribute_value.h"
#include "protozero/otlp/trace_context.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

namespace internal {
struct ScopeState;
struct Slot;

// Makes the context of a span. A null parent stands for the current one.
SpanContext MakeContext(ScopeState*, const SpanContext* parent) noexcept;

// Append to a span or log that is open.
void AddText(Slot*, std::string_view key, std::string_view value) noexcept;
void AddBool(Slot*, std::string_view key, bool value) noexcept;
void AddInt(Slot*, std::string_view key, int64_t value) noexcept;
void AddDouble(Slot*, std::string_view key, double value) noexcept;
void AddValue(Slot*, std::string_view key, const AttributeValue&) noexcept;

PROTOZERO_ALWAYS_INLINE void AddAttribute(Slot* slot,
                                          std::string_view key,
                                          const AttributeValue& value) {
  switch (value.type()) {
    case AttributeValue::Type::kString:
      return AddText(slot, key, value.text());
    case AttributeValue::Type::kBool:
      return AddBool(slot, key, value.int_value() != 0);
    case AttributeValue::Type::kInt:
      return AddInt(slot, key, value.int_value());
    case AttributeValue::Type::kDouble:
      return AddDouble(slot, key, value.double_value());
    case AttributeValue::Type::kUint:
    case AttributeValue::Type::kBytes:
    case AttributeValue::Type::kArray:
      return AddValue(slot, key, value);
  }
}
}  // namespace internal

// The part that a span has in a call between programs.
enum class SpanKind : uint8_t {
  kInternal = 1,
  kServer = 2,
  kClient = 3,
  kProducer = 4,
  kConsumer = 5,
};

// The outcome of an operation.
enum class StatusCode : uint8_t { kUnset = 0, kOk = 1, kError = 2 };

// An operation, from Tracer::StartSpan() to End() or its destructor. What is
// set is serialized at once, into memory that the span has for itself.
//
// A span that is not recorded, because it was not sampled, or tracing is off,
// or memory was short, ignores all calls. Its context() is still that of a
// span, if tracing is on, so that others follow its decision.
//
// One thread at a time may use a span. Another one may end it. Texts that are
// not UTF-8 get question marks; Account::repaired_texts counts them.
class Span {
 public:
  // Makes a span that is not recorded, without a context.
  Span() noexcept {}  // A default one would write zeros first.
  Span(Span&& other) noexcept
      : slot_(std::exchange(other.slot_, nullptr)),
        context_(std::move(other.context_)) {}
  Span& operator=(Span&& other) noexcept {
    if (this != &other) {
      End();
      slot_ = std::exchange(other.slot_, nullptr);
      context_ = std::move(other.context_);
    }
    return *this;
  }
  ~Span() { End(); }

  // Return false if calls have no effect, and the identity of the span.
  bool IsRecording() const { return slot_ != nullptr; }
  const SpanContext& context() const { return context_; }

  // Sets an attribute. The last value of a key counts. A key that is empty, or
  // beyond the limit, is counted in the span as dropped.
  PROTOZERO_ALWAYS_INLINE Span& SetAttribute(std::string_view key,
                                             const AttributeValue& value) {
    if (PROTOZERO_LIKELY(slot_ != nullptr))
      internal::AddAttribute(slot_, key, value);
    return *this;
  }
  Span& SetAttributes(Attributes attributes) {
    for (const Attribute& attribute : attributes)
      SetAttribute(attribute.key, attribute.value);
    return *this;
  }

  // Adds an event, at this time or at a Unix time in nanoseconds.
  void AddEvent(std::string_view name,
                Attributes attributes = {},
                uint64_t unix_time_ns = 0) noexcept {
    if (slot_ != nullptr)
      WriteEvent(name, attributes, unix_time_ns);
  }
  // Adds an event as the specification wants it of an exception.
  void RecordException(std::string_view type,
                       std::string_view message,
                       std::string_view stack_trace = {}) noexcept;
  // Adds that event with the exception's own type, for whose name it allocates
  // memory for a moment. Code without RTTI writes std::exception.
  void RecordException(const std::exception& exception) noexcept {
    if (slot_ == nullptr)
      return;
#if defined(__cpp_rtti)
    WriteException(typeid(exception).name(), exception.what());
#else
    RecordException("std::exception", exception.what());
#endif
  }

  // Adds a link to another span. One to an invalid context is counted in the
  // span as dropped.
  void AddLink(const SpanContext& other, Attributes attributes = {}) noexcept {
    if (slot_ != nullptr)
      WriteLink(other, attributes);
  }

  // Sets the status. As the specification says, kUnset changes nothing, kOk is
  // final, and only kError has a description.
  void SetStatus(StatusCode code, std::string_view description = {}) noexcept {
    if (slot_ != nullptr)
      WriteStatus(code, description);
  }

  // Gives it another name.
  void UpdateName(std::string_view name) noexcept;

  // Ends it, now or at a Unix time in nanoseconds. Once it has ended, all calls
  // are ignored.
  void End(uint64_t unix_time_ns = 0) noexcept {
    if (slot_ != nullptr)
      EndRecording(unix_time_ns);
  }

 private:
  friend class Tracer;
  // Begins one, and records it if it is sampled.
  PROTOZERO_ALWAYS_INLINE Span(internal::ScopeState* scope,
                               std::string_view name,
                               SpanKind kind,
                               const SpanContext* parent,
                               uint64_t start_unix_time_ns = 0) noexcept
      : context_(internal::MakeContext(scope, parent)) {
    if (context_.IsSampled())
      StartRecording(scope, name, kind, parent);
    else
      slot_ = nullptr;  // Again, since the compiler cannot know it.
    if (start_unix_time_ns != 0 && slot_ != nullptr)
      SetStart(start_unix_time_ns);
  }
  void StartRecording(internal::ScopeState*,
                      std::string_view,
                      SpanKind,
                      const SpanContext*) noexcept;
  void SetStart(uint64_t) noexcept;
  void WriteEvent(std::string_view, Attributes, uint64_t) noexcept;
  void WriteException(const char* mangled_type, const char* message) noexcept;
  void WriteLink(const SpanContext&, Attributes) noexcept;
  void WriteStatus(StatusCode, std::string_view) noexcept;
  void EndRecording(uint64_t) noexcept;

  internal::Slot* slot_ = nullptr;
  SpanContext context_;
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_SPAN_H_
