// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/scoped_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/tracing/shared_memory/no_cancellation.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

FileIdentity::FileIdentity(int fd) {
  const int error = errno;
  struct stat status;
  if (fstat(fd, &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  } else {
    is_known_ = errno == EBADF;
  }
  errno = error;
}

bool FileIdentity::IsAt(int fd) const {
  const int error = errno;
  struct stat status;
  const bool is_same =
      !is_known_ || (fstat(fd, &status) == 0
                         ? status.st_dev == device_ && status.st_ino == inode_
                         : errno != EBADF);
  errno = is_same ? error : EBADF;
  return is_same;
}

int AboveStandardStreams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO)
    return fd;
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(fd);
  errno = error;
  return copy;
}

void ScopedFd::Reset(int fd) {
  const int error = errno;
  if (is_valid() && !is_lost()) {
    const NoCancellation no_cancellation;
    close(fd_);
  }
  errno = error;
  fd_ = AboveStandardStreams(fd);
  identity_ = FileIdentity(fd_);
}

PROTOZERO_ABI_END
}  // namespace protozero
