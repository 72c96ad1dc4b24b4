// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_WORKLOADS_COMPLETION_CHAINS_OS_H_
#define TEST_WORKLOADS_COMPLETION_CHAINS_OS_H_

#include <stdbool.h>
#include <stdint.h>

// An emulated operating system, as a program that does asynchronous I/O sees
// it: operations are started, and complete some time later, in the order in
// which they were started. C, as such interfaces are. One thread.

#ifdef __cplusplus
extern "C" {
#endif

// Told that an operation is complete: its context, and what came out.
typedef void (*OsCompletionCallback)(void* context, uint64_t result);

// The one that is told of all operations.
void os_register_completion_callback(OsCompletionCallback callback);

// Its result will be |argument| + 1. |context| is the caller's.
void os_start_operation(void* context, uint64_t argument);

// Lets the oldest operation complete: calls the callback, which may start
// others. Returns false if there is none.
bool os_trigger_next_completion(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TEST_WORKLOADS_COMPLETION_CHAINS_OS_H_
