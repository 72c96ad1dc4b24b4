// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_buffer.h"

#include <string.h>

#include <algorithm>
#include <iterator>

namespace protozero {

using ABI = SharedMemoryABI;

struct TraceBuffer::Chunk {
  size_t charge() const { return kChunkOverhead + payload.size; }
  size_t written_bytes() const {
    return sizeof(ABI::ChunkHeader) + payload.size;
  }

  SequenceList::iterator sequence;
  uint64_t position;
  std::unique_ptr<uint8_t[]> memory;
  // As far as it is used.
  ConstBytes payload;
  uint16_t num_packets;
  bool continues_from_previous;
  bool continues_on_next;
  // As it came, and as it is now.
  bool had_to_be_patched;
  bool needs_patching;
  bool is_complete;
};

// The packets of one writer.
struct TraceBuffer::Sequence {
  // Ids wrap around; positions do not.
  uint64_t PositionOf(ChunkID chunk_id) const {
    return static_cast<uint64_t>(
        static_cast<int64_t>(last_position) +
        static_cast<int32_t>(chunk_id - static_cast<ChunkID>(last_position)));
  }
  // Nothing before that position, which is not there, will come.
  void GiveUpUntil(uint64_t position) {
    lost_until = std::max(lost_until, position);
  }
  void GoTo(uint64_t position, uint16_t record, size_t offset) {
    has_begun = true;
    has_read = true;
    next_position = position;
    next_record = record;
    next_offset = offset;
  }
  void NoteLoss() {
    stats.losses += !lost_something;
    lost_something = true;
  }

