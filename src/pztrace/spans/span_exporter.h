// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SPANS_SPAN_EXPORTER_H_
#define SRC_PZTRACE_SPANS_SPAN_EXPORTER_H_

#include <string>

#include "src/pztrace/spans/span_batches.h"
#include "src/pztrace/trace_file/trace_input.h"

namespace pztrace {

// Exports the slices and tasks of a trace as spans of OpenTelemetry, and its
// instants as their events, or as logs where no slice is:
//
//   process        resource
//   category       scope
//   slice          span; its parent is the slice around it or, at the bottom of
//                  a thread, the task that the thread runs
//   task           span; its parent is the task that has spawned it
//   flow           link from each later span to the one before
//   argument       attribute; those that begin with "otel." are what they were
//
// Ids depend on the content only, so files and pieces of one trace agree. Reads
// the input twice, so it must not be a pipe. Returns false, and has printed
// why, if the trace cannot be read whole.
bool ExportSpans(const std::string& host,
                 const std::string& file,
                 bool has_unfinished,
                 TraceInput* input,
                 SpanBatches* batches);

}  // namespace pztrace

#endif  // SRC_PZTRACE_SPANS_SPAN_EXPORTER_H_
