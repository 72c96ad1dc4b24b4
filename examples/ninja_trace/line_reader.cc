// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/line_reader.h"

#include <string.h>

namespace ninja_trace {

LineReader::Result LineReader::Next(std::string_view* line) {
  bool too_long = false;
  for (;;) {
    const char* begin = buffer_.data() + begin_;
    const void* newline = memchr(begin, '\n', end_ - begin_);
    if (newline) {
      const size_t size =
          static_cast<size_t>(static_cast<const char*>(newline) - begin);
      *line = std::string_view(begin, size);
      begin_ += size + 1;
      ++line_number_;
      return too_long ? Result::kTooLongLine : Result::kLine;
    }

    // This makes room for the rest of the line.
    memmove(buffer_.data(), begin, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    if (end_ == buffer_.size()) {
      too_long = true;
      end_ = 0;
    }

    const size_t size =
        fread(buffer_.data() + end_, 1, buffer_.size() - end_, file_);
    if (size == 0) {
      if (ferror(file_))
        return Result::kReadError;
      if (end_ == 0 && !too_long)
        return Result::kEndOfFile;
      *line = std::string_view(buffer_.data(), end_);
      begin_ = end_;
      ++line_number_;
      return too_long ? Result::kTooLongLine : Result::kUnterminatedLine;
    }
    end_ += size;
  }
}

}  // namespace ninja_trace
