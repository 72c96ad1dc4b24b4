// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace export.

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protozero/tracing/loss_reason.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/program/json_values.h"
#include "src/program/value_sink.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/events/exported_tracks.h"
#include "src/pztrace/events/shared_rows.h"
#include "src/pztrace/events/timeline_file.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/tables/task_rows.h"
#include "src/pztrace/tables/trace_database.h"
#include "src/pztrace/tasks/task_timeline.h"
#include "src/pztrace/trace_file/output_file.h"
#include "src/pztrace/trace_file/shown_name.h"
#include "src/table/row_writer.h"

namespace pztrace {

namespace {

using program::kFailure;
using program::kSuccess;
using table::Column;
using table::RowWriter;
using table::TableFormat;

enum TableId : size_t {
  kSlices,
  kInstants,
  kCounters,
  kTasks,
  kLosses,
  kNumTables
};

constexpr const char* kTableNames[kNumTables] = {"slices", "instants",
                                                 "counters", "tasks", "losses"};

constexpr std::string_view kSqlite = "sqlite";

std::vector<Column> ColumnsOf(TableId table) {
  using Type = Column::Type;
  std::vector<Column> columns = {{"host", Type::kText},
                                 {"file", Type::kText},
                                 {"process", Type::kText},
                                 {"pid", Type::kInt64}};
  const auto add = [&columns](const std::vector<Column>& more) {
    columns.insert(columns.end(), more.begin(), more.end());
  };
  if (table == kTasks) {
    add(TaskColumns());
    return columns;
  }
  add({{"tid", Type::kInt64}, {"thread", Type::kText}});
  if (table == kLosses) {
    add({{"reason", Type::kText},
         {"packets", Type::kUint64},
         {"places", Type::kUint64}});
    return columns;
  }
  add({{"track", Type::kText}, {"ts", Type::kUint64}, {"time", Type::kInt64}});
  if (table == kSlices)
    add({{"dur", Type::kUint64},
         {"self", Type::kUint64},
         {"depth", Type::kUint64}});
  if (table == kCounters)
    add({{"unit", Type::kText}, {"value", Type::kDouble}});
  else
    add({{"category", Type::kText},
         {"name", Type::kText},
         {"args", Type::kJson},
         {"flows", Type::kJson},
         {"ended_flows", Type::kJson}});
  if (table == kSlices)
    add({{"row", Type::kUint64}});
  return columns;
}

// The writers of the tables, null for those that are not wanted.
using Tables = std::array<std::unique_ptr<RowWriter>, kNumTables>;

// Writes rows for the events of one file.
class Exporter {
 public:
  Exporter(const std::string& host,
           const std::string& file,
           bool has_unfinished,
           const Tables& tables)
      : host_(host),
        file_(file),
        tables_(tables),
        reader_(MakeCallbacks(has_unfinished)) {}

