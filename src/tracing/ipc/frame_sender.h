// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_FRAME_SENDER_H_
#define SRC_TRACING_IPC_FRAME_SENDER_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "protozero/scattered_heap_buffer.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/protos/ipc_frame.pbzero.h"

namespace protozero {

// Sends frames to a socket, without ever waiting for the other end: what it
// does not take is queued, up to a limit. One thread at a time.
//
//   sender.BeginFrame()->set_request_id(1);
//   if (!sender.EndFrame(socket))
//     ... the connection is to be closed.
class FrameSender {
 public:
  explicit FrameSender(size_t max_queued_bytes)
      : max_queued_bytes_(max_queued_bytes) {}

  FrameSender(const FrameSender&) = delete;
  FrameSender& operator=(const FrameSender&) = delete;

  tracing::pbzero::IPCFrame* BeginFrame() {
    message_.Reset();
    return message_.get();
  }
  // Sends the frame, or queues it, and |fd_to_send| with it, a duplicate of it
  // that is. Returns false if the other end is gone, or does not read. A frame
  // that is too large for the protocol is not sent, which is no reason to close
  // the connection.
  bool EndFrame(int socket, int fd_to_send = -1);

  // Sends what is queued. Returns as EndFrame().
  bool SendQueued(int socket);
  bool has_queued() const { return begin_ != queue_.size(); }

 private:
  const size_t max_queued_bytes_;
  HeapBuffered<tracing::pbzero::IPCFrame> message_;
  // From begin_ on.
  std::vector<uint8_t> queue_;
  size_t begin_ = 0;
  // Goes with the byte at |queued_fd_pos_|.
  ScopedFd queued_fd_;
  size_t queued_fd_pos_ = 0;
};

}  // namespace protozero

#endif  // SRC_TRACING_IPC_FRAME_SENDER_H_
