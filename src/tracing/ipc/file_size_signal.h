// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_FILE_SIZE_SIGNAL_H_
#define SRC_TRACING_IPC_FILE_SIZE_SIGNAL_H_

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "src/tracing/shared_memory/no_cancellation.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Calls |write()|, which makes a file larger and returns an errno, and fails
// without a signal at the limit for the size of files. The kernel would also
// raise SIGXFSZ there, which ends most programs: this blocks the signal in this
// thread, and takes it back. Returns the errno. Async-signal-safe if |write()|
// is.
template <typename Write>
int CallWithoutSizeSignal(Write write) {
  const NoCancellation no_cancellation;
  sigset_t size_signal;
  sigemptyset(&size_signal);
  sigaddset(&size_signal, SIGXFSZ);
  sigset_t pending_before;
  sigpending(&pending_before);
  sigset_t mask_before;
  pthread_sigmask(SIG_BLOCK, &size_signal, &mask_before);
  const int error = write();
  // A signal that was pending before stays pending.
  if (error == EFBIG && sigismember(&pending_before, SIGXFSZ) == 0) {
    const timespec no_time{};
    while (sigtimedwait(&size_signal, nullptr, &no_time) < 0 &&
           errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
  errno = error;
  return error;
}

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_FILE_SIZE_SIGNAL_H_
