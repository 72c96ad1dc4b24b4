// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/trace_writer.h"

#include <string.h>

#include <algorithm>
#include <utility>

#include "protozero/internal/bit_deposit.h"
#include "protozero/internal/message_inline.h"
#include "protozero/proto_utils.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

constexpr auto WriteFragmentLength = proto_utils::internal::WritePaddedVarInt<
    SharedMemoryABI::kPacketHeaderSize>;
static_assert(SharedMemoryABI::kPacketHeaderSize ==
                  proto_utils::kMessageLengthFieldSize,
              "lengths of packets are widened like sizes of messages");

// The pages that a writer searches if it has just found no chunk. To search all
// pages takes longer than to write a packet. With its next packet, the writer
// goes on from there.
constexpr size_t kPagesToSearchWhenExhausted = 16;

// A writer may hold one chunk for this many of the buffer's chunks.
constexpr size_t kMinChunksPerHeldChunk = 8;

}  // namespace

TraceWriter::TraceWriter(SharedMemoryArbiter* arbiter,
                         SharedMemoryArbiter::WriterSlot* slot,
                         BufferID target_buffer,
                         BufferExhaustedPolicy policy)
    : arbiter_(arbiter),
      slot_(slot),
      target_buffer_(target_buffer),
      policy_(arbiter->is_ring() ? BufferExhaustedPolicy::kDrop : policy),
      stream_(this),
      losses_(slot == nullptr ? WriterID{0} : slot->writer_id, target_buffer),
      max_held_chunks_(
          std::min(kMaxHeldChunks,
                   arbiter->num_chunks() / kMinChunksPerHeldChunk)) {}

TraceWriter::~TraceWriter() {
  if (IsPacketOpen()) {
    packet_.Finalize();
    FinishPacketSlowPath();
  }
  ReturnChunk();
  arbiter_->ReleaseWriter(slot_);
}

void TraceWriter::Flush() {
  ReturnChunk();
  arbiter_->FlushPendingCommitDataRequestsAndWait();
}

void TraceWriter::ReturnChunk() {
  PROTOZERO_DCHECK(!IsPacketOpen(), "let go of the packet's handle first");
  if (IsPacketOpen())
    return;
  Enter();
  if (chunk_.is_valid())
    FinishChunk();
  LeaveAs(PacketState::kNone);
}

bool TraceWriter::PrepareForOtherThread() {
  if (slot_ == nullptr || IsPacketOpen() || losses().total() != 0 ||
      !arbiter_->AllowsSpareWriters()) {
    return false;
  }
  arbiter_->ReleaseKeptChunks(*slot_);
  return true;
}

Message* TraceWriter::BeginPacketSlowPath() {
  // The chunk has room, so the last packet was long, or this one is.
  if (state() == PacketState::kNearEnd && !IsNearEnd()) {
    EnterAs(PacketState::kWide);
    if (PROTOZERO_LIKELY(!IsReclaimed()))
      return BeginWidePacket();
    LeaveAs(PacketState::kNearEnd);
  }
  return BeginPacketInAnyState();
}

Message* TraceWriter::BeginPacketInAnyState() {
  if (IsPacketOpen()) {
    packet_.Finalize();
    FinishPacketSlowPath();
  }
  const bool has_room = state() == PacketState::kReady || IsNearEndWithRoom();
  Enter();
  if (has_room && chunk_.is_valid()) {
    PrefetchNextChunk();
    return BeginNextPacket();
  }
  if (chunk_.is_valid())
    FinishChunk();
  ABI::Chunk chunk = AcquireChunk();
  if (chunk.is_valid() && slot_->owes_drop_marker) {
    WriteDropMarkerChunk(chunk);
    chunk = TryAcquireChunk();
  }
  is_exhausted_ = !chunk.is_valid();
  if (is_exhausted_)
    return BeginDroppedPacket();
  stream_.Reset(StartChunk(chunk, 0, kNarrowHeaderSize));
  Message* const packet = BeginNextPacket();
  if (loss_is_unreported_) {
    loss_is_unreported_ = false;
    packet->AppendVarInt(kPreviousPacketDroppedFieldId, 1);
  }
  return packet;
}

