// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_UNDECIDED_TRACE_H_
#define SRC_OTLP_UNDECIDED_TRACE_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "src/otlp/slot.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {

// A trace that a KeepRule has not decided, or of which spans are open: its
// ended spans, in their slots. It is never freed while the pipeline lives, so
// that a context may point to it for longer; |number| says if it is still the
// same trace.
//
//                 root ends            last span ends
//   undecided ---------------> kept -----------------> (free, number + 1)
//       |  '-----------------> not wanted ----^ ^
//       '-- oldest, no room -> evicted ---------'
struct UndecidedTrace {
  // Takes part in the trace with that number. False if it is over.
  bool Ref(uint32_t trace_number) {
    uint64_t state = number_and_refs.load(std::memory_order_acquire);
    do {
      // The decision is known then: DecisionOf() has it.
      if (state >> 32 != trace_number || (state & UINT32_MAX) == 0)
        return false;
    } while (!number_and_refs.compare_exchange_weak(state, state + 1,
                                                    std::memory_order_acquire,
                                                    std::memory_order_acquire));
    return true;
  }
  uint32_t number() const {
    return static_cast<uint32_t>(
        number_and_refs.load(std::memory_order_relaxed) >> 32);
  }

  UndecidedTrace* next = nullptr;
  ThreadState* owner = nullptr;
  std::atomic<uint64_t> number_and_refs{0};
  // The ended spans, the last one first; or one of the decisions.
  std::atomic<Slot*> ended{nullptr};
  // A span that has ended met a rule.
  std::atomic<bool> is_wanted{false};
  // Its parent, in another program, was sampled.
  bool is_sampled_outside = false;
};

// All undecided traces of a pipeline, in the order of their beginning, and the
// memory of their spans. Also the last decisions, for spans that begin when no
// other one of their trace is open.
class UndecidedTraces {
 public:
  enum class Decision : uint64_t { kUnknown, kKept, kNotWanted, kEvicted };

  // Returns false without memory. |memory_limit| is that of the pipeline.
  bool Init(size_t max_bytes, size_t memory_limit);
  ~UndecidedTraces();

  // Begins a trace, whose root holds it. Null without memory.
  UndecidedTrace* Begin(ThreadState* thread, bool is_sampled_outside);
  // Ends a span of such a trace: it waits, or follows the decision; the root
  // decides.
  void End(ThreadState* thread, Slot* slot, uint64_t duration);
  // Returns the decision about the trace that had this record and number, if it
  // is over; kUnknown after many others.
  Decision DecisionOf(const UndecidedTrace* trace, uint32_t number) const;
  // Takes the span out of its trace without ending it, on a thread that has no
  // state. The trace of a root is given up.
  void Abandon(Slot* slot);
  // Gives up all undecided traces, when there is no more time to decide. The
  // thread may be null.
  void EvictAll(ThreadState* thread);
  // In the child of a fork(): forgets the ended spans, which are the parent's.
  void Reset();

 private:
  // The memory for which there is an entry, and the fewest and most entries.
  static constexpr size_t kBytesOfTrace = 4096;
  static constexpr size_t kMinTraces = 64;
  static constexpr size_t kMaxTraces = size_t{1} << 20;
  struct Entry {
    // The ticket of the trace, plus one: written last.
    std::atomic<uint64_t> ticket{0};
    std::atomic<UndecidedTrace*> trace{nullptr};
    std::atomic<uint32_t> number{0};
    // A decision in the lowest bits of a hash of its trace, which is any one.
    std::atomic<uint64_t> decision{0};
  };
  static constexpr uint64_t kDecisionBits = 3;

  // Returns random bits for a trace.
  static uint64_t HashOf(const UndecidedTrace* trace, uint32_t number);
  bool EvictOldest(ThreadState* thread);
  void Decide(ThreadState* thread, UndecidedTrace* trace, Slot* decision);
  // Decides without waiting for the root: keeps it if a rule is met already.
  void GiveUp(ThreadState* thread, UndecidedTrace* trace);
  void Unref(ThreadState* thread, UndecidedTrace* trace);

  // Their number is a power of two: |mask_| finds the one of a ticket.
  Entry* entries_ = nullptr;
  size_t mask_ = 0;
  size_t max_bytes_ = 0;
  std::atomic<uint64_t> oldest_{0};
  std::atomic<uint64_t> next_{0};
  std::atomic<size_t> bytes_{0};
};

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_UNDECIDED_TRACE_H_
