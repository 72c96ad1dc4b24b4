// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/record_config.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <utility>

#include "protozero/decode_status.h"
#include "src/pbz/schema.h"
#include "src/pbz/text_parser.h"
#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/record/embedded_config_schema.h"
#include "src/pztrace/record/record_config.pbzero.h"
#include "src/pztrace/trace_file/quantities.h"
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

bool ReadTrigger(ConstBytes bytes, protozero::TraceConfig::Trigger* trigger) {
  const pbzero::TraceConfig_TriggerConfig_Trigger::Decoder decoder(bytes);
  trigger->name = decoder.name().ToStdString();
  trigger->delay_ms = decoder.stop_delay_ms();
  trigger->max_per_day = decoder.max_per_24_h();
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

bool ReadTriggers(ConstBytes bytes, protozero::TraceConfig* config) {
  using Message = pbzero::TraceConfig_TriggerConfig;
  using TriggerMode = protozero::TraceConfig::TriggerMode;
  const Message::Decoder decoder(bytes);
  switch (decoder.trigger_mode()) {
    case Message::UNSPECIFIED:
      break;
    case Message::START_TRACING:
      config->trigger_mode = TriggerMode::kStart;
      break;
    case Message::STOP_TRACING:
      config->trigger_mode = TriggerMode::kStop;
      break;
    case Message::CLONE_SNAPSHOT:
      config->trigger_mode = TriggerMode::kClone;
      break;
  }
  config->trigger_timeout_ms = decoder.trigger_timeout_ms();
  return ReadAll(decoder.triggers(), ReadTrigger, &config->triggers) &&
         decoder.status() == DecodeStatus::kOk;
}

}  // namespace

bool EncodeTraceConfig(const std::string& path,
                       std::string_view text,
                       std::string* bytes) {
  std::string error;
  const auto schema = pbz::Schema::Parse(kConfigSchema, &error);
  pbz::EncodedText encoded =
      pbz::EncodeText(text, *schema->FindMessage("pztrace.TraceConfig"));
  if (!encoded.error.empty()) {
    program::PrintError(kProgram, "%s:%s", path.c_str(), encoded.error.c_str());
    return false;
  }
  for (const std::string& field : encoded.left_out) {
    program::PrintError(kProgram, "%s:%s; it is left out", path.c_str(),
                        field.c_str());
  }
  *bytes = std::move(encoded.bytes);
  return true;
}

bool ParseTraceConfig(ConstBytes bytes,
                      protozero::TraceConfig* config,
                      std::string* error) {
  const pbzero::TraceConfig::Decoder decoder(bytes);
  if (!ReadAll(decoder.buffers(), ReadBuffer, &config->buffers) ||
      !ReadAll(decoder.data_sources(), ReadDataSource, &config->data_sources) ||
      !ReadAll(decoder.producers(), ReadProducer, &config->producers) ||
      !ReadTriggers(decoder.trigger_config(), config) ||
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
  config->is_read_at_end = !decoder.write_into_file();
  config->raw_config =
      std::string(reinterpret_cast<const char*>(bytes.data), bytes.size);
  return true;
}

Compression ReadCompression(ConstBytes config) {
  const pbzero::TraceConfig::Decoder decoder(config);
  const pbzero::TraceConfig_CompressionConfig::Decoder codecs(
      decoder.compression());
  if (codecs.has_zstd()) {
    const pbzero::TraceConfig_CompressionConfig_Zstd::Decoder zstd(
        codecs.zstd());
    return {FindCodec("zstd"), zstd.level()};
  }
  if (codecs.has_deflate() ||
      decoder.compression_type() ==
          pbzero::TraceConfig::COMPRESSION_TYPE_DEFLATE) {
    return {FindCodec("deflate"), 0};
  }
  return {};
}

}  // namespace pztrace
