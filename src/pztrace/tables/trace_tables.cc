// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/trace_tables.h"

#include <utility>

#include "src/pztrace/tables/arg_rows.h"
#include "src/pztrace/tables/task_rows.h"
#include "src/pztrace/tables/thread_rows.h"

namespace pztrace {

std::vector<TableInfo> SqlTables() {
  const ColumnInfo no_args = RepeatedColumn("arg_set_id", "NULL");
  std::vector<TableInfo> tables = {
      {"process", "process",
       Joined({InfosOf<ProcessRow>(kProcessTable),
               {RepeatedColumn("id", "upid"), no_args}})},
      {"thread", "thread",
       Joined(
           {InfosOf<ThreadRow>(kThreadTable), {RepeatedColumn("id", "utid")}})},
      {"track", "track", InfosOf<TrackTableRow>(kTrackTable)},
      {"slice", "slice and instant",
       Joined({InfosOf<SliceRow>(kSliceTable),
               {RepeatedColumn("slice_id", "id"),
                RepeatedColumn("cat", "category", "", ValueType::kText)}})},
      {"counter", "value of a counter",
       Joined({InfosOf<CounterRow>(kCounterTable), {no_args}})},
      {"flow", "step of a flow from one slice to the next",
       Joined({InfosOf<FlowRow>(kFlowTable), {no_args}})},
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
