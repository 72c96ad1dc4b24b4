// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/command.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/program/io.h"
#include "src/pztrace/program_name.h"
#include "src/tracing/ipc/unix_socket.h"

extern char** environ;

namespace pztrace {

using program::PrintError;

bool Command::Start(const std::vector<std::string>& command,
                    const std::string& socket,
                    bool output_is_trace,
                    const sigset_t& default_signals) {
  name_ = command[0];
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(&word[0]);
  argv.push_back(nullptr);
  setenv(kSocketVariable, socket.c_str(), 1);
  setenv(protozero::kStartedByRecorderVariable, "1", 1);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output_is_trace)
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &default_signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int error =
      posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = -1;
    PrintError(kProgram, "%s: %s", name_.c_str(), strerror(error));
  }
  return error == 0;
}

void Command::Signal(int signal) {
  if (is_running())
    kill(pid_, signal);
}

bool Command::Finish() {
  while (pid_ > 0 && !Reap(/*waits=*/true)) {
  }
  if (WIFSIGNALED(status_)) {
    PrintError(kProgram, "%s: %s", name_.c_str(), strsignal(WTERMSIG(status_)));
  } else if (WEXITSTATUS(status_) != 0) {
    PrintError(kProgram, "%s: exit code %d", name_.c_str(),
               WEXITSTATUS(status_));
  }
  return status_ == 0;
}

bool Command::Reap(bool waits) {
  if (waitpid(pid_, &status_, waits ? 0 : WNOHANG) != pid_)
    return false;
  pid_ = -1;
  return true;
}

}  // namespace pztrace
