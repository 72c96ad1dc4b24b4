// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Shows the steps of a build, and their times: converts a .ninja_log to a trace
// that the Perfetto UI opens.

#include <errno.h>
#include <inttypes.h>
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
#include "src/program/command_line.h"
#include "src/program/io.h"

namespace ninja_trace {

namespace {

using program::kFailure;
using program::kSuccess;

// The limit of reports: the first lines tell enough about a damaged file.
constexpr uint64_t kMaxReportedLines = 20;

constexpr std::string_view kStandardStream = "-";

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
      program::PrintError("ninja_trace", "%s: %s", name, strerror(errno));
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
    program::PrintError("ninja_trace", "%s: %s", name, strerror(errno));
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
    program::PrintError("ninja_trace", "%s: %s", name, error.c_str());
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
  const program::Command command = {
      "ninja_trace",
      "[options] LOG",
      R"(Converts the log of a Ninja build to a trace: one slice for each build step, one
track for each step that runs at the same time. Open it at ui.perfetto.dev.
)",
      {{"LOG",
        "the log, the folder with it, or - for the standard input. Logs of "
        "version 5, 6 and 7 are understood; damaged lines are reported and "
        "passed over",
        &options.log},
       {"-o, --output FILE",
        "where the trace goes; - is the standard output (default: "
        "build.pftrace)",
        &options.output},
       {"--all",
        "show everything that is up to date, in the order of the builds that "
        "made it (default: what the last build did)",
        &options.all},
       {"--name NAME", "of the build (default: the folder of the log)",
        &options.name}},
      "The exit code is 0 if the trace was written, 1 if not, 2 for wrong "
      "usage.\n"};
  if (const auto exit_code = program::Parse(command, argc, argv))
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
