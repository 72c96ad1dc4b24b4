// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/scattered_stream_writer.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "protozero/message.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

static_assert(std::is_trivial<ContiguousMemoryRange>::value,
              "arrays of ranges are not initialized");

namespace {

// Beyond the largest message the exact size is of no interest.
uint32_t Saturate(uint64_t size) {
  return static_cast<uint32_t>(
      std::min<uint64_t>(size, std::numeric_limits<uint32_t>::max()));
}

[[maybe_unused]] bool IsZeroPatch(const uint8_t* patch) {
  constexpr uint8_t kZeros[ScatteredStreamWriter::Delegate::kPatchSize] = {};
  return memcmp(patch, kZeros, sizeof(kZeros)) == 0;
}

}  // namespace

// All that walk along the chain begin with these.

PROTOZERO_ALWAYS_INLINE Message* ScatteredStreamWriter::InnermostFrozen()
    const noexcept {
  return PROTOZERO_UNLIKELY(root_->has_frozen()) ? frozen_ : nullptr;
}

PROTOZERO_ALWAYS_INLINE Message* ScatteredStreamWriter::OutermostThawed()
    const noexcept {
  return PROTOZERO_UNLIKELY(root_->has_frozen()) ? frozen_->nested_ : root_;
}

uint8_t* ScatteredStreamWriter::Delegate::AnnotatePatch(uint8_t* patch_addr) {
  return patch_addr;
}

void ScatteredStreamWriter::WriteBytesSlowPath(const uint8_t* src,
                                               size_t size) noexcept {
  TakeCursorSlowPath();
  for (;;) {
    const size_t chunk_size = std::min(size, room());
    if (chunk_size != 0) {  // memcpy() may not be given null.
      memcpy(write_ptr_, src, chunk_size);
      write_ptr_ += chunk_size;
      src += chunk_size;
      size -= chunk_size;
    }
    if (size == 0)
      return;
    if (!NextChunk())
      return Fail(status(), size);
  }
}

uint8_t* ScatteredStreamWriter::ReserveBytesSlowPath(size_t size) noexcept {
  TakeCursorSlowPath();
  if (size > room() && (!NextChunk() || size > room())) {
    Fail(WriteStatus::kOutOfBuffer, size);
    return nullptr;
  }
  uint8_t* begin = write_ptr_;
  write_ptr_ += size;
  return begin;
}

void ScatteredStreamWriter::Rewind(size_t size, size_t offset) noexcept {
  TakeCursorSlowPath();
  const size_t written_to_chunk =
      static_cast<size_t>(write_ptr_ - cur_range_.begin);
  const bool in_chunk =
      size <= written_to_chunk && offset <= written_to_chunk - size;
  PROTOZERO_DCHECK(in_chunk, "only the current chunk can be rewound");
  if (!in_chunk || offset == 0)
    return;
  uint8_t* src = write_ptr_ - size;
  memmove(src - offset, src, size);
  write_ptr_ -= offset;
}

void ScatteredStreamWriter::ResetSlowPath(
    ContiguousMemoryRange range) noexcept {
  if (IsReentered())
    return;
  TakeCursorSlowPath();
  // What was dropped leaves a hole in whatever is still open.
  if (!ok())
    AbandonRoot();
  rare_.status = WriteStatus::kOk;
  rare_.may_lack_inline_code = internal::kInlineEncodingMask == 0;
  MoveTo(range);
}

void ScatteredStreamWriter::Extend() noexcept {
  TakeCursorSlowPath();
  NextChunk();
}

bool ScatteredStreamWriter::IsReentered() noexcept {
  if (PROTOZERO_LIKELY(!rare_.is_asking))
    return false;
  PROTOZERO_DCHECK(false, kReenteredAdvice);
  Fail(WriteStatus::kReentered, 0);
  return true;
}

bool ScatteredStreamWriter::NextChunk() noexcept {
  if (!ok() || (rare_.is_asking && IsReentered()))
    return false;
  ContiguousMemoryRange range{};
  if (delegate_ != nullptr) {
    rare_.is_asking = true;
    Message* const outermost = has_open_root() ? OutermostThawed() : nullptr;
    for (Message* message = outermost; message; message = message->nested_) {
      if (!(message->state_.flags &
            (Message::kCrossedChunk | Message::kFinalized |
             Message::kHasNoSize))) {
        uint8_t* const patch = delegate_->AnnotatePatch(message->size_field_);
        PROTOZERO_DCHECK(patch == nullptr || patch == message->size_field_ ||
                             IsZeroPatch(patch),
                         "AnnotatePatch() returns kPatchSize zero bytes");
        message->MoveSizeFieldTo(patch);
      }
    }
    range = delegate_->GetNewBuffer();
    // A message that the delegate has begun has it.
    if (cursor_is_lent()) {
      IsReentered();
      TakeCursorSlowPath();
    }
    rare_.is_asking = false;
    if (!ok())
      return false;
  }
  if (IsReversed(range)) {
    Fail(WriteStatus::kInvalidBuffer, 0);
    return false;
  }
  if (!range.is_valid() || range.size() == 0) {
    Fail(WriteStatus::kOutOfBuffer, 0);
    return false;
  }
  MoveTo(range);
  return true;
}

