// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/producer_fork.h"

#include <pthread.h>

#include <mutex>

#include "src/tracing/ipc/client_lock.h"
#include "src/tracing/ipc/data_source_access.h"
#include "src/tracing/ipc/producer_ipc_client.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The first of the producers. Guarded by ClientLock().
ProducerShared* g_producers = nullptr;

void BeforeFork() {
  ClientLock().lock();
}

void AfterForkInParent() {
  ClientLock().unlock();
}

void AfterForkInChild() {
  ProducerIpcClient::AbandonAllAfterFork();
  for (ProducerShared* producer = g_producers; producer != nullptr;
       producer = producer->next) {
    producer->is_abandoned = true;
    for (ServicePlace* place = &producer->main_place; place != nullptr;
         place = place->next) {
      place->status.set_state(Producer::State::kDisconnected);
      place->status.SetOff(Producer::OffReason::kForked);
    }
    for (const std::shared_ptr<DataSource>& source : producer->sources)
      DataSourceAccess::StopAllInstances(source.get());
  }
  ClientLock().unlock();
}

}  // namespace

bool HandleForks() {
  static bool has_handlers = false;
  // This can fail only for lack of memory.
  has_handlers = has_handlers || pthread_atfork(&BeforeFork, &AfterForkInParent,
                                                &AfterForkInChild) == 0;
  return has_handlers;
}

void TellWhenThisThreadEnds() {
  static pthread_key_t key;
  static const bool has_key =
      pthread_key_create(&key, [](void*) {
        const std::lock_guard<std::mutex> lock(ClientLock());
        for (ProducerShared* producer = g_producers; producer != nullptr;
             producer = producer->next) {
          if (producer->is_abandoned)
            continue;
          producer->watches_threads = true;
          producer->wakeup.Notify();
          producer->changed.notify_all();
        }
      }) == 0;
  // The value may be any but null.
  if (has_key)
    pthread_setspecific(key, &key);
}

void AddToProducers(ProducerShared* producer) {
  producer->next = g_producers;
  g_producers = producer;
}

void RemoveFromProducers(ProducerShared* producer) {
  ProducerShared** link = &g_producers;
  while (*link != producer)
    link = &(*link)->next;
  *link = producer->next;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
