// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp/undecided_trace.h"

#include <new>

#include "src/otlp/pipeline_state.h"
#include "src/otlp/random_ids.h"
#include "src/otlp/thread_state.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {
namespace {

using Decision = UndecidedTraces::Decision;

// The decisions: addresses that no slot has.
Slot* const kKept =
    reinterpret_cast<Slot*>(static_cast<uintptr_t>(Decision::kKept));
Slot* const kNotWanted =
    reinterpret_cast<Slot*>(static_cast<uintptr_t>(Decision::kNotWanted));
Slot* const kEvicted =
    reinterpret_cast<Slot*>(static_cast<uintptr_t>(Decision::kEvicted));

bool IsDecision(const Slot* ended) {
  return ended == kKept || ended == kNotWanted || ended == kEvicted;
}

size_t MemoryOf(const Slot& slot) {
  return sizeof(Slot) +
         (slot.size_class == 0 ? 0 : Slot::kInlineSize << slot.size_class);
}

// Counts and gives back a span that is lost, on a thread that has no state.
void Lose(Slot* slot) {
  slot->scope->pipeline->other_counters[0].undecided.AddShared(1);
  ThreadState::GiveBackFrom(nullptr, slot);
}

void Follow(ThreadState* thread, Slot* slot, const Slot* decision) {
  if (thread == nullptr)
    return Lose(slot);
  if (decision == kKept) {
    thread->Commit(slot);
  } else if (decision == kNotWanted) {
    thread->counters(Signal::kSpans).not_wanted.Add(1);
  } else {
    thread->counters(Signal::kSpans).undecided.Add(1);
  }
  thread->GiveBack(slot);
}

bool IsChosenByChance(uint64_t one_in) {
  // A span may end on a thread that has begun none.
  if (!IsRandomSeeded())
    SeedRandom();
  uint64_t number[1];
  MakeRandom(number);
  return number[0] % one_in == 0;
}

// True if the end of the root will not change that the trace is kept.
bool IsWantedAnyway(const KeepRule& rule, const UndecidedTrace& trace) {
  return trace.is_wanted.load(std::memory_order_relaxed) ||
         (rule.sampled_from_outside && trace.is_sampled_outside);
}

bool IsWanted(const KeepRule& rule,
              const UndecidedTrace& trace,
              uint64_t duration) {
  return IsWantedAnyway(rule, trace) ||
         (rule.slower_than_ns != 0 && duration > rule.slower_than_ns) ||
         (rule.one_in != 0 && IsChosenByChance(rule.one_in));
}

}  // namespace

bool UndecidedTraces::Init(size_t max_bytes, size_t memory_limit) {
  max_bytes_ = max_bytes;
  size_t count = kMinTraces;
  while (count <= memory_limit / kBytesOfTrace / 2 && count < kMaxTraces)
    count *= 2;
  mask_ = count - 1;
  entries_ = new (std::nothrow) Entry[count];
  return entries_ != nullptr;
}

UndecidedTraces::~UndecidedTraces() {
  delete[] entries_;
}

UndecidedTrace* UndecidedTraces::Begin(ThreadState* thread,
                                       bool is_sampled_outside) {
  UndecidedTrace* const trace =
      entries_ == nullptr ? nullptr : thread->TakeUndecided();
  if (trace == nullptr)
    return nullptr;
  trace->is_wanted.store(false, std::memory_order_relaxed);
  trace->is_sampled_outside = is_sampled_outside;
  trace->ended.store(nullptr, std::memory_order_relaxed);
  const uint32_t number = trace->number();
  trace->number_and_refs.store(uint64_t{number} << 32 | 1,
                               std::memory_order_release);

  const uint64_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
  // The place in the ring may be that of a trace which is undecided still.
  while (ticket - oldest_.load(std::memory_order_relaxed) > mask_ &&
         EvictOldest(thread)) {
  }
  Entry& entry = entries_[ticket & mask_];
  entry.ticket.store(0, std::memory_order_release);
  entry.trace.store(trace, std::memory_order_release);
  entry.number.store(number, std::memory_order_release);
  entry.ticket.store(ticket + 1, std::memory_order_release);
  return trace;
}

void UndecidedTraces::Decide(ThreadState* thread,
                             UndecidedTrace* trace,
                             Slot* decision) {
  Slot* ended = trace->ended.load(std::memory_order_relaxed);
  do {
    if (IsDecision(ended))
      return;
  } while (!trace->ended.compare_exchange_weak(
      ended, decision, std::memory_order_acq_rel, std::memory_order_relaxed));
  const uint64_t hash = HashOf(trace, trace->number());
  entries_[hash >> 32 & mask_].decision.store(
      (hash & ~kDecisionBits) | reinterpret_cast<uintptr_t>(decision),
      std::memory_order_relaxed);
  // In the order in which they ended.
  Slot* first = nullptr;
  size_t bytes = 0;
  while (ended != nullptr) {
    Slot* const next = ended->next;
    ended->next = first;
    first = ended;
    ended = next;
    bytes += MemoryOf(*first);
  }
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  while (first != nullptr) {
    Slot* const next = first->next;
    Follow(thread, first, decision);
    first = next;
  }
}

