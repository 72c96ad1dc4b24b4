// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace html.

#include <stdio.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/events/track_rows.h"
#include "src/pztrace/page/task_page_rows.h"
#include "src/pztrace/page/timeline_page.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/tasks/task_timeline.h"
#include "src/pztrace/trace_file/output_file.h"
#include "src/pztrace/trace_file/quantities.h"

namespace pztrace {

using program::kFailure;
using program::kSuccess;

namespace {

// Returns whether a task had not ended. It is drawn until the end of the trace.
bool HasOpenTasks(const TaskTimeline& tasks) {
  return std::any_of(tasks.tasks().begin(), tasks.tasks().end(),
                     [&](const auto& task) {
                       return task.last_part != kNoIndex &&
                              tasks.parts()[task.last_part].state() !=
                                  TaskTimeline::State::kEnded;
                     });
}

}  // namespace

int HtmlMain(int argc, char** argv) {
  std::string file_name;
  std::string output = "-";
  PageOptions options;
  std::string from;
  std::string to;
  const program::Command command = {
      "pztrace html",
      "[options] FILE",
      R"(Makes a page of a trace:

  pztrace html -o session.html session.pftrace

A browser shows it without a network: a timeline to zoom and to search, what a
slice has to say, and the slowest ones.
)",
      {{"FILE", "the trace; - is the standard input", &file_name},
       {"-o, --output FILE", "where the page goes; default: standard output",
        &output},
       {"--from TIME", "since the first event: 1.5ms", &from},
       {"--to TIME", "since the first event", &to}},
      ""};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  std::string problem =
      ParseTimeRange(from, to, &options.from_ns, &options.to_ns);
  if (problem.empty())
    problem = OutputProblem({file_name}, output);
  if (!problem.empty())
    return WrongUsage(command, problem);

  TraceInput input;
  if (!input.Open(file_name, "html"))
    return kFailure;
  TrackRows rows;
  // Most events have no details, and share this.
  const EventDetails no_details;
  std::deque<EventDetails> kept_details;
  const auto keep = [&](const EventDetails& details) -> const EventDetails* {
    if (details.args.empty() && details.flows.empty())
      return &no_details;
    kept_details.push_back(details);
    return &kept_details.back();
  };
  const auto add = [&](auto event) {
    event.details = keep(*event.details);
    rows.Add(event);
  };
  const auto add_open = [&](Slice slice) {
    slice.details = keep(*slice.details);
    rows.Add(slice, /*is_open=*/true);
  };
  const auto add_value = [&](const CounterValue& value) { rows.Add(value); };
  TimelineReader::Callbacks callbacks;
  callbacks.on_slice = add;
  callbacks.on_instant = add;
  callbacks.on_counter = add_value;
  callbacks.reads_details = true;
  callbacks.on_unfinished = add_open;
  TaskTimeline tasks;
  callbacks.on_task_step = [&](const protozero::TaskStep& step) {
    tasks.Add(step);
  };
  TimelineReader reader(std::move(callbacks));
  const bool ok =
      ReadTimeline(file_name, &input, &reader, /*reads_ahead=*/true);
  PrintOmissions(reader, stderr);
  if (!ok && rows.is_empty())
    return kFailure;
  for (const LostStretch& lost : reader.lost_stretches())
    rows.Add(lost);
  const std::string name = program::DisplayName(file_name);
  options.title = name.substr(name.rfind('/') + 1);
  tasks.Finish(reader.end_ns());
  if (HasOpenTasks(tasks))
    rows.ExtendTo(tasks.end_ns());
  const std::string page =
      MakePage(reader, options, /*is_damaged=*/!ok,
               TaskPageRows(tasks, reader.tracks(), rows), &rows);
  OutputFile file;
  return file.Open(output) && file.Write(page) && file.Close() && ok ? kSuccess
                                                                     : kFailure;
}

}  // namespace pztrace
