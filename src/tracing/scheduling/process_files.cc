// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/process_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "src/tracing/ipc/scoped_fd.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The limit of a file's bytes that are looked at.
constexpr size_t kMaxFileSize = 16 << 20;
constexpr size_t kMaxCommandLine = 4096;

std::string Folder(int32_t pid) {
  return "/proc/" + std::to_string(pid);
}

std::string Folder(int32_t pid, int32_t tid) {
  return Folder(pid) + "/task/" + std::to_string(tid);
}

std::string Read(const std::string& path, size_t max_size = kMaxFileSize) {
  std::string text;
  // It is closed if there is no memory for the text.
  const ScopedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const int fd = file.get_unchecked();
  if (fd < 0)
    return text;
  char bytes[4096];
  ssize_t size = 0;
  while (text.size() < max_size && (size = read(fd, bytes, sizeof(bytes))) > 0)
    text.append(bytes, static_cast<size_t>(size));
  return text;
}

// Reads a line such as
//   7f00-7f80 r-xp 00001000 08:01 1234      /usr/lib/libc.so.6
bool ParseMap(const std::string& line, CodeMap* map) {
  uint64_t end = 0;
  char access[5] = {};
  char device[24] = {};
  char inode[24] = {};
  int path_at = 0;
  if (sscanf(line.c_str(),
             "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %23s %23s %n",
             &map->address, &end, access, &map->file_offset, device, inode,
             &path_at) != 6 ||
      access[2] != 'x' || end <= map->address) {
    return false;
  }
  map->size = end - map->address;
  if (path_at > 0 && static_cast<size_t>(path_at) < line.size())
    map->path = line.substr(static_cast<size_t>(path_at));
  map->file_id = std::string(device) + " " + inode;
  constexpr std::string_view kDeleted = " (deleted)";
  if (map->path.size() > kDeleted.size() && map->path[0] == '/' &&
      map->path.compare(map->path.size() - kDeleted.size(), kDeleted.npos,
                        kDeleted) == 0) {
    map->path.resize(map->path.size() - kDeleted.size());
    map->is_deleted = true;
  }
  return true;
}

}  // namespace

std::vector<int32_t> ThreadsOf(int32_t pid) {
  std::vector<int32_t> threads;
  struct CloseFolder {
    void operator()(DIR* folder) const { closedir(folder); }
  };
  const std::unique_ptr<DIR, CloseFolder> folder(
      opendir((Folder(pid) + "/task").c_str()));
  while (folder != nullptr) {
    const dirent* const entry = readdir(folder.get());
    if (entry == nullptr)
      break;
    const int tid = atoi(entry->d_name);
    if (tid > 0)
      threads.push_back(tid);
  }
  return threads;
}

std::string ThreadName(int32_t pid, int32_t tid) {
  std::string name = Read(Folder(pid, tid) + "/comm");
  if (!name.empty() && name.back() == '\n')
    name.pop_back();
  return name;
}

