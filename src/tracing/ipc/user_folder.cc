// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/user_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// The signal by which a FolderWatch knows its descriptor. All descriptors of
// inotify have one inode, and each has a signal to be sent when it is readable:
// none is, because O_ASYNC is not set. A program has no reason to choose this.
constexpr int kMark = SIGVTALRM;

std::string BaseFolder() {
  // The variable is ignored in programs that have more rights than the user who
  // set their environment.
  const char* const variable = secure_getenv("XDG_RUNTIME_DIR");
  if (variable != nullptr && *variable == '/')
    return variable;
  const std::string usual = "/run/user/" + std::to_string(geteuid());
  return access(usual.c_str(), X_OK) == 0 ? usual : "/tmp";
}

}  // namespace

std::string UserFolder(std::string* error) {
  const std::string path =
      BaseFolder() + "/pztrace-" + std::to_string(geteuid());
  struct stat info = {};
  if ((mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) ||
      lstat(path.c_str(), &info) != 0) {
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

std::string RecorderSocket(const std::string& folder) {
  return folder + "/" + kRecorderSocketName;
}

std::string ListerSocket(const std::string& folder, pid_t pid) {
  return folder + "/" + std::to_string(pid) + std::string(kListerSuffix);
}

std::string SessionSocket(const std::string& folder, std::string_view name) {
  std::string path = folder + "/";
  path += name;
  path += kSessionSuffix;
  return path;
}

std::vector<std::string> ProducerSockets(std::string* folder) {
  folder->clear();
  const std::string usual = DefaultProducerSocket();
  const bool is_told = IsProducerSocketInEnvironment();
  std::string error;
  if (!is_told || IsStartedByRecorder())
    *folder = UserFolder(&error);
  if (is_told || folder->empty())
    return {usual};
  return {RecorderSocket(*folder), usual};
}

bool HasSuffix(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         text.substr(text.size() - end.size()) == end;
}

void ForEachFile(const std::string& folder, const OnFile& on_file) {
  // |on_file| may throw.
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()),
                                                    &closedir);
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr)
    on_file(entry->d_name);
}

FolderWatch::~FolderWatch() {
  if (!IsOwn())
    inotify_.Release();
}

bool FolderWatch::IsOwn() const {
  return inotify_.is_valid() &&
         fcntl(inotify_.get_unchecked(), F_GETSIG) == kMark &&
         !inotify_.is_lost();
}

bool FolderWatch::Watch(const std::string& folder) {
  const bool is_first = !IsOwn();
  if (is_first) {
    inotify_.Release();
    inotify_.Reset(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (inotify_.is_valid() &&
        fcntl(inotify_.get_unchecked(), F_SETSIG, kMark) != 0) {
      inotify_.Reset();
    }
  }
  if (!inotify_.is_valid())
    return false;
  // The kernel knows by the inode that it watches the folder already.
  if (inotify_add_watch(inotify_.get(), folder.c_str(),
                        IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0) {
    inotify_.Reset();
  }
  return is_first && inotify_.is_valid();
}

bool FolderWatch::TakeFiles(const OnFile& on_file) {
  bool has_all = true;
  alignas(inotify_event) char events[4096];
  ssize_t size;
  while (IsOwn() &&
         (size = read(inotify_.get_unchecked(), events, sizeof(events))) > 0) {
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      memcpy(&event, events + at, sizeof(event));
      has_all &= (event.mask & (IN_Q_OVERFLOW | IN_IGNORED)) == 0;
      // The name is padded with zeros.
      if (event.len != 0)
        on_file(events + at + sizeof(event));
      at += static_cast<ssize_t>(sizeof(event) + event.len);
    }
  }
  return has_all;
}

PROTOZERO_ABI_END
}  // namespace protozero