Message* TraceWriter::BeginNextPacket() {
  EnterAs(was_long_ ? PacketState::kWide : PacketState::kNarrow);
  return was_long_ ? BeginWidePacket() : BeginPacketAfter(kNarrowHeaderSize);
}

Message* TraceWriter::BeginWidePacket() {
  // If the program dies, this says that a packet has begun.
  WriteFragmentLength(ABI::kPacketSizeDropPacket, fragment_);
  return BeginPacketAfter(ABI::kPacketHeaderSize);
}

Message* TraceWriter::BeginDroppedPacket() {
  packet_bytes_ = 0;
  is_beginning_handed_over_ = false;
  stream_.Reset(DropPacket(ExhaustionReason()));
  packet_.Reset(&stream_);
  return &packet_;
}

LossReason TraceWriter::ExhaustionReason() const {
  return slot_ == nullptr                          ? LossReason::kNoWriterID
         : policy_ == BufferExhaustedPolicy::kDrop ? LossReason::kMemoryFull
                                                   : LossReason::kStallTimedOut;
}

ContiguousMemoryRange TraceWriter::DropPacket(LossReason reason) {
  EnterAs(PacketState::kDropped);
  drop_reason_ = reason;
  fragment_ = scratch_;
  return {scratch_, scratch_ + sizeof(scratch_)};
}

void TraceWriter::OnMessageFinalized(Message*) {
  if (PROTOZERO_UNLIKELY(state() != PacketState::kNarrow || !stream_.ok()))
    return FinishPacketSlowPath();
  uint8_t* const end = stream_.own_write_ptr();
  // If a message is still open, |size| is far too large.
  const size_t size = static_cast<size_t>(end - fragment_) - kNarrowHeaderSize;
  if (PROTOZERO_UNLIKELY(size > proto_utils::kMaxOneByteMessageLength))
    return FinishPacketSlowPath();
  *fragment_ = static_cast<uint8_t>(size);
  LeaveAs(MarkPacketFinished(end));
}

size_t TraceWriter::FragmentSize() const {
  const size_t header_size = state() == PacketState::kNarrow ? kNarrowHeaderSize
                             : state() == PacketState::kDropped
                                 ? 0
                                 : ABI::kPacketHeaderSize;
  return static_cast<size_t>(stream_.write_ptr() - fragment_) - header_size;
}

void TraceWriter::FinishPacketSlowPath() {
  if (state() == PacketState::kWide && stream_.ok()) {
    uint8_t* const end = stream_.write_ptr();
    const size_t size =
        static_cast<size_t>(end - fragment_) - ABI::kPacketHeaderSize;
    WriteFragmentLength(static_cast<uint32_t>(size), fragment_);
    was_long_ = size > proto_utils::kMaxOneByteMessageLength;
    return LeaveAs(FinishWidePacket(end));
  }
  FinishPacketInAnyState();
}

void TraceWriter::FinishPacketInAnyState() {
  PacketState next = PacketState::kNone;
  switch (state()) {
    case PacketState::kNearEnd:
    case PacketState::kReady:
    case PacketState::kNone:
    case PacketState::kBusy:
      // The handle has outlived its packet.
      return;
    case PacketState::kDropped:
      CountLoss(drop_reason_, packet_bytes_ + FragmentSize());
      break;
    case PacketState::kNarrow:
    case PacketState::kWide:
    case PacketState::kContinued:
      if (stream_.ok()) {
        const size_t size = FragmentSize();
        was_long_ = state() == PacketState::kContinued ||
                    size > proto_utils::kMaxOneByteMessageLength;
        next = FinishWidePacket(WriteFragmentHeader(size));
      } else {
        AbortPacket();
      }
      break;
  }
  if (!patches_.empty() || num_held_chunks_ != 0)
    ResolvePatches(true);
  LeaveAs(next);
}

TraceWriter::PacketState TraceWriter::FinishWidePacket(uint8_t* end) {
  // Prefetches the lines that MarkPacketFinished() does not prefetch, without
  // those that were written.
  if (end < prefetch_end_) {
    PrefetchLines(std::max(fragment_ + kPrefetchDistance, end) + kCacheLineSize,
                  end + kPrefetchDistance - kCacheLineSize);
  }
  const PacketState next = MarkPacketFinished(end);
  return was_long_ ? PacketState::kNearEnd : next;
}

