// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_SLOT_H_
#define SRC_OTLP_SLOT_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/otlp/batch_sink.h"
#include "protozero/otlp/span.h"
#include "protozero/otlp/tracer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {

class ThreadState;

// The part of a Slot that begins as zeros.
struct SlotCounts {
  // A bit for the hash of each key: one that has no bit here is new.
  uint64_t key_bits = 0;
  UndecidedTrace* undecided = nullptr;
  uint32_t status_offset = 0;
  uint32_t dropped_attributes = 0;
  uint32_t dropped_events = 0;
  uint32_t dropped_links = 0;
  uint32_t repaired_texts = 0;
  uint16_t num_events = 0;
  uint16_t num_links = 0;
  StatusCode status = StatusCode::kUnset;
  bool is_root = false;
  bool has_rule_key = false;
  bool is_wanted = false;
};

// The memory of a span or log that is open: the bytes of its message, which
// grow, and what is needed to append to them. The thread that owns one uses it
// again, unless the memory of the pipeline is nearly used up.
//
//   begin                                pos            end
//   | ids, times, name | attributes, ... | free         |
//
// The bytes begin in the slot itself, and move to a block twice as large
// when they are full. They are contiguous, so an attribute that is set again
// can be taken out.
struct Slot : SlotCounts {
  static constexpr size_t kInlineSize = 512;
  // The room after |end|: for a status, the numbers of what was dropped, and
  // varints that are written as whole words.
  static constexpr size_t kEndRoom = 48;

  Slot* next;
  ThreadState* owner;
  ScopeState* scope;
  uint8_t* begin;
  uint8_t* pos;
  uint8_t* end;
  // The end for attributes that take the fast path: |begin| if none may,
  // because texts have a short limit, or a KeepRule looks for one.
  uint8_t* fast_end;
  // From the boot clock to Unix time. An end uses that of its beginning, so
  // that durations are right when the clock is set.
  int64_t clock_offset;
  // The number of attributes until the limit.
  uint32_t attributes_left;
  uint16_t end_time_offset;
  // The size of the block is kInlineSize << size_class. 0: in the slot.
  uint8_t size_class;
  uint8_t attribute_tag;
  Signal signal;
  alignas(64) uint8_t inline_bytes[kInlineSize];
};

// Moves the bytes to a larger block. False if there is no memory, or the record
// would be larger than it may be.
bool Grow(Slot* slot, size_t size);

// Returns the end of the bytes, with room for |size| more; null if there is
// none.
PROTOZERO_ALWAYS_INLINE uint8_t* RoomFor(Slot* slot, size_t size) {
  if (PROTOZERO_UNLIKELY(static_cast<size_t>(slot->end - slot->pos) < size)) {
    if (!Grow(slot, size))
      return nullptr;
  }
  uint8_t* const pos = slot->pos;
  // Callers need not look again.
  if (pos == nullptr)
    __builtin_unreachable();
  return pos;
}

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_SLOT_H_
