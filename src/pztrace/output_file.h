// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_OUTPUT_FILE_H_
#define SRC_PZTRACE_OUTPUT_FILE_H_

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "src/program/io.h"
#include "src/pztrace/program_name.h"

namespace pztrace {

// The file that a trace is written to. Its functions print why they fail.
class OutputFile {
 public:
  ~OutputFile() { Close(); }

  // Opens |path|; "-" is the standard output.
  bool Open(const std::string& path) {
    name_ = path == "-" ? "<stdout>" : path;
    file_ = path == "-" ? stdout : fopen(path.c_str(), "wb");
    return file_ != nullptr || Fail();
  }
  bool Write(std::string_view bytes) {
    return fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size() ||
           Fail();
  }
  bool Close() {
    FILE* const file = file_;
    file_ = nullptr;
    if (file == nullptr)
      return true;
    return (file == stdout ? fflush(file) : fclose(file)) == 0 || Fail();
  }

 private:
  bool Fail() const {
    program::PrintError(kProgram, "%s: %s", name_.c_str(), strerror(errno));
    return false;
  }

  std::string name_;
  FILE* file_ = nullptr;
};

// Returns why |output| cannot be written while |input| is read: it is the same
// file. Otherwise an empty string. "-" is no file.
inline std::string OutputProblem(const std::string& input,
                                 const std::string& output) {
  struct stat read;
  struct stat written;
  const bool is_same = output != "-" && stat(input.c_str(), &read) == 0 &&
                       stat(output.c_str(), &written) == 0 &&
                       read.st_dev == written.st_dev &&
                       read.st_ino == written.st_ino;
  return is_same ? "the output cannot replace what is read" : "";
}

}  // namespace pztrace

#endif  // SRC_PZTRACE_OUTPUT_FILE_H_
