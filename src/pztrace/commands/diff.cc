// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace diff.

#include <stdio.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/program/text.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/compare/change_texts.h"
#include "src/pztrace/compare/run_sums.h"
#include "src/pztrace/compare/run_table.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/page/difference_page.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/tables/run_rows.h"
#include "src/pztrace/trace_file/shown_name.h"
#include "src/table/table_format.h"

namespace pztrace {

namespace {

using program::kFailure;
using program::kSuccess;

// The paths of a run that are told apart, so that memory has a limit.
constexpr uint32_t kMaxPaths = 100000;
// The limit of a path on a terminal.
constexpr size_t kMaxShownPathBytes = 240;

constexpr char kRed[] = "\033[31m";
constexpr char kGreen[] = "\033[32m";
constexpr char kReset[] = "\033[0m";

// Prints the numbers of a row, and its changes.
class ChangePrinter {
 public:
  ChangePrinter(const RunTable& table, bool use_color, RunComparer* comparer)
      : table_(table), use_color_(use_color), comparer_(comparer) {}

  void PrintList(const char* heading,
                 const std::vector<ComparedRow>& rows,
                 size_t limit) const {
    printf("%-9s %10s %10s %11s %9s  %s\n", heading, "before", "after",
           "difference", "", "95 % interval");
    const size_t num_shown = std::min(rows.size(), limit);
    for (size_t i = 0; i < num_shown; ++i)
      PrintRow(rows[i]);
    if (rows.size() > num_shown)
      printf("  and %zu more\n", rows.size() - num_shown);
    printf("\n");
  }

 private:
  void PrintRow(const ComparedRow& row) const {
    const std::string& category = table_.category(row);
    std::string name =
        row.path ? Escaped(table_.PathText(*row.path, kMaxShownPathBytes))
                 : ShownName(table_.name(row));
    if (name.empty())
      name = "(no name)";
    printf("%s %s", row.stands_out ? "*" : " ", name.c_str());
    if (!category.empty())
      printf(" (%s)", ShownName(category).c_str());
    if (!row.was_there)
      printf(": new");
    else if (!row.is_there)
      printf(": vanished");
    printf("\n");
    const RunChanges changes = table_.ChangesOf(row, comparer_);
    for (size_t i = 0; i < kNumRunColumns; ++i) {
      if (changes[i])
        PrintChange(static_cast<RunColumn>(i), *changes[i]);
    }
  }

  void PrintChange(RunColumn column, const Change& change) const {
    const char* color = "";
    if (use_color_ && change.interval && change.interval->excludes(0))
      color = change.interval->low > 0 ? kRed : kGreen;
    const ChangeTexts texts = TextsOf(column, change);
    printf("%s    %-6s%10s %10s %11s %9s%s%s%s\n", color,
           kRunColumnNames[static_cast<size_t>(column)], texts.before.c_str(),
           texts.after.c_str(), texts.difference.c_str(), texts.percent.c_str(),
           texts.interval.empty() ? "" : "  ", texts.interval.c_str(),
           *color != '\0' ? kReset : "");
  }

  const RunTable& table_;
  const bool use_color_;
  RunComparer* const comparer_;
};

// The lines that say what the traces lack.
class RunNotes {
 public:
  void Add(const std::string& file, const TimelineReader& reader) {
    files_.emplace_back(program::DisplayName(file), std::vector<std::string>());
    AddNotes(reader, /*is_damaged=*/false, "", &files_.back().second);
  }

