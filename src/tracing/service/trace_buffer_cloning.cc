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

void TraceBuffer::BeginClone(const CloneRange& range, TraceBuffer* clone) {
  const bool forgets_overwritten =
      range.begin_ms != 0 && HasOverwrittenOnlyBefore(range.begin_ms);
  ++num_clones_;
  for (Sequence& sequence : sequences_) {
    sequence.clone = clone->AddClone(sequence);
    Sequence& copy = *sequence.clone;
    copy.beginning = SequenceBeginning();
    copy.beginning.is_passed =
        range.begin_ms == 0 &&
        (!range.is_next || copy.cloned_until.position == 0);
    if (range.is_next)
      copy.clone_end = sequence.clone_end = EndOf(&sequence);
    else
      copy.cloned_until = FragmentPlace();
    copy.beginning.place = copy.cloned_until;
  }
  clone->stats_ = stats_;
  clone->ended_writers_ = ended_writers_;
  clone->ended_sums_ = ended_sums_;
  clone->without_writer_ = without_writer_;
  if (forgets_overwritten)
    clone->ForgetOverwritten();
  cloning_ =
      Cloning{clone,           range,          forgets_overwritten,
              chunks_.begin(), chunks_.size(), clone->sequences_.begin()};
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

void TraceBuffer::AddClone(const Chunk& chunk, const CloneRange& range) {
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
  const bool is_wanted = range.begins_at_last
                             ? copy.position >= sequence->cloned_until.position
                             : copy.time_ms >= range.begin_ms;
  if (is_wanted)
    sequence->first_wanted = std::min(sequence->first_wanted, copy.position);
  else if (BeginsAnew(copy))
    sequence->last_beginning =
        std::max(sequence->last_beginning, copy.position);
}

bool TraceBuffer::DropUnwanted(size_t max_bytes, Cloning* cloning) {
  size_t bytes = 0;
  SequenceList::iterator* const next = &cloning->next_sequence;
  while (*next != sequences_.end()) {
    Sequence& sequence = **next;
    ChunkMap& chunks = sequence.chunks;
    if (cloning->forgets_overwritten)
      BeginAt(sequence.lost_until, &sequence);
    const FragmentPlace first_wanted = {sequence.first_wanted, 0};
    if (sequence.first_wanted != UINT64_MAX &&
        sequence.beginning.place <= first_wanted) {
      sequence.beginning.place = first_wanted;
    }
    while (!chunks.empty() && bytes < max_bytes &&
           chunks.begin()->first < sequence.first_to_keep()) {
      bytes += chunks.begin()->second->charge();
      WithdrawFirst(&sequence);
    }
    if (bytes >= max_bytes)
      return true;
    bytes += kWriterOverhead;
    const SequenceList::iterator done = (*next)++;
    if (cloning->range.is_next)
      CutAtEnd(&*done);
    else
      CutAtGap(&*done);
    if (!EraseIfDone(done))
      Charge(&*done, done->charge());
  }
  return false;
}

TraceBuffer::ChunkMap::iterator TraceBuffer::FindGap(Sequence* sequence) {
  ChunkMap& chunks = sequence->chunks;
  // A writer commits its chunks in order, so nothing is missing before a chunk
  // that was committed. What is missing before |lost_until| is lost.
  auto gap = chunks.end();
  for (auto it = chunks.end(); it != chunks.begin();) {
    --it;
    if (!it->second->is_scraped || it->first <= sequence->lost_until ||
        it == chunks.begin()) {
      break;
    }
    const auto previous = std::prev(it);
    if (previous->first + 1 != it->first || !previous->second->is_complete)
      gap = it;
  }
  return gap;
}

void TraceBuffer::CutAtGap(Sequence* sequence) {
  if (sequence->has_ended)
    return;
  for (auto cut = FindGap(sequence); cut != sequence->chunks.end();)
    WithdrawChunk(cut++);
}

FragmentPlace TraceBuffer::EndOf(Sequence* sequence) {
  if (sequence->has_ended)
    return {UINT64_MAX, 0};
  ChunkMap& chunks = sequence->chunks;
  if (chunks.empty())
    return sequence->cloned_until;
  // The first packet that is not whole: its patches have not come, or it goes
  // on in a chunk that is not here.
  const auto gap = FindGap(sequence);
  auto it = chunks.lower_bound(sequence->cloned_until.position);
  if (it == chunks.end() || (gap != chunks.end() && it->first >= gap->first))
    it = std::prev(gap);
  while (std::next(it) != gap && !it->second->needs_patching)
    ++it;
  const uint16_t num_packets = it->second->num_packets;
  if (!it->second->needs_patching && !it->second->continues_on_next)
    return {it->first, num_packets};
  // It may have begun in an earlier chunk.
  while (it->second->num_packets == 1 && it->second->continues_from_previous &&
         it != chunks.begin() && std::prev(it)->first + 1 == it->first) {
    --it;
  }
  return {it->first, static_cast<uint16_t>(
                         std::max<uint16_t>(it->second->num_packets, 1) - 1)};
}

void TraceBuffer::CutAtEnd(Sequence* sequence) {
  const FragmentPlace end = sequence->clone_end;
  ChunkMap& chunks = sequence->chunks;
  for (auto it = chunks.upper_bound(end.position); it != chunks.end();)
    WithdrawChunk(it++);
  const auto last = chunks.find(end.position);
  if (last == chunks.end() || last->second->num_packets <= end.fragment)
    return;
  Chunk& chunk = *last->second;
  // One fragment is left out: the next clone has its packet.
  if ((end.fragment != 0 || !chunk.continues_from_previous) &&
      chunk.account.num_left() != 0) {
    sequence->ledger.Withdraw();
    --chunk.account.begun;
  }
  chunk.num_packets = end.fragment;
  chunk.needs_patching = false;
  chunk.continues_on_next = false;
  chunk.is_complete = true;
  chunk.open_packet = OpenPacket::kNone;
}

void TraceBuffer::MarkCloned() {
  for (Sequence& sequence : sequences_) {
    if (sequence.cloned_until <= sequence.clone_end)
      sequence.cloned_until = sequence.clone_end;
  }
}

void TraceBuffer::CloneOnce(Chunk* chunk) {
  if (chunk->last_clone == num_clones_)
    return;
  chunk->last_clone = num_clones_;
  --cloning_->num_left;
  cloning_->has_failed = cloning_->has_failed || !RunsInMemory([&] {
                           cloning_->clone->AddClone(*chunk, cloning_->range);
                         });
}

bool TraceBuffer::CloneSome(size_t max_bytes) {
  size_t bytes = 0;
  for (; cloning_->num_left != 0 && bytes < max_bytes; ++cloning_->next) {
    bytes += cloning_->next->charge();
    CloneOnce(&*cloning_->next);
  }
  return cloning_->num_left != 0 ||
         cloning_->clone->DropUnwanted(max_bytes, &*cloning_);
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
