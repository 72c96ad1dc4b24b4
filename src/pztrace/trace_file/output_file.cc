// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/writer/flight_header.h"

namespace pztrace {

namespace {

using protozero::FlightHeader;
using protozero::ScopedFd;

bool IsRegular(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// Returns why the file must not be an output.
std::string ProblemOf(int output) {
  if (!IsRegular(output))
    return "";
  if (program::IsInput(output))
    return program::kReplacesInput;
  // |output| may be for writing only.
  const ScopedFd readable(
      open(("/proc/self/fd/" + std::to_string(output)).c_str(),
           O_RDONLY | O_CLOEXEC));
  const int fd = readable.is_valid() ? readable.get() : output;
  char magic[sizeof(FlightHeader::kMagic)];
  const bool is_flight =
      pread(fd, magic, sizeof(magic), 0) == ssize_t{sizeof(magic)} &&
      memcmp(magic, FlightHeader::kMagic, sizeof(magic)) == 0;
  return is_flight ? "a file of a flight recorder is not replaced; a program "
                     "may be writing to it"
                   : "";
}

}  // namespace

int OpenOutput(const std::string& path, int flags, std::string* error) {
  ScopedFd fd(open(path.c_str(),
                   O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC | flags, 0666));
  if (!fd.is_valid()) {
    *error = strerror(errno);
    return -1;
  }
  if (!IsRegular(fd.get()))
    return fd.Release();
  *error = ProblemOf(fd.get());
  // Some file systems have no locks.
  if (error->empty() && flock(fd.get(), LOCK_EX | LOCK_NB) != 0 &&
      errno == EWOULDBLOCK) {
    *error = "it is being written already";
  }
  if (error->empty())
    return fd.Release();
  errno = EEXIST;
  return -1;
}

bool EmptyOutput(int fd) {
  return !IsRegular(fd) || ftruncate(fd, 0) == 0;
}

void LockStandardOutput() {
  if (IsRegular(STDOUT_FILENO))
    flock(STDOUT_FILENO, LOCK_EX | LOCK_NB);
}

std::string OutputProblem(const std::vector<std::string>& inputs,
                          const std::string& output) {
  for (const std::string& input : inputs)
    program::NoteInput(input);
  if (output == "-")
    return ProblemOf(STDOUT_FILENO);
  // The other end of a FIFO must not notice.
  const ScopedFd fd(open(output.c_str(), O_PATH | O_CLOEXEC));
  return fd.is_valid() ? ProblemOf(fd.get()) : "";
}

bool OutputFile::Open(const std::string& path) {
  name_ = path == "-" ? "<stdout>" : path;
  if (path == "-") {
    file_ = stdout;
    return true;
  }
  std::string error;
  const int fd = OpenOutput(path, 0, &error);
  if (fd < 0) {
    program::PrintError(kProgram, "%s: %s", name_.c_str(), error.c_str());
    return false;
  }
  file_ = EmptyOutput(fd) ? fdopen(fd, "wb") : nullptr;
  if (file_ != nullptr)
    return true;
  Fail();
  close(fd);
  return false;
}

bool OutputFile::Write(std::string_view bytes) {
  return fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size() || Fail();
}

bool OutputFile::Close() {
  FILE* const file = file_;
  file_ = nullptr;
  if (file == nullptr)
    return true;
  const bool is_written = !ferror(file);
  return ((file == stdout ? fflush(file) : fclose(file)) == 0 && is_written) ||
         Fail();
}

bool OutputFile::Fail() const {
  program::PrintError(kProgram, "%s: %s", name_.c_str(), strerror(errno));
  return false;
}

}  // namespace pztrace
