// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_ADAPTERS_TRACED_COROUTINE_H_
#define INCLUDE_PROTOZERO_TRACING_ADAPTERS_TRACED_COROUTINE_H_

#if defined(__cpp_impl_coroutine)

#include <stddef.h>
#include <stdint.h>

#include <coroutine>
#include <string_view>
#include <type_traits>
#include <utility>

#include "protozero/tracing/internal/task_follower.h"
#include "protozero/tracing/task.h"

#include "protozero/internal/macros.h"

// Coroutines of C++20 as tasks. A promise type says so by its base:
//
//   struct Promise : TracedPromise {
//     Promise() : TracedPromise(PROTOZERO_TASK_SITE("session")) {}
//     auto initial_suspend() { return TraceInitial(std::suspend_always()); }
//     auto final_suspend() noexcept {
//       return TraceFinal(std::suspend_always());
//     }
//     void unhandled_exception() { SetFailed(); }
//     ...
//   };
//
// Then its task is spawned with the coroutine, runs from each resumption to the
// next suspension, and ends with the coroutine, or when that is destroyed. A
// co_await says what it waits for, or its type does:
//
//   co_await PROTOZERO_AWAIT("request", socket.Read());
//   co_await Timer(1ms);  // "Timer"
//
// These are the ways to leave and to resume a coroutine, and the steps of its
// task. SITE is the place of the co_await, or "co_yield":
//
//   initial_suspend(), which need not suspend       spawned by the constructor,
//                                                   run when the body begins
//   co_await, await_ready() is true or throws       no step
//     await_suspend() returns void, true, a handle  waits at SITE
//     await_suspend() returns false, or the handle  waits at SITE, wake, run
//       of the coroutine itself, or throws
//     next_task() of the awaiter                    that one runs meanwhile
//     resume(), on any thread                       run, then await_resume()
//   co_yield, by any awaiter of yield_value()       the same as a co_await
//   final_suspend(), which need not suspend         ends: done, or failed after
//                                                   SetFailed()
//   unhandled_exception() throws                    ends: failed
//   destroy() before the end                        ends: destroyed
//
// Code that makes a coroutine ready calls promise.task().Wake(). If an awaiter
// transfers to another traced coroutine, it says to which: it has a function
// `Task next_task() const`, and suspends. The transfer is one step then.
// Without one, the thread runs no task after a suspension. Code that resumes
// coroutines within a task, such as a generator, and goes on with it, does so
// in a TaskScope.
//
// A class that is derived from the promise type sees co_yields and exceptions
// that leave the coroutine: std::coroutine_traits has a specialization for
// result types with a `promise_type` that has this base. Handles of
// `promise_type` are valid for it. For a promise type that is final, or that
// the program itself gives to std::coroutine_traits, there is none: then
// yield_value() returns `await_transform(std::suspend_always())`, and a task
// whose exception leaves it runs until the thread's next step.
//
// A frame grows by 16 bytes for the task, and by two pointers for each awaiter:
// to it and to the promise. Clang keeps one pair of them; gcc keeps all of
// them. REQUIRES: C++20.

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal {

// Returns the name of a type, for a TaskSite.
template <typename T>
struct TypeName {
  static constexpr std::string_view Find() {
    // "... Find() [with T = N::Timer; ...]" or "... Find() [T = N::Timer]"
    const std::string_view text = __PRETTY_FUNCTION__;
    const size_t begin = text.find("T = ") + 4;
    size_t end = begin;
    for (int depth = 0; end < text.size(); ++end) {
      const char letter = text[end];
      depth += letter == '<' || letter == '(' ? 1 : 0;
      depth -= letter == '>' || letter == ')' ? 1 : 0;
      if (depth == 0 && (letter == ';' || letter == ']'))
        break;
    }
    return text.substr(begin, end - begin);
  }
  struct Text {
    char letters[Find().size() + 1] = {};
  };
  static constexpr Text MakeText() {
    Text text;
    for (size_t i = 0; i < Find().size(); ++i)
      text.letters[i] = Find()[i];
    return text;
  }
  static constexpr Text kText = MakeText();
};

// Returns the place of all co_awaits of a type that are not said to be
// elsewhere. A place is a type, because an object would be in the frame.
template <typename Awaitable>
struct SiteOfType {
  TaskSite& operator()() const { return site; }
  static inline TaskSite site{TypeName<Awaitable>::kText.letters, "", 0};
};

// An awaitable at a place.
template <typename Site, typename Awaitable>
struct AwaitableAt {
  Awaitable&& awaitable;
};
template <typename Site, typename Awaitable>
AwaitableAt<Site, Awaitable> MakeAwaitableAt(Site, Awaitable&& awaitable) {
  return {static_cast<Awaitable&&>(awaitable)};
}

// Returns the object whose await_ready() and so on are called.
template <typename Awaitable>
decltype(auto) AwaiterOf(Awaitable&& awaitable) {
  if constexpr (requires {
                  static_cast<Awaitable&&>(awaitable).operator co_await();
                }) {
    return static_cast<Awaitable&&>(awaitable).operator co_await();
  } else if constexpr (requires {
                         operator co_await(static_cast<Awaitable&&>(awaitable));
                       }) {
    return operator co_await(static_cast<Awaitable&&>(awaitable));
  } else {
    return static_cast<Awaitable&&>(awaitable);
  }
}

// Returns the task that the thread runs after the suspension.
template <typename Awaiter>
Task NextTaskOf(const Awaiter& awaiter) {
  if constexpr (requires { awaiter.next_task(); })
    return awaiter.next_task();
  else
    return Task();
}

// Says that the coroutine's task runs, unless the code that resumed it has done
// so.
inline void ResumeTask(Task task) {
  if (PROTOZERO_UNLIKELY(AreTasksTraced()) && Task::Running() != task)
    SwitchTask(task);
}

template <typename Site, typename Awaiter>
class TracedAwaiter;
template <typename Awaitable>
inline constexpr bool kIsTraced = false;
template <typename Site, typename Awaiter>
inline constexpr bool kIsTraced<TracedAwaiter<Site, Awaiter>> = true;

// A promise that sees each way in which its coroutine is left.
template <typename Promise>
class SeeingPromise;

// Returns the handle that the program's own code knows: of its promise type.
template <typename Promise>
std::coroutine_handle<Promise> HandleOf(
    std::coroutine_handle<Promise> coroutine) noexcept {
  return coroutine;
}
template <typename Promise>
std::coroutine_handle<Promise> HandleOf(
    std::coroutine_handle<SeeingPromise<Promise>> coroutine) noexcept {
  return std::coroutine_handle<Promise>::from_address(coroutine.address());
}

// Says that a task goes on after all, unless its coroutine has been left.
class Suspension {
 public:
  Suspension(Task task, const TaskFollower& follower) noexcept
      : task_(task), follower_(follower) {}
  ~Suspension() {
    if (!is_left_) {
      task_.Wake();
      ResumeTask(task_);
      follower_.Resume();
    }
  }
  Suspension(const Suspension&) = delete;
  Suspension& operator=(const Suspension&) = delete;

  void HasLeft() { is_left_ = true; }

 private:
  const Task task_;
  // Valid while the coroutine has not been left.
  const TaskFollower& follower_;
  bool is_left_ = false;
};

}  // namespace internal

