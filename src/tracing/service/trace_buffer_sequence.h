// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_TRACE_BUFFER_SEQUENCE_H_
#define SRC_TRACING_SERVICE_TRACE_BUFFER_SEQUENCE_H_

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <memory>

#include "src/tracing/service/trace_buffer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// What a TraceBuffer consists of; for trace_buffer.cc, which takes chunks, and
// trace_buffer_reading.cc, which gives out packets.

struct TraceBuffer::Chunk {
  size_t charge() const { return kChunkOverhead + payload.size; }
  size_t written_bytes() const {
    return sizeof(SharedMemoryABI::ChunkHeader) + payload.size;
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
  uint64_t num_left() const {
    return num_begun - std::min(num_begun, num_accounted);
  }
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

// What was scraped will be committed, too. If it is gone by then, its packets
// are accounted for. Of a chunk that was not complete, there may be more:
struct TraceBuffer::Gone {
  uint64_t num_begun = 0;
  uint64_t num_lost = 0;
  LossReason reason = LossReason::kUnknown;
};

// Positions, which come in rows.
class TraceBuffer::Ranges {
 public:
  // In any order: scraped chunks come in that of their pages.
  void Add(uint64_t begin, uint64_t end) {
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second >= begin)
      --it;
    else
      it = ranges_.emplace_hint(it, begin, end);
    it->second = std::max(it->second, end);
    for (auto next = std::next(it);
         next != ranges_.end() && next->first <= it->second;) {
      it->second = std::max(it->second, next->second);
      next = ranges_.erase(next);
    }
    if (ranges_.size() > kMaxRanges)
      ranges_.erase(ranges_.begin());
  }
  bool Contains(uint64_t position) const {
    const auto next = ranges_.upper_bound(position);
    return next != ranges_.begin() && position < std::prev(next)->second;
  }
  size_t size() const { return ranges_.size(); }

 private:
  // More than every second chunk of a memory of usual size, in the smallest
  // chunks there are.
  static constexpr size_t kMaxRanges = 2048;

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

  size_t charge() const {
    return kWriterOverhead +
           kRowOverhead * (gone.size() + refused.size() + holes.size());
  }

  ProducerIdentity producer;
  // Where its owner has it, and what that has been charged for it.
  std::list<SequenceList::iterator>::iterator place;
  size_t charged = 0;
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

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_TRACE_BUFFER_SEQUENCE_H_
