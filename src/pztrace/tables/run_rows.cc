// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/run_rows.h"

#include <stddef.h>
#include <stdint.h>

#include <iterator>
#include <string>

namespace pztrace {

namespace {

// The limit of a path, as for paths of tracks.
constexpr size_t kMaxPathBytes = 1024;

constexpr const char* kChangeColumns[] = {"before", "after", "diff", "low",
                                          "high"};

}  // namespace

std::vector<table::Column> ComparedColumns() {
  using Type = table::Column::Type;
  std::vector<table::Column> columns = {
      {"category"},
      {"name"},
      {"path"},
      {"was_there", Type::kBool},
      {"is_there", Type::kBool},
      {"stands_out", Type::kBool},
      {"runs_before", Type::kUint64},
      {"runs_after", Type::kUint64},
  };
  for (const char* name : kRunColumnNames) {
    for (const char* part : kChangeColumns)
      columns.push_back({std::string(name) + "_" + part, Type::kDouble});
  }
  return columns;
}

void WriteComparedRows(const RunTable& table,
                       const std::vector<ComparedRow>& compared,
                       RunComparer* comparer,
                       table::RowWriter* rows) {
  for (const ComparedRow& row : compared) {
    rows->Text(table.category(row));
    rows->Text(table.name(row));
    if (row.path)
      rows->Text(table.PathText(*row.path, kMaxPathBytes));
    else
      rows->Null();
    rows->Bool(row.was_there);
    rows->Bool(row.is_there);
    rows->Bool(row.stands_out);
    rows->Number(uint64_t{table.num_runs(RunTable::kBefore)});
    rows->Number(uint64_t{table.num_runs(RunTable::kAfter)});
    for (const auto& change : table.ChangesOf(row, comparer)) {
      if (change) {
        rows->Number(change->before);
        rows->Number(change->after);
        rows->Number(change->difference);
      }
      if (change && change->interval) {
        rows->Number(change->interval->low);
        rows->Number(change->interval->high);
      }
      const size_t num_written = !change ? 0 : !change->interval ? 3 : 5;
      for (size_t i = num_written; i < std::size(kChangeColumns); ++i)
        rows->Null();
    }
    rows->EndRow();
  }
}

}  // namespace pztrace
