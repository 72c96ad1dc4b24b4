// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/trace_database.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protozero/tracing/loss_reason.h"
#include "src/program/io.h"
#include "src/pztrace/events/exported_tracks.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/tables/arg_rows.h"
#include "src/pztrace/tables/sql_library.h"
#include "src/pztrace/tables/task_rows.h"
#include "src/pztrace/tables/thread_numbers.h"
#include "src/pztrace/tables/thread_rows.h"
#include "src/pztrace/tables/trace_tables.h"
#include "src/pztrace/tables/track_cells.h"
#include "src/pztrace/tasks/span_tasks.h"
#include "src/pztrace/tasks/task_runs.h"
#include "src/pztrace/tasks/task_timeline.h"

namespace pztrace {

namespace {

using table::RowWriter;

template <typename T>
std::optional<T> NullIf(bool is_null, T value) {
  return is_null ? std::nullopt : std::optional(value);
}

// The first event of a track.
struct FirstEvent {
  uint64_t time_ns = UINT64_MAX;
  const EventText* text = nullptr;
};

// An event of a flow.
struct FlowEvent {
  uint64_t flow;
  uint64_t time_ns;
  int64_t slice;
  EventFlow::Arrows arrows;
  bool is_last;
};

// Writes the events of a trace as they come, and what they refer to at the end.
class TraceDatabase {
 public:
  explicit TraceDatabase(Database* database) : database_(database) {}

  bool Write(const std::string& file_name, TraceInput* input) {
    const bool is_whole =
        ReadTimeline(file_name, input, &reader_, /*reads_ahead=*/true,
                     ReadsTimes() ? &times_ : nullptr);
    WriteFlows();
    // All queries have the same ids of processes, so these are found whether
    // one needs them or not. Those that only the kernel told about come last.
    WriteTracks();
    WriteTasks();
    WriteLosses();
    for (const auto& [pid, name] : times_.states().process_names())
      threads_.NameProcess(pid, name);
    ThreadRows(
        times_,
        [this](int64_t pid, int64_t tid, std::string_view name) {
          return threads_.UtidOf(pid, tid, name);
        },
        [this](uint64_t time_ns) { return reader_.RealtimeOf(time_ns); },
        [this, runs = TaskRuns(tasks_, reader_.tracks())](
            int64_t pid, int64_t tid, uint64_t time_ns) {
          const uint32_t task = runs.Find(pid, tid, time_ns);
          return NullIf(task == kNoIndex,
                        task == kNoIndex ? 0 : tasks_.tasks()[task].number);
        })
        .Write([this](const char* table, size_t num_columns) {
          return database_->Insert(table, num_columns);
        });
    WriteBounds();
    threads_.Write(Insert("process", kProcessTable).get(),
                   Insert("thread", kThreadTable).get());
    database_->FinishRows();
    if (reader_.lost_ends() != 0)
      database_->RemoveReferences("slice", "parent_id");
    PrintOmissions(reader_, stderr);
    if (args_.ambiguous() != 0) {
      fprintf(
          stderr,
          "%s in args with the key of another of the same event: '.', '[' "
          "and ']' in names are '_' there, and extensions have no package\n",
          CountOf(args_.ambiguous(), "value").c_str());
    }
    return is_whole;
  }

 private:
  template <typename... Columns>
  std::unique_ptr<RowWriter> Insert(const char* table,
                                    const std::tuple<Columns...>&) {
    return database_->Insert(table, sizeof...(Columns));
  }

  // Returns whether a query needs what the kernel told about threads. There may
  // be many times as many switches as slices.
  bool ReadsTimes() const {
    if (reads_division_)
      return true;
    for (const char* table : {"process", "task", "thread"}) {
      if (database_->Reads(table))
        return true;
    }
    for (const TableInfo& table : ThreadTables()) {
      if (database_->Reads(std::string(table.name).c_str()))
        return true;
    }
    return false;
  }

