// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/compare/run_comparison.h"

#include <math.h>

#include <algorithm>

namespace pztrace {

namespace {

// REQUIRES: |sorted| is not empty.
double MedianOf(const std::vector<double>& sorted) {
  const size_t half = sorted.size() / 2;
  return sorted.size() % 2 != 0 ? sorted[half]
                                : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace

double Change::LeastDifference() const {
  if (!interval)
    return 0;
  return std::max({0.0, interval->low, -interval->high});
}

Change RunComparer::Compare(std::vector<double> before,
                            std::vector<double> after) {
  const auto least = [](const std::vector<double>& values) {
    return *std::min_element(values.begin(), values.end());
  };
  const bool has_factors =
      least(before) > 0 && (!is_paired_ || least(after) > 0);
  std::vector<double> differences =
      is_paired_ ? DifferencesOfPairs(before, after, has_factors)
                 : DifferencesOfSides(before, after);
  std::sort(differences.begin(), differences.end());
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  Change change;
  change.before = MedianOf(before);
  change.after = MedianOf(after);
  std::vector<double> factors;
  if (has_factors && is_paired_) {
    for (double& difference : differences) {
      const double part = expm1(difference);
      factors.push_back(1 + part);
      difference = part * change.before;
    }
  } else if (has_factors) {
    for (const double old : before) {
      for (const double now : after)
        factors.push_back(now / old);
    }
  }
  std::sort(factors.begin(), factors.end());
  change.difference = MedianOf(differences);
  if (has_factors)
    change.factor = MedianOf(factors);

  const Tail& tail = TailOf(before.size(), after.size());
  // Equal numbers count for either side, so ties make no alarms.
  const auto first_above =
      std::upper_bound(differences.begin(), differences.end(), 0.0);
  const auto first_not_below =
      std::lower_bound(differences.begin(), differences.end(), 0.0);
  const auto rarer = static_cast<size_t>(std::min(
      first_above - differences.begin(), differences.end() - first_not_below));
  change.p_value = std::min(1.0, 2 * tail[rarer]);

  // An interval leaves out as many pairs at each end as a test would need for
  // an alarm: so it lacks 0 if and only if the test gives one.
  const auto cut = static_cast<size_t>(
      std::upper_bound(tail.begin(), tail.end(), kFalseAlarms / 2) -
      tail.begin());
  if (cut == 0)
    return change;
  const size_t low = cut - 1;
  const size_t high = differences.size() - cut;
  change.interval = {differences[low], differences[high]};
  if (has_factors)
    change.factor_interval = {factors[low], factors[high]};
  return change;
}

std::vector<double> RunComparer::DifferencesOfSides(
    const std::vector<double>& before,
    const std::vector<double>& after) {
  std::vector<double> differences;
  differences.reserve(before.size() * after.size());
  for (const double old : before) {
    for (const double now : after)
      differences.push_back(now - old);
  }
  return differences;
}

std::vector<double> RunComparer::DifferencesOfPairs(
    const std::vector<double>& before,
    const std::vector<double>& after,
    bool of_logarithms) {
  std::vector<double> differences;
  for (size_t i = 0; i < before.size(); ++i) {
    differences.push_back(of_logarithms ? log(after[i]) - log(before[i])
                                        : after[i] - before[i]);
  }
  std::vector<double> means;
  means.reserve(before.size() * (before.size() + 1) / 2);
  for (size_t i = 0; i < differences.size(); ++i) {
    for (size_t j = 0; j <= i; ++j)
      means.push_back((differences[i] + differences[j]) / 2);
  }
  return means;
}

size_t RunComparer::MinRuns() {
  size_t runs = 1;
  while (!HasInterval(runs, runs))
    ++runs;
  return runs;
}

std::vector<bool> RunComparer::StandOut(const std::vector<double>& p_values) {
  std::vector<size_t> order(p_values.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return p_values[a] < p_values[b];
  });
  std::vector<bool> stand_out(p_values.size(), false);
  for (size_t i = 0; i < order.size(); ++i) {
    const double limit = kFalseAlarms / static_cast<double>(order.size() - i);
    if (p_values[order[i]] > limit)
      break;
    stand_out[order[i]] = true;
  }
  return stand_out;
}

const RunComparer::Tail& RunComparer::TailOf(size_t num_before,
                                             size_t num_after) {
  Tail& tail = tails_[{num_before, num_after}];
  if (tail.empty()) {
    tail =
        is_paired_ ? PairsTail(num_before) : SidesTail(num_before, num_after);
  }
  return tail;
}

RunComparer::Tail RunComparer::PairsTail(size_t num_pairs) {
  // The sum of the ranks of negative pairs: each rank is in it as often as not.
  Tail tail(num_pairs * (num_pairs + 1) / 2 + 1, 0);
  tail[0] = 1;
  for (size_t rank = 1; rank <= num_pairs; ++rank) {
    for (size_t sum = tail.size(); sum-- > 0;)
      tail[sum] = (tail[sum] + (sum >= rank ? tail[sum - rank] : 0)) / 2;
  }
  for (size_t sum = 1; sum < tail.size(); ++sum)
    tail[sum] += tail[sum - 1];
  return tail;
}

RunComparer::Tail RunComparer::SidesTail(size_t num_before, size_t num_after) {
  // The numbers of splits by rank sum are the coefficients of the Gaussian
  // binomial, the product of (1 - x^(num_after + i)) / (1 - x^i). Each step
  // makes them probabilities, because the numbers of splits have no limit.
  Tail tail(num_before * num_after + 1, 0);
  tail[0] = 1;
  for (size_t i = 1; i <= num_before; ++i) {
    for (size_t sum = tail.size(); sum-- > num_after + i;)
      tail[sum] -= tail[sum - num_after - i];
    for (size_t sum = i; sum < tail.size(); ++sum)
      tail[sum] += tail[sum - i];
    const double part =
        static_cast<double>(i) / static_cast<double>(num_after + i);
    for (double& probability : tail)
      probability *= part;
  }
  for (size_t sum = 1; sum < tail.size(); ++sum)
    tail[sum] += tail[sum - 1];
  return tail;
}

}  // namespace pztrace
