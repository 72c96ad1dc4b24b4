// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace svg.

#include <stdio.h>

#include <string>
#include <utility>

#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/events/track_rows.h"
#include "src/pztrace/page/timeline_picture.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/trace_file/quantities.h"

namespace pztrace {

using program::kFailure;
using program::kSuccess;

int SvgMain(int argc, char** argv) {
  std::string file_name;
  std::string from;
  std::string to;
  PictureOptions options;
  const program::Command command = {
      "pztrace svg",
      "[options] FILE",
      R"(Draws a trace as an image, which goes to the standard output:

  pztrace svg session.pftrace >session.svg
)",
      {{"FILE", "the trace; - is the standard input", &file_name},
       {"--from TIME", "since the first event: 1.5ms", &from},
       {"--to TIME", "since the first event", &to},
       {"--width N", "pixels, default: 1000", &options.width}},
      ""};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  const std::string problem =
      ParseTimeRange(from, to, &options.from_ns, &options.to_ns);
  if (!problem.empty())
    return WrongUsage(command, problem);
  if (options.width < PictureOptions::kMinWidth ||
      options.width > PictureOptions::kMaxWidth) {
    return WrongUsage(command, "--width is from 400 to 20000");
  }

  TraceInput input;
  if (!input.Open(file_name, "svg"))
    return kFailure;
  TrackRows rows;
  const auto add = [&rows](const auto& event) { rows.Add(event); };
  const auto add_open = [&rows](const Slice& slice) {
    rows.Add(slice, /*is_open=*/true);
  };
  TimelineReader::Callbacks callbacks;
  callbacks.on_slice = add;
  callbacks.on_instant = add;
  callbacks.on_counter = add;
  callbacks.on_unfinished = add_open;
  TimelineReader reader(std::move(callbacks));
  bool ok = ReadTimeline(file_name, &input, &reader);
  PrintOmissions(reader, stderr);
  if (rows.is_empty()) {
    if (ok) {
      program::PrintError(kProgram, "%s: no events that could be drawn",
                          program::DisplayName(file_name));
    }
    return kFailure;
  }
  for (const LostStretch& lost : reader.lost_stretches())
    rows.Add(lost);
  const std::string image = DrawPicture(reader.tracks(), options, &rows);
  fwrite(image.data(), 1, image.size(), stdout);
  if (!program::FlushStandardOutput(kProgram))
    ok = false;
  return ok ? kSuccess : kFailure;
}

}  // namespace pztrace
