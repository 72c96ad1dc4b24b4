// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/c/task_steps.h"

#include <stddef.h>

static pbz_task_site parent_site = PBZ_TASK_SITE("parent");
static pbz_task_site child_site = PBZ_TASK_SITE("child");
static pbz_task_site wait_site = PBZ_TASK_SITE("answer");

task_steps_result trace_task_steps(void) {
  task_steps_result result;
  result.parent = pbz_task_spawn(&parent_site, NULL);
  pbz_task_switch(result.parent);
  result.running = pbz_task_running();
  pbz_task_set_request("request 7");
  result.child = pbz_task_spawn(&child_site, "first child");
  result.other = pbz_task_spawn_from(PBZ_NO_TASK, &child_site, NULL);
  result.waiting = pbz_task_spawn_waiting(&wait_site, NULL);
  pbz_task_switch_waits(result.child, &wait_site);
  pbz_task_wake(result.parent);
  pbz_task_switch_ended(result.parent, PBZ_TASK_FAILED);
  pbz_task_end(result.other, PBZ_TASK_DESTROYED);
  pbz_task_switch_ended(PBZ_NO_TASK, PBZ_TASK_DONE);
  result.running_at_end = pbz_task_running();
  return result;
}
