// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "examples/ninja_trace/timeline.h"

#include <string.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/ninja_trace/ninja_log.h"
#include "examples/ninja_trace/testing/temporary_file.h"
#include "examples/ninja_trace/testing/trace_checker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ninja_trace {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kMs = 1000 * 1000;

BuildStep Step(uint32_t start_ms, uint32_t end_ms, const char* output) {
  BuildStep step;
  step.start_ms = start_ms;
  step.end_ms = end_ms;
  step.outputs = {output};
  return step;
}

// Returns the trace of |builds|, which has been checked.
TraceChecker Trace(std::vector<Build> builds, TimelineSize* size) {
  TemporaryFile file;
  TraceWriter writer(file.get(), "out");
  *size = WriteTimeline(std::move(builds), &writer);
  EXPECT_TRUE(writer.Finish()) << writer.error();
  TraceChecker checker(file.ReadContent());
  EXPECT_THAT(checker.problems(), IsEmpty());
  EXPECT_EQ(checker.packet_count(), writer.packet_count());
  EXPECT_EQ(checker.steps().size(), size->steps);
  EXPECT_EQ(checker.track_names().size(), size->slots);
  EXPECT_EQ(checker.slices().size(), size->steps + size->builds);
  return checker;
}

// Returns texts like "track name begin-end", in milliseconds.
std::vector<std::string> Describe(const std::vector<Slice>& slices) {
  std::vector<std::string> lines;
  for (const Slice& slice : slices) {
    EXPECT_EQ(slice.begin % kMs, 0u);
    EXPECT_EQ(slice.end % kMs, 0u);
    lines.push_back(slice.track + ' ' + slice.name + ' ' +
                    std::to_string(slice.begin / kMs) + '-' +
                    std::to_string(slice.end / kMs));
  }
  return lines;
}

TEST(TimelineTest, NoBuildIsAnEmptyTrace) {
  TimelineSize size;
  EXPECT_THAT(Trace({}, &size).slices(), IsEmpty());
  EXPECT_THAT(Trace({Build{}}, &size).slices(), IsEmpty());
  EXPECT_EQ(size.builds, 0u);
}

TEST(TimelineTest, StepsKeepTheirTimesAndGetSlots) {
  TimelineSize size;
  const TraceChecker trace =
      Trace({Build{{Step(5, 12, "a"), Step(7, 15, "b"), Step(12, 15, "c"),
                    Step(15, 15, "d"), Step(15, 40, "e"), Step(20, 30, "f")}}},
            &size);
  EXPECT_THAT(Describe(trace.slices()),
              ElementsAre("out build 1 5-40", "slot 1 a 5-12", "slot 2 b 7-15",
                          "slot 1 c 12-15", "slot 1 d 15-15", "slot 1 e 15-40",
                          "slot 2 f 20-30"));
  EXPECT_EQ(size.builds, 1u);
  EXPECT_EQ(size.steps, 6u);
  EXPECT_EQ(size.slots, 2u);
}

TEST(TimelineTest, OrderOfStepsInTheLogDoesNotMatter) {
  TimelineSize size;
  EXPECT_THAT(Describe(Trace({Build{{Step(7, 9, "z"), Step(7, 9, "b"),
                                     Step(0, 9, "c"), Step(7, 8, "y")}}},
                             &size)
                           .steps()),
              ElementsAre("slot 1 c 0-9", "slot 2 y 7-8", "slot 3 b 7-9",
                          "slot 4 z 7-9"));
}

TEST(TimelineTest, BuildsFollowEachOther) {
  TimelineSize size;
  const TraceChecker trace =
      Trace({Build{{Step(10, 20, "a"), Step(10, 50, "b")}}, Build{},
             Build{{Step(100, 130, "c"), Step(120, 140, "d")}}},
            &size);
  EXPECT_THAT(Describe(trace.slices()),
              ElementsAre("out build 1 10-50", "slot 1 a 10-20",
                          "slot 2 b 10-50", "out build 2 1050-1090",
                          "slot 1 c 1050-1080", "slot 2 d 1070-1090"));
  EXPECT_EQ(size.builds, 2u);
}

