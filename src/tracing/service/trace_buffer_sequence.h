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
namespace service {

// The parts of a TraceBuffer. trace_buffer.cc, which takes chunks, and
// trace_buffer_reading.cc, which gives out packets, use them.

struct TraceBuffer::Chunk {
  size_t charge() const { return kChunkOverhead + payload.size; }
  size_t written_bytes() const {
    return sizeof(SharedMemoryABI::ChunkHeader) + payload.size;
  }

  SequenceList::iterator sequence;
  uint64_t position;
  std::unique_ptr<uint8_t[]> memory;
  // The used part of |memory|.
  ConstBytes payload;
  // The packets that begin in it, and those of them that were given out or
  // lost.
  uint64_t num_begun;
  uint64_t num_accounted;
  // The packets that a later copy had besides. There was no room for that copy,
  // so they are lost.
  uint64_t num_refused;
  uint64_t num_left() const {
    return num_begun - std::min(num_begun, num_accounted);
  }
  uint16_t num_packets;
  bool continues_from_previous;
  bool continues_on_next;
  // True if the chunk needed patching when it came.
  bool had_to_be_patched;
  bool needs_patching;
  bool is_complete;
  // True if the chunk has not been committed. It will be if its producer lives.
  bool is_scraped;
  OpenPacket open_packet;
};

// A scraped chunk that is gone. It will be committed, too. Its packets are
// accounted for by then, but if it was not complete, there may be more.
struct TraceBuffer::Gone {
  uint64_t num_begun = 0;
  uint64_t num_lost = 0;
  LossReason reason = LossReason::kUnknown;
};

// Ranges of positions.
class TraceBuffer::Ranges {
 public:
  // Adds a range. They come in any order: a scraper sees chunks in page order.
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
  // The most ranges: more than half of the chunks of a memory of usual size,
  // with the smallest chunks.
  static constexpr size_t kMaxRanges = 2048;

  // The end of each range, by its begin.
  std::map<uint64_t, uint64_t> ranges_;
};

// The packets of one writer.
struct TraceBuffer::Sequence {
  // Returns a position. Ids wrap around; positions do not.
  uint64_t PositionOf(ChunkID chunk_id) const {
    return static_cast<uint64_t>(
        static_cast<int64_t>(last_position) +
        static_cast<int32_t>(chunk_id - static_cast<ChunkID>(last_position)));
  }
  // Says that missing chunks before |position| will not come.
  void GiveUpUntil(uint64_t position) {
    lost_until = std::max(lost_until, position);
  }
  void GoTo(uint64_t position, uint16_t fragment, size_t offset) {
    has_begun = true;
    has_read = true;
    next_position = position;
    next_fragment = fragment;
    next_offset = offset;
  }
  void NoteLoss() {
    stats.losses += !lost_something;
    lost_something = true;
  }

  // Returns the statistics with the writer's reports. These add packets that
  // the writer lost before any part of them came. For packets whose beginning
  // came, the writer's reason replaces the one that was found here.
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

  // The most chunks in |gone|. A writer has one chunk that it writes to, and a
  // few others.
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
  // The place in its owner's list, and the bytes that the owner was charged for
  // it.
  std::list<SequenceList::iterator>::iterator place;
  size_t charged = 0;
  ChunkMap chunks;
  // The highest position so far. It is valid once there was a chunk.
  bool has_position = false;
  uint64_t last_position = 0;
  // True if it is known that no chunk comes before the first one that is here.
  bool has_begun = false;
  // The place where reading goes on, once it has begun. If the chunk is
  // replaced, the offset is computed again from the fragment.
  bool has_read = false;
  uint64_t next_position = 0;
  uint16_t next_fragment = 0;
  size_t next_offset = 0;
  uint64_t lost_until = 0;
  bool lost_something = false;
  bool has_ended = false;
  std::map<uint64_t, Gone> gone;
  // The complete chunks among those that are gone.
  Ranges refused;
  // The chunks that had not come when reading passed them.
  Ranges holes;
  // The writer's reports, and the number of those packets that began in a
  // chunk.
  PacketLosses reported;
  uint64_t reported_begun[kNumWriterLossReasons] = {};
  // The counts of this buffer, without the reports.
  TraceWriterStats stats;
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_TRACE_BUFFER_SEQUENCE_H_
