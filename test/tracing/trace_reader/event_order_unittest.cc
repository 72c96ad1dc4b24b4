// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/event_order.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace {

using protozero::internal::EventOrder;
using protozero::internal::EventSink;
using protozero::internal::TimedEvent;

// Keeps the events that come out. The text of an event is its place in the
// file.
struct Events : EventSink {
  void OnEvent(const TimedEvent& event) override {
    of_tracks[event.track].push_back(event);
    ++size;
  }
  std::map<uint32_t, std::vector<TimedEvent>> of_tracks;
  size_t size = 0;
};

TimedEvent At(uint64_t time_ns, uint32_t track, uint32_t place = 0) {
  return {time_ns, track, {place}, 0, 0, TimedEvent::kBegin, 0};
}

std::vector<uint64_t> TimesOf(const Events& events, uint32_t track) {
  std::vector<uint64_t> times;
  for (const TimedEvent& event : events.of_tracks.at(track))
    times.push_back(event.time_ns);
  return times;
}

TEST(EventOrderTest, EachTrackIsSortedByItself) {
  Events events;
  EventOrder order(100, &events);
  order.Add(At(5, 0));
  order.Add(At(9, 1));
  order.Add(At(3, 0));
  order.Add(At(4, 1));
  order.Add(At(7, 2));
  order.Finish();
  EXPECT_EQ(TimesOf(events, 0), (std::vector<uint64_t>{3, 5}));
  EXPECT_EQ(TimesOf(events, 1), (std::vector<uint64_t>{4, 9}));
  EXPECT_EQ(TimesOf(events, 2), (std::vector<uint64_t>{7}));
  EXPECT_EQ(order.late(), 0u);
}

// The file may have any order in which no event is later than the bound.
TEST(EventOrderTest, RandomOrdersWithinTheBound) {
  for (uint32_t run = 0; run < 50; ++run) {
    SCOPED_TRACE(run);
    std::mt19937 random(run);
    const size_t capacity = 1 + random() % 20;
    std::vector<TimedEvent> file;
    for (uint32_t i = 0; i < 500; ++i)
      file.push_back(At(random() % 2 == 0 ? i : i + random() % capacity,
                        static_cast<uint32_t>(random() % 5)));
    std::stable_sort(file.begin(), file.end(),
                     [](const TimedEvent& a, const TimedEvent& b) {
                       return a.time_ns < b.time_ns;
                     });
    // Each event moves by less than the capacity.
    for (size_t begin = 0; begin < file.size(); begin += capacity) {
      std::shuffle(file.begin() + static_cast<ptrdiff_t>(begin),
                   file.begin() + static_cast<ptrdiff_t>(
                                      std::min(begin + capacity, file.size())),
                   random);
    }
    Events events;
    EventOrder order(capacity, &events);
    for (uint32_t i = 0; i < file.size(); ++i) {
      file[i].text = i;
      order.Add(file[i]);
      EXPECT_GE(events.size + 2 * capacity, i);
    }
    order.Finish();
    EXPECT_TRUE(order.is_empty());
    EXPECT_EQ(order.late(), 0u);
    EXPECT_EQ(events.size, file.size());
    for (const auto& [track, of_track] : events.of_tracks) {
      for (size_t i = 1; i < of_track.size(); ++i) {
        const TimedEvent& a = of_track[i - 1];
        const TimedEvent& b = of_track[i];
        // Events of one time keep their order.
        EXPECT_TRUE(a.time_ns < b.time_ns ||
                    (a.time_ns == b.time_ns && a.text < b.text));
      }
    }
  }
}

TEST(EventOrderTest, WhatIsTooLateIsCounted) {
  Events events;
  EventOrder order(4, &events);
  for (uint64_t i = 10; i < 30; ++i)
    order.Add(At(i, 0));
  order.Add(At(1, 1));
  EXPECT_EQ(order.late(), 0u);
  order.Add(At(1, 0));
  EXPECT_EQ(order.late(), 1u);
  // The place of this event has not been passed yet.
  order.Add(At(28, 0));
  EXPECT_EQ(order.late(), 1u);
  order.Finish();
  EXPECT_EQ(events.size, 23u);
}

}  // namespace
