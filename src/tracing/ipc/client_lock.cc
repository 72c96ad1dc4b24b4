// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/client_lock.h"

#include <new>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

std::mutex& ClientLock() {
  // It is never destroyed: threads may go on when static objects are gone. It
  // is in static memory, because an allocation could fail.
  alignas(std::mutex) static unsigned char memory[sizeof(std::mutex)];
  static auto& lock = *new (memory) std::mutex();
  return lock;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
