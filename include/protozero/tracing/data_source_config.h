// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_DATA_SOURCE_CONFIG_H_
#define INCLUDE_PROTOZERO_TRACING_DATA_SOURCE_CONFIG_H_

#include <stdint.h>

#include <string>

#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A data source that a producer offers.
struct DataSourceDescriptor {
  // The name by which sessions ask for it. Not empty.
  std::string name;
  // A number that distinguishes data sources that the producer registers under
  // one name. 0 for none.
  uint64_t id = 0;
  // True if the producer notifies the service when an instance has started, or
  // has stopped. If not, the service assumes that it happens at once.
  bool will_notify_on_start = false;
  bool will_notify_on_stop = false;
  // True if the producer is told when sessions clear incremental state.
  bool handles_incremental_state_clear = false;
  // True if it has nothing to flush. The service does not ask it to.
  bool no_flush = false;
  // Further fields of Perfetto's DataSourceDescriptor, in their encoding. The
  // service only shows them to TracingService::DataSourceObserver. A producer
  // adds its own with DataSource::AppendToDescriptor().
  std::string raw_fields = {};
};

// The way in which a session wants to use a data source.
struct DataSourceConfig {
  std::string name;
  // In a TraceConfig, an index of its buffers. In the config that a producer
  // gets, the buffer to name in commits.
  BufferID target_buffer = 0;
  // The duration of the whole session; 0 if it goes on until it is stopped.
  uint32_t trace_duration_ms = 0;
  // The session's id, which the service sets.
  TracingSessionID tracing_session_id = 0;
  // The time that the service waits for an instance that notifies when it has
  // stopped. 0 for TraceConfig::data_source_stop_timeout_ms.
  uint32_t stop_timeout_ms = 0;
  // The policy of writers. The producer may ignore it.
  BufferExhaustedPolicy buffer_exhausted_policy = BufferExhaustedPolicy::kDrop;
  // The producer's share of a ring buffer that is read at the end; 0 for other
  // buffers. The service sets it. See TraceContext::MaxChunksOfSequence().
  uint64_t ring_bytes = 0;
  // Further fields of Perfetto's DataSourceConfig, in their encoding, such as
  // the configs of particular data sources. The service passes them on as they
  // are.
  std::string raw_fields;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_DATA_SOURCE_CONFIG_H_
