// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/trace_tables.h"

#include <utility>

#include "src/pztrace/tables/arg_rows.h"
#include "src/pztrace/tables/task_rows.h"
#include "src/pztrace/tables/thread_rows.h"

namespace pztrace {

namespace {

// Returns |columns| and others that Perfetto's trace processor has, too.
std::vector<ColumnInfo> With(std::vector<ColumnInfo> columns,
                             const std::vector<ColumnInfo>& computed) {
  columns.insert(columns.end(), computed.begin(), computed.end());
  return columns;
}

// Returns a column that repeats the one called |column|, or is null.
ColumnInfo Repeated(std::string_view name,
                    std::string_view column,
                    ValueType type = ValueType::kInt64) {
  return {name, "", Unit::kNone, type, true, column};
}

}  // namespace

std::vector<TableInfo> SqlTables() {
  const ColumnInfo no_args = Repeated("arg_set_id", "NULL");
  std::vector<TableInfo> tables = {
      {"process", "process",
       With(InfosOf<ProcessRow>(kProcessTable),
            {Repeated("id", "upid"), no_args})},
      {"thread", "thread",
       With(InfosOf<ThreadRow>(kThreadTable), {Repeated("id", "utid")})},
      {"track", "track", InfosOf<TrackTableRow>(kTrackTable)},
      {"slice", "slice and instant",
       With(InfosOf<SliceRow>(kSliceTable),
            {Repeated("slice_id", "id"),
             Repeated("cat", "category", ValueType::kText)})},
      {"counter", "value of a counter",
       With(InfosOf<CounterRow>(kCounterTable), {no_args})},
      {"flow", "step of a flow from one slice to the next",
       With(InfosOf<FlowRow>(kFlowTable), {no_args})},
      {"loss", "reason of losses; thread with gaps",
       InfosOf<LossRow>(kLossTable)},
      {"args", "value in the arguments of an event", ArgRows::Columns()},
      {"trace_bounds", "trace", InfosOf<BoundsRow>(kBoundsTable)},
      {"task", "task",
       Joined(
           {InfosOf<TaskProcessCells>(kTaskProcessColumns), TaskColumns()})}};
  for (TableInfo& table : ThreadTables())
    tables.push_back(std::move(table));
  return tables;
}

}  // namespace pztrace
