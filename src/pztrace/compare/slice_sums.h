// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_COMPARE_SLICE_SUMS_H_
#define SRC_PZTRACE_COMPARE_SLICE_SUMS_H_

#include <stdint.h>

#include <algorithm>

#include "src/pztrace/events/duration_histogram.h"
#include "src/pztrace/events/thread_times.h"
#include "src/pztrace/events/timeline_reader.h"

namespace pztrace {

// The sums of slices, such as those of one name. Times are in nanoseconds.
struct SliceSums {
  uint64_t count = 0;
  uint64_t total = 0;
  uint64_t self = 0;
  uint64_t max = 0;
  DurationHistogram histogram;
  // The sums of how threads spent their time in slices, and the number of those
  // for which that is known.
  TimeDivision divided;
  uint64_t num_divided = 0;

  void Add(const Slice& slice) {
    AddTimes(slice);
    histogram.Add(slice.duration_ns);
  }
  // Adds to all but the histogram.
  void AddTimes(const Slice& slice) {
    ++count;
    total += slice.duration_ns;
    self += slice.self_ns;
    max = std::max(max, slice.duration_ns);
  }
  void AddDivision(const TimeDivision& times) {
    divided.Add(times);
    ++num_divided;
  }
  void Merge(const SliceSums& other) {
    count += other.count;
    total += other.total;
    self += other.self;
    max = std::max(max, other.max);
    histogram.Merge(other.histogram);
    divided.Add(other.divided);
    num_divided += other.num_divided;
  }
  // REQUIRES: there are slices.
  uint64_t mean() const { return total / count; }
  uint64_t p99() const { return std::min(max, histogram.Percentile(99)); }
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_COMPARE_SLICE_SUMS_H_
