// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_TRIGGERED_FILES_H_
#define SRC_PZTRACE_RECORD_TRIGGERED_FILES_H_

#include <stdint.h>

#include <deque>
#include <optional>
#include <string>

#include "src/pztrace/record/recording_session.h"
#include "src/pztrace/record/trace_drain.h"
#include "src/pztrace/trace_file/codec.h"
#include "src/pztrace/trace_file/string_filter.h"
#include "src/pztrace/trace_file/trace_output.h"

namespace pztrace {

// Writes a copy of what a session holds, in a file of its own, whenever a
// trigger asks for it. One file at a time: a trigger that comes meanwhile is
// for the next file.
class TriggeredFiles {
 public:
  // Keeps the last |num_kept| files, 0 for all. REQUIRES: |session| outlives
  // it.
  TriggeredFiles(RecordingSession* session,
                 uint32_t num_kept,
                 const Compression& compression)
      : session_(session), num_kept_(num_kept), compression_(compression) {}

  // Writes packets as |filter| leaves them. It has to outlive this.
  void SetFilter(const StringFilter* filter) { filter_ = filter; }
  // Sets the name of all files, but for the time in it.
  void SetPath(const std::string& path) { path_ = path; }
  // To be called between two calls of the host. Returns how many milliseconds
  // the host may wait, UINT32_MAX for any time.
  uint32_t Run();
  // Asks for a file, as a trigger does.
  void Request() { is_requested_ = true; }
  // Returns whether a file is to be written.
  bool is_busy() const { return copy_ != 0 || is_requested_; }

 private:
  void Begin();
  // Says how the file ends, and forgets old ones.
  void Finish(bool is_whole);

  RecordingSession* const session_;
  const uint32_t num_kept_;
  const Compression compression_;
  const StringFilter* filter_ = nullptr;
  std::string path_;
  bool is_requested_ = false;
  protozero::TracingSessionID copy_ = 0;
  // The file of the copy, once there is something to write.
  std::optional<TraceOutput> output_;
  std::optional<TraceDrain> drain_;
  std::deque<std::string> kept_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_TRIGGERED_FILES_H_
