// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/c/pbz_task.h"

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <string_view>
#include <type_traits>

#include "protozero/tracing/task.h"

#include "protozero/internal/macros.h"

using protozero::Task;
using protozero::TaskResult;
using protozero::TaskSite;
using protozero::internal::SessionMask;

// A C program reads |enabled| as a number.
static_assert(std::is_same<SessionMask, uint32_t>::value &&
              sizeof(std::atomic<SessionMask>) == sizeof(uint32_t) &&
              std::atomic<SessionMask>::is_always_lock_free);

// And its sites are TaskSites.
static_assert(std::is_standard_layout<TaskSite>::value &&
              sizeof(pbz_task_site) == sizeof(TaskSite) &&
              offsetof(pbz_task_site, name) == offsetof(TaskSite, name) &&
              offsetof(pbz_task_site, file) == offsetof(TaskSite, file) &&
              offsetof(pbz_task_site, line) == offsetof(TaskSite, line) &&
              offsetof(pbz_task_site, id_) == offsetof(TaskSite, id) &&
              sizeof(std::atomic<uint16_t>) == sizeof(uint16_t));

static_assert(int{PBZ_TASK_DONE} == static_cast<int>(TaskResult::kDone) &&
              int{PBZ_TASK_FAILED} == static_cast<int>(TaskResult::kFailed) &&
              int{PBZ_TASK_CANCELLED} ==
                  static_cast<int>(TaskResult::kCancelled) &&
              int{PBZ_TASK_DESTROYED} ==
                  static_cast<int>(TaskResult::kDestroyed));

namespace {

TaskSite& SiteOfC(pbz_task_site* site) {
  return *reinterpret_cast<TaskSite*>(site);
}
TaskResult ResultOfC(pbz_task_result result) {
  return static_cast<TaskResult>(result);
}
std::string_view TextOfC(const char* text) {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

}  // namespace

extern "C" {

const void* const pbz_task_sessions_ =
    &protozero::internal::g_task_site.enabled;

pbz_task pbz_task_spawn(pbz_task_site* site, const char* name) {
  return Task::Spawn(SiteOfC(site), TextOfC(name)).number();
}

pbz_task pbz_task_spawn_waiting(pbz_task_site* site, const char* name) {
  return Task::SpawnWaiting(SiteOfC(site), TextOfC(name)).number();
}

pbz_task pbz_task_spawn_from(pbz_task parent,
                             pbz_task_site* site,
                             const char* name) {
  return Task::SpawnFrom(Task::FromNumber(parent), SiteOfC(site), TextOfC(name))
      .number();
}

void pbz_task_write_wake_(pbz_task task) {
  protozero::internal::WriteTaskWake(task);
}

void pbz_task_write_end_(pbz_task task, pbz_task_result result) {
  protozero::internal::WriteTaskEnd(task, ResultOfC(result));
}

void pbz_task_write_switch_(pbz_task next) {
  protozero::internal::WriteTaskSwitch(next);
}

void pbz_task_write_switch_waits_(pbz_task next, pbz_task_site* waits_at) {
  protozero::internal::WriteTaskSwitch(next, SiteOfC(waits_at));
}

void pbz_task_write_switch_ended_(pbz_task next, pbz_task_result result) {
  protozero::internal::WriteTaskSwitch(next, ResultOfC(result));
}

void pbz_task_write_request_(const char* request) {
  protozero::internal::WriteTaskRequest(TextOfC(request));
}

pbz_task pbz_task_read_running_(void) {
  return protozero::internal::RunningTask();
}

}  // extern "C"
