// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_ADAPTERS_TRACED_AWAITABLE_H_
#define INCLUDE_PROTOZERO_TRACING_ADAPTERS_TRACED_AWAITABLE_H_

#include <stdint.h>

#include <type_traits>
#include <utility>

#include "protozero/tracing/adapters/asio_handler_tracking.h"
#include "protozero/tracing/internal/task_follower.h"
#include "protozero/tracing/task.h"

#include "protozero/internal/macros.h"

// Coroutines of Asio and Boost.Asio as tasks: one for each co_spawn(), which
// waits at the lines of the program. To be included after Asio. A program says
// TracedTask() where it spawns a coroutine, and TracedAwaitable() in place of
// use_awaitable where that waits:
//
//   co_spawn(io, TracedTask("session", Session(std::move(socket))), detached);
//
//   awaitable<void> Session(Socket socket) {
//     co_await async_read(socket, buffer, TracedAwaitable());  // "Session"
//     co_await timer.async_wait(TracedAwaitable("pause"));     // "pause"
//   }
//
// TracedTask() takes a coroutine, or a function that returns one. The task is
// spawned there, and runs when the executor has taken it from its queue: the
// coroutine does not begin within co_spawn(), as it would on the executor's own
// thread. Functions that it awaits are parts of it.
//
//   TracedTask()                      spawned
//   the executor begins it            run
//   an operation with TracedAwaitable waits at the line of that expression
//   its completion                    run
//   an operation with use_awaitable   waits at "unnamed wait" until it ends:
//                                     nothing tells when it goes on
//   the coroutine returns             ends: done
//   an exception leaves it            ends: failed
//   it is destroyed before, such as   ends: destroyed
//   with its io_context
//
// The token works within others: redirect_error(TracedAwaitable(), error). For
// an awaitable<T, MyExecutor> it is TracedAwaitable<MyExecutor>(). A coroutine
// that co_spawn() starts without TracedTask() is no task. Its waits are the
// same as with use_awaitable, if it does not start within a run of a task.
//
// A handler grows by 16 bytes, a coroutine by a frame. Sites are those of
// asio_handler_tracking.h, which may trace handlers besides.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// A line of the program at run time.
struct AsioPlace {
  TaskSite& Find() const {
    return AsioSites::Find(name, "", file, static_cast<uint32_t>(line));
  }
  const char* name;
  const char* file;
  int line;
};

// A task, and what follows it, for the next run. Each wait has a value of its
// own, for a task may wait for operations side by side.
struct AsioNext {
  static inline const char kNothing = 0;
  Task task;
  const void* followed = &kNothing;
};

// A run of a coroutine's task on this thread, within the handler that resumes
// it.
class AsioRun {
 public:
  explicit AsioRun(const AsioNext& next) noexcept
      : task_(next.task),
        outer_(current_),
        is_followed_(next.followed != &AsioNext::kNothing) {
    current_ = this;
    if (PROTOZERO_UNLIKELY(is_followed_))
      before_followed_ = TaskFollower::Exchange(next.followed);
    if (PROTOZERO_UNLIKELY(AreTasksTraced()) && task_) {
      before_ = Task::Running();
      SwitchTask(task_);
    }
  }
  ~AsioRun() {
    if (!is_left_ && PROTOZERO_UNLIKELY(AreTasksTraced()) && task_)
      SwitchTask(before_, unnamed_);
    StopFollowing();
    current_ = outer_;
  }
  AsioRun(const AsioRun&) = delete;
  AsioRun& operator=(const AsioRun&) = delete;

  // Returns the task that waits now, which may be none.
  static AsioNext WaitAt(const AsioPlace& place) noexcept {
    AsioRun* const run = current_;
    if (run == nullptr)
      return AsioNext();
    // If operations are started side by side, it waits at the first one.
    if (run->task_ && !run->is_left_) {
      run->is_left_ = true;
      if (PROTOZERO_UNLIKELY(AreTasksTraced()))
        SwitchTask(run->before_, place.Find());
    }
    AsioNext next{run->task_};
    if (PROTOZERO_UNLIKELY(run->is_followed_))
      next.followed = TaskFollower::Current();
    return next;
  }

