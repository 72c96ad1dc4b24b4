// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/service/trace_buffer.h"

#include <string.h>

#include <algorithm>
#include <iterator>

#include "src/tracing/service/trace_buffer_sequence.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

using ABI = SharedMemoryABI;

namespace {

// The first position. It leaves positions for chunks before the first one.
constexpr uint64_t kFirstPosition = uint64_t{1} << 32;

// The fragments of a chunk, up to the first malformed one.
struct Fragments {
  size_t size = 0;
  // The number of packets, or parts of them, that begin here, without empty
  // ones.
  uint64_t num_begun = 0;
};

Fragments FindFragments(ConstBytes payload,
                        size_t num_fragments,
                        bool continues_from_previous,
                        bool continues_on_next) {
  Fragments fragments;
  for (size_t i = 0; i < num_fragments; ++i) {
    ConstBytes fragment;
    if (ReadFragment(payload, &fragments.size, &fragment) !=
        FragmentKind::kPacket)
      break;
    const bool begins = i != 0 || !continues_from_previous;
    const bool goes_on = i + 1 == num_fragments && continues_on_next;
    fragments.num_begun += begins && (fragment.size != 0 || goes_on);
  }
  return fragments;
}

void AddPackets(const TraceWriterStats& stats, TraceWriterStats* sums) {
  sums->packets_written += stats.packets_written;
  PacketLosses::Increase(&sums->packets_begun, stats.packets_begun);
  sums->packets_read += stats.packets_read;
  sums->lost.Add(stats.lost);
}

}  // namespace

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
  it->stats.producer_id = producer.id;
  it->stats.writer_id = writer_id;
  if (lost_unknown_writers_)
    it->NoteLoss();
  AddToOwner(it);
  ScopeExit undo([&] { RemoveFromOwner(it); });
  live_sequences_.emplace(key, it);
  undo.Cancel();
  sequences_.splice(sequences_.end(), added);
  ++stats_.writers_seen;
  return it;
}

void TraceBuffer::AddChunk(const ProducerIdentity& producer,
                           const ChunkCopy& copy) {
  SequenceList::iterator sequence;
  if (!RunsInMemory(
          [&] { sequence = FindOrAddSequence(producer, copy.writer_id); })) {
    LoseChunkWithoutWriter(copy);
    return;
  }
  PlaceChunk(sequence, copy);
  Charge(&*sequence, sequence->charge());
  LimitWriters();
}

void TraceBuffer::LoseChunkWithoutWriter(const ChunkCopy& copy) {
  lost_unknown_writers_ = true;
  ++stats_.chunks_discarded;
  // A chunk that may come again would be counted twice.
  if (copy.is_scraped || !copy.is_complete) {
    ++stats_.unknown_losses;
    return;
  }
  const Fragments fragments =
      FindFragments(copy.payload, copy.num_packets,
                    copy.continues_from_previous, copy.continues_on_next);
  ended_sums_.packets_written += fragments.num_begun;
  PacketLosses::Increase(&ended_sums_.packets_begun, fragments.num_begun);
  ended_sums_.lost.Add(LossReason::kOutOfMemory, fragments.num_begun,
                       fragments.size);
}

