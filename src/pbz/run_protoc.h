// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_RUN_PROTOC_H_
#define SRC_PBZ_RUN_PROTOC_H_

#include <stdint.h>

#include <string>
#include <vector>

// The part of running protoc that depends on the kind of system.
// run_protoc_posix.cc and run_protoc_windows.cc implement it.

namespace pbz {

struct ProtocResult {
  enum Outcome { kRan, kNoTemporaryFile, kNotStarted };
  Outcome outcome = kRan;
  int error = 0;  // An errno if it did not run; ENOENT: there is no protoc.
  int exit_code = 0;
  std::vector<uint8_t> descriptor_set;
  std::vector<uint8_t> messages;  // The bytes of its standard error.
};

// Runs protoc, which it looks for in the PATH, with |args| and
// --descriptor_set_out.
ProtocResult RunProtoc(const std::vector<std::string>& args);

// The characters that end a folder in a path.
extern const char kPathSeparators[];

}  // namespace pbz

#endif  // SRC_PBZ_RUN_PROTOC_H_
