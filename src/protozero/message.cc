// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/message.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <atomic>

#include "message_nesting.h"
#include "open_messages.h"
#include "protozero/internal/byte_order.h"
#include "protozero/internal/message_inline.h"
#include "protozero/internal/varint.h"
#include "varint_slow_path.h"

#include "protozero/internal/macros.h"

// Root messages, and fields other than nested messages.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {
namespace {

using State = MessageState;
using EncodedTag = proto_utils::internal::EncodedTag;

constexpr size_t kFieldSize = 16;
static_assert(kFieldSize >= proto_utils::kMaxSimpleFieldEncodedSize,
              "a tag and the longest varint");

PROTOZERO_COLD void AppendVarIntSlowPath(Message* message,
                                         EncodedTag tag,
                                         uint64_t value) noexcept {
  if (!OpenMessages::TakeCursorFor(message, kFieldSize))
    return;
  // The usual reason for the slow path was an open child, which has just been
  // sealed.
  if (MessageNesting::HasFastRoom(message))
    return MessageRuntime::AppendVarInt(message, tag, value);
  uint8_t field[kFieldSize];
  uint8_t* end = WriteVarIntSlowPath(value, tag.StoreAsWord(field));
  OpenMessages::WriteBytes(message, field, static_cast<size_t>(end - field));
}

PROTOZERO_COLD void AppendFixedSlowPath(Message* message,
                                        EncodedTag tag,
                                        uint64_t bits,
                                        size_t size) noexcept {
  uint8_t field[kFieldSize];
  StoreLittleEndian(tag.StoreAsWord(field), bits);
  message->AppendRawProtoBytes(field, tag.size() + size);
}

}  // namespace

uint8_t* WriteVarIntSlowPath(uint64_t value, uint8_t* dst) noexcept {
  return proto_utils::WriteVarInt(value, dst);
}

void MessageRuntime::InitUnattached(Message* message) noexcept {
  message->write_ptr_ = nullptr;
  message->fast_limit_ = 0;
  message->writer_ = nullptr;
  message->base_ = nullptr;
  message->state_ = {MessageState::kFinalized, 0, 0, 0};
}

Message* MessageRuntime::DroppingMessage() noexcept {
  // All share this message, because a message that takes no children may have
  // no memory for one. Setters that drop a field store the null cursor that
  // they find.
  static Message dropping({State::kFinalized | State::kDropsFields, 0, 0, 0});
  return &dropping;
}

// Wraps around, so a stale handle may go unnoticed after 65,536 messages.
PROTOZERO_COLD uint16_t MessageRuntime::NextEpoch() noexcept {
#if PROTOZERO_DCHECK_IS_ON
  static std::atomic<uint16_t> last_epoch{0};
  return static_cast<uint16_t>(
      last_epoch.fetch_add(1, std::memory_order_relaxed) + 1);
#else
  return 0;
#endif
}

bool MessageRuntime::IsReplacedBy(
    [[maybe_unused]] const Message* message,
    [[maybe_unused]] const Message* next) noexcept {
#if PROTOZERO_DCHECK_IS_ON
  if (next->is_finalized())
    return false;
  const Message* parent = next->writer_->root_;
  while (MessageNesting::HasNested(parent) && parent->nested_ != next)
    parent = parent->nested_;
  // See MessageArena::quarantined_.
  return MessageNesting::HasNested(parent) && message->nested_ == parent;
#else
  return false;
#endif
}

void MessageRuntime::ResetRootSlowPath(Message* message,
                                       ScatteredStreamWriter* writer,
                                       MessageArena* arena) noexcept {
  // This also lets go of the arena, which sealed messages have done already.
  MessageInline::Abandon(message);
  writer->AbandonRoot();
  MessageInline::BeginRoot(message, writer, arena);
}

void MessageRuntime::ResetRootInSlowPath(Message* message,
                                         ScatteredStreamWriter* writer,
                                         ContiguousMemoryRange range,
                                         MessageArena* arena) noexcept {
  MessageInline::Abandon(message);
  writer->AbandonRoot();
  writer->ResetSlowPath(range);
  MessageInline::BeginRoot(message, writer, arena);
}

void MessageRuntime::AppendVarInt(Message* message,
                                  EncodedTag tag,
                                  uint64_t value) noexcept {
  if (PROTOZERO_UNLIKELY(!MessageNesting::HasFastRoom(message)))
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
  if (PROTOZERO_UNLIKELY(!MessageNesting::HasFastRoom(message)))
    return AppendFixedSlowPath(message, tag, bits, sizeof(bits));
  uint8_t* pos = tag.StoreAsWord(message->write_ptr_);
  StoreLittleEndian(pos, bits);
  message->write_ptr_ = pos + sizeof(bits);
}

void MessageRuntime::AppendFixed(Message* message,
                                 EncodedTag tag,
                                 uint64_t bits) noexcept {
  if (PROTOZERO_UNLIKELY(!MessageNesting::HasFastRoom(message)))
    return AppendFixedSlowPath(message, tag, bits, sizeof(bits));
  uint8_t* pos = tag.StoreAsWord(message->write_ptr_);
  StoreLittleEndian(pos, bits);
  message->write_ptr_ = pos + sizeof(bits);
}

void MessageRuntime::AppendBytes(Message* message,
                                 EncodedTag tag,
                                 const void* src,
                                 size_t size) noexcept {
  MessageInline::AppendBytes(message, tag, src, size);
}

uint8_t* MessageRuntime::AppendBytesSlowPath(Message* message,
                                             EncodedTag tag,
                                             const void* src,
                                             size_t size) noexcept {
  if (AppendBytesHeader(message, tag, size)) {
    OpenMessages::WriteBytes(message, static_cast<const uint8_t*>(src), size);
  }
  return message->write_ptr_;
}

bool MessageRuntime::AppendBytesHeader(Message* message,
                                       EncodedTag tag,
                                       uint64_t size) noexcept {
  PROTOZERO_DCHECK(size <= proto_utils::kMaxMessageLength,
                   "a field holds at most 268435455 bytes: split it");
  const size_t in_memory =
      static_cast<size_t>(std::min<uint64_t>(size, SIZE_MAX - kFieldSize));
  if (!OpenMessages::TakeCursorFor(message, kFieldSize + in_memory))
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

}  // namespace internal

uint8_t* Message::size_field() noexcept {
  if (internal::MessageNesting::IsNarrow(this))
    internal::OpenMessages::WidenAll(writer_);
  using State = internal::MessageState;
  return (state_.flags & (State::kFinalized | State::kNoSize)) ? nullptr
                                                               : size_field_;
}

uint8_t* Message::size_field() const noexcept {
  using State = internal::MessageState;
  if (internal::MessageNesting::IsNarrow(this)) {
    // Widen() moves it like this, after the messages around it have moved.
    return base_ - 1 - internal::MessageInline::kWidening +
           internal::OpenMessages::MovedByWidening(writer_, this);
  }
  return (state_.flags & (State::kFinalized | State::kNoSize)) ? nullptr
                                                               : size_field_;
}

void Message::set_size_field(uint8_t* size_field) noexcept {
  internal::OpenMessages::SetSizeField(this, size_field);
}

size_t Message::AppendScatteredBytes(uint32_t field_id,
                                     ContiguousMemoryRange* ranges,
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
  using internal::OpenMessages;
  if (OpenMessages::TakeCursorFor(this, size))
    OpenMessages::WriteBytes(this, static_cast<const uint8_t*>(data), size);
}

PROTOZERO_ABI_END
}  // namespace protozero
