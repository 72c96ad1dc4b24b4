// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_PIPELINE_H_
#define INCLUDE_PROTOZERO_OTLP_PIPELINE_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>
#include <vector>

#include "protozero/otlp/attribute_value.h"
#include "protozero/otlp/batch_sink.h"
#include "protozero/otlp/keep_rule.h"
#include "protozero/otlp/sampler.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

namespace internal {
class PipelineState;
}  // namespace internal

// The settings of a Pipeline. The limits are those of OpenTelemetry's
// specification.
struct PipelineOptions {
  // The program that writes, as attributes: `service.name` and others. A key
  // that stands twice has the last value.
  std::vector<Attribute> resource;
  std::string_view resource_schema_url;
  Sampler sampler = Sampler::ParentBased(Sampler::AlwaysOn());
  KeepRule keep_rule;

  // The most attributes of a span or log. Further ones are counted in it.
  uint32_t attribute_count_limit = 128;
  // The most bytes of an attribute's text, or of each text in an array. What is
  // beyond is cut off between characters.
  size_t attribute_value_length_limit = SIZE_MAX;
  uint32_t event_count_limit = 128;
  uint32_t link_count_limit = 128;
  uint32_t attribute_per_event_count_limit = 128;
  uint32_t attribute_per_link_count_limit = 128;
  // The most bytes of one span or log. What does not fit is counted in it.
  size_t record_size_limit = 1 << 20;

  // The memory for open and ended spans and logs that are not exported yet, of
  // all threads.
  size_t memory_limit = 64 << 20;
  // The part of it that a thread takes for ended ones. A power of two from 4
  // KiB on; others are rounded up. New threads take less when more than half of
  // the memory is used.
  size_t thread_buffer_size = 256 << 10;

  // Export begins when so much time has passed, or a thread's buffer is half
  // full.
  uint32_t export_interval_ms = 1000;
  // The time that the sink has for a batch; 0 for no limit.
  uint32_t export_timeout_ms = 30000;
  // The most spans or logs of a batch, and the most bytes of them, unless a
  // single one has more.
  uint32_t max_batch_count = 512;
  size_t max_batch_bytes = 1 << 20;
  // Lets profilers outside of the process see the current span of each thread,
  // as OTEP 4947 says (`otel_thread_ctx_v1`), and the resource. It costs
  // nothing in a Scope. Link programs with
  // -Wl,--export-dynamic-symbol=otel_thread_ctx_v1; LastError() tells if that
  // is missing.
  bool publish_thread_context = false;

  // The time that the destructor gives to the export of what is left.
  uint32_t shutdown_timeout_ms = 5000;
};

// The fate of all spans, or of all logs, since the pipeline began, or since the
// last fork() in a child. At any time:
//
//   written = exported + rejected + dropped() + kept
struct Account {
  // All that were sampled and have ended, or were lost when they began.
  uint64_t written = 0;
  // The numbers that the sink has delivered, and that its receiver refused.
  uint64_t exported = 0;
  uint64_t rejected = 0;
  // The number in memory.
  uint64_t kept = 0;

  // The losses, by reason. The memory limit was reached:
  uint64_t no_memory = 0;
  // The buffer of the thread was full, since export is slower than writing.
  uint64_t buffer_full = 0;
  // The sink could not deliver them.
  uint64_t export_failed = 0;
  // The pipeline had been shut down.
  uint64_t after_shutdown = 0;
  // The KeepRule did not want them, or undecided ones had to make room.
  uint64_t not_wanted = 0;
  uint64_t undecided = 0;

  // Returns how many are lost, for all reasons.
  uint64_t dropped() const {
    return no_memory + buffer_full + export_failed + after_shutdown +
           not_wanted + undecided;
  }

  // Texts in spans and logs that were not UTF-8, which receivers refuse. The
  // wrong bytes are question marks now.
  uint64_t repaired_texts = 0;
};

// Takes spans and logs from all threads to a sink. Threads write without locks
// into buffers of their own; a thread of the pipeline makes batches of them.
//
//   otlp::FileExporter exporter("spans.otlp");
//   otlp::PipelineOptions options;
//   options.resource = {{"service.name", "shop"}};
//   otlp::Pipeline pipeline(options, &exporter);
//   otlp::Tracer tracer(pipeline, "shop.checkout");
//
// Any thread may call its functions. After a fork(), the child exports what it
// writes itself: what was written before is the parent's. A span that is open
// meanwhile is exported by each process that ends it. REQUIRES: the sink
// outlives it, and nothing uses its tracers and loggers while it is destroyed
// or after. A span that is still open then may be destroyed later.
class Pipeline {
 public:
  // Begins to export. Texts in |options| are copied.
  Pipeline(const PipelineOptions& options, BatchSink* sink);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Exports what had ended before the call. False if that took longer than the
  // time, or the sink failed.
  bool Flush(uint32_t timeout_ms);
  // Exports what there is, and then nothing more. Later spans are counted as
  // dropped. What is not exported in time is dropped.
  bool Shutdown(uint32_t timeout_ms);

  // Turns writing off and on: a span that begins while it is off is none.
  void SetEnabled(bool enabled);

  // Return the account of all spans, and of all logs.
  Account Spans() const;
  Account Logs() const;
  // Returns the last reason that the sink gave for spans or logs that it did
  // not deliver, or else why a call failed; empty if there is none.
  std::string LastError() const;

  // Returns the part that tracers and loggers write to, for this library alone.
  internal::PipelineState* state() const { return state_; }

 private:
  internal::PipelineState* state_;
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_PIPELINE_H_
