// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/trace_buffer.h"

#include <string.h>

#include <algorithm>
#include <iterator>

#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

using ABI = SharedMemoryABI;

TraceBuffer::TraceBuffer(size_t size, Policy policy)
    : size_(size),
      policy_(policy),
      max_writer_bytes_(std::max(size / 4, kMinWriterBytes)) {}

TraceBuffer::~TraceBuffer() = default;

TraceBuffer::Sequence* TraceBuffer::FindSequence(ProducerID producer_id,
                                                 WriterID writer_id) {
  const auto it = live_sequences_.find({producer_id, writer_id});
  return it == live_sequences_.end() ? nullptr : &*it->second;
}

TraceBuffer::SequenceList::iterator TraceBuffer::FindOrAddSequence(
    const ProducerIdentity& producer,
    WriterID writer_id) {
  const SequenceKey key(producer.id, writer_id);
  const auto found = live_sequences_.find(key);
  if (found != live_sequences_.end())
    return found->second;
  SequenceList added;
  const auto it = added.emplace(added.end());
  it->producer = producer;
  it->writer_id = writer_id;
  if (lost_unknown_writers_)
    it->ledger.MarkGap();
  AddToOwner(it);
  ScopeExit undo([&] { RemoveFromOwner(it); });
  live_sequences_.emplace(key, it);
  undo.Cancel();
  sequences_.splice(sequences_.end(), added);
  ++stats_.writers_seen;
  return it;
}

void TraceBuffer::RemoveChunk(ChunkMap::iterator it) {
  const ChunkList::iterator chunk = it->second;
  CloneFirst(&*chunk);
  used_bytes_ -= chunk->charge();
  chunk->sequence->chunks.erase(it);
  EraseFromOrder(chunk);
}

void TraceBuffer::EraseFromOrder(ChunkList::iterator chunk) {
  if (cloning_.has_value() && cloning_->next == chunk)
    ++cloning_->next;
  chunks_.erase(chunk);
}

void TraceBuffer::CloseChunk(const Chunk& chunk,
                             LossReason reason,
                             size_t bytes) {
  Sequence& sequence = *chunk.sequence;
  const GoneAccount gone = sequence.ledger.Close(chunk.account, reason, bytes);
  if (chunk.is_scraped && !chunk.is_complete)
    NoteGone(&sequence, chunk.position, false, gone);
}

void TraceBuffer::NoteGone(Sequence* sequence,
                           uint64_t position,
                           bool is_complete,
                           const GoneAccount& chunk) {
  // If there is no memory, packets of it that come again are counted again.
  if (!RunsInMemory([&] { sequence->NoteGone(position, is_complete, chunk); }))
    ++stats_.unknown_losses;
}

void TraceBuffer::RemoveReadChunk(ChunkMap::iterator it) {
  ++stats_.chunks_read;
  stats_.bytes_read += it->second->written_bytes();
  RemoveChunk(it);
}

void TraceBuffer::DropChunk(ChunkMap::iterator it) {
  const Chunk& chunk = *it->second;
  Sequence& sequence = *chunk.sequence;
  last_overwritten_ms_ = std::max(last_overwritten_ms_, chunk.time_ms);
  ++stats_.chunks_overwritten;
  ++sequence.chunks_overwritten;
  stats_.bytes_overwritten += chunk.written_bytes();
  CloseChunk(chunk, ReasonOfNoRoom(), chunk.payload.size);
  // The chunk's place becomes a hole, even if all of it was read. Its commit
  // then brings nothing new.
  if (chunk.is_scraped && chunk.is_complete)
    NoteGone(&sequence, chunk.position, true, {});
  sequence.GiveUpUntil(chunk.position + 1);
  sequence.lacks_state = true;
  RemoveChunk(it);
}

void TraceBuffer::OverwriteOldest() {
  const Chunk& chunk = chunks_.front();
  const SequenceList::iterator sequence = chunk.sequence;
  DropChunk(sequence->chunks.find(chunk.position));
  if (!EraseIfDone(sequence))
    Charge(&*sequence, sequence->charge());
}

