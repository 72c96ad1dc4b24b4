// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/commands/record_arguments.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "src/program/text.h"
#include "src/pztrace/record/runtime_folder.h"
#include "src/pztrace/trace_file/quantities.h"
#include "src/tracing/local/flight_folder.h"

namespace pztrace {

namespace {

constexpr uint32_t kDefaultSamplesHz = 1000;
constexpr uint32_t kMaxSamplesHz = 10000;
constexpr uint32_t kDefaultBeforeMs = 10000;
// The defaults of a flight recorder. Its service keeps nothing in a buffer.
constexpr uint32_t kDefaultFlightPrograms = 8;
constexpr size_t kFlightBufferSize = 64 * 1024;

// Return the options in the order of the help: those of the file and of its
// size;
std::vector<program::Option> OutputOptions(RecordArguments* arguments) {
  return {
      {"-o, --output FILE",
       "where the trace goes; - is the standard output, and the command's "
       "output goes to the standard error then",
       &arguments->record.output},
      {"--endpoint URL",
       "send slices, tasks and instants as spans and logs of OpenTelemetry to "
       "a Collector, such as http://localhost:4318, meanwhile; -o is not "
       "needed then",
       &arguments->record.endpoint},
      {"--duration TIME", "stop after this time, as in 10, 1.5s or 200ms",
       &arguments->duration},
      {"--size SIZE",
       "of the buffer in memory, as in 64M (the default) or 500k. Its content "
       "goes to the file four times per second; if programs fill it faster, "
       "the oldest packets are lost",
       &arguments->size},
      {"--shared-memory SIZE",
       "of each program, at most, where its packets wait for this recorder "
       "(default: 32M)",
       &arguments->shared_memory},
      {"--ring LIMIT",
       "keep the packets of the last time, such as 10s, or as many as fit into "
       "this size, such as 64M, and write them at the end; a time needs a "
       "large enough --size",
       &arguments->ring},
      {"--rotate LIMIT",
       "go on in another file after this size or time, as in 100M or 60s; each "
       "is a trace of its own, with the time in its name",
       &arguments->rotate}};
}

// those that choose which packets are kept;
std::vector<program::Option> KeepOptions(RecordArguments* arguments) {
  return {
      {"--on-trigger NAME",
       "keep the packets of the last time, and write them to a file, with the "
       "time in its name, when a program or `pztrace trigger` activates this "
       "trigger; FILE gets those of the end; repeatable",
       &arguments->on_triggers},
      {"--when RULE",
       "the same, when it records what RULE names: 'slice NAME > TIME', 'task "
       "NAME > TIME', 'counter NAME > NUMBER' or 'category NAME', in which "
       "'*' stands for any text; repeatable",
       &arguments->when},
      {"--flight-recorder FOLDER",
       "have programs keep their last packets in files in this folder, which "
       "survive them and the recorder; `pztrace recover` makes a trace of "
       "them",
       &arguments->record.flight_folder},
      {"--before TIME",
       "with --on-trigger or --when, how long before it (default: 10s)",
       &arguments->before},
      {"--after TIME",
       "with --on-trigger or --when, how long after it (default: 0)",
       &arguments->after},
      {"--keep NUMBER",
       "with --rotate, --on-trigger or --when, of finished files, delete all "
       "but the last ones; with --flight-recorder, the number of programs "
       "that share --size, those that run and the last that have ended "
       "(default: 8)",
       &arguments->record.rotation.keep}};
}

// those that choose what is recorded;
std::vector<program::Option> SourceOptions(RecordArguments* arguments) {
  return {
      {"--compress CODEC",
       "compress the packets, with deflate, which all of Perfetto's tools "
       "read, or with zstd, which those of v58 and later do",
       &arguments->compress},
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
       "a TraceConfig of Perfetto, as text or serialized, in place of "
       "--data-source; --duration, --size and --compress replace what it "
       "says",
       &arguments->config_file}};
}

// those that ask the kernel about threads;
std::vector<program::Option> ThreadOptions(RecordArguments* arguments) {
  return {
      {"--scheduling",
       "record when the threads of these programs run, are preempted, and wait",
       &arguments->record.threads.has_switches},
      {"--samples HZ",
       "record the stack of each thread so many times in a second that it runs",
       &arguments->samples},
      {"--why", "both, with a thousand samples", &arguments->wants_why}};
}

// and the others.
std::vector<program::Option> TextOptions(RecordArguments* arguments) {
  return {
      {"--drop-strings PATTERN",
       "leave no text with this in it in the trace: drop such texts, and what "
       "the program does not know; '*' stands for any text between; "
       "repeatable",
       &arguments->record.strings.dropped},
      {"--hash-strings PATTERN",
       "the same, but equal texts have the same hash in their place; "
       "repeatable",
       &arguments->record.strings.hashed},
      {"--session NAME",
       "the name of this recording, for `pztrace stat`, `list`, `snapshot` and "
       "`trigger`; those of other names, and the one without, record the same "
       "programs at the same time",
       &arguments->sessions},
      {"--socket PATH",
       "where producers connect; @NAME is an abstract socket (default: where "
       "all programs of this user look, or one for the command alone)",
       &arguments->record.socket},
      {"--fail-on-loss",
       "exit with 1 if any packet is lost, except for those that a ring has "
       "overwritten",
       &arguments->record.fails_on_loss}};
}

// Parses what a trigger or rule needs. Returns the problem, or an empty text.
std::string ParseTrigger(const RecordArguments& arguments,
                         RecordLimits* limits,
                         WatchedRules* watched) {
  if (arguments.on_triggers.empty() && arguments.when.empty()) {
    return !arguments.before.empty() || !arguments.after.empty()
               ? "--before and --after are of no use without --on-trigger or "
                 "--when"
               : "";
  }
  const std::string option =
      arguments.on_triggers.empty() ? "--when" : "--on-trigger";
  if (!arguments.config_file.empty())
    return "--config replaces " + option + "; give one";
  if (!arguments.ring.empty() || !arguments.rotate.empty())
    return option + " keeps what --before says; give no --ring or --rotate";
  if (arguments.record.output == "-")
    return option + " needs a file, not -o -";
  std::string problem;
  for (const std::string& text : arguments.when) {
    problem = ParseRecordingRule(text, &watched->rules.emplace_back());
    if (!problem.empty())
      return problem;
  }
  watched->trigger = arguments.on_triggers.empty() ? watched->rules[0].text
                                                   : arguments.on_triggers[0];
  watched->before_ms = kDefaultBeforeMs;
  if (!arguments.before.empty()) {
    problem =
        ParseMilliseconds("--before", arguments.before, &watched->before_ms);
  }
  if (!arguments.after.empty() && problem.empty())
    problem = ParseMilliseconds("--after", arguments.after, &watched->after_ms);
  limits->is_ring = true;
  limits->ring_ms =
      watched->before_ms + std::min(watched->after_ms, ~watched->before_ms);
  return problem;
}

// Parses the flight recorder, after the sizes. Returns the problem.
std::string ParseFlightRecorder(RecordArguments* arguments,
                                RecordLimits* limits) {
  RecordOptions& record = arguments->record;
  const char* const no_use =
      !record.output.empty()              ? "-o"
      : !arguments->ring.empty()          ? "--ring"
      : !arguments->rotate.empty()        ? "--rotate"
      : !arguments->on_triggers.empty()   ? "--on-trigger"
      : !arguments->when.empty()          ? "--when"
      : !arguments->compress.empty()      ? "--compress"
      : !arguments->config_file.empty()   ? "--config"
      : !record.strings.are_empty()       ? "--drop-strings or --hash-strings"
      : !arguments->shared_memory.empty() ? "--shared-memory"
      : record.fails_on_loss              ? "--fail-on-loss"
      : !record.endpoint.empty()          ? "--endpoint"
      : record.threads.are_wanted()       ? "--scheduling, --samples or --why"
                                          : nullptr;
  if (no_use != nullptr) {
    return std::string(
               "--flight-recorder writes no trace, but `pztrace "
               "recover` does; give no ") +
           no_use;
  }
  record.flight_bytes =
      limits->size_bytes != 0 ? limits->size_bytes : kDefaultBufferSize;
  limits->size_bytes = kFlightBufferSize;
  limits->is_flight = true;
  record.flight_programs = std::exchange(record.rotation.keep, 0);
  if (record.flight_programs == 0)
    record.flight_programs = kDefaultFlightPrograms;
  if (record.flight_bytes / record.flight_programs <
      protozero::FlightFolder::kMinFileSize) {
    return "--size has less than 64k for each of " +
           program::CountOf(record.flight_programs, "program");
  }
  return "";
}

// Returns the problem with options that exclude each other.
std::string ProblemOfOptions(const RecordArguments& arguments) {
  const RecordOptions& record = arguments.record;
  if (record.output.empty() && record.flight_folder.empty() &&
      record.endpoint.empty()) {
    return "-o FILE is missing";
  }
  if (!record.endpoint.empty() &&
      (!arguments.ring.empty() || !arguments.when.empty() ||
       !arguments.on_triggers.empty())) {
    return "--ring, --on-trigger and --when keep packets in memory; `pztrace "
           "export --endpoint` sends their files";
  }
  if (record.output.empty() && !arguments.rotate.empty())
    return "--rotate needs -o";
  if (!arguments.config_file.empty() && !arguments.data_sources.empty())
    return "--config replaces --data-source; give one";
  if (!arguments.config_file.empty() && !record.categories.empty())
    return "--config replaces --categories; give one";
  if (!arguments.config_file.empty() && !arguments.ring.empty())
    return "--config replaces --ring; give one";
  if (!arguments.compress.empty() && FindCodec(arguments.compress) == nullptr)
    return "--compress takes deflate or zstd";
  if (!arguments.sessions.empty() && !record.socket.empty())
    return "--session is a name in the user's folder; give no --socket";
  return ProblemOfSession(arguments.sessions);
}

// Parses the duration and the sizes of the buffer. Returns the problem.
std::string ParseSizes(const RecordArguments& arguments, RecordLimits* limits) {
  std::string problem;
  if (!arguments.duration.empty()) {
    problem = ParseMilliseconds("--duration", arguments.duration,
                                &limits->duration_ms);
  }
  if (!arguments.size.empty() && problem.empty())
    problem = ParseSize("--size", arguments.size, &limits->size_bytes);
  if (!arguments.shared_memory.empty() && problem.empty()) {
    problem = ParseSize("--shared-memory", arguments.shared_memory,
                        &limits->shared_memory_bytes);
  }
  if (arguments.ring.empty() || !problem.empty())
    return problem;
  limits->is_ring = true;
  size_t size_bytes = 0;
  problem = ParseSizeOrMilliseconds("--ring", arguments.ring, &size_bytes,
                                    &limits->ring_ms);
  if (size_bytes != 0 && !arguments.size.empty())
    return "--ring has a size; give no --size";
  if (size_bytes != 0)
    limits->size_bytes = size_bytes;
  return problem;
}

// Parses what the kernel is asked about threads. Returns the problem.
std::string ParseThreads(const RecordArguments& arguments,
                         KernelEvents::Options* threads) {
  if (arguments.wants_why) {
    threads->has_switches = true;
    threads->samples_hz = kDefaultSamplesHz;
  }
  if (arguments.samples.empty())
    return "";
  const char* const end = arguments.samples.data() + arguments.samples.size();
  const std::from_chars_result result =
      std::from_chars(arguments.samples.data(), end, threads->samples_hz);
  if (result.ec != std::errc() || result.ptr != end ||
      threads->samples_hz == 0 || threads->samples_hz > kMaxSamplesHz) {
    return "--samples takes a number from 1 to " +
           std::to_string(kMaxSamplesHz);
  }
  return "";
}

// Parses the processes. Returns the problem.
std::string ParsePids(const RecordArguments& arguments, RecordLimits* limits) {
  for (const std::string& text : arguments.pids) {
    const char* const end = text.data() + text.size();
    int32_t pid = 0;
    const std::from_chars_result result =
        std::from_chars(text.data(), end, pid);
    if (result.ec != std::errc() || result.ptr != end || pid <= 0)
      return "--pid takes the number of a process";
    limits->pids.push_back(pid);
  }
  if (!limits->pids.empty() && !arguments.record.command.empty())
    return "--pid is for programs that run already; give --name or no command";
  return "";
}

// Returns the problem with the rotation, which is parsed.
std::string ProblemOfRotation(const RecordArguments& arguments) {
  const RecordOptions& record = arguments.record;
  if (record.rotation.keep != 0 && !record.rotation.is_on() &&
      record.watched.trigger.empty()) {
    return "--keep is of no use without --rotate, --on-trigger or --when";
  }
  if (record.rotation.is_on() && !arguments.ring.empty())
    return "--ring writes one file at the end, --rotate many; give one";
  if (record.rotation.is_on() && record.output == "-")
    return "--rotate needs a file, not -o -";
  return "";
}

}  // namespace

