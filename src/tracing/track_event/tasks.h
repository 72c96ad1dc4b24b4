// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACK_EVENT_TASKS_H_
#define SRC_TRACING_TRACK_EVENT_TASKS_H_

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Makes traces describe TrackEvent.task as an extension.
void DescribeTaskEvents();

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACK_EVENT_TASKS_H_
