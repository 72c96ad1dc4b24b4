// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SHARED_MEMORY_NO_CANCELLATION_H_
#define SRC_TRACING_SHARED_MEMORY_NO_CANCELLATION_H_

#include <pthread.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Makes pthread_cancel() have no effect on the calling thread while the object
// exists. It is needed around each system call of an event that is a
// cancellation point: glibc would unwind the thread from there, through
// functions that are noexcept. Async-signal-safe.
class NoCancellation {
 public:
#if defined(__ANDROID__)  // Android cancels no threads.
  NoCancellation() {}
#else
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
#endif
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  [[maybe_unused]] int before_ = 0;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SHARED_MEMORY_NO_CANCELLATION_H_
