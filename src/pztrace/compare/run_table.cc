// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/compare/run_table.h"

#include <math.h>

#include <algorithm>
#include <tuple>

#include "src/pztrace/trace_file/shown_name.h"

namespace pztrace {

namespace {

// Returns whether a number is that of one slice, and no sum.
bool IsOfOne(RunColumn column) {
  return column >= RunColumn::kP50;
}

// Returns NaN if it is known for no slice.
double MeanOf(uint64_t sum, const SliceSums& sums) {
  return sums.num_divided == 0
             ? NAN
             : static_cast<double>(sum) / static_cast<double>(sums.num_divided);
}

}  // namespace

void RunTable::AddRun(Side side,
                      const TimelineReader& reader,
                      const RunSums& sums,
                      bool has_states) {
  all_have_states_ &= has_states;
  const size_t run = num_runs_[side]++;
  std::vector<uint32_t> paths(sums.paths().size(), kNoPath);
  std::map<uint32_t, SliceSums> sums_of_names;
  for (uint32_t id = 1; id < paths.size(); ++id) {
    const SliceSums& path_sums = sums.paths()[id];
    const protozero::SlicePath path = reader.path(id);
    const bool is_folded = path.text == nullptr;
    const uint32_t name = is_folded ? kFolded : NameOf(*path.text);
    // The outer path has the lower number, so it is there already.
    paths[id] = PathOf({paths[path.outer_id], name});
    if (path_sums.count != 0 || !is_folded)
      runs_of_paths_[paths[id]][side].push_back(NumbersOf(run, path_sums));
    // Nothing but slices without an end may have had this path.
    has_nesting_ |= path_sums.count != 0 && path.outer_id != 0;
    if (!is_folded)
      sums_of_names[name].Merge(path_sums);
  }
  for (const RunSums::FoldedName& name : sums.folded_names()) {
    if (name.sums.count != 0)
      sums_of_names[NameOf(*name.text)].Merge(name.sums);
  }
  for (const auto& [name, sums_of_name] : sums_of_names)
    runs_of_names_[name][side].push_back(NumbersOf(run, sums_of_name));
}

RunTable::Numbers RunTable::NumbersOf(size_t run, const SliceSums& sums) {
  return {
      run,
      {static_cast<double>(sums.count), static_cast<double>(sums.total),
       static_cast<double>(sums.self), sums.histogram.SmoothPercentile(50),
       sums.histogram.SmoothPercentile(99), MeanOf(sums.divided.ran_ns, sums),
       MeanOf(sums.divided.ready_ns, sums),
       MeanOf(sums.divided.waited_ns, sums)}};
}

bool RunTable::HasSlices(const std::vector<Numbers>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const Numbers& numbers) {
    return numbers.count() != 0;
  });
}

uint64_t RunTable::FoldUnknownPaths() {
  const std::vector<uint32_t> into = FoldedPaths();
  // The numbers of those that are left.
  std::vector<uint32_t> new_ids(into.size());
  std::vector<Path> paths;
  std::vector<Runs> runs_of_paths;
  for (uint32_t path = 0; path < into.size(); ++path) {
    if (into[path] != path)
      continue;
    new_ids[path] = static_cast<uint32_t>(paths.size());
    paths.push_back(paths_[path]);
    uint32_t& outer = paths.back().outer;
    if (outer != kNoPath)
      outer = new_ids[outer];
    runs_of_paths.push_back(std::move(runs_of_paths_[path]));
  }
  for (uint32_t path = 0; path < into.size(); ++path) {
    if (into[path] == path)
      continue;
    for (const Side side : {kBefore, kAfter}) {
      Merge(runs_of_paths_[path][side],
            &runs_of_paths[new_ids[into[path]]][side]);
    }
  }
  path_ids_.clear();
  paths_ = std::move(paths);
  runs_of_paths_ = std::move(runs_of_paths);

  double num_folded = 0;
  for (uint32_t path = 0; path < paths_.size(); ++path) {
    if (paths_[path].name != kFolded)
      continue;
    for (const std::vector<Numbers>& runs : runs_of_paths_[path]) {
      for (const Numbers& numbers : runs)
        num_folded += numbers.count();
    }
  }
  return static_cast<uint64_t>(num_folded);
}

std::vector<uint32_t> RunTable::FoldedPaths() const {
  std::vector<uint32_t> into(paths_.size());
  for (uint32_t path = 0; path < into.size(); ++path) {
    into[path] = path;
    const auto [outer, name] = paths_[path];
    if (outer != kNoPath && into[outer] != outer) {
      into[path] = into[outer];
      continue;
    }
    const auto folded = path_ids_.find({outer, kFolded});
    if (folded != path_ids_.end() && !IsKnown(path, folded->second))
      into[path] = folded->second;
  }
  return into;
}

bool RunTable::IsKnown(uint32_t path, uint32_t folded) const {
  for (const Side side : {kBefore, kAfter}) {
    const std::vector<Numbers>& known = runs_of_paths_[path][side];
    const std::vector<Numbers>& folding = runs_of_paths_[folded][side];
    if (!std::includes(known.begin(), known.end(), folding.begin(),
                       folding.end())) {
      return false;
    }
  }
  return true;
}

