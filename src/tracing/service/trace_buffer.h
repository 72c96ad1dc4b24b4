// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_TRACE_BUFFER_H_
#define SRC_TRACING_SERVICE_TRACE_BUFFER_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/trace_stats.h"
#include "protozero/tracing/types.h"
#include "src/tracing/service/packet_ledger.h"
#include "src/tracing/service/trace_buffer_sequence.h"
#include "src/tracing/shared_memory/chunk_reader.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

// Keeps the chunks of any number of writers until their packets are read, up to
// a number of bytes. Beyond that, it loses the oldest chunks, or the new ones.
//
// Whatever the chunks hold, and in whatever order they come, the buffer gives
// out whole packets as their writer has committed them, in the order of the
// writer's chunks:
//
//   chunks of a sequence, by id     5    6    7         9
//                                 +----+----+----+    +----+
//                                 |####|## ·|    |    |    |
//                                 +----+----+----+    +----+
//                                        ^ next_fragment     a hole: 8
//
// Reading begins where the start is known: with chunk 0, or with a chunk that
// was committed. It stops at a hole, at the end of a chunk that was copied
// before it was complete, and at the last fragment of a chunk that needs
// patching, because what is missing may still come. (Only the last fragment
// can need a patch: messages are patched if they go on in the next chunk.)
// Reading passes what can no longer come, because it was overwritten or because
// the writer is gone; the next packet then says that something was lost. The
// fragments of a packet stay in their chunks until all of them are here, so
// that there is no other place that could fill up.
//
// Each packet that begins in one of the chunks is accounted for once: it is
// given out, or lost for one LossReason. The PacketLedger of its writer does
// so.
//
// Data for which there is no memory is lost (kOutOfMemory), or counts as an
// unknown loss if the memory was for remembering what was counted before. When
// an allocation fails, nothing else happens: only AppendWriterStats() throws.
//
// One thread at a time.
class TraceBuffer {
 public:
  static constexpr size_t kMaxPacketSize = TracingLimits::kMaxPacketSize;
  // The approximate memory of a chunk besides its payload, and of a writer.
  static constexpr size_t kChunkOverhead = BufferedChunk::kOverhead;
  static constexpr size_t kWriterOverhead = BufferedSequence::kOverhead;
  // The least memory for all writers, besides the size of the buffer: it is a
  // fourth of that size, but at least what 1,024 writers need.
  static constexpr size_t kMinWriterBytes = 1024 * kWriterOverhead;
  // The number of ended writers that the statistics remember.
  static constexpr size_t kMaxEndedWriters = 256;

  using Policy = BufferFillPolicy;

  using ProducerIdentity = service::ProducerIdentity;

  struct Packet {
    ConstBytes bytes;
    ProducerIdentity producer;
    // The id that all packets of a writer share. The reader sets it if it is 0.
    uint32_t* sequence_id;
    WriterID writer_id;
    // True if something was lost between this packet and the one before it.
    bool previous_packet_dropped;
    // True if an earlier chunk of the writer was overwritten. The reader sets
    // it to false with a packet that refers to no earlier one.
    bool* lacks_state;
    // The reason if the packet is lost. The reader sets it if it is another one
    // than kInvalid.
    LossReason* why_lost;
    // The state of the writer's packets before the beginning of the trace, null
    // if that has passed, and true if the packet is before SequenceBeginning's
    // place.
    SequenceBeginning* beginning;
    bool is_before_place;
    // The reader sets it for a packet that is no part of the trace.
    bool* is_left_out;
  };
  // Takes a packet. Returns false if it is left out, or else lost, for
  // Packet::why_lost.
  using OnPacket = std::function<bool(const Packet& packet)>;

  // Packets of a writer that follow each other in a chunk. Each begins and ends
  // there, and nothing was lost before it.
  struct Run {
    // The bytes after |fragments| that can be read, so that a loop over short
    // packets needs fewer checks.
    static constexpr size_t kPadding = 80;

    // The packets as fragments. No length has been checked.
    ConstBytes fragments;
    size_t max_packets;
    const ProducerIdentity& producer;
    // The same as in Packet, but not 0.
    uint32_t sequence_id;
    bool lacks_state;
  };
  // The first packets of a run, and the bytes of their fragments.
  struct RunPart {
    uint16_t packets = 0;
    size_t bytes = 0;
  };
  // Takes the first packets of a run, or none. OnPacket gets the next one.
  using OnRun = std::function<RunPart(const Run& run)>;

  TraceBuffer(size_t size, Policy policy);
  ~TraceBuffer();

  // Gives a copy of everything that comes into this buffer to |follower|, too;
  // null for no longer. What it reads or loses changes nothing here. It has to
  // outlive this, or the next call.
  void SetFollower(TraceBuffer* follower) { follower_ = follower; }

