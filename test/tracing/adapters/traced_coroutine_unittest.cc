// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/adapters/traced_coroutine.h"

#include <stddef.h>
#include <stdlib.h>

#include <coroutine>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/tracing/adapters/recorded_steps.h"

namespace {

using protozero::Task;
using protozero::TracedPromise;

// The sizes of the frames that were allocated.
std::vector<size_t> g_frames;

struct CountsFrames {
  static void* operator new(size_t size) {
    g_frames.push_back(size);
    return malloc(size);
  }
  static void operator delete(void* frame) { free(frame); }
};

// A base with the functions of TracedPromise that do nothing.
struct Untraced {
  explicit Untraced(protozero::TaskSite&) {}
  Task task() const { return Task(); }
  void SetFailed() {}
  template <typename Awaiter>
  Awaiter TraceInitial(Awaiter awaiter) noexcept {
    return awaiter;
  }
  template <typename Awaiter>
  Awaiter TraceFinal(Awaiter awaiter) noexcept {
    return awaiter;
  }
};

// A lazy coroutine with one value, which its parent awaits.
template <typename Base>
class Coroutine {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct Continue : std::suspend_always {
    Task next_task() const noexcept {
      return promise->parent ? promise->parent.promise().task() : Task();
    }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept {
      return promise->parent ? std::coroutine_handle<>(promise->parent)
                             : std::noop_coroutine();
    }
    promise_type* promise;
  };
  struct promise_type : Base, CountsFrames {
    promise_type() : Base(PROTOZERO_TASK_SITE("coroutine")) {}
    Coroutine get_return_object() {
      return Coroutine(Handle::from_promise(*this));
    }
    auto initial_suspend() { return this->TraceInitial(std::suspend_always()); }
    auto final_suspend() noexcept {
      return this->TraceFinal(Continue{{}, this});
    }
    void return_value(int result) { value = result; }
    void unhandled_exception() {
      exception = std::current_exception();
      this->SetFailed();
    }
    Handle parent;
    int value = 0;
    std::exception_ptr exception;
  };

  explicit Coroutine(Handle coroutine) : handle(coroutine) {}
  Coroutine(Coroutine&& other) : handle(std::exchange(other.handle, nullptr)) {}
  ~Coroutine() {
    if (handle)
      handle.destroy();
  }

  // Awaiting it transfers to it.
  bool await_ready() const { return false; }
  Handle await_suspend(Handle parent) {
    handle.promise().parent = parent;
    return handle;
  }
  int await_resume() {
    if (handle.promise().exception)
      std::rethrow_exception(handle.promise().exception);
    return handle.promise().value;
  }
  Task next_task() const { return handle.promise().task(); }

  Handle handle;
};
using Traced = Coroutine<TracedPromise>;
using Plain = Coroutine<Untraced>;

// Suspends, until |waiting| is resumed.
struct Event {
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) { waiting = coroutine; }
  int await_resume() const { return 7; }
  std::coroutine_handle<> waiting;
};
// Decides not to suspend.
struct Refuses {
  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<>) { return false; }
  void await_resume() const {}
};

Traced Wait(Event& event) {
  co_return co_await PROTOZERO_AWAIT("the event", event);
}

TEST(TracedCoroutineTest, RunsWaitsAndEnds) {
  protozero::test::StepRecording recording;
  Event event;
  {
    Traced coroutine = Wait(event);
    coroutine.handle.resume();
    coroutine.handle.promise().task().Wake();
    event.waiting.resume();
    EXPECT_EQ(coroutine.handle.promise().value, 7);
  }
  EXPECT_EQ(recording.Finish(),
            (std::vector<std::string>{"spawn 1 coroutine", "run 1",
                                      "run 0, 1 waits: the event", "wake 1",
                                      "run 1", "run 0, 1 ends: done"}));
}

Traced Parent(Event& event) {
  const int first = co_await Wait(event);
  const int second = co_await Wait(event);
  co_return first + second;
}

// A transfer to a child and back is one step each.
TEST(TracedCoroutineTest, TransfersAreOneStep) {
  protozero::test::StepRecording recording;
  Event event;
  Traced parent = Parent(event);
  parent.handle.resume();
  event.waiting.resume();
  event.waiting.resume();
  EXPECT_EQ(parent.handle.promise().value, 14);
  std::vector<std::string> steps = recording.Finish();
  // The name of the type depends on the compiler.
  for (std::string& step : steps) {
    const size_t pos = step.find("waits: ");
    if (pos != std::string::npos &&
        step.find("Coroutine<", pos) != std::string::npos) {
      step.resize(pos);
      step += "waits: Coroutine";
    }
  }
  EXPECT_EQ(steps, (std::vector<std::string>{
                       "spawn 1 coroutine", "run 1", "spawn 2 coroutine",
                       "run 2, 1 waits: Coroutine", "run 0, 2 waits: the event",
                       "run 2", "run 1, 2 ends: done", "spawn 3 coroutine",
                       "run 3, 1 waits: Coroutine", "run 0, 3 waits: the event",
                       "run 3", "run 1, 3 ends: done", "run 0, 1 ends: done"}));
}

