// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROGRAM_IO_H_
#define SRC_PROGRAM_IO_H_

#include <stdint.h>
#include <stdio.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Input and output of command line programs. |program| is the program's name;
// errors begin with it.

namespace program {

struct CloseFile {
  void operator()(FILE* file) const {
    if (file != stdin)
      fclose(file);
  }
};
using ScopedFile = std::unique_ptr<FILE, CloseFile>;

// Prints a line on the standard error, without anything that a terminal would
// obey. Keeps errno.
__attribute__((format(printf, 2, 3))) void PrintError(const char* program,
                                                      const char* format,
                                                      ...);

// Makes the standard streams pass on bytes unchanged. They do so anyway where
// lines end in one character.
void UseBinaryStreams();

// The reason why an output is refused.
inline constexpr char kReplacesInput[] =
    "the output cannot replace what is read";

// Remember a file that is read, and return whether the file of |fd| is one. An
// output must not be. A pipe or a device never is, and nothing is on Windows.
// Not for several threads.
void NoteInput(const std::string& path);
bool IsInput(int fd);

// Opens a file, and notes it as input. In these functions, a |path| of "-" is
// the standard input. Returns null, and has printed why, if there is no such
// file, or if the standard output goes to it.
ScopedFile OpenFile(const char* program, const std::string& path);
// Returns false, and has printed why, if the file cannot be read.
bool ReadFile(const char* program,
              const std::string& path,
              std::vector<uint8_t>* content);
// Returns the name of the file in errors.
const char* DisplayName(const std::string& path);

// Returns false, and has printed why, if some of the output could not be
// written.
bool FlushStandardOutput(const char* program);

// Returns whether to print in color. |when| is "always", "never", or "auto",
// which means on a terminal, unless NO_COLOR is set. Null if it is none of
// them.
std::optional<bool> UseColor(std::string_view when);

}  // namespace program

#endif  // SRC_PROGRAM_IO_H_
