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

#include "protozero/const_bytes.h"
#include "protozero/tracing/trace_stats.h"
#include "protozero/tracing/types.h"
#include "src/tracing/service/packet_ledger.h"
#include "src/tracing/shared_memory/chunk_reader.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

// The parts of a TraceBuffer: its chunks, and the writers that they are of.

struct ProducerIdentity {
  ProducerID id;
  int32_t uid;
  int32_t pid;
  // True if its writers report what they lose, as TraceWriter does.
  bool reports_losses = true;
  // The same as in TracingService::ProducerInfo.
  int64_t clock_ahead_ns = 0;
};

// A place between fragments of a writer, by the position of their chunk.
struct FragmentPlace {
  friend bool operator<=(const FragmentPlace& a, const FragmentPlace& b) {
    return a.position < b.position ||
           (a.position == b.position && a.fragment <= b.fragment);
  }

  uint64_t position = 0;
  uint16_t fragment = 0;
};

// The state of a writer's packets before the beginning of a trace. See
// TraceBeginning.
struct SequenceBeginning {
  // False if the next packet may be from before it.
  bool is_passed = true;
  // The end of packets that are from before it, whatever their time.
  FragmentPlace place;
  // The clock of timestamps without a clock, and the one whose timestamps are
  // differences; 0 if there is none.
  uint32_t default_clock = 0;
  uint32_t incremental_clock = 0;
  // The time of that clock in nanoseconds, 0 if it is unknown, and the
  // differences since the last packet that the trace has.
  uint64_t time_ns = 0;
  uint64_t ticks_left_out = 0;
};

struct BufferedChunk;
struct BufferedSequence;
using ChunkList = std::list<BufferedChunk>;
using SequenceList = std::list<BufferedSequence>;
// The chunks by chunk id, without wrapping around.
using ChunkMap = std::map<uint64_t, ChunkList::iterator>;

// The properties of a chunk that a clone of it has, too.
struct BufferedChunkProperties {
  uint64_t position;
  // The time when it came.
  uint64_t time_ms;
  ChunkAccount account;
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

struct BufferedChunk : BufferedChunkProperties {
  // The approximate memory of a chunk besides its payload.
  static constexpr size_t kOverhead = 288;

  size_t charge() const { return kOverhead + payload.size; }
  size_t written_bytes() const {
    return sizeof(SharedMemoryABI::ChunkHeader) + payload.size;
  }

  SequenceList::iterator sequence;
  std::unique_ptr<uint8_t[]> memory;
  // The used part of |memory|.
  ConstBytes payload;
  // The last clone that has it, or that had begun when it came.
  uint64_t last_clone;
};

// A copy of a chunk that has just come, and its place in the buffer.
struct ChunkArrival {
  size_t charge() const { return BufferedChunk::kOverhead + size; }

  const ChunkCopy& copy;
  SequenceList::iterator sequence;
  uint64_t position;
  // The bytes of its fragments, and the packets that begin in them.
  size_t size;
  uint64_t num_begun;
  // The first chunk at |position| or after it.
  ChunkMap::iterator place;
};

// Ranges of positions.
class ChunkRanges {
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
  // The most ranges: more than half of the chunks of a memory of usual size, in
  // which each has a page.
  static constexpr size_t kMaxRanges = 2048;

  // The end of each range, by its beginning.
  std::map<uint64_t, uint64_t> ranges_;
};

// The state of one writer without its chunks: what its clone has, too.
struct BufferedSequenceState {
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

  TraceWriterStats Stats() const {
    const PacketSums sums = ledger.Sums();
    TraceWriterStats stats;
    stats.producer_id = producer.id;
    stats.writer_id = writer_id;
    stats.sequence_id = sequence_id;
    stats.chunks_written = chunks_written;
    stats.chunks_overwritten = chunks_overwritten;
    stats.chunks_discarded = chunks_discarded;
    stats.bytes_written = bytes_written;
    stats.packets_written = sums.written;
    stats.packets_begun = sums.begun;
    stats.packets_read = sums.received;
    stats.lost = sums.lost;
    stats.patches_succeeded = patches_succeeded;
    stats.patches_failed = patches_failed;
    stats.losses = ledger.num_gaps();
    return stats;
  }