TEST(TimelineTest, ImpossiblyLongLogsDoNotWrapAround) {
  const uint32_t longest = INT32_MAX;
  TimelineSize size;
  Trace(std::vector<Build>(10'000, Build{{Step(0, longest, "a")}}), &size);
  EXPECT_EQ(size.steps, 10'000u);
}

// These tests go from a log, damaged or not, to the trace that a viewer reads.

struct Conversion {
  std::vector<Slice> steps;
  bool is_log;
};

Conversion Convert(std::string_view log, BuildHistory::Keep keep) {
  TemporaryFile file(log);
  BuildHistory history(keep);
  Conversion result;
  result.is_log =
      ReadNinjaLog(file.get(), [](uint64_t, std::string_view) {}, &history);
  TimelineSize size;
  result.steps = Trace(history.TakeBuilds(), &size).steps();
  return result;
}

// Returns a log of |builds| builds on four jobs, in the form that ninja writes.
std::string MakeLog(int builds, int steps_per_build, std::mt19937* random) {
  std::string log = "# ninja log v5\n";
  for (int build = 0; build < builds; ++build) {
    // The end and the log lines of each running job.
    std::multimap<uint32_t, std::string> running;
    for (int step = 0; step < steps_per_build || !running.empty();) {
      uint32_t now = 0;
      if (running.size() == 4 || step == steps_per_build) {
        now = running.begin()->first;
        log += running.begin()->second;
        running.erase(running.begin());
      }
      while (step < steps_per_build && running.size() < 4) {
        const uint32_t end = now + static_cast<uint32_t>((*random)() % 1000);
        const std::string times =
            std::to_string(now) + '\t' + std::to_string(end) + "\t0\t";
        // Builds after the first make part of everything again.
        const std::string name = "obj/" + std::to_string(step * (build + 1));
        const std::string hash = '\t' + std::to_string(step + 1) + '\n';
        std::string lines = times + name + ".o" + hash;
        if (step % 7 == 0)
          lines += times + name + ".d" + hash;
        running.emplace(end, lines);
        ++step;
      }
    }
  }
  return log;
}

TEST(ConversionTest, EveryUpToDateOutputIsShownOnce) {
  std::mt19937 random(7);
  const std::string log = MakeLog(5, 300, &random);
  std::set<std::string> expected;
  for (int build = 0; build < 5; ++build) {
    for (int step = 0; step < 300; ++step) {
      const std::string name = "obj/" + std::to_string(step * (build + 1));
      expected.insert(name + ".o");
      if (step % 7 == 0)
        expected.insert(name + ".d");
    }
  }

  std::multiset<std::string> shown;
  for (const Slice& step : Convert(log, BuildHistory::Keep::kAllBuilds).steps) {
    if (step.outputs.empty()) {
      shown.insert(step.name);
    } else {
      shown.insert(step.outputs.begin(), step.outputs.end());
    }
  }
  EXPECT_EQ(std::vector<std::string>(shown.begin(), shown.end()),
            std::vector<std::string>(expected.begin(), expected.end()));
}

TEST(ConversionTest, LastBuildIsShownOnAsManySlotsAsThereWereJobs) {
  std::mt19937 random(8);
  const Conversion conversion =
      Convert(MakeLog(5, 300, &random), BuildHistory::Keep::kLastBuild);
  EXPECT_EQ(conversion.steps.size(), 300u);
  std::set<std::string> tracks;
  for (const Slice& step : conversion.steps)
    tracks.insert(step.track);
  EXPECT_THAT(tracks, ElementsAre("slot 1", "slot 2", "slot 3", "slot 4"));
}

// Convert() checks each of the traces.
TEST(ConversionTest, DamagedLogsGiveValidTraces) {
  std::mt19937 random(9);
  const std::string log = MakeLog(3, 20, &random);
  const char kSpecial[] = "\t\n\r#-9\0x";
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = log;
    const size_t count = 1 + random() % 8;
    for (size_t i = 0; i < count && !damaged.empty(); ++i) {
      const size_t at = random() % damaged.size();
      switch (random() % 5) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged[at] = kSpecial[random() % sizeof(kSpecial)];
          break;
        case 2:
          damaged.erase(at, random() % 40);
          break;
        case 3:
          damaged.insert(at, log.substr(random() % log.size(), 50));
          break;
        case 4:
          damaged.resize(at + 1);
          break;
      }
    }
    SCOPED_TRACE(damaged);
    Convert(damaged, round % 2 == 0 ? BuildHistory::Keep::kAllBuilds
                                    : BuildHistory::Keep::kLastBuild);
    if (HasFailure())
      break;
  }
}

TEST(ConversionTest, EveryPrefixOfALogGivesAValidTrace) {
  std::mt19937 random(10);
  const std::string log = MakeLog(2, 6, &random);
  size_t previous = 0;
  for (size_t size = 0; size <= log.size(); ++size) {
    const Conversion conversion =
        Convert(log.substr(0, size), BuildHistory::Keep::kAllBuilds);
    EXPECT_EQ(conversion.is_log, size >= strlen("# ninja log v5\n"));
    EXPECT_LE(conversion.steps.size(), previous + 1);
    previous = conversion.steps.size();
  }
  EXPECT_GT(previous, 0u);
}

}  // namespace

}  // namespace ninja_trace
