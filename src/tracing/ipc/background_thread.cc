// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/background_thread.h"

#include <errno.h>
#include <signal.h>

#include <initializer_list>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// Blocks signals in this thread, and so in the threads that it starts
// meanwhile. A thread that blocked them itself could get one before.
class ScopedBlockedSignals {
 public:
  ScopedBlockedSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int signal :
         {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPROF, SIGSEGV, SIGSYS, SIGTRAP}) {
      sigdelset(&blocked, signal);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~ScopedBlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  ScopedBlockedSignals(const ScopedBlockedSignals&) = delete;
  ScopedBlockedSignals& operator=(const ScopedBlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

int BackgroundThread::StartFunction(void* (*function)(void*), void* argument) {
  const ScopedBlockedSignals blocked;
  // If an allocation in pthread_create() fails, glibc ends the program unless
  // errno says so, which a malloc() of the program's own may forget.
  errno = ENOMEM;
  const int error = pthread_create(&thread_, nullptr, function, argument);
  is_started_ = error == 0;
  return error;
}

void BackgroundThread::Join() {
  pthread_join(thread_, nullptr);
  is_started_ = false;
}

PROTOZERO_ABI_END
}  // namespace protozero