  Producer producer;
  ChunkMap chunks;
  // The highest one so far.
  uint64_t last_position;
  // It is known that no chunk comes before the first one that is here.
  bool has_begun = false;
  // Where to go on reading, once that has begun. Offsets are of use only until
  // the chunk is replaced, and found again from the record.
  bool has_read = false;
  uint64_t next_position;
  uint16_t next_record = 0;
  size_t next_offset = 0;
  uint64_t lost_until = 0;
  bool lost_something = false;
  bool has_ended = false;
  TraceWriterStats stats;
};

namespace {

// Smaller than any position of the first chunk may be, so that those before it
// have one.
constexpr uint64_t kFirstPosition = uint64_t{1} << 32;

// Goes past so many records, or to the first that is none. Counts the packets
// that begin there.
size_t SkipRecords(ConstBytes payload,
                   size_t num_records,
                   bool continues_from_previous,
                   uint64_t* num_packets) {
  size_t offset = 0;
  for (size_t i = 0; i < num_records; ++i) {
    ConstBytes record;
    if (ReadRecord(payload, &offset, &record) != RecordKind::kPacket)
      break;
    *num_packets += record.size != 0 && (i != 0 || !continues_from_previous);
  }
  return offset;
}

}  // namespace

TraceBuffer::TraceBuffer(size_t size, Policy policy)
    : size_(size), policy_(policy) {}

TraceBuffer::~TraceBuffer() = default;

TraceBuffer::Sequence* TraceBuffer::FindSequence(ProducerID producer_id,
                                                 WriterID writer_id) {
  const auto it = live_sequences_.find({producer_id, writer_id});
  return it == live_sequences_.end() ? nullptr : &*it->second;
}

TraceBuffer::SequenceList::iterator TraceBuffer::FindOrAddSequence(
    const Producer& producer,
    const ChunkCopy& chunk) {
  const SequenceKey key(producer.id, chunk.writer_id);
  const auto found = live_sequences_.find(key);
  if (found != live_sequences_.end())
    return found->second;
  const auto it = sequences_.emplace(sequences_.end());
  it->producer = producer;
  it->last_position = kFirstPosition + chunk.chunk_id;
  it->next_position = it->last_position;
  it->stats.producer_id = producer.id;
  it->stats.writer_id = chunk.writer_id;
  live_sequences_[key] = it;
  return it;
}

void TraceBuffer::CopyChunk(const Producer& producer, const ChunkCopy& copy) {
  const SequenceList::iterator sequence = FindOrAddSequence(producer, copy);
  TraceWriterStats& writer_stats = sequence->stats;
  const uint64_t position = sequence->PositionOf(copy.chunk_id);
  // Writers commit their chunks in order. Who scrapes comes past all of them,
  // one after the other, and may see a chunk that was begun behind its back,
  // but not the one before it.
  sequence->has_begun |= !copy.is_scraped || copy.chunk_id == 0;
  if (!sequence->has_read) {
    sequence->next_position = std::min(sequence->next_position, position);
  } else if (position < sequence->next_position) {
    // It was read, from an earlier copy, or was given up.
    return;
  }

  uint64_t num_packets = 0;
  const size_t payload_size =
      SkipRecords(copy.payload, copy.num_packets, copy.continues_from_previous,
                  &num_packets);
  const size_t charge = kChunkOverhead + payload_size;
  const auto discard = [&] {
    ++stats_.chunks_discarded;
    ++writer_stats.chunks_discarded;
    sequence->GiveUpUntil(position + 1);
  };

  const auto existing = sequence->chunks.find(position);
  if (existing != sequence->chunks.end()) {
    const Chunk& old = *existing->second;
    if (old.num_packets > copy.num_packets ||
        (old.continues_from_previous && !copy.continues_from_previous) ||
        (old.continues_on_next && !copy.continues_on_next) ||
        (old.had_to_be_patched && !copy.needs_patching)) {
      ++stats_.abi_violations;
      return;
    }
    // There can be more only in what was copied too early.
    if (old.is_complete ||
        (!copy.is_complete && old.num_packets == copy.num_packets)) {
      return;
    }
    // If there is no room for the new one, the old one stays.
    if (policy_ == Policy::kDiscard &&
        used_bytes_ - old.charge() + charge > size_) {
      return discard();
    }
    uint64_t old_num_packets = 0;
    SkipRecords(old.payload, old.num_packets, old.continues_from_previous,
                &old_num_packets);
    num_packets -= std::min(num_packets, old_num_packets);
    // The new one takes its place.
    ++stats_.chunks_rewritten;
    --stats_.chunks_written;
    --writer_stats.chunks_written;
    stats_.bytes_written -= old.written_bytes();
    writer_stats.bytes_written -= old.written_bytes();
    RemoveChunk(existing);
  } else if (position < sequence->last_position) {
    ++stats_.chunks_committed_out_of_order;
  }
  sequence->last_position = std::max(sequence->last_position, position);
  writer_stats.packets_written += num_packets;
  if (!MakeRoom(charge))
    return discard();

  Chunk chunk;
  chunk.sequence = sequence;
  chunk.position = position;
  chunk.memory.reset(new uint8_t[payload_size]);
  std::copy_n(copy.payload.data(), payload_size, chunk.memory.get());
  chunk.payload = ConstBytes(chunk.memory.get(), payload_size);
  chunk.num_packets = copy.num_packets;
  chunk.continues_from_previous = copy.continues_from_previous;
  chunk.continues_on_next = copy.continues_on_next;
  chunk.had_to_be_patched = copy.needs_patching;
  chunk.needs_patching = copy.needs_patching;
  chunk.is_complete = copy.is_complete;
  if (sequence->has_read && position == sequence->next_position) {
    // Somebody may have rewritten what was read already.
    uint64_t ignored = 0;
    sequence->next_offset =
        SkipRecords(chunk.payload, sequence->next_record, false, &ignored);
  }
  used_bytes_ += chunk.charge();
  ++stats_.chunks_written;
  ++writer_stats.chunks_written;
  stats_.bytes_written += chunk.written_bytes();
  writer_stats.bytes_written += chunk.written_bytes();
  chunks_.push_back(std::move(chunk));
  sequence->chunks[position] = std::prev(chunks_.end());
}

bool TraceBuffer::MakeRoom(size_t bytes) {
  if (bytes > size_)
    return false;
  if (policy_ == Policy::kDiscard)
    return used_bytes_ + bytes <= size_;
  while (used_bytes_ + bytes > size_)
    OverwriteOldest();
  return true;
}

void TraceBuffer::RemoveChunk(ChunkMap::iterator it) {
  const ChunkList::iterator chunk = it->second;
  used_bytes_ -= chunk->charge();
  chunk->sequence->chunks.erase(it);
  chunks_.erase(chunk);
}

void TraceBuffer::RemoveReadChunk(ChunkMap::iterator it) {
  ++stats_.chunks_read;
  stats_.bytes_read += it->second->written_bytes();
  RemoveChunk(it);
}

void TraceBuffer::OverwriteOldest() {
  const Chunk& chunk = chunks_.front();
  const SequenceList::iterator sequence = chunk.sequence;
  ++stats_.chunks_overwritten;
  ++sequence->stats.chunks_overwritten;
  stats_.bytes_overwritten += chunk.written_bytes();
  sequence->GiveUpUntil(chunk.position + 1);
  RemoveChunk(sequence->chunks.find(chunk.position));
  EraseIfDone(sequence);
}

void TraceBuffer::PatchChunk(ProducerID producer_id,
                             const CommitDataRequest::ChunkToPatch& request) {
  Sequence* const sequence = FindSequence(producer_id, request.writer_id);
  Chunk* chunk = nullptr;
  if (sequence != nullptr) {
    const auto it =
        sequence->chunks.find(sequence->PositionOf(request.chunk_id));
    if (it != sequence->chunks.end() && it->second->needs_patching)
      chunk = &*it->second;
  }
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
    sequence->stats.patches_succeeded += succeeded;
    sequence->stats.patches_failed += failed;
  }
}

