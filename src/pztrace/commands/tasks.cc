// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace tasks.

#include <inttypes.h>
#include <stdio.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/tables/table_columns.h"
#include "src/pztrace/tables/task_rows.h"
#include "src/pztrace/tasks/request_path.h"
#include "src/pztrace/tasks/span_tasks.h"
#include "src/pztrace/tasks/task_summary.h"
#include "src/pztrace/tasks/task_timeline.h"
#include "src/pztrace/trace_file/shown_name.h"
#include "src/pztrace/why/request_texts.h"
#include "src/table/table_format.h"

namespace pztrace {

namespace {

using program::kFailure;
using program::kSuccess;
using table::RowWriter;

// The command line.
struct TasksArguments {
  std::vector<std::string> files;
  std::string request;
  uint32_t slowest = 0;
  std::string format;
  uint32_t limit = 20;

  bool has_paths() const { return !request.empty() || slowest != 0; }
};

program::Command TasksCommand(TasksArguments* arguments) {
  return {
      "pztrace tasks",
      "[options] FILE...",
      "Prints where the tasks of asynchronous programs waited, for whom, and "
      "what ran\ninstead.\n",
      {{"FILE", "traces; - is the standard input", &arguments->files},
       {"--request ID",
        "the path that decided how long this request took, through all tasks "
        "and threads",
        &arguments->request},
       {"--slowest N", "the same for the requests that took the longest",
        &arguments->slowest},
       {"--limit N", "rows of each table to print, default: 20",
        &arguments->limit},
       {table::kFormatOption, table::kFormatHelp, &arguments->format}},
      R"(Tasks are those of the place where they were spawned. Without --format, it
prints texts. p50 and p99 of the delay from a wake to the run are right to 6 %.
)"};
}

std::string NameText(const PlaceKey& place) {
  const std::string text = PlaceText(place);
  return text.empty() ? "(not known)" : ShownName(text);
}

// A line of a list, and what it is sorted by.
struct Line {
  uint64_t weight;
  std::string text;
};

// Prints the lines with the largest weights below |heading|.
void PrintLines(const char* heading, std::vector<Line> lines, size_t limit) {
  if (lines.empty())
    return;
  std::stable_sort(
      lines.begin(), lines.end(),
      [](const Line& a, const Line& b) { return a.weight > b.weight; });
  printf("\n%s:\n", heading);
  for (size_t i = 0; i < std::min(lines.size(), limit); ++i)
    printf("  %s\n", lines[i].text.c_str());
  if (lines.size() > limit)
    printf("  and %zu more\n", lines.size() - limit);
}

void PrintRows(const TaskSummary& summary, size_t limit) {
  std::vector<const std::pair<const PlaceKey, TaskRow>*> rows;
  for (const auto& row : summary.rows())
    rows.push_back(&row);
  const auto lifetime = [](const TaskRow& row) {
    return row.runs.total_ns + row.waits.total_ns + row.ready.total_ns;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](auto* a, auto* b) {
    return lifetime(a->second) > lifetime(b->second);
  });
  printf("%10s %10s %10s %10s %10s %10s %10s %10s  spawned at\n", "tasks",
         "run", "wait", "ready", "delay p50", "p99", "max", "longest");
  for (size_t i = 0; i < std::min(rows.size(), limit); ++i) {
    const TaskRow& row = rows[i]->second;
    printf("%10" PRIu64 " %10s %10s %10s %10s %10s %10s %10s  %s\n", row.tasks,
           DurationText(row.runs.total_ns).c_str(),
           DurationText(row.waits.total_ns).c_str(),
           DurationText(row.ready.total_ns).c_str(),
           DurationText(row.DelayPercentile(50)).c_str(),
           DurationText(row.DelayPercentile(99)).c_str(),
           DurationText(row.delay.max_ns).c_str(),
           DurationText(row.longest.ns).c_str(),
           NameText(rows[i]->first).c_str());
  }
}

void PrintWaits(const TaskSummary& summary, size_t limit) {
  std::vector<Line> lines;
  for (const auto& [key, row] : summary.rows()) {
    for (const auto& [place, sum] : row.waits_by_place) {
      lines.push_back({sum.total_ns, DurationText(sum.total_ns) + " in " +
                                         CountOf(sum.count, "wait") + ", " +
                                         DurationText(sum.max_ns) +
                                         " at most: " + NameText(key) +
                                         " for " + NameText(place)});
    }
  }
  PrintLines("waits", std::move(lines), limit);
}

void PrintLongRuns(const TaskSummary& summary, size_t limit) {
  std::vector<Line> lines;
  for (const auto& [key, row] : summary.rows()) {
    const LongRun& run = row.longest;
    if (run.num_delayed == 0)
      continue;
    std::string text = DurationText(run.ns) + " of " + ShownName(run.task) +
                       " on " + ShownName(run.thread) + " from " +
                       DurationText(run.since_ns) + " on; meanwhile could run:";
    uint64_t num_others = run.num_delayed;
    const char* separator = " ";
    for (const auto& [place, sum] : run.delayed) {
      text += separator + CountOf(sum.count, "time") + " " + NameText(place) +
              ", for " + DurationText(sum.max_ns) +
              (sum.count == 1 ? "" : " at most");
      separator = "; ";
      num_others -= sum.count;
    }
    if (num_others != 0)
      text += separator + CountOf(num_others, "time") + " other tasks";
    lines.push_back({run.delayed_ns, std::move(text)});
  }
  PrintLines("longest runs that delayed other tasks of their thread",
             std::move(lines), limit);
}

// Returns the line about tasks that did |what| until the end of the trace.
Line UnresumedLine(const PlaceKey& key,
                   const std::string& what,
                   const Unresumed& tasks) {
  std::string text = CountOf(tasks.count, "task") + " of " + NameText(key) +
                     " " + what + (tasks.count == 1 ? "" : ", the first one") +
                     " since " + DurationText(tasks.since_ns) + ", for " +
                     DurationText(tasks.ns) + ": " + ShownName(tasks.task);
  if (!tasks.request.empty())
    text += ", request " + ShownName(tasks.request);
  return {tasks.ns, std::move(text)};
}

void PrintUnresumed(const TaskSummary& summary, size_t limit) {
  std::vector<Line> lines;
  for (const auto& [key, row] : summary.rows()) {
    for (const auto& [place, tasks] : row.unresumed) {
      lines.push_back(
          UnresumedLine(key, "waits for " + NameText(place), tasks));
    }
    if (row.not_run.count != 0)
      lines.push_back(UnresumedLine(key, "could run", row.not_run));
  }
  PrintLines("not resumed until the end of the trace", std::move(lines), limit);
}

void PrintDestroyed(const TaskSummary& summary, size_t limit) {
  std::vector<Line> lines;
  for (const auto& [key, row] : summary.rows()) {
    for (const auto& [place, count] : row.destroyed) {
      lines.push_back({count, CountOf(count, "task") + " of " + NameText(key) +
                                  " waited for " + NameText(place)});
    }
  }
  PrintLines("destroyed while they waited", std::move(lines), limit);
}

void PrintSummary(const TaskSummary& summary, size_t limit) {
  PrintRows(summary, limit);
  PrintWaits(summary, limit);
  PrintLongRuns(summary, limit);
  PrintUnresumed(summary, limit);
  PrintDestroyed(summary, limit);
  uint64_t tasks = 0;
  uint64_t not_ended = 0;
  uint64_t unknown_ns = 0;
  for (const auto& [key, row] : summary.rows()) {
    tasks += row.tasks;
    not_ended += row.NotEnded();
    unknown_ns += row.unknown_ns;
  }
  printf("\n%s of %s, %" PRIu64 " of them had not ended\n",
         CountOf(tasks, "task").c_str(),
         CountOf(summary.rows().size(), "place").c_str(), not_ended);
  if (unknown_ns != 0) {
    printf("for %s of their time, it is not known what tasks did\n",
           DurationText(unknown_ns).c_str());
  }
}

// Returns the requests that are asked for.
std::vector<uint32_t> RequestsOf(const TaskTimeline& timeline,
                                 const TasksArguments& arguments) {
  const auto& all = timeline.requests();
  std::vector<uint32_t> found;
  if (!arguments.request.empty()) {
    const uint32_t request = timeline.texts().Find(arguments.request);
    if (request != kNoIndex && all[request].num_tasks != 0)
      found.push_back(request);
    return found;
  }
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].last_task != kNoIndex)
      found.push_back(i);
  }
  const size_t count = std::min<size_t>(arguments.slowest, found.size());
  std::partial_sort(found.begin(),
                    found.begin() + static_cast<ptrdiff_t>(count), found.end(),
                    [&all](uint32_t a, uint32_t b) {
                      const uint64_t ns_of_a = all[a].end_ns - all[a].begin_ns;
                      const uint64_t ns_of_b = all[b].end_ns - all[b].begin_ns;
                      return std::pair(ns_of_b, a) < std::pair(ns_of_a, b);
                    });
  found.resize(count);
  return found;
}

