// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/local/flight_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include "src/tracing/ipc/client_lock.h"
#include "src/tracing/ipc/data_source_access.h"
#include "src/tracing/ipc/producer_fork.h"
#include "src/tracing/local/flight_copy.h"
#include "src/tracing/local/flight_file.h"
#include "src/tracing/shared_memory/chunk_reader.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

using ABI = SharedMemoryABI;
using internal::ClientLock;
using internal::DataSourceAccess;
using internal::ProducerIpcClient;

namespace {

bool WriteAll(int fd, const uint8_t* data, size_t size) {
  while (size != 0) {
    const ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// Copies a recording whose writers go on. |page| has room for a page, and so
// for the header: the stack of a signal handler may be small.
bool WriteCopy(FlightHeader* header, uint8_t* page, int fd) {
  uint8_t* const start = reinterpret_cast<uint8_t*>(header);
  static_assert(FlightHeader::kSize <= ABI::kMinPageSize);
  CopyBytes(start, FlightHeader::kSize, page);
  if (!WriteAll(fd, page, FlightHeader::kSize))
    return false;
  const ABI abi(start + FlightHeader::kSize,
                size_t{header->page_size} * header->num_pages,
                header->page_size);
  for (size_t i = 0; i < abi.num_pages(); ++i) {
    CopyLivePage(abi, i, page);
    if (!WriteAll(fd, page, abi.page_size()))
      return false;
  }
  return true;
}

}  // namespace

bool FlightRecorder::Start(const std::string& path,
                           size_t size,
                           std::shared_ptr<DataSource> source,
                           DataSourceConfig config,
                           std::string* error) {
  {
    const std::lock_guard<std::mutex> lock(ClientLock());
    if (!internal::HandleForks()) {
      *error = "out of memory";
      return false;
    }
  }
  std::unique_ptr<SharedMemoryFile> file = MakeFlightFile(path, size, error);
  if (file == nullptr)
    return false;
  FlightHeader* const header = HeaderOf(*file);
  struct stat status = {};
  fstat(file->fd(), &status);
  const auto connection =
      std::make_shared<ProducerIpcClient>(ScopedFd(), nullptr);
  connection->SetupRing(std::move(file), source);
  const auto instance = std::make_shared<DataSourceInstance>(
      DataSourceInstanceID{1}, std::move(config), connection);
  DataSourceAccess::OnSetup(source.get(), *instance);
  if (DataSourceAccess::IsRefused(*instance)) {
    *error = "this program records too many sessions already";
    DataSourceAccess::OnStop(source.get(), *instance);
    return false;
  }
  page_.reset(new uint8_t[header->page_size]);
  source_ = std::move(source);
  connection_ = connection;
  instance_ = instance;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  header_ = header;
  {
    const std::lock_guard<std::mutex> lock(ClientLock());
    DataSourceAccess::StartInstance(source_.get(), instance_);
  }
  DataSourceAccess::OnStart(source_.get(), *instance_);
  return true;
}

bool FlightRecorder::Empty(int fd) const {
  struct stat status;
  if (fstat(fd, &status) != 0)
    return false;
  if (status.st_dev == device_ && status.st_ino == inode_) {
    errno = EINVAL;
    return false;
  }
  // A pipe, or a device, has no size.
  return !S_ISREG(status.st_mode) || ftruncate(fd, 0) == 0;
}

void FlightRecorder::Stop() {
  if (instance_ == nullptr)
    return;
  {
    const std::lock_guard<std::mutex> lock(ClientLock());
    DataSourceAccess::StopInstance(source_.get(), instance_);
  }
  DataSourceAccess::OnStop(source_.get(), *instance_);
  instance_.reset();
}

bool FlightRecorder::Snapshot(const char* path) const {
  if (!has_started()) {
    errno = EINVAL;
    return false;
  }
  if (is_in_snapshot_.exchange(true, std::memory_order_acquire)) {
    errno = EBUSY;
    return false;
  }
  const int before = errno;
  const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  const bool ok = fd >= 0 && Empty(fd) && WriteCopy(header_, page_.get(), fd);
  const int error = ok ? before : errno;
  if (fd >= 0)
    close(fd);
  is_in_snapshot_.store(false, std::memory_order_release);
  errno = error;
  return ok;
}

PROTOZERO_ABI_END
}  // namespace protozero
