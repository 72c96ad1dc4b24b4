// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp/thread_state.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <new>

#include "src/otlp/pipeline_state.h"
#include "src/otlp/slot_fields.h"
#include "src/otlp/wire.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {

void Counters::Reset() {
  for (Counter* counter : {&written, &no_memory, &buffer_full, &after_shutdown,
                           &not_wanted, &undecided, &repaired_texts}) {
    counter->Reset();
  }
}

bool RecordRing::Append(RecordHeader header, const uint8_t* bytes) {
  const uint64_t head = head_.load(std::memory_order_relaxed);
  const size_t size = static_cast<size_t>(SizeOf(header.size));
  const size_t offset = static_cast<size_t>(head & (size_ - 1));
  // A record does not continue at the beginning of the ring.
  const size_t filler = size_ - offset < size ? size_ - offset : 0;
  const auto is_full = [&] {
    return size_ - static_cast<size_t>(head - tail_seen_) < filler + size;
  };
  if (PROTOZERO_UNLIKELY(is_full() || IsHalfFull())) {
    tail_seen_ = tail_.load(std::memory_order_acquire);
    if (is_full())
      return false;
  }
  uint8_t* pos = data_ + offset;
  if (PROTOZERO_UNLIKELY(filler != 0)) {
    const RecordHeader filling{
        static_cast<uint32_t>(filler - sizeof(RecordHeader)), 0,
        RecordHeader::kFiller};
    memcpy(pos, &filling, sizeof(filling));
    pos = data_;
  }
  Write(pos, header, bytes);
  const uint64_t new_head = head + filler + size;
  head_.store(new_head, std::memory_order_release);
  const uint64_t wrap = (new_head | (size_ - 1)) + 1;
  fast_end_ = std::min(tail_seen_ + size_ / 2, wrap);
  return true;
}

void RecordRing::Free() {
  const Range range = Contents();
  for (uint64_t position = range.begin; position != range.end;) {
    RecordHeader header;
    memcpy(&header, At(position), sizeof(header));
    if ((header.kind & RecordHeader::kLarge) != 0) {
      LargeRecord* large;
      memcpy(&large, At(position + sizeof(header)), sizeof(large));
      free(large);
    }
    position += SizeOf(header.size);
  }
  free(data_);
}

Slot* ThreadState::TakeSlotSlowPath() {
  free_slots_ = returned_slots_.TakeAll();
  if (Slot* const slot = free_slots_) {
    free_slots_ = slot->next;
    return slot;
  }
  void* const memory = pipeline_->Allocate(sizeof(Slot));
  if (memory == nullptr)
    return nullptr;
  Slot* const slot = new (memory) Slot;
  slot->owner = this;
  slot->size_class = 0;
  num_slots_.fetch_add(1, std::memory_order_relaxed);
  return slot;
}

UndecidedTrace* ThreadState::TakeUndecided() {
  if (free_traces_ == nullptr)
    free_traces_ = returned_traces_.TakeAll();
  if (UndecidedTrace* const trace = free_traces_) {
    free_traces_ = trace->next;
    return trace;
  }
  void* const memory = pipeline_->Allocate(sizeof(UndecidedTrace));
  if (memory == nullptr)
    return nullptr;
  UndecidedTrace* const trace = new (memory) UndecidedTrace;
  trace->owner = this;
  ++num_traces_;
  return trace;
}

void CountNoMemory(PipelineState* pipeline,
                   ThreadState* thread,
                   Signal signal) {
  if (thread != nullptr) {
    thread->counters(signal).written.Add(1);
    thread->counters(signal).no_memory.Add(1);
    return;
  }
  Counters& shared = pipeline->other_counters[static_cast<int>(signal)];
  shared.written.AddShared(1);
  shared.no_memory.AddShared(1);
}

void ThreadState::GiveBackFrom(ThreadState* thread, Slot* slot) {
  if (thread != nullptr)
    return thread->GiveBack(slot);
  if (slot->scope->pipeline->IsShortOfMemory())
    return FreeSlot(slot);
  slot->owner->returned_slots_.Push(slot);
}

void ThreadState::GiveBackFrom(ThreadState* thread, UndecidedTrace* trace) {
  if (thread != nullptr)
    return thread->GiveBack(trace);
  trace->owner->returned_traces_.Push(trace);
}

void ThreadState::GiveBack(Slot* slot) {
  // After a time with many open spans, other threads need what those took.
  if (PROTOZERO_UNLIKELY(pipeline_->IsShortOfMemory())) {
    FreeSlot(slot);
    while (Slot* const unused = free_slots_) {
      free_slots_ = unused->next;
      FreeSlot(unused);
    }
    return FreeBlocks();
  }
  if (PROTOZERO_UNLIKELY(slot->size_class != 0)) {
    GiveBackBlock(slot->begin, slot->size_class);
    slot->size_class = 0;
  }
  if (PROTOZERO_UNLIKELY(slot->owner != this))
    return slot->owner->returned_slots_.Push(slot);
  slot->next = free_slots_;
  free_slots_ = slot;
}

void ThreadState::GiveBack(UndecidedTrace* trace) {
  if (trace->owner != this)
    return trace->owner->returned_traces_.Push(trace);
  trace->next = free_traces_;
  free_traces_ = trace;
}

