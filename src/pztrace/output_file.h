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

// Returns whether both are there, and are the same file.
inline bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat status_a;
  struct stat status_b;
  return stat(a.c_str(), &status_a) == 0 && stat(b.c_str(), &status_b) == 0 &&
         status_a.st_dev == status_b.st_dev &&
         status_a.st_ino == status_b.st_ino;
}

}  // namespace pztrace

#endif  // SRC_PZTRACE_OUTPUT_FILE_H_
