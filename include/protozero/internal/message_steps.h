// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Outside of the guard: "message.h" includes this header at its end.
#include "protozero/message.h"

#ifndef INCLUDE_PROTOZERO_INTERNAL_MESSAGE_STEPS_H_
#define INCLUDE_PROTOZERO_INTERNAL_MESSAGE_STEPS_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "protozero/internal/bit_deposit.h"
#include "protozero/internal/byte_order.h"
#include "protozero/internal/compiler.h"
#include "protozero/internal/message_state.h"
#include "protozero/internal/short_copy.h"
#include "protozero/message_arena.h"
#include "protozero/proto_utils.h"
#include "protozero/scattered_stream_writer.h"

#include "protozero/internal/macros.h"

// The steps that inline code and the library share. "message_inline.h" includes
// this after "message.h", which a header that "message.h" itself includes
// cannot do.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The lowest layer of messages: inline functions that read or change a message
// and call no other layer. "message_runtime.h" lists the layers.
struct MessageSteps {
  using EncodedTag = proto_utils::internal::EncodedTag;
  using State = MessageState;

  // The number of bytes by which a message moves down when its size field is
  // widened.
  static constexpr size_t kWidening = proto_utils::kMessageLengthFieldSize - 1;
  // The largest size of a message while one byte is reserved for its size.
  // Nearly all messages are sealed before they grow so long, and moving one
  // takes little of the time that it took to write it.
  static constexpr size_t kMaxNarrowSize = 512;
  // The most bytes of a field whose size takes two bytes.
  static constexpr size_t kMaxLongCopy = (1 << 14) - 1;

  // Widens the size field in front of the |size| bytes at |begin| from one byte
  // to kMessageLengthFieldSize bytes, all zero: moves the bytes down by
  // kWidening. Returns their new beginning.
  static uint8_t* WidenSizeField(uint8_t* begin, size_t size) {
    auto* const moved =
        static_cast<uint8_t*>(memmove(begin + kWidening, begin, size));
    memset(moved - proto_utils::kMessageLengthFieldSize, 0,
           proto_utils::kMessageLengthFieldSize);
    return moved;
  }

  // Returns whether kFastRoom bytes can be written at |pos| with nothing else
  // to do. That is so only if |pos| is the cursor, and |message| has it.
  // Compares integers, and the limit lies before the chunk's end, so that the
  // code forms no pointer beyond a buffer.
  static bool HasFastRoom(const Message* message, const uint8_t* pos) {
    return reinterpret_cast<uintptr_t>(pos) < message->fast_limit_;
  }
  static bool HasFastRoom(const Message* message) {
    return HasFastRoom(message, message->write_ptr_);
  }

  // Returns whether there is fast room for a field of |size| bytes. Returns
  // false for more than kMaxShortCopy.
  PROTOZERO_ALWAYS_INLINE static bool HasRoomForBytes(const Message* message,
                                                      const uint8_t* pos,
                                                      size_t size) {
    // A tag stored as a word, and a one-byte size.
    constexpr int kMaxHeader = sizeof(uint64_t) + 1;
    // The bytes between the fast limit and the chunk's end, less the header.
    constexpr int kSpareRoom =
        ScatteredStreamWriter::kFastRoom - 1 - kMaxHeader;
    // If the cursor is null, the limit is 0.
    return size <= kMaxShortCopy &&
           AddOffset<-kSpareRoom>(reinterpret_cast<uintptr_t>(pos), size) <
               message->fast_limit_;
  }

  // Returns whether there is fast room for a field that is not short. Returns
  // false for more than kMaxLongCopy.
  static bool HasRoomForLongBytes(const Message* message,
                                  const uint8_t* pos,
                                  size_t size) {
    constexpr int kMaxHeader = sizeof(uint64_t) + 2;
    constexpr int kSpareRoom =
        ScatteredStreamWriter::kFastRoom - 1 - kMaxHeader;
    // With 32-bit addresses, the sum of LentCursor() and a size may wrap
    // around. If the cursor is null, the limit is 0.
    return (sizeof(uintptr_t) >= sizeof(uint64_t) ||
            HasFastRoom(message, pos)) &&
           size <= kMaxLongCopy &&
           AddOffset<-kSpareRoom>(reinterpret_cast<uintptr_t>(pos), size) <
               message->fast_limit_;
  }

