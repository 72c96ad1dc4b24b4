// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace record.

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/types.h"
#include "src/pbz/input_kind.h"
#include "src/program/io.h"
#include "src/program/text.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/commands/record_arguments.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/record/record.h"
#include "src/pztrace/record/record_config.h"
#include "src/tracing/track_event/category_rules.h"

namespace pztrace {

using program::kFailure;
using program::kSuccess;

namespace {

constexpr char kDefaultDataSource[] = "track_event";
constexpr uint32_t kWritePeriodMs = 250;
constexpr uint32_t kClearPeriodMs = 5000;

// Returns whether bytes may be a config in protobuf's text format. The numbers
// of fields and the sizes in a serialized one are no text.
bool IsTextConfig(std::string_view bytes) {
  bytes = program::WithoutByteOrderMark(bytes);
  const size_t begin = bytes.find_first_not_of(" \t\r\n");
  const bool is_json =
      begin != bytes.npos && (bytes[begin] == '{' || bytes[begin] == '[');
  return !is_json && program::IsText(bytes);
}

// Reads a config. Returns false, and has printed why, if the file cannot be
// read.
bool ReadConfig(const std::string& path, protozero::TraceConfig* config) {
  std::vector<uint8_t> content;
  if (!program::ReadFile(kProgram, path, &content))
    return false;
  protozero::ConstBytes bytes(content.data(), content.size());
  std::string encoded;
  std::string error;
  if (IsTextConfig(bytes.ToStdStringView())) {
    if (!EncodeTraceConfig(path, bytes.ToStdStringView(), &encoded))
      return false;
    bytes = protozero::ConstBytes(
        reinterpret_cast<const uint8_t*>(encoded.data()), encoded.size());
  } else {
    error = pbz::WhyNoMessage(bytes, /*is_whole=*/true, path,
                              "pztrace record --config");
  }
  if (!error.empty()) {
    program::PrintError(kProgram, "%s %s", path.c_str(), error.c_str());
    return false;
  }
  if (ParseTraceConfig(bytes, config, &error)) {
    return true;
  }
  program::PrintError(kProgram, "%s: %s", path.c_str(), error.c_str());
  return false;
}

protozero::TraceConfig MakeConfig(std::vector<std::string> data_sources,
                                  const std::string& categories) {
  protozero::TraceConfig config;
  config.buffers.emplace_back();
  config.buffers[0].size_bytes = kDefaultBufferSize;
  config.flush_period_ms = kWritePeriodMs;
  config.write_period_ms = kWritePeriodMs;
  if (data_sources.empty())
    data_sources.push_back(kDefaultDataSource);
  for (const std::string& name : data_sources) {
    config.data_sources.emplace_back();
    config.data_sources.back().config.name = name;
    if (!categories.empty()) {
      config.data_sources.back().config.raw_fields =
          protozero::internal::EncodeCategories(categories);
    }
  }
  return config;
}

// Sets what the command line asks for, or else the configuration. Returns
// false, and has printed why, if this build cannot do what the command line
// wants.
bool ChooseCompression(const RecordArguments& arguments,
                       RecordOptions* record) {
  Compression compression;
  if (!arguments.compress.empty()) {
    compression.codec = FindCodec(arguments.compress);
  } else {
    const std::string& config = record->config.raw_config;
    compression = ReadCompression(protozero::ConstBytes(
        reinterpret_cast<const uint8_t*>(config.data()), config.size()));
  }
  if (compression.codec == nullptr || compression.codec->is_built()) {
    record->compression = compression;
    return true;
  }
  program::PrintError(kProgram, "the trace is not compressed: %s",
                      compression.codec->WhyNotBuilt().c_str());
  return arguments.compress.empty();
}

// |is_watched| if rules have to see soon what programs trace.
void ApplyLimits(const RecordLimits& limits,
                 bool is_watched,
                 protozero::TraceConfig* config) {
  if (limits.duration_ms != 0)
    config->duration_ms = limits.duration_ms;
  if (limits.is_ring) {
    config->is_read_at_end = true;
    config->ring_ms = limits.ring_ms;
  }
  if (limits.is_ring || limits.is_flight) {
    config->write_period_ms = 0;
    if (!is_watched)
      config->flush_period_ms = 0;
  }
  config->max_shm_size_bytes = limits.shared_memory_bytes;
  if (limits.size_bytes == 0)
    return;
  for (protozero::TraceConfig::BufferConfig& buffer : config->buffers)
    buffer.size_bytes = limits.size_bytes;
}

// Fits shared memory, which counts as a file, into the limit for files.
void FitIntoFileLimit(protozero::TraceConfig* config) {
  using Limits = protozero::TracingLimits;
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
    return;
  size_t& size = config->max_shm_size_bytes;
  // With less than a page, it is said of each program that it has no memory.
  if (limit.rlim_cur >= (size != 0 ? size : Limits::kMaxShmSize) ||
      limit.rlim_cur < Limits::kMaxShmPageSize) {
    return;
  }
  size = static_cast<size_t>(limit.rlim_cur);
  program::PrintError(kProgram,
                      "a program gets at most %zu bytes of shared memory, "
                      "since `ulimit -f` allows no larger files",
                      size);
}

// Limits the recording to programs of these processes and names, if there are
// any.
void Select(const std::vector<int32_t>& pids,
            const std::vector<std::string>& names,
            protozero::TraceConfig* config) {
  for (protozero::TraceConfig::DataSource& source : config->data_sources) {
    source.producer_pids = pids;
    source.producer_name_patterns = names;
  }
}

// Adds the triggers that ask for a file, if there are any.
void AddTriggers(const WatchedRules& watched,
                 const std::vector<std::string>& on_triggers,
                 protozero::TraceConfig* config) {
  if (watched.trigger.empty())
    return;
  config->trigger_mode = protozero::TraceConfig::TriggerMode::kClone;
  config->triggers.push_back({watched.trigger, watched.after_ms});
  for (size_t i = 1; i < on_triggers.size(); ++i)
    config->triggers.push_back({on_triggers[i], watched.after_ms});
}

}  // namespace

int RecordMain(int argc, char** argv) {
  RecordArguments arguments;
  RecordOptions& record = arguments.record;
  const program::Command command = RecordCommand(&arguments);
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  RecordLimits limits;
  const std::string problem = ParseLimits(&arguments, &limits);
  if (!problem.empty())
    return WrongUsage(command, problem);

  if (!record.strings.are_empty() && !StringFilter::IsAvailable())
    return kFailure;
  if (arguments.config_file.empty())
    record.config = MakeConfig(arguments.data_sources, record.categories);
  else if (!ReadConfig(arguments.config_file, &record.config))
    return kFailure;
  if (record.rotation.is_on() && record.config.write_period_ms == 0) {
    return WrongUsage(command,
                      "--rotate needs a configuration with write_into_file");
  }
  if (!record.endpoint.empty() && record.config.write_period_ms == 0) {
    return WrongUsage(command,
                      "--endpoint needs a configuration with write_into_file");
  }
  if (!ChooseCompression(arguments, &record))
    return kFailure;
  const WatchedRules& watched = record.watched;
  ApplyLimits(limits, !watched.rules.empty(), &record.config);
  if (!limits.is_flight)
    FitIntoFileLimit(&record.config);
  // After a loss, spans go on as soon as writers repeat their names.
  if (!record.endpoint.empty() &&
      record.config.incremental_state_clear_period_ms == 0) {
    record.config.incremental_state_clear_period_ms = kClearPeriodMs;
  }
  AddTriggers(watched, arguments.on_triggers, &record.config);
  Select(limits.pids, arguments.names, &record.config);
  return Record(record) ? kSuccess : kFailure;
}

}  // namespace pztrace
