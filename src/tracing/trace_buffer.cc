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
  // Packets that begin in it; those of them that were given out or lost.
  uint64_t num_begun;
  uint64_t num_accounted;
  // More of them, in a later copy that found no room, and are lost.
  uint64_t num_refused;
  uint16_t num_packets;
  bool continues_from_previous;
  bool continues_on_next;
  // As it came, and as it is now.
  bool had_to_be_patched;
  bool needs_patching;
  bool is_complete;
  // It has not been committed, and will be if its producer lives.
  bool is_scraped;
  OpenPacket open_packet;
};

// Positions, which come in rows.
class TraceBuffer::Ranges {
 public:
  void Add(uint64_t begin, uint64_t end) {
    const auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second >= begin) {
      uint64_t& last_end = std::prev(next)->second;
      last_end = std::max(last_end, end);
      return;
    }
    ranges_[begin] = end;
    if (ranges_.size() > kMaxRanges)
      ranges_.erase(ranges_.begin());
  }
  bool Contains(uint64_t position) const {
    const auto next = ranges_.upper_bound(position);
    return next != ranges_.begin() && position < std::prev(next)->second;
  }

 private:
  // Those of a writer that keeps to the protocol are fewer.
  static constexpr size_t kMaxRanges = 64;

  // The end of each, by its begin.
  std::map<uint64_t, uint64_t> ranges_;
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

  // With what the writer has reported: packets that it lost before anything of
  // them came; and for those whose beginning came, in place of the reason for
  // which they could not be given out, the writer's.
  TraceWriterStats Stats() const {
    TraceWriterStats result = stats;
    PacketLosses& losses = result.lost;
    result.packets_begun = stats.packets_written;
    for (size_t i = 0; i < kNumWriterLossReasons; ++i) {
      const uint64_t begun = std::min(reported_begun[i], reported.packets[i]);
      const LossReason reason = static_cast<LossReason>(i);
      losses.Add(reason, reported.packets[i] - begun);
      PacketLosses::Increase(&result.packets_begun,
                             reported.packets[i] - begun);
      uint64_t left = begun;
      for (const LossReason torn :
           {LossReason::kUnknown, LossReason::kIncomplete}) {
        uint64_t* const num_torn = &losses.packets[static_cast<size_t>(torn)];
        const uint64_t moved = std::min(left, *num_torn);
        *num_torn -= moved;
        losses.Add(reason, moved);
        left -= moved;
      }
    }
    PacketLosses::Increase(&losses.bytes, reported.bytes);
    return result;
  }

  // What was scraped will be committed, too. If it is gone by then, its packets
  // are accounted for. Of a chunk that was not complete, there may be more:
  struct Gone {
    uint64_t num_begun = 0;
    uint64_t num_lost = 0;
    LossReason reason = LossReason::kUnknown;
  };
  // A writer has a chunk that it writes to, and a few that it holds back.
  static constexpr size_t kMaxGone = 16;
  void NoteGone(uint64_t position, bool is_complete, const Gone& chunk) {
    if (is_complete) {
      refused.Add(position, position + 1);
      return;
    }
    gone[position] = chunk;
    if (gone.size() > kMaxGone)
      gone.erase(gone.begin());
  }

  Producer producer;
  ChunkMap chunks;
  // The highest one so far. Not valid before there was a chunk.
  bool has_position = false;
  uint64_t last_position = 0;
  // It is known that no chunk comes before the first one that is here.
  bool has_begun = false;
  // Where to go on reading, once that has begun. Offsets are of use only until
  // the chunk is replaced, and found again from the record.
  bool has_read = false;
  uint64_t next_position = 0;
  uint16_t next_record = 0;
  size_t next_offset = 0;
  uint64_t lost_until = 0;
  bool lost_something = false;
  bool has_ended = false;
  std::map<uint64_t, Gone> gone;
  // Complete ones.
  Ranges refused;
  // Where reading went past chunks that had not come.
  Ranges holes;
  // By the writer; and those of them whose beginning was in a chunk.
  PacketLosses reported;
  uint64_t reported_begun[kNumWriterLossReasons] = {};
  // As it was found here.
  TraceWriterStats stats;
};

