// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_TRACE_WRITER_H_
#define INCLUDE_PROTOZERO_TRACING_TRACE_WRITER_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <type_traits>

#include "protozero/append_fields.h"
#include "protozero/contiguous_memory_range.h"
#include "protozero/internal/bit_deposit.h"
#include "protozero/message.h"
#include "protozero/message_handle.h"
#include "protozero/proto_utils.h"
#include "protozero/root_message.h"
#include "protozero/scattered_stream_writer.h"
#include "protozero/tracing/internal/loss_account.h"
#include "protozero/tracing/internal/patch_list.h"
#include "protozero/tracing/loss_reason.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal PROTOZERO_HIDDEN {
class ReadyWriter;
}  // namespace internal PROTOZERO_HIDDEN

// Writes trace packets into chunks of shared memory, each field directly where
// the service reads it:
//
//   std::unique_ptr<TraceWriter> writer = arbiter.CreateTraceWriter(buffer_id);
//   {
//     auto packet = writer->NewTracePacket<pbzero::TracePacket>();
//     packet->set_timestamp(now);
//   }  // Complete here.
//
// A packet is one message of the trace. A chunk is a piece of the shared
// memory, which one writer has at a time. The part of a packet in a chunk is a
// fragment:
//
//   packets    |  1  | 2 |     3     | 4 |
//   fragments  |  1  | 2 |  3  |  3  | 4 |
//   chunks     |       A       |      B         |
//
// Packets of one writer arrive in the order in which they were begun. A packet
// may be larger than a chunk, or than all chunks together. A packet that fits
// into the chunk takes no lock, no system call, and no atomic operation but
// stores.
//
// The writer gives its chunk to the service when the chunk is full, in Flush(),
// and in SharedMemoryArbiter::ReturnIdleChunks(). Until then, a service that
// scrapes sees all packets but the one that is being written.
//
// When there is no chunk, BufferExhaustedPolicy decides what happens. The
// writer counts lost packets by LossReason, and reports them to the endpoint
// with the next commit; the next packet that arrives says
// previous_packet_dropped. The writer also loses packets that exceed the limits
// of Message, and packets that go on in another chunk with more than
// PatchPool::kNumPatches messages open.
//
// Takes about 8 KB. Allocates nothing after construction, unless messages are
// nested deeper than MessageArena::kInlineMessages; debug builds also allocate
// for a packet with more messages than MessageArena::kMinQuarantine. One thread
// at a time.
class TraceWriter final : private MessageFinalizationListener,
                          private ScatteredStreamWriter::Delegate {
 public:
  // The field that the protocol has in every packet: a bool.
  static constexpr uint32_t kPreviousPacketDroppedFieldId = 42;

  // Commits all packets; see
  // SharedMemoryArbiter::FlushPendingCommitDataRequestsAndWait(). REQUIRES: no
  // handle to a packet is left.
  ~TraceWriter() override;

  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Begins a packet, which is complete when the handle goes out of scope. T is
  // any generated class. The handle is never empty. REQUIRES: the handle to the
  // packet before is gone. Otherwise that packet ends here. The next use of its
  // handle stops debug builds; in release builds, that handle belongs to the
  // new packet, and ends it. For pointers to nested messages, see Message.
  template <typename T = Message>
  PROTOZERO_ALWAYS_INLINE MessageHandle<T> NewTracePacket() {
    static_assert(
        std::is_base_of<Message, T>::value && sizeof(T) == sizeof(Message),
        "T must be a generated message class");
    MessageHandle<T> handle(static_cast<T*>(BeginPacket()));
    handle.set_finalization_listener(this);
    return handle;
  }

  // Writes a packet with these fields, which it takes as AppendFields() does:
  //
  //   writer->WriteTracePacket<pbzero::TracePacket>(
  //       pbzero::TracePacket::kTimestamp(now), kConstantFields);
  //
  // Writes the same bytes as AppendFields() on NewTracePacket(). A short packet
  // of fields of limited size takes two fifths of the instructions, because
  // there is no message that could be nested or left open. REQUIRES: as
  // NewTracePacket() and AppendFields().
  template <typename T, typename... Values>
  PROTOZERO_ALWAYS_INLINE void WriteTracePacket(const Values&... values) {
    if constexpr (internal::CheckMessage<T, Values...>()) {
      WritePacket<T>(internal::Appendable<Values>::Pass(values)...);
    }
  }

  // Commits all packets, and returns when the endpoint has them. REQUIRES: no
  // packet is open.
  void Flush();

  // Gives up the current chunk, so that other writers can have it. The next
  // commit includes it. REQUIRES: no packet is open.
  void ReturnChunk();

  // Returns 0 if all ids were taken.
  WriterID writer_id() const { return slot_ != nullptr ? slot_->writer_id : 0; }

  // Returns the id of the chunk that packets are written to. Changes with each
  // chunk.
  ChunkID chunk_id() const { return chunk_id_; }
  // Returns whether the next packet begins after the last one, in the same
  // chunk. If not, it begins another chunk, or is lost. False after a loss.
  bool continues_chunk() const {
    return (state() == PacketState::kReady || IsNearEndWithRoom()) &&
           reclaims_.load(std::memory_order_relaxed) == reclaims_seen_;
  }
  // Returns a number that changes with each packet that is lost while it is
  // written. Later packets may refer to something that was in the lost one.
  uint32_t loss_generation() const { return loss_generation_; }
  // If the last packet was lost because there was no chunk, and there still
  // seems to be none, counts another packet as lost and returns true. Costs
  // much less than to begin that packet. Otherwise changes nothing.
  bool LoseNextPacketIfExhausted();
  // Counts packets as lost that the program could not begin: it has lost what
  // would be in them. The next packet says previous_packet_dropped. REQUIRES:
  // no packet is open; |reason| is one of writers.
  void LosePackets(LossReason reason, uint64_t number);
  // Returns whether there was no chunk for the last packet.
  bool is_exhausted() const { return is_exhausted_; }

  // Returns a number that changes when writers have gone through another
  // quarter of their ring. Then data that was written only once has to be
  // written again. 0 without a ring; see SharedMemoryArbiter::Options::ring.
  uint32_t ring_quarter() const { return arbiter_->ring_quarter(); }
  // In a ring, keeps the chunks from |first| on, as long as this writer exists
  // and until the next call: other writers do not overwrite them if there are
  // others. A data source that interns strings calls it after packets that
  // begin with SEQ_INCREMENTAL_STATE_CLEARED in the chunk |first|, so that the
  // last packets of an idle thread have all that they refer to.
  void KeepChunksFrom(ChunkID first) {
    if (slot_ != nullptr)
      arbiter_->KeepChunksFrom(*slot_, first);
  }

  // Return the packets that were begun and will not arrive, and the bytes that
  // were written of them, by reason. Exact. Any thread.
  PacketLosses losses() const { return losses_.Get(); }
  uint64_t packets_lost() const { return losses().total(); }
  uint64_t bytes_lost() const { return losses().bytes; }

 private:
  friend class DataSourceWriters;
  friend class SharedMemoryArbiter;
  friend class internal::ReadyWriter;
  using ABI = SharedMemoryABI;

  // The state of the last packet. Between packets, another thread may take the
  // chunk; see Enter().
  enum class PacketState : uint8_t {
    // The packet is complete. It was long, or the next one is, or this chunk
    // may have no room for it.
    kNearEnd,
    // The packet is complete, and this chunk has room for the next one.
    kReady,
    // There is no packet, or the next one begins another chunk.
    kNone,
    // The writer's thread is at work between packets.
    kBusy,
    // The packet is whole in this chunk, after a length of one byte. If it
    // grows too long, the length is widened, as the size of a nested message
    // is.
    kNarrow,
    // The same, after a length of kPacketHeaderSize bytes. It comes after a
    // long packet, is likely to be long, too, and then need not be moved.
    kWide,
    // The packet began in an earlier chunk. Its fragment here has a length of
    // kPacketHeaderSize bytes.
    kContinued,
    // The packet goes to scratch_, and is lost.
    kDropped,
  };

  // A chunk that the writer left in the middle of a packet and keeps for a
  // while: missing sizes may become known. The chunks after it wait, too.
  struct HeldChunk {
    ABI::Chunk chunk;
    ChunkID chunk_id;
    uint16_t packets;
  };
  static constexpr size_t kMaxHeldChunks = 4;

  static constexpr size_t kNarrowHeaderSize = 1;
  // The bytes that stay free at the end of a chunk: for a length that is
  // widened, and for the mark that says that no packet was begun.
  static constexpr size_t kSpareBytes =
      ABI::kPacketHeaderSize - kNarrowHeaderSize + ABI::kNoPacketBegunSize;
  // The least room in a chunk with which a packet begins there.
  static constexpr size_t kMinRoom = 16;
  static_assert(kMinRoom >= ABI::kPacketHeaderSize + kSpareBytes,
                "there is room for the length that says the packet is lost");

  // The service has read the chunk, so its cache lines are with another
  // processor. Stores wait for them, until no more stores fit. So the writer
  // prefetches lines this long before it needs them, to the chunk's end.
  static constexpr int kPrefetchDistance = 512;
  static constexpr int kCacheLineSize = 64;
  // The bytes that are left in a chunk, and the number of packets, from which
  // on its end is near.
  static constexpr int kFewBytesLeft = 256;
  static constexpr uint32_t kManyPackets = ABI::kMaxPacketsPerChunk - 7;

  // Keeps |arbiter| even if |slot| is null.
  TraceWriter(SharedMemoryArbiter* arbiter,
              SharedMemoryArbiter::WriterSlot* slot,
              BufferID target_buffer,
              BufferExhaustedPolicy policy);

  PacketState state() const { return state_.load(std::memory_order_relaxed); }
  // Sets the state. A thread that sees |state| also sees all that this thread
  // has done before.
  void LeaveAs(PacketState state) {
    state_.store(state, std::memory_order_release);
  }
  bool IsPacketOpen() const { return state() > PacketState::kBusy; }

  PROTOZERO_ALWAYS_INLINE Message* BeginPacket() {
    if (!PROTOZERO_INLINE_SETTERS ||
        PROTOZERO_UNLIKELY(!TryEnterReadyAs(PacketState::kNarrow))) {
      return BeginPacketSlowPath();
    }
    return BeginPacketAfter(kNarrowHeaderSize);
  }
  // Begins a packet after a length of that many bytes.
  Message* BeginPacketAfter(size_t header_size) {
    stream_.set_write_ptr(fragment_ + header_size);
    packet_.Reset(&stream_);
    return &packet_;
  }
  Message* BeginWidePacket();
  // Begins it by the last packet's length. REQUIRES: kBusy.
  Message* BeginNextPacket();
  template <typename T, typename... Values>
  PROTOZERO_ALWAYS_INLINE void WritePacket(Values... values) {
    if (PROTOZERO_LIKELY(TryEnterReadyAs(PacketState::kBusy))) {
      if (PROTOZERO_LIKELY(TryEncodePacketHere<false>(values...)))
        return;
      LeaveAs(PacketState::kReady);
    }
    WritePacketOutOfLine<T>(values...);
  }
  // Writes a packet after the last one, and leaves. Returns false, and
  // stays, if it may be too long for that. |writes_zeros| says that |values|
  // write kNoPacketBegunSize zeros after the packet. REQUIRES: entered from
  // kReady.
  template <bool writes_zeros, typename... Values>
  PROTOZERO_ALWAYS_INLINE bool TryEncodePacketHere(Values... values) {
    // The field is read only once: for the compiler, the bytes that are
    // written might change it.
    uint8_t* const fragment = fragment_;
    uint8_t* const begin = fragment + kNarrowHeaderSize;
    if (PROTOZERO_UNLIKELY(!internal::FieldsAppender::MayEncode(
            begin, stream_.fast_limit(), proto_utils::kMaxOneByteMessageLength,
            values...))) {
      return false;
    }
    uint8_t* const end = internal::FieldsAppender::Encode(begin, values...);
    *fragment = static_cast<uint8_t>(end - begin);
    if constexpr (!writes_zeros)
      ABI::WriteNoPacketBegun(end);
    LeaveAs(CountFinishedPacket(fragment, end));
    return true;
  }
  // Takes the values by value: if it took a value's address, the compiler would
  // store that value before the branch that usually skips this call.
  template <typename T, typename... Values>
  PROTOZERO_NOINLINE void WritePacketOutOfLine(Values... values) {
    auto packet = NewTracePacket<T>();
    internal::FieldsAppender::Append(*packet, values...);
  }
  // Returns whether another thread may have taken the chunk.
  bool IsReclaimed() const {
    return reclaims_.load(std::memory_order_acquire) != reclaims_seen_;
  }
  // Returns false, and changes nothing, if the state was not kReady, or if
  // another thread is reclaiming the chunk.
  PROTOZERO_ALWAYS_INLINE bool TryEnterReadyAs(PacketState state_then) {
    if (PROTOZERO_UNLIKELY(state() != PacketState::kReady))
      return false;
    EnterAs(state_then);
    if (PROTOZERO_LIKELY(!IsReclaimed()))
      return true;
    LeaveAs(PacketState::kReady);
    return false;
  }
  // Enters from kNearEnd as kBusy, for TryEncodePacketHere(). If there is no
  // room, begins the next chunk: to split the packet takes much longer. Returns
  // false in another state, without a chunk, and before |end|.
  PROTOZERO_NOINLINE bool TryEnterNearEnd(ChunkID end, size_t ahead);
  PROTOZERO_NOINLINE Message* BeginPacketSlowPath();
  PROTOZERO_NOINLINE Message* BeginPacketInAnyState();
  Message* BeginDroppedPacket();

  // MessageFinalizationListener, and ScatteredStreamWriter::Delegate:
  void OnMessageFinalized(Message* message) override;
  ContiguousMemoryRange GetNewBuffer() override;
  uint8_t* AnnotatePatch(uint8_t* patch_addr) override;

  PROTOZERO_NOINLINE void FinishPacketSlowPath();
  PROTOZERO_NOINLINE void FinishPacketInAnyState();
  // Ends a packet with a wide length. Returns the state to leave as.
  PacketState FinishWidePacket(uint8_t* end);
  // Ends a packet that cannot be completed.
  void AbortPacket();
  // Ends the packet at |end|. Returns the state to leave as.
  PacketState MarkPacketFinished(uint8_t* end) {
    ABI::WriteNoPacketBegun(end);
    return CountFinishedPacket(end, end);
  }
  // Marks a packet that has kNoPacketBegunSize zeros after it. Prefetches from
  // |pos| on: the end, or the beginning of a short packet.
  PacketState CountFinishedPacket(const uint8_t* pos, uint8_t* end) {
    fragment_ = end;
    // Counts the next packet, which says that this one is complete.
    const uint16_t packets =
        static_cast<uint16_t>(packets_.load(std::memory_order_relaxed) + 1);
    SetPackets(packets);
    if (PROTOZERO_LIKELY(end < prefetch_end_)) {
      // One or two lines are left to prefetch: those up to this distance after
      // the packet before, and more after a long one, are on their way.
      internal::PrefetchForWriting<kPrefetchDistance - kCacheLineSize>(pos);
      internal::PrefetchForWriting<kPrefetchDistance>(pos);
    } else if (end >= near_end_) {
      return PacketState::kNearEnd;
    }
    return PROTOZERO_UNLIKELY((packets & ABI::kPacketCountMask) >= kManyPackets)
               ? PacketState::kNearEnd
               : PacketState::kReady;
  }
  uint32_t num_packets() const {
    return packets_.load(std::memory_order_relaxed) & ABI::kPacketCountMask;
  }
  // Returns whether the next packet begins in this chunk. REQUIRES: kNearEnd.
  bool HasRoom() const {
    return fragment_ < last_begin_ && num_packets() < ABI::kMaxPacketsPerChunk;
  }
  // Returns whether the end of the chunk, or of its count, is near.
  bool IsNearEnd() const {
    return fragment_ >= near_end_ || num_packets() >= kManyPackets;
  }
  // Prefetches what the next chunk needs, once, if IsNearEnd().
  void PrefetchNextChunk();
  bool IsNearEndWithRoom() const {
    return state() == PacketState::kNearEnd && HasRoom();
  }
  // REQUIRES: PrefetchForWriting() may be called.
  static void PrefetchLines(const uint8_t* begin, const uint8_t* end);
  void CountLoss(LossReason reason, uint64_t bytes);
  // Counts packets that were not even begun, because the writer was busy. Safe
  // in a signal handler that interrupts the writer's thread anywhere.
  void CountWhileBusy(uint64_t packets);
  // Marks the open packet as lost. Returns scratch_, where the rest of it goes.
  ContiguousMemoryRange DropPacket(LossReason reason);
  LossReason ExhaustionReason() const;
  // Writes |size| as a wide length. Returns the fragment's end, moved or not.
  uint8_t* WriteFragmentHeader(size_t size);
  // Returns the number of bytes of the open packet in the current chunk, or of
  // those in scratch_ since the stream last entered it.
  size_t FragmentSize() const;

  // Looks for a chunk, without waiting. If there is none, hands over the held
  // chunks, and asks for a commit.
  ABI::Chunk TryAcquireChunk();
  // Looks for a chunk as long as the policy allows.
  ABI::Chunk AcquireChunk();
  // Begins |chunk|. Returns its memory after |header_size| bytes for a length.
  ContiguousMemoryRange StartChunk(ABI::Chunk chunk,
                                   uint16_t flags,
                                   size_t header_size);
  void SetPackets(uint16_t packets) {
    packets_.store(packets, std::memory_order_relaxed);
    chunk_.header()->packets.store(packets, std::memory_order_release);
  }
  // Writes the end of the current chunk, and leaves the writer without one.
  ABI::Chunk TakeChunk();
  // Gives up the current chunk, whose last fragment is complete.
  void FinishChunk();
  // Makes |chunk| say that the packet does not continue.
  void WriteDropMarkerChunk(ABI::Chunk chunk);
  void WriteDropMarker();

  // Writes the sizes that are known into their chunks, or queues them as
  // patches. When the packet is |over|, does so with all sizes, known or not.
  void ResolvePatches(bool over);
  HeldChunk* FindHeldChunk(ChunkID chunk_id);
  void QueueOldestHeldChunk();
  void QueueHeldChunks();

  // Has another thread write from now on. Returns false, and changes nothing,
  // if this writer has to end with its thread, to report what it has lost.
  bool PrepareForOtherThread();

  // Makes the writer not idle. trace_writer_reclaim.cc describes these.
  void EnterAs(PacketState state) {
    state_.store(state, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void Enter();
  bool BeginReclaim(bool even_if_recent);
  void FinishReclaim(bool is_ordered);

  SharedMemoryArbiter* const arbiter_;
  SharedMemoryArbiter::WriterSlot* const slot_;
  const BufferID target_buffer_;
  const BufferExhaustedPolicy policy_;

  // An event in place uses this line, and the stream's limit in the next one.
  alignas(64) std::atomic<PacketState> state_{PacketState::kNone};
  // True if there was no chunk for the packet before.
  bool is_exhausted_ = false;
  // The value in the current chunk's header; 0 if there is no chunk. Between
  // packets, it already counts the packet that comes next.
  std::atomic<uint16_t> packets_{0};
  ChunkID chunk_id_ = 0;
  // The number of reclaims times kReclaimStep, and the state of the one that is
  // under way: kReclaimBegun, which both threads may end; then kTakingChunk,
  // which the thread that reclaims ends.
  static constexpr uint32_t kReclaimBegun = 1;
  static constexpr uint32_t kTakingChunk = 2;
  static constexpr uint32_t kReclaimStep = 4;
  std::atomic<uint32_t> reclaims_{0};
  // The value that the writer's thread saw last, always without a reclaim.
  uint32_t reclaims_seen_ = 0;
  // The place for the length of the open packet's last fragment or, between
  // packets, for the next packet's length. If the packet is dropped, the place
  // where the stream entered scratch_.
  uint8_t* fragment_ = nullptr;
  // The place from which on no packet begins.
  uint8_t* last_begin_ = nullptr;
  // The place from which on all of the chunk has been prefetched. Not after
  // |last_begin_|; null where PrefetchForWriting() may not be called.
  uint8_t* prefetch_end_ = nullptr;
  ABI::Chunk chunk_;

  ScatteredStreamWriter stream_;
  // kFewBytesLeft before |last_begin_|; |last_begin_| after the prefetch.
  uint8_t* near_end_ = nullptr;
  uint32_t loss_generation_ = 0;
  // True if the next packet has to say that one was lost.
  bool loss_is_unreported_ = false;
  // True if the open packet cannot be completed.
  bool is_out_of_patches_ = false;
  // True if the last packet that began by BeginPacket() was long.
  bool was_long_ = false;
  // True if the first of |packet_bytes_| was handed over with the packet's
  // beginning. Not valid in kNarrow.
  bool is_beginning_handed_over_ = false;
  // The reason why the open packet is kDropped.
  LossReason drop_reason_ = LossReason::kUnknown;
  // The open packet's bytes in chunks before the current one. Not valid in
  // kNarrow.
  uint64_t packet_bytes_ = 0;
  // The value of |packets_| that BeginReclaim() found.
  uint16_t packets_before_ = 0;

  LossAccount losses_;

  PatchList patches_;
  // The held chunks, oldest first.
  HeldChunk held_chunks_[kMaxHeldChunks];
  size_t num_held_chunks_ = 0;
  // The most chunks to hold: fewer if the buffer has few chunks.
  const size_t max_held_chunks_;

  RootMessage<Message> packet_;
  uint8_t scratch_[1024];
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_TRACE_WRITER_H_