  bool Export(TraceInput* input) {
    const bool has_details = tables_[kSlices] || tables_[kInstants];
    const bool ok = ReadTimeline(
        file_, input, &reader_,
        /*reads_ahead=*/has_details || tables_[kCounters] != nullptr);
    if (tables_[kTasks]) {
      tasks_.Finish(reader_.end_ns());
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
        RowWriter& rows = *tables_[kInstants];
        BeginRow(instant.time_ns, &exported_.Get(instant.track), &rows);
        AddEvent(*instant.text, *instant.details, &rows);
        rows.EndRow();
      };
    }
    if (tables_[kCounters]) {
      callbacks.on_counter = [this](const CounterValue& value) {
        RowWriter& rows = *tables_[kCounters];
        ExportedTrack& track = exported_.Get(value.track);
        BeginRow(value.time_ns, &track, &rows);
        rows.Text(track.unit);
        rows.Number(value.value);
        rows.EndRow();
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
    RowWriter& rows = *tables_[kSlices];
    ExportedTrack& track = exported_.Get(slice.track);
    BeginRow(slice.begin_ns, &track, &rows);
    if (is_open) {
      rows.Null();
      rows.Null();
    } else {
      rows.Number(slice.duration_ns);
      rows.Number(slice.self_ns);
    }
    rows.Number(uint64_t{slice.depth});
    AddEvent(*slice.text, *slice.details, &rows);
    uint64_t row = 0;
    if (track.shares_rows) {
      if (!track.row_group)
        track.row_group = packer_.AddGroup(track.place.group);
      row = packer_.RowOf(*track.row_group, slice.track, slice.root_ns,
                          slice.begin_ns + slice.duration_ns, slice.depth == 0);
    }
    rows.Number(row);
    rows.EndRow();
  }

  void AddPlace(const TrackPlace& place, RowWriter* rows) {
    rows->Text(host_);
    rows->Text(file_);
    rows->Text(place.process);
    rows->Number(place.pid);
    rows->Number(place.tid);
    rows->Text(place.thread);
  }

  void BeginRow(uint64_t time_ns, ExportedTrack* track, RowWriter* rows) {
    if (track->cells.num_cells != 0) {
      rows->Begin(track->cells);
    } else {
      AddPlace(track->place, rows);
      rows->Text(Cut(track->place.path, ExportedTracks::kMaxPathSize));
      rows->KeepBeginning(&track->cells);
    }
    rows->Number(time_ns);
    rows->Number(reader_.RealtimeOf(time_ns));
  }

  void AddEvent(const EventText& text,
                const EventDetails& details,
                RowWriter* rows) {
    rows->Text(text.category);
    rows->Text(text.name);
    rows->Json(ArgsJson(details));
    rows->Json(FlowsJson(details, [](const EventFlow&) { return true; }));
    rows->Json(FlowsJson(details,
                         [](const EventFlow& flow) { return flow.ends_here; }));
  }

  // Return JSON that is valid until the next call.
  std::string_view ArgsJson(const EventDetails& details) {
    if (details.args.empty())
      return "{}";
    json_ = '{';
    reader_.AppendArgs(details, &json_);
    json_ += '}';
    return json_;
  }
  template <typename Function>
  std::string_view FlowsJson(const EventDetails& details, Function is_wanted) {
    if (details.flows.empty())
      return "[]";
    json_.clear();
    program::JsonValues values(&json_);
    values.Begin(program::ValueSink::Container::kArray);
    for (const EventFlow& flow : details.flows) {
      if (is_wanted(flow))
        values.Add(flow.id);
    }
    values.End();
    return json_;
  }

  void AddTasks(RowWriter* rows) {
    WriteTasks(
        tasks_, reader_,
        [&](const protozero::TrackInfo& process) {
          rows->Text(host_);
          rows->Text(file_);
          rows->Text(process.name);
          rows->Number(int64_t{process.pid});
        },
        rows);
  }

  void AddLosses(RowWriter* rows) {
    for (const auto& [reason, packets] : reader_.packets_lost()) {
      AddPlace(TrackPlace(), rows);
      rows->Text(protozero::LossReasonToString(
          static_cast<protozero::LossReason>(reason)));
      rows->Number(packets);
      rows->Null();
      rows->EndRow();
    }
    for (const auto& [sequence, gaps] : reader_.gaps()) {
      TrackPlace place = exported_.Get(gaps.track).place;
      if (place.pid == 0)
        place.pid = gaps.pid;
      AddPlace(place, rows);
      rows->Text("");
      rows->Null();
      rows->Number(gaps.places);
      rows->EndRow();
    }
  }

  const std::string& host_;
  const std::string& file_;
  const Tables& tables_;
  TimelineReader reader_;
  ExportedTracks exported_{reader_.tracks()};
  RowPacker packer_;
  TaskTimeline tasks_;
  std::string json_;
};

// The files that the tables go to.
class Outputs {
 public:
  // Without a |folder|, there is only one table, on the standard output.
  Outputs(const std::string& folder, const table::TableOptions& options)
      : folder_(folder), options_(options) {}

  // Returns why the tables must not be written, or an empty string.
  std::string Problem(const std::vector<std::string>& inputs,
                      const bool (&wanted)[kNumTables]) const {
    std::string problem = OutputProblem(inputs, "-");
    for (size_t i = 0; i < kNumTables && problem.empty(); ++i) {
      if (wanted[i] && !folder_.empty())
        problem = OutputProblem({}, PathOf(i));
    }
    return problem;
  }

  // Returns false, and has printed why, if a file cannot be written.
  bool Open(const bool (&wanted)[kNumTables]) {
    if (!folder_.empty() && mkdir(folder_.c_str(), 0777) != 0 &&
        errno != EEXIST) {
      program::PrintError(kProgram, "%s: %s", folder_.c_str(), strerror(errno));
      return false;
    }
    for (size_t i = 0; i < kNumTables; ++i) {
      if (!wanted[i])
        continue;
      if (!files_[i].Open(folder_.empty() ? "-" : PathOf(i)))
        return false;
      tables_[i] = RowWriter::Create(files_[i].stream(), options_,
                                     ColumnsOf(static_cast<TableId>(i)));
    }
    return true;
  }

  bool Close() {
    bool ok = true;
    for (size_t i = 0; i < kNumTables; ++i) {
      if (tables_[i])
        tables_[i]->Flush();
      tables_[i].reset();
      ok = files_[i].Close() && ok;
    }
    return ok;
  }

  const Tables& tables() const { return tables_; }

 private:
  std::string PathOf(size_t table) const {
    const char* const extension = options_.format == TableFormat::kCsv ? ".csv"
                                  : options_.format == TableFormat::kArrow
                                      ? ".arrow"
                                      : ".ndjson";
    return folder_ + "/" + kTableNames[table] + extension;
  }