void RunTable::Merge(const std::vector<Numbers>& from,
                     std::vector<Numbers>* to) {
  for (const Numbers& numbers : from) {
    const auto place = std::lower_bound(to->begin(), to->end(), numbers);
    if (place == to->end() || place->run != numbers.run) {
      to->insert(place, numbers);
      continue;
    }
    for (size_t i = 0; i < kNumRunColumns; ++i)
      place->columns[i] += numbers.columns[i];
  }
}

uint32_t RunTable::NameOf(const EventText& text) {
  const auto [place, is_new] = name_ids_.try_emplace(
      {text.category, text.name}, static_cast<uint32_t>(names_.size()));
  if (is_new) {
    names_.push_back(&place->first);
    runs_of_names_.emplace_back();
  }
  return place->second;
}

uint32_t RunTable::PathOf(const Path& path) {
  const auto [place, is_new] = path_ids_.try_emplace(
      {path.outer, path.name}, static_cast<uint32_t>(paths_.size()));
  if (is_new) {
    paths_.push_back(path);
    runs_of_paths_.emplace_back();
  }
  return place->second;
}

std::optional<Change> RunTable::ChangeOf(const Runs& runs,
                                         RunColumn column,
                                         RunComparer* comparer) const {
  // A run without such slices has spent no time in them, but it does not say
  // how long they take.
  const double missing = IsOfOne(column) ? NAN : 0;
  std::array<std::vector<double>, 2> values;
  for (const Side side : {kBefore, kAfter}) {
    values[side].resize(num_runs_[side], missing);
    for (const Numbers& numbers : runs[side]) {
      if (numbers.count() != 0) {
        values[side][numbers.run] =
            numbers.columns[static_cast<size_t>(column)];
      }
    }
  }
  auto& [before, after] = values;
  if (comparer->is_paired()) {
    // A pair needs both.
    for (size_t i = 0; i < before.size(); ++i) {
      if (isnan(before[i]) || isnan(after[i]))
        before[i] = after[i] = NAN;
    }
  }
  for (std::vector<double>& side : values) {
    side.erase(std::remove_if(side.begin(), side.end(),
                              [](double value) { return isnan(value); }),
               side.end());
  }
  if (before.empty() || after.empty())
    return std::nullopt;
  return comparer->Compare(std::move(before), std::move(after));
}

RunChanges RunTable::ChangesOf(const ComparedRow& row,
                               RunComparer* comparer) const {
  const Runs& runs = RunsOf(row.name, row.path);
  RunChanges changes;
  for (size_t i = 0; i < num_columns(); ++i) {
    const auto column = static_cast<RunColumn>(i);
    if (row.name != kFolded || !IsOfOne(column))
      changes[i] = ChangeOf(runs, column, comparer);
  }
  return changes;
}

void RunTable::AddRow(uint32_t name,
                      std::optional<uint32_t> path,
                      RunComparer* comparer,
                      std::vector<ComparedRow>* rows) const {
  const Runs& runs = RunsOf(name, path);
  if (!HasSlices(runs[kBefore]) && !HasSlices(runs[kAfter]))
    return;
  // A name whose slices have not ended is neither new nor vanished.
  const bool is_folded = name == kFolded;
  std::optional<Change> p50;
  if (!is_folded)
    p50 = ChangeOf(runs, RunColumn::kP50, comparer);
  rows->push_back({name, path, !runs[kBefore].empty() || is_folded,
                   !runs[kAfter].empty() || is_folded,
                   *ChangeOf(runs, RunColumn::kSelf, comparer),
                   p50 ? p50->p_value : 1});
}

void RunTable::Sort(std::vector<ComparedRow>* rows) {
  std::vector<double> p_values;
  for (const ComparedRow& row : *rows) {
    p_values.push_back(row.self.p_value);
    p_values.push_back(row.p50_p_value);
  }
  const std::vector<bool> stand_out = RunComparer::StandOut(p_values);
  for (size_t i = 0; i < rows->size(); ++i)
    (*rows)[i].stands_out = stand_out[2 * i] || stand_out[2 * i + 1];
  std::stable_sort(rows->begin(), rows->end(),
                   [](const ComparedRow& a, const ComparedRow& b) {
                     const auto weight = [](const ComparedRow& row) {
                       return std::make_tuple(row.stands_out,
                                              row.self.LeastDifference(),
                                              fabs(row.self.difference));
                     };
                     return weight(a) > weight(b);
                   });
}

std::vector<ComparedRow> RunTable::CompareNames(RunComparer* comparer) const {
  std::vector<ComparedRow> rows;
  for (const auto& [key, name] : name_ids_)
    AddRow(name, std::nullopt, comparer, &rows);
  Sort(&rows);
  return rows;
}

std::vector<ComparedRow> RunTable::ComparePaths(RunComparer* comparer) const {
  std::vector<ComparedRow> rows;
  for (uint32_t path = 0; path < paths_.size(); ++path)
    AddRow(paths_[path].name, path, comparer, &rows);
  Sort(&rows);
  return rows;
}

std::string RunTable::PathText(uint32_t path, size_t max_size) const {
  constexpr char kSeparator[] = " > ";
  std::string text;
  for (; path != kNoPath; path = paths_[path].outer) {
    const std::string& name = names_[paths_[path].name]->second;
    std::string longer = name.empty() ? "(no name)" : Cut(name, max_size);
    if (!text.empty())
      longer += kSeparator + text;
    if (longer.size() > max_size && !text.empty())
      return "..." + (kSeparator + text);
    text = std::move(longer);
  }
  return text;
}

}  // namespace pztrace
