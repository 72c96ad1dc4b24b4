// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_COMPLETENESS_H_
#define SRC_PZTRACE_TRACE_FILE_COMPLETENESS_H_

#include <stdint.h>

#include <map>
#include <string>

#include "protozero/tracing/trace_stats.h"
#include "src/program/text.h"

namespace pztrace {

using program::CountOf;

// Collects what a trace lacks, and says it in the same words for all commands.
// A trace is complete if each packet that a program began during the recording
// is there. Slices that began before the recording or ended after it are not
// losses.
class Completeness {
 public:
  static constexpr char kNothingLost[] = "nothing lost";

  Completeness() = default;
  explicit Completeness(const protozero::TraceStats& stats);

  // Adds lost packets. |reason| is the number of a LossReason.
  void AddLost(uint32_t reason, uint64_t packets);
  void AddNotWritten(uint64_t packets) { not_written_ += packets; }
  // Adds places whose lost packets were not counted.
  void AddUnknown(uint64_t places) {
    protozero::PacketLosses::Increase(&unknown_, places);
  }
  // Adds a loss without a number, in a few words.
  void AddProblem(const std::string& problem);

  // Returns true if no loss is known.
  bool is_complete() const;
  // Returns true if nothing is lost but what a ring buffer has overwritten.
  bool is_complete_ring() const;
  // Returns kNothingLost, or the losses by reason.
  std::string Text() const;

 private:
  std::map<uint32_t, uint64_t> lost_;
  uint64_t not_written_ = 0;
  uint64_t unknown_ = 0;
  std::string problems_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_COMPLETENESS_H_
