// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// pztrace trigger.

#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "protozero/tracing/producer.h"
#include "src/program/command_line.h"
#include "src/program/io.h"
#include "src/pztrace/commands.h"
#include "src/pztrace/program_name.h"
#include "src/pztrace/runtime_folder.h"
#include "src/tracing/ipc/user_folder.h"

namespace pztrace {

using program::kFailure;
using program::kSuccess;

namespace {

// The time in which a service answers.
constexpr uint32_t kConnectTimeoutMs = 5000;

// Activates a trigger of the sessions of one service. Returns false, and says
// why, if it has not been told. |socket| is empty for the one that programs
// find by themselves.
bool Activate(const std::string& trigger,
              const std::string& socket,
              std::string* why) {
  protozero::Producer::Options options;
  options.socket = socket;
  protozero::Producer producer(std::move(options));
  if (producer.Sync(kConnectTimeoutMs)) {
    producer.ActivateTrigger(trigger);
    if (producer.Sync(kConnectTimeoutMs))
      return true;
  }
  *why = producer.why_off();
  return false;
}

}  // namespace

int TriggerMain(int argc, char** argv) {
  std::string trigger;
  const program::Command command = {
      "pztrace trigger",
      "NAME",
      R"(Activates a trigger: sessions that wait for one of that name start, stop, or
write a file, such as those of `pztrace record --on-trigger NAME`. It goes to
all recordings of this user, and to the service that programs find.
)",
      {{"NAME", "of the trigger", &trigger}},
      R"(The exit code is 0 if a service was told, 1 if there is none.
)"};
  if (const auto exit_code = program::Parse(command, argc, argv))
    return *exit_code;
  std::string why;
  bool is_told = Activate(trigger, "", &why);
  std::string unused;
  const std::string folder = protozero::UserFolder(&unused);
  // The recordings of commands have sockets of their own.
  for (const pid_t pid : FindRecorders(folder)) {
    const std::string socket = ProducerSocket(folder, pid);
    if (access(socket.c_str(), F_OK) == 0)
      is_told = Activate(trigger, socket, &unused) || is_told;
  }
  if (!is_told)
    program::PrintError(kProgram, "%s", why.c_str());
  return is_told ? kSuccess : kFailure;
}

}  // namespace pztrace
