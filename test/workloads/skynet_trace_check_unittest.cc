// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/skynet_trace_check.h"

#include <stdint.h>

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "test/workloads/skynet_tracer.h"

namespace protozero::workloads {
namespace {

using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;

constexpr SkynetTree kTree(100);

TEST(SkynetTreeTest, EachNodeIsTheChildOfOne) {
  std::set<uint64_t> nodes = {SkynetTree::kRoot};
  uint64_t sum = 0;
  for (const uint64_t id :
       std::vector<uint64_t>{1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}) {
    EXPECT_FALSE(kTree.IsLeaf(id));
    for (uint64_t i = 0; i < SkynetTree::kBranches; ++i)
      EXPECT_TRUE(nodes.insert(SkynetTree::Child(id, i)).second);
  }
  EXPECT_EQ(nodes.size(), kTree.num_nodes());
  for (uint64_t id = 0; id < 2 * kTree.end_of_ids(); ++id) {
    EXPECT_EQ(kTree.HasNode(id), nodes.count(id) == 1) << id;
    if (kTree.HasNode(id) && kTree.IsLeaf(id))
      sum += kTree.Ordinal(id);
  }
  EXPECT_EQ(sum, kTree.sum());
}

struct Event {
  TrackEvent::Type type;
  uint64_t id;
  uint32_t writer = 1;
  uint32_t flags = TracePacket::SEQ_NEEDS_INCREMENTAL_STATE;
  bool dropped_before = false;
  bool has_name = true;
};

constexpr auto kBegin = TrackEvent::TYPE_SLICE_BEGIN;
constexpr auto kEnd = TrackEvent::TYPE_SLICE_END;
constexpr uint32_t kFirst = TracePacket::SEQ_INCREMENTAL_STATE_CLEARED |
                            TracePacket::SEQ_NEEDS_INCREMENTAL_STATE;

// Returns a trace in which each node begins and ends.
std::vector<Event> CompleteTrace() {
  std::vector<Event> events;
  for (uint64_t id = 0; id < kTree.end_of_ids(); ++id) {
    if (kTree.HasNode(id)) {
      events.push_back({kBegin, id});
      events.push_back({kEnd, id});
    }
  }
  events[0].flags = kFirst;
  return events;
}

SkynetTraceSums Check(const std::vector<Event>& events) {
  SkynetTraceSums sums;
  SkynetTraceCheck check(kTree, &sums);
  for (const Event& event : events) {
    HeapBuffered<TracePacket> packet;
    packet->set_timestamp(1000);
    packet->set_sequence_flags(event.flags);
    if (event.dropped_before)
      packet->set_previous_packet_dropped(1);
    packet->set_trusted_packet_sequence_id(event.writer);
    if ((event.flags & TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) &&
        event.has_name) {
      auto* name = packet->set_interned_data()->add_event_names();
      name->set_iid(SkynetTracer::kEventName);
      name->set_name(SkynetTracer::kEventNameText);
    }
    auto* track_event = packet->set_track_event();
    track_event->set_type(event.type);
    track_event->set_track_uuid(event.id);
    if (event.type == kBegin)
      track_event->set_name_iid(SkynetTracer::kEventName);
    const std::string bytes = packet.SerializeAsString();
    check.OnEvent(
        {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  return sums;
}

TEST(SkynetTraceCheckTest, CompleteTraceIsRight) {
  const SkynetTraceSums sums = Check(CompleteTrace());
  EXPECT_EQ(sums.FindProblem(kTree), "");
  EXPECT_EQ(sums.begins, 111u);
  EXPECT_EQ(sums.ends, 111u);
  EXPECT_EQ(sums.leaf_begins, 100u);
  EXPECT_EQ(sums.leaf_ends, 100u);
  EXPECT_EQ(sums.leaf_begin_ordinals, kTree.sum());
  EXPECT_EQ(sums.leaf_end_ordinals, kTree.sum());
  EXPECT_EQ(sums.moved, 0u);
}

TEST(SkynetTraceCheckTest, MissingEventIsNoticed) {
  for (size_t i = 1; i < CompleteTrace().size(); ++i) {
    std::vector<Event> events = CompleteTrace();
    events.erase(events.begin() + static_cast<ptrdiff_t>(i));
    const SkynetTraceSums sums = Check(events);
    EXPECT_NE(sums.FindProblem(kTree), "") << i;
    // If one event was lost, the check accounts for it.
    EXPECT_EQ(sums.FindProblem(kTree, 1), "") << i;
    EXPECT_NE(sums.FindProblem(kTree, 2), "") << i;
  }
}

TEST(SkynetTraceCheckTest, OtherEventIsNoticed) {
  // Replaces event |i|. The number of events is right in each case.
  const auto expect_wrong = [](size_t i, const Event& event) {
    std::vector<Event> events = CompleteTrace();
    events[i] = event;
    EXPECT_EQ(Check(events).wrong, 1u);
    EXPECT_NE(Check(events).FindProblem(kTree), "");
    EXPECT_NE(Check(events).FindProblem(kTree, 1), "");
  };
  const std::vector<Event> events = CompleteTrace();
  const size_t last = events.size() - 1;
  // An event that comes twice, from this writer and from another.
  expect_wrong(last, {kEnd, 1});
  expect_wrong(last, {kEnd, 1, /*writer=*/2});
  expect_wrong(last - 1, {kBegin, 1});
  expect_wrong(last - 1, {kBegin, 1, /*writer=*/2, kFirst});
  // An event of no node.
  expect_wrong(last, {kEnd, 0});
  expect_wrong(last, {kEnd, 2});
  expect_wrong(last, {kEnd, 200});
  expect_wrong(last, {kEnd, UINT64_MAX});
  // An event of no writer, and one of no kind.
  expect_wrong(last, {kEnd, events[last].id, /*writer=*/0});
  expect_wrong(last, {TrackEvent::TYPE_INSTANT, events[last].id});
}

TEST(SkynetTraceCheckTest, EndBeforeBeginningIsNoticed) {
  std::vector<Event> events = CompleteTrace();
  std::swap(events[20], events[21]);
  EXPECT_EQ(Check(events).wrong, 1u);
  // The order of events of different writers is unknown.
  events[20].writer = 2;
  EXPECT_EQ(Check(events).wrong, 0u);
  EXPECT_EQ(Check(events).moved, 1u);
}

TEST(SkynetTraceCheckTest, UnknownNameIsNoticed) {
  std::vector<Event> events = CompleteTrace();
  events[0].has_name = false;
  EXPECT_EQ(Check(events).wrong, kTree.num_nodes());

  events = CompleteTrace();
  events[50].writer = 2;
  EXPECT_EQ(Check(events).wrong, 1u);
  events[50].flags = kFirst;
  EXPECT_EQ(Check(events).wrong, 0u);

  // A viewer that has missed a packet does not know the name.
  events = CompleteTrace();
  events[51].dropped_before = true;
  EXPECT_EQ(Check(events).wrong, kTree.num_nodes() - 26);
  events[52].flags = kFirst;
  EXPECT_EQ(Check(events).wrong, 0u);
}

TEST(SkynetTraceCheckTest, TornPacketIsNoticed) {
  std::vector<Event> events = CompleteTrace();
  SkynetTraceSums sums;
  SkynetTraceCheck check(kTree, &sums);
  const uint8_t torn[] = {0x5a, 0x05, 0x48};
  check.OnEvent({torn, sizeof(torn)});
  EXPECT_EQ(sums.wrong, 1u);
}

}  // namespace
}  // namespace protozero::workloads