  const std::string folder_;
  const table::TableOptions options_;
  std::array<OutputFile, kNumTables> files_;
  Tables tables_;
};

std::string HostName() {
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

// The command line.
struct ExportArguments {
  std::vector<std::string> files;
  std::string host = HostName();
  std::string format = "csv";
  const std::string format_help =
      std::string(table::kFormatHelp) +
      "; or sqlite: all of one trace, as tables for SQL";
  std::string folder;
  bool wanted[kNumTables] = {};
  bool unfinished = false;
  bool escape_formulas = false;
};

program::Command ExportCommand(ExportArguments* arguments) {
  return {
      "pztrace export",
      "--TABLE [options] FILE...\n       "
      "pztrace export -o FOLDER [options] FILE...\n       "
      "pztrace export --format sqlite -o DATABASE FILE",
      R"(Prints the events of traces as a table, for databases:

  pztrace export --slices *.pftrace >slices.csv
)",
      {{"FILE", "traces; - is the standard input", &arguments->files},
       {"--slices", "a row for each slice", &arguments->wanted[kSlices]},
       {"--instants", "a row for each instant", &arguments->wanted[kInstants]},
       {"--counters", "a row for each value of a counter",
        &arguments->wanted[kCounters]},
       {"--tasks", "a row for each task", &arguments->wanted[kTasks]},
       {"--losses",
        "a row for each reason of losses, and for each thread with gaps",
        &arguments->wanted[kLosses]},
       {"-o, --output FOLDER",
        "write FOLDER/slices.csv and so on, in one reading: the tables that "
        "are named, or all",
        &arguments->folder},
       {table::kFormatOption, arguments->format_help, &arguments->format},
       {"--unfinished",
        "rows of slices without an end, too; their dur and self are null",
        &arguments->unfinished},
       {"--escape-formulas",
        "for spreadsheets: begin texts in CSV that they would compute with a '",
        &arguments->escape_formulas},
       {"--host NAME", "in the column of that name, default: this machine's",
        &arguments->host}},
      R"(Times and durations are in nanoseconds: ts on the clock of the trace, time since
1970. args is a JSON object, flows and ended_flows are JSON arrays. The default
format is csv.
)"};
}

// Sets the tables that are wanted if none is named, and |format|. Returns the
// problem with them, or an empty string.
std::string ChooseTables(ExportArguments* arguments, TableFormat* format) {
  bool(&wanted)[kNumTables] = arguments->wanted;
  const auto num_wanted = std::count(wanted, wanted + kNumTables, true);
  if (arguments->folder.empty() && num_wanted != 1) {
    return "one of --slices, --instants, --counters, --tasks and --losses is "
           "needed, or -o, which takes any of them";
  }
  if (num_wanted == 0)
    std::fill(wanted, wanted + kNumTables, true);
  std::string why;
  const auto table_format = table::FormatOf(arguments->format, &why);
  if (!table_format)
    return why;
  *format = *table_format;
  if (arguments->escape_formulas && *format != TableFormat::kCsv)
    return "--escape-formulas is for --format csv";
  if (arguments->unfinished && !wanted[kSlices])
    return "--unfinished is for --slices";
  return "";
}

// Writes the tables. Returns false, and has printed why, if a file cannot be
// read or written.
bool ExportFiles(const ExportArguments& arguments, Outputs* outputs) {
  bool ok = true;
  bool is_open = false;
  for (const std::string& file : arguments.files) {
    TraceInput input;
    if (!input.Open(file, "export")) {
      ok = false;
      continue;
    }
    // The tables are opened when there is something to read, so that no empty
    // one follows an error.
    if (!is_open && !outputs->Open(arguments.wanted))
      return false;
    is_open = true;
    Exporter exporter(arguments.host, file, arguments.unfinished,
                      outputs->tables());
    ok = exporter.Export(&input) && ok;
  }
  return outputs->Close() && ok;
}

// Returns the problem with the options of a database, or an empty string.
std::string DatabaseProblem(const ExportArguments& arguments) {
  if (arguments.folder.empty() || arguments.files.size() != 1)
    return "--format sqlite makes a database, -o, of one trace";
  const bool has_tables =
      std::count(arguments.wanted, arguments.wanted + kNumTables, true) != 0;
  if (has_tables || arguments.unfinished || arguments.escape_formulas) {
    return "--format sqlite has all tables, and slices without an end, and "
           "takes no option for them";
  }
  return OutputProblem(arguments.files, arguments.folder);
}

// Returns false, and has printed why, if the database is not there or has not
// all of the trace.
bool ExportDatabase(const std::string& file, const std::string& path) {
  TraceInput input;
  return input.Open(file, "export") && MakeTraceDatabase(file, &input, path);
}

}  // namespace

int ExportMain(int argc, char** argv) {
  ExportArguments arguments;
  const program::Command command = ExportCommand(&arguments);
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  if (arguments.format == kSqlite) {
    const std::string problem = DatabaseProblem(arguments);
    if (!problem.empty())
      return WrongUsage(command, problem);
    return ExportDatabase(arguments.files[0], arguments.folder) ? kSuccess
                                                                : kFailure;
  }
  TableFormat format = TableFormat::kCsv;
  std::string problem = ChooseTables(&arguments, &format);
  Outputs outputs(arguments.folder, {format, arguments.escape_formulas});
  if (problem.empty())
    problem = outputs.Problem(arguments.files, arguments.wanted);
  if (!problem.empty())
    return WrongUsage(command, problem);
  return ExportFiles(arguments, &outputs) ? kSuccess : kFailure;
}

}  // namespace pztrace
