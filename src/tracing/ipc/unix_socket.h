// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_UNIX_SOCKET_H_
#define SRC_TRACING_IPC_UNIX_SOCKET_H_

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <string>
#include <utility>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A file descriptor that is closed in the end.
class ScopedFd {
 public:
  ScopedFd() = default;
  explicit ScopedFd(int fd) : fd_(fd) {}
  ScopedFd(ScopedFd&& other) noexcept : fd_(other.Release()) {}
  ScopedFd& operator=(ScopedFd&& other) noexcept {
    Reset(other.Release());
    return *this;
  }
  ~ScopedFd() { Reset(); }

  bool is_valid() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

// Sockets in the file system, or, if the path begins with '@', in the abstract
// namespace. All of them are non-blocking and closed by exec.

// Where producers find the service: PERFETTO_PRODUCER_SOCK_NAME in the
// environment, or else where a system's service is.
std::string DefaultProducerSocket();

// An invalid one, and the reason in |error|, on failure. A socket that nobody
// listens to any more is replaced.
ScopedFd ListenOnUnixSocket(const std::string& path, std::string* error);
// Leaves the reason in errno, too.
ScopedFd ConnectToUnixSocket(const std::string& path, std::string* error);
// An invalid one if there is none to accept.
ScopedFd AcceptConnection(int listening_fd);

// Whether that error, of a socket, is this end's: the other one is still there.
inline bool LacksMemory(int error) {
  return error == ENOMEM || error == ENOBUFS;
}

// Who is at the other end, or was when the connection was made.
struct PeerIdentity {
  uid_t uid;
  pid_t pid;
};
bool GetPeerIdentity(int fd, PeerIdentity* identity);

// What send() and recv() say, but that they neither block nor raise SIGPIPE.
enum class SocketStatus {
  kOk,
  kWouldBlock,
  // By the other end, or by an error.
  kClosed,
};

// Sends |data| as far as possible, along with |fd_to_send| unless that is -1.
// |sent| is set in any case. The descriptor goes with the first byte. On
// kClosed, errno says why.
SocketStatus SendToSocket(int fd,
                          const uint8_t* data,
                          size_t size,
                          int fd_to_send,
                          size_t* sent);
// Receives at least one byte. On kClosed, errno says why; it is 0 if the other
// end has said that nothing follows. A descriptor that comes with it is put in
// |received_fd|; of several, the others are closed.
SocketStatus ReceiveFromSocket(int fd,
                               uint8_t* data,
                               size_t size,
                               size_t* received,
                               ScopedFd* received_fd);

// Makes a poll() in another thread return. Any thread.
class WakeupFd {
 public:
  // fd() is -1 if there is no descriptor left. Then the other functions do
  // nothing, and TryOpen() may be called.
  WakeupFd() { TryOpen(); }
  // Returns false, and sets errno, on failure. REQUIRES: nobody calls anything
  // else meanwhile.
  bool TryOpen();
  int fd() const { return fd_.get(); }
  void Notify() const;
  // Until somebody notifies again, fd() is not readable.
  void Clear() const;

 private:
  ScopedFd fd_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_UNIX_SOCKET_H_
