// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/local/flight_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
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

}  // namespace

std::unique_ptr<SharedMemoryFile> MakeFlightFile(const std::string& path,
                                                 size_t size,
                                                 std::string* error) {
  const size_t page_size = size < kLargeRing ? kSmallPage : kLargePage;
  const size_t num_pages = std::max(size / page_size, kMinPages);
  const size_t file_size = FlightHeader::kSize + num_pages * page_size;
  // Nobody sees a file that is not complete, and the one that is there stays if
  // there is no room for another one.
  const std::string new_path = path + ".new." + std::to_string(getpid());
  // A process that was killed here may have had the same number: the first one
  // of a container always has.
  if (!path.empty())
    unlink(new_path.c_str());
  std::unique_ptr<SharedMemoryFile> file =
      path.empty() ? SharedMemoryFile::Create(file_size, error)
                   : SharedMemoryFile::CreateAt(new_path, file_size, error);
  if (file == nullptr)
    return nullptr;
  FillIn(HeaderOf(*file), page_size, num_pages);
  if (!path.empty() && ((rename(path.c_str(), (path + ".last").c_str()) != 0 &&
                         errno != ENOENT) ||
                        rename(new_path.c_str(), path.c_str()) != 0)) {
    *error = path + ": " + strerror(errno);
    unlink(new_path.c_str());
    return nullptr;
  }
  return file;
}

std::unique_ptr<SharedMemoryFile> MakeFlightHeader(const std::string& path,
                                                   std::string* error) {
  std::unique_ptr<SharedMemoryFile> file =
      SharedMemoryFile::CreateAt(path, FlightHeader::kSize, error);
  if (file != nullptr)
    FillIn(HeaderOf(*file), SharedMemoryABI::kMinPageSize, /*num_pages=*/0);
  return file;
}

PROTOZERO_ABI_END
}  // namespace protozero
