// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests the clock of events.

#include "protozero/tracing/track_event.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include <gtest/gtest.h>

namespace {

std::atomic<uint64_t> g_num_readings{0};

}  // namespace

// Counts the readings of the system's clock, in place of the C library's.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  g_num_readings.fetch_add(1, std::memory_order_relaxed);
  return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
}

namespace protozero::internal {
namespace {

constexpr uint64_t kMsInNs = 1'000'000;

// Returns whether this machine's counter is used at all.
bool UsesCounter() {
  TraceClock clock;
  const uint64_t begin = clock.NowNs();
  while (clock.NowNs() < begin + kMsInNs) {
  }
  const uint64_t before = g_num_readings;
  for (int i = 0; i < 100; ++i)
    clock.NowNs();
  return g_num_readings - before < 100;
}

TEST(TraceClockTest, ReadsTheCounterFromTheFirstMicrosecondsOn) {
  if (!UsesCounter())
    GTEST_SKIP() << "the counter is not used on this machine";
  // The state at the beginning of a process.
  ResetTraceClockAfterFork();
  TraceClock clock;
  const uint64_t before = g_num_readings;
  const uint64_t begin = clock.NowNs();
  uint64_t num_events = 1;
  while (clock.NowNs() < begin + 25 * kMsInNs)
    ++num_events;
  // Each line lasts twice as long as the one before, and takes five readings.
  // Before the first line, for some microseconds, each event takes one.
  EXPECT_LT(g_num_readings - before, 500u) << num_events << " events";
}

TEST(TraceClockTest, AgreesWithTheSystemFromTheBeginning) {
  ResetTraceClockAfterFork();
  TraceClock clock;
  const uint64_t begin = SystemTraceTimeNs();
  uint64_t last = 0;
  uint64_t num_events = 0;
  // The events that are more than a microsecond off. An interrupted reading can
  // cause some.
  uint64_t num_off = 0;
  for (uint64_t after = begin; after < begin + 40 * kMsInNs; ++num_events) {
    const uint64_t before = SystemTraceTimeNs();
    const uint64_t now = clock.NowNs();
    after = SystemTraceTimeNs();
    EXPECT_GE(now, last);
    last = now;
    num_off += now + 1000 < before || now > after + 1000;
  }
  EXPECT_LT(num_off, num_events / 20);
}

TEST(TraceClockTest, IsCloseToTheSystemsClockAndNeverGoesBack) {
  TraceClock clock;
  const uint64_t begin = SystemTraceTimeNs();
  uint64_t last = 0;
  // The error of a line of the clock; see TraceClock.
  constexpr uint64_t kError = 50000;
  uint64_t before = 0;
  while (before - begin < 300'000'000 || before == 0) {
    before = SystemTraceTimeNs();
    const uint64_t now = clock.NowNs();
    const uint64_t after = SystemTraceTimeNs();
    ASSERT_GE(now + kError, before);
    ASSERT_LE(now, after + kError);
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace protozero::internal
