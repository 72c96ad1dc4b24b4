// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_RUNTIME_FOLDER_H_
#define SRC_PZTRACE_RECORD_RUNTIME_FOLDER_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace pztrace {

// The sockets of `pztrace record` in the user's folder, where `pztrace stat`,
// `list` and `snapshot` find them.

// Returns protozero::UserFolder(), or an empty path, and says why and what
// helps.
std::string RecorderFolder(std::string* error);

// Returns |path| in a form that is right in any folder. Keeps one that begins
// with '@', which is no path. Returns an empty one, and says why, if the
// current folder is unknown.
std::string AbsolutePath(const std::string& path, std::string* error);

// Return the sockets of the process |pid|, which records.
std::string ProducerSocket(const std::string& folder, pid_t pid);
std::string StatsSocket(const std::string& folder, pid_t pid);
std::string SnapshotSocket(const std::string& folder, pid_t pid);

// Leaves the address at which this process waits for producers where others
// find it, if that is not its ProducerSocket(). Returns the path to be removed
// later, or an empty one.
std::string PublishAddress(const std::string& folder,
                           const std::string& address);
// Returns the address at which |pid| waits for producers.
std::string AddressOf(const std::string& folder, pid_t pid);

// Returns the processes that record: they have the socket for statistics open,
// which the kernel knows, whether they answer or not. Removes the sockets that
// dead ones have left, and dead listers.
std::vector<pid_t> FindRecorders(const std::string& folder);

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_RUNTIME_FOLDER_H_
