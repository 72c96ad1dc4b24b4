// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_CLIENT_LOCK_H_
#define SRC_TRACING_IPC_CLIENT_LOCK_H_

#include <mutex>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Returns the lock of everything that the producers, data sources and
// connections of this process share between threads. There is only one, so that
// fork() can take it: the child process then finds everything in order. A
// thread that holds it does not wait, calls no function of users, and ends no
// connection.
std::mutex& ClientLock();

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_CLIENT_LOCK_H_
