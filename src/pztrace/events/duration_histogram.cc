// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/duration_histogram.h"

#include <algorithm>

namespace pztrace {

void DurationHistogram::Add(uint64_t value) {
  const uint32_t step = StepOf(value);
  ++GroupAt(step / kSteps)[step % kSteps];
  ++total_;
}

void DurationHistogram::Merge(const DurationHistogram& other) {
  for (size_t i = 0; i < other.groups_.size(); ++i) {
    if (!other.groups_[i])
      continue;
    Group& group = GroupAt(i);
    for (uint32_t step = 0; step < kSteps; ++step)
      group[step] += (*other.groups_[i])[step];
  }
  total_ += other.total_;
}

uint64_t DurationHistogram::Percentile(uint64_t percent) const {
  return total_ == 0 ? 0 : EndOf(PlaceOf(percent).step);
}

double DurationHistogram::SmoothPercentile(uint64_t percent) const {
  if (total_ == 0)
    return 0;
  const Place place = PlaceOf(percent);
  // Durations are whole nanoseconds, so a step is as wide as it has values.
  const double begin =
      place.step == 0 ? -1 : static_cast<double>(EndOf(place.step - 1));
  const double end = static_cast<double>(EndOf(place.step));
  const double value = begin + 0.5 + (end - begin) * place.part;
  return std::clamp(value, 0.0, end);
}

DurationHistogram::Place DurationHistogram::PlaceOf(uint64_t percent) const {
  // Divides first, so that no number of durations overflows.
  const uint64_t rest = 100 - percent;
  uint64_t left = total_ - (total_ / 100 * rest + total_ % 100 * rest / 100);
  for (uint32_t step = 0; step < groups_.size() * kSteps; ++step) {
    const auto& group = groups_[step / kSteps];
    const uint64_t count = group ? (*group)[step % kSteps] : 0;
    if (count >= left)
      return {step, static_cast<double>(left) / static_cast<double>(count)};
    left -= count;
  }
  return {0, 0};
}

uint32_t DurationHistogram::StepOf(uint64_t value) {
  if (value < 2 * kSteps)
    return static_cast<uint32_t>(value);
  const auto shift = static_cast<uint32_t>(59 - __builtin_clzll(value));
  return shift * kSteps + static_cast<uint32_t>(value >> shift);
}

uint64_t DurationHistogram::EndOf(uint32_t step) {
  if (step < 2 * kSteps)
    return step;
  const uint32_t shift = step / kSteps - 1;
  const uint64_t first = step - shift * kSteps;
  return (first << shift) + ((uint64_t{1} << shift) - 1);
}

DurationHistogram::Group& DurationHistogram::GroupAt(size_t index) {
  if (index >= groups_.size())
    groups_.resize(index + 1);
  if (!groups_[index])
    groups_[index] = std::make_unique<Group>();
  return *groups_[index];
}

}  // namespace pztrace
