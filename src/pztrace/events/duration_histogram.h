// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_DURATION_HISTOGRAM_H_
#define SRC_PZTRACE_EVENTS_DURATION_HISTOGRAM_H_

#include <stddef.h>
#include <stdint.h>

#include <array>
#include <memory>
#include <vector>

namespace pztrace {

// Counts durations in steps of 1/16 of a power of two, so that percentiles of
// any number of them take little memory. They are right to 6 %.
class DurationHistogram {
 public:
  void Add(uint64_t value);
  // Adds what |other| has counted.
  void Merge(const DurationHistogram& other);

  uint64_t total() const { return total_; }
  // Returns the value that |percent| of the durations do not exceed, 1 to 99,
  // or 0 if there is none.
  uint64_t Percentile(uint64_t percent) const;
  // Returns the same, as if the durations of a step were spread evenly: so it
  // does not jump by a step when a few durations change.
  double SmoothPercentile(uint64_t percent) const;

 private:
  static constexpr uint32_t kSteps = 16;
  using Group = std::array<uint64_t, kSteps>;

  // A step, and the part of its durations that a percentile does not exceed.
  struct Place {
    uint32_t step;
    double part;
  };

  static uint32_t StepOf(uint64_t value);
  // Returns the largest value of the step.
  static uint64_t EndOf(uint32_t step);
  // REQUIRES: there are durations.
  Place PlaceOf(uint64_t percent) const;
  Group& GroupAt(size_t index);

  // Few groups are in use, because most names have durations of one magnitude.
  std::vector<std::unique_ptr<Group>> groups_;
  uint64_t total_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_DURATION_HISTOGRAM_H_
