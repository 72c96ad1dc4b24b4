// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_BATCH_SINK_H_
#define INCLUDE_PROTOZERO_OTLP_BATCH_SINK_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

// The kind of records in a batch.
enum class Signal : uint8_t { kSpans, kLogs };

// A whole request: the bytes of an ExportTraceServiceRequest or
// ExportLogsServiceRequest, which are also those of TracesData and LogsData.
struct Batch {
  Signal signal;
  const uint8_t* data;
  size_t size;
  // The number of spans, or of logs.
  uint32_t count;
  // The time on the monotonic clock, in nanoseconds, by which Export() returns.
  uint64_t deadline;
};

// The fate of a batch. All that is neither exported nor rejected is counted as
// dropped.
struct ExportResult {
  static ExportResult Exported(const Batch& batch) {
    return {batch.count, 0, nullptr};
  }
  static ExportResult Dropped(const char* why) { return {0, 0, why}; }

  // The number of records that have arrived.
  uint32_t exported = 0;
  // The number that the receiver got and refused, as in a partial success.
  uint32_t rejected = 0;
  // The reason if not all were exported: a text that lives until the next call.
  const char* reason = nullptr;
};

// Takes the batches of a Pipeline to where they go. The pipeline calls
// Export() and Flush() from one thread at a time, which is its own; after a
// fork(), in the child, from a new one.
class BatchSink {
 public:
  virtual ~BatchSink() = default;

  // Sends the batch, and tries again where that makes sense, until it is
  // decided, the batch's deadline has passed, or Interrupt() is called.
  virtual ExportResult Export(const Batch& batch) = 0;

  // Writes what it holds back. False if that failed.
  virtual bool Flush() { return true; }

  // Makes an Export() that waits return soon, and all later ones return
  // without waiting. Called from another thread when the pipeline shuts down
  // and its time is over.
  virtual void Interrupt() {}

  // Called in the child of a fork(), before its first Export(): no other
  // thread of the parent exists there.
  virtual void AfterFork() {}
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_BATCH_SINK_H_
