// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/runtime_folder.h"

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

std::string RuntimeFolder(std::string* error) {
  const char* const variable = getenv("XDG_RUNTIME_DIR");
  // The path becomes absolute because the command may have another current
  // folder.
  const std::string base = variable == nullptr || *variable == '\0'
                               ? "/tmp"
                               : AbsolutePath(variable, error);
  if (base.empty())
    return "";
  const std::string path = base + "/pztrace-" + std::to_string(geteuid());
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    *error = path + ": " + strerror(errno);
    return "";
  }
  // Anybody can make a folder of that name in /tmp, so it is checked.
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) {
    *error = path + ": " + strerror(errno);
    return "";
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 0077) != 0) {
    *error = path + ": not a folder that is this user's alone";
    return "";
  }
  return path;
}

std::string SocketToListenOn(const std::string& folder,
                             const std::string& wish,
                             std::string* error) {
  return wish.empty() ? ProducerSocket(folder, getpid())
                      : AbsolutePath(wish, error);
}

std::string ProducerSocket(const std::string& folder, pid_t pid) {
  return folder + "/" + std::to_string(pid) + ".producers";
}

std::string StatsSocket(const std::string& folder, pid_t pid) {
  return folder + "/" + std::to_string(pid) + std::string(kStatsSuffix);
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
