// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/scattered_stream_writer.h"

#include <algorithm>
#include <limits>

#include "protozero/message.h"

namespace protozero {

ScatteredStreamWriter::Delegate::~Delegate() = default;

uint8_t* ScatteredStreamWriter::Delegate::AnnotatePatch(uint8_t* patch_addr) {
  return patch_addr;
}

void ScatteredStreamWriter::WriteBytesSlowPath(const uint8_t* src,
                                               size_t size) {
  TakeCursor();
  for (;;) {
    const size_t chunk_size = std::min(size, bytes_available());
    WriteBytesUnsafe(src, chunk_size);
    size -= chunk_size;
    if (size == 0)
      return;
    src += chunk_size;
    if (!NextChunk())
      return Fail(status_, size);
  }
}

uint8_t* ScatteredStreamWriter::ReserveBytesSlowPath(size_t size) {
  TakeCursor();
  if (!NextChunk()) {
    Fail(status_, size);
    return nullptr;
  }
  if (size > bytes_available()) {
    Fail(WriteStatus::kOutOfBuffer, size);
    return nullptr;
  }
  return ReserveBytesUnsafe(size);
}

void ScatteredStreamWriter::Rewind(size_t size, size_t offset) {
  TakeCursor();
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

void ScatteredStreamWriter::CloseForReset() {
  TakeCursor();
  if (ok())
    return;
  // What was dropped leaves a hole in whatever is still open.
  if (root_ != nullptr)
    AbandonRoot();
  status_ = WriteStatus::kOk;
}

void ScatteredStreamWriter::Extend() {
  TakeCursor();
  NextChunk();
}

bool ScatteredStreamWriter::NextChunk() {
  if (!ok())
    return false;
  for (Message* message = root_; message; message = message->nested_) {
    if (message->size_field_ &&
        !(message->flags_ & (Message::kCrossedChunk | Message::kFinalized))) {
      message->size_field_ = delegate_->AnnotatePatch(message->size_field_);
    }
  }
  const ContiguousMemoryRange range = delegate_->GetNewBuffer();
  if (!range.is_valid() || range.size() == 0) {
    Fail(WriteStatus::kOutOfBuffer, 0);
    return false;
  }
  EnterChunk(range);
  return true;
}

void ScatteredStreamWriter::MoveOpenMessagesTo(ContiguousMemoryRange range) {
  for (Message* message = root_; message; message = message->nested_) {
    if (message->is_finalized())
      continue;
    // Saturates: beyond kMaxMessageLength the exact size is of no interest.
    const uint64_t size = uint64_t{message->size_} +
                          static_cast<uint64_t>(write_ptr_ - message->base_);
    message->size_ = static_cast<uint32_t>(
        std::min<uint64_t>(size, std::numeric_limits<uint32_t>::max()));
    message->base_ = range.begin;
    message->flags_ |= Message::kCrossedChunk;
  }
}

void ScatteredStreamWriter::Fail(WriteStatus status, uint64_t lost_bytes) {
  if (ok())
    status_ = status;
  fast_limit_ = 0;
  written_previously_ += lost_bytes;
}

void ScatteredStreamWriter::TakeCursorFromLeaf() {
  root_->Leaf()->ReturnCursorToWriter();
}

void ScatteredStreamWriter::LendCursorToLeaf() {
  root_->Leaf()->LendCursorFromWriter();
}

uint8_t* ScatteredStreamWriter::LentWritePtr() const {
  return root_->Leaf()->write_ptr_;
}

void ScatteredStreamWriter::AbandonRoot() {
  TakeCursor();
  for (Message* message = root_; message != nullptr;) {
    Message* nested = message->nested_;
    message->flags_ |= Message::kFinalized;
    message->nested_ = nullptr;
    message->size_ = 0;
    message = nested;
  }
  root_ = nullptr;
}

}  // namespace protozero
