// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

#include "src/tracing/ipc/folder_lock.h"
#include "src/tracing/shared_memory/no_cancellation.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// musl's macro compares a signed with an unsigned number.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
cmsghdr* NextHeader(msghdr* message, cmsghdr* header) {
  return CMSG_NXTHDR(message, header);
}
#pragma GCC diagnostic pop

// More than the one descriptor that the protocol has, so that this process gets
// and closes all of them. The kernel closes descriptors that do not fit.
constexpr size_t kMaxReceivedFds = 16;

std::string ErrorText(const char* what, const std::string& path) {
  return std::string(what) + " " + path + ": " + strerror(errno);
}

class UnixAddress {
 public:
  explicit UnixAddress(const std::string& path) {
    // One byte is for the terminator, or in place of the '@'.
    if (path.empty() || path.size() >= sizeof(address_.sun_path)) {
      errno = ENAMETOOLONG;
      return;
    }
    address_.sun_family = AF_UNIX;
    memcpy(address_.sun_path, path.data(), path.size());
    is_abstract_ = path[0] == '@';
    if (is_abstract_)
      address_.sun_path[0] = '\0';
    // Abstract names have no terminator: their size is part of them.
    size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                   path.size() + !is_abstract_);
  }

  bool is_valid() const { return size_ != 0; }
  bool is_abstract() const { return is_abstract_; }
  const sockaddr* get() const {
    return reinterpret_cast<const sockaddr*>(&address_);
  }
  socklen_t size() const { return size_; }

 private:
  sockaddr_un address_{};
  socklen_t size_ = 0;
  bool is_abstract_ = false;
};

bool IsAbandonedSocket(const std::string& path, const UnixAddress& address) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode))
    return false;
  const ScopedFd probe = NewUnixSocket();
  return probe.is_valid() &&
         connect(probe.get(), address.get(), address.size()) != 0 &&
         errno == ECONNREFUSED;
}

// Binds, in place of a socket that is abandoned. Returns whether the socket
// listens. REQUIRES: FolderLock, unless the address is abstract.
bool BindAndListen(int fd,
                   const std::string& path,
                   const UnixAddress& address) {
  int result = bind(fd, address.get(), address.size());
  if (result != 0 && errno == EADDRINUSE && !address.is_abstract() &&
      IsAbandonedSocket(path, address)) {
    unlink(path.c_str());
    result = bind(fd, address.get(), address.size());
  }
  if (result != 0)
    return false;
  if (listen(fd, SOMAXCONN) == 0)
    return true;
  const int reason = errno;
  if (!address.is_abstract())
    unlink(path.c_str());
  errno = reason;
  return false;
}

// Returns null if there is none. The variable is ignored in programs that have
// more rights than the user who set their environment.
const char* SocketInEnvironment() {
  const char* const path = secure_getenv("PERFETTO_PRODUCER_SOCK_NAME");
  return path != nullptr && *path != '\0' ? path : nullptr;
}

SocketStatus StatusOfErrno() {
  return errno == EAGAIN || errno == EWOULDBLOCK ? SocketStatus::kWouldBlock
                                                 : SocketStatus::kClosed;
}

}  // namespace

bool IsStartedByRecorder() {
  const char* const value = secure_getenv(kStartedByRecorderVariable);
  return value != nullptr && *value != '\0';
}

bool IsProducerSocketInEnvironment() {
  return SocketInEnvironment() != nullptr;
}

std::string DefaultProducerSocket() {
  if (const char* const path = SocketInEnvironment())
    return path;
  return access("/run/perfetto", X_OK) == 0
             ? "/run/perfetto/traced-producer.sock"
             : "/tmp/perfetto-producer";
}

