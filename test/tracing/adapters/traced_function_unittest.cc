// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/adapters/traced_function.h"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/tracing/adapters/recorded_steps.h"

namespace {

using protozero::TracedFunction;

TEST(TracedFunctionTest, IsSpawnedRunAndEnded) {
  protozero::test::StepRecording recording;
  int sum = 0;
  TracedFunction add(PROTOZERO_TASK_SITE("add"), [&](int a, int b) {
    sum += a;
    return a + b;
  });
  auto moved = std::move(add);
  std::thread([&] { sum += moved(1, 2); }).join();
  EXPECT_EQ(sum, 4);
  EXPECT_EQ(recording.Finish(),
            (std::vector<std::string>{"spawn 1 add", "run 1",
                                      "run 0, 1 ends: done"}));
}

TEST(TracedFunctionTest, WithinAnotherTaskThatOneGoesOn) {
  protozero::test::StepRecording recording;
  TracedFunction outer(PROTOZERO_TASK_SITE("outer"), [] {
    TracedFunction(PROTOZERO_TASK_SITE("inner"), [] {})();
  });
  outer();
  EXPECT_EQ(recording.Finish(),
            (std::vector<std::string>{"spawn 1 outer", "run 1", "spawn 2 inner",
                                      "run 2", "run 1, 2 ends: done",
                                      "run 0, 1 ends: done"}));
}

TEST(TracedFunctionTest, IsDestroyedInTheQueue) {
  protozero::test::StepRecording recording;
  {
    const TracedFunction function(PROTOZERO_TASK_SITE("dropped"), [] {});
  }
  EXPECT_EQ(recording.Finish(),
            (std::vector<std::string>{"spawn 1 dropped", "end 1: destroyed"}));
}

TEST(TracedFunctionTest, TakesWhatCannotBeCopiedAndReturnsReferences) {
  int value = 1;
  TracedFunction function(PROTOZERO_TASK_SITE("reference"),
                          [owned = std::make_unique<int>(2),
                           &value](std::unique_ptr<int> other) -> int& {
                            value += *owned + *other;
                            return value;
                          });
  int& result = function(std::make_unique<int>(3));
  EXPECT_EQ(&result, &value);
  EXPECT_EQ(value, 6);
}

#if defined(__cpp_exceptions)
TEST(TracedFunctionTest, AnExceptionIsAFailureAndPassesOn) {
  protozero::test::StepRecording recording;
  TracedFunction function(PROTOZERO_TASK_SITE("throws"), [] { throw 1; });
  EXPECT_THROW(function(), int);
  EXPECT_EQ(recording.Finish().back(), "run 0, 1 ends: failed");
}
#endif

}  // namespace