void TraceBuffer::EndWriter(ProducerID producer_id, WriterID writer_id) {
  const auto it = live_sequences_.find({producer_id, writer_id});
  if (it == live_sequences_.end())
    return;
  const SequenceList::iterator sequence = it->second;
  live_sequences_.erase(it);
  sequence->has_ended = true;
  EraseIfDone(sequence);
}

void TraceBuffer::EndProducer(ProducerID producer_id) {
  for (;;) {
    const auto it = live_sequences_.lower_bound({producer_id, 0});
    if (it == live_sequences_.end() || it->first.first != producer_id)
      return;
    EndWriter(producer_id, it->first.second);
  }
}

void TraceBuffer::EraseIfDone(SequenceList::iterator it) {
  if (!it->has_ended || !it->chunks.empty())
    return;
  ended_writers_.push_back(it->stats);
  if (ended_writers_.size() > kMaxEndedWriters)
    ended_writers_.pop_front();
  sequences_.erase(it);
}

bool TraceBuffer::ReadPackets(size_t max_bytes,
                              bool is_final,
                              const OnPacket& on_packet) {
  size_t bytes = 0;
  for (auto it = sequences_.begin(); it != sequences_.end();) {
    Sequence& sequence = *it;
    const bool gives_up = is_final || sequence.has_ended;
    ConstBytes packet;
    while (ReadNextPacket(&sequence, gives_up, &packet)) {
      const bool lost_something = sequence.lost_something;
      sequence.lost_something = false;
      if (on_packet({packet, sequence.producer, &sequence.stats.sequence_id,
                     sequence.stats.writer_id, lost_something})) {
        ++sequence.stats.packets_read;
        bytes += packet.size;
      } else {
        sequence.lost_something = lost_something;
        sequence.NoteLoss();
      }
      if (bytes >= max_bytes) {
        // The others come first next time, however fast this one writes.
        sequences_.splice(sequences_.end(), sequences_, it);
        return true;
      }
    }
    EraseIfDone(it++);
  }
  // A large packet was the exception.
  std::vector<uint8_t>().swap(packet_);
  return false;
}

