// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/runtime_folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace pztrace {

namespace {

constexpr std::string_view kStatsSuffix = ".stats";

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

}  // namespace

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
  if (address == path)
    return "";
  // A process of that number, which was killed, may have left one.
  unlink(path.c_str());
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
  const std::unique_ptr<DIR, CloseFolder> dir(opendir(folder.c_str()));
  while (const dirent* entry = dir ? readdir(dir.get()) : nullptr) {
    char* end = nullptr;
    const long pid = strtol(entry->d_name, &end, 10);
    if (pid > 0 && end == kStatsSuffix)
      pids.push_back(static_cast<pid_t>(pid));
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

}  // namespace pztrace
