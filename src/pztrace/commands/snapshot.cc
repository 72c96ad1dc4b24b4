// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace snapshot.

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <string>

#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/program/text.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/record/recording_signals.h"
#include "src/pztrace/record/runtime_folder.h"
#include "src/pztrace/record/session_stats.h"
#include "src/pztrace/record/snapshot.h"
#include "src/pztrace/trace_file/completeness.h"
#include "src/pztrace/trace_file/trace_output.h"

namespace pztrace {

using program::kFailure;
using program::kSuccess;
using program::PrintError;

namespace {

// Writes a snapshot of the recording to |path|. Returns false, and has printed
// why, if it is not whole.
bool WriteSnapshot(const std::string& socket, const std::string& path) {
  const IgnoredSignals ignored;
  TraceOutput output;
  // The file is made when there is something to write to it.
  bool is_open = false;
  bool is_refused = false;
  const auto write = [&](const uint8_t* data, size_t size) {
    is_open = is_open || (output.Open(path, Rotation()) && output.Begin());
    is_refused = !is_open || !output.Write(data, size);
    while (!is_refused && output.has_kept())
      is_refused = !output.WriteKept();
    return !is_refused;
  };
  std::string summary;
  std::string error;
  if (!FetchSnapshot(socket, write, &summary, &error)) {
    // Otherwise the output has said what is wrong.
    if (!is_refused)
      PrintError(kProgram, "%s", error.c_str());
    if (is_open)
      output.Close();
    return false;
  }
  const uint64_t bytes = output.bytes();
  const uint64_t packets = output.packets();
  if (!output.Close())
    return false;
  fprintf(stderr, "%s: %s, %s, %s\n", output.name().c_str(),
          CountOf(bytes, "byte").c_str(), CountOf(packets, "packet").c_str(),
          program::Shown(summary).c_str());
  return true;
}

}  // namespace

int SnapshotMain(int argc, char** argv) {
  std::string path;
  uint64_t wanted_pid = 0;
  const program::Command command = {
      "pztrace snapshot",
      "[options]",
      R"(Writes a trace of what a running `pztrace record --ring`, or
--flight-recorder, holds now. The recording goes on, and keeps all that it has.
)",
      {{"-o, --output FILE",
        "where the trace goes; - is the standard output (default: "
        "snapshot-TIME.pftrace)",
        &path},
       {"--pid PID", "the process of the recording, if there are several",
        &wanted_pid}},
      R"(The exit code is 0 if the trace is written, 1 if there is no recording with a
ring, or if it has ended before the trace was written.
)"};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  if (wanted_pid > INT32_MAX)
    return WrongUsage(command, "--pid takes the number of a process");
  std::string folder;
  const pid_t pid = FindRecorder(static_cast<pid_t>(wanted_pid), &folder);
  if (pid == 0)
    return kFailure;
  if (path.empty()) {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    path = "snapshot-" + TimeForName(now) + ".pftrace";
  }
  return WriteSnapshot(SnapshotSocket(folder, pid), path) ? kSuccess : kFailure;
}

}  // namespace pztrace
