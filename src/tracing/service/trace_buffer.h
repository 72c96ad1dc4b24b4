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
#include <set>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/producer_endpoint.h"
#include "protozero/tracing/trace_stats.h"
#include "protozero/tracing/types.h"
#include "src/tracing/shared_memory/chunk_reader.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Keeps the chunks of any number of writers until their packets are read, up to
// a number of bytes: then the oldest chunks, or the new ones, are lost.
//
// Whatever the chunks hold, and in whatever order they come, the packets that
// are given out are whole records, as somebody committed them, in the order of
// their writer's chunks:
//
//   chunks of a sequence, by id     5    6    7         9
//                                 +----+----+----+    +----+
//                                 |####|## ·|    |    |    |
//                                 +----+----+----+    +----+
//                                        ^ next_record       a hole: 8
//
// Reading begins when it is known where: with chunk 0, or with one that was
// committed. It stops at a hole, at the end of a chunk that was copied before
// it was complete, and at the last record of one that needs patching: what is
// missing may still come. (Only the last one can be waiting for a patch:
// messages are patched if they go on in the next chunk.) It goes on behind what
// can not come any more, because it was overwritten, or because the writer is
// gone, and the next packet says that something was lost. The fragments of a
// packet stay here until all of them do, so that there is no other place that
// could fill up.
//
// Each packet that begins in a chunk that came is accounted for once: it is
// given out, or lost for one LossReason. The mechanism is in one place: a chunk
// knows how many packets begin in it, counts those that are given out or lost,
// and those that are left are lost for the reason for which it is removed.
// Packets that began in no chunk are reported by their writer.
//
// What there is no memory for is lost (kOutOfMemory). Where the memory would
// tell what was counted before, the loss is an unknown one. Nothing else
// happens when an allocation fails: nothing throws but AppendWriterStats().
//
// One thread at a time.
class TraceBuffer {
 public:
  static constexpr size_t kMaxPacketSize = TracingLimits::kMaxPacketSize;
  // What a chunk takes besides its payload, about.
  static constexpr size_t kChunkOverhead = 240;
  // What a writer takes, about, until it has ended and its chunks are gone; and
  // what each row of chunks takes that it has not committed, but lost.
  static constexpr size_t kWriterOverhead = 1024;
  static constexpr size_t kRowOverhead = 96;
  // All writers together take so much besides the size of the buffer: a fourth
  // of that, or if it is small, what 1024 of them need.
  static constexpr size_t kMinWriterBytes = 1024 * kWriterOverhead;
  // Writers that are gone are remembered for the statistics.
  static constexpr size_t kMaxEndedWriters = 256;

  using Policy = BufferFillPolicy;

  struct ProducerIdentity {
    ProducerID id;
    int32_t uid;
    int32_t pid;
    // Its writers do as TraceWriter: they report what they lose.
    bool reports_losses = true;
  };

  struct Packet {
    ConstBytes bytes;
    ProducerIdentity producer;
    // For the reader to set, if it is 0; the same for all packets of a writer.
    uint32_t* sequence_id;
    WriterID writer_id;
    // Something was lost between this packet and the one before it.
    bool previous_packet_dropped;
    // For the reader to set, if it has another reason than kInvalid.
    LossReason* why_lost;
  };
  // Returns false if the packet is lost, for Packet::why_lost.
  using OnPacket = std::function<bool(const Packet& packet)>;

  TraceBuffer(size_t size, Policy policy);
  ~TraceBuffer();

  TraceBuffer(const TraceBuffer&) = delete;
  TraceBuffer& operator=(const TraceBuffer&) = delete;

  // Takes a chunk, or more of one that was not complete when it came first.
  void CopyChunk(const ProducerIdentity& producer, const ChunkCopy& chunk);
  void PatchChunk(ProducerID producer_id,
                  const CommitDataRequest::ChunkToPatch& patches);

  // Nothing comes from this writer any more, or from any of the producer's. If
  // something does, it is from another writer of the same id.
  void EndWriter(ProducerID producer_id, WriterID writer_id);
  void EndProducer(ProducerID producer_id);

  // What a writer says of packets that will not come, or not in whole.
  void ReportLosses(const ProducerIdentity& producer,
                    const CommitDataRequest::WriterLosses& losses);
  // Something was lost, and nobody knows how much.
  void ReportUnknownLoss();

  // Gives out packets, and forgets them. Stops when it has given out
  // |max_bytes| or more, and returns true then: there may be more. With
  // |is_final|, does not wait for anything that may come.
  bool ReadPackets(size_t max_bytes, bool is_final, const OnPacket& on_packet);

