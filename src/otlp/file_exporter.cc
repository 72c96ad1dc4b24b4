// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/file_exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/otlp/json_lines.h"
#include "src/otlp/pipeline_state.h"
#include "src/otlp/wire.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

namespace {

// In place of a descriptor: no file, or one whose last message is not whole.
constexpr int kNoFile = -1;
constexpr int kCutFile = -2;

}  // namespace

FileExporter::FileExporter(const std::string& spans_path,
                           const std::string& logs_path,
                           FileFormat format)
    : format_(format), files_{Open(spans_path), Open(logs_path)} {}

FileExporter::~FileExporter() {
  for (const int file : files_) {
    if (file >= 0)
      close(file);
  }
}

int FileExporter::Open(const std::string& path) {
  if (path.empty())
    return kNoFile;
  // A pipe waits in poll(), which has an end.
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK,
           0666);
  if (file < 0 && error_.empty()) {
    error_ = path + ": " +
             (errno == ENXIO ? "no program reads it" : strerror(errno));
  }
  return file;
}

void FileExporter::Interrupt() {
  is_interrupted_.store(true);
}

ExportResult FileExporter::Failed(const char* what, int error) {
  reason_ = what;
  if (error != 0)
    reason_ += std::string(": ") + strerror(error);
  return ExportResult::Dropped(reason_.c_str());
}

ExportResult FileExporter::Export(const Batch& batch) {
  int* const file = &files_[static_cast<int>(batch.signal)];
  if (*file == kCutFile)
    return Failed("a message in the file is not whole, so no other follows", 0);
  if (*file < 0) {
    return error_.empty()
               ? Failed(batch.signal == Signal::kLogs ? "no file for logs"
                                                      : "no file for spans",
                        0)
               : Failed(error_.c_str(), 0);
  }
  buffer_.clear();
  if (format_ == FileFormat::kJsonLines) {
    internal::AppendJsonLine(batch, &buffer_);
  } else if (format_ == FileFormat::kDelimited) {
    uint8_t size[internal::kMaxHeader + internal::kSlack];
    buffer_.append(size, internal::PutVarInt(size, batch.size));
  } else {
    for (int shift = 24; shift >= 0; shift -= 8)
      buffer_ += static_cast<char>(batch.size >> shift);
  }
  if (format_ != FileFormat::kJsonLines)
    buffer_.append(reinterpret_cast<const char*>(batch.data), batch.size);
  if (!Write(file, batch.deadline))
    return Failed("the file cannot be written", errno);
  return ExportResult::Exported(batch);
}

bool FileExporter::WaitForRoom(int file, uint64_t deadline) const {
  constexpr int kStepMs = 50;
  pollfd room{file, POLLOUT, 0};
  while (!is_interrupted_.load() &&
         internal::ReadClock(CLOCK_MONOTONIC) < deadline) {
    const int result = poll(&room, 1, kStepMs);
    if (result != 0)
      return result > 0 || errno == EINTR;
  }
  errno = ETIMEDOUT;
  return false;
}

bool FileExporter::Write(int* descriptor, uint64_t deadline) {
  const int file = *descriptor;
  const char* const data = buffer_.data();
  const size_t size = buffer_.size();
  size_t written = 0;
  while (written != size) {
    const ssize_t result = write(file, data + written, size - written);
    if (result >= 0) {
      written += static_cast<size_t>(result);
      continue;
    }
    if (errno == EINTR || (errno == EAGAIN && WaitForRoom(file, deadline)))
      continue;
    // A part of a message would hide all that comes later. If another program
    // has appended since, its part stays.
    const int error = errno;
    struct stat status;
    const off_t end = lseek(file, 0, SEEK_CUR);
    const bool is_taken_back =
        written == 0 ||
        (fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_size != end ||
          ftruncate(file, end - static_cast<off_t>(written)) == 0));
    if (!is_taken_back) {
      close(file);
      *descriptor = kCutFile;
    }
    errno = error;
    return false;
  }
  return true;
}

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
