// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_TRACE_INPUT_H_
#define SRC_PZTRACE_TRACE_FILE_TRACE_INPUT_H_

#include <optional>
#include <string>

#include "src/program/io.h"
#include "src/pztrace/trace_file/trace_stream.h"

namespace pztrace {

// A trace to read. It has been checked that the file is not something else.
// Spans of OpenTelemetry are read as the trace that they describe.
class TraceInput {
 public:
  // Opens |file|; "-" is the standard input. |command| is the command that
  // reads it, such as "top". Returns false, and has printed why, if it cannot
  // be opened, or is no trace.
  bool Open(const std::string& file, const char* command);

  // REQUIRES: Open() has returned true.
  TraceStream& stream() { return *stream_; }

 private:
  // Opens what the spans of OpenTelemetry in |file| are as a trace.
  bool OpenOtlp(const std::string& file);

  program::ScopedFile file_;
  std::optional<TraceStream> stream_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_TRACE_INPUT_H_
