// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_COMMAND_H_
#define SRC_PZTRACE_RECORD_COMMAND_H_

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace pztrace {

// The environment variable by which a producer finds the service.
inline constexpr char kSocketVariable[] = "PERFETTO_PRODUCER_SOCK_NAME";

// The program that is recorded, in a process of its own.
class Command {
 public:
  // Starts the command, which finds the service at |socket|. If
  // |output_is_trace|, its standard output goes to the standard error, because
  // ours is the trace. |default_signals| are signals that this program ignores
  // and the command does not. Returns false, and has printed why, if it cannot
  // be run. REQUIRES: |command| is not empty.
  bool Start(const std::vector<std::string>& command,
             const std::string& socket,
             bool output_is_trace,
             const sigset_t& default_signals);

  bool is_running() { return pid_ > 0 && !Reap(/*waits=*/false); }

  // Sends a signal if it is running.
  void Signal(int signal);

  // Waits for it. Returns false, and has printed why, if it failed.
  bool Finish();

 private:
  bool Reap(bool waits);

  std::string name_;
  pid_t pid_ = -1;
  int status_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_COMMAND_H_
