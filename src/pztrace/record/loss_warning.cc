// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/loss_warning.h"

#include <stddef.h>

#include <map>

#include "src/pztrace/trace_file/completeness.h"
#include "src/pztrace/trace_file/shown_name.h"

namespace pztrace {

namespace {

using protozero::LossReason;
using protozero::PacketLosses;
using protozero::TraceStats;

uint64_t NumberOf(const PacketLosses& losses, LossReason reason) {
  return losses.packets[static_cast<size_t>(reason)];
}

uint64_t LostByWriters(const PacketLosses& losses) {
  return NumberOf(losses, LossReason::kMemoryFull) +
         NumberOf(losses, LossReason::kStallTimedOut);
}

uint64_t LostWithoutRoom(const PacketLosses& losses) {
  return NumberOf(losses, LossReason::kDiscarded) +
         NumberOf(losses, LossReason::kOverwritten);
}

// Returns the program whose writers have lost most, or "a program".
std::string LosingProgram(const TraceStats& stats) {
  std::map<protozero::ProducerID, uint64_t> lost;
  for (const protozero::TraceWriterStats& writer : stats.writers)
    lost[writer.producer_id] += LostByWriters(writer.lost);
  std::string name = "a program";
  uint64_t most = 0;
  for (const protozero::TraceProducerStats& producer : stats.producers) {
    const uint64_t its = lost[producer.producer_id];
    if (its <= most)
      continue;
    most = its;
    name = ShownProcess(producer.name, producer.pid);
  }
  return name;
}

}  // namespace

std::string LossWarning::Look(const TraceStats& stats, uint64_t now_ms) {
  const PacketLosses lost = stats.lost();
  const uint64_t by_writers = LostByWriters(lost);
  const uint64_t without_room = is_written_ ? LostWithoutRoom(lost) : 0;
  std::string line;
  if (by_writers > told_by_writers_) {
    line = LosingProgram(stats) + " traces faster than this recorder reads: " +
           CountOf(by_writers - told_by_writers_, "packet") +
           " lost, shared memory full; record fewer --categories, or leave a "
           "processor to the recorder";
  } else if (without_room > told_without_room_) {
    line = "the output takes less than programs trace: " +
           CountOf(without_room - told_without_room_, "packet") +
           " lost, no room in the buffer; record fewer --categories, write to "
           "a faster disk, or give a larger --size for a burst";
  }
  told_by_writers_ = by_writers;
  told_without_room_ = without_room;
  look_ms_ = now_ms + (line.empty() ? kLookMs : kPauseMs);
  return line;
}

}  // namespace pztrace
