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

// What is to be traced, where to, and for how long.
struct TraceConfig {
  struct BufferConfig {
    // An upper limit of what is kept until it is read; memory is allocated as
    // it is needed. Not 0. What the service knows of the writers takes a fourth
    // of it besides, or a megabyte if that is more. Then the process that has
    // the most writers loses some, and what they have written.
    size_t size_bytes = 0;
    BufferFillPolicy fill_policy = BufferFillPolicy::kRingBuffer;
  };
  struct DataSource {
    DataSourceConfig config;
    // Producers of these names only; any, if it is empty.
    std::vector<std::string> producer_name_filter;
  };
  // Overrides what producers of that name ask for. 0 for what they say.
  struct ProducerConfig {
    std::string producer_name;
    size_t shm_size_bytes = 0;
    size_t page_size_bytes = 0;
  };

  std::vector<BufferConfig> buffers;
  std::vector<DataSource> data_sources;
  std::vector<ProducerConfig> producers;

  // All in milliseconds. 0 for never, where it says period or duration.
  uint32_t duration_ms = 0;
  uint32_t flush_period_ms = 0;
  uint32_t flush_timeout_ms = 5000;
  uint32_t data_source_stop_timeout_ms = 5000;
  uint32_t incremental_state_clear_period_ms = 0;

  // If not 0, what has been recorded goes to Consumer::OnTraceData() so often,
  // when a flush is done, and when the session has stopped, and need not be
  // read. There has to be a consumer then.
  uint32_t write_period_ms = 0;

  // If not empty, the trace begins with it: a TraceConfig as Perfetto defines
  // it, in its encoding.
  std::string raw_config;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_TRACE_CONFIG_H_
