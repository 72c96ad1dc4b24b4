// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACK_EVENT_TASK_NUMBERS_H_
#define SRC_TRACING_TRACK_EVENT_TASK_NUMBERS_H_

#include <stdint.h>

#include <string_view>

#include "protozero/tracing/internal/trace_site.h"
#include "protozero/tracing/task.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal PROTOZERO_HIDDEN {

// The number of a task:
//
//   63         52 51                     0
//   [site's id   ][number in this process]
inline constexpr int kTaskSiteShift = 52;
static_assert(kMaxInterned <= size_t{1} << (64 - kTaskSiteShift));

// Returns the part of a task's number that the trace has.
constexpr uint64_t NumberInTrace(uint64_t task) {
  return task & ((uint64_t{1} << kTaskSiteShift) - 1);
}

// The numbers in this process. A thread takes a block of them at a time, so
// that threads do not write to the same memory.
inline constexpr uint64_t kTaskNumbersOfBlock = uint64_t{1} << 12;
extern __thread uint64_t t_next_task_number;
// Returns the first number of a new block.
PROTOZERO_COLD uint64_t TakeTaskNumbers();
// Returns a number that no other task has.
inline uint64_t TakeTaskNumber() {
  uint64_t number = t_next_task_number;
  if (PROTOZERO_UNLIKELY(number % kTaskNumbersOfBlock == 0))
    number = TakeTaskNumbers();
  t_next_task_number = number + 1;
  return NumberInTrace(number);
}

// The sites that have ids, by their ids. Others are null.
struct RegisteredTaskSite {
  const TaskSite* site;
  std::string_view name;
};
extern RegisteredTaskSite g_task_sites[kMaxInterned];

// Gives an id to the site. Returns it; 0 if there are too many.
PROTOZERO_COLD uint16_t RegisterTaskSite(TaskSite* site);
inline uint16_t TaskSiteId(TaskSite* site) {
  const uint16_t id = site->id.load(std::memory_order_acquire);
  return PROTOZERO_LIKELY(id != 0) ? id : RegisterTaskSite(site);
}
// Returns the site where a task was spawned; null if that has no id.
inline const RegisteredTaskSite& TaskSiteOf(uint64_t task) {
  return g_task_sites[task >> kTaskSiteShift];
}

}  // namespace internal PROTOZERO_HIDDEN
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACK_EVENT_TASK_NUMBERS_H_
