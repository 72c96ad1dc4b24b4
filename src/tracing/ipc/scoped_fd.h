// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_SCOPED_FD_H_
#define SRC_TRACING_IPC_SCOPED_FD_H_

#include <sys/types.h>

#include <utility>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The identity of an open file, by its device and inode. The library runs in
// programs that close descriptors that they do not know, as daemons do, and
// then open files of their own: those get the same numbers.
//
// The check and the use of a descriptor are two system calls. A thread that
// replaces the descriptor exactly between them is not noticed.
class FileIdentity {
 public:
  FileIdentity() = default;
  explicit FileIdentity(int fd);

  // Returns whether |fd| is this file. If not, errno is EBADF. True if the
  // system cannot tell: a filter of system calls may forbid to ask.
  // Async-signal-safe.
  bool IsAt(int fd) const;

 private:
  // The identity is 0 if there is no file.
  bool is_known_ = true;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Returns |fd|, or in its place a copy above 2 if it is one of the numbers of
// the standard streams: a program that has closed these, as daemons do, still
// prints to them. Returns -1, and sets errno, if |fd| is -1 or there is no
// copy.
int AboveStandardStreams(int fd);

// Owns a file descriptor, and closes it. If the program has closed or replaced
// the descriptor, leaves alone what is there now.
//
// All descriptors of eventfd(), epoll_create(), timerfd_create() and their like
// have one inode. So this cannot tell one of them from another.
class ScopedFd {
 public:
  ScopedFd() = default;
  explicit ScopedFd(int fd) : fd_(AboveStandardStreams(fd)), identity_(fd_) {}
  ScopedFd(ScopedFd&& other) noexcept
      : fd_(other.Release()), identity_(other.identity_) {}
  ScopedFd& operator=(ScopedFd&& other) noexcept {
    const FileIdentity identity = other.identity_;
    const int fd = other.Release();
    Reset();
    fd_ = fd;
    identity_ = identity;
    return *this;
  }
  ~ScopedFd() { Reset(); }

  bool is_valid() const { return fd_ >= 0; }
  // Returns whether the program has closed or replaced the descriptor.
  bool is_lost() const { return is_valid() && !identity_.IsAt(fd_); }
  // Returns the descriptor; -1, and sets errno to EBADF, if it is lost. To be
  // called for each use, because it may be lost at any time.
  int get() const { return is_lost() ? -1 : fd_; }
  // Returns the descriptor without a check, for a poll() whose result is
  // checked.
  int get_unchecked() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  // Keeps errno.
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
  FileIdentity identity_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_SCOPED_FD_H_
