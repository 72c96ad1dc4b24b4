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

#include "src/command_line/command_line.h"
#include "src/pbz/program_io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/shown_name.h"
#include "src/pztrace/timeline_file.h"
#include "src/pztrace/timeline_reader.h"
#include "src/tracing/track_event/category_rules.h"

namespace pztrace {

namespace {

using command_line::kFailure;
using command_line::kSuccess;
using protozero::internal::CategoryRules;

// Counts durations in steps of 1/16 of a power of two, so that the 99th
// percentile of any number of them takes little memory: it is right to 6 %.
class Histogram {
 public:
  void Add(uint64_t value) {
    ++counts_[StepOf(value)];
    ++total_;
  }
  uint64_t Percentile99() const {
    uint64_t left = total_ - total_ / 100;
    for (const auto& [step, count] : counts_) {
      if (count >= left)
        return EndOf(step);
      left -= count;
    }
    return 0;
  }

 private:
  static constexpr uint32_t kSteps = 16;

  static uint32_t StepOf(uint64_t value) {
    uint32_t shift = 0;
    while (value >> shift >= 2 * kSteps)
      ++shift;
    return shift * kSteps + static_cast<uint32_t>(value >> shift);
  }
  // The largest value of the step.
  static uint64_t EndOf(uint32_t step) {
    if (step < 2 * kSteps)
      return step;
    const uint32_t shift = step / kSteps - 1;
    const uint64_t first = step - shift * kSteps;
    return (first << shift) + ((uint64_t{1} << shift) - 1);
  }

  std::map<uint32_t, uint64_t> counts_;
  uint64_t total_ = 0;
};

struct Row {
  std::string_view category;
  std::string_view name;
  uint64_t count = 0;
  uint64_t total = 0;
  uint64_t self = 0;
  uint64_t max = 0;
  Histogram histogram;

  uint64_t mean() const { return total / count; }
  uint64_t p99() const { return std::min(max, histogram.Percentile99()); }
};

constexpr struct {
  const char* name;
  uint64_t (*value)(const Row& row);
} kColumns[] = {
    {"total", [](const Row& row) { return row.total; }},
    {"self", [](const Row& row) { return row.self; }},
    {"mean", [](const Row& row) { return row.mean(); }},
    {"p99", [](const Row& row) { return row.p99(); }},
    {"max", [](const Row& row) { return row.max; }},
};

// |rows| have slices.
void Print(std::vector<Row> rows, size_t sort_column, size_t limit) {
  const auto value = kColumns[sort_column].value;
  std::stable_sort(
      rows.begin(), rows.end(),
      [value](const Row& a, const Row& b) { return value(a) > value(b); });
  rows.resize(std::min(rows.size(), limit));
  printf("%10s", "count");
  for (const auto& column : kColumns)
    printf(" %10s", column.name);
  printf("  name (category)\n");
  for (const Row& row : rows) {
    printf("%10" PRIu64, row.count);
    for (const auto& column : kColumns)
      printf(" %10s", DurationText(column.value(row)).c_str());
    printf("  %s",
           row.name.empty() ? "(no name)" : ShownName(row.name).c_str());
    if (!row.category.empty())
      printf(" (%s)", ShownName(row.category).c_str());
    printf("\n");
  }
}

}  // namespace

int TopMain(int argc, char** argv) {
  std::string file_name;
  std::string sort = "total";
  std::string categories;
  uint32_t limit = 20;
  const command_line::Command command = {
      "pztrace top",
      "[options] FILE",
      "Prints which slices of a trace took the most time, by their names.\n",
      {{"FILE", "the trace; - is the standard input", &file_name},
       {"--sort COLUMN", "total (the default), self, mean, p99 or max", &sort},
       {"--limit N", "rows to print, default: 20", &limit},
       {"--categories LIST",
        "slices of these categories only: a comma between, * at the end for "
        "any, - in front for all but these",
        &categories}},
      R"(self is without the slices within, of the same track. p99 is right to 6 %.
)"};
  if (const auto exit_code = command_line::Parse(command, argc, argv))
    return *exit_code;
  size_t sort_column = 0;
  while (sort_column < std::size(kColumns) &&
         kColumns[sort_column].name != sort) {
    ++sort_column;
  }
  if (sort_column == std::size(kColumns))
    return WrongUsage(command, "--sort is total, self, mean, p99 or max");

  const CategoryRules rules(
      categories.empty() ? std::string()
                         : protozero::internal::EncodeCategories(categories));
  std::vector<Row> rows;
  uint64_t num_slices = 0;
  const auto add_slice = [&](const Slice& slice) {
    if (!categories.empty() && !rules.Wants(slice.text->category, ""))
      return;
    if (slice.text_id >= rows.size())
      rows.resize(slice.text_id + size_t{1});
    Row& row = rows[slice.text_id];
    row.category = slice.text->category;
    row.name = slice.text->name;
    ++num_slices;
    ++row.count;
    row.total += slice.duration_ns;
    row.self += slice.self_ns;
    row.max = std::max(row.max, slice.duration_ns);
    row.histogram.Add(slice.duration_ns);
  };
  TimelineReader reader({add_slice, {}, {}, false});
  bool ok = ReadTimelineFile(file_name, &reader);

  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [](const Row& row) { return row.count == 0; }),
             rows.end());
  const size_t num_names = rows.size();
  Print(std::move(rows), sort_column, limit);
  printf("%" PRIu64 " slices of %zu names\n", num_slices, num_names);
  const Completeness completeness = CompletenessOf(reader, !ok);
  // Without statistics, nobody has counted.
  if (reader.has_stats() || !completeness.is_complete())
    printf("%s\n", completeness.Text().c_str());
  for (const std::string& line : LostStretchesOf(reader))
    printf("%s\n", line.c_str());
  PrintOmissions(reader, stdout);
  if (!pbz::FlushStandardOutput(kProgram))
    ok = false;
  return ok ? kSuccess : kFailure;
}

}  // namespace pztrace