void ScatteredStreamWriter::MoveTo(ContiguousMemoryRange range) noexcept {
  const uintptr_t fast_limit = FastLimitOf(range);
  Message* message = has_open_root() ? OutermostThawed() : nullptr;
  while (message != nullptr && !message->is_finalized()) {
    const uint64_t size = message->SizeAt(write_ptr_);
    message->state_.flags |= Message::kCrossedChunk;
    Message* const child = message->nested_;
    // The leaf and its parent, which are not worth being frozen.
    if (child == nullptr || child->nested_ == nullptr) {
      message->state_.size = Saturate(size);
      message->base_ = range.begin;
      message->fast_limit_ = fast_limit;
    } else {
      message->state_.size = Saturate(size - child->SizeAt(write_ptr_));
      message->base_ = reinterpret_cast<uint8_t*>(InnermostFrozen());
      frozen_ = message;
      root_->NoteFrozen(true);
    }
    message = child;
  }
  EnterChunk(range, fast_limit);
}

bool ScatteredStreamWriter::IsFrozen(const Message* message) const noexcept {
  const Message* frozen = InnermostFrozen();
  while (frozen != nullptr && frozen != message)
    frozen = reinterpret_cast<const Message*>(frozen->base_);
  return frozen != nullptr;
}

Message* ScatteredStreamWriter::Leaf() const noexcept {
  Message* leaf = OutermostThawed();
  while (leaf->HasNested())
    leaf = leaf->nested_;
  return leaf;
}

uint8_t* ScatteredStreamWriter::GoOnBehind(const Message* child,
                                           uint8_t* size_field,
                                           uint64_t size,
                                           uint8_t* end) noexcept {
  if (size_field != nullptr) {
    proto_utils::internal::WritePaddedVarInt<
        proto_utils::kMessageLengthFieldSize>(size, size_field);
  }
  Message* const parent = InnermostFrozen();
  if (parent != nullptr && parent->nested_ == child) {
    frozen_ = reinterpret_cast<Message*>(parent->base_);
    root_->NoteFrozen(frozen_ != nullptr);
    parent->state_.size = Saturate(parent->state_.size + size);
    parent->base_ = end;
    parent->fast_limit_ = fast_limit_;
  }
  return end;
}

void ScatteredStreamWriter::Fail(WriteStatus status,
                                 uint64_t lost_bytes) noexcept {
  if (ok())
    rare_.status = status;
  fast_limit_ = 0;
  written_previously_ += lost_bytes;
}

uint8_t* ScatteredStreamWriter::WidenMessagesFor(size_t size,
                                                 uint8_t* pos) const noexcept {
  // Without fast room, nothing begins narrow, and what did has been widened.
  if (fast_limit_ == 0)
    return pos;
  // Nor is the outermost: it is a root message, or has crossed a chunk.
  Message* const outermost = OutermostThawed();
  if (PROTOZERO_LIKELY(!outermost->HasNested()))
    return pos;
  return WidenChainFor(outermost, size, pos);
}

uint8_t* ScatteredStreamWriter::WidenChainFor(Message* outermost,
                                              size_t size,
                                              uint8_t* pos) const noexcept {
  constexpr size_t kWidening = Message::kWidening;
  size_t widenings = 0;
  for (Message* message = outermost->nested_; message;
       message = message->nested_message())
    widenings += message->is_narrow() ? kWidening : 0;
  if (widenings == 0)
    return pos;
  const size_t room = static_cast<size_t>(cur_range_.end - pos);
  const bool widen_all = size > room || size + widenings > room;
  uintptr_t limit = fast_limit_;
  // From the outermost on, because those inside move along. No wide message is
  // inside a narrow one: whatever widens a message widens those around it.
  size_t moved_by = 0;
  for (Message* message = outermost; message;
       message = message->nested_message()) {
    // The leaf may be: it keeps the cursor, but takes no more fields.
    if (message->is_finalized())
      break;
    message->base_ += moved_by;
    if (message->is_narrow()) {
      // Beyond kMaxNarrowSize already if children became wide when they were
      // sealed.
      const size_t message_size = static_cast<size_t>(pos - message->base_);
      if (widen_all || message_size + size > Message::kMaxNarrowSize) {
        pos = message->Widen(pos);
        moved_by += kWidening;
      } else {
        limit = Message::NarrowLimit(limit, message->base_);
      }
    }
    message->fast_limit_ = limit;
  }
  return pos;
}

void ScatteredStreamWriter::WidenOpenMessages() const noexcept {
  Message* leaf = Leaf();
  leaf->write_ptr_ =
      WidenMessagesFor(std::numeric_limits<size_t>::max(), leaf->write_ptr_);
}

void ScatteredStreamWriter::TakeCursorSlowPath() noexcept {
  if (cursor_is_lent())
    TakeLentCursor();
}

void ScatteredStreamWriter::TakeLentCursor() noexcept {
  Message* const leaf = Leaf();
  const bool has_no_field = leaf->IsRootWithoutField();
  leaf->ReturnCursorToWriter();
  if (!has_no_field) {
    root_->NoteRawBytes();
  } else {
    rare_.taken = leaf->state_.flags & Message::kHasNoSize
                      ? Taken::kBeforeFirstField
                      : Taken::kBehindSizeField;
  }
}

void ScatteredStreamWriter::LendCursorToLeaf() noexcept {
  Leaf()->LendCursorFromWriter();
}

uint8_t* ScatteredStreamWriter::LentWritePtr() const noexcept {
  // What somebody knows of the stream must stay true.
  WidenOpenMessages();
  return Leaf()->write_ptr_;
}

void ScatteredStreamWriter::AbandonRoot() noexcept {
  if (!has_open_root())
    return;
  // One that begins in its place gets the cursor, but may not write either.
  IsReentered();
  // Without touching the chunk, which may be gone.
  if (cursor_is_lent())
    write_ptr_ = Leaf()->write_ptr_;
  root_->CloseRoot();
  rare_.taken = Taken::kNot;
}

PROTOZERO_ABI_END
}  // namespace protozero
