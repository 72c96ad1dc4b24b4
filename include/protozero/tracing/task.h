// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_TASK_H_
#define INCLUDE_PROTOZERO_TRACING_TASK_H_

#include <stdint.h>

#include <atomic>
#include <string_view>

#include "protozero/tracing/internal/task_steps.h"
#include "protozero/tracing/track_event.h"

#include "protozero/internal/macros.h"

// Tasks of asynchronous programs on the timeline: coroutines, fibers, handlers,
// work of a thread pool. A task moves between threads; between its runs it
// waits. A program says five things of it:
//
//   Task task = Task::Spawn(PROTOZERO_TASK_SITE("session"));
//   task.Wake();                                       // It can run.
//   SwitchTask(task);                                  // This thread runs it.
//   SwitchTask(Task(), PROTOZERO_TASK_SITE("read"));   // It waits for "read".
//   SwitchTask(Task(), TaskResult::kDone);             // It has ended.
//
//             Spawn()      SwitchTask(task)     SwitchTask(other, result)
//   (nothing) -----> ready -----------------> running -----------> (ended)
//                      ^                         |
//                      |  SwitchTask(other)      |  SwitchTask(other, site)
//                      |<------------------------|-----> waiting --.
//                      '------------------- Wake() <---------------'
//
// Events of "protozero/tracing/track_event.h" belong to the task that their
// thread runs. `pztrace tasks` says where tasks wait, for whom, and what ran
// instead.
//
// Sessions that want the category "task" record tasks. While there is none, a
// switch is a load, a test, and a branch. Otherwise it takes no lock, and
// allocates nothing once the thread has run tasks in that session. Each
// function may be called on any thread. In a signal handler, they do what
// events do there.

namespace protozero {
PROTOZERO_ABI_BEGIN

// A place in the program where tasks are spawned, or where they wait. It is
// static: see PROTOZERO_TASK_SITE(). REQUIRES: the texts live forever.
struct TaskSite {
  // Makes the site of a line of the program.
  constexpr TaskSite(const char* name_text,
                     const char* file_name,
                     uint32_t line_number)
      : name(name_text), file(file_name), line(line_number) {}

  // The name and the place that it was made with.
  const char* const name;
  const char* const file;
  const uint32_t line;
  // The number of the site in this process: 0 before it is used, and for all
  // sites beyond the first 4,095.
  std::atomic<uint16_t> id{0};
};

// Returns the TaskSite of this place. The name is a literal: that of the tasks
// which are spawned here, or what tasks wait for here.
#define PROTOZERO_TASK_SITE(name)                                    \
  ([]() -> PROTOZERO_INTERNAL_NS::TaskSite& {                        \
    static PROTOZERO_INTERNAL_NS::TaskSite task_site(name, __FILE__, \
                                                     __LINE__);      \
    return task_site;                                                \
  }())

// The way in which a task has ended.
enum class TaskResult : uint8_t {
  kDone = 1,
  kFailed = 2,
  kCancelled = 3,
  // It was destroyed while it waited.
  kDestroyed = 4,
};

// A task: a number of 64 bits, and nothing else. The program keeps it wherever
// it keeps the task, such as in a coroutine's promise. A default Task is none.
class Task {
 public:
  constexpr Task() = default;

  // Makes a task. The task that the calling thread runs is its parent. |name|
  // is a name of its own, which is copied; the site's name is that of its rows
  // on threads. Tasks get numbers while no session records, too.
  static Task Spawn(TaskSite& site, std::string_view name = {}) noexcept;
  // Makes a task that waits, at the same place, until it is woken: for an
  // operation that has begun.
  static Task SpawnWaiting(TaskSite& site, std::string_view name = {}) noexcept;
  // Makes a task, as Spawn(), of another parent; Task() for none.
  static Task SpawnFrom(Task parent,
                        TaskSite& site,
                        std::string_view name = {}) noexcept;

  // Says that it can go on, because of what the calling thread does.
  void Wake() const noexcept {
    if (PROTOZERO_UNLIKELY(internal::AreTasksTraced()))
      internal::WriteTaskWake(number_);
  }
  // Says that it has ended without running again.
  void End(TaskResult result) const noexcept {
    if (PROTOZERO_UNLIKELY(internal::AreTasksTraced()))
      internal::WriteTaskEnd(number_, result);
  }

  // Returns the task that the calling thread runs. None before the thread's
  // first switch of the oldest session that goes on.
  static Task Running() noexcept {
    return PROTOZERO_UNLIKELY(internal::AreTasksTraced())
               ? Task(internal::RunningTask())
               : Task();
  }

  // Returns its number, which is unique in this process; 0 for none. It has the
  // site's in the upper 12 bits.
  constexpr uint64_t number() const { return number_; }
  // Returns the task with that number().
  static constexpr Task FromNumber(uint64_t number) { return Task(number); }
  constexpr explicit operator bool() const { return number_ != 0; }
  friend constexpr bool operator==(Task a, Task b) {
    return a.number_ == b.number_;
  }
  friend constexpr bool operator!=(Task a, Task b) { return !(a == b); }

 private:
  constexpr explicit Task(uint64_t number) : number_(number) {}
  static Task SpawnAs(TaskSite& site,
                      std::string_view name,
                      const uint64_t* parent,
                      bool waits) noexcept;

