// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file.h"

#include <errno.h>
#include <string.h>

#include "src/pbz/program_io.h"
#include "src/pztrace/program_name.h"

namespace pztrace {

TraceFile::~TraceFile() {
  if (file_ != nullptr && file_ != stdout)
    fclose(file_);
}

bool TraceFile::Open(const std::string& path) {
  name_ = path == "-" ? "<stdout>" : path;
  file_ = path == "-" ? stdout : fopen(path.c_str(), "wb");
  if (file_ == nullptr)
    pbz::PrintError(kProgram, "%s: %s", name_.c_str(), strerror(errno));
  return file_ != nullptr;
}

bool TraceFile::Write(const uint8_t* data, size_t size) {
  if (is_broken_)
    return false;
  bytes_ += size;
  if (fwrite(data, 1, size, file_) != size)
    Fail();
  return !is_broken_;
}

bool TraceFile::OnTraceData(protozero::TracingSessionID,
                            const uint8_t* data,
                            size_t size) {
  return Write(data, size);
}

bool TraceFile::Close() {
  FILE* const file = file_;
  file_ = nullptr;
  if ((file == stdout ? fflush(file) : fclose(file)) != 0 && !is_broken_)
    Fail();
  return !is_broken_;
}

void TraceFile::Fail() {
  pbz::PrintError(kProgram, "%s: %s", name_.c_str(), strerror(errno));
  is_broken_ = true;
}

}  // namespace pztrace
