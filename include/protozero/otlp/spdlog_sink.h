// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_SPDLOG_SINK_H_
#define INCLUDE_PROTOZERO_OTLP_SPDLOG_SINK_H_

#include <stdint.h>

#include <chrono>
#include <string_view>
#include <type_traits>

#include "protozero/otlp/log.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

namespace internal {
// Returns the type of a sink's messages, from its function log().
template <typename Sink, typename Message>
Message* MessageOf(void (Sink::*)(const Message&));
}  // namespace internal

// A sink of spdlog, which writes its lines as logs with the ids of the thread's
// current span. Its base is a sink without a lock, for logs need none:
//
//   using NoLock = spdlog::sinks::base_sink<spdlog::details::null_mutex>;
//   auto sink = std::make_shared<otlp::SpdlogSink<NoLock>>(logger);
//   spdlog::default_logger()->sinks().push_back(sink);
//
// The body is the text without spdlog's pattern; the name of spdlog's logger,
// and the place in the source, if it is known, are attributes. With an
// asynchronous logger, another thread writes the logs, which has no span. This
// header includes nothing of spdlog: it knows the types by those of the base.
template <typename BaseSink>
class SpdlogSink : public BaseSink {
 public:
  // Makes a sink that writes to |logger|.
  explicit SpdlogSink(const Logger& logger) : logger_(logger) {}

 protected:
  using Message =
      std::remove_pointer_t<decltype(internal::MessageOf(&BaseSink::log))>;

  void sink_it_(const Message& message) override {
    LogOptions options;
    options.unix_time_ns = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(
            message.time.time_since_epoch())
            .count());
    Log log(logger_, SeverityOf(static_cast<int>(message.level)),
            std::string_view(message.payload.data(), message.payload.size()),
            options);
    if (message.logger_name.size() != 0) {
      log.SetAttribute("logger.name",
                       std::string_view(message.logger_name.data(),
                                        message.logger_name.size()));
    }
    if (message.source.line > 0) {
      log.SetAttribute("code.file.path", message.source.filename)
          .SetAttribute("code.line.number", message.source.line)
          .SetAttribute("code.function.name", message.source.funcname);
    }
  }
  void flush_() override {}

 private:
  // spdlog's levels are trace, debug, info, warn, err, critical, from 0 on.
  static Severity SeverityOf(int level) {
    return static_cast<Severity>(level < 0 || level > 5
                                     ? 0
                                     : static_cast<int>(Severity::kTrace) +
                                           4 * level);
  }

  const Logger logger_;
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_SPDLOG_SINK_H_
