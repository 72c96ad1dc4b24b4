// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_TRACE_CONFIG_H_
#define INCLUDE_PROTOZERO_TRACING_TRACE_CONFIG_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#include "protozero/tracing/data_source_config.h"
#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The data sources to record, the buffers, and the duration of a session.
struct TraceConfig {
  struct BufferConfig {
    // The most that the buffer keeps until it is read. Not 0. Memory is
    // allocated when it is needed. Besides, the service keeps data about the
    // writers, up to a fourth of this size or 1 MB, whichever is more. Beyond
    // that, the process with most of these data loses writers, and what those
    // have written.
    size_t size_bytes = 0;
    // The policy for a chunk for which there is no room.
    BufferFillPolicy fill_policy = BufferFillPolicy::kRingBuffer;
  };
  // A request to the producers that one of the three lists selects, or to all
  // producers if the lists are empty.
  struct DataSource {
    DataSourceConfig config;
    // The names of producers.
    std::vector<std::string> producer_name_filter;
    // Patterns of their names, in which '*' stands for any text.
    std::vector<std::string> producer_name_patterns;
    // The processes of producers.
    std::vector<int32_t> producer_pids;
  };
  // The sizes for producers of that name, which override the ones that they ask
  // for. 0 leaves a size to them.
  struct ProducerConfig {
    std::string producer_name;
    size_t shm_size_bytes = 0;
    size_t page_size_bytes = 0;
  };

  // Data sources name their buffer by its place in |buffers|.
  std::vector<BufferConfig> buffers;
  std::vector<DataSource> data_sources;
  std::vector<ProducerConfig> producers;
  // The most shared memory, in bytes, for a producer that gets it for this
  // session and has no size in |producers|; 0 for TracingLimits::kMaxShmSize.
  size_t max_shm_size_bytes = 0;

  // Milliseconds. A period or a duration of 0 means never.
  uint32_t duration_ms = 0;
  uint32_t flush_period_ms = 0;
  uint32_t flush_timeout_ms = 5000;
  uint32_t data_source_stop_timeout_ms = 5000;
  uint32_t incremental_state_clear_period_ms = 0;
  // The period after which the service writes what the clocks show, besides at
  // the beginning and the end. If clocks drift apart, readers need this to
  // relate timestamps of different clocks.
  uint32_t clock_snapshot_period_ms = 10000;

  // If not 0, the service writes the trace to Consumer::OnTraceData() in this
  // period, when a buffer is half full, after each flush, and when the session
  // has stopped; with UINT32_MAX only when it has stopped. Then it need not be
  // read, and there has to be a consumer.
  uint32_t write_period_ms = 0;

  // True if packets are read only after the session has stopped. Then a ring
  // buffer has the last packets in a form that can be read without those that
  // it has overwritten: writers start over often enough, and packets that refer
  // to overwritten ones are lost with them.
  bool is_read_at_end = false;
  // If not 0, the milliseconds before the end of the session that are wanted of
  // such a ring. Events from before that are no part of the trace, and not
  // lost; it has what later packets refer to. If the ring overwrites packets of
  // that time, all that it has overwritten is lost (LossReason::kOverwritten).
  uint32_t ring_ms = 0;

  // The effect of triggers, which producers activate by name: on the start of
  // the session, on its end, or on the consumer, which gets OnCloneTrigger().
  enum class TriggerMode { kNone, kStart, kStop, kClone };
  // A trigger that the session waits for.
  struct Trigger {
    // The name, by which producers activate it.
    std::string name;
    // The milliseconds after which the trigger stops the session, or the
    // consumer hears of it. A session that it has started stops after this
    // time, or as |duration_ms| says if it is 0.
    uint32_t delay_ms = 0;
    // The most times that it has an effect in 24 hours; 0 for any number.
    uint32_t max_per_day = 0;
  };
  // With kStart, data sources are set up when one of the triggers is activated.
  // One that is activated while another one waits for its delay has no effect.
  TriggerMode trigger_mode = TriggerMode::kNone;
  std::vector<Trigger> triggers;
  // The milliseconds after which the session stops if no trigger has started or
  // stopped it. 0 means never.
  uint32_t trigger_timeout_ms = 0;

  // True if each packet says which process has written it. In a trace of a
  // single process, false saves three to seven bytes a packet.
  bool stamps_pid = true;

  // If not empty, the beginning of the trace: a TraceConfig of Perfetto's, in
  // its encoding.
  std::string raw_config;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_TRACE_CONFIG_H_
