// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace cut.

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "src/pbz/field_stream.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/edit/trace_cutter.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/events/track_info.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/trace_file/output_file.h"
#include "src/pztrace/trace_file/quantities.h"
#include "src/pztrace/trace_file/shown_name.h"
#include "src/pztrace/trace_file/string_filter.h"
#include "src/pztrace/trace_file/trace_input.h"
#include "src/pztrace/trace_file/trace_stream.h"
#include "src/tracing/service/name_pattern.h"
#include "src/tracing/track_event/category_rules.h"

namespace pztrace {

namespace {

using program::kFailure;
using program::kSuccess;
using protozero::ConstBytes;
using protozero::internal::CategoryRules;

bool IsAnyOf(const TrackInfo& process, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name == std::to_string(process.pid) ||
           (process.outer_pid != 0 &&
            name == std::to_string(process.outer_pid)) ||
           protozero::service::IsLike(process.name, name) ||
           protozero::service::IsLike(UniqueName(process), name);
  });
}

// The events that are wanted, in the user's words.
struct Wishes {
  std::string categories;
  std::vector<std::string> processes;
  // True if an event of these categories was found.
  bool has_category = false;
};

// Prints which of |wanted| no process of the trace is, and which there are.
void ReportMissing(const std::string& name,
                   const std::vector<std::string>& wanted,
                   const std::vector<TrackInfo>& processes) {
  constexpr size_t kMaxListed = 16;
  std::string list;
  for (size_t i = 0; i < std::min(processes.size(), kMaxListed); ++i) {
    list += (list.empty() ? "; there are " : ", ") +
            ShownName(UniqueName(processes[i])) + " (" +
            std::to_string(processes[i].pid) + ")";
  }
  if (processes.size() > kMaxListed)
    list += ", ...";
  for (const std::string& process : wanted) {
    if (std::none_of(
            processes.begin(), processes.end(),
            [&](const TrackInfo& info) { return IsAnyOf(info, {process}); })) {
      program::PrintError(kProgram, "%s: no process '%s'%s", name.c_str(),
                          process.c_str(), list.c_str());
    }
  }
}

ConstBytes BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Reads the trace once, and writes what is to be written. Returns false, and
// has printed why, if that did not work. Sets |*is_damaged| if the trace does
// not end with a whole packet.
bool ReadOnce(const std::string& name,
              TraceStream* stream,
              TraceCutter* cutter,
              StringFilter* filter,
              OutputFile* file,
              bool* is_damaged) {
  pbz::FieldStream::Run run;
  std::string piece;
  std::string filtered;
  while (stream->Next(&run)) {
    if (!cutter->Read(ConstBytes(run.data, run.size), &piece))
      *is_damaged = true;
    if (filter != nullptr && !piece.empty()) {
      filtered.clear();
      filter->Filter(BytesOf(piece), &filtered);
      piece.swap(filtered);
    }
    if (!piece.empty() && !file->Write(piece))
      return false;
    piece.clear();
  }
  cutter->EndReading(&piece);
  if (!piece.empty() && !file->Write(piece))
    return false;
  if (stream->error().empty())
    return true;
  program::PrintError(kProgram, "%s: %s", name.c_str(),
                      stream->error().c_str());
  return false;
}

bool CutInto(const std::string& name,
             const std::string& output,
             const Wishes& wishes,
             TraceStream* stream,
             TraceCutter* cutter,
             StringFilter* filter) {
  OutputFile file;
  bool is_damaged = false;
  for (int i = 0; i < TraceCutter::kNumReadings; ++i) {
    if (!stream->Restart()) {
      program::PrintError(kProgram,
                          "%s: it is read several times, which no pipe allows",
                          name.c_str());
      return false;
    }
    if (i == TraceCutter::kNumReadings - 1) {
      ReportMissing(name, wishes.processes, cutter->Processes());
      if (!wishes.categories.empty() && !wishes.has_category) {
        program::PrintError(kProgram,
                            "%s: the piece has no event of the categories '%s'",
                            name.c_str(), wishes.categories.c_str());
      }
      if (!cutter->has_events()) {
        program::PrintError(
            kProgram, "%s: no events%s in that time", name.c_str(),
            wishes.processes.empty() ? "" : " of these processes");
        return false;
      }
      if (!file.Open(output))
        return false;
    }
    if (!ReadOnce(name, stream, cutter, filter, &file, &is_damaged))
      return false;
    if (cutter->num_compressed() != 0) {
      stream->ReportUnread(name.c_str());
      program::PrintError(kProgram, "%s: nothing is cut", name.c_str());
      return false;
    }
  }
  if (is_damaged) {
    program::PrintError(kProgram,
                        "%s: the trace is damaged; the piece has the events "
                        "before that",
                        name.c_str());
  }
  return file.Close() && !is_damaged;
}

