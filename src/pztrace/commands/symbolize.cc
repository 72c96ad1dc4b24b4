// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace symbolize.

#include <inttypes.h>
#include <stdint.h>

#include <string>
#include <string_view>

#include "protozero/const_bytes.h"
#include "protozero/proto_decoder.h"
#include "src/pbz/field_stream.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/program/text.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/scheduling/symbol_packets.h"
#include "src/pztrace/scheduling/symbolizer.h"
#include "src/pztrace/scheduling/trace_addresses.h"
#include "src/pztrace/tasks/sample_tasks.h"
#include "src/pztrace/trace_file/output_file.h"
#include "src/pztrace/trace_file/trace_input.h"

namespace pztrace {

namespace {

using program::kFailure;
using program::kSuccess;

// Writes names for the places of a trace, and prints how many. Returns false if
// it cannot write.
bool WriteNames(const std::string& name,
                const std::string& root,
                const SampleTasks& tasks,
                TraceAddresses* addresses,
                OutputFile* file) {
  bool is_written = true;
  const SymbolCounts counts =
      WriteSymbolPackets(addresses->Take(), root, /*maps=*/nullptr,
                         [&](const std::string& packets) {
                           is_written = file->Write(packets);
                           return is_written;
                         });
  const std::string with_tasks =
      tasks.count() != 0
          ? "; tasks for " + program::CountOf(tasks.count(), "sample")
          : "";
  program::PrintError(kProgram, "%s: names for %s, none for %" PRIu64 "%s",
                      name.c_str(),
                      program::CountOf(counts.found, "place").c_str(),
                      counts.not_found, with_tasks.c_str());
  return is_written;
}

// Copies the trace, and adds the names and tasks that are missing. Returns
// false, and has printed why, if that did not work, or the trace is damaged.
bool Symbolize(const std::string& name,
               const std::string& root,
               TraceStream* stream,
               OutputFile* file) {
  TraceAddresses addresses;
  SampleTasks tasks;
  pbz::FieldStream::Run run;
  // A pipe can be read only once.
  if (stream->Restart()) {
    while (stream->Next(&run))
      tasks.Read(protozero::ConstBytes(run.data, run.size));
    stream->Restart();
  }
  tasks.Finish();
  bool is_damaged = false;
  while (stream->Next(&run)) {
    const protozero::ConstBytes packets(run.data, run.size);
    // Packets after a part of one would be read as its rest.
    is_damaged = !protozero::ProtoDecoder(packets).ReadField().valid();
    if (is_damaged)
      break;
    addresses.Read(packets);
    if (!file->Write(tasks.AddTo(packets)))
      return false;
  }
  if (!WriteNames(name, root, tasks, &addresses, file))
    return false;
  const std::string problem =
      is_damaged ? "the trace is damaged; the output has what comes before that"
                 : stream->error();
  if (!problem.empty())
    program::PrintError(kProgram, "%s: %s", name.c_str(), problem.c_str());
  return problem.empty();
}

}  // namespace

int SymbolizeMain(int argc, char** argv) {
  std::string file_name;
  std::string output;
  std::string root;
  const program::Command command = {
      "pztrace symbolize",
      "[options] -o OUTPUT FILE",
      R"(Adds the names of functions to the stacks of a trace, from the files that were
mapped: their symbol tables and debug information, which may be where debuggers
look for it. `pztrace record` does that itself where it can. Also adds the task
that ran to each sample, as Perfetto's async context, but not from a pipe.
)",
      {{"FILE", "the trace; - is the standard input", &file_name},
       {"-o, --output OUTPUT",
        "where the trace with names goes; - is the standard output", &output},
       {"--root FOLDER",
        "look for the files in this folder, as for those of another machine",
        &root}}};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  if (output.empty())
    return WrongUsage(command, "-o OUTPUT is missing");
  const std::string problem = OutputProblem({file_name}, output);
  if (!problem.empty())
    return WrongUsage(command, problem);
  if (!Symbolizer::IsBuilt()) {
    program::PrintError(kProgram,
                        "this build has no libdw, so it finds no names");
    return kFailure;
  }
  TraceInput input;
  if (!input.Open(file_name, "symbolize"))
    return kFailure;
  OutputFile file;
  if (!file.Open(output))
    return kFailure;
  const char* const name = program::DisplayName(file_name);
  bool ok = Symbolize(name, root, &input.stream(), &file);
  ok = input.stream().ReportUnread(name) && ok;
  return file.Close() && ok ? kSuccess : kFailure;
}

}  // namespace pztrace
