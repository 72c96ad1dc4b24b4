// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/trace_writer.h"

#include "protozero/internal/macros.h"

// The change from one chunk to the next by events, which are written in place.

namespace protozero {
PROTOZERO_ABI_BEGIN

bool TraceWriter::TryEnterNearEnd(ChunkID end, size_t ahead) {
  if (state() != PacketState::kNearEnd)
    return false;
  EnterAs(PacketState::kBusy);
  PacketState before = PacketState::kNearEnd;
  if (!IsReclaimed()) {
    const size_t room = kNarrowHeaderSize + ahead +
                        proto_utils::kMaxSimpleFieldEncodedSize + kSpareBytes;
    if (HasRoom() && static_cast<size_t>(chunk_.end() - fragment_) >= room) {
      PrefetchNextChunk();
      return true;
    }
    if (slot_->next_chunk_id != end) {
      PROTOZERO_DCHECK(patches_.empty() && num_held_chunks_ == 0 &&
                           !loss_is_unreported_ && !slot_->owes_drop_marker,
                       "between packets, a writer that lost none has no debts");
      arbiter_->QueueFinishedChunk(TakeChunk(), target_buffer_);
      const ABI::Chunk chunk = arbiter_->TryAcquireChunk(slot_);
      if (chunk.is_valid()) {
        stream_.Reset(StartChunk(chunk, 0, kNarrowHeaderSize));
        return true;
      }
      before = PacketState::kNone;
    }
  }
  LeaveAs(before);
  return false;
}

void TraceWriter::PrefetchNextChunk() {
  if (near_end_ == last_begin_ || !IsNearEnd())
    return;
  near_end_ = last_begin_;
  arbiter_->PrefetchQueue(chunk_);
  // The next page is usually this writer's next one. If it is not free, another
  // thread waits for a few lines, once.
  if (arbiter_->chunks_per_page_ == 1)
    PrefetchLines(chunk_.end(), chunk_.end() + kPrefetchDistance);
}

PROTOZERO_ABI_END
}  // namespace protozero