void TraceWriter::PrefetchLines(const uint8_t* begin, const uint8_t* end) {
  for (; begin < end; begin += kCacheLineSize)
    internal::PrefetchForWriting<0>(begin);
}

void TraceWriter::AbortPacket() {
  // The next packet begins in another chunk, and says that something was lost.
  // A packet that is whole in this chunk is undone, but the header still
  // announces it.
  if (state() != PacketState::kContinued) {
    is_beginning_handed_over_ = false;
    CountLoss(LossReason::kTooLarge, FragmentSize());
    ABI::WriteNoPacketBegun(fragment_);
    return;
  }
  CountLoss(LossReason::kTooLarge, packet_bytes_ + FragmentSize());
  WriteDropMarker();
  FinishChunk();
}

void TraceWriter::CountLoss(LossReason reason, uint64_t bytes) {
  ++loss_generation_;
  losses_.Add(reason, bytes, is_beginning_handed_over_);
  arbiter_->QueueLosses(&losses_);
  // The first of several losses is reported at once. Otherwise a process that
  // is killed could seem to have lost nothing.
  if (!std::exchange(loss_is_unreported_, true))
    arbiter_->FlushPendingCommitDataRequests();
}

bool TraceWriter::LoseNextPacketIfExhausted() {
  if (!is_exhausted_ || IsPacketOpen() ||
      (slot_ != nullptr && arbiter_->HasFreeChunkOnNextPage(slot_))) {
    return false;
  }
  // The packet before was lost, and reported, for the same reason.
  PROTOZERO_DCHECK(loss_is_unreported_ && drop_reason_ == ExhaustionReason(),
                   "exhausted means that the last packet was dropped");
  ++loss_generation_;
  losses_.Add(drop_reason_, 0, false);
  arbiter_->QueueLosses(&losses_);
  return true;
}

void TraceWriter::LosePackets(LossReason reason, uint64_t number) {
  PROTOZERO_DCHECK(!IsPacketOpen(), "a packet is open");
  if (number == 0)
    return;
  // Only a packet that begins a chunk says that others are missing before it.
  ReturnChunk();
  ++loss_generation_;
  losses_.Add(reason, 0, /*is_begun=*/false, number);
  arbiter_->QueueLosses(&losses_);
  if (!std::exchange(loss_is_unreported_, true))
    arbiter_->FlushPendingCommitDataRequests();
}

void TraceWriter::CountWhileBusy(uint64_t packets) {
  losses_.AddWhileBusy(packets);
  arbiter_->QueueLosses(&losses_);
}

uint8_t* TraceWriter::WriteFragmentHeader(size_t size) {
  uint8_t* end = stream_.write_ptr();
  if (state() == PacketState::kNarrow) {
    end = internal::MessageSteps::WidenSizeField(fragment_ + kNarrowHeaderSize,
                                                 size) +
          size;
  }
  WriteFragmentLength(static_cast<uint32_t>(size), fragment_);
  return end;
}

void TraceWriter::WriteDropMarker() {
  WriteFragmentLength(ABI::kPacketSizeDropPacket, fragment_);
  fragment_ += ABI::kPacketHeaderSize;
}

