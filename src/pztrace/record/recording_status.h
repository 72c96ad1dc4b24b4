// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_RECORDING_STATUS_H_
#define SRC_PZTRACE_RECORD_RECORDING_STATUS_H_

#include <stdint.h>

#include <functional>
#include <map>
#include <string>

#include "src/pztrace/record/session_stats.h"

namespace pztrace {

// Tells a user on the standard error how the recording is doing: on a terminal
// by one line that it writes again and again, elsewhere by a line for each
// program that comes or goes.
class RecordingStatus {
 public:
  // |get_stats| returns the state of the recording.
  explicit RecordingStatus(std::function<RecordingStats()> get_stats);
  // Removes the line from the terminal.
  ~RecordingStatus();

  RecordingStatus(const RecordingStatus&) = delete;
  RecordingStatus& operator=(const RecordingStatus&) = delete;

  // Says what is new, if it is time, or if |num_offers|, the number of offers
  // from programs, has changed. Returns the milliseconds until it is time
  // again; UINT32_MAX if that is when the host has served a program.
  uint32_t Run(uint64_t now_ms, uint64_t num_offers);

 private:
  void ShowLine(const RecordingStats& stats, uint64_t now_ms);
  void PrintChanges(const RecordingStats& stats);

  const std::function<RecordingStats()> get_stats_;
  const bool is_terminal_;
  uint64_t next_ms_ = 0;
  // The state at the last time.
  uint64_t last_ms_ = 0;
  uint64_t last_bytes_ = 0;
  uint64_t num_offers_ = 0;
  // The connected programs by the numbers of their producers.
  std::map<protozero::ProducerID, std::string> programs_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_RECORDING_STATUS_H_
