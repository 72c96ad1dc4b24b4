// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_C_PBZ_TASK_H_
#define INCLUDE_PROTOZERO_C_PBZ_TASK_H_

#include <stdint.h>

// Tasks of asynchronous programs on the timeline, for C: an event loop's
// handlers, fibers, state machines. "protozero/tracing/task.h" says what they
// are, and is the same for C++; tasks may pass from one to the other.
//
//   static pbz_task_site session = PBZ_TASK_SITE("session");
//   static pbz_task_site read = PBZ_TASK_SITE("read");
//
//   pbz_task task = pbz_task_spawn(&session, NULL);
//   pbz_task_wake(task);                           // It can run.
//   pbz_task_switch(task);                         // This thread runs it.
//   pbz_task_switch_waits(PBZ_NO_TASK, &read);     // It waits for "read".
//   pbz_task_switch_ended(PBZ_NO_TASK, PBZ_TASK_DONE);
//
// While no session records tasks, a step is a load, a test, and a branch. The
// program links protozero's tracing library, and starts a session in C++, or
// connects to a service there: see examples/c_trace. Each function may be
// called on any thread.

#if defined(__cplusplus)
extern "C" {
#endif
// The tracing library is a part of the program or library that it is linked
// into. Its symbols have the library's version, so that a program may have two.
#pragma GCC visibility push(hidden)
#define PBZ_TASK_SYMBOL_(name) __asm__("pz_0_1_" #name)
#define PBZ_TASK_INLINE_ static inline __attribute__((unused))

// A task: a number of 64 bits, and nothing else.
typedef uint64_t pbz_task;
enum { PBZ_NO_TASK = 0 };

// A place in the program where tasks are spawned, or where they wait. It is
// static, and initialized by PBZ_TASK_SITE(). REQUIRES: |name| lives forever.
typedef struct pbz_task_site {
  const char* name;
  const char* file;
  uint32_t line;
  // The number of the site in this process, once it is used.
  uint16_t id_;
} pbz_task_site;

// The initializer of the site of this place.
#define PBZ_TASK_SITE(name) {name, __FILE__, __LINE__, 0}

// The way in which a task has ended.
typedef enum pbz_task_result {
  PBZ_TASK_DONE = 1,
  PBZ_TASK_FAILED = 2,
  PBZ_TASK_CANCELLED = 3,
  // It was destroyed while it waited.
  PBZ_TASK_DESTROYED = 4
} pbz_task_result;

// Make a task, whose parent is the task that the calling thread runs, or
// |parent|; PBZ_NO_TASK for none. |name| is a name of its own, which is copied,
// or null. Tasks get numbers while no session records, too.
pbz_task pbz_task_spawn(pbz_task_site* site, const char* name)
    PBZ_TASK_SYMBOL_(pbz_task_spawn);
pbz_task pbz_task_spawn_from(pbz_task parent,
                             pbz_task_site* site,
                             const char* name)
    PBZ_TASK_SYMBOL_(pbz_task_spawn_from);

// Makes a task that waits, at the same place, until it is woken.
pbz_task pbz_task_spawn_waiting(pbz_task_site* site, const char* name)
    PBZ_TASK_SYMBOL_(pbz_task_spawn_waiting);

// The address of a uint32_t, which is 0 while no session records steps.
extern const void* const pbz_task_sessions_
    PBZ_TASK_SYMBOL_(pbz_task_sessions_);
PBZ_TASK_INLINE_ int pbz_task_is_traced_(void) {
  const uint32_t sessions =
      __atomic_load_n((const uint32_t*)pbz_task_sessions_, __ATOMIC_RELAXED);
  return __builtin_expect(sessions != 0, 0) != 0;
}
void pbz_task_write_wake_(pbz_task task) PBZ_TASK_SYMBOL_(pbz_task_write_wake_);
void pbz_task_write_end_(pbz_task task, pbz_task_result result)
    PBZ_TASK_SYMBOL_(pbz_task_write_end_);
void pbz_task_write_switch_(pbz_task next)
    PBZ_TASK_SYMBOL_(pbz_task_write_switch_);
void pbz_task_write_switch_waits_(pbz_task next, pbz_task_site* waits_at)
    PBZ_TASK_SYMBOL_(pbz_task_write_switch_waits_);
void pbz_task_write_switch_ended_(pbz_task next, pbz_task_result result)
    PBZ_TASK_SYMBOL_(pbz_task_write_switch_ended_);
void pbz_task_write_request_(const char* request)
    PBZ_TASK_SYMBOL_(pbz_task_write_request_);
pbz_task pbz_task_read_running_(void) PBZ_TASK_SYMBOL_(pbz_task_read_running_);

// Says that a task can go on, because of what the calling thread does.
PBZ_TASK_INLINE_ void pbz_task_wake(pbz_task task) {
  if (pbz_task_is_traced_())
    pbz_task_write_wake_(task);
}

// Says that a task has ended without running again.
PBZ_TASK_INLINE_ void pbz_task_end(pbz_task task, pbz_task_result result) {
  if (pbz_task_is_traced_())
    pbz_task_write_end_(task, result);
}

// Say that the calling thread runs |next| from now on, or no task, and what
// becomes of the task that it has run until now: that one could go on, waits
// at a place, or has ended.
PBZ_TASK_INLINE_ void pbz_task_switch(pbz_task next) {
  if (pbz_task_is_traced_())
    pbz_task_write_switch_(next);
}
PBZ_TASK_INLINE_ void pbz_task_switch_waits(pbz_task next,
                                            pbz_task_site* waits_at) {
  if (pbz_task_is_traced_())
    pbz_task_write_switch_waits_(next, waits_at);
}
PBZ_TASK_INLINE_ void pbz_task_switch_ended(pbz_task next,
                                            pbz_task_result result) {
  if (pbz_task_is_traced_())
    pbz_task_write_switch_ended_(next, result);
}

// Says that the running task works on a request from now on. Tasks that it
// spawns work on it, too, and tasks that it wakes if they have no other.
PBZ_TASK_INLINE_ void pbz_task_set_request(const char* request) {
  if (pbz_task_is_traced_())
    pbz_task_write_request_(request);
}

// Returns the task that the calling thread runs; PBZ_NO_TASK before the
// thread's first switch of the oldest session that goes on.
PBZ_TASK_INLINE_ pbz_task pbz_task_running(void) {
  if (pbz_task_is_traced_())
    return pbz_task_read_running_();
  return PBZ_NO_TASK;
}

#undef PBZ_TASK_SYMBOL_
#undef PBZ_TASK_INLINE_
#pragma GCC visibility pop
#if defined(__cplusplus)
}  // extern "C"
#endif

#endif  // INCLUDE_PROTOZERO_C_PBZ_TASK_H_