  // Returns the fast limit of a narrow message at |base|. |limit| is that of
  // its parent.
  static uintptr_t NarrowLimit(uintptr_t limit, const uint8_t* base) {
    constexpr size_t kReach =
        kMaxNarrowSize - (ScatteredStreamWriter::kFastRoom - 2);
    const uintptr_t reach = reinterpret_cast<uintptr_t>(base) + kReach;
    limit -= kWidening;
    return limit < reach ? limit : reach;
  }

  // Returns the state of a message that begins.
  static State NewState(State::Flags flags, uint32_t tag_size) {
    return {flags, static_cast<uint8_t>(tag_size),
            PROTOZERO_DCHECK_IS_ON ? NextEpoch() : uint16_t{0}, 0};
  }
  // Sets the state in one store.
  static void SetState(Message* message, State state) {
    memcpy(&message->state_, &state, sizeof(state));
  }

  // Returns whether a child is open, or was sealed together with this message.
  static bool HasNested(const Message* message) {
    return message->write_ptr_ == LentCursor();
  }
  static bool IsNarrow(const Message* message) {
    return (message->state_.flags & State::kNarrow) != 0;
  }
  static bool IsGroup(const Message* message) {
    return (message->state_.flags & State::kGroup) != 0;
  }
  // Returns the number of the message's bytes if it ends at |end|.
  static uint64_t SizeAt(const Message* message, const uint8_t* end) {
    return message->state_.size + static_cast<uint64_t>(end - message->base_);
  }
  // Makes |size_field| the address for the size. If it is null, the size is not
  // written.
  static void MoveSizeField(Message* message, uint8_t* size_field) {
    message->size_field_ = size_field;
    message->state_.flags = static_cast<uint8_t>(
        (message->state_.flags & ~unsigned{State::kNoSize | State::kWide}) |
        (size_field == nullptr ? State::kNoSize : State::kNested));
  }
  // Sends all later setters to the slow path. Sealing a leaf uses this. The
  // setters of other messages take it already, because their cursor is lent.
  static void StopSetters(Message* message) { message->fast_limit_ = 0; }
  // Sends them there for a message that stays open after an error.
  static void StopAfterError(Message* message) {
    StopSetters(message);
    message->state_.flags |= State::kCrossedChunk;
  }
  // Makes a message that takes no fields before its first Reset().
  static void InitUnattached(Message* message) {
    message->write_ptr_ = nullptr;
    message->fast_limit_ = 0;
    message->writer_ = nullptr;
    message->base_ = nullptr;
    message->state_ = {State::kFinalized, 0, 0, 0};
  }

  // Root messages.

  // Begins a root message. REQUIRES: no message is open on |writer|.
  PROTOZERO_ALWAYS_INLINE static void BeginRoot(Message* message,
                                                ScatteredStreamWriter* writer,
                                                MessageArena* arena) {
    message->writer_ = writer;
    writer->root_ = message;
    writer->arena_ = arena;
    BeginRootAgain(message, writer);
  }
  // The same. REQUIRES: IsRootOf(message, writer, arena).
  PROTOZERO_ALWAYS_INLINE static void BeginRootAgain(
      Message* message,
      ScatteredStreamWriter* writer) {
    message->write_ptr_ = writer->write_ptr_;
    message->fast_limit_ = writer->fast_limit_;
    message->base_ = writer->write_ptr_;
    SetState(message, NewState(State::kRootWithoutSize, 0));
    writer->write_ptr_ = LentCursor();
  }

  // Returns whether |message| was the last root message to begin on |writer|,
  // and |writer| was the last writer that it began on. REQUIRES: no other
  // message uses |arena|. So if |writer| used |arena| last, it was for a
  // message at this address; and if that was an earlier object, this one has
  // not begun on |writer|.
  static bool IsRootOf(const Message* message,
                       const ScatteredStreamWriter* writer,
                       const MessageArena* arena) {
    return PROTOZERO_LIKELY(message->writer_ == writer) &&
           PROTOZERO_LIKELY(writer->arena_ == arena);
  }