  TraceBuffer(const TraceBuffer&) = delete;
  TraceBuffer& operator=(const TraceBuffer&) = delete;

  // Takes a chunk, or a later copy of one that was not complete.
  void AddChunk(const ProducerIdentity& producer, const ChunkCopy& copy);
  void PatchChunk(ProducerID producer_id,
                  const CommitDataRequest::ChunkToPatch& patches);

  // Say that the writer, or all of the producer's, has ended. A later chunk of
  // the same id belongs to another writer.
  void EndWriter(ProducerID producer_id, WriterID writer_id);
  void EndProducer(ProducerID producer_id);

  // Takes a writer's report of packets that will not come, or not in whole.
  void ReportLosses(const ProducerIdentity& producer,
                    const CommitDataRequest::WriterLosses& losses);
  // Says that something was lost, and it is unknown how much.
  void ReportUnknownLoss();
  // Counts the same for a loss that a packet has shown, which a follower sees
  // for itself.
  void CountUnknownLoss() { ++stats_.unknown_losses; }

  // Gives out packets, and forgets them. If it has given out |max_bytes| or
  // more, returns true: there may be more. With |is_final|, does not wait for
  // missing parts that may still come. Offers packets to |on_run|, if that is
  // not null, before |on_packet|.
  bool ReadPackets(size_t max_bytes,
                   bool is_final,
                   const OnPacket& on_packet,
                   const OnRun& on_run = nullptr);

  // Forgets the chunks that came before that time, except for those that say
  // what later packets refer to. What was overwritten before that is forgotten,
  // too: it counts neither as written nor as lost.
  void ForgetBefore(uint64_t time_ms);
  // Returns the time when the oldest chunk came, if an earlier one has been
  // overwritten; otherwise 0.
  uint64_t OldestTime() const;

  // The part of the buffer that a clone has.
  struct CloneRange {
    // The clone lacks the chunks that ForgetBefore(begin_ms) would forget.
    uint64_t begin_ms = 0;
    // True for a clone in a row of those that follow each other: it lacks
    // packets that its writers have not finished, and the next one has them.
    bool is_next = false;
    // True if it has the chunks of packets that the last one in the row lacks,
    // instead of those that came since |begin_ms|, when that one began.
    bool begins_at_last = false;
  };
  // Begins a copy of what the buffer holds now: |clone|, which is new and of
  // the same size and policy. Copies the writers at once, and chunks in
  // CloneSome(). Until
  // EndClone(), a chunk is copied before it changes, is read, or is lost. So a
  // call that adds a chunk copies as much as it loses, and the clone has what
  // there was when this was called. Throws std::bad_alloc if there is no memory
  // for the writers.
  void BeginClone(const CloneRange& range, TraceBuffer* clone);
  // Copies chunks until |max_bytes| are reached. Returns true if there are
  // more.
  bool CloneSome(size_t max_bytes);
  // Ends the copy. Returns whether the clone has everything: there may have
  // been no memory.
  bool EndClone();
  // Has the next clone in a row begin where the last one ends.
  void MarkCloned();

  TraceBufferStats stats() const;
  // Appends one entry for each writer.
  void AppendWriterStats(std::vector<TraceWriterStats>* stats) const;
  uint64_t bytes_read() const { return stats_.bytes_read; }
  uint64_t bytes_written() const { return stats_.bytes_written; }
  // Returns the size of a ring buffer, 0 for one that discards.
  size_t ring_size() const {
    return policy_ == Policy::kRingBuffer ? size_ : 0;
  }
  // Returns the bytes of the buffer's size that are in use.
  size_t used_bytes() const { return used_bytes_; }
  // Return the memory that its writers take besides, and its limit.
  size_t writer_bytes() const { return writer_bytes_; }
  size_t max_writer_bytes() const { return max_writer_bytes_; }

 private:
  using Chunk = BufferedChunk;
  using ChunkList = service::ChunkList;
  using ChunkMap = service::ChunkMap;
  using ChunkProperties = BufferedChunkProperties;
  using Arrival = ChunkArrival;
  using Sequence = BufferedSequence;
  using SequenceList = service::SequenceList;
  using SequenceState = BufferedSequenceState;
  using SequenceKey = std::pair<ProducerID, WriterID>;

  // A process. All of its producers share one part of the memory for writers.
  // The lists are in the order in which writers came, or ended.
  struct Owner {
    size_t bytes = 0;
    std::list<SequenceList::iterator> live;
    std::list<SequenceList::iterator> ended;
  };
  // A user id and a process id.
  using OwnerKey = std::pair<int32_t, int32_t>;