ScopedFd NewUnixSocket() {
  return ScopedFd(
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

ScopedFd ListenOnUnixSocket(const std::string& path, std::string* error) {
  const UnixAddress address(path);
  ScopedFd fd;
  if (address.is_valid())
    fd = NewUnixSocket();
  if (!fd.is_valid()) {
    *error = ErrorText("cannot create socket", path);
    return fd;
  }
  FolderLock lock;
  if ((!address.is_abstract() && !lock.Take(path)) ||
      !BindAndListen(fd.get(), path, address)) {
    const int reason = errno;
    // No socket is left even if there is no memory for the text.
    fd.Reset();
    errno = reason;
    *error = reason == EWOULDBLOCK
                 ? path + ": another process keeps the lock of its folder"
                 : ErrorText("cannot listen on", path);
    errno = reason;
  }
  return fd;
}

bool RemoveAbandonedSocket(const std::string& path) {
  const UnixAddress address(path);
  return address.is_valid() && IsAbandonedSocket(path, address) &&
         unlink(path.c_str()) == 0;
}

bool ListeningSocket::Listen(const std::string& path, std::string* error) {
  Close();
  // This may lack memory, so it comes before there is a file.
  path_ = path;
  fd_ = ListenOnUnixSocket(path, error);
  if (!fd_.is_valid() || path[0] == '@') {
    path_.clear();
    return fd_.is_valid();
  }
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) {
    const int reason = errno;
    unlink(path.c_str());
    path_.clear();
    fd_.Reset();
    errno = reason;
    *error = ErrorText("cannot listen on", path);
    return false;
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return true;
}

void ListeningSocket::Close() {
  struct stat status;
  // The open socket keeps its inode, so no other file has that number.
  if (!path_.empty() && !fd_.is_lost() &&
      (lstat(path_.c_str(), &status) != 0 ||
       (status.st_dev == device_ && status.st_ino == inode_))) {
    unlink(path_.c_str());
  }
  path_.clear();
  fd_.Reset();
}

ScopedFd ConnectToUnixSocket(const std::string& path, std::string* error) {
  const UnixAddress address(path);
  ScopedFd fd;
  if (address.is_valid())
    fd = NewUnixSocket();
  if (!fd.is_valid() || connect(fd.get(), address.get(), address.size()) != 0) {
    const int reason = errno;
    *error = ErrorText("cannot connect to", path);
    fd.Reset();
    errno = reason;
  }
  return fd;
}

bool ConnectSocketPair(ScopedFd* one, ScopedFd* other) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                 ends) != 0)
    return false;
  one->Reset(ends[0]);
  other->Reset(ends[1]);
  return true;
}

ScopedFd AcceptConnection(int listening_fd) {
  return ScopedFd(
      accept4(listening_fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool GetPeerIdentity(int fd, PeerIdentity* identity) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return false;
  *identity = {credentials.uid, credentials.pid};
  return true;
}

SocketStatus SendToSocket(int fd,
                          const uint8_t* data,
                          size_t size,
                          int fd_to_send,
                          size_t* sent) {
  const NoCancellation no_cancellation;
  *sent = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  while (*sent < size) {
    iovec io{const_cast<uint8_t*>(data) + *sent, size - *sent};
    msghdr message{};
    message.msg_iov = &io;
    message.msg_iovlen = 1;
    if (fd_to_send >= 0 && *sent == 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      memcpy(CMSG_DATA(header), &fd_to_send, sizeof(int));
    }
    const ssize_t result = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (result >= 0)
      *sent += static_cast<size_t>(result);
    else if (errno != EINTR)
      return StatusOfErrno();
  }
  return SocketStatus::kOk;
}

SocketStatus ReceiveFromSocket(int fd,
                               uint8_t* data,
                               size_t size,
                               size_t* received,
                               ScopedFd* received_fd) {
  *received = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxReceivedFds * sizeof(int))];
  iovec io{data, size};
  msghdr message{};
  message.msg_iov = &io;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t result;
  do {
    result = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (result < 0 && errno == EINTR);
  if (result < 0)
    return StatusOfErrno();
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = NextHeader(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
      continue;
    const size_t num_fds = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < num_fds; ++i) {
      int passed;
      memcpy(&passed, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      received_fd->Reset(passed);
    }
  }
  *received = static_cast<size_t>(result);
  errno = 0;
  return result == 0 ? SocketStatus::kClosed : SocketStatus::kOk;
}

bool WakeupFd::TryOpen() {
  return ConnectSocketPair(&waiting_, &notifying_);
}

int WakeupFd::fd() const {
  return notifying_.is_lost() ? -1 : waiting_.get();
}

void WakeupFd::Notify() const {
  const NoCancellation no_cancellation;
  const int error = errno;
  // This fails if there are too many notifications already, or if the
  // descriptor is lost: then nothing polls the other end any more.
  if (notifying_.is_valid())
    send(notifying_.get(), "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  errno = error;
}

void WakeupFd::Clear() const {
  char bytes[64];
  while (recv(waiting_.get(), bytes, sizeof(bytes), MSG_DONTWAIT) ==
         sizeof(bytes)) {
  }
}

PROTOZERO_ABI_END
}  // namespace protozero
