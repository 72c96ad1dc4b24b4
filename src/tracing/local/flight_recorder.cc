// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/local/flight_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include "src/tracing/ipc/client_lock.h"
#include "src/tracing/ipc/data_source_access.h"
#include "src/tracing/ipc/file_size_signal.h"
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

bool WriteAll(const ScopedFd& file, const uint8_t* data, size_t size) {
  while (size != 0) {
    const ssize_t written = write(file.get(), data, size);
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
bool WriteCopy(FlightHeader* header, uint8_t* page, const ScopedFd& file) {
  uint8_t* const start = reinterpret_cast<uint8_t*>(header);
  static_assert(FlightHeader::kSize <= ABI::kMinPageSize);
  CopyBytes(start, FlightHeader::kSize, page);
  auto* const copy = reinterpret_cast<FlightHeader*>(page);
  if (copy->end_realtime_ns.load(std::memory_order_relaxed) == 0)
    SetEndClocks(copy);
  if (!WriteAll(file, page, FlightHeader::kSize))
    return false;
  const ABI abi(start + FlightHeader::kSize,
                size_t{header->page_size} * header->num_pages,
                header->page_size);
  for (size_t i = 0; i < abi.num_pages(); ++i) {
    CopyLivePage(abi, i, page);
    if (!WriteAll(file, page, abi.page_size()))
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
  // The memory stays mapped without the descriptor.
  const ScopedFd descriptor = file->TakeFd();
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
  file_ = FileIdentity(descriptor.get());
  header_ = header;
  {
    const std::lock_guard<std::mutex> lock(ClientLock());
    DataSourceAccess::StartInstance(source_.get(), instance_);
  }
  DataSourceAccess::OnStart(source_.get(), *instance_);
  return true;
}

bool FlightRecorder::OpenEmpty(const char* path, ScopedFd* file) const {
  // To open a device may already do something.
  struct stat status;
  if (lstat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
    errno = EINVAL;
    return false;
  }
  // If a link or a FIFO has come meanwhile, this neither follows nor waits.
  file->Reset(open(
      path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK,
      0666));
  if (!file->is_valid() || fstat(file->get(), &status) != 0)
    return false;
  // If it is the file of a recorder, in this program or another one, threads
  // would write where no memory is anymore.
  if (!S_ISREG(status.st_mode) || file_.IsAt(file->get()) ||
      flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
    errno = EINVAL;
    return false;
  }
  return ftruncate(file->get(), 0) == 0;
}

bool FlightRecorder::Save(const char* path) const {
  ScopedFd file;
  return OpenEmpty(path, &file) && WriteCopy(header_, page_.get(), file);
}

void FlightRecorder::Stop() {
  if (instance_ == nullptr)
    return;
  {
    const std::lock_guard<std::mutex> lock(ClientLock());
    DataSourceAccess::StopInstance(source_.get(), instance_);
  }
  DataSourceAccess::DestroySpareWriters(instance_.get());
  DataSourceAccess::OnStop(source_.get(), *instance_);
  instance_.reset();
  SetEndClocks(header_);
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
  const int error =
      CallWithoutSizeSignal([&] { return Save(path) ? 0 : errno; });
  is_in_snapshot_.store(false, std::memory_order_release);
  errno = error != 0 ? error : before;
  return error == 0;
}

PROTOZERO_ABI_END
}  // namespace protozero
