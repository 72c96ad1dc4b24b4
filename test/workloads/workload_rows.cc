// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/workload_rows.h"

#include <benchmark/benchmark.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>

namespace protozero::workloads {

namespace {

// Returns the folder of this program, or an empty path if the system does not
// tell.
std::string ProgramFolder() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  if (size <= 0)
    return "";
  const std::string program(path, static_cast<size_t>(size));
  return program.substr(0, program.rfind('/') + 1);
}

// Returns |text| quoted for the shell.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Returns the command's output, or nullopt if the command fails.
std::optional<std::string> OutputOf(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr)
    return std::nullopt;
  std::string output;
  char buffer[4096];
  while (const size_t size = fread(buffer, 1, sizeof(buffer), pipe))
    output.append(buffer, size);
  if (pclose(pipe) != 0)
    return std::nullopt;
  return output;
}

// Calls |function(name, value)| for each number in the output of ToJson(): a
// name in quotes, followed by a colon and a number.
template <typename Function>
void ForEachNumber(const std::string& json, const Function& function) {
  for (size_t begin = json.find('"'); begin != std::string::npos;) {
    const size_t end = json.find('"', begin + 1);
    if (end == std::string::npos)
      return;
    if (json.compare(end + 1, 2, ": ") == 0) {
      const char* const text = json.c_str() + end + 3;
      char* text_end = nullptr;
      const double value = strtod(text, &text_end);
      if (text_end != text)
        function(json.substr(begin + 1, end - begin - 1), value);
    }
    begin = json.find('"', end + 1);
  }
}

void Run(const std::string& program,
         const std::string& row,
         ::benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) {
    // A program that fails prints the reason itself.
    const std::optional<std::string> json =
        OutputOf(Quoted(program) + " --run=" + Quoted(row));
    if (!json) {
      state.SkipWithError((row + " has failed").c_str());
      return;
    }
    ForEachNumber(*json, [&state](const std::string& name, double value) {
      if (name == "ns_per_operation")
        state.SetIterationTime(value * 1e-9);
      else
        state.counters[name] = value;
    });
  }
}

}  // namespace

void RegisterWorkloadBenchmarks() {
  const std::string folder = ProgramFolder();
  std::ifstream programs(folder + "workload_programs.txt");
  for (std::string name; std::getline(programs, name);) {
    const std::string program = folder + name;
    // A program that was not built has no rows.
    if (access(program.c_str(), X_OK) != 0)
      continue;
    const std::string rows = OutputOf(Quoted(program) + " --list").value_or("");
    for (size_t begin = 0; begin < rows.size();) {
      const size_t end = rows.find('\n', begin);
      const std::string row = rows.substr(begin, end - begin);
      ::benchmark::RegisterBenchmark(("BM_ProtoWorkload_" + row).c_str(),
                                     [program, row](::benchmark::State& state) {
                                       Run(program, row, state);
                                     })
          ->UseManualTime()
          ->Iterations(1);
      begin = end == std::string::npos ? rows.size() : end + 1;
    }
  }
}

}  // namespace protozero::workloads
