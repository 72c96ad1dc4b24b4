// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_COMPARE_RUN_COMPARISON_H_
#define SRC_PZTRACE_COMPARE_RUN_COMPARISON_H_

#include <stddef.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

// Compares a number that each run of a program has, such as the time in one
// function, before and after a change. A run counts as one observation, however
// many slices it has: those of one run share its luck with memory, caches and
// neighbours, so they are not independent.
//
// The intervals are those of Hodges and Lehmann for the rank sum test of
// Wilcoxon, Mann and Whitney. They use only the order of the differences
// between each run before and each run after. If nothing has changed, each way
// to split the runs into two sides is equally likely, whatever the distribution
// of times is: so the rate of false alarms holds for few runs and skewed times,
// without an approximation.
//
// Runs in pairs have the intervals of the signed rank test, from the means of
// each two differences within a pair: those of logarithms, that is of factors,
// unless a number is 0. They do without whatever changes both runs of a pair
// alike. If nothing has changed, either run of a pair is as
// likely to have been the one before.

namespace pztrace {

// The interval of confidence of a change.
struct ChangeInterval {
  double low;
  double high;

  // Returns whether the interval has the value only on one side.
  bool excludes(double value) const { return low > value || high < value; }
};

// The change of a number from the runs before to those after.
struct Change {
  double before = 0;  // Medians.
  double after = 0;
  // The median of the differences between each run before and each run after,
  // or of the means of each two pairs' differences, and its interval. Null if
  // there are too few runs for one.
  double difference = 0;
  std::optional<ChangeInterval> interval;
  // The same for the factors, of which |difference| is a part of |before| for
  // pairs. Null if a run before has nothing, too, or any run of a pair.
  std::optional<double> factor;
  std::optional<ChangeInterval> factor_interval;
  // The probability of such a rank sum, or a rarer one, if nothing has changed.
  double p_value = 1;

  // Returns the least change in the interval, without its sign: 0 if the
  // interval contains 0, or if there is no interval.
  double LeastDifference() const;
};

class RunComparer {
 public:
  // The probability that an interval of an unchanged number lacks 0.
  static constexpr double kFalseAlarms = 0.05;

  // If |is_paired|, runs at the same place of both sides are a pair.
  explicit RunComparer(bool is_paired = false) : is_paired_(is_paired) {}

  // Compares runs, at least one of which is on each side. REQUIRES: the sides
  // have as many, if these are pairs.
  Change Compare(std::vector<double> before, std::vector<double> after);

  bool is_paired() const { return is_paired_; }
  // Returns whether that many runs are enough for an interval.
  bool HasInterval(size_t num_before, size_t num_after) {
    return TailOf(num_before, num_after)[0] <= kFalseAlarms / 2;
  }
  // Returns how many runs of each side an interval needs.
  size_t MinRuns();

  // Returns which changes stand out among all, by their p values: if nothing
  // has changed, the probability that any does is at most kFalseAlarms, however
  // the numbers depend on each other (Holm's method).
  static std::vector<bool> StandOut(const std::vector<double>& p_values);

 private:
  using Tail = std::vector<double>;

  // Return what the interval is taken from, in no order: the differences
  // between each two runs, or the means of each two pairs' differences.
  static std::vector<double> DifferencesOfSides(
      const std::vector<double>& before,
      const std::vector<double>& after);
  static std::vector<double> DifferencesOfPairs(
      const std::vector<double>& before,
      const std::vector<double>& after,
      bool of_logarithms);
  // Returns the probabilities that at most 0, 1, 2 and so on of the differences
  // are negative, if nothing has changed.
  const Tail& TailOf(size_t num_before, size_t num_after);
  static Tail SidesTail(size_t num_before, size_t num_after);
  static Tail PairsTail(size_t num_pairs);

  const bool is_paired_;
  std::map<std::pair<size_t, size_t>, Tail> tails_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_COMPARE_RUN_COMPARISON_H_
