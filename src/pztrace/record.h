// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_H_
#define SRC_PZTRACE_RECORD_H_

#include <string>
#include <vector>

#include "protozero/tracing/tracing_service.h"
#include "src/pztrace/trace_output.h"

namespace pztrace {

struct RecordOptions {
  // The file of the trace; "-" is the standard output.
  std::string output;
  // REQUIRES, if the rotation is on: |config| has a write period.
  Rotation rotation;
  protozero::TraceConfig config;
  // The wanted categories of events, in the user's words.
  std::string categories;
  // The socket that producers connect to. Empty for one in RuntimeFolder().
  std::string socket;
  // True to make lost packets a failure.
  bool fails_on_loss = false;
  // The command and its arguments; may be empty.
  std::vector<std::string> command;
};

// Serves producers, and the command, until the command ends, the time is up, or
// the user interrupts. Returns false, and has printed why, if there is no
// trace, if it is not whole and that counts, or if the command failed.
bool Record(const RecordOptions& options);

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_H_
