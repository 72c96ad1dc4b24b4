// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "open_messages.h"

#include <string.h>

#include <algorithm>
#include <limits>

#include "protozero/internal/message_inline.h"
#include "protozero/internal/varint.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {
namespace {

using State = MessageState;

// Limits |size| to 32 bits: beyond the largest message, its exact value does
// not matter.
uint32_t Saturate(uint64_t size) {
  return static_cast<uint32_t>(
      std::min<uint64_t>(size, std::numeric_limits<uint32_t>::max()));
}

[[maybe_unused]] bool IsZeroPatch(const uint8_t* patch) {
  constexpr uint8_t kZeros[ScatteredStreamWriter::Delegate::kPatchSize] = {};
  return memcmp(patch, kZeros, sizeof(kZeros)) == 0;
}

}  // namespace

// The chain. Every function that walks along it begins with one of these two.

PROTOZERO_ALWAYS_INLINE Message* OpenMessages::InnermostFrozen(
    const ScatteredStreamWriter* writer) {
  return PROTOZERO_UNLIKELY(HasFrozen(writer)) ? writer->frozen_ : nullptr;
}

PROTOZERO_ALWAYS_INLINE Message* OpenMessages::OutermostThawed(
    const ScatteredStreamWriter* writer) {
  return PROTOZERO_UNLIKELY(HasFrozen(writer)) ? writer->frozen_->nested_
                                               : writer->root_;
}

inline void OpenMessages::SetHasFrozen(ScatteredStreamWriter* writer,
                                       bool has_frozen) {
  uint8_t& flags = writer->root_->state_.tag_size;
  flags =
      static_cast<uint8_t>(has_frozen ? flags | State::kHasFrozen
                                      : flags & ~unsigned{State::kHasFrozen});
}

inline bool OpenMessages::IsFrozen(const ScatteredStreamWriter* writer,
                                   const Message* message) {
  const Message* frozen = InnermostFrozen(writer);
  while (frozen != nullptr && frozen != message)
    frozen = reinterpret_cast<const Message*>(frozen->base_);
  return frozen != nullptr;
}

Message* OpenMessages::Leaf(const ScatteredStreamWriter* writer) noexcept {
  Message* leaf = OutermostThawed(writer);
  while (HasNested(leaf))
    leaf = leaf->nested_;
  return leaf;
}

uint8_t* OpenMessages::ThawParentOf(ScatteredStreamWriter* writer,
                                    const Message* child,
                                    uint8_t* size_field,
                                    uint64_t size,
                                    uint8_t* end) noexcept {
  if (size_field != nullptr) {
    proto_utils::internal::WritePaddedVarInt<
        proto_utils::kMessageLengthFieldSize>(size, size_field);
  }
  Message* const parent = InnermostFrozen(writer);
  if (parent != nullptr && parent->nested_ == child) {
    writer->frozen_ = reinterpret_cast<Message*>(parent->base_);
    SetHasFrozen(writer, writer->frozen_ != nullptr);
    parent->state_.size = Saturate(parent->state_.size + size);
    parent->base_ = end;
    parent->fast_limit_ = writer->fast_limit_;
  }
  return end;
}

// The cursor.

void OpenMessages::LendCursorTo(Message* leaf) noexcept {
  ScatteredStreamWriter* const writer = leaf->writer_;
  if (writer->reasons_.cursor_taken >
      ScatteredStreamWriter::CursorTaken::kFromLeaf) {
    BeginFirstField(leaf);
  }
  leaf->write_ptr_ = writer->write_ptr_;
  if (!writer->ok())
    StopAfterError(leaf);
  writer->LendCursor();
}

void OpenMessages::ReturnCursor(Message* leaf) noexcept {
  ScatteredStreamWriter* const writer = leaf->writer_;
  // Does the work of WidenAll(), which would look for the leaf.
  writer->write_ptr_ =
      WidenFor(writer, std::numeric_limits<size_t>::max(), leaf->write_ptr_);
  writer->reasons_.cursor_taken = ScatteredStreamWriter::CursorTaken::kFromLeaf;
  leaf->write_ptr_ = ReturnedCursor();
  // Marks the end of the chain for the writer.
  leaf->nested_ = nullptr;
}

