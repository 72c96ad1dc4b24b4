// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The command line of pztrace.

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "protozero/const_bytes.h"
#include "src/pbz/field_stream.h"
#include "src/pbz/printer.h"
#include "src/pbz/program_io.h"
#include "src/pbz/report.h"
#include "src/pbz/schema.h"
#include "src/pztrace/embedded_schema.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/record.h"
#include "src/pztrace/runtime_folder.h"
#include "src/pztrace/stats.h"
#include "src/pztrace/trace_config.h"
#include "src/tracing/out_of_memory.h"

namespace pztrace {

namespace {

using pbz::PrintError;

constexpr char kVersionNumber[] = "0.1.0";

constexpr char kUsage[] =
    R"(Usage: pztrace record -o FILE [options] [-- COMMAND [ARGUMENT...]]
       pztrace stat [options]
       pztrace cat [options] FILE

Records what programs trace, in Perfetto's format: ui.perfetto.dev shows it.

  record  runs a tracing service until the command ends, the time is up, or
          somebody interrupts it. The command, and whatever it starts, find the
          service by PERFETTO_PRODUCER_SOCK_NAME in their environment; without a
          command, this is printed
  stat    tells how a running `pztrace record` is doing: packets, bytes, chunks,
          patches and losses of each producer and writer
  cat     prints the packets of a trace, as protoc --decode does; - is the
          standard input

record:
  -o, --output FILE   where the trace goes; - is the standard output, and what
                      the command prints goes to the standard error then
  --duration TIME     stop after this time, as in 10, 1.5s or 200ms
  --size SIZE         of the buffer in memory, as in 64M (the default) or 500k.
                      It is collected and written to the file four times per
                      second; what comes faster than that overwrites the oldest
  --data-source NAME  what to record (default: track_event); repeatable
  --config FILE       a serialized TraceConfig of Perfetto's, which says all
                      that; of those above, only --duration and --size may be
                      given, and replace what it says
  --socket PATH       where producers connect; @NAME is an abstract socket
                      (default: one in a folder of this user's)
stat:
  --pid PID           which one, if there are several
  --interval TIME     print it again and again, until the recording ends
cat:
  --offsets           begin each line with the field's offset and size
  --color WHEN        auto (the default: on a terminal, unless NO_COLOR is set),
                      always or never

  -h, --help          print this
  --version           print the version

Exit code: 0 if all is well, 1 if not, or if the command failed, 2 if called
wrongly. A trace that lacks something because producers could not be recorded,
or because the file took no more, is not well; one that is empty because nobody
had what was asked for is, and a message says so.
)";

enum ExitCode : int { kSuccess = 0, kFailure = 1, kWrongUsage = 2 };

constexpr char kDefaultDataSource[] = "track_event";
constexpr size_t kDefaultBufferSize = size_t{64} * 1024 * 1024;
constexpr uint32_t kWritePeriodMs = 250;

struct Options {
  enum class Command { kNone, kHelp, kVersion, kRecord, kStat, kCat };

