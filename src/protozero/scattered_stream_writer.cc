// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/scattered_stream_writer.h"

#include <algorithm>
#include <type_traits>

#include "message_nesting.h"
#include "open_messages.h"
#include "protozero/message.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

static_assert(std::is_trivial<ContiguousMemoryRange>::value,
              "arrays of ranges are not initialized");

uint8_t* ScatteredStreamWriter::Delegate::AnnotatePatch(uint8_t* patch_addr) {
  return patch_addr;
}

ContiguousMemoryRange ScatteredStreamWriter::Delegate::BorrowBytes(
    ContiguousMemoryRange) {
  return ContiguousMemoryRange{};
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
  // The bytes that were dropped leave a hole in the open messages.
  if (!ok())
    AbandonRoot();
  reasons_.status = WriteStatus::kOk;
  reasons_.may_lack_inline_code = internal::kInlineEncodingMask == 0;
  internal::OpenMessages::EnterChunk(this, range);
}

void ScatteredStreamWriter::Extend() noexcept {
  TakeCursorSlowPath();
  NextChunk();
}

bool ScatteredStreamWriter::IsReentered() noexcept {
  if (PROTOZERO_LIKELY(!reasons_.is_asking))
    return false;
  PROTOZERO_DCHECK(false, kReenteredAdvice);
  Fail(WriteStatus::kReentered, 0);
  return true;
}

inline bool ScatteredStreamWriter::EndAsking() noexcept {
  // The cursor is lent if the delegate has begun a message.
  if (cursor_is_lent()) {
    IsReentered();
    TakeCursorSlowPath();
  }
  reasons_.is_asking = false;
  return ok();
}

bool ScatteredStreamWriter::NextChunk() noexcept {
  if (!ok() || (reasons_.is_asking && IsReentered()))
    return false;
  ContiguousMemoryRange range{};
  if (delegate_ != nullptr) {
    reasons_.is_asking = true;
    internal::OpenMessages::AnnotatePatches(this);
    range = delegate_->GetNewBuffer();
    if (!EndAsking())
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
  internal::OpenMessages::EnterChunk(this, range);
  return true;
}

bool ScatteredStreamWriter::BorrowBytes(const uint8_t* src,
                                        size_t size) noexcept {
  if (size == 0 || delegate_ == nullptr || !ok() ||
      (reasons_.is_asking && IsReentered())) {
    return false;
  }
  auto* const begin = const_cast<uint8_t*>(src);
  const ContiguousMemoryRange bytes = {begin, begin + size};
  reasons_.is_asking = true;
  const ContiguousMemoryRange next = delegate_->BorrowBytes(bytes);
  if (!EndAsking() || !next.is_valid())
    return false;
  internal::OpenMessages::EnterChunk(this, bytes);
  write_ptr_ = bytes.end;
  if (IsReversed(next)) {
    Fail(WriteStatus::kInvalidBuffer, 0);
  } else {
    internal::OpenMessages::EnterChunk(this, next);
  }
  return true;
}

void ScatteredStreamWriter::Fail(WriteStatus status,
                                 uint64_t lost_bytes) noexcept {
  if (ok())
    reasons_.status = status;
  fast_limit_ = 0;
  written_previously_ += lost_bytes;
}

void ScatteredStreamWriter::TakeCursorSlowPath() noexcept {
  if (cursor_is_lent())
    internal::OpenMessages::TakeCursorFromLeaf(this);
}

uint8_t* ScatteredStreamWriter::LentWritePtr() noexcept {
  return internal::OpenMessages::WidenAll(this);
}

uint8_t* ScatteredStreamWriter::LentWritePtr() const noexcept {
  return internal::OpenMessages::CursorIfWidened(this);
}

void ScatteredStreamWriter::AbandonRoot() noexcept {
  internal::MessageNesting::AbandonRoot(this);
}

PROTOZERO_ABI_END
}  // namespace protozero
