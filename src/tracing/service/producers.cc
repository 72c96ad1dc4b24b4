// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/service_impl.h"

#include <algorithm>
#include <utility>

#include "src/tracing/shared_memory/out_of_memory.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using ABI = SharedMemoryABI;

namespace {

bool IsGrantedPageSize(size_t size) {
  return size >= ABI::kMinPageSize && size <= TracingLimits::kMaxShmPageSize &&
         (size & (size - 1)) == 0;
}

bool AreGrantedSizes(size_t page_size, size_t size) {
  return IsGrantedPageSize(page_size) && size >= page_size &&
         size <= TracingLimits::kMaxShmSize && size % page_size == 0;
}

}  // namespace

TracingService::ShmSizes TracingService::ClampShmSizes(size_t page_size_hint,
                                                       size_t size_hint) {
  const size_t page_size = std::min(
      page_size_hint != 0 ? page_size_hint : TracingLimits::kDefaultShmPageSize,
      TracingLimits::kMaxShmPageSize);
  const size_t size =
      std::min(size_hint != 0 ? size_hint : TracingLimits::kDefaultShmSize,
               TracingLimits::kMaxShmSize);
  return AreGrantedSizes(page_size, size)
             ? ShmSizes{page_size, size}
             : ShmSizes{TracingLimits::kDefaultShmPageSize,
                        TracingLimits::kDefaultShmSize};
}

TracingService::Impl::ProducerState* TracingService::Impl::AddProducer(
    RemoteProducer* client,
    ProducerInfo info) {
  if (producers_.size() >= TracingLimits::kMaxProducers ||
      info.name.size() > TracingLimits::kMaxProducerNameSize) {
    return nullptr;
  }
  const ProducerID id = last_producer_id_ + 1;
  ProducerState& producer = producers_[id];
  ScopeExit undo([&] { producers_.erase(id); });
  memory_of_process_.try_emplace({info.uid, info.pid});
  if (info.memory != nullptr)
    ReserveForChunks(
        std::min(info.shm_page_size_hint, TracingLimits::kMaxShmPageSize));
  undo.Cancel();
  last_producer_id_ = id;
  producer.id = id;
  producer.client = client;
  producer.info = std::move(info);
  std::unique_ptr<SharedMemory> memory = std::move(producer.info.memory);
  if (memory != nullptr &&
      AreGrantedSizes(producer.info.shm_page_size_hint, memory->size()) &&
      *MemoryOfProcess(producer) + memory->size() <=
          TracingLimits::kMaxShmSizePerProcess) {
    UseMemory(&producer, std::move(memory), producer.info.shm_page_size_hint);
  }
  return &producer;
}

void TracingService::Impl::RemoveProducer(ProducerState* producer) {
  Scrape(*producer, nullptr, /*producer_is_gone=*/true);
  const ProducerID producer_id = producer->id;
  for (const BufferID id : producer->buffers) {
    ++num_visits_;
    Buffer* const buffer = FindBuffer(id);
    buffer->buffer.EndProducer(producer_id);
    FindSession(buffer->session_id)->producers.erase(producer_id);
  }
  while (!producer->instances.empty()) {
    ++num_visits_;
    EraseInstance(producer, producer->instances.begin());
  }
  AcknowledgeFlush(producer, UINT64_MAX);
  ForgetMemory(*producer);
  producers_.erase(producer_id);
  UpdateChangedSessions();
}

void TracingService::Impl::ReportUnknownLoss(const ProducerState& producer) {
  for (const BufferID id : producer.buffers)
    FindBuffer(id)->buffer.ReportUnknownLoss();
}

void TracingService::Impl::RegisterTraceWriter(ProducerState* producer,
                                               WriterID writer_id,
                                               BufferID target_buffer) {
  if (writer_id == 0 || writer_id > kMaxWriterID)
    return;
  UnregisterTraceWriter(producer, writer_id);
  producer->writers.Set(writer_id, target_buffer);
}

void TracingService::Impl::UnregisterTraceWriter(ProducerState* producer,
                                                 WriterID writer_id) {
  const BufferID target = producer->writers.Get(writer_id);
  if (TraceBuffer* const buffer = BufferFor(*producer, writer_id, target))
    buffer->EndWriter(producer->id, writer_id);
  producer->writers.Set(writer_id, 0);
}

