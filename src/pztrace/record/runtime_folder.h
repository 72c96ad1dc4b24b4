// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_RUNTIME_FOLDER_H_
#define SRC_PZTRACE_RECORD_RUNTIME_FOLDER_H_

#include <stdint.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace pztrace {

// The sockets of `pztrace record` in the user's folder, where `pztrace stat`,
// `list` and `snapshot` find them.

// A process that records, and its name, `record --session NAME`; empty for
// none.
struct Recorder {
  pid_t pid;
  std::string name;
};
// Returns a text such as "web (process 12)" or "process 12".
std::string ShownRecorder(const Recorder& recorder);

// Returns the problem with the values of an option --session: there may be one,
// which is part of a socket's name. Returns an empty text if there is none.
std::string ProblemOfSession(const std::vector<std::string>& sessions);

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

// Returns the address at which the recorder of that name waits for all
// programs, or for those of its |has_command|.
std::string SessionAddress(const std::string& folder,
                           const std::string& name,
                           bool has_command);
// Returns whether no other process has that name, and removes what a dead one
// has left. REQUIRES: this process listens at SessionAddress().
bool IsOnlySession(const std::string& folder,
                   const std::string& name,
                   bool has_command);

// Leaves the address at which this process waits for producers where others
// find it, if that is not its ProducerSocket(), as long as the object lives.
class PublishedAddress {
 public:
  PublishedAddress() = default;
  ~PublishedAddress();
  PublishedAddress(const PublishedAddress&) = delete;
  PublishedAddress& operator=(const PublishedAddress&) = delete;

  void Publish(const std::string& folder, const std::string& address);

 private:
  std::string path_;
};
// Returns the address at which |pid| waits for producers.
std::string AddressOf(const std::string& folder, pid_t pid);

// Returns the processes that record: they have the socket for statistics open,
// which the kernel knows, whether they answer or not. Removes the sockets that
// dead ones have left, and dead listers.
std::vector<Recorder> FindRecorders(const std::string& folder);

// The recordings that a user asks for: of a process, of a name, or all if both
// are missing.
struct RecorderChoice {
  uint64_t pid = 0;
  std::vector<std::string> sessions;
  // Returns what is wrong with the choice, or an empty text.
  std::string Problem() const;
};
// Finds the folder of recordings' sockets, and the chosen recordings. Returns
// none, and has printed why, if there is no such folder or recording.
std::vector<Recorder> FindChosen(const RecorderChoice& choice,
                                 std::string* folder);

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_RUNTIME_FOLDER_H_
