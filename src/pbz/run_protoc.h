// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_RUN_PROTOC_H_
#define SRC_PBZ_RUN_PROTOC_H_

#include <stdint.h>

#include <string>
#include <vector>

// What differs between kinds of systems: run_protoc_posix.cc and
// run_protoc_windows.cc are its two implementations.

namespace pbz {

struct ProtocResult {
  enum Outcome { kRan, kNoTemporaryFile, kNotStarted };
  Outcome outcome = kRan;
  int error = 0;  // As errno, if it did not run. ENOENT: there is no protoc.
  int exit_code = 0;
  std::vector<uint8_t> descriptor_set;
  std::vector<uint8_t> messages;  // Of its standard error.
};

// Runs the protoc of the PATH with |args| and --descriptor_set_out.
ProtocResult RunProtoc(const std::vector<std::string>& args);

// The characters that end a folder in a path.
extern const char kPathSeparators[];

}  // namespace pbz

#endif  // SRC_PBZ_RUN_PROTOC_H_