  // Returns the lines. Those that all files have are there once, so that others
  // are seen.
  std::vector<std::string> Lines() const {
    const auto all_have = [this](const std::string& line) {
      return std::all_of(files_.begin(), files_.end(), [&](const auto& file) {
        return std::find(file.second.begin(), file.second.end(), line) !=
               file.second.end();
      });
    };
    std::vector<std::string> lines;
    for (const auto& file : files_) {
      for (const std::string& line : file.second) {
        if (!all_have(line))
          lines.push_back(file.first + ": " + line);
        else if (&file == &files_.front())
          lines.push_back(line);
      }
    }
    return lines;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> files_;
};

// Adds how threads spent their time in slices, which takes another reading:
// slices may come before the states. Returns false if the run can be read only
// once.
bool DivideRun(ThreadTimes* times,
               const protozero::TraceTracks& tracks,
               TraceInput* input,
               RunSums* sums) {
  TimelineReader::Callbacks callbacks;
  callbacks.max_paths = kMaxPaths;
  callbacks.on_slice = [&](const Slice& slice) {
    const auto divided = times->Divide(slice.track, tracks, slice.begin_ns,
                                       slice.begin_ns + slice.duration_ns);
    if (divided)
      sums->AddDivision(slice, *divided);
  };
  TimelineReader reader(std::move(callbacks));
  return ReadAgain(input, &reader);
}

// Adds the run. Returns false, and has printed why, if it could not be read
// whole.
bool AddRun(const std::string& file,
            RunTable::Side side,
            TraceInput* input,
            RunTable* table,
            RunNotes* notes) {
  RunSums sums(kMaxPaths);
  TimelineReader::Callbacks callbacks;
  callbacks.max_paths = kMaxPaths;
  callbacks.on_slice = [&sums](const Slice& slice) { sums.Add(slice); };
  callbacks.on_unfinished = [&sums](const Slice& slice) {
    sums.AddUnfinished(slice);
  };
  TimelineReader reader(std::move(callbacks));
  ThreadTimes times;
  if (!ReadTimeline(file, input, &reader, /*reads_ahead=*/false, &times)) {
    program::PrintError(kProgram, "%s: left out: it has only a part of its run",
                        program::DisplayName(file));
    return false;
  }
  const bool has_states =
      times.has_states() && DivideRun(&times, reader.tracks(), input, &sums);
  table->AddRun(side, reader, sums, has_states);
  notes->Add(file, reader);
  return true;
}

// Returns the number of what was compared.
std::string SummaryOf(const RunTable& table,
                      size_t num_names,
                      size_t num_paths) {
  return CountOf(table.num_runs(RunTable::kBefore), "run") + " before and " +
         std::to_string(table.num_runs(RunTable::kAfter)) +
         " after: " + CountOf(num_names, "name") + ", " +
         CountOf(num_paths, "path");
}

// Returns the line that says why there are no intervals. It is empty if there
// are.
std::string ProblemOf(const RunTable& table, RunComparer* comparer) {
  if (comparer->HasInterval(table.num_runs(RunTable::kBefore),
                            table.num_runs(RunTable::kAfter))) {
    return "";
  }
  return "no intervals: so few runs do not say how much runs differ without a "
         "change; " +
         std::to_string(comparer->MinRuns()) +
         (comparer->is_paired() ? " pairs do" : " of each side do");
}

// The command line.
struct DiffArguments {
  std::vector<std::string> before;
  std::vector<std::string> after;
  bool is_paired = false;
  uint32_t limit = 10;
  std::string format;
  bool makes_page = false;
};

program::Command DiffCommand(DiffArguments* arguments) {
  return {
      "pztrace diff",
      "[options] BEFORE AFTER | BEFORE ... -- AFTER ...",
      R"(Prints how the slices of runs after a change differ from those before it, by
name and by path, those first whose own time has changed most.
)",
      {{"FILE",
        "traces, of a run each: those before the change, --, those after it",
        &arguments->before},
       {"--paired", "the first run before and the first after are a pair, etc.",
        &arguments->is_paired},
       {"--limit N", "rows of each list to print, default: 10",
        &arguments->limit},
       {table::kFormatOption, table::kFormatHelp, &arguments->format},
       {"--html", "prints a page with a flame graph of the difference",
        &arguments->makes_page}},
      R"(Differences are medians. An interval is of its own row: of 100 without a change,
95 or more have 0 in theirs. * stands out among all rows of its list. p50 and
p99 are right to 6 %. If all traces have the states of threads, ran, ready and
waited are means of a slice: the time in which its thread ran, could run but had
no processor, and waited.
)",
      &arguments->after};
}

// Parses the format. Returns the problem with the command line, or an empty
// text.
std::string ParseDiff(const DiffArguments& arguments,
                      table::TableOptions* options) {
  if (arguments.after.empty())
    return "which runs are before and after? Write: BEFORE ... -- AFTER ...";
  if (arguments.is_paired && arguments.before.size() != arguments.after.size())
    return "--paired needs as many runs before as after, not " +
           std::to_string(arguments.before.size()) + " and " +
           std::to_string(arguments.after.size());
  if (arguments.makes_page && !arguments.format.empty())
    return "--html and --format exclude each other";
  std::string why;
  if (!arguments.format.empty()) {
    if (const auto known = table::FormatOf(arguments.format, &why))
      options->format = *known;
  }
  return why;
}

// Adds the runs of the files, and a line to |sides| that names those of the
// side. Returns false, and has printed why, if one of them could not be read
// whole.
bool AddRuns(const std::vector<std::string>& files,
             RunTable::Side side,
             RunTable* table,
             RunNotes* notes,
             std::vector<std::string>* sides) {
  bool ok = true;
  std::string line = side == RunTable::kBefore ? "before:" : "after:";
  for (const std::string& file : files) {
    TraceInput input;
    if (input.Open(file, "diff") && AddRun(file, side, &input, table, notes))
      line += " " + program::Shown(program::DisplayName(file));
    else
      ok = false;
  }
  sides->push_back(std::move(line));
  return ok;
}

// The rows of both lists, and what is said about them.
struct Comparison {
  explicit Comparison(bool is_paired) : comparer(is_paired) {}

