// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/slot_assigner.h"

namespace ninja_trace {

size_t SlotAssigner::Acquire(uint64_t end) {
  size_t slot;
  if (free_slots_.empty()) {
    slot = slot_count_++;
  } else {
    slot = free_slots_.top();
    free_slots_.pop();
  }
  busy_slots_.emplace(end, slot);
  return slot;
}

bool SlotAssigner::ReleaseNext(uint64_t time, Ended* ended) {
  if (busy_slots_.empty() || busy_slots_.top().first > time)
    return false;
  ended->time = busy_slots_.top().first;
  ended->slot = busy_slots_.top().second;
  busy_slots_.pop();
  free_slots_.push(ended->slot);
  return true;
}

}  // namespace ninja_trace
