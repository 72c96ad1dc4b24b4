// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_THREAD_ROWS_H_
#define SRC_PZTRACE_TABLES_THREAD_ROWS_H_

#include <stdint.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "src/pztrace/events/thread_times.h"
#include "src/pztrace/tables/table_columns.h"
#include "src/table/row_writer.h"

// The tables of what the kernel told about threads, with the names and columns
// of Perfetto's trace processor.

namespace pztrace {

// A time of a thread in one state.
struct ThreadPartRow {
  PrimaryKey id;
  uint64_t ts;
  std::optional<int64_t> time;
  int64_t dur;
  std::optional<uint32_t> cpu;
  uint32_t utid;
  TextCell state;  // The state after it, in sched_slice.
  std::optional<uint32_t> waker_utid;
  std::optional<int64_t> irq_context;
};

inline constexpr std::tuple kThreadPartColumns{
    TableColumn{"id", "", &ThreadPartRow::id},
    TableColumn{"ts", "", &ThreadPartRow::ts, Unit::kNs},
    TableColumn{"time", "", &ThreadPartRow::time, Unit::kNs},
    TableColumn{"dur", "-1 if it had not ended", &ThreadPartRow::dur,
                Unit::kNs}};
inline constexpr std::tuple kSchedSliceTable = std::tuple_cat(
    kThreadPartColumns,
    std::tuple{TableColumn{"cpu", "", &ThreadPartRow::cpu},
               TableColumn{"utid", "", &ThreadPartRow::utid},
               TableColumn{"end_state",
                           "R+ if it was preempted, S or D if it waits, null "
                           "if that is unknown",
                           &ThreadPartRow::state}});
inline constexpr std::tuple kThreadStateTable = std::tuple_cat(
    kThreadPartColumns,
    std::tuple{TableColumn{"cpu", "null unless it runs", &ThreadPartRow::cpu},
               TableColumn{"utid", "", &ThreadPartRow::utid},
               TableColumn{"state",
                           "Running; R: it could run, R+: it was preempted; "
                           "S: it waits, D: without signals; T: it is "
                           "stopped; Created: it has not run yet; Z: it has "
                           "ended; there is no row where it is unknown",
                           &ThreadPartRow::state},
               TableColumn{"waker_utid",
                           "the thread that woke it; null if it is not known",
                           &ThreadPartRow::waker_utid},
               TableColumn{"irq_context",
                           "1 if an interrupt woke it, while that thread ran",
                           &ThreadPartRow::irq_context}});

struct StackSampleRow {
  PrimaryKey id;
  uint64_t ts;
  std::optional<int64_t> time;
  std::optional<uint32_t> utid;
  std::optional<uint32_t> cpu;
  TextCell cpu_mode;
  std::optional<uint32_t> callsite_id;
  uint64_t weight;
  TextCell counter;
  TextCell unwind_error;
  std::optional<uint64_t> task;
};

inline constexpr std::tuple kStackSampleTable{
    TableColumn{"id", "", &StackSampleRow::id},
    TableColumn{"ts", "", &StackSampleRow::ts, Unit::kNs},
    TableColumn{"time", "", &StackSampleRow::time, Unit::kNs},
    TableColumn{"utid", "", &StackSampleRow::utid},
    TableColumn{"cpu", "", &StackSampleRow::cpu},
    TableColumn{"cpu_mode", "user or kernel", &StackSampleRow::cpu_mode},
    TableColumn{"callsite_id", "the innermost function",
                &StackSampleRow::callsite_id},
    TableColumn{"weight", "mostly the processor time that it stands for, in ns",
                &StackSampleRow::weight},
    TableColumn{
        "counter",
        "the quantity that is sampled; context-switches: the stack with "
        "which a thread began to wait",
        &StackSampleRow::counter},
    TableColumn{"unwind_error", "null if the stack is whole",
                &StackSampleRow::unwind_error},
    TableColumn{"task", "the number of the task that ran, null if none",
                &StackSampleRow::task}};

struct CallsiteRow {
  PrimaryKey id;
  uint32_t depth;
  std::optional<uint32_t> parent_id;
  uint32_t frame_id;
};

inline constexpr std::tuple kCallsiteTable{
    TableColumn{"id", "", &CallsiteRow::id},
    TableColumn{"depth", "0 for the outermost", &CallsiteRow::depth},
    TableColumn{"parent_id", "the callsite of the caller",
                &CallsiteRow::parent_id},
    TableColumn{"frame_id", "", &CallsiteRow::frame_id}};

struct FrameRow {
  PrimaryKey id;
  TextCell name;
  std::optional<uint32_t> mapping;
  uint64_t rel_pc;
  TextCell source_file;
  NumberCell line_number;
};

inline constexpr std::tuple kFrameTable{
    TableColumn{"id", "", &FrameRow::id},
    TableColumn{"name", "the function", &FrameRow::name},
    TableColumn{"mapping", "", &FrameRow::mapping},
    TableColumn{"rel_pc", "the address in the file", &FrameRow::rel_pc},
    TableColumn{"source_file", "", &FrameRow::source_file},
    TableColumn{"line_number", "", &FrameRow::line_number}};

struct MappingRow {
  PrimaryKey id;
  std::string build_id;
  uint64_t exact_offset;
  uint64_t start;
  uint64_t end;
  uint64_t load_bias;
  TextCell name;
};

inline constexpr std::tuple kMappingTable{
    TableColumn{"id", "", &MappingRow::id},
    TableColumn{"build_id", "in hexadecimal", &MappingRow::build_id},
    TableColumn{"exact_offset", "in the file", &MappingRow::exact_offset},
    TableColumn{"start", "in the process", &MappingRow::start},
    TableColumn{"end", "", &MappingRow::end},
    TableColumn{"load_bias", "", &MappingRow::load_bias},
    TableColumn{"name", "the file", &MappingRow::name}};

// Returns the descriptions of these tables.
std::vector<TableInfo> ThreadTables();

// Writes the rows of these tables that a query reads.
class ThreadRows {
 public:
  // Makes a writer of a table; null if no query reads it.
  using Insert =
      std::function<std::unique_ptr<table::RowWriter>(const char* name,
                                                      size_t num_columns)>;
  // Returns the number of a thread in the table `thread`.
  using UtidOf =
      std::function<uint32_t(int64_t pid, int64_t tid, std::string_view name)>;
  using TimeOf = std::function<std::optional<int64_t>(uint64_t time_ns)>;
  // Returns the number of the task that a thread ran then.
  using TaskOf = std::function<
      std::optional<uint64_t>(int64_t pid, int64_t tid, uint64_t time_ns)>;

  ThreadRows(const ThreadTimes& times,
             UtidOf utid_of,
             TimeOf time_of,
             TaskOf task_of);

  void Write(const Insert& insert) const;

 private:
  void WriteParts(table::RowWriter* runs, table::RowWriter* states) const;
  void WriteSamples(table::RowWriter* rows) const;
  void WriteStacks(table::RowWriter* callsites,
                   table::RowWriter* frames,
                   table::RowWriter* mappings) const;

  const ThreadTimes& times_;
  const UtidOf utid_of_;
  const TimeOf time_of_;
  const TaskOf task_of_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_THREAD_ROWS_H_
