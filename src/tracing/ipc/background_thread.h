// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_BACKGROUND_THREAD_H_
#define SRC_TRACING_IPC_BACKGROUND_THREAD_H_

#include <functional>
#include <thread>

namespace protozero {

// Runs |function| in a thread that takes none of the process's signals: the
// kernel gives those to any thread that does not block them, and a program that
// knows nothing of this one expects its handlers, or its sigwait(), in threads
// of its own. What a thread does to itself, as a fault, and the samples of
// profilers are not blocked.
std::thread StartBackgroundThread(std::function<void()> function);

}  // namespace protozero

#endif  // SRC_TRACING_IPC_BACKGROUND_THREAD_H_
