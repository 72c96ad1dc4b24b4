// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/runtime_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/tracing/ipc/folder_lock.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/ipc/user_folder.h"

namespace pztrace {

namespace {

constexpr std::string_view kStatsSuffix = ".stats";
// The socket of a recorder with a name for the programs of its command.
constexpr std::string_view kCommandSuffix = ".command";

// Removes what a process that was killed has left at |path|: a socket, or the
// link to one. REQUIRES: FolderLock.
void RemoveProducerSocket(const std::string& path) {
  struct stat status;
  if (lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
    unlink(path.c_str());
  else
    protozero::RemoveAbandonedSocket(path);
}

// Returns whether that is the socket of a recorder with a name.
bool HasName(std::string_view file) {
  return protozero::HasSuffix(file, protozero::kSessionSuffix) ||
         protozero::HasSuffix(file, kCommandSuffix);
}

// Returns the name of the recorder |pid|, which its address says.
std::string NameOf(const std::string& folder, pid_t pid) {
  const std::string address = AddressOf(folder, pid);
  if (protozero::FolderOf(address) != folder || !HasName(address))
    return "";
  const size_t begin = folder.size() + 1;
  return address.substr(begin, address.rfind('.') - begin);
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

std::string ShownRecorder(const Recorder& recorder) {
  const std::string process = "process " + std::to_string(recorder.pid);
  return recorder.name.empty() ? process : recorder.name + " (" + process + ")";
}

std::string ProblemOfSession(const std::vector<std::string>& sessions) {
  if (sessions.size() > 1)
    return "give one --session";
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  };
  for (const std::string& name : sessions) {
    if (name.empty() || name[0] == '.' || name[0] == '-' ||
        !std::all_of(name.begin(), name.end(), is_allowed)) {
      return "--session takes a name of letters, digits, '-', '_' and '.', "
             "which begins with none of '-' and '.'";
    }
  }
  return "";
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

std::string SessionAddress(const std::string& folder,
                           const std::string& name,
                           bool has_command) {
  if (!has_command)
    return protozero::SessionSocket(folder, name);
  std::string path = folder + "/" + name;
  path += kCommandSuffix;
  return path;
}

bool IsOnlySession(const std::string& folder,
                   const std::string& name,
                   bool has_command) {
  const std::string other = SessionAddress(folder, name, !has_command);
  protozero::FolderLock lock;
  if (!lock.Take(other))
    return false;
  protozero::RemoveAbandonedSocket(other);
  return access(other.c_str(), F_OK) != 0;
}

PublishedAddress::~PublishedAddress() {
  if (!path_.empty())
    unlink(path_.c_str());
}

void PublishedAddress::Publish(const std::string& folder,
                               const std::string& address) {
  const std::string path = ProducerSocket(folder, getpid());
  protozero::FolderLock lock;
  if (address == path || !lock.Take(path))
    return;
  RemoveProducerSocket(path);
  // A link may have any text, such as an address that is no path.
  if (symlink(address.c_str(), path.c_str()) == 0)
    path_ = path;
}

std::string AddressOf(const std::string& folder, pid_t pid) {
  const std::string path = ProducerSocket(folder, pid);
  char address[PATH_MAX];
  const ssize_t size = readlink(path.c_str(), address, sizeof(address));
  return size <= 0 ? path : std::string(address, static_cast<size_t>(size));
}

std::vector<Recorder> FindRecorders(const std::string& folder) {
  std::vector<Recorder> recorders;
  std::vector<std::string> sockets;
  protozero::FolderLock lock;
  const bool is_locked = lock.Take(StatsSocket(folder, 0));
  protozero::ForEachFile(folder, [&](const char* file) {
    if (HasName(file))
      sockets.push_back(folder + "/" + file);
    char* end = nullptr;
    const long number = strtol(file, &end, 10);
    const auto pid = static_cast<pid_t>(number);
    if (number > 0 && end == protozero::kListerSuffix && is_locked)
      protozero::RemoveAbandonedSocket(protozero::ListerSocket(folder, pid));
    if (number <= 0 || end != kStatsSuffix)
      return;
    // It opens this socket before it publishes its address.
    if (is_locked &&
        protozero::RemoveAbandonedSocket(StatsSocket(folder, pid))) {
      protozero::RemoveAbandonedSocket(SnapshotSocket(folder, pid));
      RemoveProducerSocket(ProducerSocket(folder, pid));
    } else {
      recorders.push_back({pid, NameOf(folder, pid)});
    }
  });
  // A recorder that lives need not accept a connection for this.
  for (const std::string& socket : sockets) {
    const auto has_it = [&](const Recorder& recorder) {
      return AddressOf(folder, recorder.pid) == socket;
    };
    if (is_locked && std::none_of(recorders.begin(), recorders.end(), has_it))
      protozero::RemoveAbandonedSocket(socket);
  }
  std::sort(recorders.begin(), recorders.end(),
            [](const Recorder& a, const Recorder& b) { return a.pid < b.pid; });
  return recorders;
}

std::string RecorderChoice::Problem() const {
  if (pid > INT32_MAX)
    return "--pid takes the number of a process";
  if (pid != 0 && !sessions.empty())
    return "--pid and --session both choose a recording; give one";
  return ProblemOfSession(sessions);
}

std::vector<Recorder> FindChosen(const RecorderChoice& choice,
                                 std::string* folder) {
  std::string error;
  *folder = RecorderFolder(&error);
  if (folder->empty()) {
    program::PrintError(kProgram, "%s", error.c_str());
    return {};
  }
  const auto pid = static_cast<pid_t>(choice.pid);
  if (pid != 0)
    return {{pid, NameOf(*folder, pid)}};
  std::vector<Recorder> recorders = FindRecorders(*folder);
  if (recorders.empty())
    program::PrintError(kProgram, "no pztrace record is running");
  if (recorders.empty() || choice.sessions.empty())
    return recorders;
  std::string others;
  for (const Recorder& recorder : recorders) {
    if (recorder.name == choice.sessions[0])
      return {recorder};
    others += (others.empty() ? "" : ", ") + ShownRecorder(recorder);
  }
  program::PrintError(kProgram, "no recording has the name %s; running: %s",
                      choice.sessions[0].c_str(), others.c_str());
  return {};
}

}  // namespace pztrace
