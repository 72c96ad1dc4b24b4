// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_HTTP_CURL_SOCKETS_H_
#define SRC_OTLP_HTTP_CURL_SOCKETS_H_

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include <curl/curl.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

// Keeps SIGPIPE from the program while the calling thread writes to sockets:
// libraries for TLS do that with write().
class PipeSignalGuard {
 public:
  PipeSignalGuard() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  PipeSignalGuard(const PipeSignalGuard&) = delete;
  PipeSignalGuard& operator=(const PipeSignalGuard&) = delete;
  ~PipeSignalGuard() {
    const timespec no_time{};
    if (!was_pending_)
      sigtimedwait(&pipe_, nullptr, &no_time);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_;
};

// The sockets that are open, for the child of a fork(), where libcurl's lists
// may be in the middle of a change.
class SocketList {
 public:
  static curl_socket_t Open(void* list, curlsocktype, curl_sockaddr* address) {
    const int fd = socket(address->family, address->socktype | SOCK_CLOEXEC,
                          address->protocol);
    if (fd < 0)
      return CURL_SOCKET_BAD;
    for (std::atomic<int>& slot : static_cast<SocketList*>(list)->slots_) {
      int none = -1;
      if (slot.compare_exchange_strong(none, fd))
        return fd;
    }
    // A client has two connections.
    close(fd);
    return CURL_SOCKET_BAD;
  }
  static int Close(void* list, curl_socket_t fd) {
    for (std::atomic<int>& slot : static_cast<SocketList*>(list)->slots_) {
      int same = fd;
      if (slot.compare_exchange_strong(same, -1))
        break;
    }
    return close(fd);
  }
  void CloseAll() {
    for (std::atomic<int>& slot : slots_) {
      const int fd = slot.exchange(-1);
      if (fd >= 0)
        close(fd);
    }
  }
  SocketList() {
    for (std::atomic<int>& slot : slots_)
      slot = -1;
  }

 private:
  std::atomic<int> slots_[16];
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_HTTP_CURL_SOCKETS_H_
