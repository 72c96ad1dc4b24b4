// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <vector>

#include "src/tracing/service/trace_buffer.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

bool TraceBuffer::ReadPackets(size_t max_bytes,
                              bool is_final,
                              const OnPacket& on_packet,
                              const OnRun& on_run) {
  size_t bytes = 0;
  for (auto it = sequences_.begin(); it != sequences_.end();) {
    Sequence& sequence = *it;
    const bool gives_up = is_final || sequence.has_ended;
    ConstBytes packet;
    ReadResult result = ReadResult::kNoPacket;
    while ((result = ReadNext(&sequence, gives_up, on_run, &bytes, &packet)) !=
           ReadResult::kWaits) {
      if (result == ReadResult::kPacket)
        bytes += GiveOut(&sequence, packet, on_packet);
      if (bytes >= max_bytes) {
        // Next time the other writers come first, however fast this one writes.
        sequences_.splice(sequences_.end(), sequences_, it);
        Charge(&sequence, sequence.charge());
        return true;
      }
    }
    Charge(&sequence, sequence.charge());
    EraseIfDone(it++);
  }
  // Swapping frees the memory of a large packet.
  std::vector<uint8_t>().swap(packet_);
  return false;
}

TraceBuffer::ReadResult TraceBuffer::ReadNext(Sequence* sequence,
                                              bool gives_up,
                                              const OnRun& on_run,
                                              size_t* bytes,
                                              ConstBytes* packet) {
  if (!sequence->has_begun && !gives_up)
    return ReadResult::kWaits;
  const auto first = sequence->chunks.begin();
  if (first == sequence->chunks.end() ||
      first->first != sequence->next_position) {
    return PassHole(sequence, gives_up);
  }
  CloneFirst(&*first->second);
  if (sequence->next_fragment >= first->second->num_packets)
    return PassEndOfChunk(sequence, gives_up);
  if (on_run != nullptr) {
    const size_t run_bytes = ReadRun(sequence, on_run);
    *bytes += run_bytes;
    if (run_bytes != 0)
      return ReadResult::kRun;
  }
  return PassFragment(sequence, gives_up, packet);
}

size_t TraceBuffer::ReadRun(Sequence* sequence, const OnRun& on_run) {
  Chunk& chunk = *sequence->chunks.begin()->second;
  const uint16_t index = sequence->next_fragment;
  // The last packet may go on elsewhere.
  const uint16_t end = static_cast<uint16_t>(
      chunk.num_packets - (chunk.needs_patching || chunk.continues_on_next));
  if (index >= end || (index == 0 && chunk.continues_from_previous) ||
      sequence->sequence_id == 0 || sequence->ledger.has_gap() ||
      !sequence->beginning.is_passed) {
    return 0;
  }
  const size_t offset = sequence->next_offset;
  const RunPart part = on_run(
      {ConstBytes(chunk.payload.data + offset, chunk.payload.size - offset),
       size_t{end} - index, sequence->producer, sequence->sequence_id,
       sequence->lacks_state});
  if (part.packets == 0)
    return 0;
  sequence->ledger.GiveOut(&chunk.account, part.packets);
  sequence->ledger.Receive(part.packets);
  sequence->GoTo(sequence->next_position,
                 static_cast<uint16_t>(index + part.packets),
                 offset + part.bytes);
  return part.bytes;
}

size_t TraceBuffer::GiveOut(Sequence* sequence,
                            ConstBytes packet,
                            const OnPacket& on_packet) {
  LossReason why_lost = LossReason::kInvalid;
  SequenceBeginning& beginning = sequence->beginning;
  const FragmentPlace end = {sequence->next_position, sequence->next_fragment};
  bool is_left_out = false;
  if (on_packet({packet, sequence->producer, &sequence->sequence_id,
                 sequence->writer_id, sequence->ledger.has_gap(),
                 &sequence->lacks_state, &why_lost,
                 beginning.is_passed ? nullptr : &beginning,
                 end <= beginning.place, &is_left_out})) {
    sequence->ledger.Receive();
    return packet.size;
  }
  if (is_left_out) {
    sequence->ledger.Withdraw();
    return packet.size;
  }
  sequence->ledger.LoseGivenOut(why_lost, packet.size);
  return 0;
}