  uint64_t number_ = 0;
};

// Say that the calling thread runs |next| from now on, or no task, and what
// becomes of the task that it has run until now: that one could go on, waits
// at a place, or has ended.
inline void SwitchTask(Task next) noexcept {
  if (PROTOZERO_UNLIKELY(internal::AreTasksTraced()))
    internal::WriteTaskSwitch(next.number());
}
inline void SwitchTask(Task next, TaskSite& waits_at) noexcept {
  if (PROTOZERO_UNLIKELY(internal::AreTasksTraced()))
    internal::WriteTaskSwitch(next.number(), waits_at);
}
inline void SwitchTask(Task next, TaskResult result) noexcept {
  if (PROTOZERO_UNLIKELY(internal::AreTasksTraced()))
    internal::WriteTaskSwitch(next.number(), result);
}

// Says that the thread runs a task in a scope, and then goes on with the one
// before:
//
//   TaskScope scope(handler.task);
//   handler.function();
//   scope.Ends(TaskResult::kDone);
//
// A thread that takes one task after the other from a queue says so with
// SwitchTask(), which is one step a task, not two.
class TaskScope {
 public:
  // Says that the thread runs it.
  explicit TaskScope(Task task) noexcept : before_(Task::Running()) {
    SwitchTask(task);
  }
  // Says that the thread runs the task before.
  ~TaskScope() {
    if (site_ != nullptr)
      SwitchTask(before_, *site_);
    else if (has_result_)
      SwitchTask(before_, result_);
    else
      SwitchTask(before_);
  }
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  // Set what becomes of the task at the end of the scope: it waits there, or
  // has ended. Otherwise it could go on.
  void WaitsAt(TaskSite& site) { site_ = &site; }
  void Ends(TaskResult result) {
    result_ = result;
    has_result_ = true;
  }

 private:
  const Task before_;
  TaskSite* site_ = nullptr;
  TaskResult result_ = TaskResult::kDone;
  bool has_result_ = false;
};

// Says that the running task works on a request from now on, such as the one of
// a W3C `traceparent`. Tasks that it spawns work on it, too, and tasks that it
// wakes if they have no other.
inline void SetTaskRequest(std::string_view request) noexcept {
  if (PROTOZERO_UNLIKELY(internal::AreTasksTraced()))
    internal::WriteTaskRequest(request);
}

// A slice on a track of its own, which lasts as long as the object: while that
// moves between threads, or waits in a coroutine.
//
//   AsyncSlice slice = PROTOZERO_TRACE_ASYNC_SLICE("app", "request", "id", id);
//   queue.push_back({std::move(slice), id});  // Ends with the queue's entry.
//
// It takes 16 bytes. One thread at a time.
class AsyncSlice {
 public:
  // Makes an object without a slice.
  AsyncSlice() = default;
  ~AsyncSlice() { End(); }
  AsyncSlice(AsyncSlice&& other) noexcept
      : token_(other.token_), id_and_sessions_(other.id_and_sessions_) {
    other.token_ = 0;
  }
  AsyncSlice& operator=(AsyncSlice&& other) noexcept {
    if (this != &other) {
      End();
      token_ = other.token_;
      id_and_sessions_ = other.id_and_sessions_;
      other.token_ = 0;
    }
    return *this;
  }

  // Ends the slice, if it has begun and not ended.
  void End() noexcept {
    if (PROTOZERO_LIKELY(token_ == 0))
      return;
    internal::EmitEndOnAsyncTrack(
        token_, id_and_sessions_ >> 32,
        static_cast<internal::SessionMask>(id_and_sessions_));
    token_ = 0;
  }

  // Keeps the event that was its beginning, on the track of that number. For
  // the macro.
  void HasBegun(const internal::SliceOnTrack& slice, uint64_t id) {
    token_ = slice.token;
    id_and_sessions_ = id << 32 | slice.sessions;
  }

 private:
  uint64_t token_ = 0;
  uint64_t id_and_sessions_ = 0;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

// Begins an AsyncSlice, and returns it. The arguments are those of
// PROTOZERO_TRACE_EVENT(), without a track.
#if !defined(PROTOZERO_NO_TRACE_EVENTS)
#define PROTOZERO_TRACE_ASYNC_SLICE(category, ...)                         \
  ([&] {                                                                   \
    PROTOZERO_INTERNAL_NS::AsyncSlice protozero_async_slice;               \
    PROTOZERO_INTERNAL_TRACE_SITE_AT(protozero_async_site, SLICE_BEGIN,    \
                                     category, __VA_ARGS__)                \
    auto* const protozero_async_site_at =                                  \
        static_cast<PROTOZERO_INTERNAL_NS::internal::TraceSite*>(          \
            protozero_async_site);                                         \
    if (PROTOZERO_INTERNAL_TRACE_IS_ON(*protozero_async_site_at, category, \
                                       __VA_ARGS__)) {                     \
      const uint32_t protozero_async_id =                                  \
          PROTOZERO_INTERNAL_NS::internal::NextAsyncId();                  \
      protozero_async_slice.HasBegun(                                      \
          PROTOZERO_INTERNAL_NS::internal::Emit(                           \
              protozero_async_site_at, category, __VA_ARGS__,              \
              PROTOZERO_INTERNAL_NS::Track(                                \
                  PROTOZERO_INTERNAL_NS::internal::AsyncTrackId(           \
                      protozero_async_id))),                               \
          protozero_async_id);                                             \
    }                                                                      \
    return protozero_async_slice;                                          \
  }())
#else
#define PROTOZERO_TRACE_ASYNC_SLICE(...) PROTOZERO_INTERNAL_NS::AsyncSlice()
#endif

#endif  // INCLUDE_PROTOZERO_TRACING_TASK_H_