ContiguousMemoryRange TraceWriter::GetNewBuffer() {
  if (!IsPacketOpen()) {
    // The program has kept the stream, and writes to it after the packet.
    LeaveAs(PacketState::kNone);
    return {scratch_, scratch_ + sizeof(scratch_)};
  }
  if (state() == PacketState::kDropped) {
    packet_bytes_ += FragmentSize();
    return {scratch_, scratch_ + sizeof(scratch_)};
  }
  if (state() != PacketState::kContinued) {
    packet_bytes_ = 0;
    is_beginning_handed_over_ = false;
  }
  const size_t size = FragmentSize();
  packet_bytes_ += size;

  ABI::Chunk next;
  if (!is_out_of_patches_)
    next = TryAcquireChunk();
  if (!next.is_valid() &&
      (is_out_of_patches_ || policy_ == BufferExhaustedPolicy::kDrop)) {
    // A drop marker takes the place of the fragment in this chunk.
    const LossReason reason =
        is_out_of_patches_ ? LossReason::kTooLarge : ExhaustionReason();
    is_exhausted_ = !is_out_of_patches_;
    is_out_of_patches_ = false;
    patches_.MakeVoid(chunk_id_);
    WriteDropMarker();
    FinishChunk();
    return DropPacket(reason);
  }
  is_beginning_handed_over_ = true;
  fragment_ = WriteFragmentHeader(size);
  SetPackets(static_cast<uint16_t>(packets_.load(std::memory_order_relaxed) |
                                   ABI::kLastPacketContinuesOnNextChunk));
  FinishChunk();
  if (!next.is_valid())
    next = AcquireChunk();
  is_exhausted_ = !next.is_valid();
  if (is_exhausted_) {
    slot_->owes_drop_marker = true;
    return DropPacket(ExhaustionReason());
  }
  EnterAs(PacketState::kContinued);
  return StartChunk(next, ABI::kFirstPacketContinuesFromPrevChunk,
                    ABI::kPacketHeaderSize);
}

uint8_t* TraceWriter::AnnotatePatch(uint8_t* patch_addr) {
  if (!IsPacketOpen() || state() == PacketState::kDropped ||
      is_out_of_patches_) {
    return nullptr;
  }
  Patch* patch = slot_->patches.TryAllocate();
  if (patch == nullptr) {
    // Some of this packet's patches are ready, and may be on their way back.
    ResolvePatches(false);
    arbiter_->FlushPendingCommitDataRequestsAndWait();
    patch = slot_->patches.TryAllocate();
  }
  if (patch == nullptr) {
    is_out_of_patches_ = true;
    return nullptr;
  }
  // The length in front of the packet will be widened.
  const size_t widening =
      state() == PacketState::kNarrow ? internal::MessageSteps::kWidening : 0;
  patch->chunk_id = chunk_id_;
  patch->offset = static_cast<uint16_t>(
      static_cast<size_t>(patch_addr - chunk_.payload_begin()) + widening);
  patch->writer_id = slot_->writer_id;
  patch->target_buffer = target_buffer_;
  patches_.PushBack(patch);
  return patch->size_field;
}

SharedMemoryABI::Chunk TraceWriter::TryAcquireChunk() {
  if (slot_ == nullptr)
    return ABI::Chunk();
  if (is_exhausted_)
    return arbiter_->SearchForChunk(slot_, kPagesToSearchWhenExhausted);
  ABI::Chunk chunk = arbiter_->TryAcquireChunk(slot_);
  if (!chunk.is_valid()) {
    // If the service is in this process, it may free chunks at once. Before a
    // writer waits, it hands over what it holds: others may wait for that.
    QueueHeldChunks();
    arbiter_->FlushPendingCommitDataRequests();
    chunk = arbiter_->TryAcquireChunk(slot_);
  }
  return chunk;
}

SharedMemoryABI::Chunk TraceWriter::AcquireChunk() {
  const ABI::Chunk chunk = TryAcquireChunk();
  // If a writer has waited in vain, it does not wait again.
  if (chunk.is_valid() || slot_ == nullptr || is_exhausted_ ||
      policy_ == BufferExhaustedPolicy::kDrop) {
    return chunk;
  }
  return arbiter_->WaitForChunk(slot_);
}

