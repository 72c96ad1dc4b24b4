// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/workloads/completion_chains_os.h"

#include <stddef.h>
#include <stdlib.h>

namespace {

struct PendingOperation {
  void* context;
  uint64_t argument;
};

// The size of a ring. No program here has more pending operations at a time.
constexpr size_t kMaxPending = 64;
static_assert((kMaxPending & (kMaxPending - 1)) == 0, "indices wrap");

OsCompletionCallback completion_callback;
PendingOperation pending[kMaxPending];
// Indices modulo 2^n of the oldest operation and of the next free place.
size_t oldest;
size_t next;

}  // namespace

void os_register_completion_callback(OsCompletionCallback callback) {
  completion_callback = callback;
}

void os_start_operation(void* context, uint64_t argument) {
  if (next - oldest == kMaxPending)
    abort();
  pending[next++ % kMaxPending] = {context, argument};
}

bool os_trigger_next_completion() {
  if (oldest == next)
    return false;
  const PendingOperation operation = pending[oldest++ % kMaxPending];
  completion_callback(operation.context, operation.argument + 1);
  return true;
}
