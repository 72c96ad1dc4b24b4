// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_RECORD_OPTIONS_H_
#define SRC_PZTRACE_RECORD_RECORD_OPTIONS_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#include "protozero/tracing/tracing_service.h"
#include "src/pztrace/record/recording_rule.h"
#include "src/pztrace/trace_file/codec.h"
#include "src/pztrace/trace_file/string_filter.h"
#include "src/pztrace/trace_file/trace_output.h"
#include "src/tracing/scheduling/kernel_events.h"

namespace pztrace {

using protozero::internal::KernelEvents;

// The wishes of a user of `pztrace record`.
struct RecordOptions {
  // The file of the trace; "-" is the standard output. Empty for a flight
  // recorder.
  std::string output;
  // The Collector that spans are sent to meanwhile; empty for none.
  std::string endpoint;
  // The folder of the flight recorder, its size, and the number of programs
  // that share it. REQUIRES: as FlightFolder::Open().
  std::string flight_folder;
  size_t flight_bytes = 0;
  uint32_t flight_programs = 0;
  // REQUIRES, if the rotation is on: |config| has a write period.
  Rotation rotation;
  // REQUIRES: the codec is built, if there is one.
  Compression compression;
  protozero::TraceConfig config;
  // The texts that no file may have. REQUIRES: StringFilter::IsAvailable(), if
  // there are any.
  StringFilter::Patterns strings;
  // The wanted categories of events, in the user's words.
  std::string categories;
  // The socket that producers connect to. Empty for one in RuntimeFolder().
  std::string socket;
  // The name of the recording among those of the user; empty for none.
  std::string session;
  // The rules that write a file of what they name; may be none. REQUIRES:
  // |config| has their trigger, if there are any.
  WatchedRules watched;
  // The records of threads that the kernel is asked for.
  KernelEvents::Options threads;
  // True to make lost packets a failure.
  bool fails_on_loss = false;
  // The command and its arguments; may be empty.
  std::vector<std::string> command;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_RECORD_OPTIONS_H_
