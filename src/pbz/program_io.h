// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_PROGRAM_IO_H_
#define SRC_PBZ_PROGRAM_IO_H_

#include <stdint.h>
#include <stdio.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Input and output of command line programs. |program| is the program's name;
// errors begin with it.

namespace pbz {

struct CloseFile {
  void operator()(FILE* file) const {
    if (file != stdin)
      fclose(file);
  }
};
using ScopedFile = std::unique_ptr<FILE, CloseFile>;

// A line on the standard error, without anything that a terminal would obey.
// Leaves errno alone.
__attribute__((format(printf, 2, 3))) void PrintError(const char* program,
                                                      const char* format,
                                                      ...);

// Has the standard streams pass on bytes as they are, as they do anyway where
// lines end in one character.
void UseBinaryStreams();

// In these, a |path| of "-" is the standard input.
// Null, and has printed why, if there is no such file.
ScopedFile OpenFile(const char* program, const std::string& path);
// Returns false, and has printed why, if the file cannot be read.
bool ReadFile(const char* program,
              const std::string& path,
              std::vector<uint8_t>* content);
// Its name in errors.
const char* DisplayName(const std::string& path);

// Returns false, and has printed why, if not all that was printed has arrived.
bool FlushStandardOutput(const char* program);

// Whether to print in color: |when| is "always", "never", or "auto", which is
// on a terminal, unless NO_COLOR is set. Null if it is none of them.
std::optional<bool> UseColor(std::string_view when);

}  // namespace pbz

#endif  // SRC_PBZ_PROGRAM_IO_H_