  Command command = Command::kNone;
  // Of cat.
  std::string file;
  // As given; empty if not.
  std::string output;
  std::string duration;
  std::string size;
  std::string config;
  std::string socket;
  std::string pid;
  std::string interval;
  std::string color = "auto";
  bool offsets = false;
  std::vector<std::string> data_sources;
  std::vector<std::string> program;
};

struct Unit {
  std::string_view name;
  double factor;
};

// A number and one of |units|, which may be left out if the first is meant.
// Returns false if it is something else, or less than 1. It may be as large as
// infinity.
template <size_t kCount>
bool ParseNumber(const std::string& text,
                 const Unit (&units)[kCount],
                 double* value) {
  if (text.empty() || text[0] < '0' || text[0] > '9')
    return false;
  char* end = nullptr;
  const double number = strtod(text.c_str(), &end);
  const std::string_view unit(end);
  for (const Unit& candidate : units) {
    if (unit == candidate.name || (unit.empty() && &candidate == units)) {
      *value = number * candidate.factor;
      return *value >= 1;
    }
  }
  return false;
}

bool ParseMilliseconds(const char* option,
                       const std::string& text,
                       uint32_t* value) {
  static constexpr Unit kUnits[] = {{"s", 1000}, {"ms", 1}, {"m", 60000}};
  double milliseconds = 0;
  if (!ParseNumber(text, kUnits, &milliseconds)) {
    PrintError(kProgram, "%s takes a time, as in 10, 1.5s or 200ms", option);
    return false;
  }
  if (milliseconds > UINT32_MAX) {
    PrintError(kProgram, "%s is %u s at most, not %s", option,
               UINT32_MAX / 1000, text.c_str());
    return false;
  }
  *value = static_cast<uint32_t>(milliseconds);
  return true;
}

bool ParseSize(const char* option, const std::string& text, size_t* value) {
  static constexpr Unit kUnits[] = {
      {"", 1},        {"k", 1 << 10}, {"K", 1 << 10}, {"m", 1 << 20},
      {"M", 1 << 20}, {"g", 1 << 30}, {"G", 1 << 30}};
  double bytes = 0;
  if (!ParseNumber(text, kUnits, &bytes)) {
    PrintError(kProgram, "%s takes a number of bytes, as in 500k or 64M",
               option);
    return false;
  }
  if (bytes > static_cast<double>(kMaxBufferSize)) {
    PrintError(kProgram, "%s is less than %zuG, not %s", option,
               (kMaxBufferSize >> 30) + 1, text.c_str());
    return false;
  }
  *value = static_cast<size_t>(bytes);
  return true;
}

bool ParsePid(const std::string& text, pid_t* pid) {
  static constexpr Unit kUnits[] = {{"", 1}};
  double number = 0;
  if (!ParseNumber(text, kUnits, &number) || number > INT32_MAX ||
      number != floor(number)) {
    PrintError(kProgram, "--pid takes the number of a process");
    return false;
  }
  *pid = static_cast<pid_t>(number);
  return true;
}

// Returns false, and has printed why, if the arguments make no sense.
bool ParseOptions(int argc, char** argv, Options* options) {
  using Command = Options::Command;
  struct ValueOption {
    std::string_view name;
    Command command;
    std::string* value;
  };
  std::string data_source;
  const ValueOption value_options[] = {
      {"-o", Command::kRecord, &options->output},
      {"--output", Command::kRecord, &options->output},
      {"--duration", Command::kRecord, &options->duration},
      {"--size", Command::kRecord, &options->size},
      {"--data-source", Command::kRecord, &data_source},
      {"--config", Command::kRecord, &options->config},
      {"--socket", Command::kRecord, &options->socket},
      {"--pid", Command::kStat, &options->pid},
      {"--interval", Command::kStat, &options->interval},
      {"--color", Command::kCat, &options->color},
  };
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "record") {
    options->command = Command::kRecord;
  } else if (command == "stat") {
    options->command = Command::kStat;
  } else if (command == "cat") {
    options->command = Command::kCat;
  } else if (command == "-h" || command == "--help") {
    options->command = Command::kHelp;
    return true;
  } else if (command == "--version") {
    options->command = Command::kVersion;
    return true;
  } else {
    if (argc > 1)
      PrintError(kProgram, "unknown command '%s'", argv[1]);
    else
      PrintError(kProgram, "record, stat or cat?");
    return false;
  }

  for (int i = 2; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "-h" || arg == "--help") {
      options->command = Command::kHelp;
      return true;
    }
    if (arg == "--offsets" && options->command == Command::kCat) {
      options->offsets = true;
      continue;
    }
    if (arg == "--") {
      for (++i; i < argc; ++i)
        options->program.push_back(argv[i]);
      break;
    }
    if (arg.size() < 2 || arg.front() != '-') {
      if (options->command != Command::kCat || !options->file.empty() ||
          arg.empty()) {
        PrintError(kProgram, "'%s' is one argument too many%s", argv[i],
                   options->command == Command::kRecord
                       ? "; a command stands after --"
                       : "");
        return false;
      }
      options->file = arg;
      continue;
    }
    const size_t equals =
        arg.substr(0, 2) == "--" ? arg.find('=') : std::string_view::npos;
    const std::string_view name = arg.substr(0, equals);
    const ValueOption* found = nullptr;
    for (const ValueOption& option : value_options) {
      if (option.name == name && option.command == options->command)
        found = &option;
    }
    if (found == nullptr) {
      PrintError(kProgram, "unknown option '%s'", argv[i]);
      return false;
    }
    if (equals != std::string_view::npos) {
      *found->value = arg.substr(equals + 1);
    } else if (++i < argc) {
      *found->value = argv[i];
    }
    if (found->value->empty()) {
      PrintError(kProgram, "%.*s needs a value", static_cast<int>(name.size()),
                 name.data());
      return false;
    }
    if (!data_source.empty()) {
      options->data_sources.push_back(data_source);
      data_source.clear();
    }
  }