void OpenMessages::TakeCursorFromLeaf(ScatteredStreamWriter* writer) noexcept {
  using CursorTaken = ScatteredStreamWriter::CursorTaken;
  Message* const leaf = Leaf(writer);
  const bool is_root_without_field =
      (leaf->state_.flags & State::kRoot) != 0 && !HasRawBytes(leaf) &&
      leaf->state_.size == 0 && leaf->write_ptr_ == leaf->base_;
  ReturnCursor(leaf);
  if (!is_root_without_field) {
    NoteRawBytes(writer->root_);
  } else {
    writer->reasons_.cursor_taken = leaf->state_.flags & State::kNoSize
                                        ? CursorTaken::kBeforeFirstField
                                        : CursorTaken::kBehindSizeField;
  }
}

// Writing.

void OpenMessages::WriteBytes(Message* leaf,
                              const uint8_t* src,
                              size_t size) noexcept {
  if (size == 0)  // memcpy() may not be given null, even for no bytes.
    return;
  ScatteredStreamWriter* const writer = leaf->writer_;
  if (PROTOZERO_UNLIKELY(size > writer->RoomAt(leaf->write_ptr_))) {
    ReturnCursor(leaf);
    writer->WriteBytesSlowPath(src, size);
    return LendCursorTo(leaf);
  }
  memcpy(leaf->write_ptr_, src, size);
  leaf->write_ptr_ += size;
}

void OpenMessages::WriteBorrowedBytes(Message* leaf,
                                      const uint8_t* src,
                                      size_t size) noexcept {
  ReturnCursor(leaf);
  ScatteredStreamWriter* const writer = leaf->writer_;
  if (!writer->BorrowBytes(src, size))
    writer->WriteBytesSlowPath(src, size);
  LendCursorTo(leaf);
}

void OpenMessages::Fail(Message* leaf,
                        WriteStatus status,
                        size_t lost_bytes) noexcept {
  ReturnCursor(leaf);
  leaf->writer_->Fail(status, lost_bytes);
  LendCursorTo(leaf);
}

// Widening.

uint8_t* OpenMessages::Widen(Message* message, uint8_t* end) noexcept {
  const auto size = static_cast<size_t>(end - message->base_);
  message->base_ = WidenSizeField(message->base_, size);
  message->size_field_ = message->base_ - proto_utils::kMessageLengthFieldSize;
  message->state_.flags = State::kWide;
  return end + kWidening;
}

uint8_t* OpenMessages::WidenFor(const ScatteredStreamWriter* writer,
                                size_t size,
                                uint8_t* pos) noexcept {
  // Without fast room, no message begins narrow, and the narrow ones have been
  // widened.
  if (writer->fast_limit_ == 0)
    return pos;
  // The outermost thawed message is not narrow: it is a root message, or has
  // crossed a chunk.
  Message* const outermost = OutermostThawed(writer);
  if (PROTOZERO_LIKELY(!HasNested(outermost)))
    return pos;
  return WidenChainFor(writer, outermost, size, pos);
}

inline size_t OpenMessages::MovedByWideningFrom(Message* outermost,
                                                const Message* last) {
  size_t widenings = 0;
  for (Message* message = outermost; message;
       message = message->nested_message()) {
    widenings += IsNarrow(message) ? kWidening : 0;
    if (message == last)
      break;
  }
  return widenings;
}

size_t OpenMessages::MovedByWidening(const ScatteredStreamWriter* writer,
                                     const Message* last) noexcept {
  return writer->fast_limit_ == 0
             ? 0
             : MovedByWideningFrom(OutermostThawed(writer), last);
}

uint8_t* OpenMessages::WidenChainFor(const ScatteredStreamWriter* writer,
                                     Message* outermost,
                                     size_t size,
                                     uint8_t* pos) noexcept {
  // In a long chain, begins near the leaf. A message that is placed or wide,
  // and whole in this chunk, is in no narrow one.
  if (writer->arena_->IsScattered())
    outermost = writer->arena_->SkipBlocks(outermost, State::kWide);
  const size_t widenings = MovedByWideningFrom(outermost, nullptr);
  if (widenings == 0)
    return pos;
  const size_t room = static_cast<size_t>(writer->cur_range_.end - pos);
  const bool widen_all = size > room || size + widenings > room;
  uintptr_t limit = writer->fast_limit_;
  // Begins with the outermost message, because the messages inside it move
  // along. No wide message is inside a narrow one: widening a message widens
  // those around it.
  size_t moved_by = 0;
  for (Message* message = outermost; message;
       message = message->nested_message()) {
    // The leaf may be sealed: it keeps the cursor, but takes no more fields.
    if (message->is_finalized())
      break;
    message->base_ += moved_by;
    if (IsNarrow(message)) {
      // This is beyond kMaxNarrowSize already if children were widened when
      // they were sealed.
      const size_t message_size = static_cast<size_t>(pos - message->base_);
      if (widen_all || message_size + size > kMaxNarrowSize) {
        pos = Widen(message, pos);
        moved_by += kWidening;
      } else {
        limit = NarrowLimit(limit, message->base_);
      }
    }
    message->fast_limit_ = limit;
  }
  return pos;
}

uint8_t* OpenMessages::WidenAll(const ScatteredStreamWriter* writer) noexcept {
  Message* leaf = Leaf(writer);
  uint8_t* const pos =
      WidenFor(writer, std::numeric_limits<size_t>::max(), leaf->write_ptr_);
  leaf->write_ptr_ = pos;
  return pos;
}

uint8_t* OpenMessages::CursorIfWidened(
    const ScatteredStreamWriter* writer) noexcept {
  return Leaf(writer)->write_ptr_ + MovedByWidening(writer, nullptr);
}

uint8_t* OpenMessages::SizeFieldIfWidened(const Message* message) noexcept {
  return message->base_ + MovedByWidening(message->writer_, message) -
         proto_utils::kMessageLengthFieldSize;
}

// Chunks.

void OpenMessages::AnnotatePatches(ScatteredStreamWriter* writer) noexcept {
  constexpr unsigned kHasPatchOrNone =
      State::kCrossedChunk | State::kFinalized | State::kNoSize;
  Message* message =
      writer->has_open_root() ? OutermostThawed(writer) : nullptr;
  for (; message != nullptr; message = message->nested_) {
    if (message->state_.flags & kHasPatchOrNone)
      continue;
    uint8_t* const patch =
        writer->delegate_->AnnotatePatch(message->size_field_);
    PROTOZERO_DCHECK(
        patch == nullptr || patch == message->size_field_ || IsZeroPatch(patch),
        "AnnotatePatch() returns kPatchSize zero bytes");
    MoveSizeField(message, patch);
  }
}

void OpenMessages::EnterChunk(ScatteredStreamWriter* writer,
                              ContiguousMemoryRange range) noexcept {
  const uintptr_t fast_limit = ScatteredStreamWriter::FastLimitOf(range);
  uint8_t* const end = writer->write_ptr_;
  Message* message =
      writer->has_open_root() ? OutermostThawed(writer) : nullptr;
  while (message != nullptr && !message->is_finalized()) {
    const uint64_t size = SizeAt(message, end);
    message->state_.flags |= State::kCrossedChunk;
    Message* const child = message->nested_;
    // Freezing the leaf and its parent would not pay.
    if (child == nullptr || child->nested_ == nullptr) {
      message->state_.size = Saturate(size);
      message->base_ = range.begin;
      message->fast_limit_ = fast_limit;
    } else {
      message->state_.size = Saturate(size - SizeAt(child, end));
      message->base_ = reinterpret_cast<uint8_t*>(InnermostFrozen(writer));
      writer->frozen_ = message;
      SetHasFrozen(writer, true);
    }
    message = child;
  }
  writer->EnterChunk(range, fast_limit);
}

// Raw bytes.

inline bool OpenMessages::HasRawBytes(const Message* message) {
  return (message->state_.flags & State::kRoot) != 0 &&
         (message->state_.tag_size & State::kHasRawBytes) != 0;
}

inline void OpenMessages::NoteRawBytes(Message* message) {
  if (message->state_.flags & State::kRoot)
    message->state_.tag_size |= State::kHasRawBytes;
}

inline void OpenMessages::BeginAtWriter(Message* root) {
  root->base_ = root->writer_->write_ptr_;
  root->state_.size = 0;
}

void OpenMessages::BeginFirstField(Message* root) noexcept {
  using CursorTaken = ScatteredStreamWriter::CursorTaken;
  ScatteredStreamWriter* const writer = root->writer_;
  const CursorTaken taken = writer->reasons_.cursor_taken;
  writer->reasons_.cursor_taken = CursorTaken::kFromLeaf;
  if (taken == CursorTaken::kBeforeFirstField) {
    // The message gets the state of one that begins here: a size field that is
    // given to it later is in this chunk, or elsewhere.
    root->state_.flags &= static_cast<uint8_t>(~unsigned{State::kCrossedChunk});
  } else if (root->base_ != writer->write_ptr_ || root->state_.size != 0) {
    writer->Fail(WriteStatus::kAmbiguousSize, 0);
  }
  BeginAtWriter(root);
}

ScatteredStreamWriter* OpenMessages::ExpectRawFields(
    Message* message) noexcept {
  ScatteredStreamWriter* const writer = message->writer_;
  if (message->is_finalized())
    return writer;
  writer->TakeCursorSlowPath();
  if (writer->reasons_.cursor_taken >
      ScatteredStreamWriter::CursorTaken::kFromLeaf) {
    BeginFirstField(message);
  }
  NoteRawBytes(message);
  return writer;
}

bool OpenMessages::MayCountSizeField(const Message* message,
                                     const uint8_t* size_field) noexcept {
  const ScatteredStreamWriter* const writer = message->writer_;
  const uint8_t* const end =
      writer->cursor_is_lent() ? Leaf(writer)->write_ptr_ : writer->write_ptr_;
  const uint8_t* const begin =
      IsFrozen(writer, message) ? writer->cur_range_.begin : message->base_;
  const auto address = reinterpret_cast<uintptr_t>(size_field);
  if (reinterpret_cast<uintptr_t>(begin) <= address &&
      address < reinterpret_cast<uintptr_t>(end)) {
    return true;
  }
  // The size field may be in one of the chunks before this one.
  constexpr uint8_t kLeft = State::kNoSize | State::kCrossedChunk;
  return (message->state_.flags & kLeft) == kLeft && HasRawBytes(message);
}

void OpenMessages::SetSizeField(Message* message,
                                uint8_t* size_field) noexcept {
  using CursorTaken = ScatteredStreamWriter::CursorTaken;
  ScatteredStreamWriter* const writer = message->writer_;
  if (IsNarrow(message))
    WidenAll(writer);
  if (message->state_.flags & (State::kFinalized | State::kGroup))
    return;
  if (writer->reasons_.is_asking) {
    // A delegate only moves size fields: it does not choose the bytes that they
    // cover.
  } else if (writer->reasons_.cursor_taken > CursorTaken::kFromLeaf) {
    // The bytes that have been written so far are in front of the message.
    BeginAtWriter(message);
    message->state_.flags &=
        static_cast<uint8_t>(~unsigned{State::kCrossedChunk});
    writer->reasons_.cursor_taken = size_field == nullptr
                                        ? CursorTaken::kBeforeFirstField
                                        : CursorTaken::kBehindSizeField;
  } else if (size_field != nullptr && MayCountSizeField(message, size_field)) {
    writer->TakeCursorSlowPath();
    writer->Fail(WriteStatus::kAmbiguousSize, 0);
  }
  MoveSizeField(message, size_field);
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
