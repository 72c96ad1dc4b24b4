// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_STATS_COLLECTOR_H_
#define SRC_TRACING_SERVICE_STATS_COLLECTOR_H_

#include "protozero/tracing/trace_stats.h"
#include "src/tracing/service/buffer_table.h"
#include "src/tracing/service/chunk_collector.h"
#include "src/tracing/service/producer_table.h"
#include "src/tracing/service/session.h"
#include "src/tracing/service/sessions.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

// Gathers the counts of all parts of the service.
class StatsCollector {
 public:
  StatsCollector(const BufferTable* buffers,
                 const ChunkCollector* chunks,
                 const ProducerTable* producers,
                 const Sessions* sessions)
      : buffers_(buffers),
        chunks_(chunks),
        producers_(producers),
        sessions_(sessions) {}

  // Returns the statistics of a session. Throws std::bad_alloc.
  TraceStats Collect(const Session& session) const;

 private:
  const BufferTable* const buffers_;
  const ChunkCollector* const chunks_;
  const ProducerTable* const producers_;
  const Sessions* const sessions_;
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_STATS_COLLECTOR_H_
