// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/process_barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

SharedMemoryArbiter::ProcessBarrier GetProcessBarrier() {
  // Not kept in a static variable: a child process that is made while a thread
  // initializes it would wait for that thread for ever. The kernel takes some
  // milliseconds the first time, and none later.
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
              0) != 0) {
    return nullptr;
  }
  // A seccomp filter may forbid the call later.
  return [] {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
  };
}

PROTOZERO_ABI_END
}  // namespace protozero
