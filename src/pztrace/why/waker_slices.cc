// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/why/waker_slices.h"

namespace pztrace {

void WakerSlices::Want(const ThreadCauses& causes) {
  for (const ThreadCauses::Wait& wait : causes.waits) {
    // A thread has nothing to do with an interrupt that found it.
    if (wait.waker && wait.waker->thread != ThreadStateTable::kNone &&
        !wait.waker->is_in_interrupt) {
      places_[wait.waker->thread].try_emplace(wait.waker->time_ns);
    }
  }
}

void WakerSlices::Add(const Slice& slice,
                      uint32_t thread,
                      const TimelineReader& reader) {
  const auto of_thread = places_.find(thread);
  if (of_thread == places_.end())
    return;
  auto place = of_thread->second.lower_bound(slice.begin_ns);
  const auto end =
      of_thread->second.lower_bound(slice.begin_ns + slice.duration_ns);
  for (; place != end; ++place) {
    Place& known = place->second;
    if (known.text != nullptr && known.depth >= slice.depth)
      continue;
    known.text = slice.text;
    known.depth = slice.depth;
    known.args.clear();
    if (!slice.details->args.empty())
      reader.AppendArgs(*slice.details, &known.args);
  }
}

const WakerSlices::Place* WakerSlices::Find(
    const ThreadCauses::Waker& waker) const {
  const auto of_thread = places_.find(waker.thread);
  if (of_thread == places_.end())
    return nullptr;
  const auto place = of_thread->second.find(waker.time_ns);
  return place == of_thread->second.end() || place->second.text == nullptr
             ? nullptr
             : &place->second;
}

}  // namespace pztrace
