// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Copies chunks to a TraceBuffer: finds out what has become of an earlier copy,
// compares the two, makes room, and stores the chunk.

#include <string.h>

#include <algorithm>
#include <iterator>

#include "src/tracing/service/trace_buffer.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

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

// Reads the lengths alone.
Fragments FindFragments(ConstBytes payload,
                        size_t num_fragments,
                        bool continues_from_previous,
                        bool continues_on_next) {
  size_t offset = 0;
  uint64_t num_begun = 0;
  size_t size = 0;
  for (size_t left = num_fragments; left != 0; --left) {
    const size_t available = payload.size - offset;
    // Most lengths have one byte. Of others, the sign makes a size that is
    // never available, so that one comparison is enough.
    if (available != 0)
      size = static_cast<size_t>(static_cast<int8_t>(payload.data[offset]));
    if (available != 0 && size < available) {
      offset += 1 + size;
    } else {
      ConstBytes fragment;
      size_t next = offset;
      const FragmentKind kind = ReadFragmentSlowPath(payload, &next, &fragment);
      offset = next;
      if (kind != FragmentKind::kPacket)
        return {offset, num_begun};
      size = fragment.size;
    }
    num_begun += size != 0;
    // The first fragment may be the rest of a packet.
    if (continues_from_previous && left == num_fragments)
      num_begun = 0;
  }
  // An empty fragment is the beginning of a packet if that goes on.
  if (continues_on_next && size == 0 &&
      num_fragments > size_t{continues_from_previous}) {
    ++num_begun;
  }
  return {offset, num_begun};
}

Fragments FindFragments(const ChunkCopy& copy) {
  return FindFragments(copy.payload, copy.num_packets,
                       copy.continues_from_previous, copy.continues_on_next);
}

}  // namespace

void TraceBuffer::AddChunk(const ProducerIdentity& producer,
                           const ChunkCopy& copy) {
  if (follower_ != nullptr)
    follower_->AddChunk(producer, copy);
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
  const Fragments fragments = FindFragments(copy);
  without_writer_.LoseChunk(fragments.num_begun, 0, LossReason::kOutOfMemory,
                            fragments.size);
}

void TraceBuffer::PlaceChunk(SequenceList::iterator sequence,
                             const ChunkCopy& copy) {
  if (!sequence->has_position) {
    sequence->has_position = true;
    sequence->last_position = kFirstPosition + copy.chunk_id;
    sequence->next_position = sequence->last_position;
  }
  // Writers commit their chunks in order. A scraper passes one chunk after the
  // other: it may see a chunk that was begun after it, and miss the one before
  // that.
  sequence->has_begun |= !copy.is_scraped || copy.chunk_id == 0;

  const uint64_t position = sequence->PositionOf(copy.chunk_id);
  const Fragments fragments = FindFragments(copy);
  const uint64_t num_begun =
      fragments.num_begun +
      (!copy.is_complete && copy.open_packet == OpenPacket::kOne);
  // Most chunks come in order. A look at the last one is enough for them, while
  // the way down a large map misses the caches.
  ChunkMap& chunks = sequence->chunks;
  const bool is_behind =
      chunks.empty() || std::prev(chunks.end())->first < position;
  Arrival arrival = {
      copy,      sequence,
      position,  fragments.size,
      num_begun, is_behind ? chunks.end() : chunks.lower_bound(position)};
  switch (sequence->StateOf(position, arrival.place)) {
    case Sequence::ChunkState::kNew:
    case Sequence::ChunkState::kGone:
      StoreNew(&arrival);
      break;
    case Sequence::ChunkState::kHeld:
      if (HasMore(*arrival.place->second, copy))
        StoreInPlaceOfOld(arrival);
      break;
    case Sequence::ChunkState::kGoneAndPassed:
      last_overwritten_ms_ = std::max(last_overwritten_ms_, copy.time_ms);
      sequence->ledger.Update(num_begun, copy.is_complete,
                              &sequence->gone.find(position)->second);
      break;
    case Sequence::ChunkState::kHole:
      last_overwritten_ms_ = std::max(last_overwritten_ms_, copy.time_ms);
      NoteGone(&*sequence, position, copy.is_complete,
               sequence->ledger.LoseChunk(num_begun, 0, ReasonOfNoRoom(), 0));
      break;
    case Sequence::ChunkState::kRead:
    case Sequence::ChunkState::kRefused:
      break;
  }
}

bool TraceBuffer::HasMore(const Chunk& old, const ChunkCopy& copy) {
  if (old.num_packets > copy.num_packets ||
      (old.continues_from_previous && !copy.continues_from_previous) ||
      (old.continues_on_next && !copy.continues_on_next) ||
      (old.had_to_be_patched && !copy.needs_patching)) {
    ++stats_.abi_violations;
    return false;
  }
  // Only a chunk that was copied too early can have more now.
  return !old.is_complete &&
         (copy.is_complete || old.num_packets != copy.num_packets ||
          old.open_packet != copy.open_packet);
}

