// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace export.

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protozero/tracing/loss_reason.h"
#include "src/command_line/command_line.h"
#include "src/pbz/arrow_rows.h"
#include "src/pbz/program_io.h"
#include "src/pbz/row_writer.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/timeline_file.h"
#include "src/pztrace/timeline_reader.h"

namespace pztrace {

namespace {

using command_line::kFailure;
using command_line::kSuccess;
using pbz::Column;
using pbz::RowWriter;
using pbz::TableFormat;

enum class Table { kSlices, kInstants, kCounters, kLosses };

std::vector<Column> ColumnsOf(Table table) {
  using Type = Column::Type;
  std::vector<Column> columns = {
      {"host", Type::kText}, {"file", Type::kText}, {"process", Type::kText},
      {"pid", Type::kInt64}, {"tid", Type::kInt64}, {"thread", Type::kText}};
  const auto add = [&columns](const std::vector<Column>& more) {
    columns.insert(columns.end(), more.begin(), more.end());
  };
  if (table == Table::kLosses) {
    add({{"reason", Type::kText},
         {"packets", Type::kUint64},
         {"places", Type::kUint64}});
    return columns;
  }
  add({{"track", Type::kText}, {"ts", Type::kUint64}, {"time", Type::kInt64}});
  if (table == Table::kSlices)
    add({{"dur", Type::kUint64},
         {"self", Type::kUint64},
         {"depth", Type::kUint64}});
  if (table == Table::kCounters)
    add({{"unit", Type::kText}, {"value", Type::kDouble}});
  else
    add({{"category", Type::kText},
         {"name", Type::kText},
         {"args", Type::kJson},
         {"flows", Type::kJson}});
  return columns;
}

// Rows of the events of one file.
class Exporter {
 public:
  Exporter(const std::string& host,
           const std::string& file,
           Table table,
           RowWriter* rows)
      : host_(host),
        file_(file),
        table_(table),
        rows_(rows),
        reader_(CallbacksFor(table)) {}

  bool Export(TraceInput* input) {
    const bool ok =
        ReadTimeline(file_, input, &reader_,
                     table_ == Table::kSlices || table_ == Table::kInstants);
    if (table_ == Table::kLosses)
      AddLosses();
    else
      PrintOmissions(reader_, stderr);
    return ok;
  }

 private:
  // Whose a track is.
  struct Owner {
    std::string process;
    int64_t pid = 0;
    std::string thread;
    int64_t tid = 0;
    // The names of the track and of those that it is part of, with slashes
    // between them, up to the thread or process.
    std::string path;
  };

  TimelineReader::Callbacks CallbacksFor(Table table) {
    TimelineReader::Callbacks callbacks;
    callbacks.reads_details =
        table == Table::kSlices || table == Table::kInstants;
    switch (table) {
      case Table::kSlices:
        callbacks.on_slice = [this](const Slice& slice) {
          BeginRow(slice.track, slice.begin_ns);
          rows_->Number(slice.duration_ns);
          rows_->Number(slice.self_ns);
          rows_->Number(uint64_t{slice.depth});
          AddEvent(*slice.text, *slice.details);
        };
        break;
      case Table::kInstants:
        callbacks.on_instant = [this](const Instant& instant) {
          BeginRow(instant.track, instant.time_ns);
          AddEvent(*instant.text, *instant.details);
        };
        break;
      case Table::kCounters:
        callbacks.on_counter = [this](const CounterValue& value) {
          BeginRow(value.track, value.time_ns);
          const auto track = reader_.tracks().Find(value.track);
          rows_->Text(track ? track->unit : "");
          rows_->Number(value.value);
          rows_->EndRow();
        };
        break;
      case Table::kLosses:
        break;
    }
    return callbacks;
  }

  void AddOwner(const Owner& owner) {
    rows_->Text(host_);
    rows_->Text(file_);
    rows_->Text(owner.process);
    rows_->Number(owner.pid);
    rows_->Number(owner.tid);
    rows_->Text(owner.thread);
  }

  void BeginRow(uint64_t track, uint64_t time_ns) {
    const Owner owner = OwnerOf(track);
    AddOwner(owner);
    rows_->Text(owner.path);
    rows_->Number(time_ns);
    rows_->Number(reader_.RealtimeOf(time_ns));
  }