namespace {

// Smaller than any position of the first chunk may be, so that those before it
// have one.
constexpr uint64_t kFirstPosition = uint64_t{1} << 32;

// The records that a chunk announces, up to the first that is none.
struct Records {
  size_t size = 0;
  // Packets, or parts of them, that begin here. The empty ones stand for
  // nothing.
  uint64_t num_begun = 0;
};

Records FindRecords(ConstBytes payload,
                    size_t num_records,
                    bool continues_from_previous,
                    bool continues_on_next) {
  Records records;
  for (size_t i = 0; i < num_records; ++i) {
    ConstBytes record;
    if (ReadRecord(payload, &records.size, &record) != RecordKind::kPacket)
      break;
    const bool begins = i != 0 || !continues_from_previous;
    const bool goes_on = i + 1 == num_records && continues_on_next;
    records.num_begun += begins && (record.size != 0 || goes_on);
  }
  return records;
}

void AddPackets(const TraceWriterStats& stats, TraceWriterStats* sums) {
  sums->packets_written += stats.packets_written;
  PacketLosses::Increase(&sums->packets_begun, stats.packets_begun);
  sums->packets_read += stats.packets_read;
  sums->lost.Add(stats.lost);
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
    WriterID writer_id) {
  const SequenceKey key(producer.id, writer_id);
  const auto found = live_sequences_.find(key);
  if (found != live_sequences_.end())
    return found->second;
  const auto it = sequences_.emplace(sequences_.end());
  it->producer = producer;
  it->stats.producer_id = producer.id;
  it->stats.writer_id = writer_id;
  live_sequences_[key] = it;
  ++stats_.writers_seen;
  return it;
}

void TraceBuffer::CopyChunk(const Producer& producer, const ChunkCopy& copy) {
  const SequenceList::iterator sequence =
      FindOrAddSequence(producer, copy.writer_id);
  if (!sequence->has_position) {
    sequence->has_position = true;
    sequence->last_position = kFirstPosition + copy.chunk_id;
    sequence->next_position = sequence->last_position;
  }
  TraceWriterStats& writer_stats = sequence->stats;
  const uint64_t position = sequence->PositionOf(copy.chunk_id);
  // Writers commit their chunks in order. Who scrapes comes past all of them,
  // one after the other, and may see a chunk that was begun behind its back,
  // but not the one before it.
  sequence->has_begun |= !copy.is_scraped || copy.chunk_id == 0;
  const Records records =
      FindRecords(copy.payload, copy.num_packets, copy.continues_from_previous,
                  copy.continues_on_next);
  const uint64_t num_begun =
      records.num_begun +
      (!copy.is_complete && copy.open_packet == OpenPacket::kOne);
  const auto gone = sequence->gone.find(position);
  // Those that are not among |num_known|, which are accounted for.
  const auto lose_new = [&](uint64_t num_known, LossReason reason) {
    const uint64_t num_new = num_begun - std::min(num_begun, num_known);
    writer_stats.packets_written += num_new;
    writer_stats.lost.Add(reason, num_new);
    return num_new;
  };
  const auto find_again = [&](uint64_t num_lost, LossReason reason) {
    writer_stats.packets_written -= num_lost;
    writer_stats.lost.packets[static_cast<size_t>(reason)] -= num_lost;
  };

  if (sequence->refused.Contains(position))
    return;
  if (!sequence->has_read) {
    sequence->next_position = std::min(sequence->next_position, position);
  } else if (position < sequence->next_position) {
    // It was read, from an earlier copy, or was given up.
    if (gone != sequence->gone.end()) {
      const uint64_t num_new =
          lose_new(gone->second.num_begun, gone->second.reason);
      gone->second.num_begun += num_new;
      gone->second.num_lost += num_new;
    } else if (sequence->holes.Contains(position)) {
      lose_new(0, ReasonOfNoRoom());
      sequence->NoteGone(position, copy.is_complete,
                         {num_begun, num_begun, ReasonOfNoRoom()});
    }
    return;
  }

  const size_t charge = kChunkOverhead + records.size;
  const auto note_discarded = [&] {
    ++stats_.chunks_discarded;
    ++writer_stats.chunks_discarded;
    sequence->GiveUpUntil(position + 1);
  };

  uint64_t num_accounted = 0;
  const auto existing = sequence->chunks.find(position);
  if (existing != sequence->chunks.end()) {
    Chunk& old = *existing->second;
    if (old.num_packets > copy.num_packets ||
        (old.continues_from_previous && !copy.continues_from_previous) ||
        (old.continues_on_next && !copy.continues_on_next) ||
        (old.had_to_be_patched && !copy.needs_patching)) {
      ++stats_.abi_violations;
      return;
    }
    // There can be more only in what was copied too early.
    if (old.is_complete ||
        (!copy.is_complete && old.num_packets == copy.num_packets &&
         old.open_packet == copy.open_packet)) {
      return;
    }
    // If there is no room for the new one, the old one stays.
    if (policy_ == Policy::kDiscard &&
        used_bytes_ - old.charge() + charge > size_) {
      old.num_refused +=
          lose_new(old.num_begun + old.num_refused, LossReason::kDiscarded);
      return note_discarded();
    }
    // The new one takes its place.
    find_again(old.num_refused, LossReason::kDiscarded);
    num_accounted = std::min(old.num_accounted, num_begun);
    writer_stats.packets_written -= old.num_begun - num_accounted;
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
  if (gone != sequence->gone.end()) {
    // Here it is again, with what was lost of it.
    const Sequence::Gone& known = gone->second;
    find_again(known.num_lost, known.reason);
    num_accounted = std::min(known.num_begun - known.num_lost, num_begun);
    sequence->gone.erase(gone);
  }
  if (!MakeRoom(charge)) {
    const uint64_t num_lost = lose_new(num_accounted, LossReason::kDiscarded);
    writer_stats.lost.Add(LossReason::kDiscarded, 0, records.size);
    if (copy.is_scraped) {
      sequence->NoteGone(position, copy.is_complete,
                         {num_begun, num_lost, LossReason::kDiscarded});
    }
    return note_discarded();
  }
  writer_stats.packets_written += num_begun - num_accounted;

  Chunk chunk;
  chunk.sequence = sequence;
  chunk.position = position;
  chunk.memory.reset(new uint8_t[records.size]);
  std::copy_n(copy.payload.data(), records.size, chunk.memory.get());
  chunk.payload = ConstBytes(chunk.memory.get(), records.size);
  chunk.num_begun = num_begun;
  chunk.num_accounted = num_accounted;
  chunk.num_refused = 0;
  chunk.num_packets = copy.num_packets;
  chunk.continues_from_previous = copy.continues_from_previous;
  chunk.continues_on_next = copy.continues_on_next;
  chunk.had_to_be_patched = copy.needs_patching;
  chunk.needs_patching = copy.needs_patching;
  chunk.is_complete = copy.is_complete;
  chunk.is_scraped = copy.is_scraped;
  chunk.open_packet = copy.open_packet;
  if (sequence->has_read && position == sequence->next_position) {
    // Somebody may have rewritten what was read already.
    sequence->next_offset =
        FindRecords(chunk.payload, sequence->next_record, false, false).size;
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

void TraceBuffer::CloseChunk(Chunk* chunk, LossReason reason) {
  const uint64_t num_lost =
      chunk->num_begun - std::min(chunk->num_begun, chunk->num_accounted);
  Sequence& sequence = *chunk->sequence;
  sequence.stats.lost.Add(reason, num_lost);
  const uint64_t all_lost = num_lost + chunk->num_refused;
  if (chunk->is_scraped && (!chunk->is_complete || all_lost != 0)) {
    sequence.NoteGone(
        chunk->position, chunk->is_complete,
        {chunk->num_begun + chunk->num_refused, all_lost, reason});
  }
}

void TraceBuffer::RemoveReadChunk(ChunkMap::iterator it) {
  ++stats_.chunks_read;
  stats_.bytes_read += it->second->written_bytes();
  RemoveChunk(it);
}

void TraceBuffer::OverwriteOldest() {
  Chunk& chunk = chunks_.front();
  const SequenceList::iterator sequence = chunk.sequence;
  ++stats_.chunks_overwritten;
  ++sequence->stats.chunks_overwritten;
  stats_.bytes_overwritten += chunk.written_bytes();
  sequence->stats.lost.Add(LossReason::kOverwritten, 0, chunk.payload.size);
  CloseChunk(&chunk, LossReason::kOverwritten);
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
  ended_writers_.push_back(it->Stats());
  AddPackets(ended_writers_.back(), &ended_sums_);
  if (ended_writers_.size() > kMaxEndedWriters)
    ended_writers_.pop_front();
  sequences_.erase(it);
}

void TraceBuffer::ReportLosses(const Producer& producer,
                               const CommitDataRequest::WriterLosses& losses) {
  const size_t index = static_cast<size_t>(losses.reason);
  if (index >= kNumWriterLossReasons)
    return;
  if (losses.writer_id == 0) {
    PacketLosses::Increase(&ended_sums_.packets_begun, losses.packets);
    ended_sums_.lost.Add(losses.reason, losses.packets, losses.bytes);
    return;
  }
  Sequence& sequence = *FindOrAddSequence(producer, losses.writer_id);
  sequence.reported.Add(losses.reason, losses.packets, losses.bytes);
  PacketLosses::Increase(&sequence.reported_begun[index], losses.begun);
}

void TraceBuffer::ReportUnknownLoss() {
  ++stats_.unknown_losses;
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
        sequence.stats.lost.Add(LossReason::kInvalid, 1, packet.size);
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
      // What was in chunks that never came.
      stats_.unknown_losses += next_position > sequence->lost_until;
      sequence->holes.Add(position, next_position);
      sequence->GoTo(next_position, 0, 0);
      continue;
    }

    Chunk& chunk = *it->second;
    if (sequence->next_record >= chunk.num_packets) {
      const bool is_given_up = position < sequence->lost_until;
      if (!chunk.is_complete) {
        if (!gives_up && !is_given_up)
          return false;
        // A writer that goes on when its session ends loses nothing here.
        const bool is_unknown =
            chunk.open_packet == OpenPacket::kUnknown &&
            (sequence->has_ended || sequence->chunks.size() != 1);
        if (is_given_up || is_unknown ||
            chunk.open_packet == OpenPacket::kOne) {
          sequence->NoteLoss();
        }
        stats_.unknown_losses += is_unknown && !is_given_up;
      }
      CloseChunk(&chunk,
                 is_given_up ? ReasonOfNoRoom() : LossReason::kIncomplete);
      RemoveReadChunk(it);
      sequence->GoTo(position + 1, 0, 0);
      continue;
    }

    const uint16_t record_idx = sequence->next_record;
    size_t offset = sequence->next_offset;
    ConstBytes record;
    const RecordKind kind = ReadRecord(chunk.payload, &offset, &record);
    const bool begins = record_idx != 0 || !chunk.continues_from_previous;
    if (kind == RecordKind::kDropMarker) {
      sequence->NoteLoss();
      // Otherwise its writer reports it.
      if (begins && !sequence->producer.reports_losses) {
        ++sequence->stats.packets_written;
        sequence->stats.lost.Add(LossReason::kUnknown, 1);
      }
      sequence->GoTo(position, chunk.num_packets, 0);
      continue;
    }
    if (kind == RecordKind::kCorrupt) {
      ++stats_.abi_violations;
      ++stats_.unknown_losses;
      sequence->NoteLoss();
      sequence->GoTo(position, chunk.num_packets, 0);
      continue;
    }
    const uint16_t next_record = static_cast<uint16_t>(record_idx + 1);
    const bool is_last = next_record == chunk.num_packets;
    const bool goes_on = is_last && chunk.continues_on_next;
    const auto lose = [&](LossReason why) {
      if (record.size != 0 || goes_on) {
        ++chunk.num_accounted;
        sequence->stats.lost.Add(why, 1, record.size);
      }
      sequence->NoteLoss();
      sequence->GoTo(position, next_record, offset);
    };
    if (!begins) {
      // If the beginning was lost, so is the rest.
      sequence->NoteLoss();
      sequence->GoTo(position, next_record, offset);
      continue;
    }
    if (is_last && chunk.needs_patching) {
      if (!gives_up)
        return false;
      lose(LossReason::kIncomplete);
      continue;
    }
    if (!goes_on) {
      sequence->GoTo(position, next_record, offset);
      // The empty ones stand for nothing.
      if (record.size == 0)
        continue;
      ++chunk.num_accounted;
      *packet = record;
      return true;
    }
    LossReason reason;
    switch (ReadAhead(sequence, it, record, gives_up, &reason)) {
      case ReadAheadResult::kWhole:
        ++stats_.readaheads_succeeded;
        if (packet_.empty()) {
          --sequence->stats.packets_written;
          continue;
        }
        *packet = ConstBytes(packet_);
        return true;
      case ReadAheadResult::kTorn:
        ++stats_.readaheads_failed;
        lose(reason);
        continue;
      case ReadAheadResult::kWaits:
        return false;
    }
  }
}

TraceBuffer::ReadAheadResult TraceBuffer::ReadAhead(Sequence* sequence,
                                                    ChunkMap::iterator it,
                                                    ConstBytes head,
                                                    bool gives_up,
                                                    LossReason* reason) {
  *reason = LossReason::kIncomplete;
  const auto torn_by = [reason](LossReason why) {
    *reason = why;
    return ReadAheadResult::kTorn;
  };
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
      return position < sequence->lost_until ? torn_by(ReasonOfNoRoom())
                                             : missing;
    }
    const Chunk& chunk = *it->second;
    if (!chunk.continues_from_previous)
      return ReadAheadResult::kTorn;
    if (chunk.num_packets == 0)
      return chunk.is_complete ? ReadAheadResult::kTorn : missing;
    size_t offset = 0;
    ConstBytes record;
    switch (ReadRecord(chunk.payload, &offset, &record)) {
      case RecordKind::kPacket:
        break;
      case RecordKind::kDropMarker:
        return torn_by(LossReason::kUnknown);
      case RecordKind::kCorrupt:
        return ReadAheadResult::kTorn;
    }
    if (record.size > kMaxPacketSize - size)
      return torn_by(LossReason::kTooLarge);
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
    ++sequence->chunks.begin()->second->num_accounted;
    while (sequence->chunks.begin() != it) {
      const auto read = sequence->chunks.begin();
      CloseChunk(&*read->second, LossReason::kIncomplete);
      RemoveReadChunk(read);
    }
    sequence->GoTo(position, 1, offset);
    return ReadAheadResult::kWhole;
  }
}

TraceBufferStats TraceBuffer::stats() const {
  TraceBufferStats stats = stats_;
  stats.buffer_size = size_;
  stats.write_wrap_count = stats.bytes_written / std::max<size_t>(size_, 1);
  TraceWriterStats sums = ended_sums_;
  for (const Sequence& sequence : sequences_)
    AddPackets(sequence.Stats(), &sums);
  stats.packets_written = sums.packets_written;
  stats.packets_begun = sums.packets_begun;
  stats.packets_read = sums.packets_read;
  stats.lost = sums.lost;
  return stats;
}

void TraceBuffer::AppendWriterStats(
    std::vector<TraceWriterStats>* stats) const {
  stats->insert(stats->end(), ended_writers_.begin(), ended_writers_.end());
  for (const Sequence& sequence : sequences_)
    stats->push_back(sequence.Stats());
}

}  // namespace protozero
