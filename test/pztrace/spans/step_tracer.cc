// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Traces, for each line of its input, a task with a slice of that name; before
// them, a slice that does not end.

#include <stdio.h>
#include <string.h>

#include "protozero/tracing/producer.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/track_event.h"

int main() {
  protozero::Producer producer({});
  producer.RegisterDataSource(protozero::TrackEventDataSource());
  if (!producer.Sync(UINT32_MAX))
    return 1;
  PROTOZERO_TRACE_EVENT_BEGIN("app", "open");
  char line[256];
  while (fgets(line, sizeof(line), stdin) != nullptr) {
    line[strcspn(line, "\n")] = '\0';
    protozero::SwitchTask(protozero::Task::Spawn(PROTOZERO_TASK_SITE("step")));
    {
      PROTOZERO_TRACE_EVENT("app", protozero::DynamicString(line));
    }
    protozero::SwitchTask(protozero::Task(), protozero::TaskResult::kDone);
  }
  return 0;
}
