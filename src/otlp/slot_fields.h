// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_SLOT_FIELDS_H_
#define SRC_OTLP_SLOT_FIELDS_H_

#include <stdint.h>

#include <algorithm>
#include <string_view>

#include "src/otlp/attributes.h"
#include "src/otlp/pipeline_state.h"
#include "src/otlp/slot.h"
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
  const PipelineOptions& options = scope->pipeline->options;
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
  slot->key_bits = 0;
  slot->undecided = nullptr;
  slot->status_offset = 0;
  slot->dropped_attributes = 0;
  slot->dropped_events = 0;
  slot->dropped_links = 0;
  slot->repaired_texts = 0;
  slot->num_attributes = 0;
  slot->num_events = 0;
  slot->num_links = 0;
  slot->size_class = 0;
  slot->short_text_limit = static_cast<uint8_t>(
      std::min(options.attribute_value_length_limit, size_t{127}));
  slot->attribute_limit = options.attribute_count_limit;
  slot->attribute_tag = attribute_tag;
  slot->signal = signal;
  slot->status = StatusCode::kUnset;
  slot->is_root = false;
  slot->has_rule_key = false;
  slot->is_wanted = false;
  return slot;
}

// Writes a text of any size, as far as there is room, to |slot->pos|.
inline void AddTextField(Slot* slot, uint8_t tag, std::string_view text) {
  uint8_t* pos = RoomFor(slot, kMaxHeader + text.size());
  ValueWriter writer{SIZE_MAX};
  if (PROTOZERO_UNLIKELY(pos == nullptr)) {
    // It is cut, which the record says.
    ++slot->dropped_attributes;
    pos = slot->pos;
    const size_t room = static_cast<size_t>(slot->end - pos);
    writer.text_limit = room > kMaxHeader ? room - kMaxHeader : 0;
  }
  slot->pos = writer.PutText(pos, tag, text);
  slot->repaired_texts += writer.repaired;
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
