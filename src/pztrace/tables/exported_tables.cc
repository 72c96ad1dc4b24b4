// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/exported_tables.h"

#include <stdint.h>
#include <stdio.h>

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "protozero/tracing/loss_reason.h"
#include "src/program/json_values.h"
#include "src/program/value_sink.h"
#include "src/pztrace/events/exported_tracks.h"
#include "src/pztrace/events/shared_rows.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/tables/division_cells.h"
#include "src/pztrace/tables/task_rows.h"
#include "src/pztrace/tasks/span_tasks.h"
#include "src/pztrace/tasks/task_timeline.h"
#include "src/pztrace/trace_file/shown_name.h"

namespace pztrace {

namespace {

using table::RowWriter;

struct ProcessCells {
  std::string_view host;
  std::string_view file;
  std::string_view process;
  int64_t pid;
};

constexpr std::tuple kProcessColumns{
    TableColumn{"host", "`--host`, by default this machine's name",
                &ProcessCells::host},
    TableColumn{"file", "the trace", &ProcessCells::file},
    TableColumn{"process",
                "empty and 0 if the row belongs to no process; `server (2nd)` "
                "or `server (4711)` shares name and pid with an earlier one",
                &ProcessCells::process},
    TableColumn{"pid", "", &ProcessCells::pid}};

struct PlaceCells : ProcessCells {
  int64_t tid() const { return place.tid; }
  std::string_view thread() const { return place.thread; }
  std::string track() const {
    return Cut(place.path, ExportedTracks::kMaxPathSize);
  }

  const TrackPlace& place;
};

constexpr std::tuple kPlaceColumns = std::tuple_cat(
    kProcessColumns,
    std::tuple{TableColumn{"tid", "0 and empty if the row belongs to no thread",
                           &PlaceCells::tid},
               TableColumn{"thread", "", &PlaceCells::thread}});

// The columns that all rows of a track have in common.
constexpr std::tuple kTrackColumns = std::tuple_cat(
    kPlaceColumns,
    std::tuple{TableColumn{
        "track",
        "the name of a track that is not the thread's own; `parent/child`",
        &PlaceCells::track}});

struct TimeCells {
  uint64_t ts;
  std::optional<int64_t> time;
};

constexpr std::tuple kTimeColumns{
    TableColumn{"ts", "on the trace's clock, which is `CLOCK_BOOTTIME`",
                &TimeCells::ts, Unit::kNs},
    TableColumn{"time",
                "since 1970; null if the trace does not say how the clocks "
                "relate",
                &TimeCells::time, Unit::kNs}};

struct EventCells : TimeCells {
  std::string_view category() const { return text.category; }
  std::string_view name() const { return text.name; }
  auto args() const { return JsonObject{ArgsJson()}; }
  JsonNumbers flows() const {
    return {FlowsJson([](const EventFlow&) { return true; })};
  }
  JsonNumbers ended_flows() const {
    return {FlowsJson([](const EventFlow& flow) { return flow.ends_here; })};
  }

  // Return JSON that is valid until the next call.
  std::string_view ArgsJson() const {
    if (details.args.empty())
      return "{}";
    *json = '{';
    reader.AppendArgs(details, json);
    *json += '}';
    return *json;
  }
  template <typename Function>
  std::string_view FlowsJson(Function is_wanted) const {
    if (details.flows.empty())
      return "[]";
    json->clear();
    program::JsonValues values(json);
    values.Begin(program::ValueSink::Container::kArray);
    for (const EventFlow& flow : details.flows) {
      if (is_wanted(flow))
        values.Add(flow.id);
    }
    values.End();
    return *json;
  }

  const EventText& text;
  const EventDetails& details;
  const TimelineReader& reader;
  std::string* json;
};

constexpr std::tuple kEventColumns{
    TableColumn{"category", "of the event", &EventCells::category},
    TableColumn{"name", "", &EventCells::name},
    TableColumn{"args", "the arguments by their names", &EventCells::args},
    TableColumn{"flows", "the flows that the event is in", &EventCells::flows},
    TableColumn{"ended_flows",
                "those that end here: a later one of that number is another "
                "flow",
                &EventCells::ended_flows}};

struct SliceCells : EventCells, DivisionCells {
  uint64_t dur() const { return slice.duration_ns; }
  RarelyNull self() const { return {is_open, slice.self_ns}; }
  uint32_t depth() const { return slice.depth; }

