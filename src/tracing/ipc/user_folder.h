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
//     NAME.session                 the same, of one with a name. A program
//                                  connects to all of these
//     NAME.command                 the socket of a recorder with a name for the
//                                  programs of a command
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

// Returns the address at which a recorder of that name waits for all programs
// of the user.
inline constexpr std::string_view kSessionSuffix = ".session";
std::string SessionSocket(const std::string& folder, std::string_view name);

// Returns the addresses at which a producer that was told none looks for a
// service, in this order: the one in the environment, or else the recorder's
// and the one of Perfetto's service. |folder| becomes the UserFolder() in which
// it looks for recorders with names, too, or empty. An address in the
// environment takes the place of these, unless it is the one of a recorder that
// has started this program: others go on recording what it starts.
std::vector<std::string> ProducerSockets(std::string* folder);

// Calls |on_file| with the name of each file in |folder|.
using OnFile = std::function<void(const char* name)>;
void ForEachFile(const std::string& folder, const OnFile& on_file);

// Returns whether a file's name has one of the suffixes above.
bool HasSuffix(std::string_view text, std::string_view end);

// Notices files that appear in a folder, by inotify(7): it costs nothing while
// none does. If the system has no watch left, fd() is -1.
class FolderWatch {
 public:
  FolderWatch() = default;
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Watches |folder|, if that is not watched yet. To be called again when the
  // folder may have been removed and made again. Returns true the first time:
  // there may be files already.
  bool Watch(const std::string& folder);
  // Returns a descriptor that becomes readable when any file appears; -1, too,
  // if the program has closed or replaced it.
  int fd() const { return IsOwn() ? inotify_.get_unchecked() : -1; }
  // Calls |on_file| with the name of each file that has appeared since the last
  // call. Returns false if more have appeared than the system remembers, or if
  // the folder is gone.
  bool TakeFiles(const OnFile& on_file);

 private:
  // Returns whether |inotify_| is still this object's.
  bool IsOwn() const;

  ScopedFd inotify_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_USER_FOLDER_H_
