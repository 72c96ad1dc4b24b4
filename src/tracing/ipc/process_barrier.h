// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_PROCESS_BARRIER_H_
#define SRC_TRACING_IPC_PROCESS_BARRIER_H_

#include "protozero/tracing/shared_memory_arbiter.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Returns a barrier for SharedMemoryArbiter::Options. Null if the kernel has
// none (before Linux 4.14), or does not allow it. If the kernel forbids it
// later, the barrier returns false from then on. Any thread.
SharedMemoryArbiter::ProcessBarrier GetProcessBarrier();

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PROCESS_BARRIER_H_
