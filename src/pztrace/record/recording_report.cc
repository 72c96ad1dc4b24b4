// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/recording_report.h"

#include <stdint.h>
#include <stdio.h>

#include <string>

#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/record/summary_text.h"
#include "src/pztrace/trace_file/completeness.h"
#include "src/pztrace/trace_file/trace_output.h"

namespace pztrace {

namespace {

std::string SecondsOf(uint32_t milliseconds) {
  char text[32];
  snprintf(text, sizeof(text), "%.1f s", milliseconds / 1000.0);
  return text;
}

void PrintSummary(const TraceOutput& file,
                  const protozero::TraceStats& stats,
                  const Completeness& completeness) {
  const std::string name =
      file.num_files() == 1
          ? file.name()
          : file.name() + ": " + CountOf(file.num_files(), "file");
  // If the file lacks packets, some of these may be the service's.
  fprintf(stderr, "%s: %s, %s, %s, %s\n", name.c_str(),
          CountOf(file.bytes(), "byte").c_str(),
          CountOf(file.packets(), "packet").c_str(),
          WritersText(stats, file.packets_lost() == 0).c_str(),
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
  problems.ReportCategories(stats);
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
  if (stats.ring_ms_kept != 0) {
    completeness.AddProblem("--size has room only for the last " +
                            SecondsOf(stats.ring_ms_kept) + " of " +
                            SecondsOf(options.config.ring_ms));
  }
  PrintSummary(file, stats, completeness);
  const bool is_complete = options.config.is_read_at_end
                               ? completeness.is_complete_ring()
                               : completeness.is_complete();
  return ok && (is_complete || !options.fails_on_loss);
}

}  // namespace pztrace
