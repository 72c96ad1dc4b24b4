// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace record.

#include <stdint.h>

#include <string>
#include <vector>

#include "protozero/const_bytes.h"
#include "src/pbz/input_kind.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/list.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/quantities.h"
#include "src/pztrace/record.h"
#include "src/pztrace/record_config.h"
#include "src/tracing/track_event/category_rules.h"

namespace pztrace {

using program::kFailure;
using program::kSuccess;

namespace {

constexpr char kDefaultDataSource[] = "track_event";
constexpr size_t kDefaultBufferSize = size_t{64} * 1024 * 1024;
constexpr uint32_t kWritePeriodMs = 250;

// Reads a config. Returns false, and has printed why, if the file cannot be
// read.
bool ReadConfig(const std::string& path, protozero::TraceConfig* config) {
  std::vector<uint8_t> content;
  if (!program::ReadFile(kProgram, path, &content))
    return false;
  const protozero::ConstBytes bytes(content.data(), content.size());
  std::string error = pbz::WhyNoMessage(bytes, /*is_whole=*/true, path,
                                        "pztrace record --config");
  if (!error.empty() && !content.empty()) {
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

}  // namespace

int RecordMain(int argc, char** argv) {
  RecordOptions record;
  std::string config_file;
  std::string duration;
  std::string size;
  std::string rotate;
  std::vector<std::string> data_sources;
  bool lists = false;
  const program::Command command = {
      "pztrace record",
      "-o FILE [options] [-- COMMAND [ARGUMENT...]]",
      R"(Runs a tracing service until the command ends, the time is up, or an interrupt
arrives. The command, and the programs that it starts, find the service by
PERFETTO_PRODUCER_SOCK_NAME in their environment. Without a command, the program
prints this variable.
)",
      {{"-o, --output FILE",
        "where the trace goes; - is the standard output, and the command's "
        "output goes to the standard error then",
        &record.output},
       {"--duration TIME", "stop after this time, as in 10, 1.5s or 200ms",
        &duration},
       {"--size SIZE",
        "of the buffer in memory, as in 64M (the default) or 500k. Its content "
        "goes to the file four times per second; if programs fill it faster, "
        "the oldest packets are lost",
        &size},
       {"--rotate LIMIT",
        "go on in another file after this size or time, as in 100M or 60s; "
        "each "
        "is a trace of its own, with the time in its name",
        &rotate},
       {"--keep NUMBER",
        "with --rotate, of finished files, delete all but the last ones",
        &record.rotation.keep},
       {"--data-source NAME",
        "what to record (default: track_event); repeatable", &data_sources},
       {"--categories LIST",
        "of events to record, as in app,net.*,-net.dns; '-' stands in front of "
        "those that are not wanted (default: all but slow and debug ones)",
        &record.categories},
       {"--config FILE",
        "a serialized TraceConfig of Perfetto, in place of --data-source; "
        "--duration and --size replace what it says",
        &config_file},
       {"--socket PATH",
        "where producers connect; @NAME is an abstract socket (default: one in "
        "a folder of this user's)",
        &record.socket},
       {"--fail-on-loss", "exit with 1 if any packet is lost",
        &record.fails_on_loss},
       {"--list",
        "instead of recording, print what programs offer: data sources, and "
        "their categories of events, with tags and descriptions",
        &lists}},
      R"(The exit code is 0 if the trace is written, 1 if the file took no more, if a
producer could not be recorded, or if the command failed, 2 for wrong usage.
Lost packets are counted in the last line. A trace without packets is complete;
a message says that no program had the data source.
)",
      &record.command};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  if (lists) {
    if (!record.output.empty())
      return WrongUsage(command, "--list records nothing; give no -o");
    return ListDataSources(record.socket, record.command) ? kSuccess : kFailure;
  }
  if (record.output.empty())
    return WrongUsage(command, "-o FILE is missing");
  if (!config_file.empty() && !data_sources.empty())
    return WrongUsage(command, "--config replaces --data-source; give one");
  if (!config_file.empty() && !record.categories.empty())
    return WrongUsage(command, "--config replaces --categories; give one");
  uint32_t duration_ms = 0;
  size_t size_bytes = 0;
  std::string problem;
  if (!duration.empty())
    problem = ParseMilliseconds("--duration", duration, &duration_ms);
  if (!size.empty() && problem.empty())
    problem = ParseSize("--size", size, &size_bytes);
  if (!rotate.empty() && problem.empty())
    problem = ParseSizeOrMilliseconds(
        "--rotate", rotate, &record.rotation.bytes, &record.rotation.ms);
  if (!problem.empty())
    return WrongUsage(command, problem);
  if (record.rotation.keep != 0 && !record.rotation.is_on())
    return WrongUsage(command, "--keep is of no use without --rotate");
  if (record.rotation.is_on() && record.output == "-")
    return WrongUsage(command, "--rotate needs a file, not -o -");

  if (config_file.empty())
    record.config = MakeConfig(data_sources, record.categories);
  else if (!ReadConfig(config_file, &record.config))
    return kFailure;
  if (record.rotation.is_on() && record.config.write_period_ms == 0) {
    return WrongUsage(command,
                      "--rotate needs a configuration with write_into_file");
  }
  if (duration_ms != 0)
    record.config.duration_ms = duration_ms;
  if (size_bytes != 0) {
    for (protozero::TraceConfig::BufferConfig& buffer : record.config.buffers)
      buffer.size_bytes = size_bytes;
  }
  return Record(record) ? kSuccess : kFailure;
}

}  // namespace pztrace
