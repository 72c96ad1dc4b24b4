// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_MESSAGE_INLINE_H_
#define INCLUDE_PROTOZERO_INTERNAL_MESSAGE_INLINE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#include "protozero/contiguous_memory_range.h"
#include "protozero/internal/bit_deposit.h"
#include "protozero/internal/byte_order.h"
#include "protozero/internal/compiler.h"
#include "protozero/internal/message_runtime.h"
#include "protozero/internal/message_state.h"
#include "protozero/internal/short_copy.h"
#include "protozero/message.h"
#include "protozero/message_arena.h"
#include "protozero/proto_utils.h"
#include "protozero/scattered_stream_writer.h"

#include "protozero/internal/macros.h"

// The part of Message that is compiled into its callers. With
// PROTOZERO_INLINE_SETTERS, setters write whole fields as long as there is
// room; without, a setter makes its tag and calls MessageRuntime. "message.h"
// includes this.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The inline functions of messages. `message` is the message that is written
// to.
struct MessageInline {
  using EncodedTag = proto_utils::internal::EncodedTag;
  using ProtoWireType = proto_utils::ProtoWireType;
  using State = MessageState;

  // The number of bytes by which a message moves down when its size field is
  // widened.
  static constexpr size_t kWidening = proto_utils::kMessageLengthFieldSize - 1;
  // The largest size of a message while one byte is reserved for its size.
  // Nearly all messages are sealed before they grow so long, and moving one
  // takes little of the time that it took to write it.
  static constexpr size_t kMaxNarrowSize = 512;

  // Returns whether |field_id| is valid. Compilers drop the test for constant
  // ids.
  PROTOZERO_ALWAYS_INLINE static bool IsFieldId(uint32_t field_id) {
    const bool is_field_id = proto_utils::internal::IsFieldId(field_id);
    PROTOZERO_DCHECK(is_field_id, "field ids are 1 to 536870911");
    return PROTOZERO_LIKELY(is_field_id);
  }

  static constexpr EncodedTag EncodeTag(uint32_t field_id, ProtoWireType type) {
    return proto_utils::internal::EncodeTag(field_id, type);
  }

  template <typename T>
  static T* As(Message* message) {
    static_assert(std::is_base_of<Message, T>::value,
                  "T must be a generated message class");
    static_assert(sizeof(T) == sizeof(Message),
                  "message classes must not have state of their own");
    static_assert(std::is_trivially_default_constructible<T>::value &&
                      std::is_trivially_destructible<T>::value,
                  "messages are made and forgotten without running code");
    return static_cast<T*>(message);
  }

  static uint16_t EpochOf(const Message* message) {
    return message->state_.epoch;
  }

