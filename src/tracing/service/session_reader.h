// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_SESSION_READER_H_
#define SRC_TRACING_SERVICE_SESSION_READER_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "src/tracing/service/buffer_table.h"
#include "src/tracing/service/session.h"
#include "src/tracing/service/stats_collector.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

// Takes packets out of a session's buffers and makes a trace of them: the
// header, valid packets with what the service knows of their writers, and, when
// the session has stopped, the statistics.
class SessionReader {
 public:
  // The size of the part of a trace that is made under the lock at a time.
  static constexpr size_t kBatchSize = 64 * 1024;

  SessionReader(BufferTable* buffers, const StatsCollector* stats)
      : buffers_(buffers), stats_(stats) {}

  // Return the bytes of the session's buffers that have been read, and their
  // number when everything that the buffers hold now has been read.
  uint64_t BytesRead(const Session& session) const;
  uint64_t BytesReadWhenEmpty(const Session& session) const;

  // Appends some of the trace, and says whether there is more. Returns false,
  // or throws std::bad_alloc, if there is no memory for the next part.
  bool ReadBatch(Session* session, std::vector<uint8_t>* trace, bool* has_more);
  // Loses all packets that could be read, as kNotWritten.
  void Discard(const Session& session);

 private:
  BufferTable* const buffers_;
  const StatsCollector* const stats_;
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_SESSION_READER_H_
