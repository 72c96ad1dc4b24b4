// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#if !defined(_WIN32)

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/pbz/run_protoc.h"
#include "src/program/io.h"

extern char** environ;

namespace pbz {

namespace {

void ReadAll(FILE* file, std::vector<uint8_t>* content) {
  rewind(file);
  uint8_t block[1 << 16];
  while (const size_t size = fread(block, 1, sizeof(block), file))
    content->insert(content->end(), block, block + size);
}

// Runs |args| with its standard output and error in files of their own. Returns
// the exit code, or -1 and errno if the program cannot be run.
int RunProgram(const std::vector<std::string>& args,
               FILE* output,
               FILE* errors) {
  std::vector<char*> argv;
  for (const std::string& arg : args)
    argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(errors), STDERR_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  pid_t pid = 0;
  errno = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (errno != 0)
    return -1;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR)
      return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

const char kPathSeparators[] = "/";

ProtocResult RunProtoc(const std::vector<std::string>& args) {
  std::vector<std::string> command = {"protoc",
                                      "--descriptor_set_out=/dev/stdout"};
  command.insert(command.end(), args.begin(), args.end());
  ProtocResult result;
  const program::ScopedFile output(tmpfile());
  const program::ScopedFile messages(tmpfile());
  if (!output || !messages) {
    result.outcome = ProtocResult::kNoTemporaryFile;
    result.error = errno;
    return result;
  }
  result.exit_code = RunProgram(command, output.get(), messages.get());
  if (result.exit_code < 0) {
    result.outcome = ProtocResult::kNotStarted;
    result.error = errno;
    return result;
  }
  ReadAll(output.get(), &result.descriptor_set);
  ReadAll(messages.get(), &result.messages);
  return result;
}

}  // namespace pbz

#endif  // !defined(_WIN32)
