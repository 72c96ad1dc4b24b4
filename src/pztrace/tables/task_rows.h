// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_TASK_ROWS_H_
#define SRC_PZTRACE_TABLES_TASK_ROWS_H_

#include <functional>
#include <string>
#include <vector>

#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/tables/table_columns.h"
#include "src/pztrace/tasks/request_path.h"
#include "src/pztrace/tasks/task_summary.h"
#include "src/pztrace/tasks/task_timeline.h"
#include "src/table/row_writer.h"

// The tables about tasks: columns, and functions that write their rows.

namespace pztrace {

// A row for each task. Before the cells of TaskColumns(), |begin_row| writes
// those that say which process it is of. |times| has the states of threads, if
// the trace has any.
std::vector<ColumnInfo> TaskColumns();
void WriteTasks(const TaskTimeline& timeline,
                const TimelineReader& reader,
                ThreadTimes* times,
                const std::function<void(const TrackInfo& process)>& begin_row,
                table::RowWriter* rows);

// A row for each place where tasks are spawned.
std::vector<ColumnInfo> TaskSummaryColumns();
void WriteTaskSummary(const TaskSummary& summary, table::RowWriter* rows);

// A row for each part of the path of a request.
std::vector<ColumnInfo> RequestPathColumns();
void WriteRequestPath(const TaskTimeline& timeline,
                      const TimelineReader& reader,
                      const std::string& file,
                      uint32_t request,
                      const std::vector<PathPart>& path,
                      table::RowWriter* rows);

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_TASK_ROWS_H_
