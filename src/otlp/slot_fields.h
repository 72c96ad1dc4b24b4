// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_SLOT_FIELDS_H_
#define SRC_OTLP_SLOT_FIELDS_H_

#include <stdint.h>

#include <string_view>

#include "src/otlp/attributes.h"
#include "src/otlp/pipeline_state.h"
#include "src/otlp/slot.h"
#include "src/otlp/text.h"
#include "src/otlp/wire.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {

// Counts a record that is lost for lack of memory. The thread may be null.
void CountNoMemory(PipelineState* pipeline, ThreadState* thread, Signal signal);

// Returns a slot for a record that begins; null without memory, which it
// counts.
PROTOZERO_ALWAYS_INLINE Slot* BeginSlot(ThreadState* thread,
                                        ScopeState* scope,
                                        Signal signal,
                                        uint8_t attribute_tag) {
  Slot* const slot = thread != nullptr ? thread->TakeSlot() : nullptr;
  if (PROTOZERO_UNLIKELY(slot == nullptr)) {
    CountNoMemory(scope->pipeline, thread, signal);
    return nullptr;
  }
  if (PROTOZERO_UNLIKELY(slot->size_class != 0))
    thread->GiveBackBlock(slot->begin, slot->size_class);
  slot->scope = scope;
  slot->begin = slot->inline_bytes;
  slot->pos = slot->inline_bytes;
  slot->end = slot->inline_bytes + Slot::kInlineSize - Slot::kEndRoom;
  slot->fast_end =
      scope->pipeline->has_slow_attributes ? slot->begin : slot->end;
  static_cast<SlotCounts&>(*slot) = SlotCounts();
  slot->size_class = 0;
  slot->attributes_left = scope->pipeline->options.attribute_count_limit;
  slot->attribute_tag = attribute_tag;
  slot->signal = signal;
  return slot;
}

void AddLongTextField(Slot* slot, uint8_t tag, std::string_view text);

// Writes a text of any size, as far as there is room, to |slot->pos|.
PROTOZERO_ALWAYS_INLINE void AddTextField(Slot* slot,
                                          uint8_t tag,
                                          std::string_view text) {
  uint8_t* const pos = slot->pos;
  if (PROTOZERO_LIKELY(text.size() < 0x80 &&
                       static_cast<size_t>(slot->end - pos) > 0x80)) {
    pos[0] = tag;
    pos[1] = static_cast<uint8_t>(text.size());
    if (PROTOZERO_LIKELY(CopyText(pos + 2, text).IsAscii())) {
      slot->pos = pos + 2 + text.size();
      return;
    }
  }
  AddLongTextField(slot, tag, text);
}
// Writes the number of what was left out, if any, into the room at the end.
PROTOZERO_ALWAYS_INLINE void AddDroppedCount(Slot* slot,
                                             uint32_t field,
                                             uint32_t count) {
  if (PROTOZERO_UNLIKELY(count != 0)) {
    *slot->pos++ = VarIntTag(field);
    slot->pos = PutVarInt(slot->pos, count);
  }
}

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_SLOT_FIELDS_H_
