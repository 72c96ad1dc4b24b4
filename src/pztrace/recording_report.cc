// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/recording_report.h"

#include <stdio.h>

#include <string>

#include "src/program/io.h"
#include "src/pztrace/completeness.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/trace_output.h"

namespace pztrace {

namespace {

void PrintSummary(const TraceOutput& file,
                  const protozero::TraceStats& stats,
                  const Completeness& completeness) {
  // If the file lacks packets, some of these may be the service's.
  const std::string of_writers =
      file.packets_lost() == 0
          ? std::to_string(stats.packets_read()) + " of them "
          : std::string();
  const std::string name =
      file.num_files() == 1
          ? file.name()
          : file.name() + ": " + CountOf(file.num_files(), "file");
  fprintf(stderr, "%s: %s, %s, %sof %s in %s, %s\n", name.c_str(),
          CountOf(file.bytes(), "byte").c_str(),
          CountOf(file.packets(), "packet").c_str(), of_writers.c_str(),
          CountOf(stats.writers_seen(), "writer").c_str(),
          CountOf(stats.producers_seen, "producer").c_str(),
          completeness.Text().c_str());
}

}  // namespace

bool ReportRecording(const RecordOptions& options,
                     const protozero::TraceStats& stats,
                     const ProducerProblems& problems,
                     const RecordingSink& sink) {
  const TraceOutput& file = sink.output();
  bool ok = !file.is_broken();
  std::string problem;
  if (!ok && file.packets_lost() == 0)
    problem = "perhaps not all of it in the file";
  if (!problems.Report(options.config, stats)) {
    ok = false;
    problem = "producers are missing";
  }
  problems.ReportCategories(options.categories, stats);
  if (sink.is_out_of_memory())
    program::PrintError(kProgram, "out of memory: not all could be read");
  if (problems.ReportLackOfMemory(stats) || sink.is_out_of_memory()) {
    ok = false;
    problem = "out of memory";
  }
  Completeness completeness(stats);
  completeness.AddNotWritten(file.packets_lost());
  if (!problem.empty())
    completeness.AddProblem(problem);
  PrintSummary(file, stats, completeness);
  return ok && (completeness.is_complete() || !options.fails_on_loss);
}

}  // namespace pztrace
