// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/frame_sender.h"

#include <errno.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "protozero/internal/compiler.h"
#include "protozero/message_arena.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

FrameSender::FrameSender(size_t max_queued_bytes)
    : max_queued_bytes_(max_queued_bytes) {
  // If this fails, there may be memory when the queue needs it.
  (void)queue_.Reserve(kUsualFrameSize);
#if PROTOZERO_DCHECK_IS_ON
  // Debug builds keep the memory of ended messages, of the frame and a few
  // frames before it. So they need this many.
  for (size_t i = 0; i < MessageArena::kMinQuarantine + kUsualMessages; ++i)
    message_->BeginNestedMessage<Message>(1);
#endif
}

SendStatus FrameSender::EndFrame(int socket, ScopedFd fd_to_send) {
  using Slices = std::vector<ScatteredHeapBuffer::Slice>;
  const Slices* slices = nullptr;
  if (message_.status() == WriteStatus::kOutOfBuffer ||
      !RunsInMemory([&] { slices = &message_.GetSlices(); })) {
    return SendStatus::kOutOfMemory;
  }
  size_t payload_size = 0;
  for (const ScatteredHeapBuffer::Slice& slice : *slices)
    payload_size += slice.GetUsedRange().size();
  if (payload_size > kMaxFramePayloadSize || payload_size == 0)
    return SendStatus::kOk;

  if (begin_ == queue_.size()) {
    queue_.Resize(0);
    begin_ = 0;
  }
  const size_t frame = queue_.size();
  if (!queue_.Resize(frame + kFrameHeaderSize + payload_size))
    return SendStatus::kOutOfMemory;
  uint8_t* next = queue_.data() + frame;
  WriteFrameHeader(payload_size, next);
  next += kFrameHeaderSize;
  for (const ScatteredHeapBuffer::Slice& slice : *slices) {
    const ContiguousMemoryRange range = slice.GetUsedRange();
    next = std::copy(range.begin, range.end, next);
  }
  if (fd_to_send.is_valid()) {
    PROTOZERO_DCHECK(!queued_fd_.is_valid(), "one at a time");
    queued_fd_ = std::move(fd_to_send);
    queued_fd_pos_ = frame;
  }
  return SendQueued(socket);
}

SendStatus FrameSender::SendQueued(int socket) {
  while (begin_ != queue_.size()) {
    // Sends up to the byte that the descriptor goes with, or from that byte on.
    const bool has_fd = queued_fd_.is_valid();
    const bool sends_fd = has_fd && queued_fd_pos_ == begin_;
    const size_t end = has_fd && !sends_fd ? queued_fd_pos_ : queue_.size();
    size_t sent;
    const SocketStatus status =
        SendToSocket(socket, queue_.data() + begin_, end - begin_,
                     sends_fd ? queued_fd_.get() : -1, &sent);
    begin_ += sent;
    if (sends_fd && sent != 0)
      queued_fd_.Reset();
    if (status == SocketStatus::kClosed) {
      return LacksMemory(errno) ? SendStatus::kOutOfMemory
                                : SendStatus::kPeerIsGone;
    }
    if (status == SocketStatus::kWouldBlock)
      break;
  }
  // When half of the queue has been sent, the rest moves down.
  if (begin_ > queue_.size() / 2) {
    queue_.EraseFront(begin_);
    queued_fd_pos_ -= queued_fd_.is_valid() ? begin_ : 0;
    begin_ = 0;
  }
  return queue_.size() - begin_ <= max_queued_bytes_
             ? SendStatus::kOk
             : SendStatus::kPeerDoesNotRead;
}

PROTOZERO_ABI_END
}  // namespace protozero
