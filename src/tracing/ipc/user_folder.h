// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_USER_FOLDER_H_
#define SRC_TRACING_IPC_USER_FOLDER_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "src/tracing/ipc/unix_socket.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The folder where a user's programs and recorders meet without being told an
// address. Only this user can enter it:
//
//   $XDG_RUNTIME_DIR/pztrace-UID   if the variable is an absolute path
//   /run/user/UID/pztrace-UID      or else, if there is such a folder
//   /tmp/pztrace-UID               or else
//     producers                    the socket of a recorder for all programs
//     PID.producers, PID.stats     the sockets of `pztrace record`, or links to
//                                  their addresses
//     PID.lister                   the socket of a `pztrace list`

// Makes the folder if need be. Returns its path, or an empty one, and says why,
// if it cannot be trusted. Another user may have made one of that name in /tmp.
std::string UserFolder(std::string* error);

// Returns the address at which a recorder waits for all programs of the user.
inline constexpr char kRecorderSocketName[] = "producers";
std::string RecorderSocket(const std::string& folder);

// Returns the address at which a process that lists programs, and records none,
// waits for those that have no recorder. Its name appears when it listens. A
// program describes itself there, and waits for no answer.
inline constexpr std::string_view kListerSuffix = ".lister";
std::string ListerSocket(const std::string& folder, pid_t pid);

// Returns the addresses at which a producer that was told none looks for a
// service, in this order: the one in the environment, or else the recorder's
// and the one of Perfetto's service. |folder| becomes the UserFolder() of the
// recorder, or empty.
std::vector<std::string> ProducerSockets(std::string* folder);

// Notices files that appear in a folder, by inotify(7): it costs nothing while
// none does. If the system has no watch left, fd() is -1.
class FolderWatch {
 public:
  FolderWatch() = default;
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Watches |folder|, if that is not watched yet. To be called again when the
  // folder may have been removed and made again. The first time, calls
  // |on_lister| with the names of those that are there.
  void Watch(const std::string& folder,
             const std::function<void(const char*)>& on_lister = nullptr);
  // Returns a descriptor that becomes readable when any file appears; -1, too,
  // if the program has closed or replaced it.
  int fd() const { return IsOwn() ? inotify_.get_unchecked() : -1; }
  // Returns whether a file of that name has appeared since the last call. Calls
  // |on_lister| with the name of each lister that has.
  bool HasAppeared(std::string_view name,
                   const std::function<void(const char*)>& on_lister = nullptr);

 private:
  // Returns whether |inotify_| is still this object's.
  bool IsOwn() const;

  ScopedFd inotify_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_USER_FOLDER_H_
