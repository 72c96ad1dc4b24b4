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
#include "src/pztrace/commands.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/shared_rows.h"
#include "src/pztrace/shown_name.h"
#include "src/pztrace/timeline_file.h"
#include "src/pztrace/timeline_reader.h"
#include "src/pztrace/track_info.h"
#include "src/table/row_writer.h"
#include "src/tracing/trace_reader/id_map.h"

namespace pztrace {

namespace {

using program::kFailure;
using program::kSuccess;
using table::Column;
using table::RowWriter;
using table::TableFormat;

enum TableId : size_t { kSlices, kInstants, kCounters, kLosses, kNumTables };

constexpr const char* kTableNames[kNumTables] = {"slices", "instants",
                                                 "counters", "losses"};

// The limit of names. Other programs hardly expect longer ones in each row.
constexpr size_t kMaxNameSize = 256;
constexpr size_t kMaxPathSize = 1024;

std::vector<Column> ColumnsOf(TableId table) {
  using Type = Column::Type;
  std::vector<Column> columns = {
      {"host", Type::kText}, {"file", Type::kText}, {"process", Type::kText},
      {"pid", Type::kInt64}, {"tid", Type::kInt64}, {"thread", Type::kText}};
  const auto add = [&columns](const std::vector<Column>& more) {
    columns.insert(columns.end(), more.begin(), more.end());
  };
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
    if (tables_[kLosses])
      AddLosses(tables_[kLosses].get());
    if (has_details || tables_[kCounters])
      PrintOmissions(reader_, stderr);
    return ok;
  }

