// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace cat.

#include <stdio.h>

#include <optional>
#include <string>

#include "src/pbz/extended_schema.h"
#include "src/pbz/printer.h"
#include "src/pbz/report.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/trace_file/trace_input.h"

namespace pztrace {

using program::kFailure;
using program::kSuccess;

int CatMain(int argc, char** argv) {
  std::string file_name;
  std::string color = "auto";
  pbz::Printer::Options printer_options;
  const program::Command command = {
      "pztrace cat",
      "[options] FILE",
      "Prints the packets of a trace, as protoc --decode does.\n",
      {{"FILE", "the trace; - is the standard input", &file_name},
       {"--offsets", "begin each line with the field's offset and size",
        &printer_options.offsets},
       {"--color WHEN",
        "auto (the default: on a terminal, unless NO_COLOR is set), always or "
        "never",
        &color}}};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  const std::optional<bool> use_color = program::UseColor(color);
  if (!use_color)
    return WrongUsage(command, "--color is auto, always or never");
  printer_options.color = *use_color;

  TraceInput input;
  if (!input.Open(file_name, "cat"))
    return kFailure;
  pbz::Printer printer(stdout, printer_options);
  pbz::ExtendedSchema schema;
  schema.ReadAhead(&input.stream());
  bool ok = pbz::WalkAndReport(
      kProgram, program::DisplayName(file_name),
      [&](protozero::ConstBytes packets) { return schema.TypeOf(packets); },
      &input.stream(), &printer);
  if (!input.stream().ReportUnread(program::DisplayName(file_name)))
    ok = false;
  schema.ReportUnused(kProgram, program::DisplayName(file_name));
  if (!program::FlushStandardOutput(kProgram))
    ok = false;
  return ok ? kSuccess : kFailure;
}

}  // namespace pztrace