program::Command RecordCommand(RecordArguments* arguments) {
  std::vector<program::Option> options = OutputOptions(arguments);
  for (const auto& more : {KeepOptions(arguments), SourceOptions(arguments),
                           ThreadOptions(arguments), TextOptions(arguments)}) {
    options.insert(options.end(), more.begin(), more.end());
  }
  return {
      "pztrace record",
      "{-o FILE | --endpoint URL} [options] [-- COMMAND [ARG...]]",
      R"(Runs a tracing service until the command ends, the time is up, or an interrupt
arrives. The command, and the programs that it starts, find the service by
PERFETTO_PRODUCER_SOCK_NAME in their environment. Without a command, all
programs of this user that run, or begin to run, connect by themselves; `pztrace
list` prints them. Elsewhere, as in a container, set the variable that is
printed.
)",
      std::move(options),
      R"(The exit code is 0 if the trace is written, 1 if the file took no more, if a
producer could not be recorded, or if the command failed, 2 for wrong usage.
Lost packets are counted in the last line. A trace without packets is complete;
a message says that no program had the data source.
)",
      &arguments->record.command};
}

std::string ParseLimits(RecordArguments* arguments, RecordLimits* limits) {
  RecordOptions& record = arguments->record;
  std::string problem = ProblemOfOptions(*arguments);
  // The device takes everything, and the report counts it.
  if (record.output.empty() && record.flight_folder.empty())
    record.output = "/dev/null";
  if (problem.empty() && !arguments->sessions.empty())
    record.session = arguments->sessions[0];
  if (problem.empty())
    problem = ParseSizes(*arguments, limits);
  if (problem.empty())
    problem = ParseTrigger(*arguments, limits, &record.watched);
  if (!arguments->rotate.empty() && problem.empty()) {
    problem =
        ParseSizeOrMilliseconds("--rotate", arguments->rotate,
                                &record.rotation.bytes, &record.rotation.ms);
  }
  if (problem.empty())
    problem = ParseThreads(*arguments, &record.threads);
  if (!record.flight_folder.empty() && problem.empty())
    problem = ParseFlightRecorder(arguments, limits);
  if (problem.empty())
    problem = ParsePids(*arguments, limits);
  return problem.empty() ? ProblemOfRotation(*arguments) : problem;
}

}  // namespace pztrace