  // Returns whether |message| is a root message without a size field that has
  // the cursor, |end|, and is whole within the current chunk. The absence of
  // other flags shows that the stream has not failed.
  static bool IsWholeRoot(const Message* message, const uint8_t* end) {
    return IsShortEnough(message, end) &&
           message->state_.flags == State::kRootWithoutSize;
  }
  // Returns whether |end| is no lent or returned cursor, and the message is not
  // too long. Such a cursor is too far away; with 32-bit addresses,
  // HasFastRoom() rejects it.
  static bool IsShortEnough(const Message* message, const uint8_t* end) {
    const uintptr_t size = reinterpret_cast<uintptr_t>(end) -
                           reinterpret_cast<uintptr_t>(message->base_);
    return (sizeof(uintptr_t) >= sizeof(uint64_t) ||
            HasFastRoom(message, end)) &&
           size <= proto_utils::kMaxRootMessageLength;
  }
  // Finalizes a message for which IsWholeRoot() is true.
  static uint32_t SealWholeRoot(Message* message, uint8_t* end) {
    const size_t size = static_cast<size_t>(end - message->base_);
    message->writer_->write_ptr_ = end;
    // This cursor, not a limit of 0, stops later setters. So compilers leave
    // out the store of the cursor by the setter before.
    message->write_ptr_ = ReturnedCursor();
    message->state_.size = static_cast<uint32_t>(size);
    message->state_.flags = State::kFinalized;
    return static_cast<uint32_t>(size);
  }

  // Nested messages.

  // Returns whether a child that is likely to be short can begin at |pos|,
  // which is the cursor unless a child is open.
  PROTOZERO_ALWAYS_INLINE static bool MayBeginNarrow(const Message* parent,
                                                     const uint8_t* pos) {
    return PROTOZERO_LIKELY(HasFastRoom(parent, pos)) &&
           PROTOZERO_LIKELY(!parent->writer_->arena_->NeedsCheck());
  }
  // The same for a child that the arena expects to be long.
  PROTOZERO_ALWAYS_INLINE static bool MayBeginWide(const Message* parent,
                                                   const uint8_t* pos) {
    return PROTOZERO_LIKELY(HasFastRoom(parent, pos)) &&
           PROTOZERO_LIKELY((parent->state_.flags & State::kNarrow) == 0) &&
           PROTOZERO_LIKELY(parent->writer_->arena_->ExpectsLong());
  }

  // REQUIRES: MayBeginNarrow().
  PROTOZERO_ALWAYS_INLINE static BegunChild BeginNarrow(Message* parent,
                                                        EncodedTag tag,
                                                        uint8_t* pos) {
    // The stores to the output come first, because the last field went there;
    // then come those to the arena, the parent and the child, which lie next to
    // each other. The fewer times stores change from one cache line to another,
    // the better.
    ScatteredStreamWriter* const writer = parent->writer_;
    MessageArena* const arena = writer->arena_;
    const uintptr_t limit = parent->fast_limit_;
    Message* const child = arena->NextMessage();
    // A word holds any tag and the zero of its size field.
    static_assert(proto_utils::kMaxTagEncodedSize + 1 <= sizeof(uint64_t));
    uint8_t* const base = tag.StoreAsWord(pos) + 1;
    arena->TakeMessage(child);
    parent->nested_ = child;
    parent->write_ptr_ = LentCursor();
    InitChild(child, writer, NarrowLimit(limit, base), base,
              NewState(State::kNarrow, tag.size()));
    return {child, base};
  }

  // REQUIRES: MayBeginWide().
  PROTOZERO_ALWAYS_INLINE static BegunChild BeginWide(Message* parent,
                                                      EncodedTag tag,
                                                      uint8_t* pos) {
    uint8_t* const size_field = Opaque(tag.StoreAsWord(pos));
    StoreLittleEndian(size_field, uint32_t{0});
    uint8_t* const base = size_field + proto_utils::kMessageLengthFieldSize;
    Message* const child = parent->writer_->arena_->NewLongMessage();
    // Opaque, because compilers would otherwise copy the limit and the writer
    // in one move, which waits for the two stores before it.
    const uintptr_t limit = Opaque(parent->fast_limit_);
    parent->nested_ = child;
    parent->write_ptr_ = LentCursor();
    child->size_field_ = size_field;
    InitChild(child, parent->writer_, limit, base,
              NewState(State::kWide, tag.size()));
    return {child, base};
  }

  // Sets everything but the cursor, size_field_ and end_tag_.
  PROTOZERO_ALWAYS_INLINE static void InitChild(Message* child,
                                                ScatteredStreamWriter* writer,
                                                uintptr_t fast_limit,
                                                uint8_t* base,
                                                State state) {
    child->fast_limit_ = fast_limit;
    child->writer_ = writer;
    child->base_ = base;
    SetState(child, state);
  }
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_MESSAGE_STEPS_H_
