// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_BACKGROUND_THREAD_H_
#define SRC_TRACING_IPC_BACKGROUND_THREAD_H_

#include <pthread.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A thread that takes none of the process's signals. The kernel gives a signal
// to any thread that does not block it. A program that knows nothing of this
// thread expects its handlers, or its sigwait(), to run in its own threads, so
// this thread blocks all signals, even those without a handler now. It does not
// block signals that a thread causes itself, such as faults, and the samples of
// profilers. When no other thread is left, ProducerLoop takes all of them.
//
// It is not a std::thread, which ends a program without exceptions if the
// system gives it no thread.
class BackgroundThread {
 public:
  BackgroundThread() = default;
  // REQUIRES: it has not been started, or Join() or Detach() has returned.
  ~BackgroundThread() = default;

  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  // Calls |object->*function()| in a new thread. Returns 0, or the errno if
  // there is no thread.
  template <auto function, typename T>
  int Start(T* object) {
    return StartFunction(
        [](void* argument) -> void* {
          SetName();
          (static_cast<T*>(argument)->*function)();
          return nullptr;
        },
        object);
  }
  bool is_started() const { return is_started_; }
  // Returns whether the caller runs in it.
  bool is_current() const {
    return is_started_ && pthread_equal(thread_, pthread_self()) != 0;
  }
  void Join();
  // Lets the thread end by itself.
  void Detach();

 private:
  // Sets the name of the calling, new thread.
  static void SetName();
  int StartFunction(void* (*function)(void*), void* argument);

  pthread_t thread_{};
  bool is_started_ = false;
};

// Returns whether main() has not ended by pthread_exit(). Reads /proc.
bool MainThreadRuns();

// Returns whether the program has no thread any more that could end it: all
// threads have ended, that of main() by pthread_exit(), except for
// BackgroundThreads, also those of other copies of the library. Reads /proc;
// returns false if it cannot.
bool OnlyBackgroundThreadsAreLeft();

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_BACKGROUND_THREAD_H_