void TraceBuffer::PlaceChunk(SequenceList::iterator sequence,
                             const ChunkCopy& copy) {
  if (!sequence->has_position) {
    sequence->has_position = true;
    sequence->last_position = kFirstPosition + copy.chunk_id;
    sequence->next_position = sequence->last_position;
  }
  TraceWriterStats& writer_stats = sequence->stats;
  const uint64_t position = sequence->PositionOf(copy.chunk_id);
  // Writers commit their chunks in order. A scraper passes one chunk after the
  // other: it may see a chunk that was begun behind it, and miss the one before
  // that.
  sequence->has_begun |= !copy.is_scraped || copy.chunk_id == 0;
  const Fragments fragments =
      FindFragments(copy.payload, copy.num_packets,
                    copy.continues_from_previous, copy.continues_on_next);
  const uint64_t num_begun =
      fragments.num_begun +
      (!copy.is_complete && copy.open_packet == OpenPacket::kOne);
  const auto gone = sequence->gone.find(position);
  // Loses the packets beyond |num_known|, which are accounted for already.
  const auto lose_new = [&](uint64_t num_known, LossReason reason) {
    const uint64_t num_new = num_begun - std::min(num_begun, num_known);
    writer_stats.packets_written += num_new;
    writer_stats.lost.Add(reason, num_new);
    return num_new;
  };
  // Returns how many packets the writer has given up since an earlier copy,
  // where they were open. They count in the writer's account: a drop marker has
  // taken their place.
  const auto num_given_up = [&](uint64_t num_known) {
    return copy.is_complete ? num_known - std::min(num_known, num_begun) : 0;
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
    // An earlier copy of it was read, or it was given up.
    if (gone != sequence->gone.end()) {
      Gone& known = gone->second;
      const uint64_t num_new = lose_new(known.num_begun, known.reason);
      known.num_begun += num_new;
      known.num_lost += num_new;
      const uint64_t num_void =
          std::min(num_given_up(known.num_begun), known.num_lost);
      find_again(num_void, known.reason);
      known.num_begun -= num_void;
      known.num_lost -= num_void;
    } else if (sequence->holes.Contains(position)) {
      lose_new(0, ReasonOfNoRoom());
      NoteGone(&*sequence, position, copy.is_complete,
               {num_begun, num_begun, ReasonOfNoRoom()});
    }
    return;
  }

  const size_t charge = kChunkOverhead + fragments.size;
  auto place = sequence->chunks.lower_bound(position);
  const bool replaces =
      place != sequence->chunks.end() && place->first == position;
  if (replaces) {
    const Chunk& old = *place->second;
    if (old.num_packets > copy.num_packets ||
        (old.continues_from_previous && !copy.continues_from_previous) ||
        (old.continues_on_next && !copy.continues_on_next) ||
        (old.had_to_be_patched && !copy.needs_patching)) {
      ++stats_.abi_violations;
      return;
    }
    // Only a chunk that was copied too early can have more now.
    if (old.is_complete ||
        (!copy.is_complete && old.num_packets == copy.num_packets &&
         old.open_packet == copy.open_packet)) {
      return;
    }
  }
  // Takes all memory before it changes anything.
  ChunkList added;
  const bool has_memory = RunsInMemory([&] {
    added.emplace_back().memory.reset(new uint8_t[fragments.size]);
    if (!replaces)
      place = sequence->chunks.emplace_hint(place, position, added.begin());
  });
  const auto note_discarded = [&] {
    ++stats_.chunks_discarded;
    ++writer_stats.chunks_discarded;
    sequence->GiveUpUntil(position + 1);
  };

  uint64_t num_accounted = 0;
  if (replaces) {
    Chunk& old = *place->second;
    // If there is no memory for the new copy, the old one stays.
    if (!has_memory) {
      ++stats_.unknown_losses;
      return note_discarded();
    }
    if (policy_ == Policy::kDiscard &&
        used_bytes_ - old.charge() + charge > size_) {
      old.num_refused +=
          lose_new(old.num_begun + old.num_refused, LossReason::kDiscarded);
      uint64_t num_void = num_given_up(old.num_begun + old.num_refused);
      const uint64_t num_refused = std::min(num_void, old.num_refused);
      find_again(num_refused, LossReason::kDiscarded);
      old.num_refused -= num_refused;
      num_void = std::min(num_void - num_refused, old.num_left());
      writer_stats.packets_written -= num_void;
      old.num_begun -= num_void;
      return note_discarded();
    }
    // The new copy takes the place of the old one.
    find_again(old.num_refused, LossReason::kDiscarded);
    num_accounted = std::min(old.num_accounted, num_begun);
    writer_stats.packets_written -= old.num_begun - num_accounted;
    ++stats_.chunks_rewritten;
    --stats_.chunks_written;
    --writer_stats.chunks_written;
    stats_.bytes_written -= old.written_bytes();
    writer_stats.bytes_written -= old.written_bytes();
    used_bytes_ -= old.charge();
    chunks_.erase(place->second);
  } else if (position < sequence->last_position) {
    ++stats_.chunks_committed_out_of_order;
  }
  sequence->last_position = std::max(sequence->last_position, position);
  if (gone != sequence->gone.end()) {
    // The chunk came again, with some packets that had been counted as lost.
    const Gone& known = gone->second;
    find_again(known.num_lost, known.reason);
    num_accounted = std::min(known.num_begun - known.num_lost, num_begun);
    sequence->gone.erase(gone);
  }
  if (!has_memory || !MakeRoom(charge)) {
    if (has_memory)
      sequence->chunks.erase(place);
    const LossReason reason =
        has_memory ? LossReason::kDiscarded : LossReason::kOutOfMemory;
    const uint64_t num_lost = lose_new(num_accounted, reason);
    writer_stats.lost.Add(reason, 0, fragments.size);
    if (copy.is_scraped) {
      NoteGone(&*sequence, position, copy.is_complete,
               {num_begun, num_lost, reason});
    }
    return note_discarded();
  }
  writer_stats.packets_written += num_begun - num_accounted;

  Chunk& chunk = added.front();
  chunk.sequence = sequence;
  chunk.position = position;
  std::copy_n(copy.payload.data(), fragments.size, chunk.memory.get());
  chunk.payload = ConstBytes(chunk.memory.get(), fragments.size);
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
    // The writer may have rewritten fragments that were read already.
    sequence->next_offset =
        FindFragments(chunk.payload, sequence->next_fragment, false, false)
            .size;
  }
  used_bytes_ += chunk.charge();
  ++stats_.chunks_written;
  ++writer_stats.chunks_written;
  stats_.bytes_written += chunk.written_bytes();
  writer_stats.bytes_written += chunk.written_bytes();
  place->second = added.begin();
  chunks_.splice(chunks_.end(), added);
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
  const uint64_t num_lost = chunk->num_left();
  Sequence& sequence = *chunk->sequence;
  sequence.stats.lost.Add(reason, num_lost);
  const uint64_t all_lost = num_lost + chunk->num_refused;
  if (chunk->is_scraped && !chunk->is_complete) {
    NoteGone(&sequence, chunk->position, false,
             {chunk->num_begun + chunk->num_refused, all_lost, reason});
  }
}

