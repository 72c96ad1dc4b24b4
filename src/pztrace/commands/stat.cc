// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace stat.

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <string>

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

// Prints statistics. Returns false, and has printed why, if |bytes| are none.
bool Print(const std::string& bytes, pid_t pid) {
  if (bytes.empty()) {
    PrintError(kProgram, "process %d sends no statistics",
               static_cast<int>(pid));
    return false;
  }
  if (!PrintStats(
          protozero::ConstBytes(reinterpret_cast<const uint8_t*>(bytes.data()),
                                bytes.size()),
          stdout)) {
    PrintError(kProgram, "process %d sends something other than statistics",
               static_cast<int>(pid));
    return false;
  }
  return program::FlushStandardOutput(kProgram);
}

}  // namespace

int StatMain(int argc, char** argv) {
  uint64_t wanted_pid = 0;
  std::string interval;
  const program::Command command = {
      "pztrace stat",
      "[options]",
      "Prints how a running `pztrace record` is doing: packets, bytes, chunks, "
      "patches\nand losses of each producer and writer.\n",
      {{"--pid PID", "the process of the recording, if there are several",
        &wanted_pid},
       {"--interval TIME",
        "print it repeatedly, after this time, until the recording ends",
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
  if (wanted_pid > INT32_MAX)
    return WrongUsage(command, "--pid takes the number of a process");

  std::string folder;
  const pid_t pid = FindRecorder(static_cast<pid_t>(wanted_pid), &folder);
  if (pid == 0)
    return kFailure;
  for (bool is_first = true;; is_first = false) {
    std::string bytes;
    std::string error;
    const AskResult result =
        FetchStats(StatsSocket(folder, pid), &bytes, &error);
    // With an interval, the end of the recording is the end of the work. A
    // recorder sends nothing if it is about to end.
    if (!is_first && (result == AskResult::kNoServer ||
                      (result == AskResult::kWhole && bytes.empty()))) {
      return kSuccess;
    }
    if (result != AskResult::kWhole) {
      PrintError(kProgram, "process %d: %s", static_cast<int>(pid),
                 error.c_str());
      return kFailure;
    }
    if (!is_first)
      putchar('\n');
    if (!Print(bytes, pid))
      return kFailure;
    if (interval_ms == 0)
      return kSuccess;
    const timespec pause = {static_cast<time_t>(interval_ms / 1000),
                            static_cast<long>(interval_ms % 1000) * 1000000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace pztrace