  // A copy of the buffer that is being made.
  struct Cloning {
    TraceBuffer* clone;
    // Chunks from before it are copied for later ones only.
    CloneRange range;
    // True if all that was overwritten is from before it.
    bool forgets_overwritten;
    // The next chunk to copy, unless it was copied already, and the number of
    // those that are not copied yet.
    ChunkList::iterator next;
    size_t num_left;
    // The next writer of the clone that may have unwanted chunks.
    SequenceList::iterator next_sequence;
    bool has_failed = false;
  };

  Sequence* FindSequence(ProducerID producer_id, WriterID writer_id);
  // Returns a writer's sequence. Throws std::bad_alloc, and has changed
  // nothing, if there is no memory.
  SequenceList::iterator FindOrAddSequence(const ProducerIdentity& producer,
                                           WriterID writer_id);
  // Removes the chunk. Before that, CloseChunk() loses its packets, or another
  // copy has them.
  void RemoveChunk(ChunkMap::iterator it);
  void RemoveReadChunk(ChunkMap::iterator it);
  // Removes the chunk from |chunks_|.
  void EraseFromOrder(ChunkList::iterator chunk);
  // Removes the chunk to make room.
  void DropChunk(ChunkMap::iterator it);
  void OverwriteOldest();
  // Loses the packets of the chunk that were not given out, and |bytes|.
  void CloseChunk(const Chunk& chunk, LossReason reason, size_t bytes = 0);
  void NoteGone(Sequence* sequence,
                uint64_t position,
                bool is_complete,
                const GoneAccount& chunk);
  // Returns the reason why a chunk that does not fit is lost.
  LossReason ReasonOfNoRoom() const {
    return policy_ == Policy::kDiscard ? LossReason::kDiscarded
                                       : LossReason::kOverwritten;
  }
  // Erases the sequence if it is done. Returns whether it did.
  bool EraseIfDone(SequenceList::iterator it);

  // The following functions are in trace_buffer_writers.cc.
  static OwnerKey OwnerOf(const Sequence& sequence);
  // Adds a writer. Throws std::bad_alloc, and has changed nothing, if there is
  // no memory.
  void AddToOwner(SequenceList::iterator it);
  void ForgetOwnerIfUnused(const OwnerKey& key);
  void RemoveFromOwner(SequenceList::iterator it);
  void Charge(Sequence* sequence, size_t bytes);
  // Forgets writers, with their chunks, of the process that has most of them.
  void LimitWriters();
  void Forget(SequenceList::iterator it);

  // The following functions are in trace_buffer_copying.cc.
  //
  // Loses a chunk if there is no memory for its writer.
  void LoseChunkWithoutWriter(const ChunkCopy& copy);
  // Stores a chunk if it has something new, or loses it.
  void PlaceChunk(SequenceList::iterator sequence, const ChunkCopy& copy);
  // Returns whether the copy has more than |old|. If it contradicts |old|,
  // counts a violation of the protocol.
  bool HasMore(const Chunk& old, const ChunkCopy& copy);
  // Store a chunk, or lose it if there is no room: a chunk of which the buffer
  // has no copy, and a later copy.
  void StoreNew(Arrival* arrival);
  void StoreInPlaceOfOld(const Arrival& arrival);
  // Adds a chunk with memory for a payload.
  static void AddMemory(size_t size, ChunkList* added);
  // Stores the chunk in |added|, its only element, or loses it. |settled| of
  // its packets are accounted for.
  void StoreOrLose(const Arrival& arrival, uint64_t settled, ChunkList* added);
  void LoseArrival(const Arrival& arrival, uint64_t settled, LossReason reason);
  // Counts a chunk that is not stored. Reading does not wait for it.
  void CountDiscarded(const Arrival& arrival);
  // Removes chunks until |bytes| fit. Returns false if there is no room.
  bool MakeRoom(size_t bytes);

  // The following functions are in trace_buffer_forgetting.cc.
  //
  // Returns whether a packet that begins in the chunk refers to no earlier one,
  // and later ones do not, either.
  static bool BeginsAnew(const Chunk& chunk);
  void ForgetBefore(uint64_t time_ms, Sequence* sequence);
  // Removes a chunk as if it had never come.
  void WithdrawChunk(ChunkMap::iterator it);
  // Removes the first chunk in this way, and begins to read after it.
  void WithdrawFirst(Sequence* sequence);
  // Returns whether all that was overwritten is from before that time.
  bool HasOverwrittenOnlyBefore(uint64_t time_ms) const {
    return last_overwritten_ms_ < time_ms;
  }
  // Forgets the packets that were overwritten.
  void ForgetOverwritten();
  // Begins to read at |position|, not before it.
  static void BeginAt(uint64_t position, Sequence* sequence);