bool TracingService::Impl::CommitData(ProducerState* producer,
                                      const CommitDataRequest& request) {
  if (producer->memory == nullptr)
    return false;
  // A chunk that is listed again has been freed before, unless the producer
  // fills it faster than it is read. Nobody has to follow it.
  const uint64_t limit = producer->bytes_copied + producer->memory->size();
  for (size_t i = 0; i < request.num_chunks_to_move; ++i) {
    ++num_visits_;
    const CommitDataRequest::ChunkToMove& move = request.chunks_to_move[i];
    if (move.data != nullptr || producer->bytes_copied < limit)
      MoveChunk(producer, move);
  }
  for (size_t i = 0; i < request.num_chunks_to_patch; ++i) {
    ++num_visits_;
    const CommitDataRequest::ChunkToPatch& patches = request.chunks_to_patch[i];
    TraceBuffer* const buffer =
        BufferFor(*producer, patches.writer_id, patches.target_buffer);
    if (buffer == nullptr || patches.num_patches > ABI::kMaxPatchesPerChunk)
      patches_discarded_ += patches.num_patches;
    else
      buffer->PatchChunk(producer->id, patches);
  }
  for (size_t i = 0; i < request.num_losses; ++i) {
    ++num_visits_;
    const CommitDataRequest::WriterLosses& losses = request.losses[i];
    // What a writer without an id lost is its producer's.
    TraceBuffer* const buffer =
        losses.writer_id == 0
            ? BufferOf(*producer, losses.target_buffer)
            : BufferFor(*producer, losses.writer_id, losses.target_buffer);
    if (buffer != nullptr)
      buffer->ReportLosses(IdentityOf(*producer), losses);
  }
  if (request.flush_request_id != 0)
    AcknowledgeFlush(producer, request.flush_request_id);
  return true;
}

// Memory and chunks.

void TracingService::Impl::UseMemory(ProducerState* producer,
                                     std::unique_ptr<SharedMemory> memory,
                                     size_t page_size) {
  *MemoryOfProcess(*producer) += memory->size();
  producer->abi = ABI(memory->start(), memory->size(), page_size);
  producer->page_size = page_size;
  producer->memory = std::move(memory);
}

void TracingService::Impl::ForgetMemory(const ProducerState& producer) {
  size_t* const bytes = MemoryOfProcess(producer);
  if (producer.memory != nullptr)
    *bytes -= producer.memory->size();
  if (*bytes == 0)
    memory_of_process_.erase({producer.info.uid, producer.info.pid});
}

bool TracingService::Impl::SetupMemory(ProducerState* producer,
                                       Session* session) {
  if (producer->memory != nullptr)
    return true;
  size_t page_size = producer->info.shm_page_size_hint;
  size_t size = producer->info.shm_size_hint;
  for (const TraceConfig::ProducerConfig& config : session->config.producers) {
    if (config.producer_name != producer->info.name)
      continue;
    if (config.page_size_bytes != 0)
      page_size = config.page_size_bytes;
    if (config.shm_size_bytes != 0)
      size = config.shm_size_bytes;
  }
  ShmSizes sizes = ClampShmSizes(page_size, size);
  if (*MemoryOfProcess(*producer) + sizes.size >
      TracingLimits::kMaxShmSizePerProcess)
    sizes = {TracingLimits::kDefaultShmPageSize,
             TracingLimits::kDefaultShmSize};
  ReserveForChunks(sizes.page_size);
  std::unique_ptr<SharedMemory> memory =
      producer->client->SetupTracing(sizes.size, sizes.page_size);
  if (memory == nullptr || memory->size() < sizes.size) {
    if (producer->sessions_without_memory.insert(session->id).second) {
      ++session->producers_without_memory;
      if (session->consumer != nullptr) {
        session->consumer->OnProducerWithoutMemory(
            session->id, producer->info, producer->client->SetupTracingError());
      }
    }
    return false;
  }
  UseMemory(producer, std::move(memory), sizes.page_size);
  return true;
}

TracingService::Impl::Buffer* TracingService::Impl::FindBuffer(BufferID id) {
  const auto it = buffers_.find(id);
  return it == buffers_.end() ? nullptr : &it->second;
}

