// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/local/trace_output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

TraceOutput::~TraceOutput() {
  Unlock();
  if (is_opened_ && IsOwn())
    close(fd_);
}

bool TraceOutput::Open(const std::string& path) {
  // This does not wait for the reader of a FIFO.
  fd_ = AboveStandardStreams(
      open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
           0666));
  struct stat status;
  if (fd_ < 0 || fstat(fd_, &status) != 0)
    return false;
  is_opened_ = true;
  identity_ = FileIdentity(fd_);
  if (S_ISREG(status.st_mode)) {
    // Recordings that go on have locked theirs. Some file systems have no
    // locks.
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      is_opened_ = false;
      close(fd_);
      errno = EBUSY;
      return false;
    }
    if (ftruncate(fd_, 0) != 0)
      return false;
    position_ = 0;
  }
  // A pipe may be full for a while.
  return fcntl(fd_, F_SETFL, O_WRONLY) == 0;
}

void TraceOutput::Unlock() {
  // A child process may have the file open, too.
  if (is_opened_ && IsOwn())
    flock(fd_, LOCK_UN);
}

void TraceOutput::Use(int fd) {
  fd_ = fd;
  identity_ = FileIdentity(fd);
}

bool TraceOutput::IsOwn() const {
  if (!identity_.IsAt(fd_))
    return false;
  // The program may have opened the same file, or a new one that has got the
  // inode of a removed one. Then its position is another one.
  if (position_ >= 0 && lseek(fd_, 0, SEEK_CUR) != position_) {
    errno = EBADF;
    return false;
  }
  return true;
}

bool TraceOutput::Write(const uint8_t* data, size_t size) {
  while (size != 0) {
    if (!IsOwn())
      return false;
    const ssize_t written = write(fd_, data, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    data += written;
    size -= static_cast<size_t>(written);
    if (position_ >= 0)
      position_ += written;
  }
  return true;
}

PROTOZERO_ABI_END
}  // namespace protozero