  // The following functions are in trace_buffer_cloning.cc.
  //
  // Copies a chunk that is about to change, if a clone needs it.
  void CloneFirst(Chunk* chunk) {
    if (cloning_.has_value())
      CloneOnce(chunk);
  }
  void CloneOnce(Chunk* chunk);
  // Add what they get to a clone, which this is. Throw std::bad_alloc.
  SequenceList::iterator AddClone(const SequenceState& sequence);
  void AddClone(const Chunk& chunk, const CloneRange& range);
  // Removes chunks of a clone that it does not keep, from the next sequence of
  // |cloning| on, until |max_bytes| are reached. Returns true if there may be
  // more.
  bool DropUnwanted(size_t max_bytes, Cloning* cloning);
  // Removes chunks of a writer that came after one that is missing or not
  // complete. A writer that goes on while the scraper passes leaves such
  // chunks; in a clone, they belong to a later moment.
  void CutAtGap(Sequence* sequence);
  static ChunkMap::iterator FindGap(Sequence* sequence);
  // Returns the end of the packets that the writer has finished.
  static FragmentPlace EndOf(Sequence* sequence);
  // Removes from a clone what comes after its end.
  void CutAtEnd(Sequence* sequence);

  // The following functions are in trace_buffer_reading.cc.
  //
  // Offers a run at the next fragment. Returns the bytes that were taken.
  size_t ReadRun(Sequence* sequence, const OnRun& on_run);
  // Gives out the packet. Returns the bytes that were taken.
  size_t GiveOut(Sequence* sequence,
                 ConstBytes packet,
                 const OnPacket& on_packet);
  enum class ReadResult { kPacket, kRun, kNoPacket, kWaits };
  // Moves on by one step: gets a packet, or gives out a run and adds its bytes
  // to |bytes|.
  ReadResult ReadNext(Sequence* sequence,
                      bool gives_up,
                      const OnRun& on_run,
                      size_t* bytes,
                      ConstBytes* packet);
  // Move on: from a place without a chunk; from the end of the first chunk;
  // from its next fragment; from a last fragment whose packet needs patching or
  // goes on. If what is missing may still come, they do not move, and return
  // kWaits.
  ReadResult PassHole(Sequence* sequence, bool gives_up);
  ReadResult PassEndOfChunk(Sequence* sequence, bool gives_up);
  ReadResult PassFragment(Sequence* sequence,
                          bool gives_up,
                          ConstBytes* packet);
  ReadResult PassUnfinishedPacket(Sequence* sequence,
                                  ConstBytes head,
                                  size_t end_of_head,
                                  bool gives_up,
                                  ConstBytes* packet);
  // Moves on to the end of the first chunk, whose rest is lost.
  ReadResult PassRestOfChunk(Sequence* sequence);
  enum class ReadAheadResult { kWhole, kTorn, kWaits };
  // Assembles, in |packet_|, a packet that continues after the first chunk,
  // and moves on to its end. If the packet is torn, says why.
  ReadAheadResult ReadAhead(Sequence* sequence,
                            ConstBytes head,
                            bool gives_up,
                            LossReason* reason);
  // Joins |fragments_|, which have |size| bytes.
  void AssemblePacket(size_t size);
  // Gives out the packet that begins in the first chunk, and removes the chunks
  // before the one that it ends in.
  void PassChunksUntil(Sequence* sequence, ChunkMap::iterator end);

  const size_t size_;
  const Policy policy_;
  size_t used_bytes_ = 0;
  const size_t max_writer_bytes_;
  size_t writer_bytes_ = 0;

  TraceBuffer* follower_ = nullptr;

  // The chunks in the order in which they came.
  ChunkList chunks_;
  SequenceList sequences_;
  // The sequences that have not ended.
  std::map<SequenceKey, SequenceList::iterator> live_sequences_;
  std::map<OwnerKey, Owner> owners_;
  std::set<std::pair<size_t, OwnerKey>> owners_by_bytes_;

  std::optional<Cloning> cloning_;
  uint64_t num_clones_ = 0;

  // The latest time at which a chunk came that has been overwritten; 0 if there
  // is none.
  uint64_t last_overwritten_ms_ = 0;

  std::vector<ConstBytes> fragments_;
  std::vector<uint8_t> packet_;

  // The statistics without those that each writer counts itself.
  TraceBufferStats stats_;
  std::deque<TraceWriterStats> ended_writers_;
  // True if writers may have been lost for lack of memory. A writer that comes
  // later may be one of them.
  bool lost_unknown_writers_ = false;
  // The sums of all sequences that have ended.
  PacketSums ended_sums_;
  // The packets for which there is no sequence.
  PacketLedger without_writer_;
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_TRACE_BUFFER_H_
