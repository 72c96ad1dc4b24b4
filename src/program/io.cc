// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/program/io.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#endif

#if !defined(_WIN32)
#include <sys/stat.h>
#endif

#include <algorithm>
#include <map>
#include <new>
#include <string>
#include <utility>

#include "src/program/text.h"

namespace program {

namespace {

constexpr std::string_view kStandardStream = "-";

void PrintShown(const char* program, const char* format, va_list args) {
  va_list same_args;
  va_copy(same_args, args);
  const int size = vsnprintf(nullptr, 0, format, same_args);
  va_end(same_args);
  std::string text(size < 0 ? 0 : static_cast<size_t>(size), '\0');
  vsnprintf(&text[0], text.size() + 1, format, args);
  // The names of files may hold any bytes.
  fprintf(stderr, "%s: %s\n", program, Shown(text).c_str());
}

#if !defined(_WIN32)
using FileId = std::pair<dev_t, ino_t>;

// The files that were read, and their names; that of the standard input is
// empty.
std::multimap<FileId, std::string>& InputFiles() {
  static std::multimap<FileId, std::string> files;
  return files;
}
#endif

}  // namespace

void PrintError(const char* program, const char* format, ...) {
  const int error = errno;
  va_list args;
  va_start(args, format);
#if defined(__cpp_exceptions)
  // There may be no memory for the error, and no caller catches that.
  try {
    PrintShown(program, format, args);
  } catch (const std::bad_alloc&) {
    fprintf(stderr, "%s: out of memory\n", program);
  }
#else
  PrintShown(program, format, args);
#endif
  va_end(args);
  errno = error;
}

void UseBinaryStreams() {
#if defined(_WIN32)
  _setmode(_fileno(stdin), _O_BINARY);
  _setmode(_fileno(stdout), _O_BINARY);
#endif
}

#if defined(_WIN32)
void NoteInput(const std::string&) {}

bool IsInput(int) {
  return false;
}
#else
void NoteInput(const std::string& path) {
  const bool is_standard = path == kStandardStream;
  struct stat status;
  if ((is_standard ? fstat(STDIN_FILENO, &status)
                   : stat(path.c_str(), &status)) == 0 &&
      S_ISREG(status.st_mode)) {
    InputFiles().emplace(FileId(status.st_dev, status.st_ino),
                         is_standard ? "" : path);
  }
}

bool IsInput(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0)
    return false;
  const FileId id(status.st_dev, status.st_ino);
  const auto found = InputFiles().equal_range(id);
  return std::any_of(found.first, found.second, [&](const auto& input) {
    // Once a file is removed, another one may have its number.
    const std::string& path = input.second;
    return path.empty() || (stat(path.c_str(), &status) == 0 &&
                            id == FileId(status.st_dev, status.st_ino));
  });
}
#endif

ScopedFile OpenFile(const char* program, const std::string& path) {
  NoteInput(path);
  ScopedFile file(path == kStandardStream ? stdin : fopen(path.c_str(), "rb"));
  if (!file) {
    PrintError(program, "%s: %s", path.c_str(), strerror(errno));
  } else if (IsInput(STDOUT_FILENO)) {
    errno = EEXIST;
    PrintError(program, "%s: %s", DisplayName(path), kReplacesInput);
    file.reset();
  }
  return file;
}

bool ReadFile(const char* program,
              const std::string& path,
              std::vector<uint8_t>* content) {
  const ScopedFile file = OpenFile(program, path);
  if (!file)
    return false;
  uint8_t block[1 << 16];
  while (const size_t size = fread(block, 1, sizeof(block), file.get()))
    content->insert(content->end(), block, block + size);
  if (ferror(file.get())) {
    PrintError(program, "%s: %s", path.c_str(), strerror(errno));
    return false;
  }
  return true;
}

const char* DisplayName(const std::string& path) {
  return path == kStandardStream ? "<stdin>" : path.c_str();
}

bool FlushStandardOutput(const char* program) {
  if (fflush(stdout) == 0 && !ferror(stdout))
    return true;
  PrintError(program, "<stdout>: %s", strerror(errno));
  return false;
}

std::optional<bool> UseColor(std::string_view when) {
  if (when == "always" || when == "never")
    return when == "always";
  if (when != "auto")
    return std::nullopt;
  const char* no_color = getenv("NO_COLOR");
  const char* terminal = getenv("TERM");
  return (!no_color || !*no_color) && isatty(STDOUT_FILENO) &&
         !(terminal && std::string_view(terminal) == "dumb");
}

}  // namespace program
