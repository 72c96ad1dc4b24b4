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

#include "protozero/internal/message_steps.h"

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
struct MessageInline : MessageSteps {
  using ProtoWireType = proto_utils::ProtoWireType;

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

  // Root messages.

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
    if (PROTOZERO_UNLIKELY(
            !MayResetRootAtOnce(message, writer, range, arena))) {
      return MessageRuntime::ResetRootInSlowPath(message, writer, range, arena);
    }
    ResetRootAtOnce(message, writer, range);
  }
  // The two parts of ResetRootIn() where no slow path is needed.
  PROTOZERO_ALWAYS_INLINE static bool MayResetRootAtOnce(
      const Message* message,
      const ScatteredStreamWriter* writer,
      ContiguousMemoryRange range,
      const MessageArena* arena) {
    return IsRootOf(message, writer, arena) && writer->MayEnterAtOnce(range);
  }
  PROTOZERO_ALWAYS_INLINE static void ResetRootAtOnce(
      Message* message,
      ScatteredStreamWriter* writer,
      ContiguousMemoryRange range) {
    writer->EnterAtOnce(range);
    BeginRootAgain(message, writer);
  }

  // Fields.

  // Stores the cursor |pos| once more, as the first step of a slow path. So
  // each setter stores the cursor on both of its paths, and the cursor that the
  // setter before has stored is never read: compilers leave that store out, and
  // keep the cursor in a register from the first of several setters to the
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
    uint8_t* const pos = message->write_ptr_;
    if (PROTOZERO_UNLIKELY(!HasRoomForBytes(message, pos, size))) {
      SpillCursor(message, pos);
      return MessageRuntime::AppendBytesSlowPath(message, tag, src, size);
    }
    message->write_ptr_ = WriteShortBytes(size, src, tag.StoreAsWord(pos));
  }

  // Nested messages.

  PROTOZERO_ALWAYS_INLINE static BegunChild BeginChild(Message* parent,
                                                       EncodedTag tag) {
    uint8_t* const pos = parent->write_ptr_;
    if (PROTOZERO_UNLIKELY(!MayBeginNarrow(parent, pos))) {
      SpillCursor(parent, pos);
      return MayBeginWide(parent, pos)
                 ? BeginWide(parent, tag, pos)
                 : MessageRuntime::BeginInPlaceSlowPath(parent, tag);
    }
    return BeginNarrow(parent, tag, pos);
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

  // Finalizes a root message without open children that begins at |begin| and
  // is whole in its chunk. Returns its end; null, if it is any other message.
  PROTOZERO_ALWAYS_INLINE static uint8_t* FinalizeIn(Message* message,
                                                     const uint8_t* begin) {
    uint8_t* const end = message->write_ptr_;
    if (PROTOZERO_UNLIKELY(!IsWholeRoot(message, end)) ||
        PROTOZERO_UNLIKELY(message->base_ != begin)) {
      SpillCursor(message, end);
      return nullptr;
    }
    SealWholeRoot(message, end);
    return end;
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
  PROTOZERO_ALWAYS_INLINE static BegunChild BeginChild(Message* parent,
                                                       EncodedTag tag) {
    // The child has its cursor already.
    return {MessageRuntime::BeginByCall(parent, tag), nullptr};
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
  const internal::BegunChild begun = internal::MessageSetter::BeginChild(
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