  TimelineReader::Callbacks MakeCallbacks() {
    TimelineReader::Callbacks callbacks;
    callbacks.reads_details =
        reads_args_ || reads_flows_ || database_->Reads("slice", "arg_set_id");
    callbacks.nests_instants = true;
    callbacks.on_slice = [this](const Slice& slice) {
      AddSlice(slice, /*is_open=*/false);
    };
    callbacks.on_unfinished = [this](const Slice& slice) {
      AddSlice(slice, /*is_open=*/true);
    };
    callbacks.on_instant = [this](const Instant& instant) {
      AddInstant(instant);
    };
    callbacks.on_counter = [this](const CounterValue& value) {
      AddCounterValue(value);
    };
    if (reads_tasks_ || database_->Reads("stack_sample", "task")) {
      callbacks.on_task_step = [this](const protozero::TaskStep& step) {
        tasks_.Add(step);
      };
    }
    return callbacks;
  }

  template <typename Event>
  static std::optional<int64_t> ParentOf(const Event& event) {
    return NullIf(event.depth == 0, static_cast<int64_t>(event.parent));
  }

  void AddSlice(const Slice& slice, bool is_open) {
    const auto id = static_cast<int64_t>(slice.number);
    const int64_t track_id = TrackIdOf(slice.track);
    NoteFirst(track_id, slice.begin_ns, slice.text);
    if (reads_slices_) {
      std::optional<TimeDivision> divided;
      if (reads_division_ && !is_open) {
        divided = times_.Divide(slice.track, reader_.tracks(), slice.begin_ns,
                                slice.begin_ns + slice.duration_ns);
      }
      WriteRow(
          kSliceTable,
          SliceRow{
              EventAt(id, slice.begin_ns, track_id), DivisionCells{divided},
              is_open ? -1 : static_cast<int64_t>(slice.duration_ns),
              NullIf(is_open, slice.self_ns), TextOrNull(slice.text->category),
              TextOrNull(slice.text->name), slice.depth, ParentOf(slice),
              NullIf(slice.details->args.empty(), id)},
          slices_.get());
    }
    WriteDetails(id, slice.begin_ns, *slice.details);
  }

  void AddInstant(const Instant& instant) {
    const auto id = static_cast<int64_t>(instant.number);
    const int64_t track_id = TrackIdOf(instant.track);
    NoteFirst(track_id, instant.time_ns, instant.text);
    if (reads_slices_) {
      WriteRow(kSliceTable,
               SliceRow{EventAt(id, instant.time_ns, track_id),
                        {},
                        0,
                        {},
                        TextOrNull(instant.text->category),
                        TextOrNull(instant.text->name),
                        instant.depth,
                        ParentOf(instant),
                        NullIf(instant.details->args.empty(), id)},
               slices_.get());
    }
    WriteDetails(id, instant.time_ns, *instant.details);
  }

  void AddCounterValue(const CounterValue& value) {
    const int64_t track_id = TrackIdOf(value.track);
    NoteFirst(track_id, value.time_ns, nullptr);
    if (!reads_counters_)
      return;
    WriteRow(kCounterTable,
             CounterRow{EventAt(++num_counters_, value.time_ns, track_id),
                        value.value},
             counters_.get());
  }

  void NoteFirst(int64_t track_id, uint64_t time_ns, const EventText* text) {
    const auto index = static_cast<size_t>(track_id);
    if (index >= first_events_.size())
      first_events_.resize(index + 1);
    if (time_ns < first_events_[index].time_ns)
      first_events_[index] = {time_ns, text};
  }

  EventRow EventAt(int64_t id, uint64_t time_ns, int64_t track_id) const {
    return {{id}, time_ns, reader_.RealtimeOf(time_ns), track_id};
  }

  void WriteDetails(int64_t id, uint64_t time_ns, const EventDetails& details) {
    if (reads_args_ && !details.args.empty()) {
      args_.BeginSet(id, details.args.size());
      reader_.ReadArgs(details, UniqueNames::kByKind, &args_);
      args_.FinishSet();
    }
    if (!reads_flows_)
      return;
    // Each flow once. If it is there several times, it may end in one of them.
    std::map<uint64_t, EventFlow> flows;
    for (const EventFlow& flow : details.flows)
      flows.emplace(flow.id, flow).first->second.ends_here |= flow.ends_here;
    for (const auto& [flow_id, flow] : flows)
      flows_.push_back({flow_id, time_ns, id, flow.arrows, flow.ends_here});
  }

