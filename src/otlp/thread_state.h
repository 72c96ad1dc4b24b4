// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_THREAD_STATE_H_
#define SRC_OTLP_THREAD_STATE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <atomic>

#include "protozero/tracing/internal/trace_clock.h"
#include "src/otlp/slot.h"
#include "src/otlp/undecided_trace.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {

// A number that one thread counts up, and others read.
class Counter {
 public:
  PROTOZERO_ALWAYS_INLINE void Add(uint64_t count) {
    value_.store(value_.load(std::memory_order_relaxed) + count,
                 std::memory_order_release);
  }
  // For counters of several threads.
  void AddShared(uint64_t count) {
    value_.fetch_add(count, std::memory_order_release);
  }
  uint64_t Get() const { return value_.load(std::memory_order_acquire); }
  void Reset() { value_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// The parts of Account that threads count.
struct Counters {
  Counter written;
  Counter no_memory;
  Counter buffer_full;
  Counter after_shutdown;
  Counter not_wanted;
  Counter undecided;
  Counter repaired_texts;

  void Reset();
};

// The beginning of an ended span or log in a buffer. Records begin at multiples
// of its size.
//
//   | size, scope, kind | bytes | up to 7 bytes free |
struct RecordHeader {
  enum Kind : uint16_t {
    kSpan = static_cast<uint16_t>(Signal::kSpans),
    kLog = static_cast<uint16_t>(Signal::kLogs),
    // Bytes that fill the end of the buffer.
    kFiller = 2,
    // Added to the kind if the bytes are the address of a LargeRecord.
    kLarge = 4,
  };
  uint32_t size;
  uint16_t scope;
  uint16_t kind;
};
static_assert(sizeof(RecordHeader) == 8, "the unit of the buffer");

// Bytes that are too many for a buffer: whoever exports them frees them.
struct LargeRecord {
  size_t size;
  uint8_t* bytes() { return reinterpret_cast<uint8_t*>(this + 1); }
};

// The ended spans and logs of a thread, for the thread of the pipeline: a ring
// of records. One thread writes, and one reads.
class RecordRing {
 public:
  // The bytes in the ring, and the place where the next one goes.
  struct Range {
    uint64_t begin;
    uint64_t end;
  };

  void Init(uint8_t* data, size_t size) {
    data_ = data;
    size_ = size;
  }
  bool is_ready() const { return data_ != nullptr; }
  size_t size() const { return size_; }

  // Appends a record. False if it is full.
  bool Append(RecordHeader header, const uint8_t* bytes);
  // Appends one if that is clearly possible, and leaves the ring no more than
  // half full. False means that Append() has to find out.
  PROTOZERO_ALWAYS_INLINE bool AppendFast(RecordHeader header,
                                          const uint8_t* bytes) {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    const uint64_t end = head + SizeOf(header.size);
    if (PROTOZERO_UNLIKELY(end > fast_end_))
      return false;
    Write(data_ + (head & (size_ - 1)), header, bytes);
    head_.store(end, std::memory_order_release);
    return true;
  }
  // True if it is half full.
  bool IsHalfFull() const {
    return head_.load(std::memory_order_relaxed) - tail_seen_ > size_ / 2;
  }

  // For the reader:
  Range Contents() const {
    return {tail_.load(std::memory_order_relaxed),
            head_.load(std::memory_order_acquire)};
  }
  const uint8_t* At(uint64_t position) const {
    return data_ + (position & (size_ - 1));
  }
  static uint64_t SizeOf(uint32_t bytes) {
    return sizeof(RecordHeader) + ((uint64_t{bytes} + 7) & ~uint64_t{7});
  }
  void Release(uint64_t position) {
    tail_.store(position, std::memory_order_release);
  }
  // Frees it, with what is left in it.
  void Free();
  // Forgets all. No other thread uses it.
  void Reset() {
    head_.store(0);
    tail_.store(0);
    tail_seen_ = 0;
    fast_end_ = 0;
  }

 private:
  static void Write(uint8_t* pos, RecordHeader header, const uint8_t* bytes) {
    memcpy(pos, &header, sizeof(header));
    memcpy(pos + sizeof(header), bytes, header.size);
  }

  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  alignas(64) std::atomic<uint64_t> head_{0};
  // The value of tail_ that the writer has seen.
  uint64_t tail_seen_ = 0;
  // The end of what is contiguous, and fills at most half of the ring, by
  // |tail_seen_|.
  uint64_t fast_end_ = 0;
  alignas(64) std::atomic<uint64_t> tail_{0};
};

// Objects that one thread takes, and any thread gives back.
template <typename T>
class ReturnedList {
 public:
  void Push(T* object) {
    T* head = head_.load(std::memory_order_relaxed);
    do {
      object->next = head;
    } while (!head_.compare_exchange_weak(
        head, object, std::memory_order_release, std::memory_order_relaxed));
  }
  // Returns a list of all.
  T* TakeAll() {
    return head_.load(std::memory_order_relaxed) == nullptr
               ? nullptr
               : head_.exchange(nullptr, std::memory_order_acquire);
  }

 private:
  std::atomic<T*> head_{nullptr};
};

// The memory of one thread in a pipeline. When the thread has ended, another
// one takes it over.
class ThreadState {
 public:
  explicit ThreadState(PipelineState* pipeline) : pipeline_(pipeline) {}

  // Returns a slot to write to; null without memory.
  PROTOZERO_ALWAYS_INLINE Slot* TakeSlot() {
    Slot* const slot = free_slots_;
    if (PROTOZERO_UNLIKELY(slot == nullptr))
      return TakeSlotSlowPath();
    free_slots_ = slot->next;
    return slot;
  }
  // Returns a record for a new trace; null without memory.
  UndecidedTrace* TakeUndecided();
  // Give one back to the thread that owns it. This is the calling thread's
  // state.
  void GiveBack(Slot* slot);
  void GiveBack(UndecidedTrace* trace);

  // Commits the record of a slot, and gives the slot back.
  PROTOZERO_ALWAYS_INLINE void Finish(Slot* slot);

  // Returns the boot clock's time, which never goes back for a thread.
  PROTOZERO_ALWAYS_INLINE uint64_t BootTime() { return clock_.NowNs(); }

  // For a thread that may have no state.
  static void GiveBackFrom(ThreadState* thread, Slot* slot);
  static void GiveBackFrom(ThreadState* thread, UndecidedTrace* trace);

  // Puts the record of a slot into the buffer, or counts it as lost.
  void Commit(Slot* slot);

  // Memory of a power of two times Slot::kInlineSize.
  uint8_t* TakeBlock(uint8_t size_class);
  void GiveBackBlock(uint8_t* block, uint8_t size_class);

  // Returns false if slots are in use. No other thread uses this.
  bool IsIdle();
  // Frees all. REQUIRES: IsIdle().
  void FreeMemory();

  Counters& counters(Signal signal) {
    return counters_[static_cast<int>(signal)];
  }
  RecordRing& ring() { return ring_; }
  PipelineState* pipeline() const { return pipeline_; }

  // In the list of the pipeline; its lock guards |is_used|.
  ThreadState* next = nullptr;
  bool is_used = true;
  // The memory that it lies in.
  void* own_memory = nullptr;

 private:
  struct Block {
    Block* next;
  };
  static constexpr uint8_t kNumClasses = 24;

  Slot* TakeSlotSlowPath();
  bool AppendLarge(RecordHeader header, const Slot& slot);
  void FreeBlocks();
  static void FreeSlot(Slot* slot);

  PipelineState* const pipeline_;
  Slot* free_slots_ = nullptr;
  UndecidedTrace* free_traces_ = nullptr;
  // Other threads free slots, too.
  std::atomic<size_t> num_slots_{0};
  size_t num_traces_ = 0;
  Block* free_blocks_[kNumClasses] = {};
  Counters counters_[2];
  RecordRing ring_;
  ::protozero::internal::TraceClock clock_;
  alignas(64) ReturnedList<Slot> returned_slots_;
  ReturnedList<UndecidedTrace> returned_traces_;
};

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_THREAD_STATE_H_
