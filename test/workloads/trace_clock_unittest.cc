// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/trace_clock.h"

#include <gtest/gtest.h>

namespace protozero::workloads {
namespace {

// The distance of the two depends on the machine. But on every machine, they
// are the same time.
TEST(TraceClockTest, IsTheSystemsTime) {
  constexpr uint64_t kFarNs = 5'000'000'000;
  TraceClock clock;
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = TraceClock::SystemNow();
    const uint64_t now = clock.Now();
    EXPECT_GT(now + kFarNs, before);
    EXPECT_LT(now, TraceClock::SystemNow() + kFarNs);
    clock.Synchronize();
  }
}

TEST(TraceClockTest, DoesNotGoBack) {
  const TraceClock clock;
  uint64_t last = clock.Now();
  for (int i = 0; i < 100000; ++i) {
    const uint64_t now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace protozero::workloads