// The command on several files.
class TasksPrinter {
 public:
  TasksPrinter(const TasksArguments& arguments, RowWriter* rows)
      : arguments_(arguments), rows_(rows) {}

  // Returns false, and has printed why, if the file could not be read whole.
  bool Read(const std::string& file, TraceInput* input) {
    TaskTimeline timeline;
    TimelineReader::Callbacks callbacks;
    callbacks.on_task_step = [&](const protozero::TaskStep& step) {
      timeline.Add(step);
    };
    TimelineReader reader(std::move(callbacks), /*finds_spans=*/true);
    ThreadTimes times;
    const bool is_whole = ReadTimeline(file, input, &reader,
                                       /*reads_ahead=*/false, &times);
    FinishTasks(&reader, &timeline);
    const uint64_t first_ns = std::min(reader.first_ns(), timeline.first_ns());
    if (!arguments_.has_paths()) {
      summary_.Add(timeline, reader.tracks(), first_ns);
    } else {
      for (const uint32_t request : RequestsOf(timeline, arguments_)) {
        if (rows_ != nullptr) {
          WriteRequestPath(timeline, reader, file, request,
                           PathOf(timeline, request), rows_);
        } else {
          if (num_requests_ != 0)
            putchar('\n');
          PrintPath(timeline, reader.tracks(), &times, first_ns, request,
                    arguments_.limit);
        }
        ++num_requests_;
      }
    }
    AddNotes(reader, !is_whole,
             arguments_.files.size() > 1
                 ? std::string(program::DisplayName(file)) + ": "
                 : "",
             &notes_);
    return is_whole;
  }