TraceBuffer::ReadResult TraceBuffer::PassHole(Sequence* sequence,
                                              bool gives_up) {
  const auto first = sequence->chunks.begin();
  const bool has_chunk = first != sequence->chunks.end();
  const uint64_t position = sequence->next_position;
  uint64_t next_position = position;
  if (has_chunk && gives_up) {
    next_position = first->first;
  } else if (position < sequence->lost_until) {
    next_position = has_chunk ? std::min(first->first, sequence->lost_until)
                              : sequence->lost_until;
  }
  if (next_position == position)
    return ReadResult::kWaits;
  sequence->ledger.MarkGap();
  // It is unknown which packets were in chunks that never came.
  stats_.unknown_losses += next_position > sequence->lost_until;
  // If there is no memory, packets that come from there later are not counted.
  if (!RunsInMemory([&] { sequence->holes.Add(position, next_position); }))
    ++stats_.unknown_losses;
  sequence->GoTo(next_position, 0, 0);
  return ReadResult::kNoPacket;
}

TraceBuffer::ReadResult TraceBuffer::PassEndOfChunk(Sequence* sequence,
                                                    bool gives_up) {
  const auto first = sequence->chunks.begin();
  const Chunk& chunk = *first->second;
  const uint64_t position = sequence->next_position;
  const bool is_given_up = position < sequence->lost_until;
  if (!chunk.is_complete) {
    if (!gives_up && !is_given_up)
      return ReadResult::kWaits;
    // If a writer goes on when its session ends, it loses nothing here.
    const bool is_unknown =
        chunk.open_packet == OpenPacket::kUnknown &&
        (sequence->has_ended || sequence->chunks.size() != 1);
    if (is_given_up || is_unknown || chunk.open_packet == OpenPacket::kOne)
      sequence->ledger.MarkGap();
    stats_.unknown_losses += is_unknown && !is_given_up;
  }
  CloseChunk(chunk, is_given_up ? ReasonOfNoRoom() : LossReason::kIncomplete);
  RemoveReadChunk(first);
  sequence->GoTo(position + 1, 0, 0);
  return ReadResult::kNoPacket;
}

TraceBuffer::ReadResult TraceBuffer::PassFragment(Sequence* sequence,
                                                  bool gives_up,
                                                  ConstBytes* packet) {
  Chunk& chunk = *sequence->chunks.begin()->second;
  const uint16_t index = sequence->next_fragment;
  const bool begins = index != 0 || !chunk.continues_from_previous;
  size_t offset = sequence->next_offset;
  ConstBytes fragment;
  switch (ReadFragment(chunk.payload, &offset, &fragment)) {
    case FragmentKind::kPacket:
      break;
    case FragmentKind::kDropMarker:
      // Other writers report this loss themselves.
      if (begins && !sequence->producer.reports_losses)
        sequence->ledger.LoseUnreported();
      return PassRestOfChunk(sequence);
    case FragmentKind::kCorrupt:
      ++stats_.abi_violations;
      ++stats_.unknown_losses;
      return PassRestOfChunk(sequence);
  }
  if (!begins) {
    // If the beginning was lost, so is the rest.
    sequence->ledger.MarkGap();
    sequence->GoTo(sequence->next_position, static_cast<uint16_t>(index + 1),
                   offset);
    return ReadResult::kNoPacket;
  }
  const bool is_last = index + 1 == chunk.num_packets;
  if (is_last && (chunk.needs_patching || chunk.continues_on_next))
    return PassUnfinishedPacket(sequence, fragment, offset, gives_up, packet);
  sequence->GoTo(sequence->next_position, static_cast<uint16_t>(index + 1),
                 offset);
  // Empty packets do not count.
  if (fragment.size == 0)
    return ReadResult::kNoPacket;
  sequence->ledger.GiveOut(&chunk.account);
  *packet = fragment;
  return ReadResult::kPacket;
}