  // Says that the task has ended, which this thread runs, or which is
  // destroyed while it waits.
  static void End(Task task, bool is_done) noexcept {
    AsioRun* const run = current_;
    if (run != nullptr && run->task_ == task)
      run->StopFollowing();
    if (run == nullptr || run->is_left_ || run->task_ != task) {
      task.End(is_done ? TaskResult::kDone : TaskResult::kDestroyed);
      return;
    }
    run->is_left_ = true;
    SwitchTask(run->before_, is_done ? TaskResult::kDone : TaskResult::kFailed);
  }

 private:
  void StopFollowing() noexcept {
    if (PROTOZERO_UNLIKELY(is_followed_))
      TaskFollower::Exchange(before_followed_);
    is_followed_ = false;
  }

  static inline thread_local AsioRun* current_ = nullptr;
  static inline TaskSite unnamed_{"unnamed wait", "", 0};
  const Task task_;
  Task before_;
  AsioRun* const outer_;
  const void* before_followed_ = nullptr;
  bool is_followed_;
  bool is_left_ = false;
};

// The handler of use_awaitable, which has an executor and a cancellation slot:
// so its base.
template <typename Handler>
class AsioTaskHandler : public Handler {
 public:
  AsioTaskHandler(Handler&& handler, const AsioNext& next)
      : Handler(std::move(handler)), next_(next) {}

  template <typename... Args>
  void operator()(Args&&... args) {
    // The handler may destroy the coroutine, and what it holds.
    AsioRun run(next_);
    Handler::operator()(std::forward<Args>(args)...);
  }

 private:
  AsioNext next_;
};

// Starts an operation that a task waits for.
template <typename Initiation>
class AsioTaskInitiation {
 public:
  AsioTaskInitiation(Initiation initiation,
                     const AsioPlace& place,
                     const AsioNext& next)
      : initiation_(std::move(initiation)), place_(place), next_(next) {}

  template <typename Handler, typename... Args>
  void operator()(Handler&& handler, Args&&... args) && {
    // Once the operation has the handler, another thread may resume the
    // coroutine.
    const AsioNext next = next_.task ? next_ : AsioRun::WaitAt(place_);
    std::move(initiation_)(
        AsioTaskHandler<std::decay_t<Handler>>(std::move(handler), next),
        std::forward<Args>(args)...);
  }

 private:
  Initiation initiation_;
  AsioPlace place_;
  AsioNext next_;
};

// The task of a coroutine that ends with it.
class AsioTaskEnd {
 public:
  explicit AsioTaskEnd(Task task) noexcept
      : task_(task), follower_(TaskFollower::Spawn()) {}
  AsioTaskEnd(AsioTaskEnd&& other) noexcept
      : task_(std::exchange(other.task_, Task())),
        follower_(std::move(other.follower_)) {}
  ~AsioTaskEnd() {
    if (task_)
      AsioRun::End(task_, is_done_);
  }

  AsioNext First() const {
    AsioNext first{task_};
    if (follower_.get() != nullptr)
      first.followed = follower_.get()->value;
    return first;
  }
  void HasReturned() { is_done_ = true; }

 private:
  Task task_;
  TaskFollower follower_;
  bool is_done_ = false;
};

}  // namespace internal

// A completion token: use_awaitable at a place.
template <typename Executor = void>
class TracedAwaitable {
 public:
  // Makes the token of the line that calls it. |name| is a literal that says
  // what the task waits for; otherwise it is the function's name.
  explicit TracedAwaitable(const char* name = __builtin_FUNCTION(),
                           const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) noexcept
      : place_{name, file, line} {}
  // Makes the token of the operation after which a task runs first, for this
  // header.
  explicit TracedAwaitable(const internal::AsioNext& next) noexcept
      : place_{"", "", 0}, next_(next) {}

  // Return where the task waits, and the task that runs first after it, which
  // may be none. For Asio.
  const internal::AsioPlace& place() const { return place_; }
  const internal::AsioNext& next() const { return next_; }

 private:
  internal::AsioPlace place_;
  internal::AsioNext next_;
};

