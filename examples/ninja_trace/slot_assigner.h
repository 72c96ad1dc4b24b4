// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_NINJA_TRACE_SLOT_ASSIGNER_H_
#define EXAMPLES_NINJA_TRACE_SLOT_ASSIGNER_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace ninja_trace {

// Spreads intervals over as few slots as possible, so that those of one slot do
// not overlap. The log does not say which of ninja's jobs ran a command; this
// gives a picture of the same width.
//
// Intervals are given in the order of their beginnings. Each takes the lowest
// slot that is free: the number of slots is then the largest number of
// intervals that overlap. Beginnings and endings come out in order of time:
//
//   for (const Interval& interval : intervals) {
//     while (slots.ReleaseNext(interval.begin, &ended)) { ... }
//     size_t slot = slots.Acquire(interval.end); ...
//   }
//   while (slots.ReleaseNext(kForever, &ended)) { ... }
class SlotAssigner {
 public:
  static constexpr uint64_t kForever = UINT64_MAX;

  struct Ended {
    size_t slot;
    uint64_t time;
  };

  // Takes the lowest free slot until |end|, and returns it.
  size_t Acquire(uint64_t end);

  // Frees the slot of the interval that ends first, if it ends by |time|. Sets
  // |ended| and returns true if it did. An interval may begin when another
  // ends.
  bool ReleaseNext(uint64_t time, Ended* ended);

  // Returns the number of slots so far, free or not.
  size_t slot_count() const { return slot_count_; }

 private:
  template <typename T>
  using MinHeap = std::priority_queue<T, std::vector<T>, std::greater<T>>;

  MinHeap<size_t> free_slots_;
  // The end of each interval, and its slot.
  MinHeap<std::pair<uint64_t, size_t>> busy_slots_;
  size_t slot_count_ = 0;
};

}  // namespace ninja_trace

#endif  // EXAMPLES_NINJA_TRACE_SLOT_ASSIGNER_H_
