// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_TRACE_TABLES_H_
#define SRC_PZTRACE_TABLES_TRACE_TABLES_H_

#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/pztrace/tables/division_cells.h"
#include "src/pztrace/tables/table_columns.h"

// The tables of a trace for SQL, which have the names of Perfetto's trace
// processor: a row, and its columns. docs/sql.md describes them.

namespace pztrace {

struct ProcessRow {
  PrimaryKey upid;
  int64_t pid;
  TextCell name;
  std::optional<int64_t> start_ts;
};

inline constexpr std::tuple kProcessTable{
    TableColumn{"upid", "", &ProcessRow::upid},
    TableColumn{"pid", "", &ProcessRow::pid},
    TableColumn{"name", "", &ProcessRow::name},
    TableColumn{"start_ts", "its start, if the trace says it",
                &ProcessRow::start_ts, Unit::kNs}};

struct ThreadRow {
  PrimaryKey utid;
  int64_t tid;
  TextCell name;
  NumberCell upid;
  bool is_main_thread;
};

inline constexpr std::tuple kThreadTable{
    TableColumn{"utid", "", &ThreadRow::utid},
    TableColumn{"tid", "", &ThreadRow::tid},
    TableColumn{"name", "", &ThreadRow::name},
    TableColumn{"upid", "", &ThreadRow::upid},
    TableColumn{"is_main_thread", "", &ThreadRow::is_main_thread}};

struct TrackTableRow {
  PrimaryKey id;
  TextCell name;
  std::string type;
  std::optional<int64_t> parent_id;
  std::optional<int64_t> source_arg_set_id;
  NumberCell utid;
  NumberCell upid;
  bool is_counter;
  bool is_state;
  TextCell unit;
};

inline constexpr std::tuple kTrackTable{
    TableColumn{"id", "", &TrackTableRow::id},
    TableColumn{"name", "", &TrackTableRow::name},
    TableColumn{"type",
                "such as thread_track_event or global_counter_track_event",
                &TrackTableRow::type},
    TableColumn{"parent_id", "the track that it is below",
                &TrackTableRow::parent_id},
    TableColumn{"source_arg_set_id", "what else its description says",
                &TrackTableRow::source_arg_set_id},
    TableColumn{"utid", "the thread that it belongs to", &TrackTableRow::utid},
    TableColumn{"upid", "the process that it belongs to", &TrackTableRow::upid},
    TableColumn{"is_counter", "", &TrackTableRow::is_counter},
    TableColumn{"is_state", "", &TrackTableRow::is_state},
    TableColumn{"unit", "", &TrackTableRow::unit}};

struct EventRow {
  PrimaryKey id;
  uint64_t ts;
  std::optional<int64_t> time;
  int64_t track_id;
};

inline constexpr std::tuple kTimedColumns{
    TableColumn{"id", "", &EventRow::id},
    TableColumn{"ts", "", &EventRow::ts, Unit::kNs},
    TableColumn{"time", "", &EventRow::time, Unit::kNs}};
inline constexpr std::tuple kTrackIdColumn{
    TableColumn{"track_id", "", &EventRow::track_id}};

struct SliceRow : EventRow, DivisionCells {
  int64_t dur;
  std::optional<uint64_t> self;
  TextCell category;
  TextCell name;
  uint32_t depth;
  std::optional<int64_t> parent_id;
  std::optional<int64_t> arg_set_id;
};

inline constexpr std::tuple kSliceTable = std::tuple_cat(
    kTimedColumns,
    std::tuple{TableColumn{"dur", "-1 if it had not ended, 0 of an instant",
                           &SliceRow::dur, Unit::kNs},
               TableColumn{"self",
                           "the duration without the slices within it, null if "
                           "it had not ended and of an instant",
                           &SliceRow::self, Unit::kNs}},
    kTrackIdColumn,
    std::tuple{
        TableColumn{"category", "", &SliceRow::category},
        TableColumn{"name", "", &SliceRow::name},
        TableColumn{"depth", "the number of slices around it",
                    &SliceRow::depth},
        TableColumn{"parent_id", "the slice around it", &SliceRow::parent_id},
        TableColumn{"arg_set_id", "", &SliceRow::arg_set_id}},
    kDivisionColumns);

struct CounterRow : EventRow {
  double value;
};

inline constexpr std::tuple kCounterTable =
    std::tuple_cat(kTimedColumns,
                   kTrackIdColumn,
                   std::tuple{TableColumn{"value", "", &CounterRow::value}});

struct FlowRow {
  PrimaryKey id;
  int64_t slice_out;
  int64_t slice_in;
  uint64_t trace_id;
};

inline constexpr std::tuple kFlowTable{
    TableColumn{"id", "", &FlowRow::id},
    TableColumn{"slice_out", "", &FlowRow::slice_out},
    TableColumn{"slice_in", "", &FlowRow::slice_in},
    TableColumn{"trace_id", "the number in the trace", &FlowRow::trace_id}};

struct BoundsRow {
  uint64_t start_ts;
  uint64_t end_ts;
};

inline constexpr std::tuple kBoundsTable{
    TableColumn{"start_ts", "", &BoundsRow::start_ts, Unit::kNs},
    TableColumn{"end_ts", "", &BoundsRow::end_ts, Unit::kNs}};

struct LossRow {
  TextCell reason;
  std::optional<uint64_t> packets;
  std::optional<uint64_t> places;
  NumberCell upid;
  NumberCell utid;
};

inline constexpr std::tuple kLossTable{
    TableColumn{"reason", "", &LossRow::reason},
    TableColumn{"packets", "", &LossRow::packets},
    TableColumn{"places", "", &LossRow::places},
    TableColumn{"upid", "", &LossRow::upid},
    TableColumn{"utid", "", &LossRow::utid}};

// The cells of a task's row before those of TaskColumns().
struct TaskProcessCells {
  NumberCell upid;
};

inline constexpr std::tuple kTaskProcessColumns{
    TableColumn{"upid", "", &TaskProcessCells::upid}};

// Returns all tables. That of arguments is in "arg_rows.h", that of tasks in
// "task_rows.h", and those of threads in "thread_rows.h".
std::vector<TableInfo> SqlTables();

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_TRACE_TABLES_H_
