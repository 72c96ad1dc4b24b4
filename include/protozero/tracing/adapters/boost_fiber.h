// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_ADAPTERS_BOOST_FIBER_H_
#define INCLUDE_PROTOZERO_TRACING_ADAPTERS_BOOST_FIBER_H_

#include <chrono>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "protozero/tracing/internal/task_follower.h"
#include "protozero/tracing/task.h"

#include "protozero/internal/macros.h"

// Fibers of Boost.Fiber as tasks, by a wrapper of any scheduling algorithm:
//
//   using boost::fibers::algo::work_stealing;
//   boost::fibers::use_scheduling_algorithm<TracedAlgorithm<work_stealing>>(
//       num_threads);
//
// A fiber is spawned by the fiber that launches it. It is woken when its
// scheduler finds that it can go on, runs, and ends. A FiberPlace says where
// the fiber waits meanwhile, and where it launches others:
//
//   FiberPlace place(PROTOZERO_TASK_SITE("answer"));
//   answers.pop(answer);
//
//   launch::post      awakened(): spawn         pick_next(): run
//   launch::dispatch  spawn and run, when the launching fiber is awakened()
//   wait, yield       pick_next(): wait         awakened(): wake
//   return            pick_next(): end
//
// So a fiber that yields waits, and is woken at once. A wake from another
// thread is seen when the fiber's own thread has nothing to run, as a wake by
// no task. While suspend_until() is called, the thread runs no task.
//
// The main fiber of a thread is the task to which the program has switched
// there, if any.
//
// A fiber takes two allocations more. A switch looks up the fiber's task twice,
// also while no session records, so that later ones know the names. This header
// includes nothing of Boost: it knows the types by those of the algorithm.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// A fiber's task, and its innermost FiberPlace.
struct TracedFiber {
  Task task;
  TaskFollower follower;
  TaskSite* place = nullptr;
};

// The fibers of a thread.
struct FiberThread {
  TracedFiber main;
  // The fiber that runs; null for the scheduler's own.
  TracedFiber* running = &main;
  // Means that the fiber that runs will not run again.
  bool has_ended = false;

  // Returns the calling thread's. It is no inline function, since a compiler
  // would keep its result while a fiber moves to another thread.
  PROTOZERO_NOINLINE static FiberThread& OfThisThread() {
    static thread_local FiberThread thread;
    FiberThread* found = &thread;
    asm volatile("" : "+r"(found));
    return *found;
  }
};

// The place of all that have no FiberPlace. It is the key of the TracedFiber in
// what Boost keeps for each fiber, too.
inline TaskSite g_fiber_site{"fiber", "", 0};

// Name types of Boost, by functions that take them.
template <typename Class, typename Pointer>
Pointer CleanupOf(void (Class::*)(const void*, const Pointer&, void*, bool));
template <typename Class, typename Type>
Type TypeOf(bool (Class::*)(Type) const noexcept);

}  // namespace internal

// Says that the calling fiber waits at a place while the object lives, and that
// the fibers which it launches are spawned there.
class FiberPlace {
 public:
  // Makes |site| the place of the fiber that runs.
  explicit FiberPlace(TaskSite& site) noexcept
      : fiber_(internal::FiberThread::OfThisThread().running) {
    if (fiber_ != nullptr)
      before_ = std::exchange(fiber_->place, &site);
  }
  ~FiberPlace() {
    if (fiber_ != nullptr)
      fiber_->place = before_;
  }
  FiberPlace(const FiberPlace&) = delete;
  FiberPlace& operator=(const FiberPlace&) = delete;

 private:
  internal::TracedFiber* const fiber_;
  TaskSite* before_ = nullptr;
};

// Does what |Algorithm| does. Its constructor takes the same.
template <typename Algorithm>
class TracedAlgorithm final : public Algorithm::ptr_t::element_type {
 public:
  // The type of Boost's fibers.
  using Context =
      std::remove_pointer_t<decltype(std::declval<Algorithm&>().pick_next())>;

  // Makes the algorithm of this thread.
  template <typename... Args>
  explicit TracedAlgorithm(Args&&... args)
      : thread_(internal::FiberThread::OfThisThread()),
        running_(Context::active()),
        end_(new End),
        algorithm_(new Algorithm(std::forward<Args>(args)...)) {}

