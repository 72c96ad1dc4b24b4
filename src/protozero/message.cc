// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/message.h"

#include <stddef.h>
#include <stdint.h>

#include "message_nesting.h"
#include "open_messages.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

uint8_t* Message::size_field() noexcept {
  if (internal::MessageSteps::IsNarrow(this))
    internal::OpenMessages::WidenAll(writer_);
  using State = internal::MessageState;
  return (state_.flags & (State::kFinalized | State::kNoSize)) ? nullptr
                                                               : size_field_;
}

uint8_t* Message::size_field() const noexcept {
  using State = internal::MessageState;
  if (internal::MessageSteps::IsNarrow(this))
    return internal::OpenMessages::SizeFieldIfWidened(this);
  return (state_.flags & (State::kFinalized | State::kNoSize)) ? nullptr
                                                               : size_field_;
}

void Message::set_size_field(uint8_t* size_field) noexcept {
  internal::OpenMessages::SetSizeField(this, size_field);
}

size_t Message::AppendScatteredBytes(uint32_t field_id,
                                     ContiguousMemoryRange* ranges,
                                     size_t num_ranges) noexcept {
  size_t size = 0;
  for (size_t i = 0; i < num_ranges; ++i)
    size += ranges[i].size();
  if (internal::AppendBytesHeader(this, field_id, size)) {
    for (size_t i = 0; i < num_ranges; ++i)
      AppendRawProtoBytes(ranges[i].begin, ranges[i].size());
  }
  return size;
}

void Message::AppendBorrowedBytes(uint32_t field_id,
                                  const void* src,
                                  size_t size) noexcept {
  if (internal::AppendBytesHeader(this, field_id, size)) {
    internal::MessageNesting::AppendBorrowed(
        this, static_cast<const uint8_t*>(src), size);
  }
}

void Message::AppendRawProtoBytes(const void* data, size_t size) noexcept {
  internal::MessageNesting::AppendEncoded(
      this, static_cast<const uint8_t*>(data), size);
}

bool Message::RollBackNestedMessage() noexcept {
  return internal::MessageNesting::RollBack(this);
}

PROTOZERO_ABI_END
}  // namespace protozero
