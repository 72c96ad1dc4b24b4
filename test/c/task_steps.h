// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_C_TASK_STEPS_H_
#define TEST_C_TASK_STEPS_H_

#include "protozero/c/pbz_task.h"

#if defined(__cplusplus)
extern "C" {
#endif

// The tasks of trace_task_steps().
typedef struct task_steps_result {
  pbz_task parent;
  pbz_task child;
  pbz_task other;
  pbz_task waiting;
  // The running tasks after the switch to |parent|, and at the end.
  pbz_task running;
  pbz_task running_at_end;
} task_steps_result;

// Does each step once.
task_steps_result trace_task_steps(void);

#if defined(__cplusplus)
}  // extern "C"
#endif

#endif  // TEST_C_TASK_STEPS_H_
