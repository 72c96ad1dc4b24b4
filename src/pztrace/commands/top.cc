// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace top.

#include <inttypes.h>
#include <stdio.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/compare/slice_sums.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/trace_file/shown_name.h"
#include "src/tracing/track_event/category_rules.h"

namespace pztrace {

namespace {

using program::kFailure;
using program::kSuccess;
using protozero::internal::CategoryRules;

// A category and a name.
using EventKey = std::pair<std::string, std::string>;

constexpr struct {
  const char* name;
  uint64_t (*value)(const SliceSums& row);
} kColumns[] = {
    {"total", [](const SliceSums& row) { return row.total; }},
    {"self", [](const SliceSums& row) { return row.self; }},
    {"mean", [](const SliceSums& row) { return row.mean(); }},
    {"p99", [](const SliceSums& row) { return row.p99(); }},
    {"max", [](const SliceSums& row) { return row.max; }},
    {"ran", [](const SliceSums& row) { return row.divided.ran_ns; }},
    {"ready", [](const SliceSums& row) { return row.divided.ready_ns; }},
    {"waited", [](const SliceSums& row) { return row.divided.waited_ns; }},
};
// The columns from here on need states of threads.
constexpr size_t kFirstDivided = 5;

void Print(const std::map<EventKey, SliceSums>& all,
           size_t num_columns,
           size_t sort_column,
           size_t limit) {
  const auto value = kColumns[sort_column].value;
  std::vector<const std::pair<const EventKey, SliceSums>*> rows;
  for (const auto& entry : all)
    rows.push_back(&entry);
  std::stable_sort(rows.begin(), rows.end(), [value](auto* a, auto* b) {
    return value(a->second) > value(b->second);
  });
  rows.resize(std::min(rows.size(), limit));
  printf("%10s", "count");
  for (size_t i = 0; i < num_columns; ++i)
    printf(" %10s", kColumns[i].name);
  printf("  name (category)\n");
  for (const auto* entry : rows) {
    const auto& [category, name] = entry->first;
    const SliceSums& row = entry->second;
    printf("%10" PRIu64, row.count);
    for (size_t i = 0; i < num_columns; ++i) {
      const bool is_known = i < kFirstDivided || row.num_divided != 0;
      printf(" %10s",
             is_known ? DurationText(kColumns[i].value(row)).c_str() : "-");
    }
    printf("  %s", name.empty() ? "(no name)" : ShownName(name).c_str());
    if (!category.empty())
      printf(" (%s)", ShownName(category).c_str());
    printf("\n");
  }
}

// Adds to |rows|, by the numbers of texts, how threads spent their time in
// slices, which takes another reading: slices may come before the states.
// Counts the slices for which that is known. Returns false if the trace can be
// read only once.
bool DivideSlices(ThreadTimes* times,
                  const protozero::TraceTracks& tracks,
                  const std::vector<SliceSums*>& rows,
                  TraceInput* input,
                  uint64_t* num_divided) {
  const auto add_slice = [&](const Slice& slice) {
    SliceSums* const row =
        slice.text_id < rows.size() ? rows[slice.text_id] : nullptr;
    if (row == nullptr)
      return;
    const auto divided = times->Divide(slice.track, tracks, slice.begin_ns,
                                       slice.begin_ns + slice.duration_ns);
    if (!divided)
      return;
    row->AddDivision(*divided);
    ++*num_divided;
  };
  TimelineReader reader({add_slice, {}, {}, false});
  return ReadAgain(input, &reader);
}

}  // namespace

int TopMain(int argc, char** argv) {
  std::vector<std::string> files;
  std::string sort = "total";
  std::string categories;
  uint32_t limit = 20;
  const program::Command command = {
      "pztrace top",
      "[options] FILE...",
      "Prints which slices of traces took the most time, by name.\n",
      {{"FILE", "traces; - is the standard input", &files},
       {"--sort COLUMN",
        "total (the default), self, mean, p99, max, ran, ready, waited", &sort},
       {"--limit N", "rows to print, default: 20", &limit},
       {"--categories LIST",
        "slices of these categories only: a comma between, * at the end for "
        "any, - in front for all but these",
        &categories}},
      R"(self leaves out the slices within, on the same track. p99 is right to 6 %.
ran, ready and waited are there if the trace has the states of threads: for how
long those of the slices ran, could run but had no processor, and waited.
)"};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  size_t sort_column = 0;
  while (sort_column < std::size(kColumns) &&
         kColumns[sort_column].name != sort) {
    ++sort_column;
  }
  if (sort_column == std::size(kColumns))
    return WrongUsage(command,
                      "--sort is total, self, mean, p99, max, ran, ready or "
                      "waited");

  const CategoryRules rules(
      categories.empty() ? std::string()
                         : protozero::internal::EncodeCategories(categories));
  std::map<EventKey, SliceSums> rows;
  uint64_t num_slices = 0;
  std::vector<std::string> notes;
  bool ok = true;
  bool has_trace = false;
  bool has_states = false;
  uint64_t num_divided = 0;
  for (const std::string& file : files)
    program::NoteInput(file);
  for (const std::string& file : files) {
    TraceInput input;
    if (!input.Open(file, "top")) {
      ok = false;
      continue;
    }
    has_trace = true;
    // The index is the number of the text in this file.
    std::vector<SliceSums*> rows_of_file;
    const auto add_slice = [&](const Slice& slice) {
      if (!categories.empty() && !rules.Wants(slice.text->category, ""))
        return;
      if (slice.text_id >= rows_of_file.size())
        rows_of_file.resize(slice.text_id + size_t{1});
      SliceSums*& row = rows_of_file[slice.text_id];
      if (row == nullptr)
        row = &rows[{slice.text->category, slice.text->name}];
      ++num_slices;
      row->Add(slice);
    };
    TimelineReader reader({add_slice, {}, {}, false});
    ThreadTimes times;
    const bool is_whole = ReadTimeline(file, &input, &reader,
                                       /*reads_ahead=*/false, &times);
    if (times.has_states()) {
      has_states |= DivideSlices(&times, reader.tracks(), rows_of_file, &input,
                                 &num_divided);
    }
    ok = is_whole && ok;
    AddNotes(
        reader, !is_whole,
        files.size() > 1 ? std::string(program::DisplayName(file)) + ": " : "",
        &notes);
  }
  if (!has_trace)
    return kFailure;
  if (!has_states && sort_column >= kFirstDivided) {
    program::PrintError(kProgram,
                        "--sort %s: no trace has the states of threads",
                        sort.c_str());
    return kFailure;
  }
  Print(rows, has_states ? std::size(kColumns) : kFirstDivided, sort_column,
        limit);
  printf("%s of %s\n", CountOf(num_slices, "slice").c_str(),
         CountOf(rows.size(), "name").c_str());
  if (has_states && num_divided != num_slices)
    printf("%s\n", UndividedText(num_slices - num_divided).c_str());
  for (const std::string& note : notes)
    printf("%s\n", note.c_str());
  if (!program::FlushStandardOutput(kProgram))
    ok = false;
  return ok ? kSuccess : kFailure;
}

}  // namespace pztrace
