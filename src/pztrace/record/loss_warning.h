// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_LOSS_WARNING_H_
#define SRC_PZTRACE_RECORD_LOSS_WARNING_H_

#include <stdint.h>

#include <string>

#include "protozero/tracing/trace_stats.h"

namespace pztrace {

// Tells the user of a recording that it loses packets, while that happens, and
// what to do. The summary at the end would be too late.
class LossWarning {
 public:
  // |now_ms| is the beginning of the recording; |is_written| if it writes
  // packets as they come, and not at its end.
  LossWarning(uint64_t now_ms, bool is_written)
      : is_written_(is_written), look_ms_(now_ms + kLookMs) {}

  // Returns whether it is time for Look(), which costs a look at all writers.
  bool IsDue(uint64_t now_ms) const { return now_ms >= look_ms_; }
  // Returns a line about the packets that were lost since the last line; empty
  // if there are none.
  std::string Look(const protozero::TraceStats& stats, uint64_t now_ms);

 private:
  // The time between two looks, and the one after a line.
  static constexpr uint64_t kLookMs = 1000;
  static constexpr uint64_t kPauseMs = 5000;

  const bool is_written_;
  uint64_t look_ms_;
  // The packets that the last line told of.
  uint64_t told_by_writers_ = 0;
  uint64_t told_without_room_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_LOSS_WARNING_H_
