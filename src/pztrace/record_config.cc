// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record_config.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <utility>

#include "protozero/decode_status.h"
#include "src/pztrace/record_config.pbzero.h"
#include "src/tracing/ipc/messages.h"

namespace pztrace {

namespace {

using protozero::ConstBytes;
using protozero::DecodeStatus;

// The write period if the config wants the trace written now and then, and does
// not say how often. Perfetto's service has the same.
constexpr uint32_t kDefaultWritePeriodMs = 5000;

size_t FromKilobytes(uint32_t kilobytes) {
  return static_cast<size_t>(
      std::min<uint64_t>(uint64_t{kilobytes} * 1024, kMaxBufferSize));
}

bool ReadBuffer(ConstBytes bytes,
                protozero::TraceConfig::BufferConfig* buffer) {
  using Message = pbzero::TraceConfig_BufferConfig;
  const Message::Decoder decoder(bytes);
  buffer->size_bytes = FromKilobytes(decoder.size_kb());
  buffer->fill_policy = decoder.fill_policy() == Message::DISCARD
                            ? protozero::BufferFillPolicy::kDiscard
                            : protozero::BufferFillPolicy::kRingBuffer;
  return decoder.status() == DecodeStatus::kOk;
}

bool ReadDataSource(ConstBytes bytes,
                    protozero::TraceConfig::DataSource* source) {
  const pbzero::TraceConfig_DataSource::Decoder decoder(bytes);
  for (const protozero::ConstChars name : decoder.producer_name_filter())
    source->producer_name_filter.push_back(name.ToStdString());
  return ReadDataSourceConfig(decoder.config(), &source->config) &&
         decoder.status() == DecodeStatus::kOk;
}

bool ReadProducer(ConstBytes bytes,
                  protozero::TraceConfig::ProducerConfig* producer) {
  const pbzero::TraceConfig_ProducerConfig::Decoder decoder(bytes);
  producer->producer_name = decoder.producer_name().ToStdString();
  producer->shm_size_bytes = FromKilobytes(decoder.shm_size_kb());
  producer->page_size_bytes = FromKilobytes(decoder.page_size_kb());
  return decoder.status() == DecodeStatus::kOk;
}

// Reads each of |messages|. Returns whether all are well-formed.
template <typename Messages, typename T>
bool ReadAll(const Messages& messages,
             bool (*read)(ConstBytes, T*),
             std::vector<T>* result) {
  for (const ConstBytes bytes : messages) {
    if (!read(bytes, &result->emplace_back()))
      return false;
  }
  return true;
}

}  // namespace

bool ParseTraceConfig(ConstBytes bytes,
                      protozero::TraceConfig* config,
                      std::string* error) {
  const pbzero::TraceConfig::Decoder decoder(bytes);
  if (!ReadAll(decoder.buffers(), ReadBuffer, &config->buffers) ||
      !ReadAll(decoder.data_sources(), ReadDataSource, &config->data_sources) ||
      !ReadAll(decoder.producers(), ReadProducer, &config->producers) ||
      decoder.status() != DecodeStatus::kOk) {
    *error = "not a serialized TraceConfig";
    return false;
  }
  config->duration_ms = decoder.duration_ms();
  config->flush_period_ms = decoder.flush_period_ms();
  if (decoder.flush_timeout_ms() != 0)
    config->flush_timeout_ms = decoder.flush_timeout_ms();
  if (decoder.data_source_stop_timeout_ms() != 0)
    config->data_source_stop_timeout_ms = decoder.data_source_stop_timeout_ms();
  config->incremental_state_clear_period_ms =
      pbzero::TraceConfig_IncrementalStateConfig::Decoder(
          decoder.incremental_state_config())
          .clear_period_ms();
  const pbzero::TraceConfig_BuiltinDataSource::Decoder builtin(
      decoder.builtin_data_sources());
  if (builtin.disable_clock_snapshotting())
    config->clock_snapshot_period_ms = 0;
  else if (builtin.snapshot_interval_ms() != 0)
    config->clock_snapshot_period_ms = builtin.snapshot_interval_ms();
  if (decoder.write_into_file()) {
    config->write_period_ms = decoder.file_write_period_ms() != 0
                                  ? decoder.file_write_period_ms()
                                  : kDefaultWritePeriodMs;
    // Otherwise a thread could keep its packets until the end, and they would
    // reach the file only then.
    if (config->flush_period_ms == 0)
      config->flush_period_ms = config->write_period_ms;
  }
  config->raw_config =
      std::string(reinterpret_cast<const char*>(bytes.data), bytes.size);
  return true;
}

}  // namespace pztrace