uint64_t UndecidedTraces::HashOf(const UndecidedTrace* trace, uint32_t number) {
  uint64_t hash = reinterpret_cast<uintptr_t>(trace) ^ uint64_t { number }
                                                           << 40;
  hash *= 0x9e3779b97f4a7c15;
  hash ^= hash >> 32;
  return hash * 0xff51afd7ed558ccd;
}

UndecidedTraces::Decision UndecidedTraces::DecisionOf(
    const UndecidedTrace* trace,
    uint32_t number) const {
  const uint64_t hash = HashOf(trace, number);
  const uint64_t found =
      entries_[hash >> 32 & mask_].decision.load(std::memory_order_relaxed);
  return (found ^ hash) <= kDecisionBits ? Decision{found & kDecisionBits}
                                         : Decision::kUnknown;
}

void UndecidedTraces::Unref(ThreadState* thread, UndecidedTrace* trace) {
  const uint64_t before =
      trace->number_and_refs.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & UINT32_MAX) != 1)
    return;
  trace->number_and_refs.store(uint64_t{trace->number() + uint32_t{1}} << 32,
                               std::memory_order_relaxed);
  ThreadState::GiveBackFrom(thread, trace);
}

void UndecidedTraces::GiveUp(ThreadState* thread, UndecidedTrace* trace) {
  const KeepRule& rule = trace->owner->pipeline()->keep_rule;
  Decide(thread, trace, IsWantedAnyway(rule, *trace) ? kKept : kEvicted);
}

bool UndecidedTraces::EvictOldest(ThreadState* thread) {
  uint64_t ticket = oldest_.load(std::memory_order_relaxed);
  do {
    if (ticket == next_.load(std::memory_order_relaxed))
      return false;
  } while (!oldest_.compare_exchange_weak(ticket, ticket + 1,
                                          std::memory_order_relaxed));
  // The thread that began it may not have written it yet: then it cannot be
  // evicted, and its spans find no room when they end.
  Entry& entry = entries_[ticket & mask_];
  if (entry.ticket.load(std::memory_order_acquire) != ticket + 1)
    return true;
  UndecidedTrace* const trace = entry.trace.load(std::memory_order_acquire);
  const uint32_t number = entry.number.load(std::memory_order_acquire);
  if (entry.ticket.load(std::memory_order_relaxed) != ticket + 1 ||
      !trace->Ref(number)) {
    return true;
  }
  GiveUp(thread, trace);
  Unref(thread, trace);
  return true;
}

void UndecidedTraces::Abandon(Slot* slot) {
  if (slot->is_root)
    Decide(nullptr, slot->undecided, kEvicted);
  Unref(nullptr, slot->undecided);
}

void UndecidedTraces::EvictAll(ThreadState* thread) {
  while (EvictOldest(thread)) {
  }
}

void UndecidedTraces::End(ThreadState* thread, Slot* slot, uint64_t duration) {
  UndecidedTrace* const trace = slot->undecided;
  const KeepRule& rule = thread->pipeline()->keep_rule;
  const bool is_root = slot->is_root;
  if (slot->is_wanted || (rule.errors && slot->status == StatusCode::kError))
    trace->is_wanted.store(true, std::memory_order_relaxed);
  const size_t bytes = MemoryOf(*slot);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  Slot* ended = trace->ended.load(std::memory_order_acquire);
  do {
    if (IsDecision(ended)) {
      bytes_.fetch_sub(bytes, std::memory_order_relaxed);
      Follow(thread, slot, ended);
      return Unref(thread, trace);
    }
    slot->next = ended;
  } while (!trace->ended.compare_exchange_weak(
      ended, slot, std::memory_order_acq_rel, std::memory_order_acquire));
  if (is_root) {
    Decide(thread, trace,
           IsWanted(rule, *trace, duration) ? kKept : kNotWanted);
  } else {
    while (bytes_.load(std::memory_order_relaxed) > max_bytes_ &&
           EvictOldest(thread)) {
    }
    // It may be the oldest one, but not in the list of them.
    if (bytes_.load(std::memory_order_relaxed) > max_bytes_)
      GiveUp(thread, trace);
  }
  Unref(thread, trace);
}

void UndecidedTraces::Reset() {
  const uint64_t end = next_.load();
  for (uint64_t ticket = oldest_.load(); ticket != end; ++ticket) {
    Entry& entry = entries_[ticket & mask_];
    UndecidedTrace* const trace = entry.trace.load();
    if (entry.ticket.load() == ticket + 1 &&
        trace->number() == entry.number.load() &&
        !IsDecision(trace->ended.load())) {
      trace->ended.store(nullptr);
    }
  }
  bytes_.store(0);
}

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
