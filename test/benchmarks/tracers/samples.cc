// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/tracers/samples.h"

#include <math.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>

namespace protozero {
namespace bench {

namespace {

double MedianOf(std::vector<double> values) {
  if (values.empty())
    return NAN;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

Disturbances Disturbances::OfThisThread() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  Disturbances result;
  result.preemptions = usage.ru_nivcsw;
  result.waits = usage.ru_nvcsw;
  result.page_faults = usage.ru_minflt + usage.ru_majflt;
  return result;
}

Disturbances Disturbances::Since(const Disturbances& before) const {
  Disturbances result;
  result.preemptions = preemptions - before.preemptions;
  result.waits = waits - before.waits;
  result.page_faults = page_faults - before.page_faults;
  return result;
}

void Row::Add(int round, const Sample& sample) {
  samples_.push_back({round, sample});
}

double Row::ns_per_event() const {
  struct Sum {
    double ns = 0;
    int samples = 0;
  };
  std::map<int, Sum> rounds;
  for (const InRound& it : samples_) {
    if (!it.sample.counts())
      continue;
    Sum& sum = rounds[it.round];
    sum.ns += it.sample.ns_per_event;
    ++sum.samples;
  }
  std::vector<double> means;
  for (const auto& [round, sum] : rounds)
    means.push_back(sum.ns / sum.samples);
  return MedianOf(std::move(means));
}

double Row::page_faults_per_sample() const {
  int64_t sum = 0;
  for (const InRound& it : samples_)
    sum += it.sample.disturbances.page_faults;
  return samples_.empty()
             ? 0
             : static_cast<double>(sum) / static_cast<double>(samples_.size());
}

int64_t Row::waits() const {
  int64_t sum = 0;
  for (const InRound& it : samples_)
    sum += it.sample.disturbances.waits;
  return sum;
}

size_t Row::left_out() const {
  return static_cast<size_t>(
      std::count_if(samples_.begin(), samples_.end(),
                    [](const InRound& it) { return !it.sample.counts(); }));
}

void SingleCalls::Add(const Sample& call) {
  if (call.counts())
    ns_.push_back(call.ns_per_event);
  else
    ++left_out_;
}

// A thousandth of a thousand is not exactly one.
constexpr double kRoundingError = 1e-6;

double SingleCalls::Percentile(double percent) {
  if (ns_.empty())
    return NAN;
  std::sort(ns_.begin(), ns_.end());
  const double rank =
      ceil(percent / 100 * static_cast<double>(ns_.size()) - kRoundingError);
  const size_t number = std::max<size_t>(static_cast<size_t>(rank), 1);
  return ns_[std::min(number, ns_.size()) - 1];
}

}  // namespace bench
}  // namespace protozero