bool TraceBuffer::ReadNextPacket(Sequence* sequence,
                                 bool gives_up,
                                 ConstBytes* packet) {
  if (!sequence->has_begun && !gives_up)
    return false;
  for (;;) {
    const auto it = sequence->chunks.begin();
    const bool has_chunk = it != sequence->chunks.end();
    const uint64_t position = sequence->next_position;
    if (!has_chunk || it->first != position) {
      // A hole, or the end.
      uint64_t next_position = position;
      if (has_chunk && gives_up)
        next_position = it->first;
      else if (position < sequence->lost_until)
        next_position = has_chunk ? std::min(it->first, sequence->lost_until)
                                  : sequence->lost_until;
      if (next_position == position)
        return false;
      sequence->NoteLoss();
      sequence->GoTo(next_position, 0, 0);
      continue;
    }

    const Chunk& chunk = *it->second;
    if (sequence->next_record >= chunk.num_packets) {
      if (!chunk.is_complete) {
        if (!gives_up && position >= sequence->lost_until)
          return false;
        sequence->NoteLoss();
      }
      RemoveReadChunk(it);
      sequence->GoTo(position + 1, 0, 0);
      continue;
    }

    const uint16_t record_idx = sequence->next_record;
    size_t offset = sequence->next_offset;
    ConstBytes record;
    const RecordKind kind = ReadRecord(chunk.payload, &offset, &record);
    if (kind != RecordKind::kPacket) {
      ++(kind == RecordKind::kDropMarker ? stats_.trace_writer_packet_loss
                                         : stats_.abi_violations);
      sequence->NoteLoss();
      sequence->GoTo(position, chunk.num_packets, 0);
      continue;
    }
    const uint16_t next_record = static_cast<uint16_t>(record_idx + 1);
    if (record_idx == 0 && chunk.continues_from_previous) {
      // If the beginning was lost, so is the rest.
      sequence->NoteLoss();
      sequence->GoTo(position, next_record, offset);
      continue;
    }
    const bool is_last = next_record == chunk.num_packets;
    if (is_last && chunk.needs_patching) {
      if (!gives_up)
        return false;
      sequence->NoteLoss();
      sequence->GoTo(position, next_record, offset);
      continue;
    }
    if (!is_last || !chunk.continues_on_next) {
      sequence->GoTo(position, next_record, offset);
      // The empty ones stand for nothing.
      if (record.size == 0)
        continue;
      *packet = record;
      return true;
    }
    switch (ReadAhead(sequence, it, record, gives_up)) {
      case ReadAheadResult::kWhole:
        ++stats_.readaheads_succeeded;
        if (packet_.empty())
          continue;
        *packet = ConstBytes(packet_);
        return true;
      case ReadAheadResult::kTorn:
        ++stats_.readaheads_failed;
        sequence->NoteLoss();
        sequence->GoTo(position, next_record, offset);
        continue;
      case ReadAheadResult::kWaits:
        return false;
    }
  }
}

TraceBuffer::ReadAheadResult TraceBuffer::ReadAhead(Sequence* sequence,
                                                    ChunkMap::iterator it,
                                                    ConstBytes head,
                                                    bool gives_up) {
  const ReadAheadResult missing =
      gives_up ? ReadAheadResult::kTorn : ReadAheadResult::kWaits;
  fragments_.clear();
  fragments_.push_back(head);
  size_t size = head.size;
  uint64_t position = it->first;
  for (;;) {
    ++it;
    ++position;
    if (it == sequence->chunks.end() || it->first != position) {
      return position < sequence->lost_until ? ReadAheadResult::kTorn : missing;
    }
    const Chunk& chunk = *it->second;
    if (!chunk.continues_from_previous)
      return ReadAheadResult::kTorn;
    if (chunk.num_packets == 0)
      return chunk.is_complete ? ReadAheadResult::kTorn : missing;
    size_t offset = 0;
    ConstBytes record;
    if (ReadRecord(chunk.payload, &offset, &record) != RecordKind::kPacket ||
        record.size > kMaxPacketSize - size) {
      return ReadAheadResult::kTorn;
    }
    const bool is_last = chunk.num_packets == 1;
    if (is_last && chunk.needs_patching)
      return missing;
    fragments_.push_back(record);
    size += record.size;
    if (is_last && chunk.continues_on_next)
      continue;

    packet_.clear();
    packet_.reserve(size);
    for (const ConstBytes& fragment : fragments_)
      packet_.insert(packet_.end(), fragment.data,
                     fragment.data + fragment.size);
    while (sequence->chunks.begin() != it)
      RemoveReadChunk(sequence->chunks.begin());
    sequence->GoTo(position, 1, offset);
    return ReadAheadResult::kWhole;
  }
}

TraceBufferStats TraceBuffer::stats() const {
  TraceBufferStats stats = stats_;
  stats.buffer_size = size_;
  stats.write_wrap_count = stats.bytes_written / std::max<size_t>(size_, 1);
  return stats;
}

void TraceBuffer::AppendWriterStats(
    std::vector<TraceWriterStats>* stats) const {
  stats->insert(stats->end(), ended_writers_.begin(), ended_writers_.end());
  for (const Sequence& sequence : sequences_)
    stats->push_back(sequence.stats);
}

}  // namespace protozero
