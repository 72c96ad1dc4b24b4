// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_H_
#define SRC_PZTRACE_TRACE_FILE_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <atomic>
#include <string>

#include "protozero/tracing/trace_service.h"

namespace pztrace {

// The file, and what the service writes to it.
class TraceFile : public protozero::TraceService::Consumer {
 public:
  TraceFile() = default;
  ~TraceFile() override;

  // "-" is the standard output. Returns false, and has printed why, if it can
  // not be opened.
  bool Open(const std::string& path);
  // Returns false, and has printed why, if it could not be written, now or
  // before.
  bool Write(const uint8_t* data, size_t size);
  // Returns whether all of it has been written.
  bool Close();

  const std::string& name() const { return name_; }
  // Any thread.
  uint64_t bytes() const { return bytes_; }

  // TraceService::Consumer:
  bool OnTraceData(protozero::TracingSessionID,
                   const uint8_t* data,
                   size_t size) override;

 private:
  void Fail();

  std::string name_;
  FILE* file_ = nullptr;
  std::atomic<uint64_t> bytes_{0};
  bool is_broken_ = false;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_H_
