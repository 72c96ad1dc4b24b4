// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/message.h"

#include <atomic>

namespace protozero {

namespace {

using internal::StoreLittleEndian;
using proto_utils::kMaxMessageLength;
using proto_utils::kMaxOneByteMessageLength;
using proto_utils::kMessageLengthFieldSize;

// How far a message moves when its size turns out to fit one byte.
constexpr size_t kCompaction = kMessageLengthFieldSize - 1;

// Numbers the uses of Message objects, so that debug builds can tell a stale
// handle. Wraps: a handle that is 65,536 messages old may go unnoticed.
inline uint16_t NextEpoch() {
#if PROTOZERO_DCHECK_IS_ON
  static std::atomic<uint16_t> last_epoch{0};
  return static_cast<uint16_t>(
      last_epoch.fetch_add(1, std::memory_order_relaxed) + 1);
#else
  return 0;
#endif
}

constexpr size_t kMaxShortCopy = 64;
static_assert(kMaxShortCopy <= kMaxOneByteMessageLength,
              "short strings have a one-byte size");

// memcpy() of up to kMaxShortCopy bytes: most strings in traces are short, and
// a library call costs more than the copy.
inline void CopyShortBytes(uint8_t* dst, const uint8_t* src, size_t size) {
  // Two overlapping copies of a constant size cover every size in between.
  if (size >= 16) {
    if (size > 32) {
      memcpy(dst + 16, src + 16, 16);
      memcpy(dst + size - 32, src + size - 32, 16);
    }
    memcpy(dst, src, 16);
    memcpy(dst + size - 16, src + size - 16, 16);
  } else if (size >= 8) {
    memcpy(dst, src, 8);
    memcpy(dst + size - 8, src + size - 8, 8);
  } else if (size >= 4) {
    memcpy(dst, src, 4);
    memcpy(dst + size - 4, src + size - 4, 4);
  } else if (size != 0) {
    dst[0] = src[0];
    dst[size / 2] = src[size / 2];
    dst[size - 1] = src[size - 1];
  }
}

// A redundant varint of four bytes, in one store.
inline void WritePaddedSize(uint64_t size, uint8_t* size_field) {
  StoreLittleEndian(
      size_field,
      static_cast<uint32_t>(proto_utils::internal::SpreadSevenBitGroups(size) |
                            0x00808080u));
}

PROTOZERO_COLD uint8_t* MoveUpExactly(uint8_t* src, size_t size) {
  memmove(src - kCompaction, src, size);
  return src - kCompaction + size;
}

// Moves |size| <= 127 bytes up by kCompaction and returns their new end. What
// follows them, up to |limit|, may be overwritten.
inline uint8_t* MoveUp(uint8_t* src, size_t size, uint8_t* limit) {
  constexpr size_t kBlock = 32;
  uint8_t* const dst = src - kCompaction;
  if (PROTOZERO_UNLIKELY(static_cast<size_t>(limit - src) < size + kBlock))
    return MoveUpExactly(src, size);
  // In whole blocks, the last one reaching beyond the end: storing a block
  // overwrites no byte that a later block has yet to load.
  for (size_t i = 0; i < size; i += kBlock) {
    uint8_t block[kBlock];
    memcpy(block, src + i, kBlock);
    memcpy(dst + i, block, kBlock);
  }
  return dst + size;
}

}  // namespace

// Hot functions leave for their cold parts by tail calls only: a call that
// returns would make them save registers on every entry.

void Message::Reset(ScatteredStreamWriter* writer, MessageArena* arena) {
  PROTOZERO_DCHECK(writer != nullptr && arena != nullptr,
                   "a message needs a stream and memory for its children");
  if (PROTOZERO_UNLIKELY(writer->root_ != nullptr))
    return ResetSlowPath(writer, arena);
  uint8_t* begin = writer->write_ptr_;
  write_ptr_ = begin;
  fast_limit_ = writer->fast_limit_;
  base_ = begin;
  size_field_ = nullptr;
  writer_ = writer;
  arena_ = arena;
  nested_ = nullptr;
  size_ = 0;
  flags_ = 0;
  epoch_ = NextEpoch();
  writer->root_ = this;
  writer->cursor_is_lent_ = true;
}

void Message::ResetSlowPath(ScatteredStreamWriter* writer,
                            MessageArena* arena) {
  writer->AbandonRoot();
  Reset(writer, arena);
}

void Message::InitUnattached() {
  write_ptr_ = nullptr;
  fast_limit_ = 0;
  base_ = nullptr;
  size_field_ = nullptr;
  writer_ = nullptr;
  arena_ = nullptr;
  nested_ = nullptr;
  size_ = 0;
  flags_ = kFinalized;
  epoch_ = 0;
}

uint32_t Message::Finalize() {
  if (nested_ != nullptr)
    SealNested();
  uint8_t* end = write_ptr_;
  const uint64_t size = uint64_t{size_} + static_cast<uint64_t>(end - base_);
  // Where there is room, this message holds the cursor.
  if (PROTOZERO_UNLIKELY(!HasFastRoom() || size > kMaxMessageLength ||
                         size_field_ != nullptr || writer_->root_ != this)) {
    return FinalizeSlowPath();
  }
  size_ = static_cast<uint32_t>(size);
  flags_ |= kFinalized;
  fast_limit_ = 0;
  writer_->write_ptr_ = end;
  writer_->cursor_is_lent_ = false;
  writer_->root_ = nullptr;
  return static_cast<uint32_t>(size);
}

uint32_t Message::FinalizeSlowPath() {
  if (is_finalized())
    return size_;
  TakeCursor();
  uint8_t* end = SealAt(write_ptr_);
  write_ptr_ = end;
  fast_limit_ = 0;
  if (writer_->root_ == this) {
    writer_->write_ptr_ = end;
    writer_->cursor_is_lent_ = false;
    writer_->root_ = nullptr;
  }
  return size_;
}

uint8_t* Message::SealAt(uint8_t* end) {
  if (is_finalized())
    return end;
  const uint64_t size = uint64_t{size_} + static_cast<uint64_t>(end - base_);
  if (PROTOZERO_UNLIKELY(size > kMaxMessageLength || !writer_->ok()))
    return SealTooLongAt(end);
  flags_ |= kFinalized;
  size_ = static_cast<uint32_t>(size);
  uint8_t* size_field = size_field_;
  if (size_field == nullptr)
    return end;
  size_field_ = nullptr;
  if (size <= kMaxOneByteMessageLength && !(flags_ & kCrossedChunk) &&
      size_field + kMessageLengthFieldSize == base_ &&
      size_field >= writer_->cur_range_.begin) {
    *size_field = static_cast<uint8_t>(size);
    return MoveUp(base_, static_cast<size_t>(size), writer_->cur_range_.end);
  }
  WritePaddedSize(size, size_field);
  return end;
}

uint8_t* Message::SealTooLongAt(uint8_t* end) {
  writer_->Fail(WriteStatus::kMessageTooLong, 0);
  flags_ |= kFinalized;
  size_ = 0;
  size_field_ = nullptr;
  return end;
}

void Message::SealNested() {
  ScatteredStreamWriter* writer = writer_;
  if (PROTOZERO_UNLIKELY(!writer->cursor_is_lent_))
    writer->LendCursorToLeaf();
  // Sizes are written from the leaf up, because a child that moves makes its
  // parents shorter. On the way down each link is turned around to find the
  // way back: there may be more levels than the stack has room for.
  Message* const first = nested_;
  Message* parent = this;
  Message* child = first;
  while (Message* grandchild = child->nested_) {
    child->nested_ = parent;
    parent = child;
    child = grandchild;
  }
  uint8_t* end = child->write_ptr_;
  child->fast_limit_ = 0;
  for (;;) {
    const size_t size = static_cast<size_t>(end - child->base_);
    uint8_t* const size_field = child->size_field_;
    // Neither finalized nor begun in an earlier chunk, no error, and the size
    // field is where it was: the usual case.
    if (PROTOZERO_LIKELY(child->flags_ == 0 && size <= kMaxMessageLength &&
                         writer->ok() && size_field != nullptr &&
                         child->base_ ==
                             size_field + kMessageLengthFieldSize)) {
      child->flags_ = kFinalized;
      child->size_ = static_cast<uint32_t>(size);
      child->size_field_ = nullptr;
      if (size <= kMaxOneByteMessageLength) {
        *size_field = static_cast<uint8_t>(size);
        end = MoveUp(child->base_, size, writer->cur_range_.end);
      } else {
        WritePaddedSize(size, size_field);
      }
    } else {
      end = child->SealAt(end);
    }
    if (parent == this)
      break;
    child = parent;
    parent = child->nested_;
    child->nested_ = nullptr;
  }
  arena_->DeleteMessagesFrom(first);
  nested_ = nullptr;
  write_ptr_ = end;
  fast_limit_ = writer->fast_limit_;
}

bool Message::TakeCursor() {
  if (PROTOZERO_UNLIKELY(is_finalized())) {
    PROTOZERO_DCHECK(flags_ & kDropsEverything,
                     "this message is sealed: its parent was written to, or it "
                     "was finalized, or Reset() was never called");
    return false;
  }
  if (nested_ != nullptr) {
    SealNested();
  } else if (!writer_->cursor_is_lent_) {
    LendCursorFromWriter();
  }
  return true;
}

void Message::LendCursorFromWriter() {
  write_ptr_ = writer_->write_ptr_;
  fast_limit_ = writer_->fast_limit_;
  writer_->cursor_is_lent_ = true;
}

void Message::ReturnCursorToWriter() {
  writer_->write_ptr_ = write_ptr_;
  writer_->cursor_is_lent_ = false;
  fast_limit_ = 0;
}

void Message::WriteScattered(const uint8_t* src, size_t size) {
  ReturnCursorToWriter();
  writer_->WriteBytesSlowPath(src, size);
  LendCursorFromWriter();
}

inline void Message::WriteEncoded(const uint8_t* src, size_t size) {
  if (PROTOZERO_UNLIKELY(size > room()))
    return WriteScattered(src, size);
  memcpy(write_ptr_, src, size);
  write_ptr_ += size;
}

void Message::AppendVarIntSlowPath(uint32_t tag, uint64_t value) {
  if (!TakeCursor())
    return;
  // Mostly there is room, and a child has just been sealed.
  if (HasFastRoom()) {
    write_ptr_ = proto_utils::internal::WriteVarIntUnsafe(
        value, proto_utils::WriteVarInt(tag, write_ptr_));
    return;
  }
  uint8_t field[proto_utils::kMaxSimpleFieldEncodedSize];
  uint8_t* end =
      proto_utils::WriteVarInt(value, proto_utils::WriteVarInt(tag, field));
  WriteEncoded(field, static_cast<size_t>(end - field));
}

void Message::AppendFixedSlowPath(uint32_t tag, uint64_t bits, size_t size) {
  if (!TakeCursor())
    return;
  uint8_t field[proto_utils::kMaxTagEncodedSize + sizeof(uint64_t)];
  uint8_t* value = proto_utils::WriteVarInt(tag, field);
  StoreLittleEndian(value, bits);
  WriteEncoded(field, static_cast<size_t>(value - field) + size);
}

void Message::AppendEncodedBytes(EncodedTag tag, const void* src, size_t size) {
  // A tag stored as a word, and a one-byte size.
  constexpr size_t kMaxHeader = sizeof(uint64_t) + 1;
  // What there is between the fast limit and the chunk's end, less that.
  constexpr size_t kSpareRoom =
      ScatteredStreamWriter::kFastRoom - 1 - kMaxHeader;
  uint8_t* pos = write_ptr_;
  if (PROTOZERO_UNLIKELY(!HasFastRoom() || size > kMaxShortCopy ||
                         size > fast_limit_ + kSpareRoom -
                                    reinterpret_cast<uintptr_t>(pos))) {
    return AppendLongBytes(tag.tag, src, size);
  }
  StoreLittleEndian(pos, tag.bytes);
  pos += tag.size;
  *pos++ = static_cast<uint8_t>(size);
  CopyShortBytes(pos, static_cast<const uint8_t*>(src), size);
  write_ptr_ = pos + size;
}

void Message::AppendLongBytes(uint32_t tag, const void* src, size_t size) {
  PROTOZERO_DCHECK(size <= kMaxMessageLength,
                   "a field holds at most 268435455 bytes: split it");
  if (!TakeCursor())
    return;
  uint8_t header[proto_utils::kMaxTagEncodedSize + kMessageLengthFieldSize];
  uint8_t* end = proto_utils::WriteVarInt(tag, header);
  if (PROTOZERO_UNLIKELY(size > kMaxMessageLength)) {
    ReturnCursorToWriter();
    writer_->Fail(WriteStatus::kMessageTooLong, size);
    return LendCursorFromWriter();
  }
  end = proto_utils::WriteVarInt(size, end);
  WriteEncoded(header, static_cast<size_t>(end - header));
  AppendRawProtoBytes(src, size);
}

size_t Message::AppendScatteredBytes(uint32_t field_id,
                                     ContiguousMemoryRange* ranges,
                                     size_t num_ranges) {
  size_t size = 0;
  for (size_t i = 0; i < num_ranges; ++i)
    size += ranges[i].size();
  const EncodedTag tag =
      EncodeTag(field_id, proto_utils::ProtoWireType::kLengthDelimited);
  if (size == 0 || size > kMaxMessageLength) {
    AppendLongBytes(tag.tag, nullptr, size);
    return size;
  }
  uint8_t header[proto_utils::kMaxTagEncodedSize + kMessageLengthFieldSize];
  uint8_t* end =
      proto_utils::WriteVarInt(size, proto_utils::WriteVarInt(tag.tag, header));
  AppendRawProtoBytes(header, static_cast<size_t>(end - header));
  for (size_t i = 0; i < num_ranges; ++i)
    AppendRawProtoBytes(ranges[i].begin, ranges[i].size());
  return size;
}

void Message::AppendRawProtoBytes(const void* data, size_t size) {
  if (PROTOZERO_UNLIKELY(!HasFastRoom()) && !TakeCursor())
    return;
  if (size == 0)  // memcpy() may not be given null, even for no bytes.
    return;
  const uint8_t* src = static_cast<const uint8_t*>(data);
  if (PROTOZERO_UNLIKELY(size > room()))
    return WriteScattered(src, size);
  memcpy(write_ptr_, src, size);
  write_ptr_ += size;
}

inline void Message::InitNested(const Message& parent,
                                uint8_t* size_field,
                                uint8_t* begin) {
  write_ptr_ = begin;
  base_ = begin;
  size_field_ = size_field;
  writer_ = parent.writer_;
  arena_ = parent.arena_;
  nested_ = nullptr;
  size_ = 0;
  flags_ = 0;
  epoch_ = NextEpoch();
}

Message* Message::DroppingMessage() {
  static Message* const message = [] {
    static Message storage;
    storage.InitUnattached();
    storage.flags_ |= kDropsEverything;
    return &storage;
  }();
  return message;
}

Message* Message::BeginNested(EncodedTag tag) {
  MessageArena* arena = arena_;
  uint8_t* begin = write_ptr_;
  // Also taken when a child is open: then there is no room.
  if (PROTOZERO_UNLIKELY(!HasFastRoom() || arena->IsBlockFull()))
    return BeginNestedSlowPath(tag);
  Message* child = arena->NewMessage();
  uint8_t* size_field = begin + tag.size;
  child->fast_limit_ = fast_limit_;
  fast_limit_ = 0;
  nested_ = child;
  child->InitNested(*this, size_field, size_field + kMessageLengthFieldSize);
  // A word holds a tag of up to four bytes and the zeros of its size field; one
  // more byte the rest.
  StoreLittleEndian(begin, tag.bytes);
  begin[sizeof(uint64_t)] = 0;
  return child;
}

Message* Message::BeginNestedSlowPath(EncodedTag tag) {
  if (nested_ != nullptr) {
    SealNested();
    return BeginNested(tag);
  }
  Message* child = TakeCursor() ? arena_->NewMessage() : nullptr;
  if (child == nullptr) {
    if (!is_finalized()) {
      ReturnCursorToWriter();
      writer_->Fail(WriteStatus::kOutOfMemory, 0);
      LendCursorFromWriter();
    }
    if (flags_ & kDropsEverything)
      return this;
    return DroppingMessage();
  }
  uint8_t bytes[proto_utils::kMaxTagEncodedSize];
  uint8_t* end = proto_utils::WriteVarInt(tag.tag, bytes);
  WriteEncoded(bytes, static_cast<size_t>(end - bytes));
  ReturnCursorToWriter();
  // Null in the error state: nothing will be written, but the bytes go on
  // being counted.
  uint8_t* size_field = writer_->ReserveBytes(kMessageLengthFieldSize);
  if (size_field != nullptr)
    memset(size_field, 0, kMessageLengthFieldSize);
  child->InitNested(*this, size_field, writer_->write_ptr_);
  nested_ = child;
  child->LendCursorFromWriter();
  return child;
}

}  // namespace protozero
