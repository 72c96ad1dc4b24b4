// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// How many writers a TraceBuffer knows, and whose are forgotten if they are too
// many.

#include <iterator>

#include "src/tracing/trace_buffer.h"
#include "src/tracing/trace_buffer_sequence.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

TraceBuffer::OwnerKey TraceBuffer::OwnerOf(const Sequence& sequence) {
  return {sequence.producer.uid, sequence.producer.pid};
}

void TraceBuffer::AddToOwner(SequenceList::iterator it) {
  Owner& owner = owners_[OwnerOf(*it)];
  it->place = owner.live.insert(owner.live.end(), it);
  Charge(&*it, it->charge());
}

void TraceBuffer::RemoveFromOwner(SequenceList::iterator it) {
  const auto owner = owners_.find(OwnerOf(*it));
  (it->has_ended ? owner->second.ended : owner->second.live).erase(it->place);
  Charge(&*it, 0);
  if (owner->second.bytes == 0)
    owners_.erase(owner);
}

void TraceBuffer::Charge(Sequence* sequence, size_t bytes) {
  if (bytes == sequence->charged)
    return;
  const OwnerKey key = OwnerOf(*sequence);
  size_t& owner_bytes = owners_.find(key)->second.bytes;
  owners_by_bytes_.erase({owner_bytes, key});
  owner_bytes += bytes - sequence->charged;
  writer_bytes_ += bytes - sequence->charged;
  sequence->charged = bytes;
  if (owner_bytes != 0)
    owners_by_bytes_.emplace(owner_bytes, key);
}

void TraceBuffer::LimitWriters() {
  while (writer_bytes_ > max_writer_bytes_) {
    // Of the process with the most. In a ring the oldest goes that has ended,
    // otherwise the last to come; one that has not ended might come again.
    const Owner& owner =
        owners_.find(owners_by_bytes_.rbegin()->second)->second;
    const bool takes_ended =
        owner.live.empty() ||
        (policy_ == Policy::kRingBuffer && !owner.ended.empty());
    const SequenceList::iterator sequence = !takes_ended ? owner.live.back()
                                            : policy_ == Policy::kRingBuffer
                                                ? owner.ended.front()
                                                : owner.ended.back();
    Forget(sequence);
  }
}

void TraceBuffer::Forget(SequenceList::iterator it) {
  while (!it->chunks.empty())
    DropChunk(it->chunks.begin());
  if (it->has_ended)
    EraseIfDone(it);
  else
    EndWriter(it->producer.id, it->stats.writer_id);
}

PROTOZERO_ABI_END
}  // namespace protozero
