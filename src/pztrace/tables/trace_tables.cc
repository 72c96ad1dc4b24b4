// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/trace_tables.h"

#include <utility>

#include "src/pztrace/tables/arg_rows.h"
#include "src/pztrace/tables/task_rows.h"
#include "src/pztrace/tables/thread_rows.h"

namespace pztrace {

std::vector<TableInfo> SqlTables() {
  std::vector<TableInfo> tables = {
      {"process", "process", InfosOf<ProcessRow>(kProcessTable)},
      {"thread", "thread", InfosOf<ThreadRow>(kThreadTable)},
      {"track", "track", InfosOf<TrackTableRow>(kTrackTable)},
      {"slice", "slice and instant", InfosOf<SliceRow>(kSliceTable)},
      {"counter", "value of a counter", InfosOf<CounterRow>(kCounterTable)},
      {"flow", "step of a flow from one slice to the next",
       InfosOf<FlowRow>(kFlowTable)},
      {"loss", "reason of losses; thread with gaps",
       InfosOf<LossRow>(kLossTable)},
      {"args", "value in the arguments of an event", ArgRows::Columns()},
      {"task", "task",
       Joined(
           {InfosOf<TaskProcessCells>(kTaskProcessColumns), TaskColumns()})}};
  for (TableInfo& table : ThreadTables())
    tables.push_back(std::move(table));
  return tables;
}

}  // namespace pztrace
