// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_UNIX_SOCKET_H_
#define SRC_TRACING_IPC_UNIX_SOCKET_H_

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <string>

#include "src/tracing/ipc/scoped_fd.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The functions for sockets in the file system, or, if the path begins with
// '@', in the abstract namespace. All sockets are non-blocking and closed by
// exec.

// Returns the address of PERFETTO_PRODUCER_SOCK_NAME in the environment, or
// else the one of Perfetto's service.
std::string DefaultProducerSocket();
// Returns whether that address comes from the environment.
bool IsProducerSocketInEnvironment();

// A variable in the environment of programs that a recorder has started. They
// are to be recorded from their first event on, so they wait for the service.
inline constexpr char kStartedByRecorderVariable[] =
    "PROTOZERO_STARTED_BY_RECORDER";
bool IsStartedByRecorder();

// Makes a socket that is not connected. Returns an invalid one, and sets errno,
// on failure.
ScopedFd NewUnixSocket();
// Returns an invalid one on failure, with the reason in |error| and in errno.
// Replaces a socket that no process has open any more. Of several processes
// that call this at once, one gets the address.
ScopedFd ListenOnUnixSocket(const std::string& path, std::string* error);
// Removes a socket that no process has open any more. Returns whether it has.
// REQUIRES: FolderLock.
bool RemoveAbandonedSocket(const std::string& path);
// Connects. On failure, leaves the reason in errno, too.
ScopedFd ConnectToUnixSocket(const std::string& path, std::string* error);
// Makes the two ends of a connection that has no name. Returns false, and sets
// errno, on failure.
bool ConnectSocketPair(ScopedFd* one, ScopedFd* other);
// Returns an invalid one if no connection waits.
ScopedFd AcceptConnection(int listening_fd);

// Returns whether this error of a socket is a lack of memory at this end. The
// peer is still there.
inline bool LacksMemory(int error) {
  return error == ENOMEM || error == ENOBUFS;
}

// The identity of the process at the other end when the connection was made.
struct PeerIdentity {
  uid_t uid;
  pid_t pid;
};
bool GetPeerIdentity(int fd, PeerIdentity* identity);

// Results of send() and recv() that neither block nor raise SIGPIPE.
enum class SocketStatus {
  kOk,
  kWouldBlock,
  // The peer has closed the connection, or there was an error.
  kClosed,
};

// Sends as much of |data| as possible, and with its first byte |fd_to_send|
// unless that is -1. Always sets |sent|. On kClosed, errno says why.
SocketStatus SendToSocket(int fd,
                          const uint8_t* data,
                          size_t size,
                          int fd_to_send,
                          size_t* sent);
// Receives at least one byte. On kClosed, errno says why; it is 0 if the peer
// has ended the stream. If a descriptor comes, puts it in |received_fd|; if
// several come, closes the others.
SocketStatus ReceiveFromSocket(int fd,
                               uint8_t* data,
                               size_t size,
                               size_t* received,
                               ScopedFd* received_fd);

// Owns a socket that listens, and its file.
class ListeningSocket {
 public:
  ListeningSocket() = default;
  ~ListeningSocket() { Close(); }

  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  // Does what ListenOnUnixSocket() does. Returns false on failure.
  bool Listen(const std::string& path, std::string* error);
  // Closes the socket and removes its file, unless another one is in its place.
  void Close();

  bool is_valid() const { return fd_.is_valid(); }
  bool is_lost() const { return fd_.is_lost(); }
  int get() const { return fd_.get(); }

 private:
  ScopedFd fd_;
  // The file; an empty path for none.
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Makes a poll() in another thread return. Any thread.
//
// It is a pair of sockets, and no eventfd: each socket has an inode of its own,
// and send() and recv() leave all files alone that are no sockets.
//
// A poll() looks at a descriptor again each time that the kernel wakes it. If
// the program has put a quiet file there, nothing makes the poll() return. So
// it is to end after kMaxPollMs.
class WakeupFd {
 public:
  // Opens descriptors. If there are none left, fd() is -1, the other functions
  // do nothing, and TryOpen() may be called.
  WakeupFd() { TryOpen(); }
  // Opens descriptors in place of those that are lost. Returns false, and sets
  // errno, on failure. REQUIRES: no other thread uses the object meanwhile.
  bool TryOpen();
  static constexpr int kMaxPollMs = 2000;

  // Returns the descriptor to poll; -1 if there is none, or if the program has
  // closed or replaced one of the two.
  int fd() const;
  // Async-signal-safe.
  void Notify() const;
  // Makes fd() unreadable until the next notification.
  void Clear() const;

 private:
  ScopedFd waiting_;
  ScopedFd notifying_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_UNIX_SOCKET_H_
