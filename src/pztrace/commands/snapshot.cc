// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace snapshot.

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <string>
#include <vector>

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

// Writes a snapshot of the recording to |path|. If it is not whole, has printed
// why, after |prefix|.
SnapshotResult WriteSnapshot(const std::string& socket,
                             const std::string& path,
                             const std::string& prefix) {
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
  const SnapshotResult result = FetchSnapshot(socket, write, &summary, &error);
  if (result != SnapshotResult::kWhole) {
    // Otherwise the output has said what is wrong.
    if (!is_refused)
      PrintError(kProgram, "%s%s", prefix.c_str(), error.c_str());
    if (is_open)
      output.Close();
    return result;
  }
  const uint64_t bytes = output.bytes();
  const uint64_t packets = output.packets();
  if (!output.Close())
    return SnapshotResult::kFailed;
  fprintf(stderr, "%s: %s, %s, %s\n", output.name().c_str(),
          CountOf(bytes, "byte").c_str(), CountOf(packets, "packet").c_str(),
          program::Shown(summary).c_str());
  return result;
}

// Returns the file's name, which tells it from those of other recorders, if
// there |are_others|.
std::string DefaultPath(const Recorder& recorder, bool are_others) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const std::string name = !recorder.name.empty() ? recorder.name + "-"
                           : are_others ? std::to_string(recorder.pid) + "-"
                                        : "";
  return "snapshot-" + name + TimeForName(now) + ".pftrace";
}

// Writes a snapshot of each recording that keeps its packets. Returns false,
// and has printed why, if one failed or there is none.
bool WriteSnapshots(const std::vector<Recorder>& recorders,
                    const std::string& folder,
                    const std::string& path) {
  bool ok = true;
  size_t num_written = 0;
  const bool are_others = recorders.size() > 1;
  for (const Recorder& recorder : recorders) {
    const SnapshotResult result =
        WriteSnapshot(SnapshotSocket(folder, recorder.pid),
                      path.empty() ? DefaultPath(recorder, are_others) : path,
                      are_others ? ShownRecorder(recorder) + ": " : "");
    num_written += result == SnapshotResult::kWhole;
    ok = ok && result != SnapshotResult::kFailed;
  }
  return ok && num_written != 0;
}

}  // namespace

int SnapshotMain(int argc, char** argv) {
  std::string path;
  RecorderChoice choice;
  const program::Command command = {
      "pztrace snapshot",
      "[options]",
      R"(Writes a trace of what each running `pztrace record --ring`, or
--flight-recorder, holds now. The recordings go on, and keep all that they have.
)",
      {{"-o, --output FILE",
        "where the trace of one recording goes; - is the standard output "
        "(default: snapshot-NAME-TIME.pftrace)",
        &path},
       {"--session NAME", "the recording of this name only", &choice.sessions},
       {"--pid PID", "the recording of this process only", &choice.pid}},
      R"(The exit code is 0 if the traces are written, 1 if there is no recording with a
ring, or if one has ended before its trace was written.
)"};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  const std::string problem = choice.Problem();
  if (!problem.empty())
    return WrongUsage(command, problem);
  std::string folder;
  const std::vector<Recorder> recorders = FindChosen(choice, &folder);
  if (recorders.empty())
    return kFailure;
  if (recorders.size() > 1 && !path.empty()) {
    PrintError(kProgram,
               "several recordings are running, and -o is for one: --pid %d "
               "(%s), --pid %d (%s)",
               static_cast<int>(recorders[0].pid),
               ShownRecorder(recorders[0]).c_str(),
               static_cast<int>(recorders[1].pid),
               ShownRecorder(recorders[1]).c_str());
    return kFailure;
  }
  return WriteSnapshots(recorders, folder, path) ? kSuccess : kFailure;
}

}  // namespace pztrace
