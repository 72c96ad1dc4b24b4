// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_INTERNAL_MESSAGE_IN_PLACE_H_
#define INCLUDE_PROTOZERO_INTERNAL_MESSAGE_IN_PLACE_H_

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "protozero/internal/bit_deposit.h"
#include "protozero/internal/byte_order.h"
#include "protozero/internal/compiler.h"
#include "protozero/internal/short_copy.h"
#include "protozero/message.h"
#include "protozero/message_arena.h"
#include "protozero/proto_utils.h"
#include "protozero/scattered_stream_writer.h"

#include "protozero/internal/macros.h"

// What Message does in the code of its callers where setters encode in place:
// see PROTOZERO_INLINE_SETTERS. Elsewhere only message.cc knows it, so that
// nobody else has to compile it. Not to be included by users.

namespace protozero {
PROTOZERO_ABI_BEGIN

PROTOZERO_ALWAYS_INLINE void Message::SpillCursor(
    [[maybe_unused]] uint8_t* pos) {
#if PROTOZERO_INLINE_SETTERS
  write_ptr_ = internal::Opaque(pos);
#endif
}

PROTOZERO_ALWAYS_INLINE void Message::AppendBytesInPlace(EncodedTag tag,
                                                         const void* src,
                                                         size_t size) {
  // A tag stored as a word, and a one-byte size.
  constexpr int kMaxHeader = sizeof(uint64_t) + 1;
  // What there is between the fast limit and the chunk's end, less that.
  constexpr int kSpareRoom = ScatteredStreamWriter::kFastRoom - 1 - kMaxHeader;
  uint8_t* const pos = write_ptr_;
  // HasFastRoom() for so many bytes. A cursor that is null has no limit to be
  // below.
  if (PROTOZERO_UNLIKELY(size > internal::kMaxShortCopy ||
                         internal::AddOffset<-kSpareRoom>(
                             reinterpret_cast<uintptr_t>(pos), size) >=
                             fast_limit_)) {
    SpillCursor(pos);
    write_ptr_ = AppendLongBytes(tag, src, size);
    return;
  }
  write_ptr_ = internal::WriteShortBytes(size, src, tag.StoreAsWord(pos));
}

// Sets everything but the cursor, size_field_ and end_tag_.
PROTOZERO_ALWAYS_INLINE void Message::InitNested(ScatteredStreamWriter* writer,
                                                 uintptr_t fast_limit,
                                                 uint8_t* base,
                                                 State state) {
  fast_limit_ = fast_limit;
  writer_ = writer;
  base_ = base;
  SetState(state);
}

PROTOZERO_ALWAYS_INLINE bool Message::MayBeginShort(const uint8_t* pos) const {
  return PROTOZERO_LIKELY(HasFastRoom(pos)) &&
         PROTOZERO_LIKELY(!writer_->arena_->IsAtStop());
}

PROTOZERO_ALWAYS_INLINE bool Message::MayBeginLong(const uint8_t* pos) const {
  return PROTOZERO_LIKELY(HasFastRoom(pos)) && PROTOZERO_LIKELY(!is_narrow()) &&
         PROTOZERO_LIKELY(writer_->arena_->ExpectsLong());
}

PROTOZERO_ALWAYS_INLINE Message::NewChild Message::BeginNestedInPlace(
    EncodedTag tag) {
  uint8_t* const pos = write_ptr_;
  if (PROTOZERO_UNLIKELY(!MayBeginShort(pos))) {
    SpillCursor(pos);
    return MayBeginLong(pos) ? BeginLongNested(tag, pos) : BeginNextNested(tag);
  }
  return BeginShortNested(tag, pos);
}

PROTOZERO_ALWAYS_INLINE Message::NewChild Message::BeginShortNested(
    EncodedTag tag,
    uint8_t* pos) {
  // First what goes to the output, where the last field went, then what goes to
  // the arena, this message and the child, which lie next to each other: the
  // fewer times stores change from one cache line to another, the better.
  ScatteredStreamWriter* const writer = writer_;
  MessageArena* const arena = writer->arena_;
  const uintptr_t limit = fast_limit_;
  Message* const child = arena->NextMessage();
  // A word holds any tag and the zero of its size field.
  static_assert(proto_utils::kMaxTagEncodedSize + 1 <= sizeof(uint64_t));
  uint8_t* const base = tag.StoreAsWord(pos) + 1;
  arena->TakeMessage(child);
  nested_ = child;
  write_ptr_ = ScatteredStreamWriter::Nowhere();
  child->InitNested(writer, NarrowLimit(limit, base), base,
                    NewState(kNarrow, tag.size()));
  return {child, base};
}

PROTOZERO_ALWAYS_INLINE Message::NewChild Message::BeginLongNested(
    EncodedTag tag,
    uint8_t* pos) {
  uint8_t* const size_field = internal::Opaque(tag.StoreAsWord(pos));
  internal::StoreLittleEndian(size_field, uint32_t{0});
  uint8_t* const base = size_field + proto_utils::kMessageLengthFieldSize;
  Message* const child = writer_->arena_->NewLongMessage();
  // Opaque, or compilers copy the limit and the writer in one move, which waits
  // for the two stores before it.
  const uintptr_t limit = internal::Opaque(fast_limit_);
  nested_ = child;
  write_ptr_ = ScatteredStreamWriter::Nowhere();
  child->size_field_ = size_field;
  child->InitNested(writer_, limit, base, NewState(kWide, tag.size()));
  return {child, base};
}

#if PROTOZERO_INLINE_SETTERS

template <typename T>
PROTOZERO_ALWAYS_INLINE void Message::AppendVarIntInPlace(EncodedTag tag,
                                                          T value) {
  using namespace proto_utils::internal;
  uint64_t bits = proto_utils::ExtendValueForVarIntSerialization(value);
  uint8_t* const pos = write_ptr_;
  const VarIntMasks masks = LoadVarIntMasks();
  // The compiler drops the second test for types that cannot be as large.
  if (PROTOZERO_UNLIKELY(!HasFastRoom(pos) ||
                         MayBeLongVarInt<T>(bits, masks))) {
    // SpillCursor(), with the masks in registers on both sides of the branch.
    write_ptr_ = internal::OpaqueAfter(masks, pos);
    // In place, for who comes here has mispredicted a branch already: from the
    // code of a function that is called, it would take longer.
    if (sizeof(T) == sizeof(uint64_t) && HasFastRoom(internal::Opaque(pos))) {
      write_ptr_ = WriteLongVarIntInline(bits, tag.Store(pos), masks);
      return;
    }
    // With clang, its sign is extended here, not in front of the branch for
    // both sides; gcc would keep a copy of it for that.
#if defined(__clang__)
    if constexpr (std::is_signed<T>::value)
      bits = proto_utils::ExtendValueForVarIntSerialization(
          internal::Opaque(value));
#else
    bits = internal::Opaque(bits);
#endif
    return AppendVarIntOutOfLine(tag, bits);
  }
  uint8_t* const value_pos = tag.Store(pos);
  // Whose sign is known here.
  if constexpr (sizeof(T) <= sizeof(uint32_t))
    bits = static_cast<uint32_t>(bits);
  write_ptr_ = tag.size() == 1 ? WriteVarInt56Inline<1>(bits, pos, masks)
               : tag.size() == 2
                   ? WriteVarInt56Inline<2>(bits, pos, masks)
                   : WriteVarInt56Inline<0>(bits, value_pos, masks);
}

// REQUIRES: bits < 128.
PROTOZERO_ALWAYS_INLINE void Message::AppendTinyVarIntInPlace(EncodedTag tag,
                                                              uint64_t bits) {
  uint8_t* const pos = write_ptr_;
  if (PROTOZERO_UNLIKELY(!HasFastRoom(pos))) {
    SpillCursor(pos);
    return AppendVarIntOutOfLine(tag, bits);
  }
  // Tag and value in one store.
  const uint64_t bytes = tag.encoded() | bits << (8 * tag.size());
  if (tag.size() == 1) {
    internal::StoreLittleEndian(pos, static_cast<uint16_t>(bytes));
  } else {
    internal::StoreLittleEndian(pos, bytes);
  }
  write_ptr_ = pos + tag.size() + 1;
}

template <typename Bits>
PROTOZERO_ALWAYS_INLINE void Message::AppendFixedInPlace(EncodedTag tag,
                                                         Bits bits) {
  uint8_t* const pos = write_ptr_;
  if (PROTOZERO_UNLIKELY(!HasFastRoom(pos))) {
    SpillCursor(pos);
    return AppendFixedOutOfLine(tag, bits);
  }
  uint8_t* const value_pos = tag.Store(pos);
  internal::StoreLittleEndian(value_pos, bits);
  write_ptr_ = value_pos + sizeof(bits);
}

#endif  // PROTOZERO_INLINE_SETTERS

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // INCLUDE_PROTOZERO_INTERNAL_MESSAGE_IN_PLACE_H_