// The command line.
struct CutArguments {
  std::string file;
  std::string output;
  std::string from;
  std::string to;
  Wishes wishes;
  StringFilter::Patterns strings;
};

program::Command CutCommand(CutArguments* arguments) {
  return {
      "pztrace cut",
      "[options] -o FILE TRACE",
      R"(Cuts a piece out of a trace:

  pztrace cut --from 2s --to 3s -o piece.pftrace session.pftrace

The piece can be read by itself. Slices that are open when it begins are in it
from their beginning on. The packets with events are unchanged.
)",
      {{"TRACE", "the trace, a file", &arguments->file},
       {"-o, --output FILE", "where the piece goes; - is the standard output",
        &arguments->output},
       {"--from TIME", "since the first event: 1.5ms", &arguments->from},
       {"--to TIME", "since the first event", &arguments->to},
       {"--categories LIST",
        "events of these categories only: a comma between, * at the end for "
        "any, - in front for all but these",
        &arguments->wishes.categories},
       {"--drop-strings PATTERN",
        "leave no text with this in it in the piece: drop such texts, and what "
        "the program does not know; '*' stands for any text between; "
        "repeatable",
        &arguments->strings.dropped},
       {"--hash-strings PATTERN",
        "the same, but equal texts have the same hash in their place; "
        "repeatable",
        &arguments->strings.hashed},
       {"--process NAME",
        "events of this process only: its name, in which '*' stands for any "
        "text, or its number, in a container also that of the recorder's side; "
        "repeatable",
        &arguments->wishes.processes}},
      "Counters, and other events without a category, stay.\n"};
}

// Parses the times. Returns the problem with the command line, or an empty
// text.
std::string ParseCut(const CutArguments& arguments,
                     TraceCutter::Options* options) {
  const std::string problem = ParseTimeRange(
      arguments.from, arguments.to, &options->from_ns, &options->to_ns);
  if (!problem.empty())
    return problem;
  if (arguments.output.empty())
    return "-o is missing: where the piece goes";
  return OutputProblem({arguments.file}, arguments.output);
}

// Has the cutter ask for what is wanted. REQUIRES: |wishes| outlives it.
void SetWishes(Wishes* wishes, TraceCutter::Options* options) {
  if (!wishes->categories.empty()) {
    const CategoryRules rules(
        protozero::internal::EncodeCategories(wishes->categories));
    options->wants_category = [rules, wishes](std::string_view category) {
      const bool is_wanted = rules.Wants(category, "");
      wishes->has_category = wishes->has_category || is_wanted;
      return is_wanted;
    };
  }
  if (!wishes->processes.empty()) {
    options->wants_process = [wishes](const TrackInfo& process) {
      return IsAnyOf(process, wishes->processes);
    };
  }
}

}  // namespace

int CutMain(int argc, char** argv) {
  CutArguments arguments;
  const program::Command command = CutCommand(&arguments);
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  TraceCutter::Options options;
  const std::string problem = ParseCut(arguments, &options);
  if (!problem.empty())
    return WrongUsage(command, problem);
  SetWishes(&arguments.wishes, &options);

  std::optional<StringFilter> filter;
  if (!StringFilter::Make(arguments.strings, &filter))
    return kFailure;
  TraceInput input;
  if (!input.Open(arguments.file, "cut"))
    return kFailure;
  TraceCutter cutter(std::move(options));
  return CutInto(program::DisplayName(arguments.file), arguments.output,
                 arguments.wishes, &input.stream(), &cutter,
                 filter ? &*filter : nullptr)
             ? kSuccess
             : kFailure;
}

}  // namespace pztrace