void TraceBuffer::StoreNew(Arrival* arrival) {
  Sequence& sequence = *arrival->sequence;
  const uint64_t position = arrival->position;
  if (!sequence.has_read)
    sequence.next_position = std::min(sequence.next_position, position);
  // Takes all memory before it changes anything else.
  ChunkList added;
  const bool has_memory = RunsInMemory([&] {
    AddMemory(arrival->size, &added);
    arrival->place =
        sequence.chunks.emplace_hint(arrival->place, position, added.begin());
  });
  stats_.chunks_committed_out_of_order += position < sequence.last_position;
  sequence.last_position = std::max(sequence.last_position, position);
  uint64_t settled = 0;
  const auto gone = sequence.gone.find(position);
  if (gone != sequence.gone.end()) {
    settled = sequence.ledger.TakeBack(gone->second, arrival->num_begun);
    sequence.gone.erase(gone);
  }
  if (has_memory)
    StoreOrLose(*arrival, settled, &added);
  else
    LoseArrival(*arrival, settled, LossReason::kOutOfMemory);
}

void TraceBuffer::StoreInPlaceOfOld(const Arrival& arrival) {
  Sequence& sequence = *arrival.sequence;
  Chunk& old = *arrival.place->second;
  CloneFirst(&old);
  // If there is no memory for the new copy, or no room, the old one stays.
  ChunkList added;
  if (!RunsInMemory([&] { AddMemory(arrival.size, &added); })) {
    ++stats_.unknown_losses;
    CountDiscarded(arrival);
    return;
  }
  if (policy_ == Policy::kDiscard &&
      used_bytes_ - old.charge() + arrival.charge() > size_) {
    sequence.ledger.Refuse(arrival.num_begun, arrival.copy.is_complete,
                           &old.account);
    CountDiscarded(arrival);
    return;
  }
  const uint64_t settled =
      sequence.ledger.TakeBack(old.account, arrival.num_begun);
  ++stats_.chunks_rewritten;
  --stats_.chunks_written;
  --sequence.chunks_written;
  stats_.bytes_written -= old.written_bytes();
  sequence.bytes_written -= old.written_bytes();
  used_bytes_ -= old.charge();
  EraseFromOrder(arrival.place->second);
  StoreOrLose(arrival, settled, &added);
}

void TraceBuffer::AddMemory(size_t size, ChunkList* added) {
  Chunk& chunk = added->emplace_back();
  chunk.memory.reset(new uint8_t[size + Run::kPadding]);
  memset(chunk.memory.get() + size, 0, Run::kPadding);
}

void TraceBuffer::StoreOrLose(const Arrival& arrival,
                              uint64_t settled,
                              ChunkList* added) {
  Sequence& sequence = *arrival.sequence;
  if (!MakeRoom(arrival.charge())) {
    sequence.chunks.erase(arrival.place);
    LoseArrival(arrival, settled, LossReason::kDiscarded);
    return;
  }
  const ChunkCopy& copy = arrival.copy;
  Chunk& chunk = added->front();
  chunk.sequence = arrival.sequence;
  chunk.position = arrival.position;
  chunk.time_ms = copy.time_ms;
  std::copy_n(copy.payload.data(), arrival.size, chunk.memory.get());
  chunk.payload = ConstBytes(chunk.memory.get(), arrival.size);
  chunk.account = sequence.ledger.Store(arrival.num_begun, settled);
  chunk.num_packets = copy.num_packets;
  chunk.continues_from_previous = copy.continues_from_previous;
  chunk.continues_on_next = copy.continues_on_next;
  chunk.had_to_be_patched = copy.needs_patching;
  chunk.needs_patching = copy.needs_patching;
  chunk.is_complete = copy.is_complete;
  chunk.is_scraped = copy.is_scraped;
  chunk.open_packet = copy.open_packet;
  chunk.last_clone = num_clones_;
  if (sequence.has_read && arrival.position == sequence.next_position) {
    // The writer may have rewritten fragments that were read already.
    sequence.next_offset =
        FindFragments(chunk.payload, sequence.next_fragment, false, false).size;
  }
  used_bytes_ += chunk.charge();
  ++stats_.chunks_written;
  ++sequence.chunks_written;
  stats_.bytes_written += chunk.written_bytes();
  sequence.bytes_written += chunk.written_bytes();
  arrival.place->second = added->begin();
  chunks_.splice(chunks_.end(), *added);
}

void TraceBuffer::LoseArrival(const Arrival& arrival,
                              uint64_t settled,
                              LossReason reason) {
  Sequence& sequence = *arrival.sequence;
  const GoneAccount gone = sequence.ledger.LoseChunk(arrival.num_begun, settled,
                                                     reason, arrival.size);
  if (arrival.copy.is_scraped) {
    NoteGone(&sequence, arrival.position, arrival.copy.is_complete, gone);
  }
  CountDiscarded(arrival);
}

void TraceBuffer::CountDiscarded(const Arrival& arrival) {
  ++stats_.chunks_discarded;
  ++arrival.sequence->chunks_discarded;
  arrival.sequence->GiveUpUntil(arrival.position + 1);
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

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
