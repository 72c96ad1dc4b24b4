// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/track_table.h"

#include <stdint.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"

namespace {

using protozero::HeapBuffered;
using protozero::TrackInfo;
using protozero::internal::TextTable;
using protozero::internal::TrackTable;
using protozero::trace::ProcessTree;
using protozero::trace::TrackDescriptor;

class TrackTableTest : public testing::Test {
 protected:
  template <typename Fill>
  void Describe(uint64_t uuid, uint64_t parent, const Fill& fill) {
    HeapBuffered<TrackDescriptor> track;
    track->set_uuid(uuid);
    if (parent != 0)
      track->set_parent_uuid(parent);
    fill(track.get());
    const std::string bytes = track.SerializeAsString();
    table_.Describe(
        {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  void DescribeProcess(uint64_t uuid, int32_t pid, const char* name) {
    Describe(uuid, 0, [&](TrackDescriptor* track) {
      auto* const process = track->set_process();
      process->set_pid(pid);
      if (*name != 0)
        process->set_process_name(name);
    });
  }
  void DescribeThread(uint64_t uuid,
                      uint64_t parent,
                      const char* name,
                      const char* track_name = "") {
    Describe(uuid, parent, [&](TrackDescriptor* track) {
      if (*track_name != 0)
        track->set_name(track_name);
      auto* const thread = track->set_thread();
      thread->set_pid(10);
      thread->set_tid(11);
      if (*name != 0)
        thread->set_thread_name(name);
    });
  }
  void DescribeOther(uint64_t uuid, uint64_t parent, const char* name) {
    Describe(uuid, parent,
             [&](TrackDescriptor* track) { track->set_name(name); });
  }
  void AddTree(const char* command, const char* thread_name) {
    HeapBuffered<ProcessTree> tree;
    auto* const process = tree->add_processes();
    process->set_pid(10);
    process->add_cmdline(command);
    auto* const thread = tree->add_threads();
    thread->set_tid(11);
    thread->set_tgid(10);
    thread->set_name(thread_name);
    const std::string bytes = tree.SerializeAsString();
    table_.AddProcessTree(
        {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  TrackInfo Info(uint64_t uuid) {
    return table_.Find(uuid).value_or(TrackInfo());
  }
  std::string NameOfProcess(uint64_t thread) {
    return Info(Info(thread).parent).name;
  }

  TextTable texts_;
  TrackTable table_{&texts_};
};

TEST_F(TrackTableTest, AThreadBelongsToItsProcess) {
  DescribeThread(2, 0, "main");
  EXPECT_EQ(Info(2).parent, 0u);
  DescribeProcess(1, 10, "shop");
  EXPECT_EQ(Info(2).parent, 1u);
  EXPECT_EQ(Info(2).pid, 10);
  EXPECT_EQ(Info(2).tid, 11);
  // This thread has a parent that is not its process.
  DescribeOther(5, 0, "group");
  DescribeThread(3, 5, "");
  EXPECT_EQ(Info(3).parent, 1u);
}

TEST_F(TrackTableTest, TheLastNameOfAProcess) {
  DescribeProcess(1, 10, "./a.out");
  DescribeThread(2, 1, "main");
  DescribeProcess(1, 10, "server");
  EXPECT_EQ(NameOfProcess(2), "server");
  DescribeProcess(1, 10, "");
  EXPECT_EQ(NameOfProcess(2), "server");
  // Another track of the process changes the name.
  DescribeProcess(7, 10, "renamed");
  EXPECT_EQ(NameOfProcess(2), "renamed");
}

TEST_F(TrackTableTest, ProcessTree) {
  DescribeThread(2, 0, "");
  AddTree("tree --option", "kernel");
  EXPECT_EQ(NameOfProcess(2), "tree");
  EXPECT_EQ(Info(2).name, "kernel");
  DescribeThread(2, 0, "own");
  AddTree("other", "kernel");
  EXPECT_EQ(Info(2).name, "own");
  EXPECT_EQ(NameOfProcess(2), "other");
  // The track that the trace describes replaces the one that was made up.
  DescribeProcess(1, 10, "");
  EXPECT_EQ(Info(2).parent, 1u);
  EXPECT_EQ(NameOfProcess(2), "other");
}

TEST_F(TrackTableTest, NamesOfTracksAreNotThoseOfThreads) {
  DescribeThread(2, 0, "", "track");
  EXPECT_EQ(Info(2).name, "track");
  DescribeThread(2, 0, "main", "track");
  EXPECT_EQ(Info(2).name, "main");
  DescribeOther(3, 2, "first");
  DescribeOther(3, 2, "second");
  EXPECT_EQ(Info(3).name, "first");
}

TEST_F(TrackTableTest, Counters) {
  using protozero::trace::CounterDescriptor;
  Describe(4, 1, [](TrackDescriptor* track) {
    track->set_counter()->set_unit(CounterDescriptor::UNIT_COUNT);
  });
  EXPECT_TRUE(Info(4).is_counter);
  EXPECT_EQ(Info(4).unit, "count");
  EXPECT_EQ(table_.multiplier(table_.IndexOf(4)), 1);
}

TEST_F(TrackTableTest, SiblingsThatAreShownAsOne) {
  using Merging = TrackInfo::Merging;
  const auto by_key = [](TrackDescriptor* track) {
    track->set_sibling_merge_behavior(
        TrackDescriptor::SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY);
  };
  DescribeOther(1, 0, "x");
  EXPECT_EQ(Info(1).merging, Merging::kByName);
  Describe(1, 0, [&](TrackDescriptor* track) {
    by_key(track);
    track->set_sibling_merge_key("k");
  });
  EXPECT_EQ(Info(1).merging, Merging::kByKey);
  EXPECT_EQ(Info(1).merge_key, "k");
  Describe(2, 0, [&](TrackDescriptor* track) {
    by_key(track);
    track->set_sibling_merge_key_int(7);
  });
  EXPECT_EQ(Info(2).merge_key, "sibling_merge_key_int:7");
  // A later description without a merging changes nothing.
  DescribeOther(2, 0, "y");
  EXPECT_EQ(Info(2).merging, Merging::kByKey);
  Describe(2, 0, [](TrackDescriptor* track) {
    track->set_sibling_merge_behavior(
        TrackDescriptor::SIBLING_MERGE_BEHAVIOR_NONE);
  });
  EXPECT_EQ(Info(2).merging, Merging::kNone);
  EXPECT_EQ(Info(2).merge_key, "");
}

TEST_F(TrackTableTest, PathsOfAnyLengthAndCircles) {
  for (uint64_t i = 1; i < 100; ++i)
    DescribeOther(i, i + 1, "x");
  const std::vector<uint64_t> path = table_.PathTo(1);
  ASSERT_EQ(path.size(), 100u);
  EXPECT_EQ(path.front(), 100u);
  EXPECT_EQ(path.back(), 1u);
  DescribeOther(200, 201, "a");
  DescribeOther(201, 200, "b");
  EXPECT_EQ(table_.PathTo(200), (std::vector<uint64_t>{201, 200}));
  DescribeOther(300, 300, "self");
  EXPECT_EQ(table_.PathTo(300), (std::vector<uint64_t>{300}));
  DescribeOther(100, 50, "a long circle");
  EXPECT_EQ(table_.PathTo(1).size(), 100u);
  for (uint64_t i = 1000; i < 5000; ++i)
    DescribeOther(i, i + 1, "x");
  EXPECT_EQ(table_.PathTo(1000).size(), 256u);
  // There are circles of all lengths, and tracks that lead to them.
  for (uint64_t length = 1; length < 200; length += 7) {
    for (uint64_t i = 0; i < length; ++i)
      DescribeOther(10000 + i, 10000 + (i + 1) % length, "x");
    for (uint64_t i = 0; i < 30; ++i)
      DescribeOther(20000 + i, i == 29 ? 10000 : 20001 + i, "x");
    EXPECT_EQ(table_.PathTo(20000).size(), 30 + length);
    EXPECT_EQ(table_.PathTo(10000).size(), length);
  }
}

}  // namespace