  // Numbers the tracks of all events, so that queries for different tables have
  // the same numbers.
  int64_t TrackIdOf(uint64_t track) {
    if (track_ids_.empty() || track != last_track_) {
      const auto [it, is_new] = track_ids_.emplace(track, track_ids_.size());
      if (is_new)
        tracks_.push_back(track);
      last_track_ = track;
      last_track_id_ = static_cast<int64_t>(it->second);
    }
    return last_track_id_;
  }

  void WriteFlows() {
    const auto rows = Insert("flow", kFlowTable);
    std::sort(flows_.begin(), flows_.end(),
              [](const FlowEvent& a, const FlowEvent& b) {
                return std::tie(a.flow, a.time_ns, a.slice) <
                       std::tie(b.flow, b.time_ns, b.slice);
              });
    // A step is where the second of its slices begins.
    std::vector<std::pair<const FlowEvent*, const FlowEvent*>> steps;
    // The event at which the next arrow of the flow begins.
    const FlowEvent* from = nullptr;
    for (const FlowEvent& event : flows_) {
      if (from != nullptr && from->flow != event.flow)
        from = nullptr;
      using Arrows = EventFlow::Arrows;
      if (from != nullptr && event.arrows != Arrows::kOut)
        steps.emplace_back(from, &event);
      const bool begins = event.arrows == Arrows::kInAndOut ||
                          (event.arrows == Arrows::kOut && from == nullptr) ||
                          (event.arrows == Arrows::kStep && from != nullptr);
      if (event.is_last)
        from = nullptr;
      else if (begins)
        from = &event;
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const auto& a, const auto& b) {
                       return std::tie(a.second->time_ns, a.second->slice) <
                              std::tie(b.second->time_ns, b.second->slice);
                     });
    int64_t id = 0;
    for (const auto& [before, after] : steps) {
      WriteRow(kFlowTable,
               FlowRow{{id++}, before->slice, after->slice, before->flow},
               rows.get());
    }
  }

  void WriteTasks() {
    FinishTasks(&reader_, &tasks_);
    if (!reads_tasks_)
      return;
    const auto rows = database_->Insert("task", TaskColumns().size() + 1);
    pztrace::WriteTasks(
        tasks_, reader_, &times_,
        [&](const TrackInfo& process) {
          const uint32_t upid = threads_.UpidOf(process.process, process.pid);
          WriteCells(kTaskProcessColumns, TaskProcessCells{NumberOrNull(upid)},
                     rows.get());
        },
        rows.get());
  }

  void WriteLosses() {
    const auto rows = Insert("loss", kLossTable);
    for (const auto& [reason, packets] : reader_.packets_lost()) {
      WriteRow(kLossTable,
               LossRow{protozero::LossReasonToString(
                           static_cast<protozero::LossReason>(reason)),
                       packets,
                       {},
                       {},
                       {}},
               rows.get());
    }
    for (const auto& [sequence, gaps] : reader_.gaps()) {
      TrackPlace place = exported_.Get(gaps.track).place;
      if (place.pid == 0)
        place.pid = gaps.pid;
      const uint32_t upid = threads_.UpidOf(place);
      WriteRow(kLossTable,
               LossRow{{},
                       {},
                       gaps.places,
                       NumberOrNull(upid),
                       NumberOrNull(threads_.UtidOf(place))},
               rows.get());
    }
  }

  void WriteBounds() {
    uint64_t begin_ns = reader_.end_ns();
    for (const FirstEvent& first : first_events_)
      begin_ns = std::min(begin_ns, first.time_ns);
    WriteRow(kBoundsTable, BoundsRow{begin_ns, reader_.end_ns()},
             Insert("trace_bounds", kBoundsTable).get());
  }

