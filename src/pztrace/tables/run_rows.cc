// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/run_rows.h"

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "src/pztrace/tables/table_columns.h"

namespace pztrace {

namespace {

// The limit of a path, as for paths of tracks.
constexpr size_t kMaxPathBytes = 1024;

// A row, and the table that it is from.
struct ComparedCells {
  std::string_view category() const { return table.category(row); }
  std::string_view name() const { return table.name(row); }
  std::optional<std::string> path() const {
    if (!row.path)
      return std::nullopt;
    return table.PathText(*row.path, kMaxPathBytes);
  }
  bool was_there() const { return row.was_there; }
  bool is_there() const { return row.is_there; }
  bool stands_out() const { return row.stands_out; }
  uint64_t runs_before() const { return table.num_runs(RunTable::kBefore); }
  uint64_t runs_after() const { return table.num_runs(RunTable::kAfter); }

  const RunTable& table;
  const ComparedRow& row;
};

constexpr std::tuple kComparedColumns{
    TableColumn{"category", "", &ComparedCells::category},
    TableColumn{"name", "", &ComparedCells::name},
    TableColumn{"path", "the names from the outermost slice on",
                &ComparedCells::path},
    TableColumn{"was_there", "whether a run before has such slices",
                &ComparedCells::was_there},
    TableColumn{"is_there", "whether a run after has such slices",
                &ComparedCells::is_there},
    TableColumn{"stands_out", "whether the change does among all rows",
                &ComparedCells::stands_out},
    TableColumn{"runs_before", "", &ComparedCells::runs_before},
    TableColumn{"runs_after", "", &ComparedCells::runs_after}};

// The change of one number.
struct ChangeCells {
  template <double Change::* kMember>
  std::optional<double> in_change() const {
    return change ? std::optional((*change).*kMember) : std::nullopt;
  }
  template <double ChangeInterval::* kMember>
  std::optional<double> in_interval() const {
    return change && change->interval
               ? std::optional((*change->interval).*kMember)
               : std::nullopt;
  }

  const std::optional<Change>& change;
};

// The columns of each number, whose names follow "total_" and the like.
constexpr std::tuple kChangeColumns{
    TableColumn{"before", "medians", &ChangeCells::in_change<&Change::before>},
    TableColumn{"after", "", &ChangeCells::in_change<&Change::after>},
    TableColumn{"diff", "the median of differences, and its interval",
                &ChangeCells::in_change<&Change::difference>},
    TableColumn{"low", "", &ChangeCells::in_interval<&ChangeInterval::low>},
    TableColumn{"high", "", &ChangeCells::in_interval<&ChangeInterval::high>}};

}  // namespace

std::vector<table::Column> ComparedColumns(const RunTable& table) {
  std::vector<table::Column> columns =
      ColumnsOf(InfosOf<ComparedCells>(kComparedColumns));
  const auto parts = ColumnsOf(InfosOf<ChangeCells>(kChangeColumns));
  for (size_t i = 0; i < table.num_columns(); ++i) {
    for (const table::Column& part : parts) {
      columns.push_back(
          {std::string(kRunColumnNames[i]) + "_" + part.name, part.type});
    }
  }
  return columns;
}

void WriteComparedRows(const RunTable& table,
                       const std::vector<ComparedRow>& compared,
                       RunComparer* comparer,
                       table::RowWriter* rows) {
  for (const ComparedRow& row : compared) {
    WriteCells(kComparedColumns, ComparedCells{table, row}, rows);
    const RunChanges changes = table.ChangesOf(row, comparer);
    for (size_t i = 0; i < table.num_columns(); ++i)
      WriteCells(kChangeColumns, ChangeCells{changes[i]}, rows);
    rows->EndRow();
  }
}

}  // namespace pztrace
