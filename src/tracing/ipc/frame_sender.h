// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_FRAME_SENDER_H_
#define SRC_TRACING_IPC_FRAME_SENDER_H_

#include <stddef.h>
#include <stdint.h>

#include "protozero/scattered_heap_buffer.h"
#include "src/tracing/ipc/byte_buffer.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"
#include "src/tracing/protos/namespace.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

enum class SendStatus {
  // The frame was sent, or queued.
  kOk,
  // The peer is gone. It may have sent something before.
  kPeerIsGone,
  // More would be queued than is allowed.
  kPeerDoesNotRead,
  // The frame is lost. The peer may rely on it, so nothing more may be sent.
  kOutOfMemory,
};

// Sends frames to a socket, without waiting for the peer: what the socket does
// not take is queued, up to a limit. It allocates for the queue, for frames
// larger than kUsualFrameSize, and in debug builds for frames of more than
// kUsualMessages messages. One thread at a time.
//
//   sender.BeginFrame()->set_request_id(1);
//   if (sender.EndFrame(socket) != SendStatus::kOk)
//     ... nothing more may be sent.
class FrameSender {
 public:
  // A size that is enough for everything that an arbiter commits at a time.
  static constexpr size_t kUsualFrameSize = 8192;
  static constexpr size_t kUsualMessages = 400;

  explicit FrameSender(size_t max_queued_bytes);

  FrameSender(const FrameSender&) = delete;
  FrameSender& operator=(const FrameSender&) = delete;

  tracing::pbzero::IPCFrame* BeginFrame() {
    message_.Reset();
    return message_.get();
  }
  // Sends or queues the frame, and |fd_to_send| with it. A frame that is too
  // large for the protocol is not sent; the connection goes on.
  SendStatus EndFrame(int socket, ScopedFd fd_to_send = ScopedFd());

  // Sends what is queued.
  SendStatus SendQueued(int socket);
  bool has_queued() const { return begin_ != queue_.size(); }

 private:
  const size_t max_queued_bytes_;
  HeapBuffered<tracing::pbzero::IPCFrame> message_{kUsualFrameSize,
                                                   kUsualFrameSize};
  // The bytes from |begin_| on are queued.
  ByteBuffer queue_;
  size_t begin_ = 0;
  // The descriptor that goes with the byte at |queued_fd_pos_|.
  ScopedFd queued_fd_;
  size_t queued_fd_pos_ = 0;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_FRAME_SENDER_H_
