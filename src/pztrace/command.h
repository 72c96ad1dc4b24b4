// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_COMMAND_H_
#define SRC_PZTRACE_COMMAND_H_

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace pztrace {

// By which a producer finds the service.
inline constexpr char kSocketVariable[] = "PERFETTO_PRODUCER_SOCK_NAME";

// The program that is recorded.
class Command {
 public:
  // |socket| is where it finds the service. If |output_is_trace|, its standard
  // output goes to the standard error, as ours is the trace. |default_signals|
  // are signals that this program ignores and the command does not. Returns
  // false, and has printed why, if it can not be run. REQUIRES: |command| is
  // not empty.
  bool Start(const std::vector<std::string>& command,
             const std::string& socket,
             bool output_is_trace,
             const sigset_t& default_signals);

  bool is_running() { return pid_ > 0 && !Reap(/*waits=*/false); }

  // If it is running.
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

#endif  // SRC_PZTRACE_COMMAND_H_
