// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace record.

#include <stdint.h>

#include <charconv>
#include <string>
#include <system_error>
#include <vector>

#include "protozero/const_bytes.h"
#include "src/pbz/input_kind.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
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

// The command line.
struct RecordArguments {
  RecordOptions record;
  std::string config_file;
  std::string duration;
  std::string size;
  std::string rotate;
  std::vector<std::string> data_sources;
  std::vector<std::string> pids;
  std::vector<std::string> names;
};

program::Command RecordCommand(RecordArguments* arguments) {
  return {
      "pztrace record",
      "-o FILE [options] [-- COMMAND [ARGUMENT...]]",
      R"(Runs a tracing service until the command ends, the time is up, or an interrupt
arrives. The command, and the programs that it starts, find the service by
PERFETTO_PRODUCER_SOCK_NAME in their environment. Without a command, all
programs of this user that run, or begin to run, connect by themselves; `pztrace
list` prints them. Elsewhere, as in a container, set the variable that is
printed.
)",
      {{"-o, --output FILE",
        "where the trace goes; - is the standard output, and the command's "
        "output goes to the standard error then",
        &arguments->record.output},
       {"--duration TIME", "stop after this time, as in 10, 1.5s or 200ms",
        &arguments->duration},
       {"--size SIZE",
        "of the buffer in memory, as in 64M (the default) or 500k. Its content "
        "goes to the file four times per second; if programs fill it faster, "
        "the oldest packets are lost",
        &arguments->size},
       {"--rotate LIMIT",
        "go on in another file after this size or time, as in 100M or 60s; "
        "each "
        "is a trace of its own, with the time in its name",
        &arguments->rotate},
       {"--keep NUMBER",
        "with --rotate, of finished files, delete all but the last ones",
        &arguments->record.rotation.keep},
       {"--pid PID",
        "record this process, and those that --name selects; repeatable",
        &arguments->pids},
       {"--name PATTERN",
        "record programs of this name, in which '*' stands for any text; "
        "repeatable",
        &arguments->names},
       {"--data-source NAME",
        "what to record (default: track_event); repeatable",
        &arguments->data_sources},
       {"--categories LIST",
        "of events to record, as in app,net.*,-net.dns; '-' stands in front of "
        "those that are not wanted (default: all but slow and debug ones)",
        &arguments->record.categories},
       {"--config FILE",
        "a serialized TraceConfig of Perfetto, in place of --data-source; "
        "--duration and --size replace what it says",
        &arguments->config_file},
       {"--socket PATH",
        "where producers connect; @NAME is an abstract socket (default: where "
        "all programs of this user look, or one for the command alone)",
        &arguments->record.socket},
       {"--fail-on-loss", "exit with 1 if any packet is lost",
        &arguments->record.fails_on_loss}},
      R"(The exit code is 0 if the trace is written, 1 if the file took no more, if a
producer could not be recorded, or if the command failed, 2 for wrong usage.
Lost packets are counted in the last line. A trace without packets is complete;
a message says that no program had the data source.
)",
      &arguments->record.command};
}

// The limits of the command line that replace those of the configuration; 0 for
// none.
struct RecordLimits {
  uint32_t duration_ms = 0;
  size_t size_bytes = 0;
  std::vector<int32_t> pids;
};

// Parses what Parse() has left as text: times, sizes and processes. Returns an
// empty string, or the problem with one of them, or with options that do not go
// together.
std::string ParseLimits(RecordArguments* arguments, RecordLimits* limits) {
  RecordOptions& record = arguments->record;
  if (record.output.empty())
    return "-o FILE is missing";
  if (!arguments->config_file.empty() && !arguments->data_sources.empty())
    return "--config replaces --data-source; give one";
  if (!arguments->config_file.empty() && !record.categories.empty())
    return "--config replaces --categories; give one";
  std::string problem;
  if (!arguments->duration.empty()) {
    problem = ParseMilliseconds("--duration", arguments->duration,
                                &limits->duration_ms);
  }
  if (!arguments->size.empty() && problem.empty())
    problem = ParseSize("--size", arguments->size, &limits->size_bytes);
  if (!arguments->rotate.empty() && problem.empty()) {
    problem =
        ParseSizeOrMilliseconds("--rotate", arguments->rotate,
                                &record.rotation.bytes, &record.rotation.ms);
  }
  if (!problem.empty())
    return problem;
  for (const std::string& text : arguments->pids) {
    const char* const end = text.data() + text.size();
    int32_t pid = 0;
    const std::from_chars_result result =
        std::from_chars(text.data(), end, pid);
    if (result.ec != std::errc() || result.ptr != end || pid <= 0)
      return "--pid takes the number of a process";
    limits->pids.push_back(pid);
  }
  if (!limits->pids.empty() && !record.command.empty())
    return "--pid is for programs that run already; give --name or no command";
  if (record.rotation.keep != 0 && !record.rotation.is_on())
    return "--keep is of no use without --rotate";
  if (record.rotation.is_on() && record.output == "-")
    return "--rotate needs a file, not -o -";
  return "";
}

void ApplyLimits(const RecordLimits& limits, protozero::TraceConfig* config) {
  if (limits.duration_ms != 0)
    config->duration_ms = limits.duration_ms;
  if (limits.size_bytes == 0)
    return;
  for (protozero::TraceConfig::BufferConfig& buffer : config->buffers)
    buffer.size_bytes = limits.size_bytes;
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

  if (arguments.config_file.empty())
    record.config = MakeConfig(arguments.data_sources, record.categories);
  else if (!ReadConfig(arguments.config_file, &record.config))
    return kFailure;
  if (record.rotation.is_on() && record.config.write_period_ms == 0) {
    return WrongUsage(command,
                      "--rotate needs a configuration with write_into_file");
  }
  ApplyLimits(limits, &record.config);
  Select(limits.pids, arguments.names, &record.config);
  return Record(record) ? kSuccess : kFailure;
}

}  // namespace pztrace