  if (options->command != Command::kRecord && !options->program.empty()) {
    // What follows -- is a file, too.
    if (options->command != Command::kCat || !options->file.empty() ||
        options->program.size() != 1) {
      PrintError(kProgram, "'%s' is one argument too many",
                 options->program.back().c_str());
      return false;
    }
    options->file = options->program[0];
  }
  if (options->command == Command::kRecord && options->output.empty()) {
    PrintError(kProgram, "where does the trace go? (-o FILE)");
  } else if (options->command == Command::kCat && options->file.empty()) {
    PrintError(kProgram, "which file?");
  } else if (!pbz::UseColor(options->color)) {
    PrintError(kProgram, "--color is auto, always or never");
  } else if (!options->config.empty() && !options->data_sources.empty()) {
    PrintError(kProgram,
               "--config says what to record, --data-source is without it");
  } else {
    return true;
  }
  return false;
}

// Returns false, and has printed why, if the file cannot be read.
bool ReadConfig(const std::string& path, protozero::TraceConfig* config) {
  std::vector<uint8_t> content;
  if (!pbz::ReadFile(kProgram, path, &content))
    return false;
  std::string error;
  if (ParseTraceConfig(protozero::ConstBytes(content.data(), content.size()),
                       config, &error)) {
    return true;
  }
  PrintError(kProgram, "%s: %s", path.c_str(), error.c_str());
  return false;
}

int RunRecord(const Options& options) {
  RecordOptions record;
  record.output = options.output;
  record.socket = options.socket;
  record.command = options.program;
  protozero::TraceConfig& config = record.config;
  if (!options.config.empty()) {
    if (!ReadConfig(options.config, &config))
      return kFailure;
  } else {
    config.buffers.emplace_back();
    config.buffers[0].size_bytes = kDefaultBufferSize;
    config.flush_period_ms = kWritePeriodMs;
    config.write_period_ms = kWritePeriodMs;
    std::vector<std::string> names = options.data_sources;
    if (names.empty())
      names.push_back(kDefaultDataSource);
    for (const std::string& name : names) {
      config.data_sources.emplace_back();
      config.data_sources.back().config.name = name;
    }
  }
  if (!options.duration.empty() &&
      !ParseMilliseconds("--duration", options.duration, &config.duration_ms))
    return kWrongUsage;
  if (!options.size.empty()) {
    size_t size = 0;
    if (!ParseSize("--size", options.size, &size))
      return kWrongUsage;
    for (protozero::TraceConfig::Buffer& buffer : config.buffers)
      buffer.size_bytes = size;
  }
  return Record(record) ? kSuccess : kFailure;
}

// Returns 0, and has printed why, if there is none, or if it is not clear
// which.
pid_t FindRecorder(const std::string& folder) {
  std::vector<pid_t> pids;
  for (const pid_t pid : FindRecorders(folder)) {
    std::string unused;
    // One that was killed has left its socket.
    if (FetchStats(StatsSocket(folder, pid), &unused, &unused)) {
      pids.push_back(pid);
    } else {
      unlink(StatsSocket(folder, pid).c_str());
      unlink(ProducerSocket(folder, pid).c_str());
    }
  }
  if (pids.size() == 1)
    return pids[0];
  if (pids.empty()) {
    PrintError(kProgram, "no pztrace record is running");
  } else {
    PrintError(kProgram, "which one? --pid %d, or --pid %d?",
               static_cast<int>(pids[0]), static_cast<int>(pids[1]));
  }
  return 0;
}

