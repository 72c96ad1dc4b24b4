// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_FOLDER_LOCK_H_
#define SRC_TRACING_IPC_FOLDER_LOCK_H_

#include <string>

#include "src/tracing/ipc/scoped_fd.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Returns the folder that a file is in.
std::string FolderOf(const std::string& path);

// The lock of a folder of sockets, by flock(2). A process holds it while it
// gives a socket its file, or removes the file of a socket that no process has
// open anymore: these take several steps. So only who holds the lock may
// conclude from a refused connection that a socket's process is dead: a socket
// that has its file already, but does not listen yet, refuses connections, too.
// A process that is killed gives the lock back.
class FolderLock {
 public:
  // Waits for the lock of the folder that |path| is in, and keeps it as long as
  // this object lives. Returns false, and sets errno, if another process does
  // not give it back. Returns true without the lock if the folder cannot be
  // read, or has no locks; or if other users can enter it, who could keep the
  // lock to do harm.
  bool Take(const std::string& path);

 private:
  ScopedFd folder_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_FOLDER_LOCK_H_