// Leave out the executor where it is Asio's default.
TracedAwaitable() -> TracedAwaitable<void>;
TracedAwaitable(const char*) -> TracedAwaitable<void>;

PROTOZERO_ABI_END
}  // namespace protozero

// Asio and Boost.Asio have the same names in two namespaces.
#define PROTOZERO_INTERNAL_ASIO_TOKEN(asio)                                    \
  template <typename Executor, typename R, typename... Args>                   \
  class asio::async_result<PROTOZERO_INTERNAL_NS::TracedAwaitable<Executor>,   \
                           R(Args...)> {                                       \
    using Token = std::conditional_t<std::is_void_v<Executor>,                 \
                                     use_awaitable_t<>,                        \
                                     use_awaitable_t<Executor>>;               \
    using Result = async_result<Token, R(Args...)>;                            \
                                                                               \
   public:                                                                     \
    using return_type = typename Result::return_type;                          \
                                                                               \
    template <typename Initiation, typename... InitArgs>                       \
    static return_type initiate(                                               \
        Initiation&& initiation,                                               \
        const PROTOZERO_INTERNAL_NS::TracedAwaitable<Executor>& token,         \
        InitArgs&&... args) {                                                  \
      using Traced = PROTOZERO_INTERNAL_NS::internal::AsioTaskInitiation<      \
          std::decay_t<Initiation>>;                                           \
      const PROTOZERO_INTERNAL_NS::internal::AsioPlace& place = token.place(); \
      return Result::initiate(                                                 \
          Traced(std::forward<Initiation>(initiation), place, token.next()),   \
          Token(place.file, place.line, place.name),                           \
          std::forward<InitArgs>(args)...);                                    \
    }                                                                          \
  };                                                                           \
  namespace protozero {                                                        \
  PROTOZERO_ABI_BEGIN                                                          \
  namespace internal {                                                         \
  template <typename T, typename Executor>                                     \
  auto BeginAsioTask(const asio::awaitable<T, Executor>*, AsioNext next) {     \
    return asio::post(TracedAwaitable<Executor>(next));                        \
  }                                                                            \
  }                                                                            \
  PROTOZERO_ABI_END                                                            \
  }

#if defined(ASIO_HAS_CO_AWAIT)
PROTOZERO_INTERNAL_ASIO_TOKEN(asio)
#endif
#if defined(BOOST_ASIO_HAS_CO_AWAIT)
PROTOZERO_INTERNAL_ASIO_TOKEN(boost::asio)
#endif

#if defined(ASIO_HAS_CO_AWAIT) || defined(BOOST_ASIO_HAS_CO_AWAIT)
namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Returns the awaitable of a coroutine, or of a function that returns one.
template <typename Coroutine>
auto AwaitableOf(Coroutine& coroutine) {
  if constexpr (std::is_invocable_v<Coroutine&>)
    return coroutine();
  else
    return std::move(coroutine);
}

template <typename Awaitable, typename Coroutine>
Awaitable RunAsTask(AsioTaskEnd task, Coroutine coroutine) {
  // Ends with the body. A frame that never runs has the parameter only.
  AsioTaskEnd end(std::move(task));
  co_await BeginAsioTask(static_cast<const Awaitable*>(nullptr), end.First());
  if constexpr (std::is_void_v<typename Awaitable::value_type>) {
    co_await AwaitableOf(coroutine);
    end.HasReturned();
  } else {
    auto value = co_await AwaitableOf(coroutine);
    end.HasReturned();
    co_return value;
  }
}

}  // namespace internal

// Returns the coroutine, for co_spawn(), as a task with that name: a literal.
template <typename Coroutine>
auto TracedTask(const char* name,
                Coroutine coroutine,
                const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  using Awaitable = decltype(internal::AwaitableOf(coroutine));
  internal::AsioTaskEnd task(
      Task::Spawn(internal::AsioPlace{name, file, line}.Find()));
  return internal::RunAsTask<Awaitable>(std::move(task), std::move(coroutine));
}

PROTOZERO_ABI_END
}  // namespace protozero
#endif

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_ADAPTERS_TRACED_AWAITABLE_H_
