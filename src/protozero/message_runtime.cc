// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/internal/message_runtime.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>

#include "message_nesting.h"
#include "open_messages.h"
#include "protozero/internal/byte_order.h"
#include "protozero/internal/message_inline.h"
#include "protozero/internal/short_copy.h"
#include "protozero/internal/varint.h"
#include "protozero/message.h"
#include "varint_slow_path.h"

#include "protozero/internal/macros.h"

// Hot functions call their cold parts by tail calls only: a call that returns
// would make them save registers on every entry.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {
namespace {

using EncodedTag = proto_utils::internal::EncodedTag;

constexpr size_t kFieldSize = 16;
static_assert(kFieldSize >= proto_utils::kMaxSimpleFieldEncodedSize,
              "a tag and the longest varint");

PROTOZERO_COLD void AppendVarIntSlowPath(Message* message,
                                         EncodedTag tag,
                                         uint64_t value) noexcept {
  if (!MessageNesting::TakeCursorFor(message, kFieldSize))
    return;
  // The usual reason for the slow path was an open child, which has just been
  // sealed.
  if (MessageSteps::HasFastRoom(message))
    return MessageRuntime::AppendVarInt(message, tag, value);
  uint8_t field[kFieldSize];
  uint8_t* end = WriteVarIntSlowPath(value, tag.StoreAsWord(field));
  OpenMessages::WriteBytes(message, field, static_cast<size_t>(end - field));
}

// Writes |size| as a varint. Takes fewer instructions than an encoder of any
// varint; memcpy() tells these sizes apart, too. REQUIRES: size <=
// MessageSteps::kMaxLongCopy.
PROTOZERO_ALWAYS_INLINE uint8_t* WriteLongSize(size_t size, uint8_t* dst) {
  static_assert(MessageSteps::kMaxLongCopy < 1 << 14, "two bytes");
  if (size < 0x80) {
    StoreWord(dst, static_cast<uint8_t>(size));
    return dst + 1;
  }
  // The upper seven bits go to the second byte: adding them moves them up.
  StoreLittleEndian(dst, static_cast<uint16_t>(size + (size & 0x3f80) + 0x80));
  return dst + 2;
}

PROTOZERO_COLD void AppendFixedSlowPath(Message* message,
                                        EncodedTag tag,
                                        uint64_t bits,
                                        size_t size) noexcept {
  uint8_t field[kFieldSize];
  StoreLittleEndian(tag.StoreAsWord(field), bits);
  MessageNesting::AppendEncoded(message, field, tag.size() + size);
}

}  // namespace

uint8_t* WriteVarIntSlowPath(uint64_t value, uint8_t* dst) noexcept {
  return proto_utils::WriteVarInt(value, dst);
}

void MessageRuntime::AppendVarInt(Message* message,
                                  EncodedTag tag,
                                  uint64_t value) noexcept {
  if (PROTOZERO_UNLIKELY(!MessageSteps::HasFastRoom(message)))
    return AppendVarIntSlowPath(message, tag, value);
  message->write_ptr_ = proto_utils::internal::WriteVarIntInline(
      value, tag.StoreAsWord(message->write_ptr_));
}

void MessageRuntime::AppendInt32(Message* message,
                                 EncodedTag tag,
                                 int32_t value) noexcept {
  AppendVarInt(message, tag,
               proto_utils::ExtendValueForVarIntSerialization(value));
}

void MessageRuntime::AppendFixed(Message* message,
                                 EncodedTag tag,
                                 uint32_t bits) noexcept {
  if (PROTOZERO_UNLIKELY(!MessageSteps::HasFastRoom(message)))
    return AppendFixedSlowPath(message, tag, bits, sizeof(bits));
  uint8_t* pos = tag.StoreAsWord(message->write_ptr_);
  StoreLittleEndian(pos, bits);
  message->write_ptr_ = pos + sizeof(bits);
}

void MessageRuntime::AppendFixed(Message* message,
                                 EncodedTag tag,
                                 uint64_t bits) noexcept {
  if (PROTOZERO_UNLIKELY(!MessageSteps::HasFastRoom(message)))
    return AppendFixedSlowPath(message, tag, bits, sizeof(bits));
  uint8_t* pos = tag.StoreAsWord(message->write_ptr_);
  StoreLittleEndian(pos, bits);
  message->write_ptr_ = pos + sizeof(bits);
}

void MessageRuntime::AppendBytes(Message* message,
                                 EncodedTag tag,
                                 const void* src,
                                 size_t size) noexcept {
  uint8_t* const pos = message->write_ptr_;
  if (PROTOZERO_UNLIKELY(!MessageSteps::HasRoomForBytes(message, pos, size)))
    return AppendBytesSlowPath(message, tag, src, size);
  message->write_ptr_ = WriteShortBytes(size, src, tag.StoreAsWord(pos));
}