  TraceBufferStats stats() const;
  // Appends one for each writer.
  void AppendWriterStats(std::vector<TraceWriterStats>* stats) const;
  uint64_t bytes_read() const { return stats_.bytes_read; }
  // What counts towards the size.
  size_t used_bytes() const { return used_bytes_; }
  // What its writers take besides.
  size_t writer_bytes() const { return writer_bytes_; }
  size_t max_writer_bytes() const { return max_writer_bytes_; }

 private:
  struct Chunk;
  struct Gone;
  class Ranges;
  struct Sequence;
  using ChunkList = std::list<Chunk>;
  using SequenceList = std::list<Sequence>;
  // By id, as if ids did not wrap around.
  using ChunkMap = std::map<uint64_t, ChunkList::iterator>;
  using SequenceKey = std::pair<ProducerID, WriterID>;

  // A process: all of its producers have one share of the room for writers. In
  // the order in which they came, and in which they ended.
  struct Owner {
    size_t bytes = 0;
    std::list<SequenceList::iterator> live;
    std::list<SequenceList::iterator> ended;
  };
  // User and process id.
  using OwnerKey = std::pair<int32_t, int32_t>;

  Sequence* FindSequence(ProducerID producer_id, WriterID writer_id);
  // Throws std::bad_alloc, and has changed nothing, if there is no memory.
  SequenceList::iterator FindOrAddSequence(const ProducerIdentity& producer,
                                           WriterID writer_id);
  void CopyChunkTo(SequenceList::iterator sequence, const ChunkCopy& chunk);
  // For want of memory.
  void LoseChunkWithoutWriter(const ChunkCopy& chunk);
  // Returns false if there is no room.
  bool MakeRoom(size_t bytes);
  // What it holds is lost by CloseChunk(), or goes on in another one.
  void RemoveChunk(ChunkMap::iterator it);
  void RemoveReadChunk(ChunkMap::iterator it);
  // To make room.
  void DropChunk(ChunkMap::iterator it);
  void OverwriteOldest();
  // The packets of the chunk that have not been given out are lost.
  void CloseChunk(Chunk* chunk, LossReason reason);
  void NoteGone(Sequence* sequence,
                uint64_t position,
                bool is_complete,
                const Gone& chunk);
  // Of what does not fit.
  LossReason ReasonOfNoRoom() const {
    return policy_ == Policy::kDiscard ? LossReason::kDiscarded
                                       : LossReason::kOverwritten;
  }
  // Returns whether it has erased it.
  bool EraseIfDone(SequenceList::iterator it);

  // In trace_buffer_writers.cc.
  static OwnerKey OwnerOf(const Sequence& sequence);
  // Throws std::bad_alloc, and has changed nothing, if there is no memory.
  void AddToOwner(SequenceList::iterator it);
  void ForgetOwnerIfUnused(const OwnerKey& key);
  void RemoveFromOwner(SequenceList::iterator it);
  void Charge(Sequence* sequence, size_t bytes);
  // Forgets writers of the process that has most of them, and what they wrote.
  void LimitWriters();
  void Forget(SequenceList::iterator it);

  // Returns false if there is none, for now.
  bool ReadNextPacket(Sequence* sequence, bool gives_up, ConstBytes* packet);
  enum class ReadAheadResult { kWhole, kTorn, kWaits };
  // Of a packet that continues behind |it|: puts it together in packet_, and
  // goes on to where it ends. If it is torn, says why.
  ReadAheadResult ReadAhead(Sequence* sequence,
                            ChunkMap::iterator it,
                            ConstBytes head,
                            bool gives_up,
                            LossReason* reason);

  const size_t size_;
  const Policy policy_;
  size_t used_bytes_ = 0;
  const size_t max_writer_bytes_;
  size_t writer_bytes_ = 0;

  // In the order in which they came.
  ChunkList chunks_;
  SequenceList sequences_;
  // Those that have not ended.
  std::map<SequenceKey, SequenceList::iterator> live_sequences_;
  std::map<OwnerKey, Owner> owners_;
  std::set<std::pair<size_t, OwnerKey>> owners_by_bytes_;

  std::vector<ConstBytes> fragments_;
  std::vector<uint8_t> packet_;

  // Without what is counted for each writer.
  TraceBufferStats stats_;
  std::deque<TraceWriterStats> ended_writers_;
  // Writers that come may have lost something before, for want of memory.
  bool lost_unknown_writers_ = false;
  // The sums of all that have ended, and what has no writer.
  TraceWriterStats ended_sums_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_TRACE_BUFFER_H_
