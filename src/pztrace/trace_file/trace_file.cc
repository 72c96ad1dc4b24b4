// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "protozero/proto_decoder.h"
#include "protozero/proto_utils.h"
#include "protozero/tracing/trace.h"
#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/trace_file/completeness.h"
#include "src/pztrace/trace_file/output_file.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace pztrace {

namespace {

// The longest wait for a reader, before others have their turn.
constexpr int kWaitMs = 5;
// The limit of one write to a regular file: a signal may end the work after it.
constexpr size_t kMaxWrite = 1 << 18;

// Opens |fd|, a pipe or a terminal that others may share, once more. So it can
// be made non-blocking without a change for the others. Returns -1 if it cannot
// be opened.
int OpenOnce(int fd, mode_t mode) {
  // The controlling side of a terminal would open another terminal.
  unsigned number = 0;
  if (!S_ISFIFO(mode) && (!isatty(fd) || ioctl(fd, TIOCGPTN, &number) == 0))
    return -1;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// Returns the path without links, or an empty one if there is no such file.
std::string RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> real(
      realpath(path.c_str(), nullptr), &free);
  return real != nullptr ? real.get() : "";
}

bool IsFifo(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

}  // namespace

TraceFile::~TraceFile() {
  if (!unused_path_.empty())
    unlink(unused_path_.c_str());
  if (fd_ > STDERR_FILENO)
    close(fd_);
}

bool TraceFile::Open(const std::string& path) {
  is_standard_ = path == "-";
  is_own_ = !is_standard_;
  name_ = is_standard_ ? "<stdout>" : path;
  struct stat status;
  const bool is_new = !is_standard_ && stat(path.c_str(), &status) != 0;
  std::string error;
  if (is_standard_) {
    fd_ = STDOUT_FILENO;
    error = OutputProblem({}, path);
    LockStandardOutput();
  } else {
    fd_ = OpenOutput(path, O_NONBLOCK, &error);
    if (fd_ < 0 && errno == ENXIO && IsFifo(path))
      return true;
  }
  if (error.empty() && fstat(fd_, &status) != 0)
    error = strerror(errno);
  if (!error.empty()) {
    Fail(error.c_str());
    return false;
  }
  if (is_new)
    unused_path_ = RealPath(path);
  mode_ = status.st_mode;
  has_name_ = status.st_nlink != 0;
  const int own_fd = is_standard_ ? OpenOnce(fd_, mode_) : -1;
  if (own_fd >= 0) {
    fd_ = own_fd;
    is_own_ = true;
  }
  return true;
}

bool TraceFile::Begin() {
  unused_path_.clear();
  if (is_standard_ || fd_ < 0 || EmptyOutput(fd_))
    return true;
  Fail(strerror(errno));
  return false;
}

bool TraceFile::OpenFifo() {
  if (fd_ < 0) {
    fd_ = open(name_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    mode_ = S_IFIFO;
  }
  return fd_ >= 0;
}

ssize_t TraceFile::WriteSome(const uint8_t* data, size_t size) {
  if (!OpenFifo()) {
    // A FIFO without a reader is tried again later.
    if (errno == ENXIO)
      errno = EAGAIN;
    return -1;
  }
  if (S_ISSOCK(mode_))
    return send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (is_own_ || S_ISREG(mode_))
    return write(fd_, data, std::min(size, kMaxWrite));
  // An output that is writable has room for this much.
  pollfd output{fd_, POLLOUT, 0};
  if (poll(&output, 1, 0) > 0)
    return write(fd_, data, std::min<size_t>(size, PIPE_BUF));
  errno = EAGAIN;
  return -1;
}

size_t TraceFile::Put(const uint8_t* data, size_t size) {
  size_t written = begun_;
  while (written < size) {
    const ssize_t result = WriteSome(data + written, size - written);
    if (result > 0) {
      written += static_cast<size_t>(result);
      continue;
    }
    // A write of nothing should not happen; to try again might never end.
    if (result == 0)
      errno = EIO;
    // After a signal, the caller decides: its sender may want this to end.
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
      Fail(strerror(errno));
    break;
  }
  const Records whole = Count(data, written);
  begun_ = written - whole.bytes;
  bytes_ += whole.bytes;
  packets_ += whole.packets;
  if (is_broken_)
    EndBehindPacket();
  else if (IsRemoved())
    FailAsRemoved();
  return whole.bytes;
}

TraceFile::Records TraceFile::Count(const uint8_t* data, size_t size) {
  constexpr uint8_t kPacketTag =
      static_cast<uint8_t>(protozero::proto_utils::MakeTagLengthDelimited(
          protozero::trace::Trace::kPacketFieldNumber));
  constexpr size_t kMaxShortRecord = 2 + 0x7f;
  const uint8_t* const end = data + size;
  const uint8_t* pos = data;
  Records records;
  for (;;) {
    // Most records are short packets.
    if (packets_of_records_.empty() && size >= kMaxShortRecord) {
      const uint8_t* const last = end - kMaxShortRecord;
      for (; pos <= last && pos[0] == kPacketTag && pos[1] < 0x80;
           pos += 2 + pos[1]) {
        ++records.packets;
      }
    }
    protozero::ProtoDecoder decoder(pos, static_cast<size_t>(end - pos));
    if (!decoder.ReadField())
      break;
    pos += decoder.read_offset();
    if (packets_of_records_.empty()) {
      ++records.packets;
    } else {
      records.packets += packets_of_records_.front();
      packets_of_records_.pop_front();
    }
  }
  records.bytes = static_cast<size_t>(pos - data);
  return records;
}

bool TraceFile::Write(const uint8_t* data, size_t size) {
  if (!compressor_.is_on() || is_broken_)
    return WriteRecords(data, size);
  compressor_.Add(data, size);
  return compressor_.is_full() ? Flush() : true;
}

bool TraceFile::Flush() {
  if (compressor_.is_empty())
    return !is_broken_;
  const std::string records = compressor_.Take(&packets_of_records_);
  return WriteRecords(reinterpret_cast<const uint8_t*>(records.data()),
                      records.size());
}

bool TraceFile::WriteRecords(const uint8_t* data, size_t size) {
  size_t done = 0;
  if (!is_broken_ && !has_kept())
    done = Put(data, size);
  if (is_broken_)
    Lose(data + done, size - done);
  else if (done != size)
    Keep(data + done, size - done);
  return !is_broken_;
}

bool TraceFile::WriteKept() {
  if (!is_broken_ && has_kept())
    kept_begin_ += Put(&kept_[kept_begin_], kept_.size() - kept_begin_);
  if (is_broken_ && has_kept())
    Lose(&kept_[kept_begin_], kept_.size() - kept_begin_);
  if (is_broken_ || !has_kept()) {
    kept_.clear();
    kept_begin_ = 0;
  }
  return !is_broken_;
}

void TraceFile::WaitForReader() const {
  pollfd output{fd_, POLLOUT, 0};
  poll(&output, fd_ < 0 ? 0 : 1, kWaitMs);
}

void TraceFile::GiveUp() {
  Flush();
  if (is_broken_)
    return;
  Fail(fd_ < 0          ? "nobody has opened it to read"
       : S_ISREG(mode_) ? "interrupted before everything was written"
                        : "interrupted, and nobody reads the rest");
  EndBehindPacket();
  WriteKept();
}

void TraceFile::Keep(const uint8_t* data, size_t size) {
  const bool has_memory = protozero::RunsInMemory([&] {
    kept_.erase(kept_.begin(),
                kept_.begin() + static_cast<ptrdiff_t>(kept_begin_));
    kept_begin_ = 0;
    kept_.insert(kept_.end(), data, data + size);
  });
  if (has_memory)
    return;
  Fail("out of memory");
  EndBehindPacket();
  Lose(data, size);
  WriteKept();
}

void TraceFile::Lose(const uint8_t* data, size_t size) {
  packets_lost_ += Count(data, size).packets;
  bytes_lost_ += size;
}

void TraceFile::EndBehindPacket() {
  const size_t excess = std::exchange(begun_, 0);
  if (excess == 0 || Cut(excess))
    return;
  bytes_ += excess;
  program::PrintError(kProgram, "%s: ends in the middle of a packet",
                      name_.c_str());
}

bool TraceFile::Close() {
  if (!is_broken_ && IsRemoved())
    FailAsRemoved();
  // Some file systems report only now that there is no room.
  if (fd_ > STDERR_FILENO && close(fd_) != 0 && !is_broken_)
    Fail(strerror(errno));
  fd_ = -1;
  if (packets_lost_ != 0) {
    program::PrintError(kProgram, "%s: the last %s, %s, %s not in the file",
                        name_.c_str(),
                        CountOf(packets_lost(), "packet").c_str(),
                        CountOf(bytes_lost_, "byte").c_str(),
                        packets_lost() == 1 ? "is" : "are");
  }
  return !is_broken_;
}

bool TraceFile::is_standard_output() const {
  if (is_standard_)
    return true;
  struct stat file;
  struct stat output;
  // A terminal or another device may be shared.
  return fstat(fd_, &file) == 0 && fstat(STDOUT_FILENO, &output) == 0 &&
         !S_ISCHR(file.st_mode) && file.st_dev == output.st_dev &&
         file.st_ino == output.st_ino;
}

void TraceFile::Fail(const char* reason) {
  program::PrintError(kProgram, "%s: %s", name_.c_str(), reason);
  is_broken_ = true;
}

bool TraceFile::Cut(size_t excess) {
  struct stat status;
  if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode))
    return false;
  // The file may have been opened by others, and our part need not be the last
  // one.
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