// The base of a promise type whose coroutines are tasks. A coroutine is resumed
// and destroyed by one thread at a time, as always.
class TracedPromise {
 public:
  // Spawns the task. The task that the thread runs is its parent.
  explicit TracedPromise(TaskSite& site) noexcept
      : number_(Task::Spawn(site).number()),
        follower_(internal::TaskFollower::Spawn()) {}
  // Ends it, unless it has ended.
  ~TracedPromise() {
    // A coroutine that is not suspended at its end destroys itself.
    if ((number_ & kFinished) != 0)
      End(Task());
    else if (number_ != 0)
      task().End(TaskResult::kDestroyed);
  }
  TracedPromise(const TracedPromise&) = delete;
  TracedPromise& operator=(const TracedPromise&) = delete;

  // Returns the coroutine's task; none when it has ended.
  Task task() const noexcept {
    return Task::FromNumber(number_ & ~(kFailed | kFinished));
  }

  // Makes the task end as failed. To be called by unhandled_exception().
  void SetFailed() noexcept { number_ |= kFailed; }

  // Return what initial_suspend() and final_suspend() return. |awaiter| is what
  // they would return without tasks.
  template <typename Awaiter>
  auto TraceInitial(Awaiter awaiter) noexcept {
    return Initial<Awaiter>{std::move(awaiter), this};
  }
  template <typename Awaiter>
  auto TraceFinal(Awaiter awaiter) noexcept {
    number_ |= kFinished;
    return Final<Awaiter>{std::move(awaiter)};
  }

