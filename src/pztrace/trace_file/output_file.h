// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_OUTPUT_FILE_H_
#define SRC_PZTRACE_TRACE_FILE_OUTPUT_FILE_H_

#include <stdio.h>

#include <string>
#include <string_view>
#include <vector>

namespace pztrace {

// All outputs of pztrace are opened here, so that one rule holds for them: no
// output takes the place of a file that is read, that is being written as an
// output, or that is the memory of a flight recorder.

// Opens |path| to be written, with |flags| of open(2) besides, and changes
// nothing in it. Locks it until it is closed. Returns -1, and says why, if it
// cannot be opened or must not be an output.
int OpenOutput(const std::string& path, int flags, std::string* error);
// Removes what is in the file that OpenOutput() has opened. A pipe or a device
// stays as it is. Returns false, and sets errno, on failure.
bool EmptyOutput(int fd);
// Locks the standard output, if it is a file, as OpenOutput() does.
void LockStandardOutput();

// Returns why |output| must not be an output while |inputs| are read, before
// anything is done; otherwise an empty string. "-" is a standard stream.
std::string OutputProblem(const std::vector<std::string>& inputs,
                          const std::string& output);

// The file that a trace, a table or a page is written to. Its functions print
// why they fail.
class OutputFile {
 public:
  OutputFile() = default;
  ~OutputFile() { Close(); }

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Opens |path|, and empties it; "-" is the standard output.
  bool Open(const std::string& path);
  bool Write(std::string_view bytes);
  bool Close();

  // Returns null if it is not open.
  FILE* stream() const { return file_; }

 private:
  bool Fail() const;

  std::string name_;
  FILE* file_ = nullptr;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_OUTPUT_FILE_H_
