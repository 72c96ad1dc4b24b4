// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Shows the steps of a build, and their times: converts a .ninja_log to a trace
// that the Perfetto UI opens.

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "examples/ninja_trace/build_history.h"
#include "examples/ninja_trace/ninja_log.h"
#include "examples/ninja_trace/timeline.h"
#include "examples/ninja_trace/trace_writer.h"
#include "protozero/config.h"

namespace ninja_trace {

namespace {

enum ExitCode : int { kSuccess = 0, kFailure = 1, kWrongUsage = 2 };

// The limit of reports: the first lines tell enough about a damaged file.
constexpr uint64_t kMaxReportedLines = 20;

constexpr std::string_view kStandardStream = "-";

constexpr char kHelp[] =
    R"(Usage: ninja_trace [options] LOG

Converts the log of a Ninja build to a trace: one slice for each build step, one
track for each step that runs at the same time. Open it at ui.perfetto.dev.

  LOG                the log, the folder with it, or - for the standard input.
                     Logs of version 5, 6 and 7 are understood; damaged lines
                     are reported and passed over
  -o, --output FILE  where the trace goes; - is the standard output (default:
                     build.pftrace)
  --all              show everything that is up to date, in the order of the
                     builds that made it (default: what the last build did)
  --name NAME        of the build (default: the folder of the log)
  -h, --help         print this
  --version          print the version

The exit code is 0 if the trace was written, 1 if not, 2 for wrong usage.
)";

struct Options {
  bool all = false;
  std::string log;
  std::string name;
  std::string output = "build.pftrace";
};

struct CloseFile {
  void operator()(FILE* file) const { fclose(file); }
};
using ScopedFile = std::unique_ptr<FILE, CloseFile>;

void PrintError(const char* file, const char* problem) {
  fprintf(stderr, "ninja_trace: %s: %s\n", file, problem);
}

// Returns "1 step", "2 steps" and so on.
std::string Count(uint64_t count, const char* noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

// Completes |options|: the log may be given as its folder, which also names the
// build if the user does not.
void UseFolder(Options* options) {
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
}

// Reads the log. Returns false, and has printed why, if there is none.
bool ReadLog(const Options& options, BuildHistory* history) {
  const bool is_stdin = options.log == kStandardStream;
  const char* name = is_stdin ? "<stdin>" : options.log.c_str();
  ScopedFile closer;
  FILE* file = stdin;
  if (!is_stdin) {
    closer.reset(fopen(name, "rb"));
    file = closer.get();
    if (!file) {
      PrintError(name, strerror(errno));
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

// Writes the trace. Returns false, and has printed why, if that failed.
bool WriteTrace(const Options& options, std::vector<Build> builds) {
  const bool is_stdout = options.output == kStandardStream;
  const char* name = is_stdout ? "<stdout>" : options.output.c_str();
  FILE* file = is_stdout ? stdout : fopen(name, "wb");
  if (!file) {
    PrintError(name, strerror(errno));
    return false;
  }

  TraceWriter writer(file, options.name);
  const TimelineSize size = WriteTimeline(std::move(builds), &writer);
  std::string error;
  if (!writer.Finish())
    error = writer.error();
  // Some file systems report only here that the disk is full.
  if (!is_stdout && fclose(file) != 0 && error.empty())
    error = strerror(errno);
  if (!error.empty()) {
    PrintError(name, error.c_str());
    return false;
  }
  fprintf(is_stdout ? stderr : stdout, "%s: %s of %s in %s, %s\n", name,
          Count(size.steps, "step").c_str(),
          Count(size.builds, "build").c_str(),
          Count(size.slots, "slot").c_str(),
          Count(writer.packet_count(), "packet").c_str());
  return true;
}

int WrongUsage(const std::string& problem) {
  fprintf(stderr, "ninja_trace: %s\nTry ninja_trace --help.\n",
          problem.c_str());
  return kWrongUsage;
}

// Fills |options|. Returns an exit code if there is nothing left to do: it has
// printed the help, the version or an error.
std::optional<int> Parse(int argc, char** argv, Options* options) {
  static const option kOptions[] = {{"all", no_argument, nullptr, 'a'},
                                    {"help", no_argument, nullptr, 'h'},
                                    {"name", required_argument, nullptr, 'n'},
                                    {"output", required_argument, nullptr, 'o'},
                                    {"version", no_argument, nullptr, 'v'},
                                    {nullptr, 0, nullptr, 0}};
  opterr = 0;
  int found;
  while ((found = getopt_long(argc, argv, ":ho:", kOptions, nullptr)) != -1) {
    switch (found) {
      case 'a':
        options->all = true;
        break;
      case 'h':
        fputs(kHelp, stdout);
        return kSuccess;
      case 'n':
        options->name = optarg;
        break;
      case 'o':
        options->output = optarg;
        break;
      case 'v':
        printf("ninja_trace %d.%d.%d\n", PROTOZERO_VERSION / 10000,
               PROTOZERO_VERSION / 100 % 100, PROTOZERO_VERSION % 100);
        return kSuccess;
      case ':':
        return WrongUsage(std::string(argv[optind - 1]) + " needs a value");
      default:
        return WrongUsage("unknown option '" + std::string(argv[optind - 1]) +
                          "'");
    }
  }
  if (optind < argc)
    options->log = argv[optind++];
  if (options->log.empty())
    return WrongUsage("LOG is missing");
  if (optind < argc) {
    return WrongUsage("'" + std::string(argv[optind]) +
                      "' is one argument too many");
  }
  return std::nullopt;
}

int Main(int argc, char** argv) {
  Options options;
  if (const auto exit_code = Parse(argc, argv, &options))
    return *exit_code;
  UseFolder(&options);
  BuildHistory history(options.all ? BuildHistory::Keep::kAllBuilds
                                   : BuildHistory::Keep::kLastBuild);
  if (!ReadLog(options, &history))
    return kFailure;
  return WriteTrace(options, history.TakeBuilds()) ? kSuccess : kFailure;
}

}  // namespace

}  // namespace ninja_trace

int main(int argc, char** argv) {
  return ninja_trace::Main(argc, argv);
}
