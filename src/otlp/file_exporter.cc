// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/otlp/file_exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/otlp/json_lines.h"
#include "src/otlp/wire.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

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
    return -1;
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 && error_.empty())
    error_ = path + ": " + strerror(errno);
  return file;
}

ExportResult FileExporter::Failed(const char* what, int error) {
  reason_ = what;
  if (error != 0)
    reason_ += std::string(": ") + strerror(error);
  return ExportResult::Dropped(reason_.c_str());
}

ExportResult FileExporter::Export(const Batch& batch) {
  const int file = files_[static_cast<int>(batch.signal)];
  if (file < 0) {
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
  if (!Write(file, buffer_.data(), buffer_.size()))
    return Failed("the file cannot be written", errno);
  return ExportResult::Exported(batch);
}

bool FileExporter::Write(int file, const char* data, size_t size) {
  size_t written = 0;
  while (written != size) {
    const ssize_t result = write(file, data + written, size - written);
    if (result >= 0) {
      written += static_cast<size_t>(result);
      continue;
    }
    if (errno == EINTR)
      continue;
    // A part of a message would hide all that comes later. If another program
    // has appended since, its part stays.
    const int error = errno;
    struct stat status;
    const off_t end = lseek(file, 0, SEEK_CUR);
    if (written != 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size == end &&
        ftruncate(file, end - static_cast<off_t>(written)) != 0) {
      error_ = "a message in the file is not whole";
    }
    errno = error;
    return false;
  }
  return true;
}

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
