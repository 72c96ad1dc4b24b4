// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/socket_server.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <utility>

#include "src/tracing/shared_memory/out_of_memory.h"

namespace pztrace {

namespace {

using protozero::SocketStatus;

// The time in which a client takes a part of its answer.
constexpr int kSendTimeoutMs = 5000;
// The pause after a failure that would come again at once.
constexpr int kPauseMs = 100;

void Pause() {
  const timespec pause{0, 1000000L * kPauseMs};
  nanosleep(&pause, nullptr);
}

// Waits until |fd| is ready, or the time is up, or |other_fd| is readable.
// Returns true if only |fd| is ready.
bool WaitFor(int fd, short events, int timeout_ms, int other_fd) {
  pollfd fds[] = {{fd, events, 0}, {other_fd, POLLIN, 0}};
  int ready;
  do {
    ready = poll(fds, 2, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  // Without memory, it is of no use to ask again at once.
  if (ready < 0)
    Pause();
  return ready > 0 && fds[1].revents == 0;
}

}  // namespace

bool SocketServer::Client::Send(const void* data, size_t size) {
  const uint8_t* rest = static_cast<const uint8_t*>(data);
  while (size != 0) {
    size_t sent = 0;
    const SocketStatus status =
        protozero::SendToSocket(fd_, rest, size, -1, &sent);
    rest += sent;
    size -= sent;
    if (status == SocketStatus::kClosed ||
        (status == SocketStatus::kWouldBlock &&
         !WaitFor(fd_, POLLOUT, kSendTimeoutMs, wakeup_fd_))) {
      return false;
    }
  }
  return true;
}

bool SocketServer::Client::Wait(int milliseconds) {
  pollfd wakeup{wakeup_fd_, POLLIN, 0};
  return poll(&wakeup, 1, milliseconds) == 0;
}

SocketServer::SocketServer(Answer answer) : answer_(std::move(answer)) {}

SocketServer::~SocketServer() {
  if (thread_.is_started()) {
    stops_ = true;
    wakeup_.Notify();
    thread_.Join();
  }
}

bool SocketServer::Start(const std::string& socket, std::string* error) {
  // Without the descriptor, the thread could not be told to end.
  if (wakeup_.fd() < 0 && !wakeup_.TryOpen()) {
    *error = socket + ": " + strerror(errno);
    return false;
  }
  if (!listening_.Listen(socket, error))
    return false;
  const int failure = thread_.Start<&SocketServer::Run>(this);
  if (failure != 0)
    *error = std::string("cannot start a thread: ") + strerror(failure);
  return failure == 0;
}

void SocketServer::Run() {
  while (!stops_) {
    WaitFor(listening_.get(), POLLIN, -1, wakeup_.fd());
    const protozero::ScopedFd connection =
        protozero::AcceptConnection(listening_.get());
    if (!connection.is_valid()) {
      // The process may have too many descriptors. A client that waits to be
      // accepted goes on waiting, so without a pause this loop would be busy.
      pollfd pause{wakeup_.fd(), POLLIN, 0};
      poll(&pause, 1, kPauseMs);
      continue;
    }
    pollfd client_fd{connection.get(), 0, 0};
    if (poll(&client_fd, 1, 0) > 0 && (client_fd.revents & POLLHUP) != 0)
      continue;
    // Without memory, the answer ends early.
    Client client(connection.get(), wakeup_.fd());
    protozero::RunsInMemory([&] { answer_(&client); });
  }
}

AskResult Ask(const std::string& socket,
              int timeout_ms,
              const OnAnswer& on_answer,
              std::string* error) {
  const protozero::ScopedFd connection =
      protozero::ConnectToUnixSocket(socket, error);
  if (!connection.is_valid()) {
    // With that error, more clients wait than the kernel queues.
    return errno == EAGAIN ? AskResult::kLate : AskResult::kNoServer;
  }
  uint8_t block[1 << 16];
  for (;;) {
    size_t received = 0;
    protozero::ScopedFd unwanted;
    const SocketStatus status = protozero::ReceiveFromSocket(
        connection.get(), block, sizeof(block), &received, &unwanted);
    if (received != 0 && !on_answer(block, received))
      return AskResult::kRefused;
    if (status == SocketStatus::kClosed)
      return AskResult::kWhole;
    if (status == SocketStatus::kWouldBlock &&
        !WaitFor(connection.get(), POLLIN, timeout_ms, -1)) {
      *error = "the recorder does not answer";
      return AskResult::kLate;
    }
  }
}

}  // namespace pztrace
