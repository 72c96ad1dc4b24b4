// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/flight_input.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

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

}  // namespace

bool FlightInput::Open(const std::string& path) {
  const char* const name = program::DisplayName(path);
  ScopedFd file(path == "-" ? dup(STDIN_FILENO)
                            : open(path.c_str(),
                                   O_RDONLY | O_CLOEXEC | O_NONBLOCK));
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
  } else if (ReadFile(file.get(), static_cast<uint64_t>(status.st_size), &file_,
                      &error)) {
    return true;
  }
  program::PrintError(kProgram, "%s: %s", name, error.c_str());
  return false;
}

bool FlightInput::ReadFile(int fd,
                           uint64_t size,
                           File* file,
                           std::string* error) {
  char magic[SELFMAG];
  const bool is_core = ReadAt(fd, 0, sizeof(magic), magic) &&
                       memcmp(magic, ELFMAG, SELFMAG) == 0;
  return is_core ? ReadCore(fd, size, file, error)
                 : Read(fd, 0, size, /*wanted_size=*/0, file, error);
}

bool FlightInput::WriteTrace(const FlightReader::Write& write) {
  // Behind the service's own sequence.
  last_sequence_id_ = protozero::service::kServiceSequenceID;
  FlightReader& reader = file_.reader;
  if (!reader.WriteBegin(write) ||
      !(folder_.empty()
            ? WriteProgram(&reader, reader.uid(), reader.pid(), write)
            : WriteFolder(write))) {
    return false;
  }
  return reader.WriteEnd(Stats(), write);
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

bool FlightInput::ReadCore(int fd,
                           uint64_t file_size,
                           File* file,
                           std::string* error) {
  *error = "a core dump without a flight recorder";
  Elf64_Ehdr elf;
  if (!ReadAt(fd, 0, sizeof(elf), &elf) ||
      elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_type != ET_CORE ||
      elf.e_phentsize != sizeof(Elf64_Phdr)) {
    *error = "no core dump of a 64-bit program";
    return false;
  }
  uint64_t num_segments = elf.e_phnum;
  // That many are counted elsewhere.
  Elf64_Shdr section;
  if (elf.e_phnum == PN_XNUM &&
      ReadAt(fd, elf.e_shoff, sizeof(section), &section)) {
    num_segments = section.sh_info;
  }
  // The recorder's memory is a segment of its own. Of several, the one that
  // began last is read.
  uint64_t best_begin = 0;
  uint64_t best_size = 0;
  uint64_t best_time = 0;
  for (uint64_t i = 0; i < num_segments; ++i) {
    Elf64_Phdr segment;
    if (!ReadAt(fd, elf.e_phoff + i * sizeof(segment), sizeof(segment),
                &segment)) {
      break;
    }
    alignas(FlightHeader) uint8_t header[FlightHeader::kSize];
    std::string no_recording;
    if (segment.p_type != PT_LOAD || segment.p_filesz < sizeof(header) ||
        segment.p_offset > file_size ||
        segment.p_filesz > file_size - segment.p_offset ||
        !ReadAt(fd, segment.p_offset, sizeof(header), header) ||
        FlightReader::SizeOf(header, &no_recording) == 0) {
      continue;
    }
    const uint64_t time =
        reinterpret_cast<const FlightHeader*>(header)->realtime_ns;
    if (best_size != 0 && time < best_time)
      continue;
    best_begin = segment.p_offset;
    best_size = segment.p_filesz;
    best_time = time;
  }
  return best_size != 0 &&
         Read(fd, best_begin, best_size, /*wanted_size=*/0, file, error);
}

}  // namespace pztrace