  void AddEvent(const EventText& text, const EventDetails& details) {
    rows_->Text(text.category);
    rows_->Text(text.name);
    rows_->Json("{" + details.args + "}");
    rows_->Json("[" + details.flows + "]");
    rows_->EndRow();
  }

  void AddLosses() {
    for (const auto& [reason, packets] : reader_.packets_lost()) {
      AddOwner(Owner());
      rows_->Text(protozero::LossReasonToString(
          static_cast<protozero::LossReason>(reason)));
      rows_->Number(packets);
      rows_->Number(std::nullopt);
      rows_->EndRow();
    }
    for (const auto& [sequence, gaps] : reader_.gaps()) {
      Owner owner = OwnerOf(gaps.track);
      if (owner.pid == 0)
        owner.pid = gaps.pid;
      AddOwner(owner);
      rows_->Text("");
      rows_->Number(std::nullopt);
      rows_->Number(gaps.places);
      rows_->EndRow();
    }
  }

  Owner OwnerOf(uint64_t track) const {
    Owner owner;
    const std::vector<uint64_t> path = reader_.tracks().PathTo(track);
    for (size_t i = path.size(); i-- != 0;) {
      const auto info = reader_.tracks().Find(path[i]);
      if (!info)
        break;
      if (info->tid != 0) {
        owner.thread = info->name;
        owner.tid = info->tid;
        owner.pid = info->pid;
      } else if (info->pid != 0) {
        owner.process = info->name;
        owner.pid = info->pid;
        break;
      } else {
        owner.path = info->name + (owner.path.empty() ? "" : "/") + owner.path;
      }
    }
    return owner;
  }

  const std::string& host_;
  const std::string& file_;
  const Table table_;
  RowWriter* const rows_;
  TimelineReader reader_;
};

std::string HostName() {
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

}  // namespace

int ExportMain(int argc, char** argv) {
  std::vector<std::string> files;
  std::string host = HostName();
  std::string format = "csv";
  bool slices = false;
  bool instants = false;
  bool counters = false;
  bool losses = false;
  const command_line::Command command = {
      "pztrace export",
      "--slices|--instants|--counters|--losses [options] FILE...",
      R"(Prints the events of traces as a table, for databases:

  pztrace export --slices *.pftrace >slices.csv
)",
      {{"FILE", "traces; - is the standard input", &files},
       {"--slices", "a row for each slice", &slices},
       {"--instants", "a row for each instant", &instants},
       {"--counters", "a row for each value of a counter", &counters},
       {"--losses",
        "a row for each reason of losses, and for each thread with gaps",
        &losses},
       {"--format NAME",
        "csv (the default), ndjson: a JSON object a line, or arrow: a stream "
        "of Arrow",
        &format},
       {"--host NAME", "in the column of that name, default: this machine's",
        &host}},
      R"(Times and durations are in nanoseconds: ts on the clock of the trace, time since
1970. args is a JSON object, flows a JSON array.
)"};
  if (const auto exit_code = command_line::Parse(command, argc, argv))
    return *exit_code;
  if (slices + instants + counters + losses != 1) {
    return WrongUsage(
        command,
        "one of --slices, --instants, --counters and --losses is needed");
  }
  if (format != "csv" && format != "ndjson" && format != "arrow")
    return WrongUsage(command, "--format is csv, ndjson or arrow");
  if (format == "arrow" && !pbz::HasArrow())
    return WrongUsage(command, pbz::kNoArrow);

  const Table table = slices     ? Table::kSlices
                      : instants ? Table::kInstants
                      : counters ? Table::kCounters
                                 : Table::kLosses;
  bool ok = true;
  {
    // Not before there is something to read: no empty table follows an error.
    std::unique_ptr<RowWriter> rows;
    for (const std::string& file : files) {
      TraceInput input;
      if (!input.Open(file, "export")) {
        ok = false;
        continue;
      }
      if (!rows) {
        rows = RowWriter::Create(stdout,
                                 {format == "csv"     ? TableFormat::kCsv
                                  : format == "arrow" ? TableFormat::kArrow
                                                      : TableFormat::kNdjson},
                                 ColumnsOf(table));
      }
      ok = Exporter(host, file, table, rows.get()).Export(&input) && ok;
    }
  }
  if (!pbz::FlushStandardOutput(kProgram))
    ok = false;
  return ok ? kSuccess : kFailure;
}

}  // namespace pztrace
