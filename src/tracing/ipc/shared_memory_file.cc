// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/shared_memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace protozero {

namespace {

constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

std::unique_ptr<SharedMemoryFile> SharedMemoryFile::Create(size_t size) {
  ScopedFd fd(memfd_create("protozero", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.is_valid() || size == 0 ||
      ftruncate(fd.get(), static_cast<off_t>(size)) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return nullptr;
  }
  return Map(std::move(fd), size);
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
  return Map(std::move(fd), static_cast<size_t>(status.st_size));
}

std::unique_ptr<SharedMemoryFile> SharedMemoryFile::Map(ScopedFd fd,
                                                        size_t size) {
  void* const start =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (start == MAP_FAILED)
    return nullptr;
  return std::unique_ptr<SharedMemoryFile>(
      new SharedMemoryFile(std::move(fd), static_cast<uint8_t*>(start), size));
}

SharedMemoryFile::~SharedMemoryFile() {
  munmap(start_, size_);
}

void SharedMemoryFile::DetachAfterFork() const {
  mmap(start_, size_, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

}  // namespace protozero
