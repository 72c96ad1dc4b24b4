// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/scattered_stream_writer.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "protozero/message.h"

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
  if (!ok() || IsReentered())
    return false;
  ContiguousMemoryRange range{};
  if (delegate_ != nullptr) {
    rare_.is_asking = true;
    for (Message* message = FirstThawed(); message;
         message = message->nested_) {
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
  Message* message = FirstThawed();
  while (message != nullptr && !message->is_finalized()) {
    const uint64_t size = message->SizeAt(write_ptr_);
    message->state_.flags |= Message::kCrossedChunk;
    Message* const child = message->nested_;
    if (child == nullptr || child->is_finalized()) {
      message->state_.size = Saturate(size);
      message->base_ = range.begin;
      message->fast_limit_ = fast_limit;
      break;
    }
    message->state_.size = Saturate(size - child->SizeAt(write_ptr_));
    message->base_ = reinterpret_cast<uint8_t*>(InnermostFrozen());
    frozen_ = message;
    root_->NoteFrozen();
    message = child;
  }
  EnterChunk(range, fast_limit);
}

Message* ScatteredStreamWriter::InnermostFrozen() const noexcept {
  return root_->has_frozen() ? frozen_ : nullptr;
}

bool ScatteredStreamWriter::IsFrozen(const Message* message) const noexcept {
  const Message* frozen = InnermostFrozen();
  while (frozen != nullptr && frozen != message)
    frozen = reinterpret_cast<const Message*>(frozen->base_);
  return frozen != nullptr;
}

Message* ScatteredStreamWriter::FirstThawed() const noexcept {
  if (!has_open_root())
    return nullptr;
  Message* const frozen = InnermostFrozen();
  return frozen != nullptr ? frozen->nested_ : root_;
}

Message* ScatteredStreamWriter::Leaf() const noexcept {
  Message* leaf = FirstThawed();
  while (leaf->HasNested())
    leaf = leaf->nested_;
  return leaf;
}

void ScatteredStreamWriter::ThawParentOf(const Message* child,
                                         uint64_t size,
                                         uint8_t* end) noexcept {
  Message* const parent = InnermostFrozen();
  if (parent == nullptr || parent->nested_ != child)
    return;
  frozen_ = reinterpret_cast<Message*>(parent->base_);
  parent->state_.size = Saturate(parent->state_.size + size);
  parent->base_ = end;
  parent->fast_limit_ = fast_limit_;
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
  constexpr size_t kWidening = Message::kWidening;
  // Without fast room, nothing begins narrow, and what did has been widened.
  if (fast_limit_ == 0)
    return pos;
  // No frozen message is narrow.
  Message* const outermost = FirstThawed();
  size_t widenings = 0;
  for (Message* message = outermost; message;
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
  if (!cursor_is_lent())
    return;
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
