// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_OTLP_OTLP_TRACE_H_
#define SRC_PZTRACE_OTLP_OTLP_TRACE_H_

#include <stdint.h>
#include <stdio.h>

#include <string_view>
#include <vector>

namespace pztrace {

// Writes the packets of a trace that has the spans and logs of |messages|,
// whose field 1 has ResourceSpans and ResourceLogs:
//
//   OpenTelemetry           trace
//   resource                process: service.name, process.pid, the rest as
//                           labels
//   attribute thread.id     thread; spans without one, and those that do not
//                           nest on it, are on tracks of the process
//   span, scope, attributes slice, category, arguments; ids, kind and status
//                           are arguments that begin with "otel."
//   link; parent elsewhere  flow; "otel.links", if a flow does not say it all
//   event, log              instant
//
// Times are those of the wall clock. What is malformed is left out. A span
// whose end is before its beginning gets a duration of 0, and counts in
// |num_reversed|.
// Returns false, with errno, if |file| takes no more.
bool WriteTraceOfOtlp(const std::vector<std::string_view>& messages,
                      FILE* file,
                      uint64_t* num_reversed);

}  // namespace pztrace

#endif  // SRC_PZTRACE_OTLP_OTLP_TRACE_H_
