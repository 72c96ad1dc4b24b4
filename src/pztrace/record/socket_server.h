// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_SOCKET_SERVER_H_
#define SRC_PZTRACE_RECORD_SOCKET_SERVER_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <functional>
#include <string>

#include "src/tracing/ipc/background_thread.h"
#include "src/tracing/ipc/unix_socket.h"

namespace pztrace {

// Answers everybody who connects to a socket, one after the other, on a thread
// of its own. The connection is the question, and ends with the answer. A
// client that has gone gets none: it may only have asked if the server lives.
class SocketServer {
 public:
  // The one who is answered.
  class Client {
   public:
    Client(int fd, int wakeup_fd) : fd_(fd), wakeup_fd_(wakeup_fd) {}

    // Sends a part of the answer. Returns false if the client does not take it
    // in time, or if the server ends.
    bool Send(const void* data, size_t size);
    // Waits. Returns false if the server ends.
    bool Wait(int milliseconds);

   private:
    const int fd_;
    const int wakeup_fd_;
  };
  // Called on the server's thread. May throw std::bad_alloc.
  using Answer = std::function<void(Client*)>;

  explicit SocketServer(Answer answer);
  // Ends the answer that is being given.
  ~SocketServer();

  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

  // Returns false, and says why, if it cannot have the socket.
  bool Start(const std::string& socket, std::string* error);

 private:
  void Run();

  const Answer answer_;
  protozero::ListeningSocket listening_;
  protozero::WakeupFd wakeup_;
  std::atomic<bool> stops_{false};
  protozero::BackgroundThread thread_;
};

// Takes a part of an answer. Returns false if it wants no more.
using OnAnswer = std::function<bool(const uint8_t* data, size_t size)>;

// The ends of a question to a SocketServer.
enum class AskResult {
  kWhole,
  // No process listens.
  kNoServer,
  // A part of the answer does not come in time. The server may be stopped.
  kLate,
  // OnAnswer wants no more.
  kRefused,
};

// Gets the answer of a SocketServer. A part of it comes within |timeout_ms|, or
// the end is kLate. Says in |error| why there is none, unless it is kRefused.
AskResult Ask(const std::string& socket,
              int timeout_ms,
              const OnAnswer& on_answer,
              std::string* error);

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_SOCKET_SERVER_H_