void TraceBuffer::PatchChunk(ProducerID producer_id,
                             const CommitDataRequest::ChunkToPatch& request) {
  if (follower_ != nullptr)
    follower_->PatchChunk(producer_id, request);
  Sequence* const sequence = FindSequence(producer_id, request.writer_id);
  Chunk* chunk = nullptr;
  if (sequence != nullptr) {
    const auto it =
        sequence->chunks.find(sequence->PositionOf(request.chunk_id));
    if (it != sequence->chunks.end() && it->second->needs_patching)
      chunk = &*it->second;
  }
  if (chunk != nullptr)
    CloneFirst(chunk);
  uint64_t succeeded = 0;
  for (size_t i = 0; chunk != nullptr && i < request.num_patches; ++i) {
    const CommitDataRequest::Patch& patch = request.patches[i];
    if (chunk->payload.size < ABI::kPatchSize ||
        patch.offset > chunk->payload.size - ABI::kPatchSize) {
      continue;
    }
    memcpy(chunk->memory.get() + patch.offset, patch.data, ABI::kPatchSize);
    ++succeeded;
  }
  if (chunk != nullptr && !request.has_more_patches)
    chunk->needs_patching = false;
  const uint64_t failed = request.num_patches - succeeded;
  stats_.patches_succeeded += succeeded;
  stats_.patches_failed += failed;
  if (sequence != nullptr) {
    sequence->patches_succeeded += succeeded;
    sequence->patches_failed += failed;
  }
}

void TraceBuffer::EndWriter(ProducerID producer_id, WriterID writer_id) {
  if (follower_ != nullptr)
    follower_->EndWriter(producer_id, writer_id);
  const auto it = live_sequences_.find({producer_id, writer_id});
  if (it == live_sequences_.end())
    return;
  const SequenceList::iterator sequence = it->second;
  live_sequences_.erase(it);
  sequence->has_ended = true;
  Owner& owner = owners_.find(OwnerOf(*sequence))->second;
  owner.ended.splice(owner.ended.end(), owner.live, sequence->place);
  EraseIfDone(sequence);
}

void TraceBuffer::EndProducer(ProducerID producer_id) {
  if (follower_ != nullptr)
    follower_->EndProducer(producer_id);
  for (;;) {
    const auto it = live_sequences_.lower_bound({producer_id, 0});
    if (it == live_sequences_.end() || it->first.first != producer_id)
      return;
    EndWriter(producer_id, it->first.second);
  }
}

bool TraceBuffer::EraseIfDone(SequenceList::iterator it) {
  if (!it->has_ended || !it->chunks.empty())
    return false;
  ended_sums_.Add(it->ledger.Sums());
  // If there is no memory, only the sums have it.
  RunsInMemory([&] { ended_writers_.push_back(it->Stats()); });
  if (ended_writers_.size() > kMaxEndedWriters)
    ended_writers_.pop_front();
  RemoveFromOwner(it);
  sequences_.erase(it);
  return true;
}

void TraceBuffer::ReportLosses(const ProducerIdentity& producer,
                               const CommitDataRequest::WriterLosses& losses) {
  if (follower_ != nullptr)
    follower_->ReportLosses(producer, losses);
  if (static_cast<size_t>(losses.reason) >= kNumWriterLossReasons)
    return;
  if (losses.reason == LossReason::kUnknown && losses.packets == 0)
    return CountUnknownLoss();
  SequenceList::iterator sequence;
  if (losses.writer_id == 0 || !RunsInMemory([&] {
        sequence = FindOrAddSequence(producer, losses.writer_id);
      })) {
    // No sequence has the packets that began in a chunk, either.
    CommitDataRequest::WriterLosses unknown = losses;
    unknown.begun = 0;
    without_writer_.Report(unknown);
    return;
  }
  sequence->ledger.Report(losses);
  LimitWriters();
}

void TraceBuffer::ReportUnknownLoss() {
  if (follower_ != nullptr)
    follower_->ReportUnknownLoss();
  CountUnknownLoss();
}

TraceBufferStats TraceBuffer::stats() const {
  TraceBufferStats stats = stats_;
  stats.buffer_size = size_;
  stats.write_wrap_count = stats.bytes_written / std::max<size_t>(size_, 1);
  PacketSums sums = ended_sums_;
  sums.Add(without_writer_.Sums());
  for (const Sequence& sequence : sequences_)
    sums.Add(sequence.ledger.Sums());
  stats.packets_written = sums.written;
  stats.packets_begun = sums.begun;
  stats.packets_read = sums.received;
  stats.lost = sums.lost;
  return stats;
}

void TraceBuffer::AppendWriterStats(
    std::vector<TraceWriterStats>* stats) const {
  stats->insert(stats->end(), ended_writers_.begin(), ended_writers_.end());
  for (const Sequence& sequence : sequences_)
    stats->push_back(sequence.Stats());
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