TraceBuffer* TracingService::Impl::BufferFor(const ProducerState& producer,
                                             WriterID writer_id,
                                             BufferID target_buffer) {
  if (writer_id == 0 || writer_id > kMaxWriterID)
    return nullptr;
  const BufferID registered = producer.writers.Get(writer_id);
  if (registered != 0 && registered != target_buffer)
    return nullptr;
  return BufferOf(producer, target_buffer);
}

TraceBuffer* TracingService::Impl::BufferOf(const ProducerState& producer,
                                            BufferID id) {
  Buffer* const buffer =
      producer.buffers.count(id) == 0 ? nullptr : FindBuffer(id);
  return buffer == nullptr ? nullptr : &buffer->buffer;
}

TraceBuffer::ProducerIdentity TracingService::Impl::IdentityOf(
    const ProducerState& producer) {
  return {producer.id, producer.info.uid, producer.info.pid,
          producer.info.reports_losses};
}

void TracingService::Impl::MoveChunk(
    ProducerState* producer,
    const CommitDataRequest::ChunkToMove& move) {
  if (move.data != nullptr) {
    bool is_chunk = false;
    if (!RunsInMemory([&] {
          is_chunk = CopyChunk(ConstBytes(move.data, move.data_size),
                               !move.is_incomplete, &chunk_);
        })) {
      ReportUnknownLoss(*producer);
    }
    if (!is_chunk) {
      ++chunks_discarded_;
      return;
    }
  } else {
    const ABI::Chunk chunk =
        producer->abi.TryAcquireChunkForReading(move.page, move.chunk);
    if (!chunk.is_valid())
      return;
    CopyChunk(chunk, &chunk_);
    // If it fails, the producer has tampered with the page, and has lost it.
    producer->abi.ReleaseChunkAsFree(chunk);
  }
  producer->bytes_copied += chunk_.payload.size();
  StoreChunk(*producer, move.target_buffer);
}

void TracingService::Impl::StoreChunk(const ProducerState& producer,
                                      BufferID target_buffer) {
  TraceBuffer* const buffer =
      BufferFor(producer, chunk_.writer_id, target_buffer);
  if (buffer == nullptr) {
    ++chunks_discarded_;
    return;
  }
  buffer->CopyChunk(IdentityOf(producer), chunk_);
}

void TracingService::Impl::Scrape(const ProducerState& producer,
                                  const Session* session,
                                  bool producer_is_gone) {
  const bool is_allowed = producer.info.scraping_mode == ScrapingMode::kEnabled;
  if ((!is_allowed && !producer_is_gone) || producer.buffers.empty())
    return;
  const auto is_wanted = [&](BufferID id) {
    return session == nullptr ? producer.buffers.count(id) != 0
                              : std::count(session->buffer_ids.begin(),
                                           session->buffer_ids.end(), id) != 0;
  };
  const WriterState writer_state = !producer_is_gone ? WriterState::kAlive
                                   : producer.info.reports_losses
                                       ? WriterState::kGoneAndMarked
                                       : WriterState::kGone;
  for (size_t page = 0; page < producer.abi.num_pages(); ++page) {
    ++num_visits_;
    if ((producer.abi.GetPageWord(page) & ABI::kAllChunksMask) == 0)
      continue;
    for (size_t chunk = 0; chunk < ABI::kMaxChunksPerPage; ++chunk) {
      if (!ScrapeChunk(producer.abi, page, chunk, writer_state, &chunk_))
        continue;
      // Its header is believed only if the producer has said the same before.
      const BufferID target = producer.writers.Get(chunk_.writer_id);
      if (target == 0 || !is_wanted(target)) {
        continue;
      }
      if (is_allowed)
        StoreChunk(producer, target);
      else if (chunk_.num_packets != 0 ||
               chunk_.open_packet != OpenPacket::kNone)
        FindBuffer(target)->buffer.ReportUnknownLoss();
    }
  }
}

void TracingService::Impl::ScrapeAll(const Session& session) {
  for (const ProducerID id : session.producers)
    Scrape(producers_.find(id)->second, &session);
}

PROTOZERO_ABI_END
}  // namespace protozero
