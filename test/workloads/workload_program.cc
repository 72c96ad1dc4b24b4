// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/workload_program.h"

#include <math.h>
#include <stdio.h>

#include <string_view>

#include "src/program/command_line.h"

namespace protozero::workloads {

namespace {

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         text.substr(text.size() - end.size()) == end;
}

// Returns |path| without its folder.
std::string ProgramName(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

void AppendNumber(const char* name, uint64_t value, std::string* json) {
  *json += std::string(", \"") + name + "\": " + std::to_string(value);
}

std::string FormatDouble(double value) {
  char text[32];
  snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

}  // namespace

// Returns the result as JSON. No name has a character that JSON would have to
// escape.
std::string ToJson(const std::string& row, const WorkloadResult& result) {
  std::string json = "{\"name\": \"" + row + "\"";
  json += ", \"ns_per_operation\": " + FormatDouble(result.ns_per_operation);
  AppendNumber("operations", result.operations, &json);
  AppendNumber("events_written", result.events_written, &json);
  AppendNumber("events_received", result.events_received, &json);
  AppendNumber("events_lost", result.events_lost, &json);
  AppendNumber("allocations", result.allocations, &json);
  json += ", \"figures\": {";
  const char* separator = "";
  for (const auto& [name, value] : result.figures) {
    json += separator;
    json += "\"" + name + "\": " + FormatDouble(value);
    separator = ", ";
  }
  return json + "}}";
}

std::string CheckResult(const std::string& row, const WorkloadResult& result) {
  if (!result.problem.empty())
    return result.problem;
  if (result.operations == 0)
    return "there was no operation";
  if (!isfinite(result.ns_per_operation) || result.ns_per_operation <= 0)
    return "it took no time";
  for (const auto& figure : result.figures) {
    if (!isfinite(figure.second))
      return figure.first + " is not a number";
  }
  const std::string events =
      std::to_string(result.events_written) + " events were written, " +
      std::to_string(result.events_received) + " received, " +
      std::to_string(result.events_lost) + " lost";
  if (EndsWith(row, "_On")) {
    if (result.events_written == 0)
      return "no event was written";
    if (result.events_received + result.events_lost != result.events_written)
      return events;
  } else if (EndsWith(row, "_Untraced") || EndsWith(row, "_Off")) {
    if (result.events_written + result.events_received + result.events_lost !=
        0)
      return events + ", without a session";
  } else {
    return "the name of the row does not end with a mode";
  }
  return "";
}

int RunWorkloadProgram(int argc,
                       char** argv,
                       const std::vector<WorkloadRow>& rows) {
  bool list = false;
  std::string wanted;
  WorkloadOptions options;
  const program::Command command = {
      ProgramName(argv[0]),
      "--list | --run=ROW [--quick] [--trace=FILE]",
      "Measures one row of a workload.\n",
      {{"--list", "print the names of the rows", &list},
       {"--run ROW", "measure this row and print a JSON object", &wanted},
       {"--quick", "do as little as shows that it works", &options.quick},
       {"--trace FILE", "where the recorded trace goes", &options.trace_file}}};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  if (list == !wanted.empty())
    return WrongUsage(command, "either --list or --run ROW is expected");
  if (list) {
    for (const WorkloadRow& row : rows)
      printf("%s\n", row.name.c_str());
    return 0;
  }
  for (const WorkloadRow& row : rows) {
    if (row.name != wanted)
      continue;
    const WorkloadResult result = row.run(options);
    const std::string problem = CheckResult(row.name, result);
    if (!problem.empty()) {
      fprintf(stderr, "%s: %s\n", row.name.c_str(), problem.c_str());
      return program::kFailure;
    }
    printf("%s\n", ToJson(row.name, result).c_str());
    return 0;
  }
  return WrongUsage(command, "there is no row '" + wanted + "'; see --list");
}

}  // namespace protozero::workloads
