// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_NINJA_TRACE_TESTING_TEMPORARY_FILE_H_
#define EXAMPLES_NINJA_TRACE_TESTING_TEMPORARY_FILE_H_

#include <stdio.h>

#include <string>
#include <string_view>

namespace ninja_trace {

// A file without a name, which is deleted with this object.
class TemporaryFile {
 public:
  TemporaryFile() : file_(tmpfile()) {}
  explicit TemporaryFile(std::string_view content) : TemporaryFile() {
    fwrite(content.data(), 1, content.size(), file_);
    rewind(file_);
  }
  ~TemporaryFile() { fclose(file_); }

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  FILE* get() const { return file_; }

  // Returns all of it.
  std::string ReadContent() const {
    rewind(file_);
    std::string content;
    char buffer[4096];
    size_t size;
    while ((size = fread(buffer, 1, sizeof(buffer), file_)) != 0)
      content.append(buffer, size);
    return content;
  }

 private:
  FILE* const file_;
};

}  // namespace ninja_trace

#endif  // EXAMPLES_NINJA_TRACE_TESTING_TEMPORARY_FILE_H_
