// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/chunk_collector.h"

#include <algorithm>

#include "src/tracing/service/session.h"
#include "src/tracing/service/visit_counter.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

using ABI = SharedMemoryABI;
using ScrapingMode = TracingService::ScrapingMode;

namespace {

// The size of the free memory after which no page can be in use. A writer that
// goes on while chunks become free may leave some.
constexpr size_t kGapSize = 1024 * 1024;

TraceBuffer::ProducerIdentity IdentityOf(const ProducerRecord& producer) {
  return {producer.id, producer.info.uid, producer.info.pid,
          producer.info.reports_losses, producer.info.clock_ahead_ns};
}

// Grows with each packet, and when the chunk becomes complete.
uint64_t ProgressOf(const ChunkCopy& chunk) {
  return 1 + 2 * uint64_t{chunk.num_packets} + uint64_t{chunk.is_complete};
}

}  // namespace

void ChunkCollector::RegisterTraceWriter(ProducerRecord* producer,
                                         WriterID writer_id,
                                         BufferID target_buffer) {
  if (writer_id == 0 || writer_id > kMaxWriterID)
    return;
  UnregisterTraceWriter(producer, writer_id);
  producer->chunks.has_written = true;
  producer->chunks.writers.Set(writer_id, target_buffer);
}

void ChunkCollector::UnregisterTraceWriter(ProducerRecord* producer,
                                           WriterID writer_id) {
  WriterTargets& writers = producer->chunks.writers;
  const BufferID target = writers.Get(writer_id);
  TraceBuffer* const buffer = BufferForWriter(*producer, writer_id, target);
  if (buffer != nullptr && !IsTooLate(target))
    buffer->EndWriter(producer->id, writer_id);
  writers.Set(writer_id, 0);
}

void ChunkCollector::Commit(ProducerRecord* producer,
                            const CommitDataRequest& request) {
  producer->chunks.has_written |=
      request.num_chunks_to_move != 0 || request.num_losses != 0;
  // The second time that a request lists a chunk, the chunk is free, unless the
  // producer fills it faster than the service reads it. The limit ends that
  // race.
  const uint64_t limit = producer->chunks.bytes_copied + producer->shm.size();
  for (size_t i = 0; i < request.num_chunks_to_move; ++i) {
    CountVisit();
    const CommitDataRequest::ChunkToMove& move = request.chunks_to_move[i];
    if (move.data != nullptr || producer->chunks.bytes_copied < limit)
      MoveChunk(producer, move);
  }
  for (size_t i = 0; i < request.num_chunks_to_patch; ++i) {
    CountVisit();
    const CommitDataRequest::ChunkToPatch& patches = request.chunks_to_patch[i];
    TraceBuffer* const buffer =
        BufferForWriter(*producer, patches.writer_id, patches.target_buffer);
    if (buffer == nullptr || patches.num_patches > ABI::kMaxPatchesPerChunk)
      patches_discarded_ += patches.num_patches;
    else if (!IsTooLate(patches.target_buffer))
      buffer->PatchChunk(producer->id, patches);
  }
  for (size_t i = 0; i < request.num_losses; ++i) {
    CountVisit();
    const CommitDataRequest::WriterLosses& losses = request.losses[i];
    // The losses of a writer without an id are its producer's.
    TraceBuffer* const buffer =
        losses.writer_id == 0
            ? BufferForProducer(*producer, losses.target_buffer)
            : BufferForWriter(*producer, losses.writer_id,
                              losses.target_buffer);
    if (buffer == nullptr)
      continue;
    if (IsTooLate(losses.target_buffer))
      OnTooLate(losses.target_buffer);
    else
      buffer->ReportLosses(IdentityOf(*producer), losses);
  }
}

void ChunkCollector::MoveChunk(ProducerRecord* producer,
                               const CommitDataRequest::ChunkToMove& move) {
  if (move.data != nullptr) {
    bool is_chunk = false;
    if (!RunsInMemory([&] {
          is_chunk = CopySentChunk(ConstBytes(move.data, move.data_size),
                                   !move.is_incomplete, &chunk_);
        })) {
      ReportUnknownLoss(*producer);
    }
    if (!is_chunk) {
      ++chunks_discarded_;
      return;
    }
  } else {
    const ABI& abi = producer->shm.abi;
    const ABI::Chunk chunk =
        abi.TryAcquireChunkForReading(move.page, move.chunk);
    if (!chunk.is_valid())
      return;
    producer->chunks.pages_used =
        std::max(producer->chunks.pages_used, chunk.page_idx() + 1);
    CopySharedChunk(chunk, &chunk_);
    // If this fails, the producer has tampered with the page, and has lost it.
    abi.ReleaseChunkAsFree(chunk);
  }
  producer->chunks.bytes_copied += chunk_.payload.size();
  // The last look at such memory has found all that was there by then.
  const bool was_scraped =
      move.data == nullptr &&
      producer->info.scraping_mode == ScrapingMode::kEnabled;
  StoreChunk(*producer, move.target_buffer, was_scraped);
}