  bool is_open;
  const Slice& slice;
  uint32_t row;
};

constexpr std::tuple kSliceColumns = std::tuple_cat(
    kTimeColumns,
    std::tuple{TableColumn{"dur",
                           "until the end of the recording if the slice had "
                           "not ended",
                           &SliceCells::dur, Unit::kNs},
               TableColumn{"self",
                           "dur without the slices within it, null of a slice "
                           "that had not ended",
                           &SliceCells::self, Unit::kNs},
               TableColumn{"depth", "the number of slices around it",
                           &SliceCells::depth}},
    kEventColumns,
    std::tuple{TableColumn{
        "row",
        "tracks of one name and one parent, as those of `Track(id)`, share "
        "rows, unless the trace says otherwise (`sibling_merge_behavior`), and "
        "no two slices of a row overlap unless one is within the other; 0 for "
        "other tracks",
        &SliceCells::row}},
    kDivisionColumns);

constexpr std::tuple kInstantColumns =
    std::tuple_cat(kTimeColumns, kEventColumns);

struct CounterCells : TimeCells {
  std::string_view unit;
  double value;
};

constexpr std::tuple kCounterColumns = std::tuple_cat(
    kTimeColumns,
    std::tuple{TableColumn{"unit", "of the counter", &CounterCells::unit},
               TableColumn{"value", "", &CounterCells::value}});

struct LossCells {
  std::string_view reason;
  std::optional<uint64_t> packets;
  std::optional<uint64_t> places;
};

constexpr std::tuple kLossColumns{
    TableColumn{"reason", "why packets are lost; empty of gaps",
                &LossCells::reason},
    TableColumn{"packets",
                "how many packets the service counts for the reason, or null",
                &LossCells::packets},
    TableColumn{"places",
                "how many gaps there are in what the thread wrote, or null",
                &LossCells::places}};

// Writes rows for the events of one file.
class Exporter {
 public:
  Exporter(const std::string& host,
           const std::string& file,
           bool has_unfinished,
           const ExportedTables& tables)
      : host_(host),
        file_(file),
        tables_(tables),
        reader_(MakeCallbacks(has_unfinished),
                /*finds_spans=*/tables[kTasks] != nullptr) {}

  bool Export(TraceInput* input) {
    const bool has_details = tables_[kSlices] || tables_[kInstants];
    const bool ok = ReadTimeline(
        file_, input, &reader_,
        /*reads_ahead=*/has_details || tables_[kCounters] != nullptr,
        tables_[kSlices] || tables_[kTasks] ? &times_ : nullptr);
    if (tables_[kTasks]) {
      FinishTasks(&reader_, &tasks_);
      AddTasks(tables_[kTasks].get());
    }
    if (tables_[kLosses])
      AddLosses(tables_[kLosses].get());
    if (has_details || tables_[kCounters] || tables_[kTasks])
      PrintOmissions(reader_, stderr);
    return ok;
  }

 private:
  TimelineReader::Callbacks MakeCallbacks(bool has_unfinished) {
    TimelineReader::Callbacks callbacks;
    if (tables_[kSlices]) {
      callbacks.on_slice = [this](const Slice& slice) {
        AddSlice(slice, /*is_open=*/false);
      };
      if (has_unfinished) {
        callbacks.on_unfinished = [this](const Slice& slice) {
          AddSlice(slice, /*is_open=*/true);
        };
      }
    }
    if (tables_[kInstants]) {
      callbacks.on_instant = [this](const Instant& instant) {
        AddRow(kInstants, &exported_.Get(instant.track), kInstantColumns,
               EventCells{TimeOf(instant.time_ns), *instant.text,
                          *instant.details, reader_, &json_});
      };
    }
    if (tables_[kCounters]) {
      callbacks.on_counter = [this](const CounterValue& value) {
        ExportedTrack& track = exported_.Get(value.track);
        AddRow(kCounters, &track, kCounterColumns,
               CounterCells{TimeOf(value.time_ns), track.unit, value.value});
      };
    }
    if (tables_[kTasks]) {
      callbacks.on_task_step = [this](const protozero::TaskStep& step) {
        tasks_.Add(step);
      };
    }
    callbacks.reads_details = callbacks.on_slice || callbacks.on_instant;
    return callbacks;
  }