int RunStat(const Options& options) {
  pid_t pid = 0;
  if (!options.pid.empty() && !ParsePid(options.pid, &pid))
    return kWrongUsage;
  uint32_t interval_ms = 0;
  if (!options.interval.empty() &&
      !ParseMilliseconds("--interval", options.interval, &interval_ms))
    return kWrongUsage;
  std::string error;
  const std::string folder = RuntimeFolder(&error);
  if (folder.empty()) {
    PrintError(kProgram, "%s", error.c_str());
    return kFailure;
  }
  if (pid == 0)
    pid = FindRecorder(folder);
  if (pid == 0)
    return kFailure;
  for (bool is_first = true;; is_first = false) {
    std::string bytes;
    if (!FetchStats(StatsSocket(folder, pid), &bytes, &error)) {
      // That it ends is what an interval waits for.
      if (!is_first)
        return kSuccess;
      PrintError(kProgram, "%s", error.c_str());
      return kFailure;
    }
    if (!is_first)
      putchar('\n');
    // Nothing at all is sent by one that is about to end, or has no memory.
    if (bytes.empty()) {
      if (!is_first)
        return kSuccess;
      PrintError(kProgram, "process %d has nothing to tell",
                 static_cast<int>(pid));
      return kFailure;
    }
    if (!PrintStats(
            protozero::ConstBytes(
                reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()),
            stdout)) {
      PrintError(kProgram, "process %d sends something else",
                 static_cast<int>(pid));
      return kFailure;
    }
    if (!pbz::FlushStandardOutput(kProgram))
      return kFailure;
    if (interval_ms == 0)
      return kSuccess;
    const timespec pause = {static_cast<time_t>(interval_ms / 1000),
                            static_cast<long>(interval_ms % 1000) * 1000000};
    nanosleep(&pause, nullptr);
  }
}

int RunCat(const Options& options) {
  std::string error;
  const std::unique_ptr<pbz::Schema> schema =
      pbz::Schema::Parse(kTraceSchema, &error);
  if (!schema) {
    PrintError(kProgram, "%s", error.c_str());
    return kFailure;
  }
  const pbz::ScopedFile file = pbz::OpenFile(kProgram, options.file);
  if (!file)
    return kFailure;
  pbz::Printer::Options printer_options;
  printer_options.color = *pbz::UseColor(options.color);
  printer_options.offsets = options.offsets;
  pbz::Printer printer(stdout, printer_options);
  pbz::FieldStream stream(file.get());
  bool ok = pbz::WalkAndReport(kProgram, pbz::DisplayName(options.file),
                               schema->FindMessage("Trace"), &stream, &printer);
  if (!pbz::FlushStandardOutput(kProgram))
    ok = false;
  return ok ? kSuccess : kFailure;
}

// Makes sure that there are a standard input, output and error: otherwise the
// trace, or a socket, would take the place of one, and what is printed would go
// there. What takes the place of those that are closed can be read only, so
// printing to it is an error.
void OpenStandardStreams() {
  int fd;
  do {
    fd = open("/dev/null", O_RDONLY);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0)
    close(fd);
}

void PrintOutOfMemory() {
  fputs("pztrace: out of memory\n", stderr);
}

int Main(int argc, char** argv) {
  OpenStandardStreams();
  Options options;
  int result = kWrongUsage;
  if (ParseOptions(argc, argv, &options)) {
    switch (options.command) {
      case Options::Command::kNone:
        break;
      case Options::Command::kHelp:
        fputs(kUsage, stdout);
        return kSuccess;
      case Options::Command::kVersion:
        printf("pztrace %s\n", kVersionNumber);
        return kSuccess;
      case Options::Command::kRecord:
        result = RunRecord(options);
        break;
      case Options::Command::kStat:
        result = RunStat(options);
        break;
      case Options::Command::kCat:
        result = RunCat(options);
        break;
    }
  }
  if (result == kWrongUsage)
    fputs("Try pztrace --help.\n", stderr);
  return result;
}

}  // namespace

}  // namespace pztrace

int main(int argc, char** argv) {
#if !defined(__cpp_exceptions)
  std::set_new_handler([] {
    pztrace::PrintOutOfMemory();
    _exit(pztrace::kFailure);
  });
#endif
  int result = pztrace::kFailure;
  if (!protozero::RunsInMemory([&] { result = pztrace::Main(argc, argv); }))
    pztrace::PrintOutOfMemory();
  return result;
}
