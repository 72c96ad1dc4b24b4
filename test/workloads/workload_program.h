// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_WORKLOAD_PROGRAM_H_
#define TEST_WORKLOADS_WORKLOAD_PROGRAM_H_

#include <stdint.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

// The common part of programs that measure the cost of tracing a workload. Each
// has rows, named <Workload>_<Variant>_<Mode>, and each run measures one of
// them:
//
//   program --list                  prints the names of its rows
//   program --run=ROW [--quick]     prints a JSON object, see WorkloadResult
//   program --run=ROW --trace=FILE  the same, and keeps what was recorded
//
// so that tools/workloads and perfetto_benchmarks can interleave the rows of
// all programs, and each measurement begins in a fresh process. The modes are
//
//   Untraced  compiled without instrumentation
//   Off       compiled with it; a data source is registered, and no session
//   On        a session records
//
// If its measurement is wrong, a program prints the reason and exits with 1.

namespace protozero::workloads {

struct WorkloadOptions {
  // True for the smallest amount of work that shows that the program works.
  bool quick = false;
  // The file to write the trace to, or empty; see Recording::Options.
  std::string trace_file;
};

struct WorkloadResult {
  double ns_per_operation = 0;
  uint64_t operations = 0;
  // The number of events that the workload has begun. 0 unless the mode is On.
  uint64_t events_written = 0;
  // The number of events that were found in the recorded trace.
  uint64_t events_received = 0;
  // The number of losses that writers have counted.
  uint64_t events_lost = 0;
  // The number of allocations in the measured threads during the measurement.
  uint64_t allocations = 0;
  // Other figures and their names: p50_ns, clock_ns, ...
  std::vector<std::pair<std::string, double>> figures;
  // The error, or empty.
  std::string problem;
};

struct WorkloadRow {
  std::string name;
  std::function<WorkloadResult(const WorkloadOptions&)> run;
};

// Returns the JSON object that is printed, without a line feed.
std::string ToJson(const std::string& row, const WorkloadResult& result);

// Checks, for any workload, that it did something and that all events are
// accounted for. Returns the problem, or an empty string. |row| is the name.
std::string CheckResult(const std::string& row, const WorkloadResult& result);

// Runs a whole main(). Returns the exit code: 0, 1 if a measurement is wrong, 2
// if the arguments are wrong.
int RunWorkloadProgram(int argc,
                       char** argv,
                       const std::vector<WorkloadRow>& rows);

}  // namespace protozero::workloads

#endif  // TEST_WORKLOADS_WORKLOAD_PROGRAM_H_
