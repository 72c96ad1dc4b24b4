// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_RECORDING_REPORT_H_
#define SRC_PZTRACE_RECORD_RECORDING_REPORT_H_

#include "protozero/tracing/trace_stats.h"
#include "src/pztrace/record/producer_problems.h"
#include "src/pztrace/record/record_options.h"
#include "src/pztrace/record/recording_sink.h"

namespace pztrace {

// Prints at the end of a recording what the file has and what it lacks. Returns
// true if all losses are counted ones, or, with RecordOptions::fails_on_loss,
// if there are none besides what a ring has overwritten. REQUIRES: |sink| is
// closed.
bool ReportRecording(const RecordOptions& options,
                     const protozero::TraceStats& stats,
                     const ProducerProblems& problems,
                     const RecordingSink& sink);

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_RECORDING_REPORT_H_
