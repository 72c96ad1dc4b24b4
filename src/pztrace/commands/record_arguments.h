// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_COMMANDS_RECORD_ARGUMENTS_H_
#define SRC_PZTRACE_COMMANDS_RECORD_ARGUMENTS_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#include "src/program/command_line.h"
#include "src/pztrace/record/record_options.h"

namespace pztrace {

// The size of the buffer in memory, or of a flight recorder's files.
inline constexpr size_t kDefaultBufferSize = size_t{64} * 1024 * 1024;

// The command line of `pztrace record`.
struct RecordArguments {
  RecordOptions record;
  std::string config_file;
  std::string duration;
  std::string size;
  std::string shared_memory;
  std::string ring;
  std::string rotate;
  std::vector<std::string> on_triggers;
  std::string before;
  std::string after;
  std::string compress;
  std::vector<std::string> when;
  std::vector<std::string> data_sources;
  std::vector<std::string> pids;
  std::vector<std::string> names;
  std::vector<std::string> sessions;
  std::string samples;
  bool wants_why = false;
};

// Returns the command. It parses into |arguments|, which has to outlive it.
program::Command RecordCommand(RecordArguments* arguments);

// The limits of the command line that replace those of the configuration; 0 for
// none.
struct RecordLimits {
  uint32_t duration_ms = 0;
  size_t size_bytes = 0;
  size_t shared_memory_bytes = 0;
  // True to write nothing before the end, and then the packets of this time.
  bool is_ring = false;
  uint32_t ring_ms = 0;
  // True if programs keep their packets themselves.
  bool is_flight = false;
  std::vector<int32_t> pids;
};

// Parses what RecordCommand() has left as text: times, sizes and processes.
// Returns an empty string, or the problem with one of them, or with options
// that do not go together.
std::string ParseLimits(RecordArguments* arguments, RecordLimits* limits);

}  // namespace pztrace

#endif  // SRC_PZTRACE_COMMANDS_RECORD_ARGUMENTS_H_
