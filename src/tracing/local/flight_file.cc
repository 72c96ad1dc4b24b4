// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/local/flight_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// A thread keeps at least one page. So a small ring has small pages. In a large
// one, a page has more packets for each description of its thread.
constexpr size_t kLargeRing = 4 << 20;
constexpr size_t kSmallPage = 4 * 1024;
constexpr size_t kLargePage = 16 * 1024;
constexpr size_t kMinPages = 16;

uint64_t ReadClock(clockid_t id) {
  timespec time{};
  clock_gettime(id, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
         static_cast<uint64_t>(time.tv_nsec);
}

void FillIn(FlightHeader* header, size_t page_size, size_t num_pages) {
  new (header) FlightHeader();
  header->byte_order = FlightHeader::kByteOrder;
  header->version = FlightHeader::kVersion;
  header->header_size = FlightHeader::kSize;
  header->page_size = static_cast<uint32_t>(page_size);
  header->num_pages = static_cast<uint32_t>(num_pages);
  header->pid = getpid();
  header->uid = getuid();
  header->realtime_ns = ReadClock(CLOCK_REALTIME);
  header->monotonic_ns = ReadClock(CLOCK_MONOTONIC);
#ifdef CLOCK_BOOTTIME
  header->boottime_ns = ReadClock(CLOCK_BOOTTIME);
#endif
  memcpy(header->magic, FlightHeader::kMagic, sizeof(header->magic));
}

// The pages of a ring of about |size| bytes.
struct RingPages {
  explicit RingPages(size_t size)
      : page_size(size < kLargeRing ? kSmallPage : kLargePage),
        num_pages(std::max(size / page_size, kMinPages)) {}

  size_t file_size() const {
    return FlightHeader::kSize + page_size * num_pages;
  }

  const size_t page_size;
  const size_t num_pages;
};

// Removes a file that a process of this user has left.
void RemoveOwnFile(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_uid == geteuid()) {
    unlink(path.c_str());
  }
}

// Makes way for a new file. Returns false, and sets errno, on failure.
bool KeepLastFile(const std::string& path) {
  struct stat status;
  int reason = EISDIR;
  if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    for (int i = 0; i < kMaxLastFlightNames; ++i) {
      if (rename(path.c_str(), LastFlightName(path, i).c_str()) == 0 ||
          errno == ENOENT) {
        return true;
      }
      if (i == 0)
        reason = errno;
    }
  }
  errno = reason;
  return false;
}

}  // namespace

std::string NewFlightName(const std::string& path, int attempt) {
  std::string name = path + ".new." + std::to_string(getpid());
  return attempt == 0 ? name
                      : name + "." + std::to_string(ReadClock(CLOCK_REALTIME));
}

std::string LastFlightName(const std::string& path, int attempt) {
  return path + (attempt == 0 ? ".last" : ".last." + std::to_string(attempt));
}

std::unique_ptr<SharedMemoryFile> MakeFlightFileIn(int folder,
                                                   const std::string& name,
                                                   size_t size,
                                                   std::string* error) {
  const RingPages pages(size);
  std::unique_ptr<SharedMemoryFile> file =
      SharedMemoryFile::CreateAt(folder, name, pages.file_size(), error);
  if (file != nullptr) {
    // Lasts as long as the memory is mapped, also without the descriptor.
    flock(file->fd(), LOCK_EX | LOCK_NB);
    FillIn(HeaderOf(*file), pages.page_size, pages.num_pages);
  }
  return file;
}

std::unique_ptr<SharedMemoryFile> MakeFlightFile(const std::string& path,
                                                 size_t size,
                                                 std::string* error) {
  if (path.empty()) {
    const RingPages pages(size);
    std::unique_ptr<SharedMemoryFile> memory =
        SharedMemoryFile::Create(pages.file_size(), error);
    if (memory != nullptr)
      FillIn(HeaderOf(*memory), pages.page_size, pages.num_pages);
    return memory;
  }
  struct stat status;
  if (lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) &&
      !S_ISLNK(status.st_mode) && !S_ISDIR(status.st_mode)) {
    *error = path + ": not a regular file";
    return nullptr;
  }
  // An incomplete file is never visible, and the one that is there stays if
  // there is no room for another one.
  std::string new_path;
  std::unique_ptr<SharedMemoryFile> file;
  errno = EEXIST;
  for (int i = 0; i < kMaxNewFlightNames && file == nullptr && errno == EEXIST;
       ++i) {
    new_path = NewFlightName(path, i);
    // A process that was killed here may have had the same number: the first
    // one of a container always has.
    RemoveOwnFile(new_path);
    file = MakeFlightFileIn(AT_FDCWD, new_path, size, error);
  }
  if (file != nullptr &&
      !(KeepLastFile(path) && rename(new_path.c_str(), path.c_str()) == 0)) {
    *error = path + ": " + strerror(errno);
    unlink(new_path.c_str());
    file.reset();
  }
  return file;
}

std::unique_ptr<SharedMemoryFile> MakeFlightHeader(int folder,
                                                   const std::string& name,
                                                   std::string* error) {
  std::unique_ptr<SharedMemoryFile> file =
      SharedMemoryFile::CreateAt(folder, name, FlightHeader::kSize, error);
  if (file != nullptr)
    FillIn(HeaderOf(*file), SharedMemoryABI::kMinPageSize, /*num_pages=*/0);
  return file;
}

void SetEndClocks(FlightHeader* header) {
  header->end_monotonic_ns.store(ReadClock(CLOCK_MONOTONIC),
                                 std::memory_order_relaxed);
#ifdef CLOCK_BOOTTIME
  header->end_boottime_ns.store(ReadClock(CLOCK_BOOTTIME),
                                std::memory_order_relaxed);
#endif
  header->end_realtime_ns.store(ReadClock(CLOCK_REALTIME),
                                std::memory_order_relaxed);
}

PROTOZERO_ABI_END
}  // namespace protozero
