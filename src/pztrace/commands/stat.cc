// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace stat.

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <string>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/record/runtime_folder.h"
#include "src/pztrace/record/session_stats.h"
#include "src/pztrace/trace_file/quantities.h"

namespace pztrace {

using program::kFailure;
using program::kSuccess;
using program::PrintError;

namespace {

// The recorders, and whether their names are printed.
struct Shown {
  std::vector<Recorder> recorders;
  bool has_names;
};

// Prints statistics. Returns false, and has printed why, if |bytes| are none.
bool Print(const std::string& bytes, const Recorder& recorder, bool has_name) {
  const std::string name = ShownRecorder(recorder);
  if (bytes.empty()) {
    PrintError(kProgram, "%s sends no statistics", name.c_str());
    return false;
  }
  if (has_name)
    printf("%s:\n", name.c_str());
  if (!PrintStats(
          protozero::ConstBytes(reinterpret_cast<const uint8_t*>(bytes.data()),
                                bytes.size()),
          stdout)) {
    PrintError(kProgram, "%s sends something other than statistics",
               name.c_str());
    return false;
  }
  return program::FlushStandardOutput(kProgram);
}

// Prints the statistics of each recorder. Removes those that have ended, unless
// it |is_first|. Returns false, and has printed why, if one has sent none.
bool PrintAll(const std::string& folder, bool is_first, Shown* shown) {
  bool ok = true;
  std::vector<Recorder> running;
  for (const Recorder& recorder : shown->recorders) {
    std::string bytes;
    std::string error;
    const AskResult result =
        FetchStats(StatsSocket(folder, recorder.pid), &bytes, &error);
    // With an interval, the end of the recording is the end of the work. A
    // recorder sends nothing if it is about to end.
    if (!is_first && (result == AskResult::kNoServer ||
                      (result == AskResult::kWhole && bytes.empty()))) {
      continue;
    }
    if (result != AskResult::kWhole) {
      PrintError(kProgram, "%s: %s", ShownRecorder(recorder).c_str(),
                 error.c_str());
      ok = false;
      continue;
    }
    if (!is_first || !running.empty())
      putchar('\n');
    ok = Print(bytes, recorder, shown->has_names) && ok;
    running.push_back(recorder);
  }
  shown->recorders = std::move(running);
  return ok;
}

}  // namespace

int StatMain(int argc, char** argv) {
  RecorderChoice choice;
  std::string interval;
  const program::Command command = {
      "pztrace stat",
      "[options]",
      "Prints how each running `pztrace record` is doing: packets, bytes, "
      "chunks,\npatches and losses of each producer and writer.\n",
      {{"--session NAME", "the recording of this name only", &choice.sessions},
       {"--pid PID", "the recording of this process only", &choice.pid},
       {"--interval TIME",
        "print it repeatedly, after this time, until the recordings end",
        &interval}}};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  uint32_t interval_ms = 0;
  if (!interval.empty()) {
    const std::string problem =
        ParseMilliseconds("--interval", interval, &interval_ms);
    if (!problem.empty())
      return WrongUsage(command, problem);
  }
  const std::string problem = choice.Problem();
  if (!problem.empty())
    return WrongUsage(command, problem);

  std::string folder;
  Shown shown = {FindChosen(choice, &folder), false};
  if (shown.recorders.empty())
    return kFailure;
  shown.has_names =
      shown.recorders.size() > 1 || !shown.recorders[0].name.empty();
  for (bool is_first = true; !shown.recorders.empty(); is_first = false) {
    if (!PrintAll(folder, is_first, &shown))
      return kFailure;
    if (interval_ms == 0)
      return kSuccess;
    const timespec pause = {static_cast<time_t>(interval_ms / 1000),
                            static_cast<long>(interval_ms % 1000) * 1000000};
    nanosleep(&pause, nullptr);
  }
  return kSuccess;
}

}  // namespace pztrace
