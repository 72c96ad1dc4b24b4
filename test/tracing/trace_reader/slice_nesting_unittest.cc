// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/slice_nesting.h"

#include <stdint.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace {

using protozero::EventDetails;
using protozero::internal::DetailsPool;
using protozero::internal::NestedSlice;
using protozero::internal::PathId;
using protozero::internal::PathTable;
using protozero::internal::SliceNesting;
using protozero::internal::SliceSink;
using protozero::internal::TextTable;
using protozero::internal::TimedEvent;

// Writes slices as "name begin+duration self depth".
class SliceNestingTest : public testing::Test, public SliceSink {
 protected:
  void OnSlice(const NestedSlice& slice) override {
    last_path_ = slice.path;
    slices_.push_back(TextOf(slice) + details_.Get(slice.details).args);
    parents_[slice.number] = slice.parent;
  }
  void OnUnfinished(const NestedSlice& slice) override {
    unfinished_.push_back(TextOf(slice));
  }
  void OnInstant(const NestedSlice& instant) override {
    instants_.push_back(TextOf(instant) + details_.Get(instant.details).args);
    parents_[instant.number] = instant.parent;
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
  PathTable paths_{5};
  SliceNesting nesting_{&texts_, &details_, this, &paths_};
  std::vector<std::string> slices_;
  std::vector<std::string> unfinished_;
  std::vector<std::string> instants_;
  std::map<uint64_t, uint64_t> parents_;  // By the numbers of slices.
  PathId last_path_ = 0;
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

TEST_F(SliceNestingTest, SlicesWithinTheSameOnesHaveOnePath) {
  std::vector<PathId> inner;
  for (const char* outer : {"a", "b", "a"}) {
    Begin(10, outer);
    Begin(10, "c");
    End(10);
    inner.push_back(last_path_);
    EXPECT_EQ(paths_.text(last_path_), Text("c", "c"));
    End(10);
    EXPECT_EQ(paths_.outer(inner.back()), last_path_);
    EXPECT_EQ(paths_.text(last_path_), Text(outer, "c"));
    EXPECT_EQ(paths_.outer(last_path_), 0u);
  }
  EXPECT_NE(inner[0], inner[1]);
  EXPECT_EQ(inner[0], inner[2]);
}

TEST_F(SliceNestingTest, PathsBeyondTheLimitAreFolded) {
  std::map<std::string, std::set<PathId>> ids;
  const auto add = [&](const std::string& names) {
    for (const char name : names)
      Begin(10, std::string(1, name).c_str());
    for (size_t size = names.size(); size != 0; --size) {
      End(10);
      ids[names.substr(0, size)].insert(last_path_);
    }
  };
  for (int i = 0; i < 2; ++i) {
    for (const char* names : {"abc", "d", "e", "f", "g", "axyz", "abv", "abw"})
      add(names);
  }
  for (const char* names : {"a", "ab", "abc", "d", "e"}) {
    ASSERT_EQ(ids[names].size(), 1u) << names;
    EXPECT_LE(*ids[names].begin(), 5u) << names;
  }
  EXPECT_EQ(ids["f"], ids["g"]);
  EXPECT_EQ(ids["ax"], ids["axyz"]);
  EXPECT_EQ(ids["abv"], ids["abw"]);
  std::set<PathId> folded;
  for (const auto& [names, outer] : std::map<std::string, std::string>{
           {"f", ""}, {"ax", "a"}, {"abv", "ab"}}) {
    ASSERT_EQ(ids[names].size(), 1u) << names;
    const PathId id = *ids[names].begin();
    folded.insert(id);
    EXPECT_EQ(paths_.text(id), PathTable::kFolded);
    EXPECT_EQ(paths_.outer(id), outer.empty() ? 0 : *ids[outer].begin());
  }
  EXPECT_EQ(folded, (std::set<PathId>{6, 7, 8}));
}

TEST_F(SliceNestingTest, TimeInTwoSlicesIsTakenOnceFromTheOneAroundThem) {
  Begin(10, "outer");
  Begin(20, "a");
  Begin(30, "b");
  Add(TimedEvent::kExactEnd, 40, 20);
  Add(TimedEvent::kExactEnd, 60, 30);
  End(100);
  EXPECT_EQ(slices_,
            (Slices{"a 20+20 10 1", "b 30+30 30 2", "outer 10+90 50 0"}));
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

TEST_F(SliceNestingTest, TheParentIsTheSliceAroundAtTheBeginning) {
  Begin(10, "a");
  Begin(20, "b");
  Add(TimedEvent::kExactEnd, 30, 20);  // a
  Begin(40, "c");
  End(45);
  Add(TimedEvent::kExactEnd, 50, 30);  // b
  Begin(60, "d");
  End(70);
  constexpr uint64_t kNone = SliceNesting::kNoParent;
  EXPECT_EQ(parents_, (std::map<uint64_t, uint64_t>{
                          {0, kNone}, {1, 0}, {2, 1}, {3, kNone}}));
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

TEST_F(SliceNestingTest, AnEarlyEndIsForASliceOfItsSequence) {
  is_early_ = true;
  End(9);
  is_early_ = false;
  Begin(10, "other", 2);
  Begin(11, "too late", 1);
  End(20);
  End(30);
  EXPECT_EQ(slices_, (Slices{"too late 11+9 9 1", "other 10+20 11 0"}));
  EXPECT_EQ(nesting_.unbegun(), 1u);
}

TEST_F(SliceNestingTest, DetailsBeforeTheirSlice) {
  Add(TimedEvent::kBegin, 10, Text("a"), 1, "a");
  Add(TimedEvent::kNextDetails, 11, 0, 1, "x");
  Add(TimedEvent::kNextDetails, 12, 0, 1, "y");
  Add(TimedEvent::kDetails, 13, 0, 1, "b");
  Add(TimedEvent::kBegin, 14, Text("b"), 1, "z");
  Add(TimedEvent::kBegin, 15, Text("c"), 1, "c");
  for (uint64_t time_ns = 16; time_ns < 19; ++time_ns)
    End(time_ns);
  // There is no slice for these.
  Add(TimedEvent::kDetails, 20, 0, 1, "none");
  Add(TimedEvent::kNextDetails, 21, 0, 1, "none");
  EXPECT_EQ(slices_, (Slices{"c 15+1 1 2c", "b 14+3 2 1zxy", "a 10+8 5 0ab"}));
  nesting_.Finish(100);
  EXPECT_EQ(details_.num_bytes(), 0u);
}

TEST_F(SliceNestingTest, InstantsAreNestedAndNumbered) {
  Add(TimedEvent::kInstant, 5, Text("early"), 1, "x");
  Begin(10, "a");
  Begin(20, "b");
  Add(TimedEvent::kInstant, 21, Text("in b"));
  End(30);
  Add(TimedEvent::kInstant, 31, Text("in a"));
  Begin(32, "c");
  End(33);
  End(40);
  EXPECT_EQ(instants_,
            (Slices{"early 5+0 0 0x", "in b 21+0 0 2", "in a 31+0 0 1"}));
  EXPECT_EQ(parents_, (std::map<uint64_t, uint64_t>{
                          {0, SliceNesting::kNoParent},  // early
                          {1, SliceNesting::kNoParent},  // a
                          {2, 1},                        // b
                          {3, 2},                        // in b
                          {4, 1},                        // in a
                          {5, 1}}));                     // c
  EXPECT_EQ(details_.num_bytes(), 0u);
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
  EXPECT_EQ(slices_, (Slices{"a 10+10 10 0xy", "b 30+10 10 0z"}));
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

TEST(TextTableTest, ManyTextsKeepTheirNumbers) {
  TextTable texts;
  for (const bool is_new : {true, false}) {
    SCOPED_TRACE(is_new);  // The empty text has number 0.
    for (uint32_t i = 0; i < 2000; ++i)
      EXPECT_EQ(texts.Intern("text " + std::to_string(i)), i + 1);
  }
}

}  // namespace
