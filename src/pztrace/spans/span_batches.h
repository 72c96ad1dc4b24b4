// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SPANS_SPAN_BATCHES_H_
#define SRC_PZTRACE_SPANS_SPAN_BATCHES_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "protozero/otlp/batch_sink.h"

namespace pztrace {

// Returns the time on the monotonic clock by which a batch has to be sent that
// is begun now.
uint64_t BatchDeadline();

// Collects spans and logs, and sends them to a sink, by resources and scopes.
class SpanBatches {
 public:
  explicit SpanBatches(protozero::otlp::BatchSink* sink) : sink_(sink) {}

  // Adds the bytes of a Span or a LogRecord. |resource| are those of the
  // Resource.
  void Add(protozero::otlp::Signal signal,
           const std::string& resource,
           const std::string& scope,
           std::string_view record);
  // Sends what there is.
  void SendAll();
  // The same, and has the sink write it.
  void Flush();

  uint64_t exported() const { return exported_; }
  // Counts those that the sink did not deliver; and its last reason.
  uint64_t failed() const { return failed_; }
  const std::string& reason() const { return reason_; }

 private:
  static constexpr size_t kMaxBytes = size_t{1} << 20;
  static constexpr uint32_t kMaxCount = 4096;

  // The fields with records, by the resource and the scope.
  struct Collected {
    std::map<std::pair<std::string, std::string>, std::string> records;
    size_t bytes = 0;
    uint32_t count = 0;
  };

  void Send(protozero::otlp::Signal signal);

  protozero::otlp::BatchSink* const sink_;
  Collected collected_[2];
  uint64_t exported_ = 0;
  uint64_t failed_ = 0;
  std::string reason_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SPANS_SPAN_BATCHES_H_
