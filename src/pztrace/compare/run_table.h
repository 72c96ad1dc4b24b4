// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_COMPARE_RUN_TABLE_H_
#define SRC_PZTRACE_COMPARE_RUN_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/pztrace/compare/run_comparison.h"
#include "src/pztrace/compare/run_sums.h"
#include "src/pztrace/compare/slice_sums.h"
#include "src/pztrace/events/timeline_reader.h"

namespace pztrace {

// The numbers that runs are compared by. The last three are means of a slice:
// how long its thread ran, could run and waited. They are there if each run has
// the states of threads.
enum class RunColumn : uint8_t {
  kCount,
  kTotal,
  kSelf,
  kP50,
  kP99,
  kRan,
  kReady,
  kWaited
};
inline constexpr size_t kNumRunColumns = 8;
inline constexpr size_t kNumTimeColumns = 5;
inline constexpr const char* kRunColumnNames[kNumRunColumns] = {
    "count", "total", "self", "p50", "p99", "ran", "ready", "waited"};

// A row of RunTable::CompareNames() or ComparePaths().
struct ComparedRow {
  uint32_t name;
  // Null for a row of a name.
  std::optional<uint32_t> path;
  // False if no run of the side has such slices. Folded paths are always there.
  bool was_there;
  bool is_there;
  Change self;
  // The probability that p50 differs that much by chance; 1 without slices on a
  // side.
  double p50_p_value;
  // True if one of both stands out among all rows.
  bool stands_out = false;
};

// The changes by column. p50, p99 and the columns after them are null if a side
// has no slices, and for the slices of folded paths.
using RunChanges = std::array<std::optional<Change>, kNumRunColumns>;

// The slices of each run, added up by name and by path. Its memory depends on
// the number of runs, and of different names and paths.
//
// Readers fold the paths beyond a limit, which may be others in each run. A
// path that some run has folded is not comparable: FoldUnknownPaths() folds it
// in all of them, so each row has all slices of its kind in every run. The same
// runs in another order fold the same paths, so folding favours no side.
class RunTable {
 public:
  enum Side { kBefore, kAfter };

  RunTable() = default;
  RunTable(const RunTable&) = delete;
  RunTable& operator=(const RunTable&) = delete;

  // Adds a run, whose slices |reader| has read. |has_states| if it has the
  // states of threads.
  void AddRun(Side side,
              const TimelineReader& reader,
              const RunSums& sums,
              bool has_states = false);

  // Folds the paths that a run may have folded, and returns the number of
  // slices of folded paths. Call it once, after the last run and before the
  // functions below.
  uint64_t FoldUnknownPaths();

  size_t num_runs(Side side) const { return num_runs_[side]; }
  // Returns the number of columns that runs have.
  size_t num_columns() const {
    return all_have_states_ ? kNumRunColumns : kNumTimeColumns;
  }
  // Returns whether any slice is within another one.
  bool has_nesting() const { return has_nesting_; }

  // Compare the runs. Rows that stand out come first, then those that have
  // changed most: by the least difference in the interval of self, then by its
  // difference. REQUIRES: there is a run on each side, and as many if the runs
  // are paired.
  std::vector<ComparedRow> CompareNames(RunComparer* comparer) const;
  std::vector<ComparedRow> ComparePaths(RunComparer* comparer) const;

  // Returns all changes of a row. Rows are too many to have them all at once.
  RunChanges ChangesOf(const ComparedRow& row, RunComparer* comparer) const;

  const std::string& category(const ComparedRow& row) const {
    return names_[row.name]->first;
  }
  const std::string& name(const ComparedRow& row) const {
    return names_[row.name]->second;
  }
  // Returns the names from the outermost slice, with ">" between them. If that
  // is longer than |max_size|, outer names are left out, and a longer name is
  // cut.
  std::string PathText(uint32_t path, size_t max_size) const;

  // Returns the last name of a path.
  const std::string& NameText(uint32_t path) const {
    return names_[paths_[path].name]->second;
  }

  // Counts the paths, with those that only slices without an end have had. Each
  // has a larger number than the path around it.
  size_t num_paths() const { return paths_.size(); }
  // Returns nothing for a path that is within no other one.
  std::optional<uint32_t> OuterOf(uint32_t path) const {
    const uint32_t outer = paths_[path].outer;
    return outer != kNoPath ? std::optional<uint32_t>(outer) : std::nullopt;
  }

 private:
  // A category and a name.
  using EventKey = std::pair<std::string, std::string>;
  // The numbers of a run, in the order of runs.
  struct Numbers {
    double count() const {
      return columns[static_cast<size_t>(RunColumn::kCount)];
    }
    bool operator<(const Numbers& other) const { return run < other.run; }

    size_t run;  // Counts from 0 on each side.
    std::array<double, kNumRunColumns> columns;
  };
  // The numbers of runs, by side. Those of a path that a run has told apart are
  // there even if its slices have no end: so it is known that it is not folded.
  using Runs = std::array<std::vector<Numbers>, 2>;
  struct Path {
    uint32_t outer;  // kNoPath for a slice that is in no other.
    uint32_t name;   // kFolded for the folded paths within |outer|.
  };

  static constexpr uint32_t kNoPath = UINT32_MAX;
  static constexpr uint32_t kFolded = 0;

  static Numbers NumbersOf(size_t run, const SliceSums& sums);
  static bool HasSlices(const std::vector<Numbers>& runs);
  // Adds |from| to the numbers of the same runs.
  static void Merge(const std::vector<Numbers>& from, std::vector<Numbers>* to);
  uint32_t NameOf(const EventText& text);
  uint32_t PathOf(const Path& path);
  // Returns the path that each path is folded into, or the path itself.
  std::vector<uint32_t> FoldedPaths() const;
  // Returns false if the slices of a path may be among the folded ones.
  bool IsKnown(uint32_t path, uint32_t folded) const;
  // Returns the change of a column. Null if a side has no slices.
  std::optional<Change> ChangeOf(const Runs& runs,
                                 RunColumn column,
                                 RunComparer* comparer) const;
  // Appends the row unless no run has such slices.
  void AddRow(uint32_t name,
              std::optional<uint32_t> path,
              RunComparer* comparer,
              std::vector<ComparedRow>* rows) const;
  const Runs& RunsOf(uint32_t name, std::optional<uint32_t> path) const {
    return path ? runs_of_paths_[*path] : runs_of_names_[name];
  }
  static void Sort(std::vector<ComparedRow>* rows);

  size_t num_runs_[2] = {0, 0};
  bool has_nesting_ = false;
  bool all_have_states_ = true;
  const EventKey folded_key_{"", "(other)"};
  std::map<EventKey, uint32_t> name_ids_;
  std::vector<const EventKey*> names_{&folded_key_};
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> path_ids_;
  std::vector<Path> paths_;
  std::vector<Runs> runs_of_names_ = std::vector<Runs>(1);
  std::vector<Runs> runs_of_paths_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_COMPARE_RUN_TABLE_H_
