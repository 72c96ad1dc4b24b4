// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

// Others need the lock for less than a millisecond, unless they are stopped
// meanwhile.
constexpr int kMaxLockTries = 2000;
constexpr timespec kLockPause = {0, 1000000};

bool CanOthersEnter(int folder) {
  struct stat status;
  return fstat(folder, &status) != 0 || status.st_uid != geteuid() ||
         (status.st_mode & 0077) != 0;
}

}  // namespace

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "."
         : slash == 0               ? "/"
                                    : path.substr(0, slash);
}

bool FolderLock::Take(const std::string& path) {
  folder_.Reset(
      open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_.is_valid())
    return errno == EACCES || errno == ENOENT || errno == ENOTDIR;
  for (int i = 0; flock(folder_.get(), LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return true;
    if (i == kMaxLockTries)
      return CanOthersEnter(folder_.get());
    nanosleep(&kLockPause, nullptr);
  }
  return true;
}

PROTOZERO_ABI_END
}  // namespace protozero
