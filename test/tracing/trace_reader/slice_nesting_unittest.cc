// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/slice_nesting.h"

#include <stdint.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace {

using protozero::EventDetails;
using protozero::internal::DetailsPool;
using protozero::internal::NestedSlice;
using protozero::internal::SliceNesting;
using protozero::internal::SliceSink;
using protozero::internal::TextTable;
using protozero::internal::TimedEvent;

// Writes slices as "name begin+duration self depth".
class SliceNestingTest : public testing::Test, public SliceSink {
 protected:
  void OnSlice(const NestedSlice& slice) override {
    slices_.push_back(TextOf(slice) + details_.Get(slice.details).args);
  }
  void OnUnfinished(const NestedSlice& slice) override {
    unfinished_.push_back(TextOf(slice));
  }

  void Add(TimedEvent::Kind kind,
           uint64_t time_ns,
           uint32_t text_or_duration,
           uint32_t epoch = 1,
           const char* args = "") {
    EventDetails details;
    details.args = args;
    nesting_.OnEvent({time_ns,
                      0,
                      {text_or_duration},
                      details_.Keep(&details),
                      epoch & TimedEvent::kEpochMask,
                      kind & TimedEvent::kKindMask,
                      is_early_});
  }
  uint32_t Text(const char* name, const char* category = "") {
    return texts_.TextOf(texts_.Intern(category), texts_.Intern(name));
  }
  void Begin(uint64_t time_ns, const char* name, uint32_t epoch = 1) {
    Add(TimedEvent::kBegin, time_ns, Text(name, "c"), epoch);
  }
  void End(uint64_t time_ns) {
    Add(TimedEvent::kEnd, time_ns, TimedEvent::kNoText);
  }

  std::string TextOf(const NestedSlice& slice) {
    return texts_.text(slice.text).name + " " + std::to_string(slice.begin_ns) +
           "+" + std::to_string(slice.end_ns - slice.begin_ns) + " " +
           std::to_string(slice.self_ns) + " " + std::to_string(slice.depth);
  }

  TextTable texts_;
  DetailsPool details_;
  SliceNesting nesting_{&texts_, &details_, this};
  std::vector<std::string> slices_;
  std::vector<std::string> unfinished_;
  bool is_early_ = false;
};

using Slices = std::vector<std::string>;

TEST_F(SliceNestingTest, Nests) {
  Begin(10, "a");
  Begin(20, "b");
  End(25);
  Begin(30, "c");
  End(35);
  End(40);
  End(41);
  EXPECT_EQ(slices_, (Slices{"b 20+5 5 1", "c 30+5 5 1", "a 10+30 20 0"}));
  EXPECT_EQ(nesting_.unbegun(), 1u);
}

TEST_F(SliceNestingTest, AnEndByNameEndsThoseWithin) {
  Begin(10, "a");
  Begin(20, "b");
  Add(TimedEvent::kEnd, 30, Text("a"));
  Add(TimedEvent::kEnd, 40, Text("b"));
  Begin(50, "a");
  Add(TimedEvent::kEnd, 60, Text("", "other"));
  Add(TimedEvent::kEnd, 70, Text("", "c"));
  EXPECT_EQ(slices_, (Slices{"b 20+10 10 1", "a 10+20 10 0", "a 50+20 20 0"}));
  EXPECT_EQ(nesting_.unbegun(), 2u);
}

TEST_F(SliceNestingTest, ScopesOverlap) {
  Begin(10, "a");
  Begin(20, "b");
  Add(TimedEvent::kExactEnd, 30, 20);  // a
  Add(TimedEvent::kExactEnd, 50, 30);  // b
  // This is the end of no slice.
  Add(TimedEvent::kExactEnd, 60, 7);
  EXPECT_EQ(slices_, (Slices{"a 10+20 10 0", "b 20+30 30 1"}));
  EXPECT_EQ(nesting_.unbegun(), 0u);
  // This slice begins after its end.
  Begin(53, "late");
  EXPECT_EQ(slices_.back(), "late 53+7 7 0");
}

TEST_F(SliceNestingTest, ALossEndsTheSlicesOfItsSequence) {
  Begin(10, "a", 1);
  Begin(20, "other", 2);
  Begin(30, "b", 1);
  Add(TimedEvent::kLoss, 40, 0, 1);
  EXPECT_EQ(nesting_.lost_ends(), 2u);
  End(50);
  nesting_.Finish(100);
  EXPECT_EQ(slices_, (Slices{"other 20+30 30 1"}));
  EXPECT_EQ(nesting_.unfinished(), 2u);
}

TEST_F(SliceNestingTest, StatesFollowEachOther) {
  Add(TimedEvent::kState, 10, Text("on"));
  Add(TimedEvent::kState, 20, Text("off"));
  Add(TimedEvent::kState, 30, TimedEvent::kNoText);
  Add(TimedEvent::kState, 40, Text("on"));
  nesting_.Finish(100);
  EXPECT_EQ(slices_, (Slices{"on 10+10 10 0", "off 20+10 10 0"}));
  EXPECT_EQ(unfinished_, (Slices{"on 40+60 60 0"}));
}

TEST_F(SliceNestingTest, AnEndThatIsEarly) {
  is_early_ = true;
  End(9);
  is_early_ = false;
  Begin(10, "a");
  Begin(20, "b");
  End(25);
  EXPECT_EQ(slices_, (Slices{"a 10+0 0 0", "b 20+5 5 0"}));
  EXPECT_EQ(nesting_.unbegun(), 0u);
}

TEST_F(SliceNestingTest, OpenSlicesLastToTheEnd) {
  Begin(10, "a");
  Begin(20, "b");
  Begin(30, "c");
  End(40);
  nesting_.Finish(100);
  EXPECT_EQ(unfinished_, (Slices{"b 20+80 70 1", "a 10+90 10 0"}));
  EXPECT_EQ(nesting_.unfinished(), 2u);
}

TEST_F(SliceNestingTest, DetailsOfBothEnds) {
  Add(TimedEvent::kBegin, 10, Text("a"), 1, "x");
  Add(TimedEvent::kEnd, 20, TimedEvent::kNoText, 1, "y");
  Add(TimedEvent::kBegin, 30, Text("b"));
  Add(TimedEvent::kEnd, 40, TimedEvent::kNoText, 1, "z");
  EXPECT_EQ(slices_, (Slices{"a 10+10 10 0x,y", "b 30+10 10 0z"}));
  EXPECT_EQ(details_.num_bytes(), 0u);
}

// Open slices must not be searched again and again.
TEST_F(SliceNestingTest, TimeDependsOnTheNumberOfEvents) {
  constexpr uint32_t kSlices = 200000;
  for (uint32_t i = 0; i < kSlices; ++i)
    Begin(i, "a");
  for (uint32_t i = 0; i < kSlices; ++i)
    Add(TimedEvent::kEnd, kSlices + i, Text("b"));
  EXPECT_EQ(nesting_.unbegun(), kSlices);
  EXPECT_TRUE(slices_.empty());
}

}  // namespace
