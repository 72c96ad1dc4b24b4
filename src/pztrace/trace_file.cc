// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protozero/proto_decoder.h"
#include "src/pbz/program_io.h"
#include "src/pztrace/program_name.h"

namespace pztrace {

namespace {

// Packets, as records of a trace.
struct Records {
  size_t bytes = 0;
  uint64_t count = 0;
};

// Those that are whole.
Records CountRecords(const uint8_t* data, size_t size) {
  Records records;
  protozero::ProtoDecoder decoder(data, size);
  while (decoder.ReadField()) {
    ++records.count;
    records.bytes = decoder.read_offset();
  }
  return records;
}

// As far as possible; returns how far. If that is not all, errno says why.
size_t WriteFully(int fd, const uint8_t* data, size_t size) {
  size_t written = 0;
  while (written < size) {
    const ssize_t result = write(fd, data + written, size - written);
    if (result > 0) {
      written += static_cast<size_t>(result);
    } else if (result == 0) {
      // No file system should do that; trying again might never end.
      errno = EIO;
      break;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // Another process that shares our standard output has made it
      // non-blocking.
      pollfd waiting{fd, POLLOUT, 0};
      poll(&waiting, 1, -1);
    } else if (errno != EINTR) {
      break;
    }
  }
  return written;
}

}  // namespace

TraceFile::~TraceFile() {
  if (fd_ > STDERR_FILENO)
    close(fd_);
}

bool TraceFile::Open(const std::string& path) {
  if (path == "-") {
    name_ = "<stdout>";
    fd_ = STDOUT_FILENO;
  } else {
    name_ = path;
    fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  struct stat status;
  if (fd_ < 0 || fstat(fd_, &status) != 0) {
    Fail(strerror(errno));
    return false;
  }
  has_name_ = status.st_nlink != 0;
  return true;
}

bool TraceFile::Write(const uint8_t* data, size_t size) {
  const Records all = CountRecords(data, size);
  Records written;
  if (!is_broken_) {
    const size_t written_size = WriteFully(fd_, data, size);
    written = written_size == size ? all : CountRecords(data, written_size);
    bytes_ += written.bytes;
    packets_ += written.count;
    if (written_size != size) {
      Fail(strerror(errno));
      const size_t excess = written_size - written.bytes;
      if (excess != 0 && !Cut(excess)) {
        bytes_ += excess;
        pbz::PrintError(kProgram, "%s: ends in the middle of a packet",
                        name_.c_str());
      }
    } else if (IsRemoved()) {
      FailAsRemoved();
    }
  }
  packets_lost_ += all.count - written.count;
  bytes_lost_ += size - written.bytes;
  return !is_broken_;
}

bool TraceFile::Close() {
  if (!is_broken_ && IsRemoved())
    FailAsRemoved();
  // Some file systems say only now that there is no room.
  if (fd_ > STDERR_FILENO && close(fd_) != 0 && !is_broken_)
    Fail(strerror(errno));
  fd_ = -1;
  if (packets_lost_ != 0) {
    pbz::PrintError(kProgram,
                    "%s: the last %" PRIu64 " packets, %" PRIu64
                    " bytes, are not in the file",
                    name_.c_str(), packets_lost(), bytes_lost_);
  }
  return !is_broken_;
}

bool TraceFile::is_standard_output() const {
  if (fd_ == STDOUT_FILENO)
    return true;
  struct stat file;
  struct stat output;
  // Terminals and the like may be shared.
  return fstat(fd_, &file) == 0 && fstat(STDOUT_FILENO, &output) == 0 &&
         !S_ISCHR(file.st_mode) && file.st_dev == output.st_dev &&
         file.st_ino == output.st_ino;
}

void TraceFile::Fail(const char* reason) {
  pbz::PrintError(kProgram, "%s: %s", name_.c_str(), reason);
  is_broken_ = true;
}

bool TraceFile::Cut(size_t excess) {
  struct stat status;
  if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode))
    return false;
  // The file may have been given to us, and then our part need not be the last.
  const off_t end = lseek(fd_, 0, SEEK_CUR);
  const off_t new_end = end - static_cast<off_t>(excess);
  return end == status.st_size && ftruncate(fd_, new_end) == 0 &&
         lseek(fd_, new_end, SEEK_SET) == new_end;
}

bool TraceFile::IsRemoved() const {
  struct stat status;
  return has_name_ && fstat(fd_, &status) == 0 && status.st_nlink == 0;
}

void TraceFile::FailAsRemoved() {
  Fail("the file has been removed");
  packets_lost_ += packets_.exchange(0);
  bytes_lost_ += bytes_.exchange(0);
}

}  // namespace pztrace