  ProducerIdentity producer;
  WriterID writer_id = 0;
  // The id in its packets; 0 if none has been read yet.
  uint32_t sequence_id = 0;
  // See TraceBuffer::Packet::lacks_state.
  bool lacks_state = false;
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
  bool has_ended = false;
  // The end of what the clones that follow each other have of it.
  FragmentPlace cloned_until;
  SequenceBeginning beginning;
  PacketLedger ledger;
  // The same as in TraceWriterStats.
  uint64_t chunks_written = 0;
  uint64_t chunks_overwritten = 0;
  uint64_t chunks_discarded = 0;
  uint64_t bytes_written = 0;
  uint64_t patches_succeeded = 0;
  uint64_t patches_failed = 0;
};

// The chunks and packets of one writer.
struct BufferedSequence : BufferedSequenceState {
  // The approximate memory of a writer until it has ended and its chunks are
  // gone, and of each range of chunks that a writer lost instead of committing
  // it.
  static constexpr size_t kOverhead = 1024;
  static constexpr size_t kRowOverhead = 96;

  // The fate of a chunk's earlier copies, when another copy comes.
  enum class ChunkState {
    // No copy has come, and reading has not passed the chunk.
    kNew,
    // A copy is in the buffer.
    kHeld,
    // A copy was lost. Reading has not passed the chunk, so another copy may
    // take its place.
    kGone,
    // A copy was lost, and reading has passed the chunk.
    kGoneAndPassed,
    // No copy had come when reading passed the chunk.
    kHole,
    // A copy was read to its end, or it is forgotten what became of it.
    kRead,
    // A complete copy was lost. Another copy has nothing new.
    kRefused,
  };
  // Returns the state of the chunk. |first| is the first chunk in the buffer at
  // |position| or after it.
  ChunkState StateOf(uint64_t position, ChunkMap::const_iterator first) const {
    if (refused.Contains(position))
      return ChunkState::kRefused;
    const bool is_gone = gone.count(position) != 0;
    if (has_read && position < next_position) {
      return is_gone                    ? ChunkState::kGoneAndPassed
             : holes.Contains(position) ? ChunkState::kHole
                                        : ChunkState::kRead;
    }
    if (is_gone)
      return ChunkState::kGone;
    return first != chunks.end() && first->first == position ? ChunkState::kHeld
                                                             : ChunkState::kNew;
  }

  // The most chunks in |gone|. A writer has one chunk that it writes to, and a
  // few others.
  static constexpr size_t kMaxGone = 16;
  void NoteGone(uint64_t position, bool is_complete, const GoneAccount& chunk) {
    if (is_complete) {
      refused.Add(position, position + 1);
      return;
    }
    gone[position] = chunk;
    if (gone.size() > kMaxGone)
      gone.erase(gone.begin());
  }

  size_t charge() const {
    return kOverhead +
           kRowOverhead * (gone.size() + refused.size() + holes.size());
  }

  // Returns the position of the first chunk that a clone keeps.
  uint64_t first_to_keep() const {
    return last_beginning == 0 || first_wanted == UINT64_MAX
               ? first_wanted
               : std::min(first_wanted, last_beginning);
  }

  // The place in its owner's list, and the bytes that the owner was charged for
  // it.
  std::list<SequenceList::iterator>::iterator place;
  size_t charged = 0;
  ChunkMap chunks;
  // The scraped chunks that are gone and were not complete. They will be
  // committed, and may have more packets then.
  std::map<uint64_t, GoneAccount> gone;
  // The scraped chunks that are gone and were complete.
  ChunkRanges refused;
  // The chunks that had not come when reading passed them.
  ChunkRanges holes;
  // Its clone in the copy of the buffer that is being made, if the writer was
  // there when that began, and the end of what it had then. A clone has that
  // end, too.
  SequenceList::iterator clone;
  FragmentPlace clone_end;
  // Positions in a clone that lacks early chunks: of the first chunk that is
  // wanted, and of the last one before it that starts over, 0 if there is none.
  uint64_t first_wanted = UINT64_MAX;
  uint64_t last_beginning = 0;
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_TRACE_BUFFER_SEQUENCE_H_