  // Makes all co_awaits of the coroutine say what they wait for. A promise with
  // an await_transform() of its own passes what that returns to this one.
  template <typename Awaitable>
  auto await_transform(Awaitable&& awaitable) {
    return Trace<internal::SiteOfType<std::remove_cvref_t<Awaitable>>>(
        static_cast<Awaitable&&>(awaitable));
  }
  template <typename Site, typename Awaitable>
  auto await_transform(internal::AwaitableAt<Site, Awaitable>&& at) {
    return Trace<Site>(static_cast<Awaitable&&>(at.awaitable));
  }

 private:
  template <typename Promise>
  friend class internal::SeeingPromise;
  template <typename Site, typename Awaiter>
  friend class internal::TracedAwaiter;

  template <typename Awaiter>
  struct Initial : Awaiter {
    template <typename Promise>
    auto await_suspend(std::coroutine_handle<Promise> coroutine) {
      return Awaiter::await_suspend(internal::HandleOf(coroutine));
    }
    void await_resume() {
      internal::ResumeTask(promise->task());
      promise->follower_.Resume();
      Awaiter::await_resume();
    }
    const TracedPromise* promise;
  };

  template <typename Awaiter>
  struct Final : Awaiter {
    template <typename Promise>
    auto await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
      // The awaiter may destroy the coroutine.
      coroutine.promise().End(
          internal::NextTaskOf(static_cast<const Awaiter&>(*this)));
      return Awaiter::await_suspend(internal::HandleOf(coroutine));
    }
  };

  // Bits of the number that no task has.
  static constexpr uint64_t kFailed = uint64_t{1} << 51;
  static constexpr uint64_t kFinished = uint64_t{1} << 50;

  template <typename Site, typename Awaitable>
  auto Trace(Awaitable&& awaitable) {
    using Found =
        decltype(internal::AwaiterOf(static_cast<Awaitable&&>(awaitable)));
    // A copy of an awaiter without state takes less of the frame than a
    // reference. Other awaiters may have passed their address on.
    using Value = std::remove_reference_t<Found>;
    using Awaiter = std::conditional_t<std::is_rvalue_reference_v<Found> &&
                                           std::is_empty_v<Value> &&
                                           std::is_trivially_copyable_v<Value>,
                                       Value, Found>;
    return internal::TracedAwaiter<Site, Awaiter>(
        this, static_cast<Awaitable&&>(awaitable));
  }
  void End(Task next) noexcept {
    SwitchTask(next, (number_ & kFailed) != 0 ? TaskResult::kFailed
                                              : TaskResult::kDone);
    number_ = 0;
    follower_.End();
  }

  uint64_t number_;
  internal::TaskFollower follower_;
};

namespace internal {

// Does what |Awaiter| does, between the steps of a suspension.
template <typename Site, typename Awaiter>
class TracedAwaiter {
 public:
  template <typename Awaitable>
  TracedAwaiter(const TracedPromise* promise, Awaitable&& awaitable)
      : promise_(promise),
        awaiter_(AwaiterOf(static_cast<Awaitable&&>(awaitable))) {}

  bool await_ready() { return awaiter_.await_ready(); }

  template <typename Promise>
  auto await_suspend(std::coroutine_handle<Promise> coroutine) {
    const auto handle = HandleOf(coroutine);
    const Task task = promise_->task();
    // Once the awaiter has the coroutine, another thread may resume it, which
    // destroys this object.
    SwitchTask(NextTaskOf(awaiter_), Site()());
    promise_->follower_.Suspend();
    using Result = decltype(awaiter_.await_suspend(handle));
    // If the awaiter throws, the coroutine goes on without an await_resume().
    Suspension suspension(task, promise_->follower_);
    if constexpr (std::is_void_v<Result>) {
      awaiter_.await_suspend(handle);
      suspension.HasLeft();
    } else {
      const Result result = awaiter_.await_suspend(handle);
      suspension.HasLeft();
      if (!IsLeftBy(result, handle))
        task.Wake();
      return result;
    }
  }

  decltype(auto) await_resume() {
    ResumeTask(promise_->task());
    promise_->follower_.Resume();
    return awaiter_.await_resume();
  }

