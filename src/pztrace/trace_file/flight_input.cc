// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/flight_input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/local/flight_copy.h"
#include "src/tracing/local/flight_folder.h"
#include "src/tracing/service/service_packets.h"
#include "src/tracing/shared_memory/out_of_memory.h"

namespace pztrace {

using protozero::FlightFolder;
using protozero::FlightHeader;
using protozero::FlightReader;
using protozero::ScopedFd;

namespace {

// Others may have put a link, or a pipe that waits for a writer, in a folder.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

constexpr char kNoRecording[] = "no file of a flight recorder";

bool ReadAt(int fd, uint64_t offset, size_t size, void* data) {
  uint8_t* pos = static_cast<uint8_t*>(data);
  while (size != 0) {
    const ssize_t done = pread(fd, pos, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR)
      continue;
    if (done == 0)
      errno = 0;
    if (done <= 0)
      return false;
    pos += done;
    offset += static_cast<uint64_t>(done);
    size -= static_cast<size_t>(done);
  }
  return true;
}

// Returns whether a process records to the file: it has a lock then.
bool IsInUse(int fd) {
  if (flock(fd, LOCK_SH | LOCK_NB) != 0)
    return errno == EWOULDBLOCK;
  flock(fd, LOCK_UN);
  return false;
}

}  // namespace

bool FlightInput::Open(const std::string& path) {
  const char* const name = program::DisplayName(path);
  ScopedFd file(path == "-"
                    ? dup(STDIN_FILENO)
                    : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  std::string error;
  if (file.is_valid() && fstat(file.get(), &status) == 0 &&
      S_ISDIR(status.st_mode)) {
    folder_ = path;
    file.Reset(openat(file.get(), FlightFolder::kRecorderName, kOpenFlags));
  }
  if (!file.is_valid() || fstat(file.get(), &status) != 0) {
    error = folder_.empty() ? strerror(errno) : kNoRecording;
  } else if (!S_ISREG(status.st_mode)) {
    error = kNoRecording;
  } else if (ReadFile(std::move(file), static_cast<uint64_t>(status.st_size),
                      &error)) {
    return true;
  }
  program::PrintError(kProgram, "%s: %s", name, error.c_str());
  return false;
}

bool FlightInput::LacksPrograms() const {
  if (folder_.empty())
    return false;
  for (const std::string& name : protozero::FindFlightFiles(folder_)) {
    const ScopedFd fd(open((folder_ + "/" + name).c_str(), kOpenFlags));
    alignas(FlightHeader) uint8_t header[FlightHeader::kSize];
    std::string error;
    if (fd.is_valid() && ReadAt(fd.get(), 0, sizeof(header), header) &&
        FlightReader::SizeOf(header, &error) != 0)
      return false;
  }
  return true;
}

bool FlightInput::ReadFile(ScopedFd fd, uint64_t size, std::string* error) {
  goes_on_ = IsInUse(fd.get());
  uint8_t begin[16] = {};
  ReadAt(fd.get(), 0, std::min<uint64_t>(size, sizeof(begin)), begin);
  if (folder_.empty() && CoreDump::IsOne({begin, sizeof(begin)}))
    return ReadCore(std::move(fd), size, error);
  return Read(fd.get(), 0, size, /*wanted_size=*/0, &file_, error);
}

bool FlightInput::WriteTrace(const FlightReader::Write& write, bool goes_on) {
  // After the service's own sequence.
  last_sequence_id_ = protozero::service::kServiceSequenceID;
  FlightReader& reader = file_.reader;
  if (!reader.WriteBegin(write) ||
      !(core_ != nullptr ? WriteCore(write)
        : folder_.empty()
            ? WriteProgram(&reader, reader.uid(), reader.pid(), write)
            : WriteFolder(write))) {
    return false;
  }
  return reader.WriteEnd(Stats(), goes_on || goes_on_, write);
}

protozero::TraceStats FlightInput::Stats() const {
  protozero::TraceStats stats;
  for (const Program& program : programs_)
    stats.buffers.push_back(program.stats);
  if (num_unreadable_ != 0) {
    stats.buffers.emplace_back();
    stats.buffers.back().unknown_losses = num_unreadable_;
  }
  stats.producers_seen = static_cast<uint32_t>(programs_.size());
  stats.tracing_sessions = 1;
  return stats;
}

bool FlightInput::WriteProgram(FlightReader* reader,
                               uint32_t uid,
                               int32_t pid,
                               const FlightReader::Write& write) {
  if (!reader->WritePackets(uid, pid, &last_sequence_id_, write))
    return false;
  programs_.push_back({pid, reader->stats()});
  return true;
}

bool FlightInput::WriteFolder(const FlightReader::Write& write) {
  for (const std::string& name : protozero::FindFlightFiles(folder_)) {
    const std::string path = folder_ + "/" + name;
    uint32_t uid;
    int32_t pid;
    protozero::ParseFlightName(name, &uid, &pid);
    File file;
    std::string error;
    if (ReadProgram(path, &file, &error)) {
      if (!WriteProgram(&file.reader, uid, pid, write))
        return false;
    } else if (!error.empty()) {
      program::PrintError(kProgram, "%s: %s", path.c_str(), error.c_str());
      ++num_unreadable_;
    }
  }
  return true;
}

bool FlightInput::ReadProgram(const std::string& path,
                              File* file,
                              std::string* error) {
  const ScopedFd fd(open(path.c_str(), kOpenFlags));
  // A running recorder may have removed it meanwhile.
  if (!fd.is_valid() && errno == ENOENT)
    return false;
  struct stat status;
  if (!fd.is_valid() || fstat(fd.get(), &status) != 0) {
    *error = strerror(errno);
    return false;
  }
  if (!S_ISREG(status.st_mode)) {
    *error = kNoRecording;
    return false;
  }
  goes_on_ |= IsInUse(fd.get());
  // A program that makes its file larger has no more of this one's memory.
  bool is_read = false;
  if (!protozero::RunsInMemory([&] {
        is_read = Read(fd.get(), 0, static_cast<uint64_t>(status.st_size),
                       file_.reader.program_size(), file, error);
      })) {
    *error = "out of memory";
  }
  return is_read;
}

bool FlightInput::Read(int fd,
                       uint64_t offset,
                       uint64_t max_size,
                       uint64_t wanted_size,
                       File* file,
                       std::string* error) {
  alignas(FlightHeader) uint8_t header[FlightHeader::kSize] = {};
  ReadAt(fd, offset, std::min<uint64_t>(max_size, sizeof(header)), header);
  const size_t size = FlightReader::SizeOf(header, error);
  if (size == 0)
    return false;
  if (size > max_size) {
    *error = "cut, or damaged at its beginning";
    return false;
  }
  if (wanted_size != 0 && size != wanted_size) {
    *error = "the program has changed its size";
    return false;
  }
  const size_t page_size =
      reinterpret_cast<const FlightHeader*>(header)->page_size;
  // Memory that is not cleared first: that would take as long as reading.
  file->bytes.reset(new uint64_t[size / sizeof(uint64_t)]);
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(file->bytes.get());
  memcpy(bytes, header, sizeof(header));
  for (size_t pos = sizeof(header); pos != size; pos += page_size) {
    const auto read = [&](size_t begin, size_t length, uint8_t* data) {
      return ReadAt(fd, offset + pos + begin, length, data);
    };
    if (!protozero::CopyFlightPage(read, page_size, bytes + pos)) {
      *error = errno != 0 ? strerror(errno) : "it has become shorter";
      return false;
    }
  }
  return file->reader.Open({bytes, size}, error);
}

bool FlightInput::ReadCore(ScopedFd fd, uint64_t size, std::string* error) {
  core_ = std::make_unique<CoreDump>();
  if (!core_->Open(std::move(fd), size, error))
    return false;
  if (!core_->Next(&next_in_core_)) {
    *error = core_->is_out_of_memory() ? "out of memory"
             : core_->is_cut()
                 ? "a core dump that is cut, without a flight recorder in what "
                   "is there"
                 : "a core dump without a flight recorder";
    return false;
  }
  file_.bytes.reset(new uint64_t[FlightHeader::kSize / sizeof(uint64_t)]);
  memcpy(file_.bytes.get(), next_in_core_.data, FlightHeader::kSize);
  reinterpret_cast<FlightHeader*>(file_.bytes.get())->num_pages = 0;
  return file_.reader.Open(
      {reinterpret_cast<uint8_t*>(file_.bytes.get()), FlightHeader::kSize},
      error);
}

bool FlightInput::WriteCore(const FlightReader::Write& write) {
  bool lacks_pages = false;
  do {
    FlightReader reader;
    std::string error;
    if (!reader.Open(next_in_core_, &error))
      continue;
    if (!WriteProgram(&reader, reader.uid(), reader.pid(), write))
      return false;
    if (core_->pages_missing() == 0)
      continue;
    lacks_pages = true;
    ++programs_.back().stats.unknown_losses;
    program::PrintError(kProgram,
                        "the core dump is cut: it has %" PRIu64 " of %" PRIu64
                        " parts of a recording of process %" PRId32,
                        core_->pages() - core_->pages_missing(), core_->pages(),
                        reader.pid());
  } while (core_->Next(&next_in_core_));
  if (core_->is_cut() && !lacks_pages) {
    program::PrintError(kProgram,
                        "the core dump is cut: it may have had another "
                        "recording");
  }
  if (core_->is_out_of_memory()) {
    program::PrintError(kProgram, "out of memory for another recording");
    return false;
  }
  return true;
}

}  // namespace pztrace
