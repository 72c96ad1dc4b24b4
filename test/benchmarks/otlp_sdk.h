// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Spans in the way of OpenTelemetry's SDK for C++, to compare with: a span is a
// shared object with a mutex and a message of libprotobuf on the heap, which
// attributes are added to when they are set. A thread copies the messages of
// ended spans into a request, and serializes it.

#ifndef TEST_BENCHMARKS_OTLP_SDK_H_
#define TEST_BENCHMARKS_OTLP_SDK_H_

#include <stddef.h>
#include <stdint.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "protozero/otlp/batch_sink.h"
#include "protozero/otlp/span.h"
#include "protozero/otlp/trace_context.h"
#include "src/otlp/protos/otlp.pb.h"

namespace protozero::bench::sdk {

// The data of a span.
struct Recordable {
  void SetAttribute(std::string_view key, const otlp::AttributeValue& value);

  opentelemetry::proto::Span message;
};

// Takes the spans that have ended.
class Processor {
 public:
  virtual ~Processor() = default;
  virtual void OnEnd(std::unique_ptr<Recordable>) = 0;
};

// A span that is open. Copies share it.
class Span {
 public:
  Span(Processor* processor,
       std::string_view name,
       otlp::SpanKind kind,
       const otlp::SpanContext& parent);
  Span(Span&&) = default;
  ~Span() { End(); }

  const otlp::SpanContext& context() const { return state_->context; }
  Span& SetAttribute(std::string_view key, const otlp::AttributeValue& value);
  void SetStatus(otlp::StatusCode code, std::string_view description);
  void End();

 private:
  struct State {
    std::mutex mutex;
    std::unique_ptr<Recordable> recordable;
    otlp::SpanContext context;
    std::chrono::steady_clock::time_point start;
    Processor* processor;
  };
  std::shared_ptr<State> state_;
};

// Begins spans, as otlp::Tracer does.
class Tracer {
 public:
  explicit Tracer(Processor* processor) : processor_(processor) {}

  Span StartSpan(std::string_view name,
                 otlp::SpanKind kind = otlp::SpanKind::kInternal) const {
    return Span(processor_, name, kind, otlp::CurrentContext());
  }
  Span StartSpan(std::string_view name,
                 otlp::SpanKind kind,
                 const otlp::SpanContext& parent) const {
    return Span(processor_, name, kind, parent);
  }

 private:
  Processor* processor_;
};

// Serializes a request of these spans, which are copied into it. The request is
// on an arena, as in the newest SDK, or on the heap.
std::string SerializeSpans(
    const std::vector<std::unique_ptr<Recordable>>& spans,
    bool uses_arena);

// Queues spans, and gives batches of them to a sink, from a thread. The numbers
// are the SDK's defaults, but for the queue: it has the room that otlp_server
// gives to its threads. The default, 2,048, loses spans in each burst.
class BatchProcessor : public Processor {
 public:
  static constexpr size_t kQueueSize = 32768;
  static constexpr size_t kBatchSize = 512;
  static constexpr std::chrono::seconds kDelay{5};

  // REQUIRES: the sink outlives it.
  explicit BatchProcessor(otlp::BatchSink* sink)
      : sink_(sink), thread_([this] { Run(); }) {}
  ~BatchProcessor() override { Shutdown(); }

  void OnEnd(std::unique_ptr<Recordable> recordable) override;
  // Exports what is left, and ends the thread.
  void Shutdown();

  // Return the numbers of spans that ended, that the sink exported, and that
  // found the queue full.
  uint64_t written() const { return written_; }
  uint64_t exported() const { return exported_; }
  uint64_t dropped() const { return dropped_; }

 private:
  void Run();
  void Export(const std::vector<std::unique_ptr<Recordable>>&);

  otlp::BatchSink* const sink_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Recordable>> queue_;
  bool is_ending_ = false;
  uint64_t written_ = 0;
  uint64_t dropped_ = 0;
  uint64_t exported_ = 0;
  std::thread thread_;  // The last member: it uses the others.
};

}  // namespace protozero::bench::sdk

#endif  // TEST_BENCHMARKS_OTLP_SDK_H_
