// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_FILE_ROTATOR_H_
#define SRC_PZTRACE_RECORD_FILE_ROTATOR_H_

#include <stdint.h>

#include "protozero/tracing/tracing_service.h"
#include "src/pztrace/record/trace_drain.h"
#include "src/pztrace/trace_file/trace_output.h"

namespace pztrace {

// Begins the next file of the trace when it is time. Before that, it asks all
// threads to commit what they wrote, so that this is in the old file. The old
// file is finished when all threads that wrote to it have gone on to the new
// file. Idle threads do not go on. So after a while, when no thread can still
// be in the middle of an older event, it asks once more, and then finishes the
// old file.
class FileRotator {
 public:
  // REQUIRES: the other objects outlive it, and it outlives the session.
  FileRotator(const Rotation& rotation,
              protozero::TracingService* service,
              protozero::TracingSessionID session,
              TraceDrain* drain,
              TraceOutput* output);

  // To be called between two calls of the host. Returns how many milliseconds
  // the host may wait, UINT32_MAX for any time.
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

#endif  // SRC_PZTRACE_RECORD_FILE_ROTATOR_H_