  void AddSlice(const Slice& slice, bool is_open) {
    ExportedTrack& track = exported_.Get(slice.track);
    uint32_t row = 0;
    if (track.shares_rows) {
      if (!track.row_group)
        track.row_group = packer_.AddGroup(track.place.group);
      row = packer_.RowOf(*track.row_group, slice.track, slice.root_ns,
                          slice.begin_ns + slice.duration_ns, slice.depth == 0);
    }
    std::optional<TimeDivision> divided;
    if (times_.has_states() && !is_open) {
      divided = times_.Divide(slice.track, reader_.tracks(), slice.begin_ns,
                              slice.begin_ns + slice.duration_ns);
    }
    AddRow(kSlices, &track, kSliceColumns,
           SliceCells{EventCells{TimeOf(slice.begin_ns), *slice.text,
                                 *slice.details, reader_, &json_},
                      DivisionCells{divided}, is_open, slice, row});
  }

  PlaceCells PlaceOf(const TrackPlace& place) const {
    return {{host_, file_, place.process, place.pid}, place};
  }
  TimeCells TimeOf(uint64_t time_ns) const {
    return {time_ns, reader_.RealtimeOf(time_ns)};
  }

  // Adds a row of the track's cells, and of |columns|.
  template <typename Columns, typename Row>
  void AddRow(ExportedTable table,
              ExportedTrack* track,
              const Columns& columns,
              const Row& row) {
    RowWriter* const rows = tables_[table].get();
    if (track->cells.num_cells != 0) {
      rows->Begin(track->cells);
    } else {
      WriteCells(kTrackColumns, PlaceOf(track->place), rows);
      rows->KeepBeginning(&track->cells);
    }
    WriteRow(columns, row, rows);
  }

  void AddTasks(RowWriter* rows) {
    WriteTasks(
        tasks_, reader_, &times_,
        [&](const protozero::TrackInfo& process) {
          const std::string name = UniqueName(process);
          WriteCells(kProcessColumns,
                     ProcessCells{host_, file_, name, process.pid}, rows);
        },
        rows);
  }

  void AddLoss(const TrackPlace& place,
               const LossCells& loss,
               RowWriter* rows) {
    WriteCells(kPlaceColumns, PlaceOf(place), rows);
    WriteRow(kLossColumns, loss, rows);
  }

  void AddLosses(RowWriter* rows) {
    for (const auto& [reason, packets] : reader_.packets_lost()) {
      AddLoss(TrackPlace(),
              {protozero::LossReasonToString(
                   static_cast<protozero::LossReason>(reason)),
               packets, std::nullopt},
              rows);
    }
    for (const auto& [sequence, gaps] : reader_.gaps()) {
      TrackPlace place = exported_.Get(gaps.track).place;
      if (place.pid == 0)
        place.pid = gaps.pid;
      AddLoss(place, {"", std::nullopt, gaps.places}, rows);
    }
  }

  const std::string& host_;
  const std::string& file_;
  const ExportedTables& tables_;
  TimelineReader reader_;
  ExportedTracks exported_{reader_.tracks()};
  RowPacker packer_;
  TaskTimeline tasks_;
  ThreadTimes times_;
  std::string json_;
};

// Returns the columns of a table of events: those of the track, and |columns|.
template <typename Row, typename Columns>
std::vector<ColumnInfo> EventInfosOf(const Columns& columns) {
  return Joined({InfosOf<PlaceCells>(kTrackColumns), InfosOf<Row>(columns)});
}

}  // namespace

TableInfo ExportedTableInfo(ExportedTable table) {
  switch (table) {
    case kSlices:
      return {"slices", "slice", EventInfosOf<SliceCells>(kSliceColumns)};
    case kInstants:
      return {"instants", "instant", EventInfosOf<EventCells>(kInstantColumns)};
    case kCounters:
      return {"counters", "value of a counter",
              EventInfosOf<CounterCells>(kCounterColumns)};
    case kTasks:
      return {"tasks", "task",
              Joined({InfosOf<ProcessCells>(kProcessColumns), TaskColumns()})};
    case kLosses:
    case kNumTables:
      break;
  }
  return {"losses", "reason of losses, and for each thread with gaps",
          Joined({InfosOf<PlaceCells>(kPlaceColumns),
                  InfosOf<LossCells>(kLossColumns)})};
}

bool ExportTables(const std::string& host,
                  const std::string& file,
                  bool has_unfinished,
                  TraceInput* input,
                  const ExportedTables& tables) {
  return Exporter(host, file, has_unfinished, tables).Export(input);
}

}  // namespace pztrace
