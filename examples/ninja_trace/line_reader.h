// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_NINJA_TRACE_LINE_READER_H_
#define EXAMPLES_NINJA_TRACE_LINE_READER_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <string_view>
#include <vector>

namespace ninja_trace {

// Reads a file of any size and any content line by line, in a fixed amount of
// memory.
class LineReader {
 public:
  // Longer lines are passed over. Ninja does not read such lines either.
  static constexpr size_t kMaxLineLength = 256 * 1024;

  enum class Result {
    kLine,
    // The file ends in the middle of a line.
    kUnterminatedLine,
    kTooLongLine,
    kEndOfFile,
    // The system cannot read the file; errno tells why.
    kReadError,
  };

  // REQUIRES: |file| stays open while the reader is in use.
  explicit LineReader(FILE* file) : file_(file), buffer_(kMaxLineLength + 1) {}

  // Reads a line. For the first two results, |line| is set to the line without
  // its newline, and stays valid until the next call.
  Result Next(std::string_view* line);

  // Returns the number of the line that Next() returned last; the first one is
  // 1.
  uint64_t line_number() const { return line_number_; }

 private:
  FILE* const file_;
  std::vector<char> buffer_;
  // The part of the buffer that has not been returned yet.
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t line_number_ = 0;
};

}  // namespace ninja_trace

#endif  // EXAMPLES_NINJA_TRACE_LINE_READER_H_
