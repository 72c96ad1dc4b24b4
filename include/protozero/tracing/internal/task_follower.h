// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_INTERNAL_TASK_FOLLOWER_H_
#define INCLUDE_PROTOZERO_TRACING_INTERNAL_TASK_FOLLOWER_H_

#include <atomic>
#include <utility>

#include "protozero/internal/macros.h"

// A pointer of each thread that follows tasks: the current span of
// OpenTelemetry, see "protozero/tracing/adapters/task_spans.h". Tracing does
// not know what it is.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The pointer of a task.
struct FollowedTask {
  // The task's, while it does not run.
  const void* value = nullptr;
  // The thread's own, while the task runs.
  const void* before = nullptr;
  bool is_running = false;
};

// The functions that know the pointer.
struct TaskFollowing {
  // Makes what belongs to a task that the calling thread spawns. Null without
  // memory.
  FollowedTask* (*spawn)() noexcept;
  // Sets the pointer of the calling thread, and returns the one before.
  const void* (*exchange)(const void* value) noexcept;
  // Returns the pointer of the calling thread.
  const void* (*current)() noexcept;
  void (*end)(FollowedTask* task) noexcept;
};

// Null while nothing follows tasks.
inline std::atomic<const TaskFollowing*> g_task_following{nullptr};

// The part of a task that an adapter keeps: nothing for a task that was spawned
// while nothing followed tasks.
class TaskFollower {
 public:
  TaskFollower() = default;
  ~TaskFollower() {
    if (PROTOZERO_UNLIKELY(task_ != nullptr))
      End();
  }
  TaskFollower(TaskFollower&& other) noexcept
      : task_(std::exchange(other.task_, nullptr)) {}
  TaskFollower& operator=(TaskFollower&& other) noexcept {
    std::swap(task_, other.task_);
    return *this;
  }

  // Returns that of a task which the calling thread spawns.
  static TaskFollower Spawn() noexcept {
    TaskFollower follower;
    const TaskFollowing* const following =
        g_task_following.load(std::memory_order_relaxed);
    if (PROTOZERO_UNLIKELY(following != nullptr))
      follower.task_ = following->spawn();
    return follower;
  }

  // Say that the calling thread begins and ends a run of the task. They do
  // nothing if it has done so.
  void Resume() const noexcept {
    if (PROTOZERO_UNLIKELY(task_ != nullptr) && !task_->is_running) {
      task_->is_running = true;
      task_->before = Exchange(task_->value);
    }
  }
  void Suspend() const noexcept {
    if (PROTOZERO_UNLIKELY(task_ != nullptr) && task_->is_running) {
      task_->is_running = false;
      task_->value = Exchange(task_->before);
    }
  }

  // Ends it, and a run of the calling thread.
  void End() noexcept {
    if (PROTOZERO_LIKELY(task_ == nullptr))
      return;
    Suspend();
    g_task_following.load(std::memory_order_relaxed)
        ->end(std::exchange(task_, nullptr));
  }

  // Returns what is followed, null for nothing.
  FollowedTask* get() const { return task_; }
  // Set and return the pointer of the calling thread. REQUIRES: something
  // follows tasks.
  static const void* Exchange(const void* value) noexcept {
    return g_task_following.load(std::memory_order_relaxed)->exchange(value);
  }
  static const void* Current() noexcept {
    return g_task_following.load(std::memory_order_relaxed)->current();
  }

 private:
  FollowedTask* task_ = nullptr;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_TRACING_INTERNAL_TASK_FOLLOWER_H_
