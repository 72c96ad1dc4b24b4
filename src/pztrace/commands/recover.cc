// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace recover.

#include <stdint.h>
#include <stdio.h>

#include <optional>
#include <string>
#include <vector>

#include "src/program/command_line.h"
#include "src/program/text.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/tasks/open_events.h"
#include "src/pztrace/trace_file/completeness.h"
#include "src/pztrace/trace_file/flight_input.h"
#include "src/pztrace/trace_file/output_file.h"
#include "src/pztrace/trace_file/string_filter.h"
#include "src/pztrace/trace_file/trace_file.h"

namespace pztrace {

using program::CountOf;
using program::kFailure;
using program::kSuccess;

namespace {

bool WriteAll(const uint8_t* data, size_t size, TraceFile* trace) {
  bool ok = trace->Write(data, size);
  while (ok && trace->has_kept()) {
    trace->WaitForReader();
    ok = trace->WriteKept();
  }
  return ok;
}

}  // namespace

int RecoverMain(int argc, char** argv) {
  std::string file_name;
  std::string output;
  StringFilter::Patterns strings;
  const program::Command command = {
      "pztrace recover",
      "[-o FILE] RECORDING",
      "Makes a trace of what a program has left in the file of its flight "
      "recorder,\nhowever it has ended, and prints where it was.\n",
      {{"RECORDING",
        "the file, a core dump of the program, or the folder of `pztrace "
        "record --flight-recorder`",
        &file_name},
       {"-o, --output FILE",
        "the trace; - is the standard output (default: none, only say what "
        "there is)",
        &output},
       {"--drop-strings PATTERN",
        "leave no text with this in it in the trace: drop such texts, and what "
        "the program does not know; '*' stands for any text between; "
        "repeatable",
        &strings.dropped},
       {"--hash-strings PATTERN",
        "the same, but equal texts have the same hash in their place; "
        "repeatable",
        &strings.hashed}}};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  const std::string problem =
      output.empty() ? "" : OutputProblem({file_name}, output);
  if (!problem.empty())
    return WrongUsage(command, problem);
  std::optional<StringFilter> filter;
  if (!StringFilter::Make(strings, &filter))
    return kFailure;
  FlightInput input;
  if (!input.Open(file_name))
    return kFailure;
  // An older trace is not replaced by an empty one.
  if (input.LacksPrograms()) {
    program::PrintError(kProgram, "%s: no program has left a recording",
                        file_name.c_str());
    return kFailure;
  }
  TraceFile trace;
  if (!output.empty() && !(trace.Open(output) && trace.Begin()))
    return kFailure;
  OpenEvents open_events;
  std::string filtered;
  const bool is_written =
      input.WriteTrace([&](const uint8_t* data, size_t size) {
        if (filter) {
          filtered.clear();
          filter->Filter({data, size}, &filtered);
          data = reinterpret_cast<const uint8_t*>(filtered.data());
          size = filtered.size();
        }
        open_events.Read({data, size});
        return output.empty() || WriteAll(data, size, &trace);
      });
  if ((!output.empty() && !trace.Close()) || !is_written)
    return kFailure;
  const std::vector<std::string> open_lines = open_events.Finish();
  for (const FlightInput::Program& program : input.programs()) {
    fprintf(stderr, "%s of %s of process %d\n",
            CountOf(program.stats.packets_read, "packet").c_str(),
            CountOf(program.stats.writers_seen, "thread").c_str(), program.pid);
  }
  fprintf(stderr, "%s: %s\n", DurationText(open_events.duration_ns()).c_str(),
          Completeness(input.Stats()).Text().c_str());
  for (const std::string& line : open_lines)
    fprintf(stderr, "%s\n", line.c_str());
  return kSuccess;
}

}  // namespace pztrace
