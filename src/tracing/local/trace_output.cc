// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/local/trace_output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protozero/decode_status.h"
#include "protozero/proto_decoder.h"

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
  size_t written = 0;
  while (written != size) {
    if (!IsOwn())
      return false;
    const ssize_t result = write(fd_, data + written, size - written);
    if (result < 0 && errno == EINTR)
      continue;
    if (result <= 0) {
      RemovePartOfPacket(data, written);
      return false;
    }
    written += static_cast<size_t>(result);
    if (position_ >= 0)
      position_ += result;
  }
  return true;
}

void TraceOutput::RemovePartOfPacket(const uint8_t* data, size_t size) {
  if (position_ < 0)
    return;
  const int reason = errno;
  ProtoDecoder decoder(data, size);
  while (decoder.ReadField()) {
  }
  if (decoder.status() != DecodeStatus::kOk) {
    const off_t end =
        position_ - static_cast<off_t>(size - decoder.error_offset());
    if (ftruncate(fd_, end) == 0)
      position_ = lseek(fd_, end, SEEK_SET);
  }
  errno = reason;
}

PROTOZERO_ABI_END
}  // namespace protozero
