// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/producer_table.h"

#include <algorithm>
#include <utility>

#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using Limits = TracingLimits;

namespace {

bool IsGrantedPageSize(size_t size) {
  return size >= SharedMemoryABI::kMinPageSize &&
         size <= Limits::kMaxShmPageSize && (size & (size - 1)) == 0;
}

bool AreGrantedSizes(size_t page_size, size_t size) {
  return IsGrantedPageSize(page_size) && size >= page_size &&
         size <= Limits::kMaxShmSize && size % page_size == 0;
}

}  // namespace

TracingService::ShmSizes TracingService::ClampShmSizes(size_t page_size_hint,
                                                       size_t size_hint) {
  // A memory that is not made of default pages is made of small ones.
  const size_t usual_page_size = size_hint % Limits::kDefaultShmPageSize == 0
                                     ? Limits::kDefaultShmPageSize
                                     : SharedMemoryABI::kMinPageSize;
  const size_t page_size =
      std::min(page_size_hint != 0 ? page_size_hint : usual_page_size,
               Limits::kMaxShmPageSize);
  const size_t size =
      std::min(size_hint != 0 ? size_hint : Limits::kDefaultShmSize,
               Limits::kMaxShmSize);
  return AreGrantedSizes(page_size, size)
             ? ShmSizes{page_size, size}
             : ShmSizes{Limits::kDefaultShmPageSize, Limits::kDefaultShmSize};
}

namespace service {

ProducerRecord* ProducerTable::Add(TracingService::RemoteProducer* remote,
                                   TracingService::ProducerInfo info) {
  if (producers_.size() >= Limits::kMaxProducers ||
      info.name.size() > Limits::kMaxProducerNameSize) {
    return nullptr;
  }
  const ProducerID id = last_id_ + 1;
  ProducerRecord& producer = producers_[id];
  ScopeExit undo([&] { producers_.erase(id); });
  memory_of_process_.try_emplace({info.uid, info.pid});
  // This is reserved here because Remove() does not allocate.
  gone_silent_.named.reserve(TraceStats::SilentProducers::kMaxNamed);
  if (info.memory != nullptr) {
    collector_->ReserveForChunks(
        std::min(info.shm_page_size_hint, Limits::kMaxShmPageSize));
  }
  undo.Cancel();
  last_id_ = id;
  producer.id = id;
  producer.remote = remote;
  producer.info = std::move(info);
  std::unique_ptr<SharedMemory> memory = std::move(producer.info.memory);
  const size_t page_size = producer.info.shm_page_size_hint;
  if (memory != nullptr && AreGrantedSizes(page_size, memory->size()) &&
      *MemoryOfProcess(producer) + memory->size() <=
          Limits::kMaxShmSizePerProcess) {
    UseMemory(&producer, std::move(memory), page_size);
  }
  return &producer;
}

void ProducerTable::Remove(ProducerRecord* producer) {
  if (producer->is_silent())
    gone_silent_.Add(std::move(producer->info.name), producer->info.pid);
  num_gone_triggering_ += producer->only_triggers();
  // MemoryOfProcess() would not do, because it may allocate.
  const auto it =
      memory_of_process_.find({producer->info.uid, producer->info.pid});
  if (it != memory_of_process_.end()) {
    it->second -= producer->shm.size();
    if (it->second == 0)
      memory_of_process_.erase(it);
  }
  producers_.erase(producer->id);
}

bool ProducerTable::SetupMemory(ProducerRecord* producer,
                                const TraceConfig& config) {
  if (producer->shm.memory != nullptr)
    return true;
  size_t page_size = producer->info.shm_page_size_hint;
  size_t size = producer->info.shm_size_hint;
  size_t max_size = config.max_shm_size_bytes;
  for (const TraceConfig::ProducerConfig& wanted : config.producers) {
    if (wanted.producer_name != producer->info.name)
      continue;
    if (wanted.page_size_bytes != 0)
      page_size = wanted.page_size_bytes;
    if (wanted.shm_size_bytes != 0) {
      size = wanted.shm_size_bytes;
      max_size = 0;
    }
  }
  TracingService::ShmSizes sizes =
      TracingService::ClampShmSizes(page_size, size);
  const size_t used = *MemoryOfProcess(*producer);
  const size_t rest = Limits::kMaxShmSizePerProcess -
                      std::min(used, Limits::kMaxShmSizePerProcess);
  bool is_reduced = false;
  if (sizes.size > rest / 2) {
    sizes.size =
        std::max(rest / 2 / Limits::kMaxShmPageSize * Limits::kMaxShmPageSize,
                 std::min(sizes.size, Limits::kReducedShmSize));
    is_reduced = true;
  }
  if (max_size != 0 && sizes.size > max_size) {
    const size_t pages = max_size / Limits::kMaxShmPageSize;
    sizes.size = std::max<size_t>(pages, 1) * Limits::kMaxShmPageSize;
    is_reduced = true;
  }
  // A small memory has chunks for as many threads as it can.
  if (is_reduced && sizes.size <= Limits::kReducedShmSize)
    sizes.page_size = SharedMemoryABI::kMinPageSize;
  collector_->ReserveForChunks(sizes.page_size);
  std::unique_ptr<SharedMemory> memory =
      producer->remote->SetupTracing(sizes.size, sizes.page_size);
  if (memory == nullptr ||
      (memory->start() != nullptr && memory->size() < sizes.size)) {
    return false;
  }
  UseMemory(producer, std::move(memory), sizes.page_size);
  return true;
}

void ProducerTable::UseMemory(ProducerRecord* producer,
                              std::unique_ptr<SharedMemory> memory,
                              size_t page_size) {
  *MemoryOfProcess(*producer) += memory->size();
  if (memory->start() != nullptr) {
    producer->shm.abi =
        SharedMemoryABI(memory->start(), memory->size(), page_size);
  }
  producer->shm.page_size = page_size;
  producer->shm.memory = std::move(memory);
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