void MessageRuntime::AppendBytesSlowPath(Message* message,
                                         EncodedTag tag,
                                         const void* src,
                                         size_t size) noexcept {
  uint8_t* const begin = message->write_ptr_;
  if (PROTOZERO_UNLIKELY(
          !MessageSteps::HasRoomForLongBytes(message, begin, size))) {
    return AppendBytesInAnyRoom(message, tag, src, size);
  }
  uint8_t* const pos = WriteLongSize(size, tag.StoreAsWord(begin));
  // The copy comes last, so that it is a tail call.
  message->write_ptr_ = pos + size;
  memcpy(pos, src, size);
}

void MessageRuntime::AppendBytesInAnyRoom(Message* message,
                                          EncodedTag tag,
                                          const void* src,
                                          size_t size) noexcept {
  if (AppendBytesHeader(message, tag, size)) {
    OpenMessages::WriteBytes(message, static_cast<const uint8_t*>(src), size);
  }
}

bool MessageRuntime::AppendBytesHeader(Message* message,
                                       EncodedTag tag,
                                       uint64_t size) noexcept {
  PROTOZERO_DCHECK(size <= proto_utils::kMaxMessageLength,
                   "a field holds at most 268435455 bytes: split it");
  const size_t in_memory =
      static_cast<size_t>(std::min<uint64_t>(size, SIZE_MAX - kFieldSize));
  if (!MessageNesting::TakeCursorFor(message, kFieldSize + in_memory))
    return false;
  if (PROTOZERO_UNLIKELY(size > proto_utils::kMaxMessageLength)) {
    OpenMessages::Fail(message, WriteStatus::kMessageTooLong, in_memory);
    return false;
  }
  uint8_t header[kFieldSize];
  const uint8_t* end = WriteVarIntSlowPath(size, tag.StoreAsWord(header));
  OpenMessages::WriteBytes(message, header, static_cast<size_t>(end - header));
  return true;
}

Message* MessageRuntime::BeginByCall(Message* parent, EncodedTag tag) noexcept {
  uint8_t* const pos = parent->write_ptr_;
  const BegunChild begun =
      PROTOZERO_LIKELY(MessageSteps::MayBeginNarrow(parent, pos))
          ? MessageNesting::BeginNarrowOutOfLine(parent, tag, pos)
      : MessageSteps::MayBeginWide(parent, pos)
          ? MessageNesting::BeginWideOutOfLine(parent, tag, pos)
          : MessageNesting::BeginBehindSibling(parent, tag);
  begun.child->write_ptr_ = begun.write_ptr;
  return begun.child;
}

BegunChild MessageRuntime::BeginInPlaceSlowPath(Message* parent,
                                                EncodedTag tag) noexcept {
  return MessageNesting::BeginBehindSibling(parent, tag);
}

Message* MessageRuntime::BeginGroup(Message* parent,
                                    EncodedTag tag,
                                    uint32_t end_tag) noexcept {
  return MessageNesting::BeginGroup(parent, tag, end_tag);
}

Message* MessageRuntime::DroppingMessage() noexcept {
  return MessageNesting::DroppingMessage();
}

uint32_t MessageRuntime::Finalize(Message* message) noexcept {
  uint8_t* const end = message->write_ptr_;
  if (PROTOZERO_UNLIKELY(!MessageSteps::IsWholeRoot(message, end)))
    return MessageNesting::SealNested(message, MessageNesting::kFinalize);
  return MessageSteps::SealWholeRoot(message, end);
}

uint32_t MessageRuntime::FinalizeSlowPath(Message* message) noexcept {
  return MessageNesting::SealNested(message, MessageNesting::kFinalize);
}

bool MessageRuntime::TakeCursor(Message* message) noexcept {
  return MessageNesting::TakeCursor(message);
}

void MessageRuntime::InitUnattached(Message* message) noexcept {
  MessageSteps::InitUnattached(message);
}

void MessageRuntime::ResetRootSlowPath(Message* message,
                                       ScatteredStreamWriter* writer,
                                       MessageArena* arena) noexcept {
  // This also lets go of the arena, which sealed messages have done already.
  if (!message->is_finalized())
    MessageNesting::AbandonRoot(message->writer_);
  MessageNesting::AbandonRoot(writer);
  MessageSteps::BeginRoot(message, writer, arena);
}

void MessageRuntime::ResetRootInSlowPath(Message* message,
                                         ScatteredStreamWriter* writer,
                                         ContiguousMemoryRange range,
                                         MessageArena* arena) noexcept {
  if (!message->is_finalized())
    MessageNesting::AbandonRoot(message->writer_);
  MessageNesting::AbandonRoot(writer);
  writer->ResetSlowPath(range);
  MessageSteps::BeginRoot(message, writer, arena);
}

bool MessageRuntime::IsReplacedBy(
    [[maybe_unused]] const Message* message,
    [[maybe_unused]] const Message* next) noexcept {
#if PROTOZERO_DCHECK_IS_ON
  if (next->is_finalized())
    return false;
  const Message* parent = next->writer_->root_;
  while (MessageSteps::HasNested(parent) && parent->nested_ != next)
    parent = parent->nested_;
  // See MessageArena::quarantined_.
  return MessageSteps::HasNested(parent) && message->nested_ == parent;
#else
  return false;
#endif
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