std::string CommandLineOf(int32_t pid) {
  std::string words = Read(Folder(pid) + "/cmdline", kMaxCommandLine);
  while (!words.empty() && words.back() == '\0')
    words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

std::vector<int32_t> NamespaceIdsOf(int32_t pid, int32_t tid) {
  static constexpr char kLine[] = "\nNSpid:";
  std::vector<int32_t> ids;
  const std::string text = Read(Folder(pid, tid) + "/status");
  const size_t at = text.find(kLine);
  if (at == text.npos)
    return ids;
  const std::string line = text.substr(at + strlen(kLine));
  int size = 0;
  int32_t id = 0;
  const char* numbers = line.c_str();
  // The first is the one in this namespace.
  for (bool is_first = true;
       sscanf(numbers, "%*[ \t]%" SCNd32 "%n", &id, &size) == 1;
       numbers += size, is_first = false) {
    if (!is_first)
      ids.push_back(id);
  }
  return ids;
}

int32_t ParentOf(int32_t pid) {
  // The name, in brackets, may have brackets.
  const std::string text = Read(Folder(pid) + "/stat");
  const size_t end = text.rfind(')');
  int32_t parent = 0;
  if (end == text.npos ||
      sscanf(text.c_str() + end, ") %*c %" SCNd32, &parent) != 1) {
    return 0;
  }
  return parent;
}

char ThreadState(int32_t pid, int32_t tid, uint32_t* cpu) {
  const std::string text = Read(Folder(pid, tid) + "/stat");
  size_t at = text.rfind(')');
  char state = 0;
  if (at == text.npos || sscanf(text.c_str() + at, ") %c", &state) != 1)
    return 0;
  // The processor is the field 39, the name the field 2.
  for (int field = 2; field < 39 && at != text.npos; ++field)
    at = text.find(' ', at + 1);
  if (at == text.npos || sscanf(text.c_str() + at, " %" SCNu32, cpu) != 1)
    return 0;
  return state;
}

uid_t UserOf(int32_t pid) {
  // The folder of a process that is not dumpable belongs to root.
  const std::string text = Read(Folder(pid) + "/status");
  const size_t line = text.find("\nUid:");
  uid_t user = 0;
  if (line != text.npos)
    sscanf(text.c_str() + line, "\nUid: %*u %u", &user);
  return user;
}

bool BlocksSignal(int32_t pid, int32_t tid, int signal) {
  const std::string text = Read(Folder(pid, tid) + "/status");
  const size_t line = text.find("\nSigBlk:");
  uint64_t blocked = 0;
  if (line != text.npos)
    sscanf(text.c_str() + line, "\nSigBlk: %" SCNx64, &blocked);
  return (blocked >> (signal - 1) & 1) != 0;
}

uintptr_t StackEndOf(int32_t pid) {
  const std::string text = Read(Folder(pid) + "/maps");
  size_t line = text.find(" [stack]");
  uintptr_t end = 0;
  if (line != text.npos) {
    line = line == 0 ? 0 : text.rfind('\n', line) + 1;
    sscanf(text.c_str() + line, "%*x-%" SCNxPTR, &end);
  }
  return end;
}

bool ThreadExists(int32_t pid, int32_t tid) {
  return access(Folder(pid, tid).c_str(), F_OK) == 0;
}

std::vector<CodeMap> CodeMapsOf(int32_t pid) {
  std::vector<CodeMap> maps;
  const std::string text = Read(Folder(pid) + "/maps");
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    CodeMap map;
    if (ParseMap(text.substr(begin, end - begin), &map))
      maps.push_back(map);
    begin = end + 1;
  }
  return maps;
}

std::string FileOf(int32_t pid, const CodeMap& map) {
  std::string path = Folder(pid) + "/root" + map.path;
  if (!map.is_deleted && access(path.c_str(), F_OK) == 0)
    return path;
  // A process that has ended has no root.
  if (!map.is_deleted && access((Folder(pid) + "/root").c_str(), F_OK) != 0)
    return map.path;
  // The user's own programs have no more than this.
  const std::string program = Folder(pid) + "/exe";
  std::string target(map.path.size() + 64, '\0');
  const ssize_t size = readlink(program.c_str(), target.data(), target.size());
  target.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  if (target == map.path + " (deleted)")
    return program;
  char range[40];
  snprintf(range, sizeof(range), "%" PRIx64 "-%" PRIx64, map.address,
           map.address + map.size);
  return Folder(pid) + "/map_files/" + range;
}

int OpenVdso() {
  for (const CodeMap& map : CodeMapsOf(getpid())) {
    if (map.path != kVdso)
      continue;
    ScopedFd file(memfd_create("vdso", MFD_CLOEXEC));
    const auto* const code = reinterpret_cast<const void*>(map.address);
    const auto size = static_cast<size_t>(map.size);
    if (write(file.get(), code, size) == static_cast<ssize_t>(size))
      return file.Release();
  }
  return -1;
}

uint32_t MaxKernelStackDepth() {
  constexpr uint32_t kDefault = 127;
  uint32_t depth = 0;
  const std::string text = Read("/proc/sys/kernel/perf_event_max_stack");
  return sscanf(text.c_str(), "%" SCNu32, &depth) == 1 ? depth : kDefault;
}

std::optional<ThreadSums> SumsOf(int32_t pid, int32_t tid) {
  ThreadSums sums;
  if (sscanf(Read(Folder(pid, tid) + "/schedstat").c_str(),
             "%" SCNu64 " %" SCNu64, &sums.ran, &sums.was_ready) != 2)
    return std::nullopt;
  return sums;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
