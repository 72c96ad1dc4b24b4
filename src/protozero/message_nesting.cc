// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "message_nesting.h"

#include <string.h>

#include <type_traits>

#include "open_messages.h"
#include "protozero/internal/byte_order.h"
#include "protozero/internal/compiler.h"
#include "protozero/internal/varint.h"
#include "protozero/scattered_stream_writer.h"
#include "varint_slow_path.h"

#include "protozero/internal/macros.h"

// Hot functions call their cold parts by tail calls only: a call that returns
// would make them save registers on every entry.

namespace protozero {
PROTOZERO_ABI_BEGIN

static_assert(std::is_trivially_default_constructible<Message>::value &&
                  std::is_trivially_destructible<Message>::value,
              "slots become messages, and are forgotten, without any code");

namespace internal {
namespace {

using proto_utils::kMaxMessageLength;
using proto_utils::kMaxOneByteMessageLength;
using proto_utils::kMaxRootMessageLength;
using proto_utils::kMessageLengthFieldSize;

constexpr auto WritePaddedSize =
    proto_utils::internal::WritePaddedVarInt<kMessageLengthFieldSize>;

}  // namespace

inline void MessageNesting::MarkSealed(Message* message,
                                       uint64_t size,
                                       uint8_t group_flag) {
  // One store: a chain is mostly sealed right before its root, where there are
  // too many stores already.
  SetState(message,
           {static_cast<uint8_t>(State::kFinalized | group_flag), 0,
            PROTOZERO_DCHECK_IS_ON ? message->state_.epoch : uint16_t{0},
            static_cast<uint32_t>(size)});
}

inline void MessageNesting::WriteShortSize(const Message* message,
                                           size_t size) {
  StoreLittleEndian(message->base_ - 1, static_cast<uint8_t>(size));
}

inline void MessageNesting::SealShort(Message* message, size_t size) {
  WriteShortSize(message, size);
  MarkSealed(message, size);
}

// REQUIRES: inline code is for this processor. That is so if any message is
// narrow or expected to be long.
PROTOZERO_ALWAYS_INLINE void MessageNesting::SealWide(Message* message,
                                                      size_t size) {
  proto_utils::internal::WritePaddedVarIntInline<kMessageLengthFieldSize>(
      size, message->base_ - kMessageLengthFieldSize);
  MarkSealed(message, size);
}

inline bool MessageNesting::IsWideAndLong(const Message* message, size_t size) {
  constexpr size_t kMinSize = kMaxOneByteMessageLength + 1;
  return PROTOZERO_LIKELY(message->state_.flags == State::kWide) &&
         PROTOZERO_LIKELY(size - kMinSize <= kMaxMessageLength - kMinSize);
}

size_t MessageNesting::MaxLength(uint8_t flags) noexcept {
  // A message without a size field may be as long as a root message.
  return (flags & State::kNoSize) && (flags & (State::kRoot | State::kGroup))
             ? kMaxRootMessageLength
             : kMaxMessageLength;
}

uint8_t* MessageNesting::SealAt(Message* message, uint8_t* end) noexcept {
  if (message->is_finalized())
    return end;
  ScatteredStreamWriter* const writer = message->writer_;
  StopSetters(message);
  if (IsNarrow(message)) {
    const size_t narrow_size = static_cast<size_t>(end - message->base_);
    if (narrow_size <= kMaxOneByteMessageLength) {
      SealShort(message, narrow_size);
      return end;
    }
    end = OpenMessages::Widen(message, end);
    writer->arena_->NoteSize(message, true);
  }
  const uint8_t flags = message->state_.flags;
  uint8_t* size_field = flags & State::kNoSize ? nullptr : message->size_field_;
  uint64_t size = SizeAt(message, end);
  if ((size > kMaxMessageLength && size > MaxLength(flags)) || !writer->ok()) {
    writer->Fail(WriteStatus::kMessageTooLong, 0);
    size_field = nullptr;
    size = 0;
  }
  MarkSealed(message, size, flags & State::kGroup);
  if (flags & State::kCrossedChunk) {
    if (OpenMessages::HasFrozen(writer))
      return OpenMessages::ThawParentOf(writer, message, size_field, size, end);
  } else if (size_field != nullptr && size <= kMaxOneByteMessageLength &&
             size_field + kMessageLengthFieldSize == message->base_ &&
             size_field >= writer->cur_range_.begin) {
    if (!(flags & State::kRoot))
      writer->arena_->NoteSize(message, false);
    *size_field = static_cast<uint8_t>(size);
    memmove(size_field + 1, message->base_, ToSize(size));
    return end - kWidening;
  }
  if (size_field != nullptr)
    WritePaddedSize(size, size_field);
  return end;
}

// Defined in this file only, because users of the headers may set
// PROTOZERO_DCHECK_IS_ON differently.
inline void MessageNesting::DeleteNested([[maybe_unused]] Message* parent,
                                         MessageArena* arena,
                                         Message* child) {
#if PROTOZERO_DCHECK_IS_ON
  parent->writer_->root_->state_.tag_size |= State::kHasQuarantined;
  arena->QuarantineMessagesFrom(child);
#else
  arena->DeleteMessagesFrom(child);
#endif
}

inline void MessageNesting::DeleteInlineNested([[maybe_unused]] Message* parent,
                                               MessageArena* arena,
                                               Message* child) {
#if PROTOZERO_DCHECK_IS_ON
  DeleteNested(parent, arena, child);
#else
  arena->DeleteInlineMessagesFrom(child);
#endif
}

PROTOZERO_ALWAYS_INLINE bool MessageNesting::SealShortBeforeNext(
    Message* parent) noexcept {
  // With debug checks, the state of a message in quarantine has to say that it
  // is sealed.
  if (PROTOZERO_DCHECK_IS_ON)
    return false;
  Message* const child = parent->nested_;
  MessageArena* const arena = parent->writer_->arena_;
  if (PROTOZERO_UNLIKELY(HasNested(child) ||
                         child->state_.flags != State::kNarrow ||
                         arena->IsScattered())) {
    return false;
  }
  uint8_t* const end = child->write_ptr_;
  const size_t size = static_cast<size_t>(end - child->base_);
  if (PROTOZERO_UNLIKELY(size > kMaxOneByteMessageLength))
    return false;
  // The child needs no other change: the message that begins next takes its
  // slot.
  WriteShortSize(child, size);
  DeleteInlineNested(parent, arena, child);
  parent->write_ptr_ = end;
  return true;
}

BegunChild MessageNesting::BeginBehindSibling(Message* parent,
                                              EncodedTag tag) noexcept {
  if (PROTOZERO_LIKELY(HasNested(parent)) &&
      PROTOZERO_LIKELY(SealShortBeforeNext(parent))) {
    uint8_t* const pos = parent->write_ptr_;
    if (PROTOZERO_LIKELY(MayBeginNarrow(parent, pos)))
      return BeginNarrowOutOfLine(parent, tag, pos);
  }
  return BeginInAnyState(parent, tag);
}

uint32_t MessageNesting::SealNested(Message* parent, Then then) noexcept {
  if (PROTOZERO_UNLIKELY(!HasNested(parent)) ||
      PROTOZERO_UNLIKELY(parent->is_finalized())) {
    return FinalizeLeaf(parent);
  }
  // Outside of blocks, the open messages follow each other in memory. They are
  // sealed from the leaf up, because a child that moves makes its parents
  // longer.
  MessageArena* const arena = parent->writer_->arena_;
  if (PROTOZERO_UNLIKELY(arena->IsScattered()))
    return SealNestedSlowPath(parent, then, nullptr, nullptr);
  Message* child = arena->LastInlineMessage();
  // Either test shows that the child has the cursor, and that the stream has
  // not failed.
  if (PROTOZERO_UNLIKELY(!IsNarrow(child)) &&
      PROTOZERO_UNLIKELY(!HasFastRoom(child))) {
    return SealNestedSlowPath(parent, then, nullptr, nullptr);
  }
  uint8_t* const end = child->write_ptr_;
  StopSetters(child);
  Message* const first = parent->nested_;
  // Short messages come first: a message that holds a long one is long. The
  // loop calls nothing, see the top of this file. With a flag instead of the
  // goto, compilers would test it in the loop.
  for (;;) {
    const size_t size = static_cast<size_t>(end - child->base_);
    if (PROTOZERO_UNLIKELY(child->state_.flags != State::kNarrow) ||
        PROTOZERO_UNLIKELY(size > kMaxOneByteMessageLength)) {
      break;
    }
    SealShort(child, size);
    if (child == first)
      goto sealed;
    --child;
  }
  for (;;) {
    const size_t size = static_cast<size_t>(end - child->base_);
    if (PROTOZERO_UNLIKELY(!IsWideAndLong(child, size)) ||
        PROTOZERO_UNLIKELY(!arena->HasExpectedLong(child))) {
      return SealNestedSlowPath(parent, then, child, end);
    }
    SealWide(child, size);
    if (child == first)
      break;
    --child;
  }
  arena->CheckNext();
sealed:
  DeleteInlineNested(parent, arena, first);
  if (PROTOZERO_LIKELY(then == kFinalize) &&
      PROTOZERO_LIKELY(IsWholeRoot(parent, end))) {
    return SealWholeRoot(parent, end);
  }
  parent->write_ptr_ = end;
  return then == kFinalize ? FinalizeLeaf(parent) : 0;
}

uint32_t MessageNesting::SealNestedSlowPath(Message* parent,
                                            Then then,
                                            Message* child,
                                            uint8_t* end) noexcept {
  if (child == nullptr && parent->writer_->IsReentered())
    return 0;
  if (child == nullptr || !SealLong(parent, child, end))
    SealOneByOne(parent);
  if (then != kFinalize)
    return 0;
  uint8_t* const pos = parent->write_ptr_;
  return IsWholeRoot(parent, pos) ? SealWholeRoot(parent, pos)
                                  : FinalizeLeaf(parent);
}

inline bool MessageNesting::SealLong(Message* parent,
                                     Message* child,
                                     uint8_t* end) noexcept {
  MessageArena* const arena = parent->writer_->arena_;
  for (;; --child) {
    if (child->state_.flags == State::kNarrow)
      end = OpenMessages::Widen(child, end);
    const size_t size = static_cast<size_t>(end - child->base_);
    if (!IsWideAndLong(child, size))
      break;
    SealWide(child, size);
    arena->NoteSize(child, true);
    if (child == parent->nested_) {
      DeleteInlineNested(parent, arena, child);
      parent->write_ptr_ = end;
      return true;
    }
  }
  if (HasNested(child)) {
    DeleteInlineNested(child, arena, child->nested_);
    child->write_ptr_ = end;
  }
  return false;
}

void MessageNesting::SealOneByOne(Message* parent) noexcept {
  ScatteredStreamWriter* const writer = parent->writer_;
  if (PROTOZERO_UNLIKELY(!writer->cursor_is_lent()))
    OpenMessages::LendCursorTo(OpenMessages::Leaf(writer));
  MessageArena* const arena = writer->arena_;
  Message* around = nullptr;
  do {
#if PROTOZERO_DCHECK_IS_ON
    // In memory, messages in quarantine are between the open ones.
    around = parent;
    while (HasNested(around->nested_))
      around = around->nested_;
    Message* const child = around->nested_;
#else
    Message* const child = arena->LastMessage();
#endif
    uint8_t* const end = SealAt(child, child->write_ptr_);
    DeleteNested(parent, arena, child);
#if !PROTOZERO_DCHECK_IS_ON
    around = child == parent->nested_ ? parent : arena->LastMessage();
#endif
    around->write_ptr_ = end;
    if (PROTOZERO_UNLIKELY(!writer->ok()))
      StopAfterError(around);
    if (IsGroup(child))
      AppendEndTag(around, child->end_tag_);
  } while (around != parent);
}

void MessageNesting::AppendEndTag(Message* parent, uint32_t end_tag) noexcept {
  uint8_t bytes[proto_utils::kMaxTagEncodedSize];
  const uint8_t* end = WriteVarIntSlowPath(end_tag, bytes);
  AppendEncoded(parent, bytes, static_cast<size_t>(end - bytes));
}

uint32_t MessageNesting::FinalizeLeaf(Message* message) noexcept {
  if (message->is_finalized())
    return message->state_.size;
  if (!TakeCursor(message))
    return 0;
  uint8_t* end = SealAt(message, message->write_ptr_);
  message->write_ptr_ = end;
  if (message->writer_->root_ == message)
    message->writer_->write_ptr_ = end;
  return message->state_.size;
}

void MessageNesting::Close(Message* message) noexcept {
  while (message != nullptr) {
    Message* const nested = message->nested_message();
    MarkSealed(message, 0);
    message->write_ptr_ = ReturnedCursor();
    message = nested;
  }
}

void MessageNesting::AbandonRoot(ScatteredStreamWriter* writer) noexcept {
  if (!writer->has_open_root())
    return;
  // If the delegate is being asked, the next message gets the cursor, but the
  // stream has failed for it, too.
  writer->IsReentered();
  if (writer->cursor_is_lent())
    writer->write_ptr_ = OpenMessages::Leaf(writer)->write_ptr_;
  Message* const root = writer->root_;
  if (HasNested(root))
    DeleteNested(root, writer->arena_, root->nested_);
  Close(root);
  writer->reasons_.cursor_taken = ScatteredStreamWriter::CursorTaken::kNot;
}

// The cursor.

bool MessageNesting::TakeCursor(Message* message) noexcept {
  if (PROTOZERO_UNLIKELY(message->is_finalized())) {
    PROTOZERO_DCHECK(message->state_.flags & State::kDropsFields,
                     "this message is sealed: its parent was written to, or it "
                     "was finalized, or another one began on its stream, or "
                     "Reset() was never called");
    return false;
  }
  if (HasNested(message)) {
    SealNested(message, kContinue);
    return !HasNested(message);
  }
  ScatteredStreamWriter* const writer = message->writer_;
  if (PROTOZERO_LIKELY(writer->cursor_is_lent()))
    return true;
  if (writer->IsReentered())
    return false;
  OpenMessages::LendCursorTo(message);
  return true;
}

bool MessageNesting::TakeCursorFor(Message* message, size_t size) noexcept {
  const bool has_cursor = PROTOZERO_LIKELY(!message->is_finalized()) &&
                          reinterpret_cast<uintptr_t>(message->write_ptr_) <
                              reinterpret_cast<uintptr_t>(LentCursor());
  if (!has_cursor && !TakeCursor(message))
    return false;
  if (!HasFastRoom(message) || size > ScatteredStreamWriter::kFastRoom) {
    message->write_ptr_ =
        OpenMessages::WidenFor(message->writer_, size, message->write_ptr_);
  }
  return true;
}

void MessageNesting::AppendEncoded(Message* message,
                                   const uint8_t* src,
                                   size_t size) noexcept {
  if (TakeCursorFor(message, size))
    OpenMessages::WriteBytes(message, src, size);
}

void MessageNesting::AppendBorrowed(Message* message,
                                    const uint8_t* src,
                                    size_t size) noexcept {
  if (TakeCursor(message))
    OpenMessages::WriteBorrowedBytes(message, src, size);
}

// Rolling back.

bool MessageNesting::RollBack(Message* parent) noexcept {
  Message* const child = parent->nested_message();
  if (child == nullptr || parent->writer_->IsReentered() ||
      child->state_.tag_size == 0 ||
      (child->state_.flags & (State::kFinalized | State::kCrossedChunk)) ||
      !parent->writer_->ok()) {
    return false;
  }
  const size_t size_field_size = IsGroup(child)    ? 0
                                 : IsNarrow(child) ? 1
                                                   : kMessageLengthFieldSize;
  uint8_t* const begin =
      child->base_ - child->state_.tag_size - size_field_size;
  DeleteNested(parent, parent->writer_->arena_, child);
  parent->write_ptr_ = begin;
  Close(child);
  parent->writer_->LendCursor();
  return true;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