void ThreadState::Commit(Slot* slot) {
  Counters& count = counters(slot->signal);
  if (PROTOZERO_UNLIKELY(slot->repaired_texts != 0))
    count.repaired_texts.Add(slot->repaired_texts);
  if (PROTOZERO_UNLIKELY(
          pipeline_->is_shut_down.load(std::memory_order_relaxed))) {
    count.after_shutdown.Add(1);
    return;
  }
  const size_t size = static_cast<size_t>(slot->pos - slot->begin);
  const RecordHeader header{static_cast<uint32_t>(size), slot->scope->number,
                            static_cast<uint16_t>(slot->signal)};
  // Large ones would fill the buffer, and waste its end.
  const bool is_written = PROTOZERO_LIKELY(size <= ring_.size() / 8)
                              ? ring_.Append(header, slot->begin)
                              : AppendLarge(header, *slot);
  if (PROTOZERO_UNLIKELY(!is_written))
    count.buffer_full.Add(1);
  if (PROTOZERO_UNLIKELY(ring_.IsHalfFull()))
    pipeline_->Wake();
}

bool ThreadState::AppendLarge(RecordHeader header, const Slot& slot) {
  const size_t size = header.size;
  void* const memory = pipeline_->Allocate(sizeof(LargeRecord) + size);
  if (memory == nullptr)
    return false;
  LargeRecord* const record = new (memory) LargeRecord{size};
  memcpy(record->bytes(), slot.begin, size);
  header.kind |= RecordHeader::kLarge;
  header.size = sizeof(record);
  if (ring_.Append(header, reinterpret_cast<const uint8_t*>(&record)))
    return true;
  pipeline_->Free(memory, sizeof(LargeRecord) + size);
  return false;
}

uint8_t* ThreadState::TakeBlock(uint8_t size_class) {
  if (size_class >= kNumClasses)
    return nullptr;
  if (Block* const block = free_blocks_[size_class]) {
    free_blocks_[size_class] = block->next;
    return reinterpret_cast<uint8_t*>(block);
  }
  const size_t size = Slot::kInlineSize << size_class;
  void* memory = pipeline_->Allocate(size);
  if (memory == nullptr) {
    FreeBlocks();
    memory = pipeline_->Allocate(size);
  }
  return static_cast<uint8_t*>(memory);
}

void ThreadState::GiveBackBlock(uint8_t* block, uint8_t size_class) {
  free_blocks_[size_class] = new (block) Block{free_blocks_[size_class]};
}

void ThreadState::FreeSlot(Slot* slot) {
  ThreadState* const owner = slot->owner;
  if (slot->size_class != 0)
    owner->pipeline_->Free(slot->begin, Slot::kInlineSize << slot->size_class);
  owner->num_slots_.fetch_sub(1, std::memory_order_relaxed);
  owner->pipeline_->Free(slot, sizeof(Slot));
}

// Gives up the blocks that no slot uses, so that others of another size, or of
// other threads, have room.
void ThreadState::FreeBlocks() {
  for (uint8_t size_class = 1; size_class < kNumClasses; ++size_class) {
    while (Block* const block = free_blocks_[size_class]) {
      free_blocks_[size_class] = block->next;
      pipeline_->Free(block, Slot::kInlineSize << size_class);
    }
  }
}

bool ThreadState::IsIdle() {
  for (Slot* slot = returned_slots_.TakeAll(); slot != nullptr;) {
    Slot* const after = slot->next;
    slot->next = free_slots_;
    free_slots_ = slot;
    slot = after;
  }
  for (UndecidedTrace* trace = returned_traces_.TakeAll(); trace != nullptr;) {
    UndecidedTrace* const after = trace->next;
    trace->next = free_traces_;
    free_traces_ = trace;
    trace = after;
  }
  size_t slots = 0, traces = 0;
  for (const Slot* slot = free_slots_; slot != nullptr; slot = slot->next)
    ++slots;
  for (auto* trace = free_traces_; trace != nullptr; trace = trace->next)
    ++traces;
  return slots == num_slots_.load(std::memory_order_relaxed) &&
         traces == num_traces_;
}

void ThreadState::FreeMemory() {
  while (Slot* const slot = free_slots_) {
    free_slots_ = slot->next;
    if (slot->size_class != 0)
      free(slot->begin);
    free(slot);
  }
  while (UndecidedTrace* const trace = free_traces_) {
    free_traces_ = trace->next;
    free(trace);
  }
  FreeBlocks();
  ring_.Free();
}

void AddLongTextField(Slot* slot, uint8_t tag, std::string_view text) {
  uint8_t* pos = RoomFor(slot, kMaxHeader + text.size());
  ValueWriter writer{SIZE_MAX};
  if (PROTOZERO_UNLIKELY(pos == nullptr)) {
    // It is cut, which the record says.
    ++slot->dropped_attributes;
    pos = slot->pos;
    const size_t room = static_cast<size_t>(slot->end - pos);
    if (room <= kMaxHeader)
      return;
    writer.text_limit = room - kMaxHeader;
  }
  slot->pos = writer.PutText(pos, tag, text);
  slot->repaired_texts += writer.repaired;
}

bool Grow(Slot* slot, size_t size) {
  const size_t used = static_cast<size_t>(slot->pos - slot->begin);
  const PipelineState& pipeline = *slot->scope->pipeline;
  const size_t limit = pipeline.options.record_size_limit;
  if (size > limit || used > limit - size)
    return false;
  uint8_t size_class = slot->size_class;
  while ((Slot::kInlineSize << size_class) < used + size + Slot::kEndRoom)
    ++size_class;
  ThreadState* const thread = slot->scope->pipeline->Thread();
  uint8_t* const block =
      thread == nullptr ? nullptr : thread->TakeBlock(size_class);
  if (block == nullptr)
    return false;
  memcpy(block, slot->begin, used);
  if (slot->size_class != 0)
    thread->GiveBackBlock(slot->begin, slot->size_class);
  slot->size_class = size_class;
  slot->begin = block;
  slot->pos = block + used;
  slot->end =
      block +
      std::min((Slot::kInlineSize << size_class) - Slot::kEndRoom, limit);
  slot->fast_end = pipeline.has_slow_attributes ? block : slot->end;
  return true;
}

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