  // Returns whether kFastRoom bytes can be written at |pos| with nothing else
  // to do. That is so only if |pos| is the cursor, and |message| has it.
  // Compares integers, and the limit lies before the chunk's end, so that the
  // code forms no pointer beyond a buffer.
  static bool HasFastRoom(const Message* message, const uint8_t* pos) {
    return reinterpret_cast<uintptr_t>(pos) < message->fast_limit_;
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
            PROTOZERO_DCHECK_IS_ON ? MessageRuntime::NextEpoch() : uint16_t{0},
            0};
  }
  // Sets the state in one store.
  static void SetState(Message* message, State state) {
    memcpy(&message->state_, &state, sizeof(state));
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

  // Closes |message| if it is still open on its writer. Its bytes stay as they
  // are.
  static void Abandon(Message* message) {
    if (PROTOZERO_UNLIKELY(!message->is_finalized()))
      message->writer_->AbandonRoot();
  }

  // Calls Abandon() and message->Reset(writer, arena).
  PROTOZERO_ALWAYS_INLINE static void ResetRoot(Message* message,
                                                ScatteredStreamWriter* writer,
                                                MessageArena* arena) {
    PROTOZERO_DCHECK(writer != nullptr, "a message needs a stream");
    if (PROTOZERO_UNLIKELY(!IsRootOf(message, writer, arena)) ||
        PROTOZERO_UNLIKELY(writer->has_open_root())) {
      return MessageRuntime::ResetRootSlowPath(message, writer, arena);
    }
    BeginRootAgain(message, writer);
  }
  // Calls Abandon(), writer->Reset(range) and message->Reset(writer, arena).
  PROTOZERO_ALWAYS_INLINE static void ResetRootIn(Message* message,
                                                  ScatteredStreamWriter* writer,
                                                  ContiguousMemoryRange range,
                                                  MessageArena* arena) {
    PROTOZERO_DCHECK(!ScatteredStreamWriter::IsReversed(range),
                     ScatteredStreamWriter::kReversedAdvice);
    if (PROTOZERO_UNLIKELY(!IsRootOf(message, writer, arena) ||
                           !writer->MayEnterAtOnce(range))) {
      return MessageRuntime::ResetRootInSlowPath(message, writer, range, arena);
    }
    writer->EnterAtOnce(range);
    BeginRootAgain(message, writer);
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

  // Fields.

  // Stores the cursor |pos| once more, as the first step of a slow path. So
  // each setter stores the cursor on both of its paths, and nobody reads the
  // cursor that the setter before has stored: compilers leave that store out,
  // and keep the cursor in a register from the first of several setters to the
  // last. Compilers must not know that this store changes nothing.
  PROTOZERO_ALWAYS_INLINE static void SpillCursor(
      [[maybe_unused]] Message* message,
      [[maybe_unused]] uint8_t* pos) {
#if PROTOZERO_INLINE_SETTERS
    message->write_ptr_ = Opaque(pos);
#endif
  }

  template <typename T>
  PROTOZERO_ALWAYS_INLINE static void AppendVarInt(Message* message,
                                                   EncodedTag tag,
                                                   T value) {
    using namespace proto_utils::internal;
    uint64_t bits = proto_utils::ExtendValueForVarIntSerialization(value);
    uint8_t* const pos = message->write_ptr_;
    const VarIntMasks masks = LoadVarIntMasks();
    // The compiler drops the second test for types that cannot be as large.
    if (PROTOZERO_UNLIKELY(!HasFastRoom(message, pos) ||
                           MayBeLongVarInt<T>(bits, masks))) {
      // SpillCursor(), with the masks in registers on both sides of the branch.
      message->write_ptr_ = OpaqueAfter(masks, pos);
      // Inline, because the branch has been mispredicted already: a call would
      // take even longer.
      if (sizeof(T) == sizeof(uint64_t) && HasFastRoom(message, Opaque(pos))) {
        message->write_ptr_ =
            WriteLongVarIntInline(bits, tag.Store(pos), masks);
        return;
      }
      // clang extends the sign here, instead of in front of the branch for both
      // sides. With gcc, this would keep a copy of the value.
#if defined(__clang__)
      if constexpr (std::is_signed<T>::value) {
        bits = proto_utils::ExtendValueForVarIntSerialization(Opaque(value));
      }
#else
      bits = Opaque(bits);
#endif
      return MessageRuntime::AppendVarInt(message, tag, bits);
    }
    uint8_t* const value_pos = tag.Store(pos);
    // The value is not negative here.
    if constexpr (sizeof(T) <= sizeof(uint32_t))
      bits = static_cast<uint32_t>(bits);
    message->write_ptr_ =
        tag.size() == 1   ? WriteVarInt56Inline<1>(bits, pos, masks)
        : tag.size() == 2 ? WriteVarInt56Inline<2>(bits, pos, masks)
                          : WriteVarInt56Inline<0>(bits, value_pos, masks);
  }

  // REQUIRES: bits < 128.
  PROTOZERO_ALWAYS_INLINE static void AppendTinyVarInt(Message* message,
                                                       EncodedTag tag,
                                                       uint64_t bits) {
    uint8_t* const pos = message->write_ptr_;
    if (PROTOZERO_UNLIKELY(!HasFastRoom(message, pos))) {
      SpillCursor(message, pos);
      return MessageRuntime::AppendVarInt(message, tag, bits);
    }
    // One store writes tag and value.
    const uint64_t bytes = tag.encoded() | bits << (8 * tag.size());
    if (tag.size() == 1) {
      StoreLittleEndian(pos, static_cast<uint16_t>(bytes));
    } else {
      StoreLittleEndian(pos, bytes);
    }
    message->write_ptr_ = pos + tag.size() + 1;
  }

  template <typename Bits>
  PROTOZERO_ALWAYS_INLINE static void AppendFixed(Message* message,
                                                  EncodedTag tag,
                                                  Bits bits) {
    uint8_t* const pos = message->write_ptr_;
    if (PROTOZERO_UNLIKELY(!HasFastRoom(message, pos))) {
      SpillCursor(message, pos);
      return MessageRuntime::AppendFixed(message, tag, bits);
    }
    uint8_t* const value_pos = tag.Store(pos);
    StoreLittleEndian(value_pos, bits);
    message->write_ptr_ = value_pos + sizeof(bits);
  }

  PROTOZERO_ALWAYS_INLINE static void AppendBytes(Message* message,
                                                  EncodedTag tag,
                                                  const void* src,
                                                  size_t size) {
    // A tag stored as a word, and a one-byte size.
    constexpr int kMaxHeader = sizeof(uint64_t) + 1;
    // The bytes between the fast limit and the chunk's end, less the header.
    constexpr int kSpareRoom =
        ScatteredStreamWriter::kFastRoom - 1 - kMaxHeader;
    uint8_t* const pos = message->write_ptr_;
    // This is HasFastRoom() for |size| bytes. If the cursor is null, the limit
    // is 0.
    if (PROTOZERO_UNLIKELY(
            size > kMaxShortCopy ||
            AddOffset<-kSpareRoom>(reinterpret_cast<uintptr_t>(pos), size) >=
                message->fast_limit_)) {
      SpillCursor(message, pos);
      message->write_ptr_ =
          MessageRuntime::AppendBytesSlowPath(message, tag, src, size);
      return;
    }
    message->write_ptr_ = WriteShortBytes(size, src, tag.StoreAsWord(pos));
  }

  // Nested messages.

  // Returns whether a child that is likely to be short can begin at |pos|,
  // which is the cursor unless a child is open.
  PROTOZERO_ALWAYS_INLINE static bool MayBeginShort(const Message* parent,
                                                    const uint8_t* pos) {
    return PROTOZERO_LIKELY(HasFastRoom(parent, pos)) &&
           PROTOZERO_LIKELY(!parent->writer_->arena_->NeedsCheck());
  }
  // The same for a child that the arena expects to be long.
  PROTOZERO_ALWAYS_INLINE static bool MayBeginLong(const Message* parent,
                                                   const uint8_t* pos) {
    return PROTOZERO_LIKELY(HasFastRoom(parent, pos)) &&
           PROTOZERO_LIKELY((parent->state_.flags & State::kNarrow) == 0) &&
           PROTOZERO_LIKELY(parent->writer_->arena_->ExpectsLong());
  }

  PROTOZERO_ALWAYS_INLINE static BegunChild BeginNested(Message* parent,
                                                        EncodedTag tag) {
    uint8_t* const pos = parent->write_ptr_;
    if (PROTOZERO_UNLIKELY(!MayBeginShort(parent, pos))) {
      SpillCursor(parent, pos);
      return MayBeginLong(parent, pos)
                 ? BeginLong(parent, tag, pos)
                 : MessageRuntime::BeginNestedSlowPath(parent, tag);
    }
    return BeginShort(parent, tag, pos);
  }

  // REQUIRES: MayBeginShort().
  PROTOZERO_ALWAYS_INLINE static BegunChild BeginShort(Message* parent,
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

  // REQUIRES: MayBeginLong().
  PROTOZERO_ALWAYS_INLINE static BegunChild BeginLong(Message* parent,
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

  // Finalizes the message. Inline if it is a root message without open
  // children.
  PROTOZERO_ALWAYS_INLINE static uint32_t Finalize(Message* message) {
    uint8_t* const end = message->write_ptr_;
    if (PROTOZERO_UNLIKELY(!IsShortEnough(message, end)) ||
        PROTOZERO_UNLIKELY(message->state_.flags != State::kRootWithoutSize)) {
      SpillCursor(message, end);
      return MessageRuntime::FinalizeSlowPath(message);
    }
    return SealWholeRoot(message, end);
  }
};

// The implementation of setters: MessageInline, or as little as possible and a
// call.
#if PROTOZERO_INLINE_SETTERS
using MessageSetter = MessageInline;
#else
struct MessageSetter : MessageRuntime {
  template <typename T>
  PROTOZERO_ALWAYS_INLINE static void AppendVarInt(Message* message,
                                                   EncodedTag tag,
                                                   T value) {
    if constexpr (std::is_signed<T>::value && sizeof(T) <= sizeof(int32_t)) {
      AppendInt32(message, tag, value);
    } else {
      MessageRuntime::AppendVarInt(
          message, tag, proto_utils::ExtendValueForVarIntSerialization(value));
    }
  }
  PROTOZERO_ALWAYS_INLINE static void AppendTinyVarInt(Message* message,
                                                       EncodedTag tag,
                                                       uint64_t bits) {
    MessageRuntime::AppendVarInt(message, tag, bits);
  }
  PROTOZERO_ALWAYS_INLINE static BegunChild BeginNested(Message* parent,
                                                        EncodedTag tag) {
    // The child has its cursor already.
    return {MessageRuntime::BeginNested(parent, tag), nullptr};
  }
};
#endif

inline bool AppendBytesHeader(Message* message,
                              uint32_t field_id,
                              uint64_t size) {
  return MessageInline::IsFieldId(field_id) &&
         MessageRuntime::AppendBytesHeader(
             message,
             MessageInline::EncodeTag(
                 field_id, proto_utils::ProtoWireType::kLengthDelimited),
             size);
}

}  // namespace internal

PROTOZERO_ALWAYS_INLINE void Message::Reset(ScatteredStreamWriter* writer,
                                            MessageArena* arena) {
  PROTOZERO_DCHECK(writer != nullptr && arena != nullptr,
                   "a message needs a stream and memory for its children");
  // A new writer has had no root message.
  if (PROTOZERO_UNLIKELY(writer->root_ != nullptr && writer->has_open_root()))
    writer->AbandonRoot();
  internal::MessageInline::BeginRoot(this, writer, arena);
}

PROTOZERO_ALWAYS_INLINE uint32_t Message::Finalize() {
  return internal::MessageSetter::Finalize(this);
}

template <typename T>
PROTOZERO_ALWAYS_INLINE void Message::AppendVarInt(uint32_t field_id, T value) {
  using internal::MessageInline;
  if (!MessageInline::IsFieldId(field_id))
    return;
  internal::MessageSetter::AppendVarInt(
      this,
      MessageInline::EncodeTag(field_id, proto_utils::ProtoWireType::kVarInt),
      value);
}

PROTOZERO_ALWAYS_INLINE void Message::AppendTinyVarInt(uint32_t field_id,
                                                       int32_t value) {
  using internal::MessageInline;
  PROTOZERO_DCHECK(0 <= value && value < 0x80,
                   "AppendVarInt() takes any value");
  if (!MessageInline::IsFieldId(field_id))
    return;
  internal::MessageSetter::AppendTinyVarInt(
      this,
      MessageInline::EncodeTag(field_id, proto_utils::ProtoWireType::kVarInt),
      static_cast<uint64_t>(value) & 0x7f);
}

template <typename T>
PROTOZERO_ALWAYS_INLINE void Message::AppendFixed(uint32_t field_id, T value) {
  using internal::MessageInline;
  using proto_utils::ProtoWireType;
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "fixed32 or fixed64");
  static_assert(std::is_arithmetic<T>::value, "fixed fields hold numbers");
  if (!MessageInline::IsFieldId(field_id))
    return;
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  Bits bits;
  memcpy(&bits, &value, sizeof(bits));
  internal::MessageSetter::AppendFixed(
      this,
      MessageInline::EncodeTag(field_id, sizeof(T) == 8
                                             ? ProtoWireType::kFixed64
                                             : ProtoWireType::kFixed32),
      bits);
}

PROTOZERO_ALWAYS_INLINE void Message::AppendBytes(uint32_t field_id,
                                                  const void* src,
                                                  size_t size) {
  using internal::MessageInline;
  if (!MessageInline::IsFieldId(field_id))
    return;
  internal::MessageSetter::AppendBytes(
      this,
      MessageInline::EncodeTag(field_id,
                               proto_utils::ProtoWireType::kLengthDelimited),
      src, size);
}

template <typename T>
PROTOZERO_ALWAYS_INLINE T* Message::BeginNestedMessage(uint32_t field_id) {
  using internal::MessageInline;
  if (!MessageInline::IsFieldId(field_id))
    return MessageInline::As<T>(internal::MessageRuntime::DroppingMessage());
  const internal::BegunChild begun = internal::MessageSetter::BeginNested(
      this, MessageInline::EncodeTag(
                field_id, proto_utils::ProtoWireType::kLengthDelimited));
#if PROTOZERO_INLINE_SETTERS
  begun.child->write_ptr_ = begun.write_ptr;
#endif
  return MessageInline::As<T>(begun.child);
}

template <typename T>
T* Message::BeginNestedGroup(uint32_t field_id) {
  using internal::MessageInline;
  using internal::MessageRuntime;
  using proto_utils::ProtoWireType;
  if (!MessageInline::IsFieldId(field_id))
    return MessageInline::As<T>(MessageRuntime::DroppingMessage());
  return MessageInline::As<T>(MessageRuntime::BeginGroup(
      this, MessageInline::EncodeTag(field_id, ProtoWireType::kStartGroup),
      proto_utils::MakeTag(field_id, ProtoWireType::kEndGroup)));
}

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_MESSAGE_INLINE_H_
