// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/completeness.h"

#include <stddef.h>

#include "protozero/tracing/loss_reason.h"

namespace pztrace {

using protozero::LossReason;
using protozero::PacketLosses;

Completeness::Completeness(const protozero::TraceStats& stats)
    : unknown_(stats.unknown_losses()) {
  const PacketLosses lost = stats.lost();
  for (size_t i = 0; i < protozero::kNumLossReasons; ++i)
    AddLost(static_cast<uint32_t>(i), lost.packets[i]);
}

void Completeness::AddLost(uint32_t reason, uint64_t packets) {
  if (packets != 0)
    PacketLosses::Increase(&lost_[reason], packets);
}

void Completeness::AddProblem(const std::string& problem) {
  problems_ += (problems_.empty() ? "" : "; ") + problem;
}

bool Completeness::is_complete() const {
  return lost_.empty() && not_written_ == 0 && unknown_ == 0 &&
         problems_.empty();
}

bool Completeness::is_complete_ring() const {
  Completeness others = *this;
  others.lost_.erase(static_cast<uint32_t>(LossReason::kOverwritten));
  return others.is_complete();
}

std::string Completeness::Text() const {
  std::string reasons;
  uint64_t total = 0;
  const auto add = [&](uint64_t packets, const char* reason) {
    reasons += (reasons.empty() ? ": " : ", ") + std::to_string(packets) + " " +
               reason;
    PacketLosses::Increase(&total, packets);
  };
  for (const auto& [reason, packets] : lost_) {
    add(packets, LossReasonToString(reason < protozero::kNumLossReasons
                                        ? static_cast<LossReason>(reason)
                                        : LossReason::kUnknown));
  }
  if (not_written_ != 0)
    add(not_written_, "not written to the file");
  std::string text;
  if (!reasons.empty())
    text = CountOf(total, "packet") + " lost" + reasons;
  if (unknown_ != 0) {
    text += (text.empty() ? "an unknown number of packets lost in "
                          : "; and an unknown number in ") +
            CountOf(unknown_, "place");
  }
  if (!problems_.empty())
    text += (text.empty() ? "" : "; ") + problems_;
  return text.empty() ? kNothingLost : text;
}

}  // namespace pztrace
