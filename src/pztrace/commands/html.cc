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
#include "src/pztrace/tasks/span_tasks.h"
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

// The command line.
struct HtmlArguments {
  std::string file;
  std::string output = "-";
  std::string from;
  std::string to;
};

program::Command HtmlCommand(HtmlArguments* arguments) {
  return {
      "pztrace html",
      "[options] FILE",
      R"(Makes a page of a trace:

  pztrace html -o session.html session.pftrace

A browser shows it without a network: a timeline to zoom and to search, what a
slice has to say, and the slowest ones.
)",
      {{"FILE", "the trace; - is the standard input", &arguments->file},
       {"-o, --output FILE", "where the page goes; default: standard output",
        &arguments->output},
       {"--from TIME", "since the first event: 1.5ms", &arguments->from},
       {"--to TIME", "since the first event", &arguments->to}},
      ""};
}

// The rows of a page, and what is below them.
class PageContent {
 public:
  PageContent() = default;
  PageContent(const PageContent&) = delete;
  PageContent& operator=(const PageContent&) = delete;

  // Returns callbacks that add events. REQUIRES: this outlives them.
  TimelineReader::Callbacks MakeCallbacks() {
    const auto add = [this](auto event) {
      event.details = Keep(*event.details);
      rows_.Add(event);
    };
    TimelineReader::Callbacks callbacks;
    callbacks.on_slice = add;
    callbacks.on_instant = add;
    callbacks.on_counter = [this](const CounterValue& value) {
      rows_.Add(value);
    };
    callbacks.reads_details = true;
    callbacks.on_unfinished = [this](Slice slice) {
      slice.details = Keep(*slice.details);
      rows_.Add(slice, /*is_open=*/true);
    };
    callbacks.on_task_step = [this](const protozero::TaskStep& step) {
      tasks_.Add(step);
    };
    return callbacks;
  }
  // Adds what is known at the end of the trace.
  void Finish(TimelineReader* reader) {
    for (const LostStretch& lost : reader->lost_stretches())
      rows_.Add(lost);
    FinishTasks(reader, &tasks_);
    if (HasOpenTasks(tasks_))
      rows_.ExtendTo(tasks_.end_ns());
  }
  std::string Render(const TimelineReader& reader,
                     const PageOptions& options,
                     bool is_damaged) {
    return MakePage(reader, options, is_damaged,
                    TaskPageRows(tasks_, reader.tracks(), rows_), times_,
                    &rows_);
  }

  ThreadTimes* times() { return &times_; }
  bool has_rows() const { return !rows_.is_empty() || !times_.is_empty(); }

 private:
  const EventDetails* Keep(const EventDetails& details) {
    if (details.args.empty() && details.flows.empty())
      return &no_details_;
    kept_details_.push_back(details);
    return &kept_details_.back();
  }

  TrackRows rows_;
  TaskTimeline tasks_;
  ThreadTimes times_;
  // Most events have no details, and share this.
  const EventDetails no_details_ = {};
  std::deque<EventDetails> kept_details_;
};

}  // namespace

int HtmlMain(int argc, char** argv) {
  HtmlArguments arguments;
  const program::Command command = HtmlCommand(&arguments);
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  PageOptions options;
  std::string problem = ParseTimeRange(arguments.from, arguments.to,
                                       &options.from_ns, &options.to_ns);
  if (problem.empty())
    problem = OutputProblem({arguments.file}, arguments.output);
  if (!problem.empty())
    return WrongUsage(command, problem);

  TraceInput input;
  if (!input.Open(arguments.file, "html"))
    return kFailure;
  PageContent content;
  TimelineReader reader(content.MakeCallbacks(), /*finds_spans=*/true);
  const bool ok = ReadTimeline(arguments.file, &input, &reader,
                               /*reads_ahead=*/true, content.times());
  PrintOmissions(reader, stderr);
  if (!ok && !content.has_rows())
    return kFailure;
  content.Finish(&reader);
  const std::string name = program::DisplayName(arguments.file);
  options.title = name.substr(name.rfind('/') + 1);
  const std::string page = content.Render(reader, options, /*is_damaged=*/!ok);
  OutputFile file;
  return file.Open(arguments.output) && file.Write(page) && file.Close() && ok
             ? kSuccess
             : kFailure;
}

}  // namespace pztrace
