// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Shows what a build did, and when: converts a .ninja_log to a trace that the
// Perfetto UI opens. kUsage says how it is called.

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "examples/ninja_trace/build_history.h"
#include "examples/ninja_trace/ninja_log.h"
#include "examples/ninja_trace/timeline.h"
#include "examples/ninja_trace/trace_writer.h"

namespace ninja_trace {

namespace {

constexpr char kUsage[] =
    R"(Usage: ninja_trace [options] path/to/.ninja_log

Converts the log of a Ninja build to a trace: one slice for each build step, one
track for each step that runs at the same time. Open it at ui.perfetto.dev.

The log may also be given as the directory that contains it, or as - for the
standard input. Logs of version 5, 6 and 7 are understood; damaged lines are
reported and passed over.

  -o FILE      write the trace to FILE, or to the standard output if it is -
               (default: build.pftrace)
  --all        show everything that is up to date, in the order of the builds
               that made it (default: what the last build did)
  --name NAME  what to call the build (default: the directory of the log)
  -h, --help   print this

Exit code: 0 if the trace was written, 1 if not, 2 if called wrongly.
)";

enum ExitCode : int { kSuccess = 0, kFailure = 1, kWrongUsage = 2 };

// A file with a lot of damage is reported by its first lines.
constexpr uint64_t kMaxReportedLines = 20;

constexpr std::string_view kStandardStream = "-";

struct Options {
  bool help = false;
  BuildHistory::Keep keep = BuildHistory::Keep::kLastBuild;
  std::string log;
  std::string name;
  std::string output = "build.pftrace";
};

struct CloseFile {
  void operator()(FILE* file) const { fclose(file); }
};
using ScopedFile = std::unique_ptr<FILE, CloseFile>;

// Prints why the program is about to give up.
__attribute__((format(printf, 1, 2))) void PrintError(const char* format, ...) {
  fputs("ninja_trace: ", stderr);
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
}

// "1 step", "2 steps".
std::string Count(uint64_t count, const char* noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

// Returns false, and has printed why, if the arguments make no sense.
bool ParseOptions(int argc, char** argv, Options* options) {
  constexpr std::string_view kNameEquals = "--name=";
  bool only_paths = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const bool is_option = !only_paths && arg.size() > 1 && arg.front() == '-';
    if (!is_option) {
      if (!options->log.empty() || arg.empty()) {
        PrintError("exactly one log is expected");
        return false;
      }
      options->log = arg;
    } else if (arg == "--") {
      only_paths = true;
    } else if (arg == "-h" || arg == "--help") {
      options->help = true;
      return true;
    } else if (arg == "--all") {
      options->keep = BuildHistory::Keep::kAllBuilds;
    } else if (arg.substr(0, kNameEquals.size()) == kNameEquals) {
      options->name = arg.substr(kNameEquals.size());
    } else if (arg == "-o" || arg == "--name") {
      if (i + 1 == argc) {
        PrintError("%s needs a value", argv[i]);
        return false;
      }
      (arg == "-o" ? options->output : options->name) = argv[++i];
    } else {
      PrintError("unknown option '%s'", argv[i]);
      return false;
    }
  }
  if (options->log.empty()) {
    PrintError("which log?");
    return false;
  }

  std::error_code error;
  std::filesystem::path path = options->log;
  if (std::filesystem::is_directory(path, error)) {
    path /= ".ninja_log";
    options->log = path.string();
  }
  if (options->name.empty()) {
    options->name = path.parent_path().string();
    if (options->name.empty())
      options->name = "build";
  }
  return true;
}

// Returns false, and has printed why, if there is no log.
bool ReadLog(const Options& options, BuildHistory* history) {
  const bool is_stdin = options.log == kStandardStream;
  const char* name = is_stdin ? "<stdin>" : options.log.c_str();
  ScopedFile closer;
  FILE* file = stdin;
  if (!is_stdin) {
    closer.reset(fopen(name, "rb"));
    file = closer.get();
    if (!file) {
      PrintError("%s: %s", name, strerror(errno));
      return false;
    }
  }

  uint64_t reported = 0;
  const auto report = [&](uint64_t line, std::string_view reason) {
    if (++reported <= kMaxReportedLines) {
      fprintf(stderr, "%s:%" PRIu64 ": %.*s\n", name, line,
              static_cast<int>(reason.size()), reason.data());
    }
  };
  const bool is_log = ReadNinjaLog(file, report, history);
  if (reported > kMaxReportedLines) {
    fprintf(stderr, "%s: %" PRIu64 " more such lines\n", name,
            reported - kMaxReportedLines);
  }
  return is_log;
}

// Returns false, and has printed why, if the trace could not be written.
bool WriteTrace(const Options& options, std::vector<Build> builds) {
  const bool is_stdout = options.output == kStandardStream;
  const char* name = is_stdout ? "<stdout>" : options.output.c_str();
  FILE* file = is_stdout ? stdout : fopen(name, "wb");
  if (!file) {
    PrintError("%s: %s", name, strerror(errno));
    return false;
  }

  TraceWriter writer(file, options.name);
  const TimelineSize size = WriteTimeline(std::move(builds), &writer);
  std::string error;
  if (!writer.Finish())
    error = writer.error();
  // Some file systems tell only here that the disk is full.
  if (!is_stdout && fclose(file) != 0 && error.empty())
    error = strerror(errno);
  if (!error.empty()) {
    PrintError("%s: %s", name, error.c_str());
    return false;
  }
  fprintf(is_stdout ? stderr : stdout, "%s: %s of %s in %s, %s\n", name,
          Count(size.steps, "step").c_str(),
          Count(size.builds, "build").c_str(),
          Count(size.slots, "slot").c_str(),
          Count(writer.packet_count(), "packet").c_str());
  return true;
}

int Main(int argc, char** argv) {
  Options options;
  if (!ParseOptions(argc, argv, &options)) {
    fputs("Try ninja_trace --help.\n", stderr);
    return kWrongUsage;
  }
  if (options.help) {
    fputs(kUsage, stdout);
    return kSuccess;
  }
  BuildHistory history(options.keep);
  if (!ReadLog(options, &history))
    return kFailure;
  return WriteTrace(options, history.TakeBuilds()) ? kSuccess : kFailure;
}

}  // namespace

}  // namespace ninja_trace

int main(int argc, char** argv) {
  return ninja_trace::Main(argc, argv);
}
