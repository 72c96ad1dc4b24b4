// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/compare/run_table.h"

#include <stddef.h>
#include <stdint.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "src/pztrace/compare/run_sums.h"
#include "src/pztrace/events/timeline_reader.h"

namespace {

using protozero::ConstBytes;
using protozero::HeapBuffered;
using protozero::trace::Trace;
using protozero::trace::TrackEvent;
using pztrace::ComparedRow;
using pztrace::RunColumn;
using pztrace::RunComparer;
using pztrace::RunSums;
using pztrace::RunTable;
using pztrace::Slice;
using pztrace::TimelineReader;

constexpr uint32_t kNoLimit = 1 << 20;

// Returns a trace of |slices|, which are letters, with those within a slice in
// parentheses after it. A slice with "!" after it has no end. A "|" comes
// before those of another track. Events are 10 ns apart.
std::string TraceOf(std::string_view slices) {
  HeapBuffered<Trace> trace;
  uint64_t time_ns = 1000;
  uint64_t track = 1;
  const auto add = [&](TrackEvent::Type type, std::string_view name) {
    auto* const packet = trace->add_packet();
    packet->set_trusted_packet_sequence_id(1);
    packet->set_timestamp(time_ns);
    auto* const event = packet->set_track_event();
    event->set_type(type);
    event->set_track_uuid(track);
    if (!name.empty())
      event->set_name(name.data(), name.size());
    time_ns += 10;
  };
  for (size_t i = 0; i < slices.size(); ++i) {
    if (slices[i] == '|')
      ++track;
    if (slices[i] == '|' || slices[i] == '!')
      continue;
    if (slices[i] != ')')
      add(TrackEvent::TYPE_SLICE_BEGIN, slices.substr(i, 1));
    const char next = i + 1 < slices.size() ? slices[i + 1] : '\0';
    if (next != '(' && next != '!')
      add(TrackEvent::TYPE_SLICE_END, "");
    if (next == '(')
      ++i;
  }
  return trace.SerializeAsString();
}

void AddRun(RunTable::Side side,
            std::string_view slices,
            uint32_t max_paths,
            RunTable* table) {
  RunSums sums(max_paths);
  TimelineReader::Callbacks callbacks;
  callbacks.max_paths = max_paths;
  callbacks.on_slice = [&sums](const Slice& slice) { sums.Add(slice); };
  TimelineReader reader(std::move(callbacks));
  const std::string trace = TraceOf(slices);
  EXPECT_TRUE(reader.Read(ConstBytes(
      reinterpret_cast<const uint8_t*>(trace.data()), trace.size())));
  reader.Finish();
  table->AddRun(side, reader, sums);
}

// A row of a table, with the sums of both sides.
struct SideSums {
  bool was_there = false;
  bool is_there = false;
  // Zeros if the side has no slices.
  std::array<double, pztrace::kNumRunColumns> before = {};
  std::array<double, pztrace::kNumRunColumns> after = {};
  bool has_percentiles = false;

  bool operator==(const SideSums& other) const {
    return was_there == other.was_there && is_there == other.is_there &&
           before == other.before && after == other.after;
  }
};

using SumsByText = std::map<std::string, SideSums>;

// The runs of each side, compared.
struct Comparison {
  Comparison(const std::vector<std::string>& before,
             const std::vector<std::string>& after,
             uint32_t max_paths) {
    RunTable table;
    for (const std::string& run : before)
      AddRun(RunTable::kBefore, run, max_paths, &table);
    for (const std::string& run : after)
      AddRun(RunTable::kAfter, run, max_paths, &table);
    num_folded = table.FoldUnknownPaths();
    num_paths = table.num_paths();
    for (const ComparedRow& row : table.CompareNames(&comparer_))
      names[table.name(row)] = RowOf(row, table);
    for (const ComparedRow& row : table.ComparePaths(&comparer_)) {
      const bool is_new =
          paths.emplace(table.PathText(*row.path, 1000), RowOf(row, table))
              .second;
      EXPECT_TRUE(is_new);
    }
  }

  std::string PathTexts() const {
    std::string texts;
    for (const auto& [path, row] : paths) {
      texts += (texts.empty() ? "" : ", ") + path;
      if (!row.was_there)
        texts += ": new";
      else if (!row.is_there)
        texts += ": vanished";
    }
    return texts;
  }

  SumsByText names;
  SumsByText paths;
  uint64_t num_folded = 0;
  size_t num_paths = 0;

 private:
  SideSums RowOf(const ComparedRow& compared, const RunTable& table) {
    SideSums row = {compared.was_there, compared.is_there};
    const pztrace::RunChanges changes = table.ChangesOf(compared, &comparer_);
    for (size_t i = 0; i < changes.size(); ++i) {
      row.before[i] = changes[i] ? changes[i]->before : 0;
      row.after[i] = changes[i] ? changes[i]->after : 0;
    }
    row.has_percentiles =
        changes[static_cast<size_t>(pztrace::RunColumn::kP99)].has_value();
    return row;
  }

