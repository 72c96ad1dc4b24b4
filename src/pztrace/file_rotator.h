// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_FILE_ROTATOR_H_
#define SRC_PZTRACE_FILE_ROTATOR_H_

#include <stdint.h>

#include "protozero/tracing/tracing_service.h"
#include "src/pztrace/trace_drain.h"
#include "src/pztrace/trace_output.h"

namespace pztrace {

// Has the next file of the trace begin when it is time. Before that, all
// threads are asked to commit what they wrote, so that it is in the old file.
// That one is finished when all threads that wrote to it have gone on to the
// new file. Idle ones do not; so, after a while in which no thread can be in
// the middle of an event, what they wrote before is there, too.
class FileRotator {
 public:
  // REQUIRES: they outlive it, and it outlives the session.
  FileRotator(const Rotation& rotation,
              protozero::TracingService* service,
              protozero::TracingSessionID session,
              TraceDrain* drain,
              TraceOutput* output);

  // To be called between two calls of the host. Returns for how many
  // milliseconds that may wait, UINT32_MAX for any time.
  uint32_t Run();

 private:
  enum Step { kNone, kFlushesBefore, kWaits, kFlushesAfter };

  bool IsDue(uint64_t now) const;
  void Flush(Step step);
  void StopUnless(bool ok);

  const Rotation rotation_;
  protozero::TracingService* const service_;
  const protozero::TracingSessionID session_;
  TraceDrain* const drain_;
  TraceOutput* const output_;
  uint64_t begun_ms_;
  uint64_t wait_end_ms_ = 0;
  Step step_ = kNone;
  bool is_flushed_ = false;
  uint64_t last_flush_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_FILE_ROTATOR_H_
