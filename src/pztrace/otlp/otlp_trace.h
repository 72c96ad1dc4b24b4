// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_OTLP_OTLP_TRACE_H_
#define SRC_PZTRACE_OTLP_OTLP_TRACE_H_

#include <string>
#include <string_view>

namespace pztrace {

// Returns the packets of a trace that has the spans and logs of |message|,
// whose field 1 has ResourceSpans and ResourceLogs:
//
//   OpenTelemetry           trace
//   resource                process: service.name, process.pid, the rest as
//                           labels
//   attribute thread.id     thread; spans without one, and those that do not
//                           nest on it, are on tracks of the process
//   span, scope, attributes slice, category, arguments; ids, kind and status
//                           are arguments that begin with "otel."
//   link; parent elsewhere  flow
//   event, log              instant
//
// Times are those of the wall clock. What is malformed is left out.
std::string TraceOfOtlp(std::string_view message);

}  // namespace pztrace

#endif  // SRC_PZTRACE_OTLP_OTLP_TRACE_H_
