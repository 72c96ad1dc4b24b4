// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/chosen_processes.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>

#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/record/command.h"

namespace pztrace {

namespace {

using program::PrintError;

// The time in which a process that has just begun starts tracing, and the time
// between two looks.
constexpr int kStartMs = 3000;
constexpr int kLookMs = 20;

struct CloseStream {
  void operator()(FILE* stream) const { fclose(stream); }
};
struct CloseTasks {
  void operator()(DIR* folder) const { closedir(folder); }
};

// Returns the content of a file in /proc; nothing if it cannot be read.
std::string ReadProc(const std::string& path) {
  const std::unique_ptr<FILE, CloseStream> file(fopen(path.c_str(), "re"));
  std::string text;
  char part[4096];
  size_t size = 0;
  while (file != nullptr &&
         (size = fread(part, 1, sizeof(part), file.get())) != 0) {
    text.append(part, size);
  }
  return text;
}

// Returns a word of the line |key| in /proc/PID/status; |number| counts from 0.
std::string StatusWord(const std::string& status,
                       std::string_view key,
                       int number) {
  size_t begin = status.find("\n" + std::string(key) + ":\t");
  if (begin == std::string::npos)
    return "";
  begin += key.size() + 3;
  for (; number > 0; --number)
    begin = status.find('\t', begin) + 1;
  return status.substr(begin, status.find_first_of("\t\n ", begin) - begin);
}

// Returns whether a thread of the library runs in the process: the one that
// waits for a recorder.
bool HasThreadOfLibrary(const std::string& proc) {
  const std::unique_ptr<DIR, CloseTasks> tasks(
      opendir((proc + "/task").c_str()));
  while (const dirent* const task =
             tasks != nullptr ? readdir(tasks.get()) : nullptr) {
    if (ReadProc(proc + "/task/" + task->d_name + "/comm") == "protozero\n")
      return true;
  }
  return false;
}

// Returns whether the process was told an address, as Perfetto's SDK is. It has
// other threads.
bool WasToldAddress(const std::string& proc) {
  return ('\0' + ReadProc(proc + "/environ"))
             .find('\0' + std::string(kSocketVariable) + '=') !=
         std::string::npos;
}

bool CanProcessBeRecorded(int32_t pid, bool has_address) {
  const std::string number = std::to_string(pid);
  const std::string proc = "/proc/" + number;
  for (int ms = 0;; ms += kLookMs) {
    const std::string status = ReadProc(proc + "/status");
    const bool is_hidden = status.empty() && kill(pid, 0) != 0;
    // Threads have numbers and a folder, too. A zombie runs no more, unless
    // only its main thread has ended.
    if ((is_hidden && errno == ESRCH) ||
        (!status.empty() && (StatusWord(status, "Tgid", 0) != number ||
                             (StatusWord(status, "State", 0) == "Z" &&
                              !HasThreadOfLibrary(proc))))) {
      PrintError(kProgram, "there is no process %s", number.c_str());
      return false;
    }
    // If /proc tells nothing, the process may be fine.
    if (has_address || (status.empty() && !is_hidden))
      return true;
    if (is_hidden ||
        StatusWord(status, "Uid", 1) != std::to_string(geteuid())) {
      PrintError(kProgram,
                 "process %s belongs to another user; record it as that user, "
                 "or give --socket",
                 number.c_str());
      return false;
    }
    if (HasThreadOfLibrary(proc) || WasToldAddress(proc))
      return true;
    if (ms >= kStartMs) {
      PrintError(kProgram,
                 "process %s does not use the library, or has not started "
                 "tracing",
                 number.c_str());
      return false;
    }
    const timespec pause = {0, kLookMs * 1000000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

bool CanBeRecorded(const std::vector<int32_t>& pids, bool has_address) {
  for (const int32_t pid : pids) {
    if (!CanProcessBeRecorded(pid, has_address))
      return false;
  }
  return true;
}

}  // namespace pztrace
