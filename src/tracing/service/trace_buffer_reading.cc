// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <vector>

#include "src/tracing/service/trace_buffer.h"
#include "src/tracing/service/trace_buffer_sequence.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

bool TraceBuffer::ReadPackets(size_t max_bytes,
                              bool is_final,
                              const OnPacket& on_packet) {
  size_t bytes = 0;
  LossReason why_lost = LossReason::kInvalid;
  for (auto it = sequences_.begin(); it != sequences_.end();) {
    Sequence& sequence = *it;
    const bool gives_up = is_final || sequence.has_ended;
    ConstBytes packet;
    while (ReadNextPacket(&sequence, gives_up, &packet)) {
      const bool lost_something = sequence.lost_something;
      sequence.lost_something = false;
      if (on_packet({packet, sequence.producer, &sequence.stats.sequence_id,
                     sequence.stats.writer_id, lost_something, &why_lost})) {
        ++sequence.stats.packets_read;
        bytes += packet.size;
      } else {
        sequence.stats.lost.Add(why_lost, 1, packet.size);
        why_lost = LossReason::kInvalid;
        sequence.lost_something = lost_something;
        sequence.NoteLoss();
      }
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
      // This is a hole or the end.
      uint64_t next_position = position;
      if (has_chunk && gives_up)
        next_position = it->first;
      else if (position < sequence->lost_until)
        next_position = has_chunk ? std::min(it->first, sequence->lost_until)
                                  : sequence->lost_until;
      if (next_position == position)
        return false;
      sequence->NoteLoss();
      // It is unknown which packets were in chunks that never came.
      stats_.unknown_losses += next_position > sequence->lost_until;
      // If there is no memory, packets that come from there later are not
      // counted.
      if (!RunsInMemory([&] { sequence->holes.Add(position, next_position); }))
        ++stats_.unknown_losses;
      sequence->GoTo(next_position, 0, 0);
      continue;
    }

    Chunk& chunk = *it->second;
    if (sequence->next_fragment >= chunk.num_packets) {
      const bool is_given_up = position < sequence->lost_until;
      if (!chunk.is_complete) {
        if (!gives_up && !is_given_up)
          return false;
        // If a writer goes on when its session ends, it loses nothing here.
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

    const uint16_t fragment_idx = sequence->next_fragment;
    size_t offset = sequence->next_offset;
    ConstBytes fragment;
    const FragmentKind kind = ReadFragment(chunk.payload, &offset, &fragment);
    const bool begins = fragment_idx != 0 || !chunk.continues_from_previous;
    if (kind == FragmentKind::kDropMarker) {
      sequence->NoteLoss();
      // Other writers report this loss themselves.
      if (begins && !sequence->producer.reports_losses) {
        ++sequence->stats.packets_written;
        sequence->stats.lost.Add(LossReason::kUnknown, 1);
      }
      sequence->GoTo(position, chunk.num_packets, 0);
      continue;
    }
    if (kind == FragmentKind::kCorrupt) {
      ++stats_.abi_violations;
      ++stats_.unknown_losses;
      sequence->NoteLoss();
      sequence->GoTo(position, chunk.num_packets, 0);
      continue;
    }
    const uint16_t next_fragment = static_cast<uint16_t>(fragment_idx + 1);
    const bool is_last = next_fragment == chunk.num_packets;
    const bool goes_on = is_last && chunk.continues_on_next;
    const auto lose = [&](LossReason why) {
      if (fragment.size != 0 || goes_on) {
        ++chunk.num_accounted;
        sequence->stats.lost.Add(why, 1, fragment.size);
      }
      sequence->NoteLoss();
      sequence->GoTo(position, next_fragment, offset);
    };
    if (!begins) {
      // If the beginning was lost, so is the rest.
      sequence->NoteLoss();
      sequence->GoTo(position, next_fragment, offset);
      continue;
    }
    if (is_last && chunk.needs_patching) {
      if (!gives_up)
        return false;
      lose(LossReason::kIncomplete);
      continue;
    }
    if (!goes_on) {
      sequence->GoTo(position, next_fragment, offset);
      // Empty packets do not count.
      if (fragment.size == 0)
        continue;
      ++chunk.num_accounted;
      *packet = fragment;
      return true;
    }
    LossReason reason = LossReason::kOutOfMemory;
    ReadAheadResult result = ReadAheadResult::kTorn;
    // ReadAhead() changes nothing before it has the memory for the packet.
    if (!RunsInMemory([&] {
          result = ReadAhead(sequence, it, fragment, gives_up, &reason);
        })) {
      reason = LossReason::kOutOfMemory;
    }
    switch (result) {
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
    if (is_last && chunk.continues_on_next)
      continue;

    packet_.clear();
    packet_.reserve(size);
    for (const ConstBytes& part : fragments_)
      packet_.insert(packet_.end(), part.data, part.data + part.size);
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

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