  // Writes the tracks of events and the others, with their last names.
  void WriteTracks() {
    const auto rows = Insert("track", kTrackTable);
    for (const uint64_t track : reader_.tracks().All())
      TrackIdOf(track);
    // A parent that the trace does not describe is added on the way.
    for (size_t i = 0; i < tracks_.size(); ++i) {
      const uint64_t track = tracks_[i];
      const TrackInfo info = InfoOf(track, reader_.tracks());
      const ExportedTrack& exported = exported_.Get(track);
      // A thread's track is in no other: its process has a column of its own.
      const bool has_parent = info.parent != 0 && !info.is_thread;
      const auto parent_id =
          has_parent ? std::optional(TrackIdOf(info.parent)) : std::nullopt;
      const uint32_t utid = threads_.UtidOf(exported.place);
      threads_.Describe(info);
      const uint32_t upid = threads_.UpidOf(exported.place);
      const int64_t id = static_cast<int64_t>(i);
      const EventText* const first =
          i < first_events_.size() ? first_events_[i].text : nullptr;
      WriteRow(kTrackTable,
               TrackTableRow{{id},
                             TextOrNull(TrackNameOf(info, first)),
                             TrackTypeOf(info, utid != 0, upid != 0),
                             parent_id,
                             WriteTrackArgs(id, info, reads_args_, &args_),
                             NumberOrNull(utid),
                             NumberOrNull(upid),
                             info.is_counter,
                             info.is_state,
                             TextOrNull(exported.unit)},
               rows.get());
    }
  }

  Database* const database_;
  const bool reads_slices_ = database_->Reads("slice");
  const bool reads_division_ = database_->Reads("slice", "ran") ||
                               database_->Reads("slice", "ready") ||
                               database_->Reads("slice", "waited");
  const bool reads_counters_ = database_->Reads("counter");
  const bool reads_args_ = database_->Reads("args");
  const bool reads_flows_ = database_->Reads("flow");
  const bool reads_tasks_ = database_->Reads("task");
  const std::unique_ptr<RowWriter> slices_ = Insert("slice", kSliceTable);
  const std::unique_ptr<RowWriter> counters_ = Insert("counter", kCounterTable);
  const std::unique_ptr<RowWriter> arg_rows_ =
      database_->Insert("args", ArgRows::Columns().size() - 1);
  ArgRows args_{arg_rows_.get(), database_->is_in_memory() &&
                                     database_->Reads("args", "display_value")};
  int64_t num_counters_ = 0;
  std::unordered_map<uint64_t, size_t> track_ids_;
  std::vector<uint64_t> tracks_;          // By their ids.
  std::vector<FirstEvent> first_events_;  // The same.
  uint64_t last_track_ = 0;
  int64_t last_track_id_ = 0;
  std::vector<FlowEvent> flows_;
  TaskTimeline tasks_;
  ThreadTimes times_;
  ThreadNumbers threads_;
  TimelineReader reader_{MakeCallbacks(), reads_tasks_};
  ExportedTracks exported_{reader_.tracks()};
};

}  // namespace

bool MakeTraceTables(Database* database) {
  for (const TableInfo& table : SqlTables()) {
    database->MakeTable(std::string(table.name), SqlColumnsOf(table.columns));
  }
  return database->Run(kSqlViews);
}

bool FillTraceTables(const std::string& file_name,
                     TraceInput* input,
                     Database* database) {
  return TraceDatabase(database).Write(file_name, input);
}

bool MakeTraceDatabase(const std::string& file_name,
                       TraceInput* input,
                       const std::string& path) {
  std::string why;
  auto database = Database::Create(path, &why);
  if (!database) {
    program::PrintError(kProgram, "%s: %s", path.c_str(), why.c_str());
    return false;
  }
  database->Run("BEGIN");
  MakeTraceTables(database.get());
  const bool is_whole = FillTraceTables(file_name, input, database.get());
  database->Run(
      "CREATE INDEX args_of_set ON args(arg_set_id);"
      "CREATE INDEX slices_within ON slice(parent_id) "
      "WHERE parent_id IS NOT NULL");
  if (database->Run("COMMIT"))
    return is_whole;
  program::PrintError(kProgram, "%s", database->error().c_str());
  database.reset();
  // Half a database cannot be read.
  unlink(path.c_str());
  return false;
}

}  // namespace pztrace
