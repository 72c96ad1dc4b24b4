// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <iterator>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "src/tracing/service/trace_buffer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

uint64_t TraceBuffer::OldestTime() const {
  return chunks_.empty() || stats_.chunks_overwritten == 0
             ? 0
             : chunks_.front().time_ms;
}

void TraceBuffer::ForgetBefore(uint64_t time_ms) {
  const bool forgets_overwritten = HasOverwrittenOnlyBefore(time_ms);
  if (forgets_overwritten)
    ForgetOverwritten();
  for (auto it = sequences_.begin(); it != sequences_.end();) {
    const auto sequence = it++;
    sequence->beginning.is_passed = false;
    if (forgets_overwritten)
      BeginAt(sequence->lost_until, &*sequence);
    ForgetBefore(time_ms, &*sequence);
    if (!EraseIfDone(sequence))
      Charge(&*sequence, sequence->charge());
  }
}

void TraceBuffer::ForgetBefore(uint64_t time_ms, Sequence* sequence) {
  ChunkMap& chunks = sequence->chunks;
  auto first_to_keep = std::find_if(
      chunks.begin(), chunks.end(),
      [&](const auto& entry) { return entry.second->time_ms >= time_ms; });
  if (first_to_keep != chunks.end()) {
    sequence->beginning.place = {first_to_keep->first, 0};
    // Its packets refer to what the writer said when it last started over.
    const auto beginning = std::find_if(
        std::make_reverse_iterator(first_to_keep), chunks.rend(),
        [](const auto& entry) { return BeginsAnew(*entry.second); });
    if (beginning != chunks.rend())
      first_to_keep = std::prev(beginning.base());
  }
  while (chunks.begin() != first_to_keep)
    WithdrawFirst(sequence);
}

void TraceBuffer::WithdrawChunk(ChunkMap::iterator it) {
  const Chunk& chunk = *it->second;
  Sequence& sequence = *chunk.sequence;
  sequence.ledger.TakeBack(chunk.account, 0);
  --stats_.chunks_written;
  --sequence.chunks_written;
  stats_.bytes_written -= chunk.written_bytes();
  sequence.bytes_written -= chunk.written_bytes();
  RemoveChunk(it);
}

void TraceBuffer::WithdrawFirst(Sequence* sequence) {
  const auto first = sequence->chunks.begin();
  const uint64_t next = first->first + 1;
  WithdrawChunk(first);
  sequence->lacks_state = true;
  BeginAt(next, sequence);
}

void TraceBuffer::ForgetOverwritten() {
  for (Sequence& sequence : sequences_)
    sequence.ledger.ForgetOverwritten();
  for (TraceWriterStats& writer : ended_writers_) {
    PacketSums::Forget(&writer.lost, &writer.packets_written,
                       &writer.packets_begun);
  }
  ended_sums_.ForgetOverwritten();
  without_writer_.ForgetOverwritten();
}

void TraceBuffer::BeginAt(uint64_t position, Sequence* sequence) {
  if (position <= sequence->next_position)
    return;
  sequence->GoTo(position, 0, 0);
  const auto first = sequence->chunks.begin();
  if (first == sequence->chunks.end() || first->first != position ||
      !first->second->continues_from_previous) {
    return;
  }
  // The rest of a packet is no loss, either.
  size_t offset = 0;
  ConstBytes fragment;
  if (ReadFragment(first->second->payload, &offset, &fragment) ==
      FragmentKind::kPacket) {
    sequence->GoTo(position, 1, offset);
  }
}

bool TraceBuffer::BeginsAnew(const Chunk& chunk) {
  using trace::TracePacket;
  size_t offset = 0;
  for (uint16_t i = 0; i < chunk.num_packets; ++i) {
    ConstBytes fragment;
    if (ReadFragment(chunk.payload, &offset, &fragment) !=
        FragmentKind::kPacket) {
      return false;
    }
    if (i == 0 && chunk.continues_from_previous)
      continue;
    const uint32_t flags =
        ProtoDecoder(fragment)
            .FindField(TracePacket::kSequenceFlagsFieldNumber)
            .as_uint32();
    if ((flags & TracePacket::SEQ_INCREMENTAL_STATE_CLEARED) != 0)
      return true;
  }
  return false;
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