  // Returns false, and has printed why, if there is no such request.
  bool Finish() {
    if (!arguments_.has_paths()) {
      if (rows_ != nullptr)
        WriteTaskSummary(summary_, rows_);
      else
        PrintSummary(summary_, arguments_.limit);
    }
    // The notes are no part of a table.
    FILE* const out = rows_ == nullptr ? stdout : stderr;
    for (const std::string& note : notes_)
      fprintf(out, "%s\n", note.c_str());
    if (!arguments_.has_paths() || num_requests_ != 0)
      return true;
    if (arguments_.request.empty()) {
      program::PrintError(kProgram, "no task works on a request");
    } else {
      program::PrintError(kProgram, "no task works on the request '%s'",
                          arguments_.request.c_str());
    }
    return false;
  }

 private:
  const TasksArguments& arguments_;
  RowWriter* const rows_;  // Null to print texts.
  TaskSummary summary_;
  uint64_t num_requests_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace

int TasksMain(int argc, char** argv) {
  TasksArguments arguments;
  const program::Command command = TasksCommand(&arguments);
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  if (!arguments.request.empty() && arguments.slowest != 0)
    return WrongUsage(command, "--request and --slowest exclude each other");
  std::unique_ptr<RowWriter> rows;
  table::TableOptions options;
  if (!arguments.format.empty()) {
    std::string why;
    const auto format = table::FormatOf(arguments.format, &why);
    if (!format)
      return WrongUsage(command, why);
    options.format = *format;
  }
  bool ok = true;
  bool has_trace = false;
  std::unique_ptr<TasksPrinter> printer;
  for (const std::string& file : arguments.files)
    program::NoteInput(file);
  for (const std::string& file : arguments.files) {
    TraceInput input;
    if (!input.Open(file, "tasks")) {
      ok = false;
      continue;
    }
    if (!has_trace) {
      // The table begins when there is something to read, so that no empty one
      // follows an error.
      if (!arguments.format.empty()) {
        rows = table::CreateRows(
            stdout, options,
            ColumnsOf(arguments.has_paths() ? RequestPathColumns()
                                            : TaskSummaryColumns()));
      }
      printer = std::make_unique<TasksPrinter>(arguments, rows.get());
    }
    has_trace = true;
    ok = printer->Read(file, &input) && ok;
  }
  if (!has_trace)
    return kFailure;
  ok = printer->Finish() && ok;
  rows.reset();
  return program::FlushStandardOutput(kProgram) && ok ? kSuccess : kFailure;
}

}  // namespace pztrace
