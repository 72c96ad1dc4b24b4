// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/shared_memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "src/tracing/ipc/file_size_signal.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// MADV_POPULATE_WRITE, which older C libraries do not have.
constexpr int kPopulateForWriting = 23;

constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

std::unique_ptr<SharedMemoryFile> SharedMemoryFile::Create(size_t size,
                                                           std::string* error) {
  if (size == 0)
    return nullptr;
  const char* what = "memfd_create";
  std::unique_ptr<SharedMemoryFile> memory;
  ScopedFd fd(memfd_create("protozero", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd.is_valid()) {
    what = "ftruncate";
    if (CallWithoutSizeSignal([&] {
          return ftruncate(fd.get(), static_cast<off_t>(size)) == 0 ? 0 : errno;
        }) == 0) {
      what = "F_ADD_SEALS";
      if (fcntl(fd.get(), F_ADD_SEALS, kSeals) == 0) {
        what = "mmap";
        memory = Map(fd, size);
      }
    }
  }
  if (memory != nullptr) {
    memory->fd_ = std::move(fd);
  } else if (error != nullptr) {
    const int reason = errno;
    *error = std::string(what) + " of " + std::to_string(size) +
             " bytes: " + strerror(reason);
    errno = reason;
  }
  return memory;
}

std::unique_ptr<SharedMemoryFile> SharedMemoryFile::CreateAt(
    int folder,
    const std::string& path,
    size_t size,
    std::string* error) {
  ScopedFd fd(openat(folder, path.c_str(),
                     O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.is_valid()) {
    const int reason = errno;
    *error = path + ": " + strerror(reason);
    errno = reason;
    return nullptr;
  }
  std::unique_ptr<SharedMemoryFile> memory;
  if (CallWithoutSizeSignal([&] {
        return posix_fallocate(fd.get(), 0, static_cast<off_t>(size));
      }) == 0) {
    memory = Map(fd, size);
  }
  if (memory != nullptr) {
    memory->fd_ = std::move(fd);
  } else {
    const int reason = errno;
    unlinkat(folder, path.c_str(), 0);
    *error = path + ": no room for " + std::to_string(size) +
             " bytes: " + strerror(reason);
    errno = reason;
  }
  return memory;
}

std::unique_ptr<SharedMemoryFile> SharedMemoryFile::Attach(ScopedFd fd,
                                                           size_t max_size,
                                                           bool needs_seals) {
  struct stat status;
  if (!fd.is_valid() || fstat(fd.get(), &status) != 0 ||
      !S_ISREG(status.st_mode) || status.st_size <= 0 ||
      static_cast<uint64_t>(status.st_size) > max_size) {
    return nullptr;
  }
  if (needs_seals) {
    const int seals = fcntl(fd.get(), F_GET_SEALS);
    if (seals < 0 || (seals & kSeals) != kSeals)
      return nullptr;
  }
  return Map(fd, static_cast<size_t>(status.st_size));
}

std::unique_ptr<SharedMemoryFile> SharedMemoryFile::Map(const ScopedFd& fd,
                                                        size_t size) {
  void* const start =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (start == MAP_FAILED)
    return nullptr;
  std::unique_ptr<SharedMemoryFile> file(
      new (std::nothrow) SharedMemoryFile(static_cast<uint8_t*>(start), size));
  if (file == nullptr) {
    munmap(start, size);
    errno = ENOMEM;
  }
  return file;
}

SharedMemoryFile::~SharedMemoryFile() {
  munmap(start_, size_);
}

void SharedMemoryFile::Provide(size_t offset, size_t size) const {
  madvise(start_ + offset, std::min(size, size_ - offset), kPopulateForWriting);
}

bool SharedMemoryFile::GiveBack(size_t offset, size_t size) const {
  return madvise(start_ + offset, size, MADV_REMOVE) == 0;
}

void SharedMemoryFile::DetachAfterFork() const {
  mmap(start_, size_, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

PROTOZERO_ABI_END
}  // namespace protozero