 private:
  // Returns false for an await_suspend() after which the coroutine goes on.
  static bool IsLeftBy(bool is_suspended, std::coroutine_handle<>) {
    return is_suspended;
  }
  static bool IsLeftBy(std::coroutine_handle<> next,
                       std::coroutine_handle<> coroutine) {
    return next != coroutine;
  }

  const TracedPromise* promise_;
  Awaiter awaiter_;
};

// The place of all co_yields.
struct SiteOfYield {
  TaskSite& operator()() const { return site; }
  static inline TaskSite site{"co_yield", "", 0};
};

// Returns the type of the parameter of yield_value(), for `co_yield {1, 2}`:
// of overloads, that of the one which takes an rvalue.
template <typename Promise, typename Result, typename Value>
Value YieldedBy(Result (Promise::*)(Value));
template <typename Promise, typename Result, typename Value>
Value YieldedBy(Result (Promise::*)(Value) const);
template <typename Promise, typename Result, typename Value>
Value YieldedBy(Result (Promise::*)(Value&&));
template <typename Result, typename Value>
Value YieldedBy(Result (*)(Value));
template <typename Promise>
struct Yielded {
  using Type = void;
};
template <typename Promise>
requires requires {
  YieldedBy(&Promise::yield_value);
}
struct Yielded<Promise> {
  using Type =
      std::remove_reference_t<decltype(YieldedBy(&Promise::yield_value))>;
};

template <typename Promise>
class SeeingPromise final : public Promise {
 public:
  using Promise::Promise;

  // The names of variables are none that a promise type has, for -Wshadow.
  template <typename Value = typename Yielded<Promise>::Type>
  requires requires(Promise& promise, Value&& value) {
    promise.yield_value(static_cast<Value&&>(value));
  }
  auto yield_value(Value&& protozero_value) {
    using Awaitable =
        decltype(Promise::yield_value(static_cast<Value&&>(protozero_value)));
    if constexpr (kIsTraced<std::remove_cvref_t<Awaitable>>) {
      return Promise::yield_value(static_cast<Value&&>(protozero_value));
    } else {
      return Yield<Awaitable>{
          this, Promise::yield_value(static_cast<Value&&>(protozero_value))};
    }
  }

  void unhandled_exception() {
    Unhandled protozero_unhandled{this};
    Promise::unhandled_exception();
    protozero_unhandled.promise = nullptr;
  }

 private:
  // Holds what yield_value() has returned until the co_yield is over.
  template <typename Awaitable>
  struct Yield {
    auto operator co_await() {
      return promise->template Trace<SiteOfYield>(
          static_cast<Awaitable&&>(awaitable));
    }
    TracedPromise* promise;
    Awaitable awaitable;
  };

  // Ends the task if the exception goes on to whoever has resumed the
  // coroutine, which is at its end then.
  struct Unhandled {
    ~Unhandled() {
      if (promise != nullptr) {
        promise->SetFailed();
        promise->End(Task());
      }
    }
    TracedPromise* promise;
  };
};

// True for result types whose coroutines have a SeeingPromise.
template <typename Result>
concept HasTracedPromise =
    std::is_convertible_v<typename Result::promise_type*, TracedPromise*> &&
    !std::is_final_v<typename Result::promise_type>;

}  // namespace internal

PROTOZERO_ABI_END
}  // namespace protozero

template <PROTOZERO_INTERNAL_NS::internal::HasTracedPromise Result,
          typename... Args>
struct std::coroutine_traits<Result, Args...> {
  using promise_type = PROTOZERO_INTERNAL_NS::internal::SeeingPromise<
      typename Result::promise_type>;
  // A handle to either finds the other.
  static_assert(sizeof(promise_type) == sizeof(typename Result::promise_type) &&
                alignof(promise_type) ==
                    alignof(typename Result::promise_type));
};

#include "protozero/internal/undef_macros.h"

// Says what a co_await in the coroutine of a TracedPromise waits for. |name| is
// a literal.
#define PROTOZERO_AWAIT(name, ...)                  \
  PROTOZERO_INTERNAL_NS::internal::MakeAwaitableAt( \
      []() -> PROTOZERO_INTERNAL_NS::TaskSite& {    \
        return PROTOZERO_TASK_SITE(name);           \
      },                                            \
      (__VA_ARGS__))

#endif  // defined(__cpp_impl_coroutine)

#endif  // INCLUDE_PROTOZERO_TRACING_ADAPTERS_TRACED_COROUTINE_H_
