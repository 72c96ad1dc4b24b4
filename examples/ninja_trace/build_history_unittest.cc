// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/build_history.h"

#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ninja_trace {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Keep = BuildHistory::Keep;

LogEntry Entry(uint32_t start_ms,
               uint32_t end_ms,
               std::string_view output,
               uint64_t command_hash) {
  LogEntry entry;
  entry.start_ms = start_ms;
  entry.end_ms = end_ms;
  entry.mtime = 1000;
  entry.output = output;
  entry.command_hash = command_hash;
  return entry;
}

// Returns a line for each build: its steps, each with its times and outputs.
std::vector<std::string> Describe(const std::vector<Build>& builds) {
  std::vector<std::string> lines;
  for (const Build& build : builds) {
    std::string& line = lines.emplace_back();
    for (const BuildStep& step : build.steps) {
      if (!line.empty())
        line += ", ";
      line += std::to_string(step.start_ms) + '-' + std::to_string(step.end_ms);
      for (const std::string& output : step.outputs)
        line += ' ' + output;
    }
  }
  return lines;
}

// Describes the builds that wrote |entries|.
std::vector<std::string> Builds(Keep keep,
                                const std::vector<LogEntry>& entries) {
  BuildHistory history(keep);
  for (const LogEntry& entry : entries)
    history.AddEntry(entry);
  return Describe(history.TakeBuilds());
}

TEST(BuildHistoryTest, NothingIsNoBuild) {
  EXPECT_THAT(Builds(Keep::kLastBuild, {}), IsEmpty());
  BuildHistory history(Keep::kAllBuilds);
  history.StartBuild();
  history.StartBuild();
  EXPECT_THAT(history.TakeBuilds(), IsEmpty());
}

TEST(BuildHistoryTest, EntriesBecomeSteps) {
  BuildHistory history(Keep::kLastBuild);
  history.AddEntry(Entry(3, 7, "a", 0xabc));
  const std::vector<Build> builds = history.TakeBuilds();
  ASSERT_EQ(builds.size(), 1u);
  ASSERT_EQ(builds[0].steps.size(), 1u);
  const BuildStep& step = builds[0].steps[0];
  EXPECT_EQ(step.start_ms, 3u);
  EXPECT_EQ(step.end_ms, 7u);
  EXPECT_EQ(step.mtime, 1000);
  EXPECT_EQ(step.command_hash, 0xabcu);
  EXPECT_THAT(step.outputs, ElementsAre("a"));
}

TEST(BuildHistoryTest, OutputsOfOneCommandAreOneStep) {
  EXPECT_THAT(
      Builds(Keep::kLastBuild, {Entry(0, 5, "a.h", 1), Entry(0, 5, "other", 2),
                                Entry(0, 5, "a.cc", 1), Entry(0, 6, "late", 1),
                                Entry(1, 6, "later", 1)}),
      ElementsAre("0-5 a.h a.cc, 0-5 other, 0-6 late, 1-6 later"));
}

TEST(BuildHistoryTest, SameLineTwiceIsOneOutput) {
  EXPECT_THAT(
      Builds(Keep::kAllBuilds, {Entry(0, 5, "a", 1), Entry(0, 5, "a", 1)}),
      ElementsAre("0-5 a"));
}

TEST(BuildHistoryTest, EndTimeThatGoesBackStartsBuild) {
  const std::vector<LogEntry> entries = {
      Entry(0, 5, "a", 1), Entry(2, 9, "b", 2), Entry(0, 8, "c", 3),
      Entry(7, 9, "d", 4)};
  EXPECT_THAT(Builds(Keep::kAllBuilds, entries),
              ElementsAre("0-5 a, 2-9 b", "0-8 c, 7-9 d"));
  EXPECT_THAT(Builds(Keep::kLastBuild, entries), ElementsAre("0-8 c, 7-9 d"));
}

TEST(BuildHistoryTest, OutputMadeAgainStartsBuild) {
  const std::vector<LogEntry> entries = {
      Entry(0, 5, "a", 1), Entry(0, 5, "b", 2), Entry(0, 50, "b", 2)};
  EXPECT_THAT(Builds(Keep::kAllBuilds, entries),
              ElementsAre("0-5 a", "0-50 b"));
  EXPECT_THAT(Builds(Keep::kLastBuild, entries), ElementsAre("0-50 b"));
}

TEST(BuildHistoryTest, AllBuildsKeepsTheNewestVersionOfEachOutput) {
  EXPECT_THAT(
      Builds(Keep::kAllBuilds,
             {Entry(0, 5, "a", 1), Entry(0, 6, "b", 2), Entry(0, 6, "c", 2),
              // This command does not make b any more.
              Entry(0, 4, "c", 3), Entry(2, 7, "a", 1),
              // This build makes all outputs of the second one again.
              Entry(0, 3, "a", 1), Entry(0, 4, "c", 3)}),
      ElementsAre("0-6 b", "0-3 a, 0-4 c"));
}

TEST(BuildHistoryTest, LastBuildForgetsEarlierOnes) {
  BuildHistory history(Keep::kLastBuild);
  history.AddEntry(Entry(0, 5, "a", 1));
  history.StartBuild();
  history.AddEntry(Entry(4, 6, "b", 2));
  EXPECT_THAT(Describe(history.TakeBuilds()), ElementsAre("4-6 b"));
}

TEST(BuildHistoryTest, TakenBuildsAreGone) {
  BuildHistory history(Keep::kAllBuilds);
  history.AddEntry(Entry(0, 5, "a", 1));
  EXPECT_THAT(Describe(history.TakeBuilds()), ElementsAre("0-5 a"));
  EXPECT_THAT(history.TakeBuilds(), IsEmpty());
  history.AddEntry(Entry(0, 3, "a", 1));
  EXPECT_THAT(Describe(history.TakeBuilds()), ElementsAre("0-3 a"));
}

}  // namespace

}  // namespace ninja_trace
