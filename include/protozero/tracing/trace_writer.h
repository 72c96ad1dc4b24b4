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

// Writes trace packets into chunks of shared memory, each field straight to
// where the service will read it:
//
//   std::unique_ptr<TraceWriter> writer = arbiter.CreateTraceWriter(buffer_id);
//   {
//     auto packet = writer->NewTracePacket<pbzero::TracePacket>();
//     packet->set_timestamp(now);
//   }  // Complete here.
//
// The packets of a writer arrive in the order in which they were begun. A
// packet may be larger than a chunk, or than all of them. One that fits takes
// no lock, no system call, no atomic operation other than a store.
//
// A chunk is given to the service when it is full, by Flush(), and by
// SharedMemoryArbiter::ReturnIdleChunks(). Until then, a service that scrapes
// sees all packets but the one that is being written.
//
// When there is no chunk to be had, BufferExhaustedPolicy says what happens.
// Lost packets are counted, by LossReason, and the endpoint is told with the
// next commit; the next packet that is not lost says previous_packet_dropped.
// Lost too, and counted, are packets that exceed the limits of Message, and
// those that cross into another chunk with more than PatchPool::kNumPatches
// messages open.
//
// Takes about 8 KB. Allocates nothing after construction, unless messages are
// nested deeper than MessageArena::kInlineMessages; debug builds also where a
// packet has more than MessageArena::kMinQuarantine. One thread at a time.
class TraceWriter final : private ScatteredStreamWriter::Delegate,
                          private MessageFinalizationListener {
 public:
  // The field of every packet that belongs to the protocol: a bool.
  static constexpr uint32_t kPreviousPacketDroppedFieldId = 42;

  // Commits what has been written; see
  // SharedMemoryArbiter::FlushPendingCommitDataRequestsAndWait().
  // REQUIRES: no handle to a packet is left.
  ~TraceWriter() override;

  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  // Begins a packet, which is complete when the handle goes out of scope. T is
  // any generated class. The handle is never empty. REQUIRES: the handle to the
  // packet before is gone. If not, that packet ends here, and the next use of
  // its handle stops debug builds; in release builds it is one to the new
  // packet, and ends that. For pointers to nested messages, see Message.
  template <typename T = Message>
  PROTOZERO_ALWAYS_INLINE MessageHandle<T> NewTracePacket() {
    static_assert(
        std::is_base_of<Message, T>::value && sizeof(T) == sizeof(Message),
        "T must be a generated message class");
    MessageHandle<T> handle(static_cast<T*>(BeginPacket()));
    handle.set_finalization_listener(this);
    return handle;
  }

  // Writes a packet of some fields, as AppendFields() takes them:
  //
  //   writer->WriteTracePacket<pbzero::TracePacket>(
  //       pbzero::TracePacket::kTimestamp(now), kConstantFields);
  //
  // The same bytes as with AppendFields() and NewTracePacket(), but a short
  // packet, of fields of a limited size, takes two fifths of the instructions:
  // there is no message that could be written to, and nested, and left open.
  // REQUIRES: as NewTracePacket() and AppendFields().
  template <typename T, typename... Values>
  PROTOZERO_ALWAYS_INLINE void WriteTracePacket(const Values&... values) {
    if constexpr (internal::CheckMessage<T, Values...>()) {
      WritePacket<T>(internal::Appendable<Values>::Pass(values)...);
    }
  }

  // Gives what has been written to the service; returns when the endpoint has
  // it. REQUIRES: no packet is open.
  void Flush();

  // Lets go of the chunk that is being filled, so that others can have it; it
  // is committed with the next ones. REQUIRES: no packet is open.
  void ReturnChunk();

  // 0 if there were no more ids.
  WriterID writer_id() const { return slot_ != nullptr ? slot_->writer_id : 0; }

  // What was begun and will not arrive: packets, and the bytes in them as far
  // as they were written, by reason. Exact. Any thread.
  PacketLosses losses() const { return losses_.Get(); }
  uint64_t packets_lost() const { return losses().total(); }
  uint64_t bytes_lost() const { return losses().bytes; }

 private:
  friend class DataSourceWriters;
  friend class SharedMemoryArbiter;
  using ABI = SharedMemoryABI;

  // What has become of the packet that was begun last. Between packets another
  // thread may take the chunk; see Enter().
  enum class PacketState : uint8_t {
    // It is complete, or was never begun.
    kNone,
    // The same, and there is room for the next one in this chunk.
    kReady,
    // The writer's thread is at work between packets.
    kBusy,
    // It is whole in this chunk, behind a length of one byte, which is widened
    // if need be, as the size of a nested message is.
    kNarrow,
    // It began in an earlier chunk. Its fragment here has a length of
    // kPacketHeaderSize bytes.
    kContinued,
    // It goes to scratch_.
    kDropped,
  };

  // A chunk that was left in the middle of a packet and is kept back, in the
  // hope that it can be patched in place. The chunks that follow it wait.
  struct HeldChunk {
    ABI::Chunk chunk;
    ChunkID chunk_id;
    uint16_t packets;
  };
  static constexpr size_t kMaxHeldChunks = 4;

  static constexpr size_t kNarrowHeaderSize = 1;
  // Kept free at the end of a chunk: for a length that is widened, and for what
  // says that no packet was begun behind it.
  static constexpr size_t kSpareBytes =
      ABI::kPacketHeaderSize - kNarrowHeaderSize + ABI::kNoPacketBegunSize;
  // No packet begins with less left in the chunk than this.
  static constexpr size_t kMinRoom = 16;
  static_assert(kMinRoom >= ABI::kPacketHeaderSize + kSpareBytes,
                "there is room for the length that says the packet is lost");

  // The service has read what a chunk was used for before, so its cache lines
  // are with another processor. A store waits until this one has the line, and
  // all stores behind it wait, too, until no more fit into the processor. So
  // the lines are asked for this long before they are needed, and none behind
  // the chunk: somebody else may be writing there.
  static constexpr int kPrefetchDistance = 512;
  static constexpr int kCacheLineSize = 64;

  // |arbiter| is kept even without a |slot|.
  TraceWriter(SharedMemoryArbiter* arbiter,
              SharedMemoryArbiter::WriterSlot* slot,
              BufferID target_buffer,
              BufferExhaustedPolicy policy);

  PacketState state() const { return state_.load(std::memory_order_relaxed); }
  // Whatever was done is done when another thread sees |state|.
  void LeaveAs(PacketState state) {
    state_.store(state, std::memory_order_release);
  }
  bool IsPacketOpen() const { return state() > PacketState::kBusy; }

  PROTOZERO_ALWAYS_INLINE Message* BeginPacket() {
    if (!PROTOZERO_INLINE_SETTERS ||
        PROTOZERO_UNLIKELY(!TryEnterReadyAs(PacketState::kNarrow))) {
      return BeginPacketSlowPath();
    }
    return BeginNextPacketHere();
  }
  // Behind the packet before. REQUIRES: kNarrow.
  Message* BeginNextPacketHere() {
    stream_.set_write_ptr(fragment_ + kNarrowHeaderSize);
    return BeginPacketHere();
  }
  // Where the stream is. REQUIRES: kNarrow, or kDropped.
  Message* BeginPacketHere() {
    packet_.Reset(&stream_);
    return &packet_;
  }
  template <typename T, typename... Values>
  PROTOZERO_ALWAYS_INLINE void WritePacket(Values... values) {
    if (PROTOZERO_LIKELY(TryEnterReadyAs(PacketState::kBusy))) {
      // Not read again: what is written might be it, for all the compiler
      // knows.
      uint8_t* const fragment = fragment_;
      uint8_t* const begin = fragment + kNarrowHeaderSize;
      if (PROTOZERO_LIKELY(internal::FieldsAppender::MayEncode(
              begin, stream_.fast_limit(),
              proto_utils::kMaxOneByteMessageLength, values...))) {
        uint8_t* const end = internal::FieldsAppender::Encode(begin, values...);
        *fragment = static_cast<uint8_t>(end - begin);
        LeaveAs(MarkPacketFinished(end));
        return;
      }
      LeaveAs(PacketState::kReady);
    }
    WritePacketOutOfLine<T>(values...);
  }
  // By value: what has an address is stored there before it is known whether
  // this is called at all.
  template <typename T, typename... Values>
  PROTOZERO_NOINLINE void WritePacketOutOfLine(Values... values) {
    auto packet = NewTracePacket<T>();
    internal::FieldsAppender::Append(*packet, values...);
  }
  // Returns false, and changes nothing, if the state was not kReady, or
  // somebody reclaims the chunk.
  PROTOZERO_ALWAYS_INLINE bool TryEnterReadyAs(PacketState state_then) {
    if (PROTOZERO_UNLIKELY(state() != PacketState::kReady))
      return false;
    EnterAs(state_then);
    if (PROTOZERO_LIKELY(reclaims_.load(std::memory_order_acquire) ==
                         reclaims_seen_)) {
      return true;
    }
    LeaveAs(PacketState::kReady);
    return false;
  }
  PROTOZERO_NOINLINE Message* BeginPacketSlowPath();
  Message* BeginDroppedPacket();

  // MessageFinalizationListener:
  void OnMessageFinalized(Message* message) override;
  // ScatteredStreamWriter::Delegate:
  ContiguousMemoryRange GetNewBuffer() override;
  uint8_t* AnnotatePatch(uint8_t* patch_addr) override;

  // Ends the packet at the stream's position.
  PROTOZERO_NOINLINE void FinishPacketSlowPath();
  // Ends a packet that can not be completed.
  void AbortPacket();
  // It ends at |end|, with its length in place. Returns the state to leave as.
  PacketState MarkPacketFinished(uint8_t* end) {
    fragment_ = end;
    ABI::WriteNoPacketBegun(end);
    // Counts the next packet, and thereby says that this one is complete.
    const uint16_t packets =
        static_cast<uint16_t>(packets_.load(std::memory_order_relaxed) + 1);
    SetPackets(packets);
    if (PROTOZERO_LIKELY(end < prefetch_end_)) {
      // What is this far behind the end of the packet before is on its way. So
      // there are two lines to ask for, or one; behind a long packet more,
      // which FinishPacketSlowPath() has asked for.
      internal::PrefetchForWriting<kPrefetchDistance - kCacheLineSize>(end);
      internal::PrefetchForWriting<kPrefetchDistance>(end);
    } else if (end >= last_begin_) {
      return PacketState::kNone;
    }
    return PROTOZERO_UNLIKELY((packets & ABI::kPacketCountMask) ==
                              ABI::kMaxPacketsPerChunk)
               ? PacketState::kNone
               : PacketState::kReady;
  }
  // REQUIRES: PrefetchForWriting() may be called.
  static void PrefetchLines(const uint8_t* begin, const uint8_t* end);
  void CountLoss(LossReason reason, uint64_t bytes);
  // Counts packets that were not even begun, since the writer was busy. Safe in
  // a signal handler that interrupts its thread anywhere.
  void CountWhileBusy(uint64_t packets);
  // Goes on in scratch_.
  ContiguousMemoryRange DropPacket(LossReason reason);
  // Why there is no chunk.
  LossReason ExhaustionReason() const;
  // Writes the fragment's length, in kPacketHeaderSize bytes.
  // Returns its end, which may be further down now.
  uint8_t* WriteFragmentHeader();
  // The bytes of the open packet in the current chunk, or in scratch_ since it
  // was entered last.
  size_t FragmentSize() const;

  // Looks for a chunk, without waiting. Hands over the held chunks if there is
  // none, and asks for a commit.
  ABI::Chunk TryAcquireChunk();
  // The same, and takes the time that the policy allows.
  ABI::Chunk AcquireChunk();
  // Begins |chunk|. Returns the bytes behind |header_size| bytes for a length.
  ContiguousMemoryRange StartChunk(ABI::Chunk chunk,
                                   uint16_t flags,
                                   size_t header_size);
  void SetPackets(uint16_t packets) {
    packets_.store(packets, std::memory_order_relaxed);
    chunk_.header()->packets.store(packets, std::memory_order_release);
  }
  // Writes what the current chunk ends with, and is without one.
  ABI::Chunk TakeChunk();
  // Lets go of the current chunk, whose last record is complete.
  void FinishChunk();
  // Of the chunk that says that a packet can not be continued.
  void WriteDropMarkerChunk(ABI::Chunk chunk);
  void WriteDropMarker();

  // Brings sizes that are known to where they belong; all of them, known or
  // not, when the packet is |over|.
  void ResolvePatches(bool over);
  HeldChunk* FindHeldChunk(ChunkID chunk_id);
  void QueueOldestHeldChunk();
  void QueueHeldChunks();

  // The arbiter takes a chunk that is not being written to while its writer's
  // thread may do anything:
  //
  //   writer's thread              the one that reclaims
  //   ---------------              ---------------------
  //   state_ = not idle            reclaims_ = odd
  //   load reclaims_               ProcessBarrier()
  //                                load state_
  //
  // One of them sees what the other one has stored: if the barrier takes effect
  // on the writer's processor after the store on the left, the load on the
  // right sees it; if before, the load on the left comes after the store on the
  // right. So that side alone pays for a fence. The writer compares with the
  // number that it has seen last, lest its chunk be taken from the first look
  // at the state to the store, and waits while it is odd.
  //
  // Not idle from here on.
  void EnterAs(PacketState state) {
    state_.store(state, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  // The same, at work between packets, and nobody else is. REQUIRES: no packet
  // is open.
  void Enter();
  // Called by whoever holds SharedMemoryArbiter::writers_lock_. If the writer
  // looks idle, and |even_if_recent| or no packet was written since the last
  // call, stops it and returns true. FinishReclaim() has to follow.
  bool BeginReclaim(bool even_if_recent);
  // Lets the writer go on. |is_ordered| says that all threads have executed a
  // memory barrier since BeginReclaim(): queues the chunk before, if the writer
  // is idle. Otherwise nobody knows whether it is.
  void FinishReclaim(bool is_ordered);

  SharedMemoryArbiter* const arbiter_;
  SharedMemoryArbiter::WriterSlot* const slot_;
  const BufferID target_buffer_;
  const BufferExhaustedPolicy policy_;

  // Written by the writer's thread.
  std::atomic<PacketState> state_{PacketState::kNone};
  // There was no chunk for the packet before.
  bool is_exhausted_ = false;
  // The next packet has to say that one was lost.
  bool loss_is_unreported_ = false;
  // The open packet can not be completed.
  bool is_out_of_patches_ = false;
  // What the current chunk's header says; 0 if there is none. If no packet is
  // open, the one that will be written next is in it already.
  std::atomic<uint16_t> packets_{0};
  ChunkID chunk_id_ = 0;
  // How often a reclaim has begun or ended, so odd while one is under way.
  // Written by who reclaims.
  std::atomic<uint32_t> reclaims_{0};
  // What the writer's thread has seen of it last. Even.
  uint32_t reclaims_seen_ = 0;
  // Where the length of the open packet's last fragment goes, or that of the
  // next packet: behind what was written to the chunk. If the packet is
  // dropped, where it is written to.
  uint8_t* fragment_ = nullptr;
  // From here on no packet begins.
  uint8_t* last_begin_ = nullptr;
  // From here on, all of the chunk has been asked for. No later than
  // last_begin_; null where PrefetchForWriting() may not be called.
  uint8_t* prefetch_end_ = nullptr;
  ABI::Chunk chunk_;
  // Of the open packet, in chunks before the current one; and whether the first
  // of these was handed over with its beginning. Not valid in kNarrow.
  uint64_t packet_bytes_ = 0;
  bool is_beginning_handed_over_ = false;
  // Why the open packet is kDropped.
  LossReason drop_reason_ = LossReason::kUnknown;
  // What BeginReclaim() has found in |packets_|.
  uint16_t packets_before_ = 0;

  LossAccount losses_;

  PatchList patches_;
  // Oldest first.
  HeldChunk held_chunks_[kMaxHeldChunks];
  size_t num_held_chunks_ = 0;
  // Fewer where the buffer has few chunks.
  const size_t max_held_chunks_;

  ScatteredStreamWriter stream_;
  RootMessage<Message> packet_;
  uint8_t scratch_[1024];
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_TRACE_WRITER_H_
