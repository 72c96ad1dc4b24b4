// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/runtime_folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "src/tracing/ipc/folder_lock.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/ipc/user_folder.h"

namespace pztrace {

namespace {

constexpr std::string_view kStatsSuffix = ".stats";

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// Removes what a process that was killed has left at |path|: a socket, or the
// link to one. REQUIRES: FolderLock.
void RemoveProducerSocket(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
    unlink(path.c_str());
  else
    protozero::RemoveAbandonedSocket(path);
}

}  // namespace

std::string RecorderFolder(std::string* error) {
  const std::string folder = protozero::UserFolder(error);
  if (folder.empty()) {
    *error +=
        "; set XDG_RUNTIME_DIR to a folder of yours, for recorders and "
        "programs";
  }
  return folder;
}

std::string AbsolutePath(const std::string& path, std::string* error) {
  if (!path.empty() && (path[0] == '/' || path[0] == '@'))
    return path;
  char folder[PATH_MAX];
  if (getcwd(folder, sizeof(folder)) == nullptr) {
    *error = path + ": the current folder is not known: " + strerror(errno);
    return "";
  }
  return std::string(folder) + "/" + path;
}

std::string ProducerSocket(const std::string& folder, pid_t pid) {
  return folder + "/" + std::to_string(pid) + ".producers";
}

std::string StatsSocket(const std::string& folder, pid_t pid) {
  return folder + "/" + std::to_string(pid) + std::string(kStatsSuffix);
}

std::string SnapshotSocket(const std::string& folder, pid_t pid) {
  return folder + "/" + std::to_string(pid) + ".snapshots";
}

std::string PublishAddress(const std::string& folder,
                           const std::string& address) {
  const std::string path = ProducerSocket(folder, getpid());
  protozero::FolderLock lock;
  if (address == path || !lock.Take(path))
    return "";
  RemoveProducerSocket(path);
  // A link may have any text, such as an address that is no path.
  return symlink(address.c_str(), path.c_str()) == 0 ? path : "";
}

std::string AddressOf(const std::string& folder, pid_t pid) {
  const std::string path = ProducerSocket(folder, pid);
  char address[PATH_MAX];
  const ssize_t size = readlink(path.c_str(), address, sizeof(address));
  return size <= 0 ? path : std::string(address, static_cast<size_t>(size));
}

std::vector<pid_t> FindRecorders(const std::string& folder) {
  std::vector<pid_t> pids;
  protozero::FolderLock lock;
  const bool is_locked = lock.Take(StatsSocket(folder, 0));
  const std::unique_ptr<DIR, CloseFolder> dir(opendir(folder.c_str()));
  while (const dirent* entry = dir ? readdir(dir.get()) : nullptr) {
    char* end = nullptr;
    const long number = strtol(entry->d_name, &end, 10);
    const auto pid = static_cast<pid_t>(number);
    if (number > 0 && end == protozero::kListerSuffix && is_locked)
      protozero::RemoveAbandonedSocket(protozero::ListerSocket(folder, pid));
    if (number <= 0 || end != kStatsSuffix)
      continue;
    // It opens this socket before it publishes its address.
    if (is_locked &&
        protozero::RemoveAbandonedSocket(StatsSocket(folder, pid))) {
      protozero::RemoveAbandonedSocket(SnapshotSocket(folder, pid));
      RemoveProducerSocket(ProducerSocket(folder, pid));
    } else {
      pids.push_back(pid);
    }
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

}  // namespace pztrace