void ChunkCollector::StoreChunk(const ProducerRecord& producer,
                                BufferID target_buffer,
                                bool was_scraped) {
  TraceBuffer* const buffer =
      BufferForWriter(producer, chunk_.writer_id, target_buffer);
  if (buffer == nullptr) {
    ++chunks_discarded_;
    return;
  }
  chunk_.time_ms = (*clock_)();
  if (!IsTooLate(target_buffer))
    buffer->AddChunk(IdentityOf(producer), chunk_);
  else if (!was_scraped)
    OnTooLate(target_buffer);
}

uint64_t ChunkCollector::Scrape(ProducerRecord* producer_to_scrape,
                                const std::vector<BufferID>* session_buffers,
                                ScrapeMode mode) {
  ProducerChunks& chunks = producer_to_scrape->chunks;
  const ProducerRecord& producer = *producer_to_scrape;
  const bool producer_is_gone = mode == ScrapeMode::kProducerIsGone;
  const bool is_allowed = producer.info.scraping_mode == ScrapingMode::kEnabled;
  const std::set<BufferID>& its_buffers = chunks.buffers;
  if ((!is_allowed && !producer_is_gone) || its_buffers.empty())
    return 0;
  const auto is_wanted = [&](BufferID id) {
    return session_buffers == nullptr
               ? its_buffers.count(id) != 0
               : std::count(session_buffers->begin(), session_buffers->end(),
                            id) != 0;
  };
  const auto report_loss = [&](BufferID id) {
    if (is_wanted(id) && !IsTooLate(id))
      buffers_->Get(id).ReportUnknownLoss();
  };
  bool has_reported_loss = false;
  const WriterState writer_state = !producer_is_gone ? WriterState::kAlive
                                   : producer.info.reports_losses
                                       ? WriterState::kGoneAndMarked
                                       : WriterState::kGone;
  const ABI& abi = producer.shm.abi;
  uint64_t progress = 0;
  // The kernel would provide each page of sparse memory that is looked at.
  // Writers go on page by page from the front, or from pages that they have
  // committed.
  size_t end = std::max(chunks.pages_used, ABI::kFrontSize / abi.page_size());
  chunks.pages_used = 0;
  for (size_t page = 0;
       page < abi.num_pages() && page < end + kGapSize / abi.page_size();
       ++page) {
    CountVisit();
    if ((abi.GetPageWord(page) & ABI::kAllChunksMask) == 0)
      continue;
    chunks.pages_used = page + 1;
    end = std::max(end, page + 1);
    for (size_t chunk = 0; chunk < ABI::kMaxChunksPerPage; ++chunk) {
      if (!ScrapeChunk(abi, page, chunk, writer_state, &chunk_))
        continue;
      const bool has_packets =
          chunk_.num_packets != 0 || chunk_.open_packet != OpenPacket::kNone;
      // The chunk's header counts only if the producer has said the same before
      // in RegisterTraceWriter().
      BufferID target = chunks.writers.Get(chunk_.writer_id);
      if (target == 0 && mode != ScrapeMode::kForNow && has_packets &&
          chunk_.writer_id != 0 && chunk_.writer_id <= kMaxWriterID) {
        chunks.has_written = true;
        target = chunks.OnlyBuffer();
        if (target == 0 && !has_reported_loss) {
          std::for_each(its_buffers.begin(), its_buffers.end(), report_loss);
          has_reported_loss = true;
        }
      }
      if (target == 0 || !is_wanted(target) || IsTooLate(target))
        continue;
      progress += ProgressOf(chunk_);
      if (mode == ScrapeMode::kForNow && chunk_.is_complete &&
          WouldFill(target)) {
        continue;
      }
      if (is_allowed)
        StoreChunk(producer, target, /*was_scraped=*/true);
      else if (has_packets)
        report_loss(target);
    }
  }
  return progress;
}

bool ChunkCollector::WouldFill(BufferID id) const {
  BufferTable::Entry* const entry = buffers_->Find(id);
  return entry->session->state == TracingService::kStarted &&
         entry->IsHalfFull();
}

void ChunkCollector::ReportUnknownLoss(const ProducerRecord& producer) {
  for (const BufferID id : producer.chunks.buffers) {
    if (IsTooLate(id))
      OnTooLate(id);
    else
      buffers_->Get(id).ReportUnknownLoss();
  }
}

bool ChunkCollector::IsTooLate(BufferID id) const {
  return buffers_->Find(id)->session->state == TracingService::kStopped;
}

void ChunkCollector::OnTooLate(BufferID id) {
  // A producer that has answered the last flush had sent all until then.
  if (!buffers_->Find(id)->session->flushes.final_succeeded)
    buffers_->Get(id).ReportUnknownLoss();
}

TraceBuffer* ChunkCollector::BufferForWriter(const ProducerRecord& producer,
                                             WriterID writer_id,
                                             BufferID target_buffer) {
  if (writer_id == 0 || writer_id > kMaxWriterID)
    return nullptr;
  const BufferID registered = producer.chunks.writers.Get(writer_id);
  if (registered != 0 && registered != target_buffer)
    return nullptr;
  return BufferForProducer(producer, target_buffer);
}

TraceBuffer* ChunkCollector::BufferForProducer(const ProducerRecord& producer,
                                               BufferID id) {
  if (producer.chunks.buffers.count(id) == 0)
    return nullptr;
  BufferTable::Entry* const entry = buffers_->Find(id);
  return entry == nullptr ? nullptr : &entry->buffer;
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
