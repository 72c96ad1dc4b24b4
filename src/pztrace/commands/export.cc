// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace export.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#include <vector>

#include "protozero/otlp/file_exporter.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/spans/http_sink.h"
#include "src/pztrace/spans/span_exporter.h"
#include "src/pztrace/spans/span_ids.h"
#include "src/pztrace/tables/exported_tables.h"
#include "src/pztrace/tables/table_columns.h"
#include "src/pztrace/tables/trace_database.h"
#include "src/pztrace/trace_file/output_file.h"
#include "src/table/table_format.h"

namespace pztrace {

namespace {

using program::kFailure;
using program::kSuccess;
using table::RowWriter;
using table::TableFormat;

namespace otlp = protozero::otlp;

constexpr std::string_view kSqlite = "sqlite";
constexpr std::string_view kOtlp = "otlp";
constexpr std::string_view kOtlpJson = "otlp-json";
constexpr std::string_view kPerfetto = "perfetto";

TableInfo TableAt(size_t table) {
  return ExportedTableInfo(static_cast<ExportedTable>(table));
}

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
      tables_[i] = table::CreateRows(files_[i].stream(), options_,
                                     ColumnsOf(TableAt(i).columns));
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

  const ExportedTables& tables() const { return tables_; }

 private:
  std::string PathOf(size_t table) const {
    return folder_ + "/" + std::string(TableAt(table).name) +
           table::ExtensionOf(options_.format);
  }