 private:
  // The place of a track.
  struct Place {
    std::string process;
    int64_t pid = 0;
    std::string thread;
    int64_t tid = 0;
    // The names of the track and of those that it is part of, with slashes
    // between them, up to the thread or process.
    std::string path;
    uint64_t group = 0;  // The group of tracks that it may share rows with.
    // False if a later description of another track may change it.
    bool is_complete = true;
  };
  // A track, and the first cells of its rows.
  struct Owner {
    uint64_t track = 0;
    uint64_t version = UINT64_MAX;  // The version of Tracks that this is from.
    Place place;
    std::string unit;
    RowWriter::Beginning cells;  // Empty until there is a row.
    bool shares_rows = false;
    std::optional<uint32_t> row_group;  // The group in the RowPacker.
  };
  // The number of tracks that have their owners kept, a power of two.
  static constexpr size_t kMaxOwners = 4096;

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
        BeginRow(instant.time_ns, &OwnerOf(instant.track), &rows);
        AddEvent(*instant.text, *instant.details, &rows);
        rows.EndRow();
      };
    }
    if (tables_[kCounters]) {
      callbacks.on_counter = [this](const CounterValue& value) {
        RowWriter& rows = *tables_[kCounters];
        Owner& owner = OwnerOf(value.track);
        BeginRow(value.time_ns, &owner, &rows);
        rows.Text(owner.unit);
        rows.Number(value.value);
        rows.EndRow();
      };
    }
    callbacks.reads_details = callbacks.on_slice || callbacks.on_instant;
    return callbacks;
  }

  void AddSlice(const Slice& slice, bool is_open) {
    RowWriter& rows = *tables_[kSlices];
    Owner& owner = OwnerOf(slice.track);
    BeginRow(slice.begin_ns, &owner, &rows);
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
    if (owner.shares_rows) {
      if (!owner.row_group)
        owner.row_group = packer_.AddGroup(owner.place.group);
      row = packer_.RowOf(*owner.row_group, slice.track, slice.root_ns,
                          slice.begin_ns + slice.duration_ns, slice.depth == 0);
    }
    rows.Number(row);
    rows.EndRow();
  }

  void AddPlace(const Place& place, RowWriter* rows) {
    rows->Text(host_);
    rows->Text(file_);
    rows->Text(place.process);
    rows->Number(place.pid);
    rows->Number(place.tid);
    rows->Text(place.thread);
  }

  void BeginRow(uint64_t time_ns, Owner* owner, RowWriter* rows) {
    if (owner->cells.num_cells != 0) {
      rows->Begin(owner->cells);
    } else {
      AddPlace(owner->place, rows);
      rows->Text(Cut(owner->place.path, kMaxPathSize));
      rows->KeepBeginning(&owner->cells);
    }
    rows->Number(time_ns);
    rows->Number(reader_.RealtimeOf(time_ns));
  }

  void AddEvent(const EventText& text,
                const EventDetails& details,
                RowWriter* rows) {
    rows->Text(text.category);
    rows->Text(text.name);
    rows->Json(InBrackets("{}", details.args));
    rows->Json(InBrackets("[]", details.flows));
    rows->Json(InBrackets("[]", details.ended_flows));
  }

  // Returns |list| in |brackets|. The result is valid until the next call.
  std::string_view InBrackets(std::string_view brackets,
                              std::string_view list) {
    if (list.empty())
      return brackets;
    json_ = brackets.front();
    json_ += list;
    json_ += brackets.back();
    return json_;
  }

  void AddLosses(RowWriter* rows) {
    for (const auto& [reason, packets] : reader_.packets_lost()) {
      AddPlace(Place(), rows);
      rows->Text(protozero::LossReasonToString(
          static_cast<protozero::LossReason>(reason)));
      rows->Number(packets);
      rows->Null();
      rows->EndRow();
    }
    for (const auto& [sequence, gaps] : reader_.gaps()) {
      Place place = OwnerOf(gaps.track).place;
      if (place.pid == 0)
        place.pid = gaps.pid;
      AddPlace(place, rows);
      rows->Text("");
      rows->Null();
      rows->Number(gaps.places);
      rows->EndRow();
    }
  }

  // Returns the owner of |track|. It is valid until the next call.
  Owner& OwnerOf(uint64_t track) {
    Owner& owner = KeptOwner(track);
    if (IsKnown(owner, track))
      return owner;
    const Tracks& tracks = reader_.tracks();
    const std::optional<TrackInfo> info = tracks.Find(track);
    if (info && info->parent != 0) {
      // The parent's place is kept, because many tracks have the same parent.
      Owner& parent = KeptOwner(info->parent);
      if (!IsKnown(parent, info->parent))
        Find(info->parent, &parent);
      if (parent.place.is_complete) {
        Place place = parent.place;
        AddPart(track, info, &place);
        Set(track, info, std::move(place), &owner);
        return owner;
      }
    }
    Find(track, &owner);
    return owner;
  }

  Owner& KeptOwner(uint64_t track) {
    return owners_[protozero::internal::HashOfId(track) % kMaxOwners];
  }

  bool IsKnown(const Owner& owner, uint64_t track) const {
    return owner.track == track &&
           owner.version == reader_.tracks().version() &&
           owner.place.is_complete;
  }

  void Find(uint64_t track, Owner* owner) const {
    Place place;
    std::optional<TrackInfo> info;
    for (const uint64_t part : reader_.tracks().PathTo(track)) {
      info = reader_.tracks().Find(part);
      AddPart(part, info, &place);
    }
    Set(track, info, std::move(place), owner);
  }

  void Set(uint64_t track,
           const std::optional<TrackInfo>& info,
           Place place,
           Owner* owner) const {
    owner->track = track;
    owner->version = reader_.tracks().version();
    owner->place = std::move(place);
    owner->unit = info ? Cut(info->unit, kMaxNameSize) : "";
    owner->cells.num_cells = 0;
    owner->shares_rows = SharesRows(info);
    owner->row_group.reset();
  }

  // Changes |place| from a track's to that of |part|, which is in the track.
  static void AddPart(uint64_t part,
                      const std::optional<TrackInfo>& info,
                      Place* place) {
    const bool is_outermost = place->group == 0;
    const uint64_t group = GroupOf(part, info, place->group);
    if (!info || (is_outermost && info->parent != 0))
      place->is_complete = false;
    if (info && info->tid != 0) {
      if (place->tid == 0) {
        place->thread = Cut(info->name, kMaxNameSize);
        place->tid = info->tid;
      }
      if (place->pid == 0)
        place->pid = info->pid;
    } else if (info && info->pid != 0) {
      Place process;
      process.process = Cut(info->name, kMaxNameSize);
      process.pid = info->pid;
      process.is_complete = place->is_complete;
      *place = std::move(process);
    } else if (info && place->path.size() <= kMaxPathSize) {
      if (!place->path.empty())
        place->path += '/';
      place->path += info->name;
    }
    place->group = group;
  }

  const std::string& host_;
  const std::string& file_;
  const Tables& tables_;
  TimelineReader reader_;
  std::vector<Owner> owners_{kMaxOwners};  // The key is a hash of the track.
  RowPacker packer_;
  std::string json_;
};

