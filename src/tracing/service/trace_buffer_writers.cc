// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The limit of a TraceBuffer's writers, and the choice of writers to forget.

#include <iterator>
#include <list>
#include <utility>

#include "src/tracing/service/trace_buffer.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

TraceBuffer::OwnerKey TraceBuffer::OwnerOf(const Sequence& sequence) {
  return {sequence.producer.uid, sequence.producer.pid};
}

void TraceBuffer::AddToOwner(SequenceList::iterator it) {
  const OwnerKey key = OwnerOf(*it);
  Owner& owner = owners_[key];
  ScopeExit undo([&] { ForgetOwnerIfUnused(key); });
  if (owner.bytes == 0)
    owners_by_bytes_.emplace(0, key);
  it->place = owner.live.insert(owner.live.end(), it);
  undo.Cancel();
  Charge(&*it, it->charge());
}

void TraceBuffer::ForgetOwnerIfUnused(const OwnerKey& key) {
  if (owners_.find(key)->second.bytes != 0)
    return;
  owners_by_bytes_.erase({0, key});
  owners_.erase(key);
}

void TraceBuffer::RemoveFromOwner(SequenceList::iterator it) {
  const OwnerKey key = OwnerOf(*it);
  Owner& owner = owners_.find(key)->second;
  (it->has_ended ? owner.ended : owner.live).erase(it->place);
  Charge(&*it, 0);
  ForgetOwnerIfUnused(key);
}

void TraceBuffer::Charge(Sequence* sequence, size_t bytes) {
  if (bytes == sequence->charged)
    return;
  const OwnerKey key = OwnerOf(*sequence);
  size_t& owner_bytes = owners_.find(key)->second.bytes;
  // Keeps the entry's memory, because there may be no other.
  auto by_bytes = owners_by_bytes_.extract({owner_bytes, key});
  owner_bytes += bytes - sequence->charged;
  writer_bytes_ += bytes - sequence->charged;
  sequence->charged = bytes;
  by_bytes.value().first = owner_bytes;
  owners_by_bytes_.insert(std::move(by_bytes));
}

void TraceBuffer::LimitWriters() {
  while (writer_bytes_ > max_writer_bytes_) {
    // Takes a writer of the process with the most memory: the oldest that has
    // ended if the buffer is a ring, otherwise the newest. A writer that has
    // not ended may come again.
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
    EndWriter(it->producer.id, it->writer_id);
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
