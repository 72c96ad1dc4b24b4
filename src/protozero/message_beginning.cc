// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The beginning of nested messages, except for BeginBehindSibling(), which
// inlines how the sibling is sealed.

#include <string.h>

#include "message_nesting.h"
#include "open_messages.h"
#include "protozero/scattered_stream_writer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

inline void MessageNesting::ReplaceNested([[maybe_unused]] Message* parent) {
#if PROTOZERO_DCHECK_IS_ON
  parent->writer_->arena_->ReplaceQuarantined(
      parent, (parent->state_.flags & State::kRoot) != 0 &&
                  (parent->state_.tag_size & State::kHasQuarantined) == 0);
#endif
}

BegunChild MessageNesting::BeginInAnyState(Message* parent,
                                           EncodedTag tag) noexcept {
  if (!TakeCursorFor(parent, ScatteredStreamWriter::kFastRoom)) {
    Message* const child = StandInForChild(parent);
    return {child, child->write_ptr_};
  }
  ReplaceNested(parent);
  uint8_t* const pos = parent->write_ptr_;
  if (MayBeginWide(parent, pos))
    return BeginWideOutOfLine(parent, tag, pos);
  if (HasFastRoom(parent, pos) && parent->writer_->arena_->SkipCheck())
    return BeginNarrowOutOfLine(parent, tag, pos);
  Message* const child = BeginInAnyRoom(parent, tag, State::kNested);
  return {child, child->write_ptr_};
}

Message* MessageNesting::BeginGroup(Message* parent,
                                    EncodedTag tag,
                                    uint32_t end_tag) noexcept {
  if (!TakeCursorFor(parent, tag.size()))
    return StandInForChild(parent);
  ReplaceNested(parent);
  Message* child = BeginInAnyRoom(parent, tag, State::kGroup);
  if (IsGroup(child))
    child->end_tag_ = end_tag;
  return child;
}

Message* MessageNesting::BeginInAnyRoom(Message* parent,
                                        EncodedTag tag,
                                        State::Flags flags) noexcept {
  ScatteredStreamWriter* const writer = parent->writer_;
  Message* child = writer->arena_->NewMessage();
  if (child == nullptr)
    return StandInForChild(parent);
  // A delegate may, by mistake, seal the child with the messages around it.
  InitUnattached(child);
  uint8_t bytes[sizeof(uint64_t)];
  tag.StoreAsWord(bytes);
  OpenMessages::WriteBytes(parent, bytes, tag.size());
  size_t header_size = tag.size();
  constexpr size_t kSizeFieldSize = proto_utils::kMessageLengthFieldSize;
  uint8_t* size_field = nullptr;
  if (flags == State::kNested) {
    OpenMessages::ReturnCursor(parent);
    // Null in the error state: nothing will be written, but the writer still
    // counts the bytes.
    size_field = writer->ReserveBytesSlowPath(kSizeFieldSize);
    if (size_field != nullptr)
      memset(size_field, 0, kSizeFieldSize);
    header_size += kSizeFieldSize;
    OpenMessages::LendCursorTo(parent);
  }
  const bool header_in_chunk =
      static_cast<size_t>(parent->write_ptr_ - writer->cur_range_.begin) >=
      header_size;
  InitChild(child, writer, parent->fast_limit_, parent->write_ptr_,
            NewState(flags, header_in_chunk ? tag.size() : 0));
  MoveSizeField(child, size_field);
  child->write_ptr_ = parent->write_ptr_;
  parent->write_ptr_ = LentCursor();
  parent->nested_ = child;
  return child;
}

BegunChild MessageNesting::BeginNarrowOutOfLine(Message* parent,
                                                EncodedTag tag,
                                                uint8_t* pos) noexcept {
  return BeginNarrow(parent, tag, pos);
}

BegunChild MessageNesting::BeginWideOutOfLine(Message* parent,
                                              EncodedTag tag,
                                              uint8_t* pos) noexcept {
  return BeginWide(parent, tag, pos);
}

Message* MessageNesting::StandInForChild(Message* parent) noexcept {
  if (parent->state_.flags & State::kDropsFields)
    return parent;
  if (parent->is_finalized() || parent->writer_->reasons_.is_asking)
    return DroppingMessage();
  OpenMessages::Fail(parent, WriteStatus::kOutOfMemory, 0);
  Message* const child = parent->writer_->arena_->LastResort();
  InitUnattached(child);
  child->state_.flags |= State::kDropsFields;
  return child;
}

Message* MessageNesting::DroppingMessage() noexcept {
  // All share this message, because a message that takes no children may have
  // no memory for one. Setters that drop a field store the null cursor that
  // they find.
  static Message dropping({State::kFinalized | State::kDropsFields, 0, 0, 0});
  return &dropping;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
