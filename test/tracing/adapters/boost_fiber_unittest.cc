// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/adapters/boost_fiber.h"

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/fiber/algo/algorithm.hpp>
#include <boost/fiber/algo/round_robin.hpp>
#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/properties.hpp>
#include <boost/fiber/scheduler.hpp>
#include <boost/fiber/unbuffered_channel.hpp>

#include "gtest/gtest.h"
#include "test/tracing/adapters/numbered_spans.h"
#include "test/tracing/adapters/recorded_steps.h"

namespace {

namespace fibers = boost::fibers;
using fibers::algo::round_robin;
using fibers::algo::work_stealing;
using protozero::FiberPlace;
using protozero::SwitchTask;
using protozero::Task;
using protozero::TaskResult;
using protozero::TracedAlgorithm;
using Strings = std::vector<std::string>;

// Calls a function in a thread whose fibers are traced.
template <typename Algorithm = round_robin, typename Function>
Strings Record(Function function) {
  protozero::test::StepRecording recording;
  std::thread([&] {
    fibers::use_scheduling_algorithm<TracedAlgorithm<Algorithm>>();
    function();
  }).join();
  return recording.Finish();
}

fibers::fiber Launch(fibers::launch policy, auto function) {
  FiberPlace place(PROTOZERO_TASK_SITE("child"));
  return fibers::fiber(policy, function);
}

__attribute__((noinline)) int SpanOfFiber() {
  return protozero::test::CurrentSpan();
}

TEST(BoostFiberTest, TheCurrentSpanFollowsFibers) {
  using protozero::otlp::Scope;
  using protozero::test::NumberedSpan;
  protozero::FollowTasksWithSpans();
  std::map<int, Strings> noted;
  const auto note = [&](int fiber) {
    noted[fiber].push_back(std::to_string(SpanOfFiber()));
  };
  for (const auto policy : {fibers::launch::post, fibers::launch::dispatch}) {
    noted.clear();
    Record([&] {
      const Scope creator(NumberedSpan(90));
      const auto work = [&](int number) {
        note(number);
        const Scope scope(NumberedSpan(static_cast<uint8_t>(number)));
        for (int i = 0; i < 2; ++i) {
          boost::this_fiber::yield();
          note(number);
        }
      };
      fibers::fiber first = Launch(policy, [&] { work(10); });
      fibers::fiber second = Launch(policy, [&] { work(20); });
      note(0);
      first.join();
      note(0);
      second.join();
      note(0);
    });
    EXPECT_EQ(noted[0], (Strings{"90", "90", "90"}));
    EXPECT_EQ(noted[10], (Strings{"90", "10", "10"}));
    EXPECT_EQ(noted[20], (Strings{"90", "20", "20"}));
  }
  EXPECT_EQ(SpanOfFiber(), 0);
}

TEST(BoostFiberTest, APostedFiberRunsLater) {
  EXPECT_EQ(Record([] { Launch(fibers::launch::post, [] {}).join(); }),
            (Strings{"spawn 1 child", "run 1", "run 0, 1 ends: done"}));
}

TEST(BoostFiberTest, ADispatchedFiberRunsAtOnce) {
  EXPECT_EQ(Record([] { Launch(fibers::launch::dispatch, [] {}).join(); }),
            (Strings{"spawn 1 child", "run 1", "run 0, 1 ends: done"}));
}

TEST(BoostFiberTest, AFiberWaitsForAnother) {
  EXPECT_EQ(Record([] {
              fibers::unbuffered_channel<int> channel;
              fibers::fiber reader = Launch(fibers::launch::dispatch, [&] {
                FiberPlace place(PROTOZERO_TASK_SITE("value"));
                EXPECT_EQ(channel.value_pop(), 7);
              });
              fibers::fiber writer =
                  Launch(fibers::launch::dispatch, [&] { channel.push(7); });
              reader.join();
              writer.join();
            }),
            (Strings{"spawn 1 child", "run 1", "run 0, 1 waits: value",
                     "spawn 2 child", "run 2", "wake 1",
                     "run 0, 2 waits: fiber", "run 1", "wake 2",
                     "run 0, 1 ends: done", "run 2", "run 0, 2 ends: done"}));
}

// The fibers of a fiber are its children; a wait for them wakes by their end.
TEST(BoostFiberTest, AFiberWaitsForItsChild) {
  EXPECT_EQ(Record([] {
              Launch(fibers::launch::dispatch, [] {
                fibers::fiber child = Launch(fibers::launch::post, [] {});
                FiberPlace place(PROTOZERO_TASK_SITE("join"));
                child.join();
              }).join();
            }),
            (Strings{"spawn 1 child", "run 1", "spawn 2 child",
                     "run 0, 1 waits: join", "run 2", "wake 1",
                     "run 0, 2 ends: done", "run 1", "run 0, 1 ends: done"}));
}

TEST(BoostFiberTest, AFiberThatYieldsIsWokenAtOnce) {
  EXPECT_EQ(Record([] {
              Launch(fibers::launch::dispatch, [] {
                boost::this_fiber::yield();
              }).join();
            }),
            (Strings{"spawn 1 child", "run 1", "run 0, 1 waits: fiber",
                     "wake 1", "run 1", "run 0, 1 ends: done"}));
}

TEST(BoostFiberTest, AFiberThatSleepsIsWokenByNobody) {
  EXPECT_EQ(Record([] {
              Launch(fibers::launch::dispatch, [] {
                FiberPlace place(PROTOZERO_TASK_SITE("sleep"));
                boost::this_fiber::sleep_for(std::chrono::milliseconds(1));
              }).join();
            }),
            (Strings{"spawn 1 child", "run 1", "run 0, 1 waits: sleep",
                     "wake 1", "run 1", "run 0, 1 ends: done"}));
}

// Places end in the order of their objects, and each fiber has its own.
TEST(BoostFiberTest, AWaitIsAtTheInnermostPlaceOfItsFiber) {
  const Strings steps = Record([] {
    const auto wait_twice = [] {
      FiberPlace outer(PROTOZERO_TASK_SITE("outer"));
      {
        FiberPlace inner(PROTOZERO_TASK_SITE("inner"));
        boost::this_fiber::yield();
      }
      boost::this_fiber::yield();
    };
    fibers::fiber a = Launch(fibers::launch::post, wait_twice);
    fibers::fiber b = Launch(fibers::launch::post, wait_twice);
    a.join();
    b.join();
  });
  std::map<std::string, int> counts;
  for (const std::string& step : steps) {
    const size_t pos = step.find(", ");
    if (pos != std::string::npos)
      ++counts[step.substr(pos + 2)];
  }
  EXPECT_EQ(counts, (std::map<std::string, int>{{"1 ends: done", 1},
                                                {"1 waits: inner", 1},
                                                {"1 waits: outer", 1},
                                                {"2 ends: done", 1},
                                                {"2 waits: inner", 1},
                                                {"2 waits: outer", 1}}));
}

TEST(BoostFiberTest, TheMainFiberIsTheTaskOfItsThread) {
  EXPECT_EQ(Record([] {
              SwitchTask(Task::Spawn(PROTOZERO_TASK_SITE("main")));
              FiberPlace place(PROTOZERO_TASK_SITE("join"));
              Launch(fibers::launch::post, [] {}).join();
              SwitchTask(Task(), TaskResult::kDone);
            }),
            (Strings{"spawn 1 main", "run 1", "spawn 2 child",
                     "run 0, 1 waits: join", "run 2", "wake 1",
                     "run 0, 2 ends: done", "run 1", "run 0, 1 ends: done"}));
}

// A session that begins in the middle gets the places of fibers that were
// launched before.
TEST(BoostFiberTest, AFiberIsKnownFromBefore) {
  std::thread([] {
    fibers::use_scheduling_algorithm<TracedAlgorithm<round_robin>>();
    std::unique_ptr<protozero::test::StepRecording> recording;
    fibers::fiber child = Launch(fibers::launch::dispatch, [] {
      FiberPlace place(PROTOZERO_TASK_SITE("yield"));
      boost::this_fiber::yield();
      boost::this_fiber::yield();
    });
    recording = std::make_unique<protozero::test::StepRecording>();
    child.join();
    EXPECT_EQ(recording->Finish(),
              (Strings{"run 1", "run 0, 1 waits: yield", "wake 1", "run 1",
                       "run 0, 1 ends: done"}));
  }).join();
}

// An algorithm with properties of fibers, which it has made final.
struct Priority : fibers::fiber_properties {
  explicit Priority(fibers::context* fiber) : fiber_properties(fiber) {}
};
class WithProperties
    : public fibers::algo::algorithm_with_properties<Priority> {
 public:
  void awakened(fibers::context* fiber, Priority&) noexcept override {
    base_.awakened(fiber);
  }
  fibers::context* pick_next() noexcept override { return base_.pick_next(); }
  bool has_ready_fibers() const noexcept override {
    return base_.has_ready_fibers();
  }
  void suspend_until(
      const std::chrono::steady_clock::time_point& time) noexcept override {
    base_.suspend_until(time);
  }
  void notify() noexcept override { base_.notify(); }

 private:
  round_robin base_;
};

TEST(BoostFiberTest, AnAlgorithmMayHavePropertiesOfFibers) {
  EXPECT_EQ(Record<WithProperties>(
                [] { Launch(fibers::launch::post, [] {}).join(); }),
            (Strings{"spawn 1 child", "run 1", "run 0, 1 ends: done"}));
}

// Returns the thread that runs, as a compiler cannot know after a yield.
[[gnu::noinline]] std::thread::id ThisThread() {
  asm volatile("");
  return std::this_thread::get_id();
}

// The task of a fiber moves with it.
TEST(BoostFiberTest, FibersMoveBetweenThreads) {
  static bool has_run = false;
  if (std::exchange(has_run, true))
    GTEST_SKIP() << "Boost allows one such group of threads in a process";
  constexpr uint32_t kNumThreads = 2;
  constexpr int kNumFibers = 200;
  protozero::test::StepRecording recording;
  std::atomic<int> num_wrong{0};
  std::atomic<int> num_yields{0};
  std::atomic<bool> has_moved{false};
  // In threads of their own, since a thread's scheduler lives as long as it.
  std::thread([&] {
    fibers::mutex lock;
    fibers::condition_variable over;
    bool is_over = false;
    const auto use = [&] {
      fibers::use_scheduling_algorithm<TracedAlgorithm<work_stealing>>(
          kNumThreads);
    };
    std::thread helper([&] {
      use();
      std::unique_lock<fibers::mutex> locked(lock);
      over.wait(locked, [&] { return is_over; });
    });
    use();
    const std::thread::id launcher = ThisThread();
    std::vector<fibers::fiber> all;
    for (int i = 0; i < kNumFibers; ++i) {
      all.push_back(Launch(fibers::launch::post, [&] {
        const Task task = Task::Running();
        for (int j = 0; j < 20 || !has_moved; ++j) {
          boost::this_fiber::yield();
          ++num_yields;
          num_wrong += Task::Running() == task ? 0 : 1;
          if (ThisThread() != launcher)
            has_moved = true;
        }
      }));
    }
    for (fibers::fiber& fiber : all)
      fiber.join();
    {
      std::unique_lock<fibers::mutex> locked(lock);
      is_over = true;
    }
    over.notify_all();
    helper.join();
  }).join();
  EXPECT_EQ(num_wrong, 0);
  EXPECT_TRUE(has_moved);
  int num_spawned = 0;
  int num_runs = 0;
  int num_done = 0;
  for (const std::string& step : recording.Finish()) {
    num_spawned += step.rfind("spawn ", 0) == 0 ? 1 : 0;
    num_runs += step.rfind("run ", 0) == 0 && step.rfind("run 0", 0) != 0;
    num_done += step.find(" ends: done") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(num_spawned, kNumFibers);
  EXPECT_EQ(num_runs, kNumFibers + num_yields);
  EXPECT_EQ(num_done, kNumFibers);
}

}  // namespace