  const std::string folder_;
  const table::TableOptions options_;
  std::array<OutputFile, kNumTables> files_;
  ExportedTables tables_;
};

// The command line.
struct ExportArguments {
  std::vector<std::string> files;
  std::string host = HostName();
  std::string format = "csv";
  const std::string format_help =
      std::string(table::kFormatHelp) +
      "; or sqlite: all of one trace, as tables for SQL; or otlp or otlp-json: "
      "spans and logs of OpenTelemetry, as messages after their sizes or as "
      "lines; or perfetto: a trace, of files of OpenTelemetry, too";
  std::string folder;
  std::string endpoint;
  bool wanted[kNumTables] = {};
  bool unfinished = false;
  bool escape_formulas = false;
};

program::Command ExportCommand(ExportArguments* arguments) {
  return {
      "pztrace export",
      "--TABLE [options] FILE...\n       "
      "pztrace export -o FOLDER [options] FILE...\n       "
      "pztrace export --format sqlite -o DATABASE FILE\n       "
      "pztrace export --format perfetto -o TRACE FILE...",
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
       {"--endpoint URL",
        "with --format otlp: send them to a Collector, such as "
        "http://localhost:4318",
        &arguments->endpoint},
       {"--unfinished",
        "rows of slices without an end, too; their dur is until the end of the "
        "recording, and their self is null",
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
  std::string why;
  const auto table_format = table::FormatOf(
      arguments->format, &why, "; or sqlite, otlp, otlp-json or perfetto");
  if (!table_format)
    return why;
  *format = *table_format;
  const auto num_wanted = std::count(wanted, wanted + kNumTables, true);
  if (arguments->folder.empty() && num_wanted != 1) {
    return "one of --slices, --instants, --counters, --tasks and --losses is "
           "needed, or -o, which takes any of them";
  }
  if (num_wanted == 0)
    std::fill(wanted, wanted + kNumTables, true);
  if (arguments->escape_formulas && *format != TableFormat::kCsv)
    return "--escape-formulas is for --format csv";
  if (!arguments->endpoint.empty())
    return "--endpoint is for --format otlp";
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
    ok = ExportTables(arguments.host, file, arguments.unfinished, &input,
                      outputs->tables()) &&
         ok;
  }
  return outputs->Close() && ok;
}

bool HasTableOptions(const ExportArguments& arguments) {
  return arguments.escape_formulas ||
         std::count(arguments.wanted, arguments.wanted + kNumTables, true) != 0;
}

// Returns the problem with the options of a database, or an empty string.
std::string DatabaseProblem(const ExportArguments& arguments) {
  if (arguments.folder.empty() || arguments.files.size() != 1)
    return "--format sqlite makes a database, -o, of one trace";
  if (HasTableOptions(arguments) || arguments.unfinished) {
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

bool IsOtlpFormat(const std::string& format) {
  return format == kOtlp || format == kOtlpJson;
}

// Returns the problem with the options of a trace, or an empty string.
std::string TraceProblem(const ExportArguments& arguments) {
  if (HasTableOptions(arguments) || arguments.unfinished)
    return "--format perfetto has all events, and takes no option for them";
  if (!arguments.endpoint.empty())
    return "--endpoint is for --format otlp";
  if (arguments.folder.empty())
    return "--format perfetto needs -o: the file that the trace goes to";
  return OutputProblem(arguments.files, arguments.folder);
}

// Returns the problem with the options of spans, or an empty string.
std::string SpansProblem(const ExportArguments& arguments) {
  if (HasTableOptions(arguments))
    return "--format " + arguments.format +
           " has all slices, tasks and instants, and takes no option for them";
  if (arguments.endpoint.empty() == arguments.folder.empty())
    return "--format " + arguments.format + " needs -o or --endpoint";
  if (arguments.format == kOtlpJson && !arguments.endpoint.empty())
    return "--endpoint is for --format otlp";
  return "";
}

// Makes a file, or empties it. Returns false, and has printed why, if it
// cannot.
bool MakeFile(const std::string& path) {
  const std::string problem = OutputProblem({}, path);
  const int fd = problem.empty()
                     ? open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666)
                     : -1;
  if (fd >= 0)
    return close(fd) == 0;
  program::PrintError(kProgram, "%s: %s", path.c_str(),
                      problem.empty() ? strerror(errno) : problem.c_str());
  return false;
}

// Returns null, and has printed why, if the spans cannot go there.
std::unique_ptr<otlp::BatchSink> OpenSpans(const ExportArguments& arguments) {
  std::string problem;
  if (!arguments.endpoint.empty()) {
    auto sink = CreateHttpSink(arguments.endpoint, &problem);
    if (sink == nullptr)
      program::PrintError(kProgram, "--endpoint: %s", problem.c_str());
    return sink;
  }
  const bool is_json = arguments.format == kOtlpJson;
  const std::string extension = is_json ? ".jsonl" : ".otlp";
  const std::string spans = arguments.folder + "/spans" + extension;
  const std::string logs = arguments.folder + "/logs" + extension;
  if (mkdir(arguments.folder.c_str(), 0777) != 0 && errno != EEXIST) {
    program::PrintError(kProgram, "%s: %s", arguments.folder.c_str(),
                        strerror(errno));
    return nullptr;
  }
  if (!MakeFile(spans) || !MakeFile(logs))
    return nullptr;
  auto sink = std::make_unique<otlp::FileExporter>(
      spans, logs,
      is_json ? otlp::FileFormat::kJsonLines : otlp::FileFormat::kDelimited);
  if (sink->error().empty())
    return sink;
  program::PrintError(kProgram, "%s", sink->error().c_str());
  return nullptr;
}

// Returns false, and has printed why, if not all of the files is there.
bool ExportAllSpans(const ExportArguments& arguments) {
  std::unique_ptr<otlp::BatchSink> sink;
  bool ok = true;
  std::optional<SpanBatches> batches;
  for (const std::string& file : arguments.files) {
    TraceInput input;
    if (!input.Open(file, "export")) {
      ok = false;
      continue;
    }
    if (!batches) {
      sink = OpenSpans(arguments);
      if (sink == nullptr)
        return false;
      batches.emplace(sink.get());
    }
    ok = ExportSpans(arguments.host, file, arguments.unfinished, &input,
                     &*batches) &&
         ok;
  }
  if (!batches)
    return ok;
  batches->Flush();
  if (batches->failed() != 0) {
    program::PrintError(
        kProgram, "%" PRIu64 " of %" PRIu64 " spans and logs are not there: %s",
        batches->failed(), batches->failed() + batches->exported(),
        batches->reason().c_str());
  }
  return ok && batches->failed() == 0;
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
  if (arguments.format == kPerfetto) {
    const std::string problem = TraceProblem(arguments);
    if (!problem.empty())
      return WrongUsage(command, problem);
    return MergeTraces(arguments.folder, arguments.files, "export") ? kSuccess
                                                                    : kFailure;
  }
  if (IsOtlpFormat(arguments.format)) {
    const std::string problem = SpansProblem(arguments);
    if (!problem.empty())
      return WrongUsage(command, problem);
    return ExportAllSpans(arguments) ? kSuccess : kFailure;
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