TraceBuffer::ReadResult TraceBuffer::PassRestOfChunk(Sequence* sequence) {
  sequence->ledger.MarkGap();
  sequence->GoTo(sequence->next_position,
                 sequence->chunks.begin()->second->num_packets, 0);
  return ReadResult::kNoPacket;
}

TraceBuffer::ReadResult TraceBuffer::PassUnfinishedPacket(Sequence* sequence,
                                                          ConstBytes head,
                                                          size_t end_of_head,
                                                          bool gives_up,
                                                          ConstBytes* packet) {
  Chunk& chunk = *sequence->chunks.begin()->second;
  LossReason why_torn = LossReason::kIncomplete;
  ReadAheadResult result =
      gives_up ? ReadAheadResult::kTorn : ReadAheadResult::kWaits;
  if (!chunk.needs_patching) {
    // ReadAhead() changes nothing before it has the memory for the packet.
    if (!RunsInMemory(
            [&] { result = ReadAhead(sequence, head, gives_up, &why_torn); })) {
      result = ReadAheadResult::kTorn;
      why_torn = LossReason::kOutOfMemory;
    }
    stats_.readaheads_succeeded += result == ReadAheadResult::kWhole;
    stats_.readaheads_failed += result == ReadAheadResult::kTorn;
  }
  switch (result) {
    case ReadAheadResult::kWaits:
      return ReadResult::kWaits;
    case ReadAheadResult::kWhole:
      if (packet_.empty()) {
        sequence->ledger.Withdraw();
        return ReadResult::kNoPacket;
      }
      *packet = ConstBytes(packet_);
      return ReadResult::kPacket;
    case ReadAheadResult::kTorn:
      if (head.size != 0 || chunk.continues_on_next)
        sequence->ledger.LosePacket(why_torn, head.size, &chunk.account);
      sequence->ledger.MarkGap();
      sequence->GoTo(sequence->next_position, chunk.num_packets, end_of_head);
      break;
  }
  return ReadResult::kNoPacket;
}

TraceBuffer::ReadAheadResult TraceBuffer::ReadAhead(Sequence* sequence,
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
  auto it = sequence->chunks.begin();
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
    ConstBytes fragment;
    switch (ReadFragment(chunk.payload, &offset, &fragment)) {
      case FragmentKind::kPacket:
        break;
      case FragmentKind::kDropMarker:
        return torn_by(LossReason::kUnknown);
      case FragmentKind::kCorrupt:
        return ReadAheadResult::kTorn;
    }
    if (fragment.size > kMaxPacketSize - size)
      return torn_by(LossReason::kTooLarge);
    const bool is_last = chunk.num_packets == 1;
    if (is_last && chunk.needs_patching)
      return missing;
    fragments_.push_back(fragment);
    size += fragment.size;
    if (!is_last || !chunk.continues_on_next) {
      AssemblePacket(size);
      PassChunksUntil(sequence, it);
      sequence->GoTo(position, 1, offset);
      return ReadAheadResult::kWhole;
    }
  }
}

void TraceBuffer::AssemblePacket(size_t size) {
  packet_.clear();
  packet_.reserve(size);
  for (const ConstBytes& fragment : fragments_)
    packet_.insert(packet_.end(), fragment.data, fragment.data + fragment.size);
}

void TraceBuffer::PassChunksUntil(Sequence* sequence, ChunkMap::iterator end) {
  sequence->ledger.GiveOut(&sequence->chunks.begin()->second->account);
  while (sequence->chunks.begin() != end) {
    const auto read = sequence->chunks.begin();
    CloseChunk(*read->second, LossReason::kIncomplete);
    RemoveReadChunk(read);
  }
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
