// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_TRACE_DRAIN_H_
#define SRC_PZTRACE_RECORD_TRACE_DRAIN_H_

#include <stdint.h>

#include "protozero/tracing/tracing_service.h"
#include "src/pztrace/trace_file/trace_output.h"

namespace pztrace {

// Takes packets from the buffers of a session to the output, a batch at a time.
// While the output takes none, packets stay in the buffers, which limit how
// much can wait. The service goes on: no reader keeps it from its work.
class TraceDrain {
 public:
  // Reads every |period_ms|; 0 for at the end only. REQUIRES: the other objects
  // outlive it.
  TraceDrain(protozero::TracingService* service,
             protozero::TracingSessionID session,
             TraceOutput* output,
             uint32_t period_ms);

  // To be called between two calls of the host. Stops the session if it cannot
  // go on. Returns how many milliseconds the host may wait, UINT32_MAX for any
  // time.
  uint32_t Run();
  // Says that a buffer is half full: Run() reads at once.
  void RunSoon() { next_ms_ = 0; }
  // Reads a part of what there is, if the output takes some. Returns whether
  // that was all; then everything is in the output, too.
  bool ReadSome();
  // Reads everything, however long that takes. Returns false if the file takes
  // no more, or if there is no memory.
  bool ReadAll();

  // Returns true if a lack of memory kept a part of the trace from being read.
  bool is_out_of_memory() const { return is_out_of_memory_; }

 private:
  protozero::TracingService* const service_;
  const protozero::TracingSessionID session_;
  TraceOutput* const output_;
  const uint32_t period_ms_;
  uint64_t next_ms_;
  bool is_out_of_memory_ = false;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_TRACE_DRAIN_H_
