// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_COMPLETION_CHAINS_OS_H_
#define TEST_WORKLOADS_COMPLETION_CHAINS_OS_H_

#include <stdbool.h>
#include <stdint.h>

// An emulated operating system, as a program that does asynchronous I/O sees
// it: the program starts operations, and they complete some time later, in the
// order in which they were started. It is in C, like such interfaces. Only one
// thread may use it.

#ifdef __cplusplus
extern "C" {
#endif

// Receives the context and the result of a completed operation.
typedef void (*OsCompletionCallback)(void* context, uint64_t result);

// Sets the callback that receives all completions.
void os_register_completion_callback(OsCompletionCallback callback);

// Starts an operation whose result will be |argument| + 1. |context| is the
// caller's.
void os_start_operation(void* context, uint64_t argument);

// Completes the oldest operation: calls the callback, which may start other
// operations. Returns false if there is none.
bool os_trigger_next_completion(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TEST_WORKLOADS_COMPLETION_CHAINS_OS_H_