// The files that the tables go to.
class Outputs {
 public:
  // Without a |folder|, there is only one table, on the standard output.
  Outputs(const std::string& folder, const table::TableOptions& options)
      : folder_(folder), options_(options) {}

  // Returns false, and has printed why, if a file cannot be written.
  bool Open(const bool (&wanted)[kNumTables]) {
    if (!folder_.empty() && mkdir(folder_.c_str(), 0777) != 0 &&
        errno != EEXIST) {
      return Fail(folder_);
    }
    for (size_t i = 0; i < kNumTables; ++i) {
      if (!wanted[i])
        continue;
      if (!folder_.empty()) {
        files_[i].reset(fopen(PathOf(i).c_str(), "wb"));
        if (!files_[i])
          return Fail(PathOf(i));
      }
      tables_[i] =
          RowWriter::Create(files_[i] ? files_[i].get() : stdout, options_,
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
      if (files_[i] &&
          (fflush(files_[i].get()) != 0 || ferror(files_[i].get())))
        ok = Fail(PathOf(i));
    }
    return program::FlushStandardOutput(kProgram) && ok;
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
  static bool Fail(const std::string& path) {
    program::PrintError(kProgram, "%s: %s", path.c_str(), strerror(errno));
    return false;
  }

  const std::string folder_;
  const table::TableOptions options_;
  std::array<program::ScopedFile, kNumTables> files_;
  Tables tables_;
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
  std::string folder;
  bool wanted[kNumTables] = {};
  bool unfinished = false;
  bool escape_formulas = false;
  const program::Command command = {
      "pztrace export",
      "--slices|--instants|--counters|--losses [options] FILE...\n       "
      "pztrace "
      "export -o FOLDER [options] FILE...",
      R"(Prints the events of traces as a table, for databases:

  pztrace export --slices *.pftrace >slices.csv
)",
      {{"FILE", "traces; - is the standard input", &files},
       {"--slices", "a row for each slice", &wanted[kSlices]},
       {"--instants", "a row for each instant", &wanted[kInstants]},
       {"--counters", "a row for each value of a counter", &wanted[kCounters]},
       {"--losses",
        "a row for each reason of losses, and for each thread with gaps",
        &wanted[kLosses]},
       {"-o, --output FOLDER",
        "write FOLDER/slices.csv and so on, in one reading: the tables that "
        "are "
        "named, or all",
        &folder},
       {table::kFormatOption, table::kFormatHelp, &format},
       {"--unfinished",
        "rows of slices without an end, too; their dur and self are null",
        &unfinished},
       {"--escape-formulas",
        "for spreadsheets: begin texts in CSV that they would compute with a '",
        &escape_formulas},
       {"--host NAME", "in the column of that name, default: this machine's",
        &host}},
      R"(Times and durations are in nanoseconds: ts on the clock of the trace, time since
1970. args is a JSON object, flows and ended_flows are JSON arrays. The default
format is csv.
)"};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  const auto num_wanted = std::count(wanted, wanted + kNumTables, true);
  if (folder.empty() && num_wanted != 1) {
    return WrongUsage(
        command,
        "one of --slices, --instants, --counters and --losses is needed, or "
        "-o, which takes any of them");
  }
  if (num_wanted == 0)
    std::fill(wanted, wanted + kNumTables, true);
  std::string why;
  const auto table_format = table::FormatOf(format, &why);
  if (!table_format)
    return WrongUsage(command, why);
  if (escape_formulas && table_format != TableFormat::kCsv)
    return WrongUsage(command, "--escape-formulas is for --format csv");
  if (unfinished && !wanted[kSlices])
    return WrongUsage(command, "--unfinished is for --slices");

  Outputs outputs(folder, {*table_format, escape_formulas});
  bool ok = true;
  bool is_open = false;
  for (const std::string& file : files) {
    TraceInput input;
    if (!input.Open(file, "export")) {
      ok = false;
      continue;
    }
    // The tables are opened when there is something to read, so that no empty
    // one follows an error.
    if (!is_open && !outputs.Open(wanted))
      return kFailure;
    is_open = true;
    ok =
        Exporter(host, file, unfinished, outputs.tables()).Export(&input) && ok;
  }
  ok = outputs.Close() && ok;
  return ok ? kSuccess : kFailure;
}

}  // namespace pztrace
