// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/compare/run_comparison.h"

#include <math.h>
#include <stddef.h>

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace pztrace {
namespace {

// Statistics do not depend on the build: release checks them with many samples,
// and debug, which takes ten times as long, with fewer.
#if defined(NDEBUG)
constexpr bool kIsRelease = true;
#else
constexpr bool kIsRelease = false;
#endif

using Values = std::vector<double>;

// Makes the numbers of runs.
class Runs {
 public:
  // Returns times that have a long tail, as if a run in ten met a neighbour.
  double SkewedTime() {
    const double time = exp(0.3 * normal_(random_));
    return uniform_(random_) < 0.1 ? 3 * time : time;
  }
  // Returns a factor of 1 on average, which differs by |deviation|, and is more
  // often a little below 1 than far above.
  double SkewedFactor(double deviation) {
    return 1 + deviation * (-log(1 - uniform_(random_)) - 1);
  }

 private:
  std::mt19937 random_{1};
  std::normal_distribution<double> normal_{0, 1};
  std::uniform_real_distribution<double> uniform_{0, 1};
};

bool IsAlarm(const Change& change) {
  return change.interval && change.interval->excludes(0);
}

Values PValuesOf(const std::vector<Change>& changes) {
  Values p_values;
  for (const Change& change : changes)
    p_values.push_back(change.p_value);
  return p_values;
}

TEST(RunComparerTest, OneRunOfEachSideHasNoInterval) {
  const Change change = RunComparer().Compare({10}, {30});
  EXPECT_EQ(change.difference, 20);
  EXPECT_EQ(change.factor, 3);
  EXPECT_FALSE(change.interval);
  EXPECT_FALSE(change.factor_interval);
  EXPECT_EQ(change.p_value, 1);
  EXPECT_EQ(change.LeastDifference(), 0);
}

TEST(RunComparerTest, FourRunsOfEachSideHaveOne) {
  RunComparer comparer;
  EXPECT_EQ(comparer.MinRuns(), 4u);
  // Two of the 70 splits of eight runs are as extreme as this one, so the
  // interval has all differences.
  const Change change = comparer.Compare({4, 2, 3, 1}, {13, 14, 12, 15});
  EXPECT_NEAR(change.p_value, 2.0 / 70, 1e-12);
  ASSERT_TRUE(change.interval);
  EXPECT_EQ(change.interval->low, 8);
  EXPECT_EQ(change.interval->high, 14);
  EXPECT_EQ(change.difference, 11);
  EXPECT_EQ(change.LeastDifference(), 8);
  EXPECT_EQ(change.factor_interval->low, 3);
  EXPECT_EQ(change.factor_interval->high, 15);

  EXPECT_FALSE(comparer.Compare({1, 2, 3}, {11, 12, 13}).interval);
  EXPECT_TRUE(comparer.Compare({1, 2, 3}, {11, 12, 13, 14, 15}).interval);
}

TEST(RunComparerTest, KnowsTheTablesOfTheRankSum) {
  // The critical value of 5 % is 23 of the 100 pairs for ten runs a side, so
  // the interval leaves out 23 pairs at each end.
  Values before(10);
  Values after(10);
  for (size_t i = 0; i < 10; ++i) {
    before[i] = static_cast<double>(10 * i);
    after[i] = 1000 + static_cast<double>(i);
  }
  Values differences;
  for (const double old : before) {
    for (const double now : after)
      differences.push_back(now - old);
  }
  std::sort(differences.begin(), differences.end());
  const Change change = RunComparer().Compare(before, after);
  ASSERT_TRUE(change.interval);
  EXPECT_EQ(change.interval->low, differences[23]);
  EXPECT_EQ(change.interval->high, differences[99 - 23]);
  // Without a factor, since a run before has nothing.
  EXPECT_FALSE(change.factor);
  EXPECT_FALSE(change.factor_interval);
}

TEST(RunComparerTest, EqualRunsAreNoChange) {
  const Change change = RunComparer().Compare(Values(10, 7), Values(10, 7));
  ASSERT_TRUE(change.interval);
  EXPECT_EQ(change.interval->low, 0);
  EXPECT_EQ(change.interval->high, 0);
  EXPECT_FALSE(IsAlarm(change));
  EXPECT_EQ(change.p_value, 1);
}

TEST(RunComparerTest, ManyRunsHaveProbabilities) {
  constexpr int kNumRuns = kIsRelease ? 400 : 100;
  Values before;
  for (int i = 0; i < kNumRuns; ++i)
    before.push_back(i);
  const Change change = RunComparer().Compare(before, before);
  EXPECT_EQ(change.p_value, 1);
  ASSERT_TRUE(change.interval);
  EXPECT_FALSE(IsAlarm(change));
  // The normal distribution would give 0 -+ 16 for 400 evenly spread ones, and
  // 0 -+ 8 for 100.
  EXPECT_NEAR(change.interval->high, kIsRelease ? 16 : 8, kIsRelease ? 3 : 1.5);
}

TEST(RunComparerTest, UnchangedRunsGiveNoMoreAlarmsThanPromised) {
  constexpr int kComparisons = kIsRelease ? 1000 : 200;
  constexpr size_t kFunctions = 40;
  for (const size_t num_runs : {size_t{4}, size_t{5}, size_t{10}}) {
    Runs runs;
    RunComparer comparer;
    int alarms = 0;
    int comparisons_that_stand_out = 0;
    for (int i = 0; i < kComparisons; ++i) {
      std::vector<Values> before(kFunctions);
      std::vector<Values> after(kFunctions);
      for (auto* side : {&before, &after}) {
        for (size_t run = 0; run < num_runs; ++run) {
          // The luck of a run is that of all its functions.
          const double luck = runs.SkewedTime();
          for (Values& values : *side)
            values.push_back(luck * runs.SkewedTime());
        }
      }
      std::vector<Change> changes;
      for (size_t f = 0; f < kFunctions; ++f) {
        changes.push_back(comparer.Compare(before[f], after[f]));
        alarms += IsAlarm(changes.back());
        EXPECT_EQ(IsAlarm(changes.back()),
                  changes.back().factor_interval->excludes(1));
      }
      bool stands_out = false;
      for (const bool one : RunComparer::StandOut(PValuesOf(changes)))
        stands_out |= one;
      comparisons_that_stand_out += stands_out;
    }
    EXPECT_LE(alarms, 0.05 * kComparisons * kFunctions) << num_runs;
    // Fewer would mean that the intervals are wider than they need to be.
    EXPECT_GE(alarms, 0.02 * kComparisons * kFunctions) << num_runs;
    EXPECT_LE(comparisons_that_stand_out, 0.05 * kComparisons) << num_runs;
  }
}

TEST(RunComparerTest, SixPairsHaveAnInterval) {
  RunComparer comparer(/*is_paired=*/true);
  EXPECT_EQ(comparer.MinRuns(), 6u);
  EXPECT_FALSE(comparer.HasInterval(5, 5));
  const Values after = {13, 51, 22, 64, 46, 35};
  Change change = comparer.Compare({10, 50, 20, 60, 40, 30}, after);
  EXPECT_EQ(change.before, 35);
  EXPECT_DOUBLE_EQ(change.p_value, 2.0 / 64);
  EXPECT_NEAR(change.factor_interval->low, 1.02, 1e-9);
  EXPECT_NEAR(change.factor_interval->high, 1.3, 1e-9);
  EXPECT_NEAR(change.interval->low, 0.02 * 35, 1e-9);
  EXPECT_NEAR(change.interval->high, 0.3 * 35, 1e-9);
  EXPECT_NEAR(change.difference, (*change.factor - 1) * 35, 1e-9);
  // Without factors, it uses the differences: 3, 1, 2, 4, 6 and 5.
  change = comparer.Compare({0, 50, 20, 60, 40, 30}, {3, 51, 22, 64, 46, 35});
  EXPECT_FALSE(change.factor);
  EXPECT_EQ(change.difference, 3.5);
  EXPECT_EQ(change.interval->low, 1);
  EXPECT_EQ(change.interval->high, 6);
  // The same if a run after has nothing: no factor is below 0.
  change = comparer.Compare(after, {0, 50, 20, 60, 40, 30});
  EXPECT_FALSE(change.factor);
  EXPECT_EQ(change.difference, -4.5);
}

TEST(RunComparerTest, KnowsTheTablesOfTheSignedRank) {
  // The largest sums of ranks that are significant on both sides at 5 %.
  constexpr size_t kLargest[][2] = {{6, 0},  {7, 2},   {8, 3},   {9, 5},
                                    {10, 8}, {15, 25}, {20, 52}, {30, 137}};
  for (const auto& [num_pairs, largest] : kLargest) {
    RunComparer comparer(/*is_paired=*/true);
    for (const size_t sum : {largest, largest + 1}) {
      // The differences are the ranks; those of |sum| are negative.
      size_t rest = sum;
      const Values before(num_pairs, 0);
      Values after;
      for (size_t rank = num_pairs; rank > 0; --rank) {
        const bool is_negative = rank <= rest;
        rest -= is_negative ? rank : 0;
        const auto difference = static_cast<double>(rank);
        after.push_back(is_negative ? -difference : difference);
      }
      EXPECT_EQ(IsAlarm(comparer.Compare(before, after)), sum == largest)
          << num_pairs;
    }
  }
}

TEST(RunComparerTest, PairsDoWithoutWhatChangesBothAlike) {
  Runs runs;
  Values before;
  Values after;
  for (int i = 0; i < 30; ++i) {
    // The machine becomes slower and slower.
    const double level = 100 * (1 + 0.05 * i);
    before.push_back(level * runs.SkewedFactor(0.01));
    after.push_back(1.03 * level * runs.SkewedFactor(0.01));
  }
  const Change sides = RunComparer().Compare(before, after);
  const Change pairs = RunComparer(/*is_paired=*/true).Compare(before, after);
  EXPECT_FALSE(IsAlarm(sides));
  EXPECT_TRUE(IsAlarm(pairs));
  EXPECT_FALSE(pairs.factor_interval->excludes(1.03));
  EXPECT_LT(pairs.interval->high - pairs.interval->low,
            (sides.interval->high - sides.interval->low) / 10);
}

TEST(RunComparerTest, UnchangedPairsGiveNoMoreAlarmsThanPromised) {
  constexpr int kComparisons = kIsRelease ? 4000 : 1000;
  for (const size_t num_pairs : {size_t{6}, size_t{10}, size_t{30}}) {
    Runs runs;
    RunComparer comparer(/*is_paired=*/true);
    int alarms = 0;
    for (int i = 0; i < kComparisons; ++i) {
      Values before;
      Values after;
      for (size_t run = 0; run < num_pairs; ++run) {
        const double level = runs.SkewedTime() * static_cast<double>(run + 1);
        before.push_back(level * runs.SkewedTime());
        after.push_back(level * runs.SkewedTime());
      }
      const Change change = comparer.Compare(before, after);
      alarms += IsAlarm(change);
      EXPECT_EQ(IsAlarm(change), change.factor_interval->excludes(1));
      EXPECT_EQ(IsAlarm(change), change.p_value <= 0.05);
    }
    // Three times the standard deviation of the number, 14 or 7.
    EXPECT_LE(alarms, 0.05 * kComparisons + (kIsRelease ? 42 : 21))
        << num_pairs;
    EXPECT_GE(alarms, 0.02 * kComparisons) << num_pairs;
  }
}

TEST(RunComparerTest, FindsThreePercentInOneFunctionOfAHundred) {
  constexpr int kComparisons = 100;
  constexpr size_t kRuns = 10;
  constexpr size_t kFunctions = 100;
  // Rows stand out by self or by p50: the second half are these.
  constexpr size_t kNumbers = 2 * kFunctions;
  constexpr size_t kChanged = 42;
  Runs runs;
  RunComparer comparer;
  int found = 0;
  int first = 0;
  int stood_out = 0;
  int with_others = 0;
  int covered = 0;
  for (int i = 0; i < kComparisons; ++i) {
    std::vector<Values> before(kNumbers);
    std::vector<Values> after(kNumbers);
    for (auto* side : {&before, &after}) {
      for (size_t run = 0; run < kRuns; ++run) {
        // Both together make the times of runs differ by 1.1 %.
        const double luck = runs.SkewedFactor(0.005);
        for (size_t f = 0; f < kNumbers; ++f) {
          const bool is_changed = side == &after && f % kFunctions == kChanged;
          (*side)[f].push_back(luck * runs.SkewedFactor(0.01) *
                               (is_changed ? 1.03 : 1));
        }
      }
    }
    std::vector<Change> changes;
    for (size_t f = 0; f < kNumbers; ++f)
      changes.push_back(comparer.Compare(before[f], after[f]));
    const std::vector<bool> stand_out =
        RunComparer::StandOut(PValuesOf(changes));
    bool others_stand_out = false;
    bool is_first = true;
    for (size_t f = 0; f < kFunctions; ++f) {
      if (f == kChanged)
        continue;
      others_stand_out |= stand_out[f] || stand_out[f + kFunctions];
      is_first &=
          changes[f].LeastDifference() < changes[kChanged].LeastDifference();
    }
    found += IsAlarm(changes[kChanged]);
    first += is_first;
    stood_out += stand_out[kChanged] || stand_out[kChanged + kFunctions];
    with_others += others_stand_out;
    covered += !changes[kChanged].factor_interval->excludes(1.03);
  }
  EXPECT_GE(found, 98);
  EXPECT_GE(first, 95);
  EXPECT_GE(stood_out, 85);
  EXPECT_LE(with_others, 8);
  EXPECT_GE(covered, 90);
}

}  // namespace
}  // namespace pztrace
