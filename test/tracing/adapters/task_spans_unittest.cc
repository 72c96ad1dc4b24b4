// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/adapters/task_spans.h"

#include <coroutine>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/tracing/adapters/traced_coroutine.h"
#include "protozero/tracing/adapters/traced_function.h"
#include "test/tracing/adapters/numbered_spans.h"

namespace task_spans {

using protozero::Task;
using protozero::TracedFunction;
using protozero::TracedPromise;
using protozero::otlp::Scope;
using protozero::test::CurrentSpan;
using protozero::test::NumberedSpan;

struct Job {
  struct promise_type : TracedPromise {
    promise_type() : TracedPromise(PROTOZERO_TASK_SITE("job")) {}
    Job get_return_object() {
      return Job{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    auto initial_suspend() { return TraceInitial(std::suspend_always()); }
    auto final_suspend() noexcept { return TraceFinal(std::suspend_always()); }
    void return_void() {}
    void unhandled_exception() { SetFailed(); }
  };
  explicit Job(std::coroutine_handle<promise_type> made) : handle(made) {}
  Job(Job&& other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  ~Job() {
    if (handle)
      handle.destroy();
  }
  std::coroutine_handle<promise_type> handle;
};

class TaskSpansTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { protozero::FollowTasksWithSpans(); }
  void TearDown() override { EXPECT_EQ(CurrentSpan(), 0); }

  // Notes the current span.
  void Note() { noted_.push_back(CurrentSpan()); }
  Job Work(uint8_t span) {
    Note();
    const Scope scope(NumberedSpan(span));
    co_await std::suspend_always();
    Note();
    {
      const Scope inner(NumberedSpan(static_cast<uint8_t>(span + 1)));
      co_await std::suspend_always();
      Note();
    }
    Note();
  }

  std::vector<int> noted_;
};

TEST_F(TaskSpansTest, FollowsACoroutineOverThreads) {
  std::vector<Job> jobs;
  {
    const Scope creator(NumberedSpan(90));
    jobs.push_back(Work(10));
  }
  jobs.push_back(Work(20));
  const Scope other(NumberedSpan(80));
  for (int i = 0; i < 3; ++i) {
    for (const Job& job : jobs) {
      std::thread([&] {
        const Scope of_thread(NumberedSpan(70));
        job.handle.resume();
        EXPECT_EQ(CurrentSpan(), 70);
      }).join();
      EXPECT_EQ(CurrentSpan(), 80);
    }
  }
  EXPECT_TRUE(jobs[0].handle.done());
  EXPECT_EQ(noted_, (std::vector<int>{90, 0, 10, 20, 11, 10, 21, 20}));
}

TEST_F(TaskSpansTest, ACoroutineResumesAnother) {
  Job inner = Work(20);
  const auto outer_body = [&]() -> Job {
    const Scope scope(NumberedSpan(10));
    inner.handle.resume();
    Note();
    co_await std::suspend_always();
    inner.handle.resume();
    Note();
  };
  Job outer = outer_body();
  outer.handle.resume();
  EXPECT_EQ(CurrentSpan(), 0);
  outer.handle.resume();
  EXPECT_EQ(noted_, (std::vector<int>{0, 10, 20, 10}));
}

// Resumes at once, on another thread or on the same one.
struct Awaiter {
  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> coroutine) {
    if (goes_on)
      return false;
    std::thread([coroutine] { coroutine.resume(); }).join();
    return true;
  }
  void await_resume() const {}
  bool goes_on;
};

TEST_F(TaskSpansTest, ACoroutineThatGoesOnKeepsItsSpan) {
  const auto body = [&]() -> Job {
    const Scope scope(NumberedSpan(10));
    co_await Awaiter{true};
    Note();
    co_await Awaiter{false};
    Note();
  };
  const Job job = body();
  job.handle.resume();
  EXPECT_TRUE(job.handle.done());
  EXPECT_EQ(noted_, (std::vector<int>{10, 10}));
}

TEST_F(TaskSpansTest, ADestroyedCoroutineChangesNoThread) {
  const Scope scope(NumberedSpan(80));
  {
    const Job job = Work(10);
    job.handle.resume();
    const Job never_run = Work(20);
  }
  EXPECT_EQ(CurrentSpan(), 80);
}

TEST_F(TaskSpansTest, FollowsAFunction) {
  const auto make = [&] {
    const Scope creator(NumberedSpan(90));
    return TracedFunction(PROTOZERO_TASK_SITE("function"), [this] {
      Note();
      const Scope scope(NumberedSpan(10));
      Note();
    });
  };
  auto function = make();
  auto moved = std::move(function);
  const auto unused = make();
  std::thread([&] {
    moved();
    EXPECT_EQ(CurrentSpan(), 0);
  }).join();
  EXPECT_EQ(noted_, (std::vector<int>{90, 10}));
}

}  // namespace task_spans
