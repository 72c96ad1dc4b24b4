// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_SESSION_H_
#define SRC_TRACING_SERVICE_SESSION_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protozero/tracing/trace_config.h"
#include "protozero/tracing/tracing_service.h"
#include "protozero/tracing/types.h"
#include "src/tracing/service/service_packets.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

inline constexpr uint64_t kNever = UINT64_MAX;

// The data of DataSources for a session.
struct SessionDataSources {
  // Indices of TraceConfig::data_sources, by name.
  std::map<std::string, std::vector<size_t>> wanted;
  std::set<std::pair<ProducerID, DataSourceInstanceID>> instances;
  // The number of instances that have not started yet.
  size_t num_starting = 0;
  // True if Sessions::UpdateState() is due, because an instance less is waited
  // for.
  bool has_changed = false;

  // The same as in TraceStats.
  uint32_t producers_without_memory = 0;
  std::vector<uint32_t> num_instances;
  std::set<std::string> names_offered;
};

// The data of Flushes for a session.
struct SessionFlushes {
  // The flushes that some producer has not answered yet.
  std::set<FlushRequestID> pending;
  bool has_final = false;

  // The same as in TraceStats.
  uint64_t requested = 0;
  uint64_t succeeded = 0;
  uint64_t failed = 0;
  bool final_succeeded = false;
};

// The data of triggers for a session.
struct SessionTriggers {
  // True if the session has no data sources before a trigger starts it.
  bool waits_for_start = false;
  // The trigger whose delay ends at SessionTimes::trigger.
  size_t pending = 0;
  // The times of the last 24 hours at which each trigger had an effect, if
  // they are limited.
  std::vector<std::deque<uint64_t>> effects;
};

// The times at which Sessions has something to do: kNever, or milliseconds.
struct SessionTimes {
  uint64_t stop = kNever;
  uint64_t next_flush = kNever;
  uint64_t next_clear = kNever;
  uint64_t next_clock_snapshot = kNever;
  // The times at which a trigger has its effect, and at which the session stops
  // for want of one.
  uint64_t trigger = kNever;
  uint64_t trigger_timeout = kNever;
  // The time of the next step of a copy.
  uint64_t next_copy = kNever;
  // The time of the next write. A stopped session goes on until all is written.
  uint64_t next_write = kNever;
};

// The data of SessionReader for a session.
struct SessionOutput {
  // Adds a header to what is read next. Returns false, and has changed nothing,
  // if there is no memory.
  bool BeginTrace(const std::string& raw_config);

  // The packets with which the trace begins, until they are read.
  std::vector<uint8_t> header;
  // The snapshots that have not been read yet, and the last one of all.
  std::vector<ClockReadings> clock_snapshots;
  ClockReadings last_clock_snapshot;
  bool has_trailer = false;
  // 0 if none is left.
  uint32_t next_sequence_id = kServiceSequenceID + 1;
  uint64_t invalid_packets = 0;
};

// A tracing session. Each part belongs to the class that its type names; when
// Sessions has added the session, only that class and methods write it.
struct Session {
  TracingSessionID id = 0;
  // The config. Its DataSourceConfigs are those that producers get.
  TraceConfig config;
  TracingService::Consumer* consumer = nullptr;
  TracingService::State state = TracingService::kStarting;
  std::vector<BufferID> buffer_ids;
  // The time when it began to stop.
  uint64_t stop_time = 0;
  // The same as in TraceStats.
  uint32_t ring_ms_kept = 0;
  // The session that this one will be a copy of, 0 if it is one, or none.
  TracingSessionID source = 0;
  // True if it begins where the last copy of this kind ends, and the time until
  // which such a copy of this session goes; 0 if there is none.
  bool is_next_copy = false;
  uint64_t copied_until_ms = 0;
  // The time of the first events that are wanted, on the trace's clock.
  uint64_t begin_ns = 0;
  // The session whose data comes into the buffer of this one, too, or none.
  TracingSessionID followed = 0;
  // The producers that may write to its buffers.
  std::set<ProducerID> producers;

  // Returns whether producers may get an instance of it.
  bool takes_instances() const {
    return (state == TracingService::kStarting ||
            state == TracingService::kStarted) &&
           !triggers.waits_for_start;
  }

  SessionTriggers triggers;
  SessionDataSources data_sources;
  SessionFlushes flushes;
  SessionTimes times;
  SessionOutput output;

  // True from when a buffer of it is half full until a reading has made room.
  bool is_half_full = false;
  // True if the facade writes it to the consumer next.
  bool is_to_be_written = false;
  // The end of a write that has begun, as TracingService::Impl::ReadBatch() has
  // set it.
  std::optional<uint64_t> write_limit;
  bool has_failed_to_write = false;
};

using SessionMap = std::map<TracingSessionID, Session>;

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_SESSION_H_
