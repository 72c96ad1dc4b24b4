// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/clock_table.h"

#include <stdint.h>

#include <initializer_list>
#include <optional>

#include "gtest/gtest.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"

namespace {

using protozero::internal::ClockTable;
using protozero::internal::TraceClockState;
using protozero::trace::ClockSnapshot;

constexpr uint32_t kReal = ClockTable::kRealtime;
constexpr uint32_t kMono = ClockTable::kMonotonic;
constexpr uint32_t kBoot = ClockTable::kBootTime;

struct Reading {
  uint32_t clock;
  uint64_t time;
  uint64_t unit = 0;
  bool is_incremental = false;
};

void Snap(ClockTable* table,
          std::initializer_list<Reading> readings,
          uint32_t sequence = 1,
          uint32_t primary = 0) {
  protozero::HeapBuffered<ClockSnapshot> snapshot;
  for (const Reading& reading : readings) {
    auto* const clock = snapshot->add_clocks();
    clock->set_clock_id(reading.clock);
    clock->set_timestamp(reading.time);
    if (reading.unit != 0)
      clock->set_unit_multiplier_ns(reading.unit);
    if (reading.is_incremental)
      clock->set_is_incremental(true);
  }
  if (primary != 0)
    snapshot->set_primary_trace_clock(primary);
  const auto bytes = snapshot.SerializeAsArray();
  table->AddSnapshot({bytes.data(), bytes.size()}, sequence);
}

TEST(ClockTableTest, ClocksOfTheSystem) {
  ClockTable table;
  EXPECT_EQ(table.Find(kMono, 1), nullptr);
  Snap(&table, {{kReal, 5000}, {kBoot, 100}, {kMono, 40}});
  EXPECT_EQ(table.Find(kBoot, 1), nullptr);
  EXPECT_EQ(table.Find(kMono, 1)->Convert(50), 110u);
  EXPECT_EQ(table.Find(kReal, 2)->Convert(5001), 101u);
  EXPECT_EQ(table.RealtimeOf(103), 5003);
  // The system was suspended in between.
  Snap(&table, {{kReal, 5100}, {kBoot, 200}, {kMono, 60}});
  EXPECT_EQ(table.Find(kMono, 1)->Convert(59), 119u);
  EXPECT_EQ(table.Find(kMono, 1)->Convert(61), 201u);
  // These times are before the first snapshot, and before the clock of the
  // trace.
  EXPECT_EQ(table.Find(kMono, 1)->Convert(10), 70u);
  EXPECT_EQ(table.Find(kReal, 1)->Convert(1), 0u);
}

TEST(ClockTableTest, TheTraceHasTheWallClock) {
  ClockTable table;
  Snap(&table, {{kReal, 5000}, {kBoot, 100}}, 1, kReal);
  EXPECT_EQ(table.Find(kBoot, 1)->Convert(150), 5050u);
  EXPECT_EQ(table.RealtimeOf(5003), 5003);
  EXPECT_EQ(table.realtime_offset_ns(), 0);
}

TEST(ClockTableTest, TheWallClockIsSet) {
  ClockTable table;
  Snap(&table, {{kReal, 1000}, {kBoot, 10}});
  Snap(&table, {{kReal, 9000}, {kBoot, 20}});
  EXPECT_EQ(table.Find(kReal, 1)->Convert(1005), 15u);
  EXPECT_EQ(table.Find(kReal, 1)->Convert(9005), 25u);
  EXPECT_EQ(table.RealtimeOf(15), 1005);
  EXPECT_EQ(table.RealtimeOf(25), 9005);
  EXPECT_EQ(table.realtime_offset_ns(), 8980);
  // The wall clock is set back, too.
  Snap(&table, {{kReal, 500}, {kBoot, 30}});
  EXPECT_EQ(table.Find(kReal, 1)->Convert(505), 35u);
  EXPECT_EQ(table.Find(kReal, 1)->Convert(505), 35u);
  EXPECT_EQ(table.RealtimeOf(35), 505);
}

TEST(ClockTableTest, ClocksOfASequence) {
  ClockTable table;
  Snap(&table, {{kBoot, 1000000}, {64, 7, 1000, true}}, 1);
  Snap(&table, {{kBoot, 2000000}, {64, 9, 10}}, 2);
  TraceClockState* const clock = table.Find(64, 1);
  EXPECT_EQ(clock->Convert(5), 1005000u);
  EXPECT_EQ(clock->Convert(3), 1008000u);
  EXPECT_EQ(table.Find(64, 2)->Convert(10), 2000010u);
  // The clock drifts.
  Snap(&table, {{kBoot, 1100000}, {64, 100, 1000, true}}, 1);
  EXPECT_EQ(table.Find(64, 1)->Convert(1), 1101000u);
  EXPECT_EQ(table.Find(64, 3), nullptr);
}

TEST(ClockTableTest, TheClocksOfTwoSequencesAreNeverTheSame) {
  ClockTable table;
  const uint32_t kSequences[] = {1, 2, 3, 0x80000001, UINT32_MAX};
  uint64_t time = 1000;
  for (const uint32_t sequence : kSequences) {
    for (const uint32_t clock : {64u, 65u, 127u})
      Snap(&table, {{kBoot, time++}, {clock, 0}}, sequence);
  }
  time = 1000;
  for (const uint32_t sequence : kSequences) {
    for (const uint32_t clock : {64u, 65u, 127u})
      EXPECT_EQ(table.Find(clock, sequence)->Convert(0), time++);
  }
  // Other clocks belong to all sequences.
  Snap(&table, {{kBoot, 5000}, {63, 0}, {128, 1}});
  for (const uint32_t sequence : kSequences) {
    EXPECT_EQ(table.Find(63, sequence)->Convert(0), 5000u);
    EXPECT_EQ(table.Find(128, sequence)->Convert(1), 5000u);
  }
}

TEST(ClockTableTest, ByWayOfOthers) {
  ClockTable table;
  Snap(&table, {{kMono, 40}, {64, 1000}});
  EXPECT_FALSE(table.Find(64, 1)->is_related());
  EXPECT_FALSE(table.has_trace_clock());
  EXPECT_EQ(table.Find(64, 1)->Convert(1005), 1005u);
  Snap(&table, {{kBoot, 100}, {kMono, 50}});
  EXPECT_TRUE(table.has_trace_clock());
  EXPECT_EQ(table.Find(64, 1)->Convert(1005), 95u);
}

TEST(ClockTableTest, WhatALaterSnapshotRelatesStandsBeforeIt) {
  ClockTable table;
  Snap(&table, {{64, 10}, {kReal, 100}, {kMono, 500}});
  Snap(&table, {{kBoot, 1000}, {64, 20}, {kReal, 300}, {kMono, 30}});
  // The first snapshot was at 990, by clock 64.
  EXPECT_EQ(table.Find(kReal, 1)->Convert(299), 1189u);
  EXPECT_EQ(table.Find(kReal, 1)->Convert(300), 1000u);
  EXPECT_EQ(table.Find(64, 1)->Convert(25), 1005u);
  EXPECT_EQ(table.RealtimeOf(995), 105);
  EXPECT_EQ(table.RealtimeOf(1005), 305);
  EXPECT_EQ(table.realtime_offset_ns(), -700);
  // This clock was set back.
  EXPECT_EQ(table.Find(kMono, 1)->Convert(501), 1471u);
}

TEST(ClockTableTest, PrimaryClock) {
  ClockTable table;
  Snap(&table, {{kReal, 5000}, {kBoot, 100}, {kMono, 40}}, 1, kMono);
  EXPECT_TRUE(table.IsTraceClock(kMono));
  EXPECT_EQ(table.Find(kMono, 1), nullptr);
  EXPECT_EQ(table.Find(kBoot, 1)->Convert(110), 50u);
  EXPECT_EQ(table.RealtimeOf(41), 5001);
  // The first primary clock counts.
  Snap(&table, {{kReal, 5000}, {kBoot, 100}, {kMono, 40}}, 1, kReal);
  EXPECT_TRUE(table.IsTraceClock(kMono));
}

}  // namespace
