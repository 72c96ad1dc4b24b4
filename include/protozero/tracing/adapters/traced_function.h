// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_ADAPTERS_TRACED_FUNCTION_H_
#define INCLUDE_PROTOZERO_TRACING_ADAPTERS_TRACED_FUNCTION_H_

#include <functional>
#include <type_traits>
#include <utility>

#include "protozero/tracing/internal/task_follower.h"
#include "protozero/tracing/task.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A function as a task, for a thread pool or any other queue:
//
//   TracedFunction resize(PROTOZERO_TASK_SITE("resize"), [=] { Resize(i); });
//   pool.Post(std::move(resize));
//
// The task is spawned with the object, and can run from then on. It runs while
// the function is called, and ends with that call: as failed if the function
// throws. If the object is destroyed before, so is the task. The function is
// called once. One thread at a time.
template <typename Function>
class TracedFunction {
 public:
  // Spawns the task.
  TracedFunction(TaskSite& site, Function function)
      : function_(std::move(function)),
        task_(Task::Spawn(site)),
        follower_(internal::TaskFollower::Spawn()) {}
  ~TracedFunction() {
    if (task_)
      task_.End(TaskResult::kDestroyed);
  }
  TracedFunction(TracedFunction&& other) noexcept(
      std::is_nothrow_move_constructible<Function>::value)
      : function_(std::move(other.function_)),
        task_(std::exchange(other.task_, Task())),
        follower_(std::move(other.follower_)) {}
  TracedFunction& operator=(TracedFunction&&) = delete;

  // Calls the function.
  template <typename... Args>
  decltype(auto) operator()(Args&&... args) {
    Run run(std::exchange(task_, Task()), std::move(follower_));
    // The result is made before |run| ends.
    if constexpr (std::is_void<
                      std::invoke_result_t<Function&, Args&&...>>::value) {
      function_(std::forward<Args>(args)...);
      run.scope.Ends(TaskResult::kDone);
    } else {
      decltype(auto) result = function_(std::forward<Args>(args)...);
      run.scope.Ends(TaskResult::kDone);
      return static_cast<decltype(result)>(result);
    }
  }

  // Returns its task, until the function is called.
  Task task() const { return task_; }

 private:
  struct Run {
    Run(Task task, internal::TaskFollower its_follower)
        : scope(task), follower(std::move(its_follower)) {
      scope.Ends(TaskResult::kFailed);
      follower.Resume();
    }
    TaskScope scope;
    internal::TaskFollower follower;
  };

  Function function_;
  Task task_;
  internal::TaskFollower follower_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_ADAPTERS_TRACED_FUNCTION_H_
