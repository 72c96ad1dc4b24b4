// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// All pipelines of the process: for threads that end, and for fork().

#include <pthread.h>
#include <stdlib.h>

#include <new>

#include "src/otlp/pipeline_state.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {
namespace {

pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
PipelineState* first_pipeline = nullptr;
PipelineState* first_kept = nullptr;

PipelineState* FindPipeline(uint64_t id) {
  PipelineState* pipeline = first_pipeline;
  while (pipeline != nullptr && pipeline->id != id)
    pipeline = pipeline->next_pipeline;
  return pipeline;
}

// The states that a thread has in pipelines. A pipeline may be gone when the
// thread ends.
class JoinedPipelines {
 public:
  struct Joined {
    Joined* next;
    uint64_t pipeline_id;
    ThreadState* state;
  };

  ~JoinedPipelines() {
    has_ended = true;
    PipelineState::last_thread = {0, nullptr};
    pthread_mutex_lock(&registry_mutex);
    while (Joined* const one = first) {
      first = one->next;
      if (PipelineState* const pipeline = FindPipeline(one->pipeline_id))
        pipeline->Leave(one->state);
      free(one);
    }
    pthread_mutex_unlock(&registry_mutex);
  }

  static thread_local bool has_ended;
  Joined* first = nullptr;
};
thread_local bool JoinedPipelines::has_ended = false;
thread_local JoinedPipelines joined_pipelines;

void LockAll() {
  pthread_mutex_lock(&registry_mutex);
  for (PipelineState* p = first_pipeline; p != nullptr; p = p->next_pipeline)
    p->LockForFork();
}

void UnlockAll() {
  for (PipelineState* p = first_pipeline; p != nullptr; p = p->next_pipeline)
    p->UnlockAfterFork();
  pthread_mutex_unlock(&registry_mutex);
}

void ResetAllInChild() {
  ::protozero::internal::ResetTraceClockAfterFork();
  PipelineState::last_thread = {0, nullptr};
  for (PipelineState* p = first_pipeline; p != nullptr; p = p->next_pipeline)
    p->ResetInChild(JoinedState(p->id));
  pthread_mutex_init(&registry_mutex, nullptr);
}

}  // namespace

ThreadState* JoinedState(uint64_t pipeline_id) {
  if (JoinedPipelines::has_ended)
    return nullptr;
  for (const auto* one = joined_pipelines.first; one != nullptr;
       one = one->next) {
    if (one->pipeline_id == pipeline_id)
      return one->state;
  }
  return nullptr;
}

bool MayJoin() {
  return !JoinedPipelines::has_ended;
}

bool LeaveAtThreadExit(uint64_t pipeline_id, ThreadState* state) {
  void* const memory = malloc(sizeof(JoinedPipelines::Joined));
  if (memory == nullptr)
    return false;
  joined_pipelines.first = new (memory)
      JoinedPipelines::Joined{joined_pipelines.first, pipeline_id, state};
  return true;
}

void RegisterPipeline(PipelineState* pipeline) {
  static const int registered =
      pthread_atfork(LockAll, UnlockAll, ResetAllInChild);
  static_cast<void>(registered);
  pthread_mutex_lock(&registry_mutex);
  pipeline->next_pipeline = first_pipeline;
  first_pipeline = pipeline;
  pthread_mutex_unlock(&registry_mutex);
}

void UnregisterPipeline(PipelineState* pipeline) {
  pthread_mutex_lock(&registry_mutex);
  PipelineState** place = &first_pipeline;
  while (*place != pipeline)
    place = &(*place)->next_pipeline;
  *place = pipeline->next_pipeline;
  pthread_mutex_unlock(&registry_mutex);
}

void KeepForever(PipelineState* pipeline) {
  pthread_mutex_lock(&registry_mutex);
  pipeline->next_pipeline = first_kept;
  first_kept = pipeline;
  pthread_mutex_unlock(&registry_mutex);
}

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
