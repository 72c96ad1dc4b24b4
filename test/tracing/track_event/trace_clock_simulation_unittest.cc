// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests the clock of events on a simulated machine: its processors' counters
// differ, are reset and stand still, and its system is suspended.

#include <gtest/gtest.h>

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>

#include "test/testing/flags.h"

namespace {

// The machine that the clock reads, in nanoseconds. A tick is a third of one.
struct Machine {
  static constexpr size_t kNumProcessors = 3;
  uint64_t now = 1'000'000'000;
  size_t processor = 0;
  // The differences of the processors' counters, which count from different
  // times and stand still while the system's clock goes on.
  int64_t counter_offsets[kNumProcessors] = {};
};
Machine g_machine;

// Reading a clock takes time, too.
uint64_t ReadSimulatedCounter() {
  g_machine.now += 7;
  return 3 *
         (g_machine.now + static_cast<uint64_t>(
                              g_machine.counter_offsets[g_machine.processor]));
}
int ReadSimulatedClock(clockid_t, timespec* time) {
  g_machine.now += 20;
  time->tv_sec = static_cast<time_t>(g_machine.now / 1'000'000'000);
  time->tv_nsec =
      static_cast<decltype(time->tv_nsec)>(g_machine.now % 1'000'000'000);
  return 0;
}

}  // namespace

#define __builtin_ia32_rdtsc ReadSimulatedCounter
#define clock_gettime ReadSimulatedClock
#include "src/tracing/clock/trace_clock.cc"  // nogncheck
#undef __builtin_ia32_rdtsc
#undef clock_gettime

namespace protozero::internal {
namespace {

constexpr int64_t kUs = 1'000;
constexpr int64_t kMs = 1'000'000;
// An error that no line has, if the counters of processors agree.
constexpr int64_t kMaxError = 200 * kUs;

class TraceClockSimulationTest : public testing::Test {
 protected:
  TraceClockSimulationTest() {
    g_machine = Machine();
    ResetTraceClockAfterFork();
    g_is_usable = Usable::kYes;
  }

  static void Pass(int64_t ns) { g_machine.now += static_cast<uint64_t>(ns); }
  // Suspends the system. The counters stand still meanwhile.
  static void Suspend(int64_t ns) {
    Pass(ns);
    for (int64_t& offset : g_machine.counter_offsets)
      offset -= ns;
  }
  static void SetCountersBack() {
    for (int64_t& offset : g_machine.counter_offsets)
      offset = -static_cast<int64_t>(g_machine.now);
  }

  // Returns by how much the clock is ahead of the system's.
  int64_t Read(TraceClock* clock) {
    const uint64_t now = clock->NowNs();
    return static_cast<int64_t>(now - g_machine.now);
  }
  // Reads until a line is as long as lines become.
  void Settle(TraceClock* clock) {
    for (int i = 0; i < 3000; ++i) {
      Pass(50 * kUs);
      ASSERT_LE(std::abs(Read(clock)), kMaxError);
    }
    ASSERT_NE(g_line.valid_for, 0u);
  }
};

TEST_F(TraceClockSimulationTest, FollowsTheSystemAfterASuspend) {
  for (const int64_t suspended :
       {kMs, 10 * kMs, 100 * kMs, 2000 * kMs, 60'000 * kMs, 86'400'000 * kMs}) {
    SCOPED_TRACE(suspended);
    TraceClock clock;
    Settle(&clock);
    Suspend(suspended);
    // A line that has begun before it is valid for a while.
    const uint64_t end = g_machine.now + static_cast<uint64_t>(60 * kMs);
    while (g_machine.now < end) {
      const int64_t error = Read(&clock);
      ASSERT_LE(error, kMaxError);
      ASSERT_GE(error, -suspended - kMaxError);
      Pass(10 * kUs);
    }
    for (int i = 0; i < 3000; ++i) {
      ASSERT_LE(std::abs(Read(&clock)), kMaxError);
      Pass(10 * kUs);
    }
  }
}

TEST_F(TraceClockSimulationTest, FollowsTheSystemIfItSleepsBeforeTheFirstLine) {
  TraceClock clock;
  Read(&clock);
  Pass(100 * kMs);
  Suspend(2000 * kMs);
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_LE(std::abs(Read(&clock)), kMaxError);
    Pass(10 * kUs);
  }
}

TEST_F(TraceClockSimulationTest, FollowsTheSystemAfterCountersWereReset) {
  TraceClock clock;
  Settle(&clock);
  Pass(3'600'000 * kMs);
  SetCountersBack();
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_LE(std::abs(Read(&clock)), kMaxError);
    Pass(10 * kUs);
  }
}

TEST_F(TraceClockSimulationTest, ErrsByTheDifferenceOfProcessors) {
  for (const int64_t difference : {kUs, 100 * kUs, 10 * kMs, 10'000 * kMs}) {
    SCOPED_TRACE(difference);
    g_machine = Machine();
    g_machine.counter_offsets[1] = difference;
    g_machine.counter_offsets[2] = -difference;
    ResetTraceClockAfterFork();
    TraceClock clock;
    std::mt19937_64 random(1);
    uint64_t last = 0;
    for (int i = 0; i < 50'000; ++i) {
      if (random() % 8 == 0)
        g_machine.processor = random() % Machine::kNumProcessors;
      Pass(static_cast<int64_t>(random() % 20'000));
      const uint64_t now = clock.NowNs();
      const auto error = static_cast<int64_t>(now - g_machine.now);
      // No line is valid for more than 50 ms.
      ASSERT_LE(std::abs(error),
                std::min(4 * difference, 60 * kMs) + kMaxError);
      ASSERT_GE(now, last);
      last = now;
    }
  }
}

// Anything happens. A thread's time never goes back, and 60 ms after the last
// trouble all agree with the system.
TEST_F(TraceClockSimulationTest, RandomTrouble) {
  const uint64_t seed = test::Flag("seed", 1);
  const uint64_t runs = test::Flag("clock-runs", 100);
  for (uint64_t run = 0; run < runs; ++run) {
    SCOPED_TRACE("--clock-runs=1 --seed=" + std::to_string(seed + run));
    std::mt19937_64 random(seed + run);
    g_machine = Machine();
    ResetTraceClockAfterFork();
    TraceClock clocks[4];
    uint64_t last[4] = {};
    const auto read = [&](size_t thread) {
      const uint64_t now = clocks[thread].NowNs();
      EXPECT_GE(now, last[thread]);
      last[thread] = now;
      return static_cast<int64_t>(now - g_machine.now);
    };
    for (int i = 0; i < 2000; ++i) {
      Pass(static_cast<int64_t>(random() % (uint64_t{1} << random() % 26)));
      g_machine.processor = random() % Machine::kNumProcessors;
      switch (random() % 400) {
        case 0:
          Suspend(static_cast<int64_t>(random() % (uint64_t{1} << 40)));
          break;
        case 1:
          SetCountersBack();
          break;
        case 2:
          g_machine.counter_offsets[random() % Machine::kNumProcessors] +=
              static_cast<int64_t>(random() % (40 * kMs)) - 20 * kMs;
          break;
        default:
          // It may be ahead by what a line is valid for, and no more.
          ASSERT_LE(read(random() % 4), 110 * kMs);
          break;
      }
    }
    // The counters agree from here on.
    std::fill_n(g_machine.counter_offsets, Machine::kNumProcessors,
                g_machine.counter_offsets[0]);
    for (const int64_t pause : {120 * kMs, 60 * kMs, kMs}) {
      Pass(pause);
      for (size_t thread = 0; thread < 4; ++thread)
        read(thread);
    }
    for (int i = 0; i < 1000; ++i) {
      Pass(100 * kUs);
      ASSERT_LE(std::abs(read(random() % 4)), kMaxError);
    }
  }
}

}  // namespace
}  // namespace protozero::internal

#else

TEST(TraceClockSimulationTest, NeedsACounter) {
  GTEST_SKIP() << "the clock uses no counter on this processor";
}

#endif