  void awakened(Context* fiber) noexcept override {
    Context* const active = Context::active();
    if (active != running_)
      BeginLaunched(active);
    else if (const internal::TracedFiber* const known = Find(fiber))
      known->task.Wake();
    else if (IsWorker(fiber))
      Spawn(fiber);
    // From now on, another thread may take it.
    algorithm_->awakened(fiber);
  }

  Context* pick_next() noexcept override {
    Context* const next = algorithm_->pick_next();
    if (next != nullptr)
      SwitchTo(next);
    return next;
  }

  bool has_ready_fibers() const noexcept override {
    return algorithm_->has_ready_fibers();
  }

  void suspend_until(
      const std::chrono::steady_clock::time_point& time) noexcept override {
    algorithm_->suspend_until(time);
  }

  void notify() noexcept override { algorithm_->notify(); }

 private:
  using EndPointer = decltype(internal::CleanupOf(&Context::set_fss_data));
  using Type = decltype(internal::TypeOf(&Context::is_context));

  // Boost calls it in the fiber, before that leaves its thread for ever.
  class End final : public EndPointer::element_type {
    void operator()(void* data) override {
      auto* const fiber = static_cast<internal::TracedFiber*>(data);
      internal::FiberThread& thread = internal::FiberThread::OfThisThread();
      if (thread.running == fiber) {
        thread.running = nullptr;
        thread.has_ended = true;
      }
      delete fiber;
    }
  };

  static bool IsWorker(const Context* fiber) {
    return fiber->is_context(Type::worker_context);
  }
  static TaskSite& PlaceOf(const internal::TracedFiber* fiber) {
    return fiber != nullptr && fiber->place != nullptr ? *fiber->place
                                                       : internal::g_fiber_site;
  }

  // Returns null if nothing is known of the fiber.
  internal::TracedFiber* Find(const Context* fiber) {
    if (fiber->is_context(Type::main_context))
      return &thread_.main;
    return IsWorker(fiber) ? static_cast<internal::TracedFiber*>(
                                 fiber->get_fss_data(&internal::g_fiber_site))
                           : nullptr;
  }

  // Returns null if there is no memory. Then the fiber is no task.
  internal::TracedFiber* Spawn(Context* fiber) noexcept {
    std::unique_ptr<internal::TracedFiber> added(new (std::nothrow)
                                                     internal::TracedFiber);
    if (added == nullptr || !Keep(fiber, added.get()))
      return nullptr;
    added->task = Task::Spawn(PlaceOf(thread_.running));
    added->follower = internal::TaskFollower::Spawn();
    return added.release();
  }

  // Gives |traced| to the fiber. Returns false if there is no memory.
  bool Keep(Context* fiber, internal::TracedFiber* traced) noexcept {
#if defined(__cpp_exceptions)
    try {
      fiber->set_fss_data(&internal::g_fiber_site, end_, traced, false);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
#else
    fiber->set_fss_data(&internal::g_fiber_site, end_, traced, false);
    return true;
#endif
  }

  // Says that a fiber runs which the one before has launched: Boost goes to it
  // without a pick_next().
  void BeginLaunched(Context* fiber) noexcept {
    KeepTaskOfMain();
    running_ = fiber;
    internal::TracedFiber* const launched = Spawn(fiber);
    Follow(launched);
    thread_.running = launched;
    SwitchTask(launched != nullptr ? launched->task : Task());
  }

  void SwitchTo(Context* next) noexcept {
    KeepTaskOfMain();
    const internal::TracedFiber* const before = thread_.running;
    running_ = next;
    internal::TracedFiber* const found = Find(next);
    Follow(found);
    thread_.running = found;
    const Task task =
        thread_.running != nullptr ? thread_.running->task : Task();
    if (std::exchange(thread_.has_ended, false))
      SwitchTask(task, TaskResult::kDone);
    else if (before != nullptr && before->task)
      SwitchTask(task, PlaceOf(before));
    else if (task)
      SwitchTask(task);
  }

  // Lets what follows tasks go on with |next|.
  void Follow(const internal::TracedFiber* next) const noexcept {
    if (thread_.running != nullptr)
      thread_.running->follower.Suspend();
    if (next != nullptr)
      next->follower.Resume();
  }

  void KeepTaskOfMain() noexcept {
    if (thread_.running == &thread_.main)
      thread_.main.task = Task::Running();
  }

  internal::FiberThread& thread_;
  Context* running_;
  const EndPointer end_;
  // An algorithm may have made a pointer to itself that shares it.
  const typename Algorithm::ptr_t algorithm_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_ADAPTERS_BOOST_FIBER_H_