ContiguousMemoryRange TraceWriter::StartChunk(ABI::Chunk chunk,
                                              uint16_t flags,
                                              size_t header_size) {
  chunk_ = chunk;
  chunk_id_ = slot_->next_chunk_id++;
  const uint16_t packets = static_cast<uint16_t>(flags | 1);
  packets_.store(packets, std::memory_order_relaxed);
  fragment_ = chunk.payload_begin();
  ABI::WriteNoPacketBegun(fragment_);
  ABI::InitChunkForWriting(chunk, slot_->writer_id, chunk_id_, packets);
  // In a ring, a short packet stays whole: a thread that idles after it keeps
  // this chunk, but perhaps not the one before.
  constexpr size_t kMinRoomInRing = ABI::kPacketHeaderSize +
                                    proto_utils::kMaxOneByteMessageLength +
                                    kSpareBytes;
  last_begin_ = chunk.end() - (arbiter_->is_ring() ? kMinRoomInRing : kMinRoom);
  near_end_ = last_begin_;
  prefetch_end_ = nullptr;
  if (internal::kInlineEncodingMask != 0) {
    const ptrdiff_t ahead =
        std::min<ptrdiff_t>(kPrefetchDistance, last_begin_ - fragment_);
    PrefetchLines(fragment_, fragment_ + ahead);
    prefetch_end_ = last_begin_ - ahead;
    near_end_ = last_begin_ - kFewBytesLeft;
  }
  return {chunk.payload_begin() + header_size, chunk.end() - kSpareBytes};
}

void TraceWriter::WriteDropMarkerChunk(ABI::Chunk chunk) {
  slot_->owes_drop_marker = false;
  StartChunk(chunk, ABI::kFirstPacketContinuesFromPrevChunk, 0);
  WriteDropMarker();
  FinishChunk();
}

SharedMemoryABI::Chunk TraceWriter::TakeChunk() {
  // If the header announces a packet that never came, this makes it an empty
  // one.
  ABI::WriteNoPacketBegun(fragment_);
  const ABI::Chunk chunk = chunk_;
  chunk_ = ABI::Chunk();
  packets_.store(0, std::memory_order_relaxed);
  return chunk;
}

void TraceWriter::FinishChunk() {
  const uint16_t packets = packets_.load(std::memory_order_relaxed);
  const ABI::Chunk chunk = TakeChunk();
  if (patches_.empty() && num_held_chunks_ == 0)
    return arbiter_->QueueFinishedChunk(chunk, target_buffer_);
  ResolvePatches(false);
  if (num_held_chunks_ != 0 && num_held_chunks_ == max_held_chunks_)
    QueueOldestHeldChunk();
  held_chunks_[num_held_chunks_++] = {chunk, chunk_id_, packets};
  if (max_held_chunks_ == 0)
    return QueueOldestHeldChunk();
  // Perhaps no chunk waits for patches any more.
  ResolvePatches(false);
}

void TraceWriter::ResolvePatches(bool over) {
  patches_.TakeGroups([this, over](const PatchList::Group& group) {
    if (!over && !group.is_ready)
      return false;
    HeldChunk* const held = FindHeldChunk(group.chunk_id());
    if (held == nullptr && !group.is_void) {
      arbiter_->QueuePatches(group);
      return true;
    }
    group.last->next = nullptr;
    for (Patch* patch = group.first; patch != nullptr;) {
      if (!group.is_void) {
        memcpy(held->chunk.payload_begin() + patch->offset, patch->size_field,
               sizeof(patch->size_field));
      }
      Patch* const next = patch->next;
      patch->Free();
      patch = next;
    }
    return true;
  });
  while (num_held_chunks_ != 0 &&
         !patches_.NeedsPatching(held_chunks_[0].chunk_id)) {
    QueueOldestHeldChunk();
  }
}

TraceWriter::HeldChunk* TraceWriter::FindHeldChunk(ChunkID chunk_id) {
  for (size_t i = 0; i < num_held_chunks_; ++i) {
    if (held_chunks_[i].chunk_id == chunk_id)
      return &held_chunks_[i];
  }
  return nullptr;
}

void TraceWriter::QueueHeldChunks() {
  while (num_held_chunks_ != 0)
    QueueOldestHeldChunk();
}

void TraceWriter::QueueOldestHeldChunk() {
  const HeldChunk held = held_chunks_[0];
  --num_held_chunks_;
  std::copy(held_chunks_ + 1, held_chunks_ + 1 + num_held_chunks_,
            held_chunks_);
  if (patches_.NeedsPatching(held.chunk_id)) {
    held.chunk.header()->packets.store(
        static_cast<uint16_t>(held.packets | ABI::kChunkNeedsPatching),
        std::memory_order_relaxed);
  }
  arbiter_->QueueFinishedChunk(held.chunk, target_buffer_);
}

PROTOZERO_ABI_END
}  // namespace protozero
