// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/slot_assigner.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ninja_trace {

namespace {

using ::testing::ElementsAre;

using Interval = std::pair<uint64_t, uint64_t>;

// Returns the slot of each of |intervals|, which are in the order of their
// beginnings.
std::vector<size_t> Assign(const std::vector<Interval>& intervals) {
  SlotAssigner slots;
  std::vector<size_t> assigned;
  SlotAssigner::Ended ended;
  for (const auto& [begin, end] : intervals) {
    while (slots.ReleaseNext(begin, &ended)) {
    }
    assigned.push_back(slots.Acquire(end));
  }
  return assigned;
}

TEST(SlotAssignerTest, IntervalsInARowShareASlot) {
  EXPECT_THAT(Assign({{0, 5}, {5, 6}, {6, 6}, {6, 9}, {20, 30}}),
              ElementsAre(0, 0, 0, 0, 0));
}

TEST(SlotAssignerTest, OverlappingIntervalsGetDifferentSlots) {
  EXPECT_THAT(Assign({{0, 10}, {0, 10}, {9, 11}}), ElementsAre(0, 1, 2));
}

TEST(SlotAssignerTest, LowestFreeSlotIsTaken) {
  EXPECT_THAT(Assign({{0, 30}, {0, 10}, {0, 20}, {15, 40}, {25, 40}, {35, 36}}),
              ElementsAre(0, 1, 2, 1, 2, 0));
}

TEST(SlotAssignerTest, EndsComeInOrderOfTimeThenSlot) {
  SlotAssigner slots;
  slots.Acquire(20);
  slots.Acquire(10);
  slots.Acquire(10);
  SlotAssigner::Ended ended;
  EXPECT_FALSE(slots.ReleaseNext(9, &ended));
  ASSERT_TRUE(slots.ReleaseNext(10, &ended));
  EXPECT_EQ(ended.slot, 1u);
  EXPECT_EQ(ended.time, 10u);
  ASSERT_TRUE(slots.ReleaseNext(10, &ended));
  EXPECT_EQ(ended.slot, 2u);
  EXPECT_FALSE(slots.ReleaseNext(19, &ended));
  ASSERT_TRUE(slots.ReleaseNext(SlotAssigner::kForever, &ended));
  EXPECT_EQ(ended.slot, 0u);
  EXPECT_EQ(ended.time, 20u);
  EXPECT_FALSE(slots.ReleaseNext(SlotAssigner::kForever, &ended));
  EXPECT_EQ(slots.slot_count(), 3u);
}

TEST(SlotAssignerTest, AsManySlotsAsIntervalsOverlapAtMost) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<Interval> intervals(200);
    for (auto& [begin, end] : intervals) {
      begin = random() % 1000;
      end = begin + random() % 50;
    }
    std::sort(intervals.begin(), intervals.end());
    const std::vector<size_t> assigned = Assign(intervals);

    // The most intervals that overlap at the beginning of one, itself included.
    size_t most = 0;
    for (size_t i = 0; i < intervals.size(); ++i) {
      size_t overlapping = 1;
      for (size_t j = 0; j < i; ++j) {
        if (intervals[j].second > intervals[i].first) {
          ++overlapping;
          ASSERT_NE(assigned[i], assigned[j]);
        }
      }
      most = std::max(most, overlapping);
    }
    ASSERT_EQ(*std::max_element(assigned.begin(), assigned.end()) + 1, most);
  }
}

}  // namespace

}  // namespace ninja_trace
