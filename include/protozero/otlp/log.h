// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_LOG_H_
#define INCLUDE_PROTOZERO_OTLP_LOG_H_

#include <stdint.h>

#include <string_view>

#include "protozero/otlp/attribute_value.h"
#include "protozero/otlp/span.h"
#include "protozero/otlp/tracer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

// The first number of each range of severities. Others are allowed.
enum class Severity : uint8_t {
  kUnspecified = 0,
  kTrace = 1,
  kDebug = 5,
  kInfo = 9,
  kWarn = 13,
  kError = 17,
  kFatal = 21,
};

class Log;

// Writes logs. Keep one for each library or part of a program.
class Logger {
 public:
  // Makes a logger that writes nothing.
  Logger() = default;
  explicit Logger(const Pipeline& pipeline,
                  std::string_view name,
                  std::string_view version = {},
                  std::string_view schema_url = {})
      : scope_(
            internal::AddScope(pipeline.state(), name, version, schema_url)) {}

  // Returns false if logs are not written.
  bool IsEnabled() const {
    return scope_->is_enabled.load(std::memory_order_relaxed) != 0;
  }

 private:
  friend class Log;
  internal::ScopeState* scope_ = &internal::no_scope;
};

// The settings of a log that most logs have no need of.
struct LogOptions {
  // The name of the severity in the program's words.
  std::string_view severity_text;
  std::string_view event_name;
  // The time of the event, as Unix time in nanoseconds; 0 for now.
  uint64_t unix_time_ns = 0;
  // The span that it belongs to; null for the thread's current one.
  const SpanContext* context = nullptr;
};

// A log record, with the ids of the thread's current span. The destructor
// writes it:
//
//   otlp::Log(logger, otlp::Severity::kWarn, "retry")
//       .SetAttribute("attempt", 3);
class Log {
 public:
  // Begins a log.
  Log(const Logger& logger,
      Severity severity,
      const AttributeValue& body,
      const LogOptions& options = {}) noexcept {
    if (logger.IsEnabled())
      Start(logger.scope_, severity, body, options);
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() {
    if (slot_ != nullptr)
      End();
  }

  // Sets an attribute, as Span::SetAttribute() does.
  PROTOZERO_ALWAYS_INLINE Log& SetAttribute(std::string_view key,
                                            const AttributeValue& value) {
    if (slot_ != nullptr)
      internal::AddAttribute(slot_, key, value);
    return *this;
  }

 private:
  void Start(internal::ScopeState*,
             Severity,
             const AttributeValue&,
             const LogOptions&) noexcept;
  void End() noexcept;

  internal::Slot* slot_ = nullptr;
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_LOG_H_
