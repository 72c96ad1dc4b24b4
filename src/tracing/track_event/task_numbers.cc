// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/track_event/task_numbers.h"

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "src/tracing/track_event/registry.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

__thread uint64_t t_next_task_number = 0;

// Written with a RegistryLock.
RegisteredTaskSite g_task_sites[kMaxInterned];

namespace {

std::atomic<uint64_t> g_next_block_of_tasks{0};
uint16_t g_num_task_sites = 0;

}  // namespace

uint64_t TakeTaskNumbers() {
  const uint64_t number =
      g_next_block_of_tasks.fetch_add(1, std::memory_order_relaxed) *
      kTaskNumbersOfBlock;
  // 0 is no task.
  return number != 0 ? number : 1;
}

uint16_t RegisterTaskSite(TaskSite* site) {
  const RegistryLock lock;
  if (!lock.is_held())
    return 0;
  uint16_t id = site->id.load(std::memory_order_relaxed);
  if (id != 0 || g_num_task_sites + size_t{1} >= kMaxInterned)
    return id;
  id = ++g_num_task_sites;
  g_task_sites[id] = {site, site->name};
  site->id.store(id, std::memory_order_release);
  return id;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
