// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <coroutine>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/tracing/adapters/traced_coroutine.h"
#include "test/tracing/adapters/recorded_steps.h"

// A test for each row of the table in traced_coroutine.h.

namespace coroutine_switches {

using protozero::Task;
using protozero::TracedPromise;
using Steps = std::vector<std::string>;

// A coroutine whose promise returns |Initial| and |Final| at its ends.
template <typename Initial, typename Final, typename Promise>
struct Made {
  struct promise_type : Promise {
    Made get_return_object() {
      return Made{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    auto initial_suspend() { return this->TraceInitial(Initial()); }
    auto final_suspend() noexcept { return this->TraceFinal(Final()); }
    void return_void() {}
  };
  // Its type is that of the program's promise, also in an awaiter.
  using Handle = std::coroutine_handle<promise_type>;
  Handle handle;
};

struct PromiseOfTest : TracedPromise {
  PromiseOfTest() : TracedPromise(PROTOZERO_TASK_SITE("made")) {}
  void unhandled_exception() { SetFailed(); }
};
using Lazy = Made<std::suspend_always, std::suspend_always, PromiseOfTest>;
using Eager = Made<std::suspend_never, std::suspend_never, PromiseOfTest>;

// An awaiter with functions that a test gives to it. |Result| is what
// await_suspend() returns.
template <typename Result>
struct AwaiterOfTest {
  bool await_ready() const { return is_ready; }
  template <typename Promise>
  Result await_suspend(std::coroutine_handle<Promise> coroutine) {
    static_assert(!std::is_final_v<Promise>);
    return suspend(coroutine);
  }
  void await_resume() const {
    if (resume)
      resume();
  }
  std::function<Result(std::coroutine_handle<>)> suspend;
  std::function<void()> resume = nullptr;
  bool is_ready = false;
};

// Awaits |awaiter| between two visible moments.
template <typename Coroutine, typename Awaiter>
Coroutine Await(Awaiter& awaiter) {
  co_await PROTOZERO_AWAIT("test", awaiter);
}

// Returns the steps of a lazy coroutine that awaits |awaiter|, and is resumed
// |resumptions| times.
template <typename Awaiter>
Steps StepsOf(Awaiter awaiter, int resumptions) {
  protozero::test::StepRecording recording;
  const Lazy lazy = Await<Lazy>(awaiter);
  for (int i = 0; i < resumptions; ++i)
    lazy.handle.resume();
  EXPECT_TRUE(lazy.handle.done());
  lazy.handle.destroy();
  return recording.Finish();
}

TEST(CoroutineSwitchesTest, AReadyAwaiterIsNoStep) {
  AwaiterOfTest<void> ready;
  ready.is_ready = true;
  EXPECT_EQ(StepsOf(ready, 1),
            (Steps{"spawn 1 made", "run 1", "run 0, 1 ends: done"}));
}

const Steps kSuspendedOnce = {"spawn 1 made", "run 1", "run 0, 1 waits: test",
                              "run 1", "run 0, 1 ends: done"};
const Steps kWentOnAtOnce = {"spawn 1 made", "run 1", "run 0, 1 waits: test",
                             "wake 1",       "run 1", "run 0, 1 ends: done"};

TEST(CoroutineSwitchesTest, AnAwaiterSuspends) {
  EXPECT_EQ(StepsOf(AwaiterOfTest<void>{[](auto) {}}, 2), kSuspendedOnce);
  EXPECT_EQ(StepsOf(AwaiterOfTest<bool>{[](auto) { return true; }}, 2),
            kSuspendedOnce);
  EXPECT_EQ(StepsOf(AwaiterOfTest<std::coroutine_handle<>>{[](auto) {
                      return std::noop_coroutine();
                    }},
                    2),
            kSuspendedOnce);
}

TEST(CoroutineSwitchesTest, AnAwaiterGoesOnAtOnce) {
  EXPECT_EQ(StepsOf(AwaiterOfTest<bool>{[](auto) { return false; }}, 1),
            kWentOnAtOnce);
  // A transfer to the coroutine itself.
  EXPECT_EQ(StepsOf(AwaiterOfTest<std::coroutine_handle<>>{[](auto coroutine) {
                      return coroutine;
                    }},
                    1),
            kWentOnAtOnce);
}

TEST(CoroutineSwitchesTest, AnAwaiterResumesItsCoroutineInPlace) {
  EXPECT_EQ(
      StepsOf(AwaiterOfTest<void>{[](auto coroutine) { coroutine.resume(); }},
              1),
      kSuspendedOnce);
}

// An awaiter that a list knows by its address, as the language lets it be.
struct Listed {
  explicit Listed(Listed** list) { *list = this; }
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) { waiting = coroutine; }
  void await_resume() const {}
  std::coroutine_handle<> waiting;
};

template <typename Coroutine>
Coroutine AwaitListed(Listed** list) {
  co_await PROTOZERO_AWAIT("test", Listed(list));
}

TEST(CoroutineSwitchesTest, AnAwaiterIsNotCopied) {
  protozero::test::StepRecording recording;
  Listed* listed = nullptr;
  const Lazy lazy = AwaitListed<Lazy>(&listed);
  lazy.handle.resume();
  EXPECT_EQ(listed->waiting, std::coroutine_handle<>(lazy.handle));
  lazy.handle.resume();
  EXPECT_TRUE(lazy.handle.done());
  lazy.handle.destroy();
  EXPECT_EQ(recording.Finish(), kSuspendedOnce);
}

TEST(CoroutineSwitchesTest, AnotherThreadGoesOn) {
  std::thread thread;
  EXPECT_EQ(StepsOf(AwaiterOfTest<void>{[&](auto coroutine) {
                      thread = std::thread([coroutine] { coroutine.resume(); });
                      thread.join();
                    }},
                    1),
            kSuspendedOnce);
}

TEST(CoroutineSwitchesTest, ATransferToAnotherCoroutine) {
  protozero::test::StepRecording recording;
  AwaiterOfTest<void> ready;
  ready.is_ready = true;
  const Lazy other = Await<Lazy>(ready);
  AwaiterOfTest<std::coroutine_handle<>> transfers{
      [&](auto) { return other.handle; }};
  const Lazy first = Await<Lazy>(transfers);
  first.handle.resume();
  first.handle.destroy();
  other.handle.destroy();
  EXPECT_EQ(
      recording.Finish(),
      (Steps{"spawn 1 made", "spawn 2 made", "run 2", "run 0, 2 waits: test",
             "run 1", "run 0, 1 ends: done", "end 2: destroyed"}));
}

TEST(CoroutineSwitchesTest, ACoroutineMayBeginAndEndWithoutASuspension) {
  protozero::test::StepRecording recording;
  AwaiterOfTest<void> ready;
  ready.is_ready = true;
  Await<Eager>(ready);
  EXPECT_EQ(recording.Finish(),
            (Steps{"spawn 1 made", "run 1", "run 0, 1 ends: done"}));
}

// The awaiter at the end resumes the coroutine that waits for it.
struct ResumesWaiting : std::suspend_always {
  static inline std::coroutine_handle<> waiting;
  static inline Task task;
  Task next_task() const noexcept { return task; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<>) noexcept {
    return waiting;
  }
};

TEST(CoroutineSwitchesTest, TheEndTransfersToTheNext) {
  using Child = Made<std::suspend_always, ResumesWaiting, PromiseOfTest>;
  protozero::test::StepRecording recording;
  AwaiterOfTest<void> ready;
  ready.is_ready = true;
  const Child child = Await<Child>(ready);
  AwaiterOfTest<std::coroutine_handle<>> to_child{[&](auto coroutine) {
    ResumesWaiting::waiting = coroutine;
    return child.handle;
  }};
  const Lazy parent = Await<Lazy>(to_child);
  ResumesWaiting::task = parent.handle.promise().task();
  parent.handle.resume();
  EXPECT_TRUE(parent.handle.done());
  parent.handle.destroy();
  child.handle.destroy();
  EXPECT_EQ(
      recording.Finish(),
      (Steps{"spawn 1 made", "spawn 2 made", "run 2", "run 0, 2 waits: test",
             "run 1", "run 2, 1 ends: done", "run 0, 2 ends: done"}));
}

// The value of a generator.
struct Pair {
  int first;
  int second;
};
struct GeneratorPromise : PromiseOfTest {
  auto yield_value(Pair pair) {
    sum = pair.first + pair.second;
    return std::suspend_always();
  }
  int sum = 0;
};
using Generator =
    Made<std::suspend_always, std::suspend_always, GeneratorPromise>;

Generator Generate() {
  co_yield{1, 2};
  const Pair pair = {3, 4};
  co_yield pair;
}

TEST(CoroutineSwitchesTest, AYieldIsASuspension) {
  protozero::test::StepRecording recording;
  const Generator generator = Generate();
  generator.handle.resume();
  EXPECT_EQ(generator.handle.promise().sum, 3);
  generator.handle.resume();
  EXPECT_EQ(generator.handle.promise().sum, 7);
  generator.handle.resume();
  EXPECT_TRUE(generator.handle.done());
  generator.handle.destroy();
  EXPECT_EQ(
      recording.Finish(),
      (Steps{"spawn 1 made", "run 1", "run 0, 1 waits: co_yield", "run 1",
             "run 0, 1 waits: co_yield", "run 1", "run 0, 1 ends: done"}));
}

TEST(CoroutineSwitchesTest, IsDestroyedInAYield) {
  protozero::test::StepRecording recording;
  const Generator generator = Generate();
  generator.handle.resume();
  generator.handle.destroy();
  EXPECT_EQ(recording.Finish(),
            (Steps{"spawn 1 made", "run 1", "run 0, 1 waits: co_yield",
                   "end 1: destroyed"}));
}

// An awaiter that can neither be copied nor moved, of an awaitable that it
// refers to, and that gives a value to the co_yield.
struct Doubled {
  struct Awaiter {
    explicit Awaiter(const Doubled& its_value) : value(its_value) {}
    Awaiter(const Awaiter&) = delete;
    bool await_ready() const { return value.number == 0; }
    bool await_suspend(std::coroutine_handle<>) { return value.number > 1; }
    int await_resume() const { return value.number * 2; }
    const Doubled& value;
  };
  explicit Doubled(int its_number) : number(its_number) {}
  Doubled(const Doubled&) = delete;
  Awaiter operator co_await() const { return Awaiter(*this); }
  int number;
};
struct DoublingPromise : PromiseOfTest {
  Doubled yield_value(const int& number) { return Doubled(number); }
  Doubled yield_value(int&& number) { return Doubled(number); }
  Doubled yield_value(std::string_view text) {
    return Doubled(static_cast<int>(text.size()));
  }
  // One that is a step already.
  auto yield_value(Pair) { return await_transform(std::suspend_never()); }
};
using Doubling =
    Made<std::suspend_always, std::suspend_always, DoublingPromise>;

Doubling Double(std::vector<int>* results) {
  results->push_back(co_yield 0);
  const int one = 1;
  results->push_back(co_yield one);
  results->push_back(co_yield "long text");
  co_yield Pair{1, 2};
}

TEST(CoroutineSwitchesTest, AYieldMayHaveAnyAwaiter) {
  protozero::test::StepRecording recording;
  std::vector<int> results;
  const Doubling doubling = Double(&results);
  doubling.handle.resume();
  EXPECT_EQ(results, (std::vector<int>{0, 2}));
  doubling.handle.resume();
  EXPECT_TRUE(doubling.handle.done());
  doubling.handle.destroy();
  EXPECT_EQ(results, (std::vector<int>{0, 2, 18}));
  EXPECT_EQ(recording.Finish(),
            (Steps{"spawn 1 made", "run 1", "run 0, 1 waits: co_yield",
                   "wake 1", "run 1", "run 0, 1 waits: co_yield", "run 1",
                   "run 0, 1 ends: done"}));
}

// The consumer is a task, too, and goes on after each value.
TEST(CoroutineSwitchesTest, AConsumerGoesOnInItsScope) {
  protozero::test::StepRecording recording;
  const Generator generator = Generate();
  protozero::SwitchTask(Task::Spawn(PROTOZERO_TASK_SITE("consumer")));
  {
    protozero::TaskScope scope(generator.handle.promise().task());
    generator.handle.resume();
  }
  protozero::SwitchTask(Task(), protozero::TaskResult::kDone);
  generator.handle.destroy();
  EXPECT_EQ(recording.Finish(),
            (Steps{"spawn 1 made", "spawn 2 consumer", "run 2", "run 1",
                   "run 0, 1 waits: co_yield", "run 2", "run 0, 2 ends: done",
                   "end 1: destroyed"}));
}

// A handle of the promise type of the program in its own await_suspend(), and a
// constructor with the parameters of the coroutine.
struct Knowing {
  struct promise_type : TracedPromise {
    explicit promise_type(int& parameter)
        : TracedPromise(PROTOZERO_TASK_SITE("knowing")), value(parameter) {}
    Knowing get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    auto initial_suspend() { return TraceInitial(Ends()); }
    auto final_suspend() noexcept { return TraceFinal(Ends()); }
    auto yield_value(int) { return Ends(); }
    void return_void() {}
    void unhandled_exception() { SetFailed(); }
    int value;
  };
  struct Ends : std::suspend_always {
    void await_suspend(
        std::coroutine_handle<promise_type> coroutine) const noexcept {
      ++coroutine.promise().value;
    }
  };
  std::coroutine_handle<promise_type> handle;
};

Knowing Know(int) {
  co_await Knowing::Ends();
  co_yield 1;
}

TEST(CoroutineSwitchesTest, AnAwaiterTakesAHandleOfItsPromise) {
  const Knowing knowing = Know(4);
  while (!knowing.handle.done())
    knowing.handle.resume();
  EXPECT_EQ(knowing.handle.promise().value, 8);
  knowing.handle.destroy();
}

// A final type is as the program has written it.
struct FinalType {
  struct promise_type final : PromiseOfTest {
    FinalType get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    auto initial_suspend() { return TraceInitial(std::suspend_always()); }
    auto final_suspend() noexcept { return TraceFinal(std::suspend_always()); }
    auto yield_value(int) { return await_transform(std::suspend_always()); }
    void return_void() {}
  };
  std::coroutine_handle<promise_type> handle;
};

FinalType YieldOnce() {
  co_yield 1;
}

TEST(CoroutineSwitchesTest, AFinalPromiseTypeSaysItItself) {
  protozero::test::StepRecording recording;
  const FinalType coroutine = YieldOnce();
  coroutine.handle.resume();
  coroutine.handle.resume();
  coroutine.handle.destroy();
  const Steps steps = recording.Finish();
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[2].substr(0, 15), "run 0, 1 waits:");
  EXPECT_EQ(steps[3], "run 1");
  EXPECT_EQ(steps[4], "run 0, 1 ends: done");
}

#if defined(__cpp_exceptions)
TEST(CoroutineSwitchesTest, AnAwaiterThrows) {
  const auto throws = [](auto...) { throw 1; };
  const Steps went_on_and_failed = {
      "spawn 1 made", "run 1", "run 0, 1 waits: test",
      "wake 1",       "run 1", "run 0, 1 ends: failed"};
  EXPECT_EQ(StepsOf(AwaiterOfTest<void>{throws}, 1), went_on_and_failed);
  EXPECT_EQ(StepsOf(AwaiterOfTest<bool>{[](auto) -> bool { throw 1; }}, 1),
            went_on_and_failed);
  EXPECT_EQ(StepsOf(AwaiterOfTest<void>{[](auto) {}, throws}, 2),
            (Steps{"spawn 1 made", "run 1", "run 0, 1 waits: test", "run 1",
                   "run 0, 1 ends: failed"}));
}

struct ThrowsWhenAsked : std::suspend_always {
  bool await_ready() const { throw 1; }
};

TEST(CoroutineSwitchesTest, AnAwaiterThrowsWhenItIsAsked) {
  EXPECT_EQ(StepsOf(ThrowsWhenAsked(), 1),
            (Steps{"spawn 1 made", "run 1", "run 0, 1 ends: failed"}));
}

struct RethrowingPromise : TracedPromise {
  RethrowingPromise() : TracedPromise(PROTOZERO_TASK_SITE("made")) {}
  void unhandled_exception() { throw; }
};

TEST(CoroutineSwitchesTest, AnExceptionLeavesTheCoroutine) {
  using Rethrowing =
      Made<std::suspend_always, std::suspend_always, RethrowingPromise>;
  protozero::test::StepRecording recording;
  ThrowsWhenAsked throws;
  const Rethrowing coroutine = Await<Rethrowing>(throws);
  EXPECT_THROW(coroutine.handle.resume(), int);
  protozero::SwitchTask(Task::Spawn(PROTOZERO_TASK_SITE("resumer")));
  protozero::SwitchTask(Task());
  coroutine.handle.destroy();
  EXPECT_EQ(recording.Finish(),
            (Steps{"spawn 1 made", "run 1", "run 0, 1 ends: failed",
                   "spawn 2 resumer", "run 2", "run 0"}));
}

#endif

}  // namespace coroutine_switches
