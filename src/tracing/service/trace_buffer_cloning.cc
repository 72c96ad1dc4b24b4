// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Copies a TraceBuffer while it is in use.

#include <algorithm>
#include <iterator>

#include "src/tracing/service/trace_buffer.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

void TraceBuffer::BeginClone(uint64_t begin_ms, TraceBuffer* clone) {
  ++num_clones_;
  for (Sequence& sequence : sequences_)
    sequence.clone = clone->AddClone(sequence);
  clone->stats_ = stats_;
  clone->ended_writers_ = ended_writers_;
  clone->ended_sums_ = ended_sums_;
  clone->without_writer_ = without_writer_;
  cloning_ = Cloning{clone, begin_ms, chunks_.begin(), chunks_.size(),
                     clone->sequences_.begin()};
}

TraceBuffer::SequenceList::iterator TraceBuffer::AddClone(
    const SequenceState& sequence) {
  SequenceList added;
  const auto it = added.emplace(added.end());
  static_cast<SequenceState&>(*it) = sequence;
  AddToOwner(it);
  if (it->has_ended) {
    Owner& owner = owners_.find(OwnerOf(*it))->second;
    owner.ended.splice(owner.ended.end(), owner.live, it->place);
  }
  sequences_.splice(sequences_.end(), added);
  return it;
}

void TraceBuffer::AddClone(const Chunk& chunk, uint64_t begin_ms) {
  const SequenceList::iterator sequence = chunk.sequence->clone;
  ChunkList added;
  AddMemory(chunk.payload.size, &added);
  sequence->chunks.emplace_hint(sequence->chunks.end(), chunk.position,
                                added.begin());
  Chunk& copy = added.front();
  static_cast<ChunkProperties&>(copy) = chunk;
  copy.sequence = sequence;
  std::copy_n(chunk.payload.data, chunk.payload.size, copy.memory.get());
  copy.payload = ConstBytes(copy.memory.get(), chunk.payload.size);
  copy.last_clone = num_clones_;
  used_bytes_ += copy.charge();
  chunks_.splice(chunks_.end(), added);
  if (copy.time_ms >= begin_ms)
    sequence->first_wanted = std::min(sequence->first_wanted, copy.position);
  else if (BeginsAnew(copy))
    sequence->last_beginning =
        std::max(sequence->last_beginning, copy.position);
}

bool TraceBuffer::DropUnwanted(size_t max_bytes, SequenceList::iterator* next) {
  size_t bytes = 0;
  while (*next != sequences_.end()) {
    Sequence& sequence = **next;
    ChunkMap& chunks = sequence.chunks;
    while (!chunks.empty() && bytes < max_bytes &&
           chunks.begin()->first < sequence.first_to_keep()) {
      bytes += chunks.begin()->second->charge();
      DropChunk(chunks.begin());
    }
    if (bytes >= max_bytes)
      return true;
    bytes += kWriterOverhead;
    const SequenceList::iterator done = (*next)++;
    CutAtGap(&*done);
    if (!EraseIfDone(done))
      Charge(&*done, done->charge());
  }
  return false;
}

void TraceBuffer::CutAtGap(Sequence* sequence) {
  if (sequence->has_ended)
    return;
  ChunkMap& chunks = sequence->chunks;
  // A writer commits its chunks in order, so nothing is missing before a chunk
  // that was committed. What is missing before |lost_until| is lost.
  auto cut = chunks.end();
  for (auto it = chunks.end(); it != chunks.begin();) {
    --it;
    if (!it->second->is_scraped || it->first <= sequence->lost_until ||
        it == chunks.begin()) {
      break;
    }
    const auto previous = std::prev(it);
    if (previous->first + 1 != it->first || !previous->second->is_complete)
      cut = it;
  }
  while (cut != chunks.end()) {
    const Chunk& chunk = *cut->second;
    sequence->ledger.TakeBack(chunk.account, 0);
    --stats_.chunks_written;
    --sequence->chunks_written;
    stats_.bytes_written -= chunk.written_bytes();
    sequence->bytes_written -= chunk.written_bytes();
    RemoveChunk(cut++);
  }
}

void TraceBuffer::CloneOnce(Chunk* chunk) {
  if (chunk->last_clone == num_clones_)
    return;
  chunk->last_clone = num_clones_;
  --cloning_->num_left;
  cloning_->has_failed =
      cloning_->has_failed || !RunsInMemory([&] {
        cloning_->clone->AddClone(*chunk, cloning_->begin_ms);
      });
}

bool TraceBuffer::CloneSome(size_t max_bytes) {
  size_t bytes = 0;
  for (; cloning_->num_left != 0 && bytes < max_bytes; ++cloning_->next) {
    bytes += cloning_->next->charge();
    CloneOnce(&*cloning_->next);
  }
  return cloning_->num_left != 0 ||
         cloning_->clone->DropUnwanted(max_bytes, &cloning_->next_sequence);
}

bool TraceBuffer::EndClone() {
  const bool is_whole =
      cloning_.has_value() && cloning_->num_left == 0 && !cloning_->has_failed;
  cloning_.reset();
  return is_whole;
}

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero
