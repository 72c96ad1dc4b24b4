// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/message.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "protozero/internal/compiler.h"
#include "protozero/internal/message_in_place.h"
#include "protozero/internal/short_copy.h"
#include "varint_slow_path.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

static_assert(std::is_trivially_default_constructible<Message>::value &&
                  std::is_trivially_destructible<Message>::value,
              "slots become messages, and are forgotten, without any code");

namespace {

using internal::kMaxShortCopy;
using internal::StoreLittleEndian;
using internal::WriteVarIntSlowPath;
using proto_utils::kMaxMessageLength;
using proto_utils::kMaxOneByteMessageLength;
using proto_utils::kMaxRootMessageLength;
using proto_utils::kMessageLengthFieldSize;

constexpr auto WritePaddedSize =
    proto_utils::internal::WritePaddedVarInt<kMessageLengthFieldSize>;

}  // namespace

uint8_t* internal::WriteVarIntSlowPath(uint64_t value, uint8_t* dst) noexcept {
  return proto_utils::WriteVarInt(value, dst);
}

uint8_t* internal::WidenSizeUnsafe(uint8_t* begin, size_t size) noexcept {
  constexpr size_t kWidening = kMessageLengthFieldSize - 1;
  auto* const moved =
      static_cast<uint8_t*>(memmove(begin + kWidening, begin, size));
  // Nothing is narrow where inline code is not for this processor.
  proto_utils::internal::WritePaddedVarIntInline<kMessageLengthFieldSize>(
      size, moved - kMessageLengthFieldSize);
  return moved + size;
}

// Hot functions leave for their cold parts by tail calls only: a call that
// returns would make them save registers on every entry.

// Wraps: a handle that is 65,536 messages old may go unnoticed.
PROTOZERO_COLD uint16_t Message::NextEpoch() noexcept {
#if PROTOZERO_DCHECK_IS_ON
  static std::atomic<uint16_t> last_epoch{0};
  return static_cast<uint16_t>(
      last_epoch.fetch_add(1, std::memory_order_relaxed) + 1);
#else
  return 0;
#endif
}

void Message::InitUnattached() noexcept {
  write_ptr_ = nullptr;
  fast_limit_ = 0;
  writer_ = nullptr;
  base_ = nullptr;
  state_ = {kFinalized, 0, 0, 0};
}

uint32_t Message::FinalizeSlowPath() noexcept {
  if (is_finalized())
    return state_.size;
  if (!TakeCursor())
    return 0;
  uint8_t* end = SealAt(write_ptr_);
  write_ptr_ = end;
  if (writer_->root_ == this)
    writer_->write_ptr_ = end;
  return state_.size;
}

// One store: a chain is mostly sealed right before its root, and then stores
// are what there is too many of.
inline void Message::MarkSealed(uint64_t size, uint8_t group_flag) noexcept {
  SetState({static_cast<uint8_t>(kFinalized | group_flag), 0,
            PROTOZERO_DCHECK_IS_ON ? state_.epoch : uint16_t{0},
            static_cast<uint32_t>(size)});
}

inline void Message::WriteShortSize(size_t size) const {
  StoreLittleEndian(base_ - 1, static_cast<uint8_t>(size));
}

inline void Message::SealShort(size_t size) {
  WriteShortSize(size);
  MarkSealed(size);
}

// REQUIRES: inline code is for this processor, as it is where anything is
// narrow or expected to be long.
PROTOZERO_ALWAYS_INLINE void Message::SealWide(size_t size) {
  proto_utils::internal::WritePaddedVarIntInline<kMessageLengthFieldSize>(
      size, base_ - kMessageLengthFieldSize);
  MarkSealed(size);
}

inline bool Message::IsWideAndLong(size_t size) const {
  constexpr size_t kMinSize = kMaxOneByteMessageLength + 1;
  return PROTOZERO_LIKELY(state_.flags == kWide) &&
         PROTOZERO_LIKELY(size - kMinSize <= kMaxMessageLength - kMinSize);
}

uint8_t* Message::Widen(uint8_t* end) noexcept {
  uint8_t* const begin = base_;
  base_ = begin + kWidening;
  memmove(base_, begin, static_cast<size_t>(end - begin));
  size_field_ = begin - 1;
  memset(begin, 0, kWidening);
  state_.flags = kWide;
  return end + kWidening;
}

size_t Message::MaxLength(uint8_t flags) noexcept {
  // What has no size field may be as long as a root message.
  return (flags & kHasNoSize) && (flags & (kRoot | kGroup))
             ? kMaxRootMessageLength
             : kMaxMessageLength;
}

uint8_t* Message::SealAt(uint8_t* end) noexcept {
  if (is_finalized())
    return end;
  StopSetters();
  if (is_narrow()) {
    const size_t narrow_size = static_cast<size_t>(end - base_);
    if (narrow_size <= kMaxOneByteMessageLength) {
      SealShort(narrow_size);
      return end;
    }
    end = Widen(end);
    writer_->arena_->NoteLength(this, true);
  }
  const uint8_t flags = state_.flags;
  uint8_t* size_field = flags & kHasNoSize ? nullptr : size_field_;
  uint64_t size = SizeAt(end);
  if ((size > kMaxMessageLength && size > MaxLength(flags)) || !writer_->ok()) {
    writer_->Fail(WriteStatus::kMessageTooLong, 0);
    size_field = nullptr;
    size = 0;
  }
  MarkSealed(size, flags & kGroup);
  if (flags & kCrossedChunk) {
    if (writer_->root_->has_frozen())
      return writer_->GoOnBehind(this, size_field, size, end);
  } else if (size_field != nullptr && size <= kMaxOneByteMessageLength &&
             size_field + kMessageLengthFieldSize == base_ &&
             size_field >= writer_->cur_range_.begin) {
    if (!(flags & kRoot))
      writer_->arena_->NoteLength(this, false);
    *size_field = static_cast<uint8_t>(size);
    memmove(size_field + 1, base_, internal::ToSize(size));
    return end - kWidening;
  }
  if (size_field != nullptr)
    WritePaddedSize(size, size_field);
  return end;
}

// In this file only: whoever includes the header may have other checks.
inline void Message::DeleteNested(MessageArena* arena,
                                  Message* child) noexcept {
#if PROTOZERO_DCHECK_IS_ON
  writer_->root_->state_.tag_size |= kHasQuarantined;
  arena->QuarantineMessagesFrom(child);
#else
  arena->DeleteMessagesFrom(child);
#endif
}

inline void Message::DeleteInlineNested(MessageArena* arena,
                                        Message* child) noexcept {
#if PROTOZERO_DCHECK_IS_ON
  DeleteNested(arena, child);
#else
  arena->DeleteInlineMessagesFrom(child);
#endif
}

inline void Message::ReplaceNested() noexcept {
#if PROTOZERO_DCHECK_IS_ON
  writer_->arena_->ReplaceQuarantined(
      this,
      (state_.flags & kRoot) != 0 && (state_.tag_size & kHasQuarantined) == 0);
#endif
}

bool Message::IsReplacedBy(
    [[maybe_unused]] const Message* next) const noexcept {
#if PROTOZERO_DCHECK_IS_ON
  if (next->is_finalized())
    return false;
  const Message* parent = next->writer_->root_;
  while (parent->HasNested() && parent->nested_ != next)
    parent = parent->nested_;
  // See MessageArena::quarantined_.
  return parent->HasNested() && nested_ == parent;
#else
  return false;
#endif
}

inline void Message::LetGoOfInlineNested(MessageArena* arena,
                                         Message* child,
                                         uint8_t* end) noexcept {
  DeleteInlineNested(arena, child);
  write_ptr_ = end;
}

inline void Message::LetGoOfNested(uint8_t* end) noexcept {
  DeleteNested(writer_->arena_, nested_);
  write_ptr_ = end;
}

PROTOZERO_ALWAYS_INLINE bool Message::SealShortNested() noexcept {
  // Who is in quarantine has to know that it is sealed.
  if (PROTOZERO_DCHECK_IS_ON)
    return false;
  Message* const child = nested_;
  MessageArena* const arena = writer_->arena_;
  if (PROTOZERO_UNLIKELY(child->HasNested() || child->state_.flags != kNarrow ||
                         arena->IsScattered())) {
    return false;
  }
  uint8_t* const end = child->write_ptr_;
  const size_t size = static_cast<size_t>(end - child->base_);
  if (PROTOZERO_UNLIKELY(size > kMaxOneByteMessageLength))
    return false;
  // That is all: whatever begins next takes the child's slot.
  child->WriteShortSize(size);
  LetGoOfInlineNested(arena, child, end);
  return true;
}

uint32_t Message::FinalizeOutOfLine() noexcept {
  uint8_t* const end = write_ptr_;
  if (PROTOZERO_UNLIKELY(!IsWholeRoot(end)))
    return SealNestedAnd(kFinalize);
  return SealWholeRoot(end);
}

uint32_t Message::SealNestedAnd(AfterNested next) noexcept {
  if (PROTOZERO_UNLIKELY(!HasNested()) || PROTOZERO_UNLIKELY(is_finalized()))
    return FinalizeSlowPath();
  // Outside of blocks, the chain is a row. From the leaf up, because a child
  // that moves makes its parents longer.
  MessageArena* const arena = writer_->arena_;
  if (PROTOZERO_UNLIKELY(arena->IsScattered()))
    return SealAnyNestedAnd(next, nullptr, nullptr);
  Message* child = arena->LastInlineMessage();
  // Either way it holds the cursor, and there is no error.
  if (PROTOZERO_UNLIKELY(!child->is_narrow()) &&
      PROTOZERO_UNLIKELY(!child->HasFastRoom())) {
    return SealAnyNestedAnd(next, nullptr, nullptr);
  }
  uint8_t* const end = child->write_ptr_;
  child->StopSetters();
  Message* const first = nested_;
  // Short ones first, for what holds a long message is long. Calls nothing: see
  // above. With a flag instead of the goto, compilers test it in the loop.
  for (;;) {
    const size_t size = static_cast<size_t>(end - child->base_);
    if (PROTOZERO_UNLIKELY(child->state_.flags != kNarrow) ||
        PROTOZERO_UNLIKELY(size > kMaxOneByteMessageLength)) {
      break;
    }
    child->SealShort(size);
    if (child == first)
      goto sealed;
    --child;
  }
  for (;;) {
    const size_t size = static_cast<size_t>(end - child->base_);
    if (PROTOZERO_UNLIKELY(!child->IsWideAndLong(size)) ||
        PROTOZERO_UNLIKELY(!arena->HasExpectedLong(child))) {
      return SealAnyNestedAnd(next, child, end);
    }
    child->SealWide(size);
    if (child == first)
      break;
    --child;
  }
  arena->LookAtNext();
sealed:
  DeleteInlineNested(arena, first);
  if (PROTOZERO_LIKELY(next == kFinalize) && PROTOZERO_LIKELY(IsWholeRoot(end)))
    return SealWholeRoot(end);
  write_ptr_ = end;
  return next == kFinalize ? FinalizeSlowPath() : 0;
}

uint32_t Message::SealAnyNestedAnd(AfterNested next,
                                   Message* child,
                                   uint8_t* end) noexcept {
  if (child == nullptr && writer_->IsReentered())
    return 0;
  if (child == nullptr || !SealLong(child, end))
    SealAnyNested();
  return next == kFinalize ? FinalizeOutOfLine() : 0;
}

inline bool Message::SealLong(Message* child, uint8_t* end) noexcept {
  MessageArena* const arena = writer_->arena_;
  for (;; --child) {
    if (child->state_.flags == kNarrow)
      end = child->Widen(end);
    const size_t size = static_cast<size_t>(end - child->base_);
    if (!child->IsWideAndLong(size))
      break;
    child->SealWide(size);
    arena->NoteLength(child, true);
    if (child == nested_) {
      LetGoOfInlineNested(arena, child, end);
      return true;
    }
  }
  if (child->HasNested())
    child->LetGoOfInlineNested(arena, child->nested_, end);
  return false;
}

void Message::SealAnyNested() noexcept {
  if (PROTOZERO_UNLIKELY(!writer_->cursor_is_lent()))
    writer_->LendCursorToLeaf();
  MessageArena* const arena = writer_->arena_;
  Message* parent = nullptr;
  do {
#if PROTOZERO_DCHECK_IS_ON
    // In memory, those in quarantine are between them.
    parent = this;
    while (parent->nested_->HasNested())
      parent = parent->nested_;
    Message* const child = parent->nested_;
#else
    Message* const child = arena->LastMessage();
#endif
    uint8_t* const end = child->SealAt(child->write_ptr_);
    DeleteNested(arena, child);
#if !PROTOZERO_DCHECK_IS_ON
    parent = child == nested_ ? this : arena->LastMessage();
#endif
    parent->write_ptr_ = end;
    if (PROTOZERO_UNLIKELY(!writer_->ok()))
      parent->StopAfterError();
    if (child->is_group())
      parent->AppendEndTag(child->end_tag_);
  } while (parent != this);
}

void Message::AppendEndTag(uint32_t end_tag) noexcept {
  uint8_t bytes[proto_utils::kMaxTagEncodedSize];
  const uint8_t* end = WriteVarIntSlowPath(end_tag, bytes);
  AppendRawProtoBytes(bytes, static_cast<size_t>(end - bytes));
}

void Message::CloseChain() noexcept {
  for (Message* message = this; message != nullptr;) {
    Message* const nested = message->nested_message();
    message->MarkSealed(0);
    message->write_ptr_ = ScatteredStreamWriter::WithWriter();
    message = nested;
  }
}

void Message::CloseRoot() noexcept {
  if (HasNested())
    DeleteNested(writer_->arena_, nested_);
  CloseChain();
}

bool Message::RollBackNestedMessage() noexcept {
  Message* const child = nested_message();
  if (child == nullptr || writer_->IsReentered() ||
      child->state_.tag_size == 0 ||
      (child->state_.flags & (kFinalized | kCrossedChunk)) || !writer_->ok()) {
    return false;
  }
  const size_t size_field_size = child->is_group()    ? 0
                                 : child->is_narrow() ? 1
                                                      : kMessageLengthFieldSize;
  uint8_t* const begin =
      child->base_ - child->state_.tag_size - size_field_size;
  LetGoOfNested(begin);
  child->CloseChain();
  writer_->LendCursor();
  return true;
}

bool Message::TakeCursor() noexcept {
  if (PROTOZERO_UNLIKELY(is_finalized())) {
    PROTOZERO_DCHECK(state_.flags & kDropsEverything,
                     "this message is sealed: its parent was written to, or it "
                     "was finalized, or another one began on its stream, or "
                     "Reset() was never called");
    return false;
  }
  if (HasNested()) {
    SealNestedAnd(kContinue);
    return !HasNested();
  }
  return PROTOZERO_LIKELY(writer_->cursor_is_lent()) || TakeCursorBack();
}

bool Message::TakeCursorBack() noexcept {
  if (writer_->IsReentered())
    return false;
  LendCursorFromWriter();
  return true;
}

bool Message::TakeCursorFor(size_t size) noexcept {
  if (!HasCursor() && !TakeCursor())
    return false;
  if (!HasFastRoom() || size > ScatteredStreamWriter::kFastRoom)
    write_ptr_ = writer_->WidenMessagesFor(size, write_ptr_);
  return true;
}

void Message::Fail(WriteStatus status, size_t lost_bytes) noexcept {
  ReturnCursorToWriter();
  writer_->Fail(status, lost_bytes);
  LendCursorFromWriter();
}

void Message::BeginAtWriter() noexcept {
  base_ = writer_->write_ptr_;
  state_.size = 0;
}

void Message::BeginFirstField() noexcept {
  using Taken = ScatteredStreamWriter::Taken;
  const Taken taken = writer_->rare_.taken;
  writer_->rare_.taken = Taken::kFromLeaf;
  if (taken == Taken::kBeforeFirstField) {
    // As if it began here: a size field that is given to it later is in this
    // chunk, or elsewhere.
    state_.flags &= static_cast<uint8_t>(~unsigned{kCrossedChunk});
  } else if (base_ != writer_->write_ptr_ || state_.size != 0) {
    writer_->Fail(WriteStatus::kAmbiguousSize, 0);
  }
  BeginAtWriter();
}

void Message::ExpectRawFields() noexcept {
  if (is_finalized())
    return;
  writer_->TakeCursorSlowPath();
  if (writer_->rare_.taken > ScatteredStreamWriter::Taken::kFromLeaf)
    BeginFirstField();
  NoteRawBytes();
}

bool Message::MayCountSizeField(const uint8_t* size_field) const noexcept {
  const uint8_t* const end = writer_->cursor_is_lent()
                                 ? writer_->Leaf()->write_ptr_
                                 : writer_->write_ptr_;
  const uint8_t* const begin =
      writer_->IsFrozen(this) ? writer_->cur_range_.begin : base_;
  const auto address = reinterpret_cast<uintptr_t>(size_field);
  if (reinterpret_cast<uintptr_t>(begin) <= address &&
      address < reinterpret_cast<uintptr_t>(end)) {
    return true;
  }
  // It may be in one of the chunks before this one.
  constexpr uint8_t kLeft = kHasNoSize | kCrossedChunk;
  return (state_.flags & kLeft) == kLeft && has_raw_bytes();
}

void Message::set_size_field(uint8_t* size_field) noexcept {
  using Taken = ScatteredStreamWriter::Taken;
  if (is_narrow())
    writer_->WidenOpenMessages();
  if (state_.flags & (kFinalized | kGroup))
    return;
  if (writer_->rare_.is_asking) {
    // A delegate moves size fields, and does not frame messages.
  } else if (writer_->rare_.taken > Taken::kFromLeaf) {
    // What has been written so far is in front of it.
    BeginAtWriter();
    state_.flags &= static_cast<uint8_t>(~unsigned{kCrossedChunk});
    writer_->rare_.taken = size_field == nullptr ? Taken::kBeforeFirstField
                                                 : Taken::kBehindSizeField;
  } else if (size_field != nullptr && MayCountSizeField(size_field)) {
    writer_->TakeCursorSlowPath();
    writer_->Fail(WriteStatus::kAmbiguousSize, 0);
  }
  MoveSizeFieldTo(size_field);
}

void Message::LendCursorFromWriter() noexcept {
  if (writer_->rare_.taken > ScatteredStreamWriter::Taken::kFromLeaf)
    BeginFirstField();
  write_ptr_ = writer_->write_ptr_;
  if (!writer_->ok())
    StopAfterError();
  writer_->LendCursor();
}

void Message::ReturnCursorToWriter() noexcept {
  writer_->WidenOpenMessages();
  writer_->write_ptr_ = write_ptr_;
  writer_->rare_.taken = ScatteredStreamWriter::Taken::kFromLeaf;
  write_ptr_ = ScatteredStreamWriter::WithWriter();
  // The end of the chain, for the writer to walk.
  nested_ = nullptr;
}

void Message::WriteScattered(const uint8_t* src, size_t size) noexcept {
  ReturnCursorToWriter();
  writer_->WriteBytesSlowPath(src, size);
  LendCursorFromWriter();
}

void Message::WriteEncoded(const uint8_t* src, size_t size) noexcept {
  if (size == 0)  // memcpy() may not be given null, even for no bytes.
    return;
  if (PROTOZERO_UNLIKELY(size > room()))
    return WriteScattered(src, size);
  memcpy(write_ptr_, src, size);
  write_ptr_ += size;
}

void Message::AppendVarIntOutOfLine(EncodedTag tag, uint64_t value) noexcept {
  if (PROTOZERO_UNLIKELY(!HasFastRoom()))
    return AppendVarIntSlowPath(tag, value);
  write_ptr_ = proto_utils::internal::WriteVarIntInline(
      value, tag.StoreAsWord(write_ptr_));
}

void Message::AppendInt32OutOfLine(EncodedTag tag, int32_t value) noexcept {
  AppendVarIntOutOfLine(tag,
                        proto_utils::ExtendValueForVarIntSerialization(value));
}

void Message::AppendVarIntSlowPath(EncodedTag tag, uint64_t value) noexcept {
  if (!TakeCursorFor(ScatteredStreamWriter::kFastRoom))
    return;
  // Mostly a child has just been sealed.
  if (HasFastRoom())
    return AppendVarIntOutOfLine(tag, value);
  uint8_t field[ScatteredStreamWriter::kFastRoom];
  uint8_t* end = WriteVarIntSlowPath(value, tag.StoreAsWord(field));
  WriteEncoded(field, static_cast<size_t>(end - field));
}

template <typename Bits>
void Message::AppendFixedOutOfLine(EncodedTag tag, Bits bits) noexcept {
  if (PROTOZERO_UNLIKELY(!HasFastRoom()))
    return AppendFixedSlowPath(tag, bits, sizeof(bits));
  uint8_t* pos = tag.StoreAsWord(write_ptr_);
  StoreLittleEndian(pos, bits);
  write_ptr_ = pos + sizeof(bits);
}
template void Message::AppendFixedOutOfLine(EncodedTag tag,
                                            uint32_t bits) noexcept;
template void Message::AppendFixedOutOfLine(EncodedTag tag,
                                            uint64_t bits) noexcept;

void Message::AppendFixedSlowPath(EncodedTag tag,
                                  uint64_t bits,
                                  size_t size) noexcept {
  uint8_t field[ScatteredStreamWriter::kFastRoom];
  StoreLittleEndian(tag.StoreAsWord(field), bits);
  AppendRawProtoBytes(field, tag.size() + size);
}

void Message::AppendBytesOutOfLine(EncodedTag tag,
                                   const void* src,
                                   size_t size) noexcept {
  AppendBytesInPlace(tag, src, size);
}

uint8_t* Message::AppendLongBytes(EncodedTag tag,
                                  const void* src,
                                  size_t size) noexcept {
  if (AppendBytesHeader(tag, size))
    WriteEncoded(static_cast<const uint8_t*>(src), size);
  return write_ptr_;
}

bool Message::AppendBytesHeader(EncodedTag tag, uint64_t size) noexcept {
  PROTOZERO_DCHECK(size <= kMaxMessageLength,
                   "a field holds at most 268435455 bytes: split it");
  const size_t in_memory = static_cast<size_t>(
      std::min<uint64_t>(size, SIZE_MAX - ScatteredStreamWriter::kFastRoom));
  if (!TakeCursorFor(ScatteredStreamWriter::kFastRoom + in_memory))
    return false;
  if (PROTOZERO_UNLIKELY(size > kMaxMessageLength)) {
    Fail(WriteStatus::kMessageTooLong, in_memory);
    return false;
  }
  uint8_t header[ScatteredStreamWriter::kFastRoom];
  const uint8_t* end = WriteVarIntSlowPath(size, tag.StoreAsWord(header));
  WriteEncoded(header, static_cast<size_t>(end - header));
  return true;
}

size_t Message::AppendScattered(uint32_t field_id,
                                const ContiguousMemoryRange* ranges,
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

void Message::AppendRawProtoBytes(const void* data, size_t size) noexcept {
  if (TakeCursorFor(size))
    WriteEncoded(static_cast<const uint8_t*>(data), size);
}

Message* Message::BeginNested(EncodedTag tag) noexcept {
  const NewChild begun = BeginNestedAtCursor(tag);
  begun.child->write_ptr_ = begun.write_ptr;
  return begun.child;
}

Message::NewChild Message::BeginNestedAtCursor(EncodedTag tag) noexcept {
  uint8_t* const pos = write_ptr_;
  if (PROTOZERO_UNLIKELY(!MayBeginShort(pos)))
    return BeginNextNested(tag);
  return BeginShortNested(tag, pos);
}

Message::NewChild Message::BeginNextNested(EncodedTag tag) noexcept {
  uint8_t* const pos = write_ptr_;
  if (HasNested()) {
    if (PROTOZERO_LIKELY(SealShortNested()))
      return BeginNestedAtCursor(tag);
  } else if (PROTOZERO_LIKELY(MayBeginLong(pos))) {
    return BeginLongNested(tag, pos);
  }
  return BeginNestedSlowPath(tag);
}

Message* Message::DroppingMessage() noexcept {
  // There is one, for a message that takes no children has no memory that is
  // sure to be there. Setters that drop what they are given store the null that
  // they find.
  static Message dropping({kFinalized | kDropsEverything, 0, 0, 0});
  return &dropping;
}

Message* Message::InsteadOfChild() noexcept {
  if (state_.flags & kDropsEverything)
    return this;
  if (is_finalized() || writer_->rare_.is_asking)
    return DroppingMessage();
  Fail(WriteStatus::kOutOfMemory, 0);
  Message* const child = writer_->arena_->LastResort();
  child->InitUnattached();
  child->state_.flags |= kDropsEverything;
  return child;
}

Message* Message::BeginGroup(EncodedTag tag, uint32_t end_tag) noexcept {
  if (!TakeCursorFor(tag.size()))
    return InsteadOfChild();
  ReplaceNested();
  Message* child = BeginAnywhere(tag, kGroup);
  if (child->is_group())
    child->end_tag_ = end_tag;
  return child;
}

Message::NewChild Message::BeginNestedSlowPath(EncodedTag tag) noexcept {
  if (!TakeCursorFor(ScatteredStreamWriter::kFastRoom)) {
    Message* const child = InsteadOfChild();
    return {child, child->write_ptr_};
  }
  ReplaceNested();
  Message* const child =
      MayBeginLong(write_ptr_) || (HasFastRoom() && writer_->arena_->PassStop())
          ? BeginNested(tag)
          : BeginAnywhere(tag, kNested);
  return {child, child->write_ptr_};
}

Message* Message::BeginAnywhere(EncodedTag tag, Flags flags) noexcept {
  Message* child = writer_->arena_->NewMessage();
  if (child == nullptr)
    return InsteadOfChild();
  // For a delegate that seals it with those around it, which it must not do.
  child->InitUnattached();
  uint8_t bytes[sizeof(uint64_t)];
  tag.StoreAsWord(bytes);
  WriteEncoded(bytes, tag.size());
  size_t header_size = tag.size();
  uint8_t* size_field = nullptr;
  if (flags == kNested) {
    ReturnCursorToWriter();
    // Null in the error state: nothing will be written, but the bytes go on
    // being counted.
    size_field = writer_->ReserveBytesSlowPath(kMessageLengthFieldSize);
    if (size_field != nullptr)
      memset(size_field, 0, kMessageLengthFieldSize);
    header_size += kMessageLengthFieldSize;
    LendCursorFromWriter();
  }
  const bool header_in_chunk =
      static_cast<size_t>(write_ptr_ - writer_->cur_range_.begin) >=
      header_size;
  child->InitNested(writer_, fast_limit_, write_ptr_,
                    NewState(flags, header_in_chunk ? tag.size() : 0));
  child->MoveSizeFieldTo(size_field);
  child->write_ptr_ = write_ptr_;
  write_ptr_ = ScatteredStreamWriter::Nowhere();
  nested_ = child;
  return child;
}

PROTOZERO_ABI_END
}  // namespace protozero