void TraceBuffer::NoteGone(Sequence* sequence,
                           uint64_t position,
                           bool is_complete,
                           const Gone& chunk) {
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
  Chunk& chunk = *it->second;
  Sequence& sequence = *chunk.sequence;
  ++stats_.chunks_overwritten;
  ++sequence.stats.chunks_overwritten;
  stats_.bytes_overwritten += chunk.written_bytes();
  const LossReason reason = ReasonOfNoRoom();
  sequence.stats.lost.Add(reason, 0, chunk.payload.size);
  CloseChunk(&chunk, reason);
  // The chunk's place becomes a hole, even if all of it was read. Its commit
  // then brings nothing new.
  if (chunk.is_scraped && chunk.is_complete)
    NoteGone(&sequence, chunk.position, true, {});
  sequence.GiveUpUntil(chunk.position + 1);
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
  Owner& owner = owners_.find(OwnerOf(*sequence))->second;
  owner.ended.splice(owner.ended.end(), owner.live, sequence->place);
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

bool TraceBuffer::EraseIfDone(SequenceList::iterator it) {
  if (!it->has_ended || !it->chunks.empty())
    return false;
  const TraceWriterStats stats = it->Stats();
  AddPackets(stats, &ended_sums_);
  // If there is no memory, only the sums have it.
  RunsInMemory([&] { ended_writers_.push_back(stats); });
  if (ended_writers_.size() > kMaxEndedWriters)
    ended_writers_.pop_front();
  RemoveFromOwner(it);
  sequences_.erase(it);
  return true;
}

void TraceBuffer::ReportLosses(const ProducerIdentity& producer,
                               const CommitDataRequest::WriterLosses& losses) {
  const size_t index = static_cast<size_t>(losses.reason);
  if (index >= kNumWriterLossReasons)
    return;
  if (losses.reason == LossReason::kUnknown && losses.packets == 0)
    return ReportUnknownLoss();
  SequenceList::iterator sequence;
  if (losses.writer_id == 0 || !RunsInMemory([&] {
        sequence = FindOrAddSequence(producer, losses.writer_id);
      })) {
    PacketLosses::Increase(&ended_sums_.packets_begun, losses.packets);
    ended_sums_.lost.Add(losses.reason, losses.packets, losses.bytes);
    return;
  }
  sequence->reported.Add(losses.reason, losses.packets, losses.bytes);
  PacketLosses::Increase(&sequence->reported_begun[index], losses.begun);
  LimitWriters();
}

void TraceBuffer::ReportUnknownLoss() {
  ++stats_.unknown_losses;
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

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