  RunComparer comparer;
  // The files of each side, a line each.
  std::vector<std::string> sides;
  std::vector<ComparedRow> names;
  std::vector<ComparedRow> paths;
  std::string summary;
  std::vector<std::string> lines;
};

void Compare(const RunNotes& notes, RunTable* table, Comparison* comparison) {
  const uint64_t num_folded = table->FoldUnknownPaths();
  comparison->names = table->CompareNames(&comparison->comparer);
  comparison->paths = table->ComparePaths(&comparison->comparer);
  comparison->summary =
      SummaryOf(*table, comparison->names.size(), comparison->paths.size());
  std::vector<std::string>& lines = comparison->lines;
  lines = notes.Lines();
  if (num_folded != 0) {
    lines.insert(lines.begin(),
                 CountOf(num_folded, "slice") +
                     " of folded paths are in (other): a run has more than " +
                     CountOf(kMaxPaths, "path"));
  }
  const std::string problem = ProblemOf(*table, &comparison->comparer);
  if (!problem.empty())
    lines.insert(lines.begin(), problem);
}

void PrintDifferencePage(const RunTable& table, Comparison* comparison) {
  std::vector<std::string> lines = comparison->sides;
  lines.insert(lines.end(), comparison->lines.begin(), comparison->lines.end());
  const std::string page =
      MakeDifferencePage(table, comparison->paths, comparison->summary, lines,
                         &comparison->comparer);
  fwrite(page.data(), 1, page.size(), stdout);
}

void PrintDifferenceTable(const RunTable& table,
                          const table::TableOptions& options,
                          Comparison* comparison) {
  const auto rows = table::CreateRows(stdout, options, ComparedColumns(table));
  WriteComparedRows(table, comparison->names, &comparison->comparer,
                    rows.get());
  WriteComparedRows(table, comparison->paths, &comparison->comparer,
                    rows.get());
  // The lines are no part of a table.
  for (const std::string& line : comparison->sides)
    fprintf(stderr, "%s\n", line.c_str());
  for (const std::string& line : comparison->lines)
    fprintf(stderr, "%s\n", line.c_str());
}

void PrintLists(const RunTable& table, uint32_t limit, Comparison* comparison) {
  for (const std::string& line : comparison->sides)
    printf("%s\n", line.c_str());
  printf("\n");
  const ChangePrinter printer(table, *program::UseColor("auto"),
                              &comparison->comparer);
  printer.PrintList("by name", comparison->names, limit);
  // Otherwise, the paths are the names.
  if (table.has_nesting())
    printer.PrintList("by path", comparison->paths, limit);
  printf("%s\n", comparison->summary.c_str());
  for (const std::string& line : comparison->lines)
    printf("%s\n", line.c_str());
}

}  // namespace

int DiffMain(int argc, char** argv) {
  DiffArguments arguments;
  const program::Command command = DiffCommand(&arguments);
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  // Two files need no word between them.
  if (arguments.before.size() == 2 && arguments.after.empty() &&
      std::string_view(argv[argc - 1]) != "--") {
    arguments.after.push_back(std::move(arguments.before.back()));
    arguments.before.pop_back();
  }
  table::TableOptions options;
  const std::string problem = ParseDiff(arguments, &options);
  if (!problem.empty())
    return WrongUsage(command, problem);

  RunTable table;
  RunNotes notes;
  Comparison comparison(arguments.is_paired);
  bool ok = AddRuns(arguments.before, RunTable::kBefore, &table, &notes,
                    &comparison.sides);
  ok = AddRuns(arguments.after, RunTable::kAfter, &table, &notes,
               &comparison.sides) &&
       ok;
  if (!ok && arguments.is_paired) {
    program::PrintError(kProgram,
                        "--paired: a run lacks the other of its pair");
    return kFailure;
  }
  if (table.num_runs(RunTable::kBefore) == 0 ||
      table.num_runs(RunTable::kAfter) == 0) {
    return kFailure;
  }
  Compare(notes, &table, &comparison);
  if (arguments.makes_page)
    PrintDifferencePage(table, &comparison);
  else if (!arguments.format.empty())
    PrintDifferenceTable(table, options, &comparison);
  else
    PrintLists(table, arguments.limit, &comparison);
  return program::FlushStandardOutput(kProgram) && ok ? kSuccess : kFailure;
}

}  // namespace pztrace