TEST(TracedCoroutineTest, MovesToAnotherThread) {
  protozero::test::StepRecording recording;
  Event event;
  Traced coroutine = Wait(event);
  coroutine.handle.resume();
  std::thread([&] { event.waiting.resume(); }).join();
  const std::vector<std::string> steps = recording.Finish();
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[3], "run 1");
  EXPECT_EQ(steps[4], "run 0, 1 ends: done");
}

#if defined(__cpp_exceptions)
Traced Throw(Event& event) {
  co_await event;
  throw 1;
}

TEST(TracedCoroutineTest, AnExceptionIsAFailure) {
  protozero::test::StepRecording recording;
  Event event;
  Traced coroutine = Throw(event);
  coroutine.handle.resume();
  event.waiting.resume();
  EXPECT_EQ(recording.Finish().back(), "run 0, 1 ends: failed");
}
#endif

TEST(TracedCoroutineTest, IsDestroyedWhileItWaits) {
  protozero::test::StepRecording recording;
  Event event;
  {
    Traced coroutine = Wait(event);
    coroutine.handle.resume();
  }
  {
    Traced never_started = Wait(event);
  }
  EXPECT_EQ(recording.Finish(),
            (std::vector<std::string>{
                "spawn 1 coroutine", "run 1", "run 0, 1 waits: the event",
                "end 1: destroyed", "spawn 2 coroutine", "end 2: destroyed"}));
}

Traced Refused() {
  co_await Refuses();
  co_return 1;
}

TEST(TracedCoroutineTest, AnAwaiterMayRefuseToSuspend) {
  protozero::test::StepRecording recording;
  Traced coroutine = Refused();
  coroutine.handle.resume();
  const std::vector<std::string> steps = recording.Finish();
  ASSERT_EQ(steps.size(), 6u);
  // The name of the type depends on the compiler.
  EXPECT_EQ(steps[2].substr(0, 16), "run 0, 1 waits: ");
  EXPECT_NE(steps[2].find("::Refuses"), std::string::npos);
  EXPECT_EQ(steps[3], "wake 1");
  EXPECT_EQ(steps[4], "run 1");
}

// Starts at once, and destroys itself at its end.
struct Detached {
  struct promise_type : TracedPromise {
    promise_type() : TracedPromise(PROTOZERO_TASK_SITE("detached")) {}
    Detached get_return_object() { return {}; }
    auto initial_suspend() { return TraceInitial(std::suspend_never()); }
    auto final_suspend() noexcept { return TraceFinal(std::suspend_never()); }
    void return_void() {}
    void unhandled_exception() { SetFailed(); }
  };
};

Detached Detach(Event& event) {
  co_await PROTOZERO_AWAIT("the event", event);
}

TEST(TracedCoroutineTest, ADetachedCoroutineEnds) {
  protozero::test::StepRecording recording;
  Event event;
  Detach(event);
  event.waiting.resume();
  EXPECT_EQ(recording.Finish(),
            (std::vector<std::string>{"spawn 1 detached", "run 1",
                                      "run 0, 1 waits: the event", "run 1",
                                      "run 0, 1 ends: done"}));
}

// An awaiter that is made for one co_await.
struct Awaits {
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    event->waiting = coroutine;
  }
  int await_resume() const { return 7; }
  Event* event;
};

template <typename C>
[[gnu::noinline]] C TwoEvents(Event& a, Event& b) {
  const int first = co_await Awaits{&a};
  const int second = co_await Awaits{&b};
  co_return first + second;
}

// With clang, an awaiter with what is known of it costs 8 bytes besides the
// task's. gcc keeps the initial one's pointer to the promise, and for each
// co_await such a pointer and a copy of the awaiter.
TEST(TracedCoroutineTest, AFrameGrowsByTheTaskAndItsAwaiters) {
  Event a, b;
  g_frames.clear();
  {
    Plain plain = TwoEvents<Plain>(a, b);
  }
  {
    Traced traced = TwoEvents<Traced>(a, b);
  }
  ASSERT_EQ(g_frames.size(), 2u);
#if defined(__clang__) && defined(__OPTIMIZE__)
  EXPECT_LE(g_frames[1], g_frames[0] + 16 + 16);
#else
  EXPECT_LE(g_frames[1], g_frames[0] + 16 + 8 + 2 * 16);
#endif
}

#if defined(__clang__) && defined(__OPTIMIZE__)
template <typename C>
C Sum(int a, int b) {
  co_return a + b;
}
template <typename C>
[[gnu::noinline]] int SumHere(int a, int b) {
  C coroutine = Sum<C>(a, b);
  coroutine.handle.resume();
  return coroutine.handle.promise().value;
}

// The compiler still finds that a frame need not be on the heap.
TEST(TracedCoroutineTest, AFrameOnTheStackStaysThere) {
  g_frames.clear();
  EXPECT_EQ(SumHere<Plain>(1, 2), 3);
  EXPECT_EQ(g_frames.size(), 0u);
  EXPECT_EQ(SumHere<Traced>(1, 2), 3);
  EXPECT_EQ(g_frames.size(), 0u);
}
#endif

}  // namespace