  RunComparer comparer_;
};

std::string RandomSlices(int depth, std::mt19937* random) {
  std::string slices;
  const size_t size = 1 + (*random)() % 5;
  for (size_t i = 0; i < size; ++i) {
    slices += "abc"[(*random)() % 3];
    if (depth > 1 && (*random)() % 2 == 0)
      slices += "(" + RandomSlices(depth - 1, random) + ")";
  }
  return slices;
}

uint32_t RandomLimit(std::mt19937* random) {
  return static_cast<uint32_t>(1 + (*random)() % 20);
}

TEST(RunTableTest, APathThatOneRunHasFoldedIsFoldedInAll) {
  const Comparison runs({"abc"}, {"cab"}, 2);
  EXPECT_EQ(runs.PathTexts(), "(other), a");
  EXPECT_EQ(runs.num_folded, 4u);
  const SideSums& other = runs.paths.at("(other)");
  EXPECT_EQ(other.before[0], 2);
  EXPECT_EQ(other.after[0], 2);
  EXPECT_FALSE(other.has_percentiles);
  EXPECT_TRUE(runs.paths.at("a").has_percentiles);
  EXPECT_EQ(runs.names, Comparison({"abc"}, {"cab"}, kNoLimit).names);
}

TEST(RunTableTest, AFoldedPathTakesThoseWithinIt) {
  EXPECT_EQ(Comparison({"a(b(cd))e"}, {"a(fg)"}, 2).PathTexts(),
            "(other), a, a > (other), a > f: new");
  EXPECT_EQ(Comparison({"a(b(cd))e"}, {"a(b(cd))e"}, 2).PathTexts(),
            "(other), a, a > b, a > b > (other)");
}

TEST(RunTableTest, PathsThatNoRunHasFoldedMayVanish) {
  // The second run has all paths within "a".
  EXPECT_EQ(Comparison({"a(xy)b"}, {"a(xw)b"}, 4).PathTexts(),
            "a, a > w: new, a > x, a > y: vanished, b");
  EXPECT_EQ(Comparison({"a(x)bc"}, {"ab"}, 3).PathTexts(),
            "(other), a, a > x: vanished, b");
}

TEST(RunTableTest, FoldedPathsAreNeitherNewNorVanished) {
  EXPECT_EQ(Comparison({"ab"}, {"abc"}, 2).PathTexts(), "(other), a, b");
  EXPECT_EQ(Comparison({"abc"}, {"ab"}, 2).PathTexts(), "(other), a, b");
}

TEST(RunTableTest, APathWithoutAnEndIsKnown) {
  EXPECT_EQ(Comparison({"m(a)b"}, {"m!a|bcd"}, 3).PathTexts(),
            "(other), b, m, m > a");
}

TEST(RunTableTest, TheNumberOfPathsHasALimit) {
  std::mt19937 random(1);
  std::string run;
  for (int i = 0; i < 300; ++i)
    run += RandomSlices(8, &random);
  EXPECT_GT(Comparison({run}, {run}, kNoLimit).num_paths, 1000u);
  EXPECT_LE(Comparison({run}, {run}, 100).num_paths, 201u);
}

// Whatever is folded, names have all their slices. A path has all of its own,
// or it is folded in each run, and then "(other)" has them.
TEST(RunTableTest, FoldingLosesNothing) {
  std::mt19937 random(1);
  size_t num_folded = 0;
  for (int i = 0; i < 500; ++i) {
    const std::string before = RandomSlices(4, &random);
    const std::string after = RandomSlices(4, &random);
    const Comparison all({before}, {after}, kNoLimit);
    const Comparison some({before}, {after}, RandomLimit(&random));
    EXPECT_EQ(all.num_folded, 0u);
    EXPECT_EQ(some.names, all.names);
    SumsByText expected;
    double folded = 0;
    for (const auto& [path, row] : all.paths) {
      if (some.paths.count(path) != 0) {
        expected[path] = row;
        continue;
      }
      std::string outer = path;
      do {
        const size_t end = outer.rfind(" > ");
        outer.resize(end != std::string::npos ? end : 0);
      } while (!outer.empty() && some.paths.count(outer) == 0);
      SideSums& other =
          expected[outer + (outer.empty() ? "" : " > ") + "(other)"];
      other.was_there = other.is_there = true;
      for (size_t column = 0; column < 3; ++column) {
        other.before[column] += row.before[column];
        other.after[column] += row.after[column];
      }
      folded += row.before[0] + row.after[0];
    }
    EXPECT_EQ(some.paths, expected) << before << " " << after;
    EXPECT_EQ(static_cast<double>(some.num_folded), folded);
    num_folded += some.num_folded;
  }
  EXPECT_GT(num_folded, 1000u);
}

// Otherwise, one side's paths would be chosen by its own numbers, and intervals
// would not hold.
TEST(RunTableTest, TheOrderOfRunsDoesNotMatter) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::vector<std::string> runs;
    for (int run = 0; run < 4; ++run)
      runs.push_back(RandomSlices(4, &random));
    const uint32_t max_paths = RandomLimit(&random);
    const auto paths = [&](size_t a, size_t b, size_t c, size_t d) {
      std::vector<std::string> texts;
      const Comparison some({runs[a], runs[b]}, {runs[c], runs[d]}, max_paths);
      for (const auto& [path, row] : some.paths)
        texts.push_back(path);
      return std::make_pair(texts, some.num_folded);
    };
    EXPECT_EQ(paths(0, 1, 2, 3), paths(3, 1, 0, 2));
    EXPECT_EQ(paths(0, 1, 2, 3), paths(2, 3, 1, 0));
  }
}

}  // namespace
